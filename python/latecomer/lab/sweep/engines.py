"""The worlds that `latecomer simulate` runs programs in: the virtual network, and SimGrid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...base.output import say
from ...core.compiled import core
from ..options.choices import OptionError
from .sweep import Sweep

_PLAIN = "plain"
_PESSIMISTIC = (
    "SimGrid's own defaults are too pessimistic for segmented algorithms; --config plain is "
    "closest to alpha and beta (docs/simgrid.md)"
)


@dataclass(frozen=True)
class Run:
    """The result of one simulation."""

    parameters: str  # as used
    exits: Sequence[float]  # seconds, of each rank
    wrong: int | None  # elements; None: not checked


@dataclass(frozen=True)
class Work:
    """One call: a program of the registry, and when the ranks are late (seconds)."""

    program: str
    plan: core.Plan
    late: Sequence[float]
    known: Sequence[float] | None  # to the ranks
    seed: int  # of jitter
    check: bool  # compute and compare results


class Virtual:
    """The virtual network."""

    name, bounded = "simulated", True  # for the column mpi; the lower bound is known

    def __init__(self, network: core.Network) -> None:
        self.network = network.text

    def run(self, sweep: Sweep, work: Work) -> Run:  # noqa: ARG002
        found = work.plan.simulate(work.late, seed=work.seed, check=work.check)
        return Run(work.plan.parameters, found["exits"], found.get("wrong"))


@dataclass(frozen=True)
class SimGrid:
    """SimGrid, on a platform of its own description."""

    platform: Path
    config: tuple[str, ...]  # SimGrid's own settings
    per_node: int
    name = "simgrid"
    bounded = False

    @property
    def network(self) -> str:
        """The platform and the parameters that were set."""
        return " ".join([f"simgrid {self.platform.name}", *self.config])

    def run(self, sweep: Sweep, work: Work) -> Run:
        """One simulation, in a process of its own."""
        from .. import simgrid

        found = simgrid.simulate(
            work.program,
            ranks=work.plan.ranks,
            platform=self.platform,
            count=work.plan.count,
            arrivals=work.late,
            estimate=work.known,
            network=sweep.network.text,
            element_bytes=sweep.element_bytes,
            commutative=sweep.operator.commutes,
            collective=sweep.collective,
            root=sweep.root,
            per_node=self.per_node,
            placement=sweep.placement,
            config=self.config,
            check=work.check,
        )
        return Run(work.plan.parameters, found.exits.tolist(), 0 if work.check else None)


Engine = Virtual | SimGrid


def choose(
    name: str, platform: str | None, config: str | None, network: core.Network, estimate: str
) -> Engine:
    """The engine of the options. Raises OptionError."""
    if name == "virtual":
        for option, value in (("--platform", platform), ("--config", config)):
            if value:
                raise OptionError(f"{option} without SimGrid", value, "add --engine simgrid")
        return Virtual(network)
    if name != "simgrid":
        raise OptionError("no such --engine", name, "use virtual or simgrid")
    if estimate == "online":
        raise OptionError("--estimate without memory in SimGrid", estimate, "use --engine virtual")
    if not platform:
        raise OptionError("--engine simgrid without --platform", "none", "name a platform's XML")
    from .. import simgrid

    if not config:
        say(_PESSIMISTIC)
    settings = simgrid.PLAIN if config == _PLAIN else (config or "").split(",") if config else ()
    return SimGrid(Path(platform), tuple(settings), network.per_node)
