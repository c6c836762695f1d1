"""A sweep: the checked options of simulations over lists of ranks and sizes."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...base.limits import MOST_RANKS
from ...base.output import say
from ...base.spelling import listed
from ...core import registry
from ...core.compiled import core
from ...core.native_choices import MODELLED, MODELS, Call
from ...core.programs import make_plan, problem
from ..options import choose
from ..options.arrivals import Iteration
from ..options.choices import TYPE_BYTES, OptionError, parse_numbers
from ..options.choose import Question

_BUILT_IN = ("sum", "max")
_MOST_PANELS = 12


@dataclass(frozen=True, kw_only=True)
class Sweep(Question):
    """A question over lists of ranks and sizes. Raises OptionError."""

    ranks: list[int]
    counts: list[int]  # numbers in the vector
    network: core.Network
    costs_from: str = "as named"
    placement: tuple[int, ...] = ()  # of a single number of ranks; empty: by the network's per_node

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_root(self.ranks[0])

    @property
    def element_bytes(self) -> int:
        """The size of an element that the operator combines."""
        return TYPE_BYTES[self.type] * self.operator.numbers

    @property
    def native(self) -> str | None:
        """The model that speedups over native are told of: the first one asked for."""
        return next((name for name in self.algorithms if name in MODELS), None)

    def bytes(self, count: int) -> int:
        """The size of a vector of so many numbers."""
        return count * TYPE_BYTES[self.type]

    def elements(self, count: int) -> int:
        """The number of elements that the operator combines, in a vector of so many numbers."""
        return self.bytes(count) // self.element_bytes

    def program(self, algorithm: str, ranks: int, count: int) -> str:
        """The algorithm of the registry that is run, also for a model."""
        if algorithm not in MODELS:
            return self._with_progress(algorithm)
        elements, whole = self.elements(count), self.bytes(count)
        call = Call(ranks, elements, whole, self.operator.commutes, self.op in _BUILT_IN)
        return MODELS[algorithm](call)

    def _with_progress(self, algorithm: str) -> str:
        """Add the parameter by which arrival-aware programs run ahead of the arrival."""
        name, *parameters = algorithm.split(":")
        told = any(parameter.startswith("progress=") for parameter in parameters)
        aware = registry.is_arrival_aware(self.collective, name)
        ahead = self.progress == "thread" and aware and not told
        return f"{algorithm}:progress=background" if ahead else algorithm

    def plan(
        self, program: str, ranks: int, count: int, known: Sequence[float] | None = None
    ) -> core.Plan:
        """The plan for arrivals that the ranks know (None: all together), in seconds."""
        what = self._problem(ranks, count)
        return make_plan(what, program, known, self.network, self.nodes(ranks))

    def nodes(self, ranks: int) -> tuple[int, ...]:
        """The node of each rank; empty: each has its own."""
        return self.placement or choose.choose_placement(ranks, self.network.per_node, None)

    def _problem(self, ranks: int, count: int) -> core.Problem:
        return problem(
            collective=self.collective,
            ranks=ranks,
            count=self.elements(count),
            element_bytes=self.element_bytes,
            root=self.root,
            commutative=self.operator.commutes,
        )

    def series(self, program: str, ranks: int, count: int, *, check: bool) -> core.Rehearsal:
        """Calls that learn from each other. The MPI library's own collective is a model's."""
        model = self.native or next(iter(MODELS))
        native = self.program(model, ranks, count) if self.collective == MODELLED else ""
        return core.Rehearsal(
            self._problem(ranks, count),
            program,
            self.network,
            self.network,
            native,
            check,
            self.nodes(ranks),
        )

    @property
    def remembers(self) -> bool:
        """Tell whether a call depends on those before it."""
        return self.estimate == "online"

    @property
    def jitter(self) -> bool:
        """Tell whether the network differs from one iteration to the next."""
        return self.network.jitter > 0

    def job(self, ranks: int) -> list[Iteration]:
        """The iterations, in order; where nothing is random, one of each kind. Raises ArrivalError.

        All ranks and sizes see the same draws.
        """
        asked = self.pattern.iterations(ranks, self.delays, self.iterations, self.seed)
        blocks = [list(block) for _, block in itertools.groupby(asked, lambda each: each.delay)]
        each_counts = self.jitter or self.remembers
        return [each for block in blocks for each in (block if each_counts else _distinct(block))]

    def jitter_seeds(self, number: int) -> list[int]:
        """The seed of the network's jitter, for each iteration."""
        source = random.Random(f"{self.network.seed} {self.seed}")
        return [source.getrandbits(32) for _ in range(number)]


def _distinct(block: Sequence[Iteration]) -> list[Iteration]:
    """The iterations, or a single one if all have the same arrivals."""
    return list(block[:1] if all(each.late == block[0].late for each in block) else block)


def choose_algorithms(collective: str, text: str, op: str) -> list[str]:
    """The algorithms' and models' names, each checked; `all` stands for all that take the operator.

    Raises OptionError, also for native: there is no MPI library on the virtual network.
    """
    chosen: list[str] = []
    models = MODELS if collective == MODELLED else ()
    known = [row.name for row in registry.algorithms(collective) if row.kind != "native"]
    for name in (part.strip() for part in text.split(",")):
        if name == "native":
            remedy = f"use {' or '.join(models or known)}"
            if models:
                remedy += ", models of what MPI libraries choose"
            raise OptionError("no MPI library runs on the virtual network", name, remedy)
        if name.partition(":")[0] not in ("all", *known, *models):
            if other := registry.elsewhere(collective, name.partition(":")[0]):
                raise OptionError("no such algorithm to simulate", other, "or take another one")
            remedy = f"use {listed(name, ['all', *models, *known])}"
            raise OptionError("no such algorithm to simulate", repr(name), remedy)
        if name in models:
            chosen.append(name)
        else:
            found = choose.choose_algorithms(collective, name, op)
            chosen += [each for each in found if each != "native"]
            chosen += models if name == "all" else ()
    return list(dict.fromkeys(chosen))


def choose_cluster(
    nodes: str | None, per_node: int | None, network: core.Network, placement: str | None = None
) -> dict[str, Any]:
    """The fields ranks, network and placement of a Sweep: so many nodes with so many ranks each, or
    the nodes of a placement. Raises OptionError.
    """
    if placement is not None:
        return _placed(nodes, per_node, network, placement)
    nodes = "8" if nodes is None else nodes
    numbers = parse_numbers("--nodes", nodes, _read_nodes, doubling=False)
    factor = per_node or 1
    if per_node is None and network.per_node > 1:  # once the only way to say it
        say(
            f"note: the network has per_node={network.per_node}, with which --nodes {nodes} counts "
            f"ranks; this is deprecated; with --per-node {network.per_node} it counts nodes"
        )
        per_node = network.per_node
    if per_node and network.per_node not in (1, per_node):
        what = f"--per-node {per_node} with per_node in --network"
        raise OptionError(what, network.per_node, "leave one of them out")
    for number in (numbers[0], numbers[-1]):
        if not 1 <= number * factor <= MOST_RANKS:
            remedy = f"use 1 to {MOST_RANKS // factor}, since {MOST_RANKS} ranks can be simulated"
            raise OptionError("--nodes out of range", number, remedy)
    ranks = [number * factor for number in numbers]
    return {"ranks": ranks, "network": network.with_per_node(per_node or 1)}


def _placed(
    nodes: str | None, per_node: int | None, network: core.Network, placement: str
) -> dict[str, Any]:
    if nodes is not None:
        raise OptionError(f"--nodes {nodes} with --placement", placement, "leave one of them out")
    ranks = placement.count(",") + 1
    if ranks > MOST_RANKS:
        raise OptionError("--placement too long", f"{ranks} ranks", f"name {MOST_RANKS} at most")
    found = choose.choose_placement(ranks, per_node, placement)
    return {"ranks": [ranks], "network": network.with_per_node(1), "placement": found}


def _read_nodes(option: str, text: str) -> int:
    try:
        return core.parse_count(option, text)
    except ValueError:
        what = f"{option} is no number of nodes"
        raise OptionError(what, repr(text), f"use 1 to {MOST_RANKS}") from None


def check_late_rank(sweep: Sweep, named: int | None) -> None:
    """Raises OptionError where rank 1, which is late unless one is named, is not there."""
    pattern, ranks = sweep.pattern, sweep.ranks[0]
    if pattern.name == "onelate" and named is None and ranks <= pattern.late_rank:
        what = f"onelate makes rank {pattern.late_rank} late, and there is only"
        remedy = "use more --nodes, --late-rank 0 or --arrivals balanced"
        raise OptionError(what, f"{ranks} rank", remedy)


def check_panels(sweep: Sweep) -> None:
    """Raises OptionError if ranks, sizes and delays need more panels than a picture can hold."""
    fewer = min(len(sweep.ranks), len(sweep.counts))
    if len(sweep.ranks) == len(sweep.counts) == 1:
        return  # one picture over the delay
    panels = fewer * max(1, len(sweep.delays))
    if panels > _MOST_PANELS:
        remedy = f"use {_MOST_PANELS} at most: fewer ranks, sizes or delays, or --output FILE.csv"
        raise OptionError("--plot would have too many panels", panels, remedy)


def choose_counts(size: str | None, count: str | None, type_: str, op: str) -> list[int]:
    """Numbers in the vector, from either option. Raises OptionError."""
    if size and not count:
        sizes = parse_numbers("--bytes", size, core.parse_bytes, doubling=True)
        return [choose.choose_count(str(each), None, type_, op) for each in sizes]
    if count and not size:
        counts = parse_numbers("--count", count, core.parse_count, doubling=True)
        return [choose.choose_count(None, str(each), type_, op) for each in counts]
    return [choose.choose_count(size, count, type_, op)]
