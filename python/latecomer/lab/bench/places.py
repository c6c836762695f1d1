"""Places that run the benchmark program: the lab, this machine as it is, or a given MPI job."""

from __future__ import annotations

import os
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from ...base.errors import DeadlineError
from ...base.limits import MOST_RANKS
from ...base.output import say
from ...base.variables import variable
from ...core import networks
from ...core.compiled import core
from ...launch import mpi, processes, program
from .. import cluster
from ..options.choices import PLACES, OptionError, one_of
from ..results import statistics
from .benchmark import Benchmark

_DEFAULT_NODES = {"lab": 8, "local": 4}
_DEFAULT_RATE = "200mbit"
_ASK_S = 120.0  # for a launcher to start its ranks

# Costs that plans of the lab assume besides its bandwidth, until it is calibrated. alpha: a small
# message between two idle hosts takes some 100 us, 65 us of them on a core, and all hosts share
# this machine's cores (rings and doubling of 1 KiB, 5 to 16 hosts). gamma: two vectors of 4 MiB
# added on one core. handshake: two more small messages. exchange: links that run half duplex where
# one of two ranks starts late (docs/decisions/0010).
_LATENCY_S, _CORE_S = 100e-6, 65e-6
_LAB_COSTS = "gamma=0.15ns,eager=64KiB,handshake=200us,exchange=1.35"

# Bits per second over all links together that a small machine still carries: two cores moved about
# 11 Gbit/s when asked for 100.
_CARRIED = 10_000_000_000

_RANK = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
_SIZE = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS")


def lab_costs(spec: cluster.LabSpec, alpha: float | None = None) -> str:
    """The network text of the lab, for `alpha` seconds; as plans assume it: on shared cores."""
    if alpha is None:
        alpha = max(_LATENCY_S, _CORE_S * spec.ranks / (os.cpu_count() or 1))
    beta = 1e9 * spec.beta_seconds_per_byte
    return f"alpha={1e6 * alpha:.6g}us,beta={beta:.6g}ns,burst={spec.burst},{_LAB_COSTS}"


INHERITED, LOCAL = "inherit", "local"  # names of places


class Place(ABC):
    """A place that runs the programs of an MPI library."""

    rank = 0  # of this process; 0 where it starts all of them
    beta = 0.0  # seconds per byte of a link; 0: not known

    def __init__(
        self,
        name: str,  # for the network column
        ranks: int,
        path: Path,  # of the program
        named: networks.Named | None,
        assumed: networks.Named = networks.UNNAMED,
    ) -> None:
        """Take the costs that plans assume: those that are named, else those of the place."""
        self.name, self.ranks, self.program = name, ranks, path
        family = program.family_of(path)
        found = named or networks.of_place(name, ranks, family, assumed)
        self.costs, self.costs_from = found.text, found.source  # "": not known; for people

    def limit(self, benchmark: Benchmark) -> statistics.Limit | None:  # noqa: ARG002
        """The lower bound of the time after the last arrival; None: not known."""
        return None

    @abstractmethod
    def run(self, arguments: Sequence[str], deadline: float | None) -> int:
        """Run the program and return its exit code. Raises DeadlineError after some seconds."""


class LabPlace(Place):
    """The emulated cluster."""

    def __init__(
        self,
        spec: cluster.LabSpec,
        family: str | None,
        prefix: str = program.PREFIX,
        named: networks.Named | None = None,
    ) -> None:
        self._spec = spec
        self.beta = spec.beta_seconds_per_byte
        assumed = networks.Named(lab_costs(spec), "assumed for the lab")
        path = program.of_any(family, prefix)
        super().__init__(spec.describe(), spec.ranks, path, named, assumed)

    def limit(self, benchmark: Benchmark) -> statistics.Limit | None:
        """None if ranks share a link: the bound is for one rank on each."""
        if self._spec.per_node > 1:
            return None
        idle = lab_costs(self._spec, _LATENCY_S)  # cores are no physical limit of a network
        return statistics.limit_of(benchmark, benchmark.bytes, core.Network(idle))

    def run(self, arguments: Sequence[str], deadline: float | None) -> int:
        if self._spec.nodes * self._spec.rate_bits_per_s > _CARRIED:
            say("so many fast links may be more than this machine carries: see latecomer lab check")
        return cluster.run(self._spec, [str(self.program), *arguments], deadline=deadline)


class LocalPlace(Place):
    """Plain MPI on this machine."""

    def run(self, arguments: Sequence[str], deadline: float | None) -> int:
        using = mpi.family_of(str(self.program)) or mpi.family(program.family_of(self.program))
        words = [str(self.program), *arguments]
        launch = mpi.launch_command(using, self.ranks, words, allow_root=True)
        return processes.run(launch.command, env=launch.env, deadline=deadline)


class InheritedPlace(Place):
    """The MPI job that this process is a rank of."""

    def __init__(
        self, family: str | None, prefix: str = program.PREFIX, named: networks.Named | None = None
    ) -> None:
        rank, size = rank_of_job(), _first_number(_SIZE)
        if rank is None or size is None:
            what = "--place inherit outside of an MPI job"
            raise OptionError(what, "no rank", "start it as in: mpirun -n 4 latecomer bench ...")
        self.rank = rank
        path = program.of_family(family or _family_of_job(), prefix)
        super().__init__(INHERITED, size, path, named)

    def run(self, arguments: Sequence[str], deadline: float | None) -> int:
        # The launcher may have left open files for its ranks, so the program inherits all.
        child = subprocess.Popen([str(self.program), *arguments], close_fds=False)
        try:
            return processes.exit_code(child.wait(deadline))
        except subprocess.TimeoutExpired:
            what = "still running at the deadline and killed"
            remedy = "allow more by --deadline"
            raise DeadlineError(what, f"{deadline:g} s", remedy) from None
        finally:
            processes.stop(child)


class LaunchedPlace(Place):
    """The nodes of the job that this command runs in, by its launcher."""

    def __init__(
        self, launcher: Sequence[str], family: str | None, named: networks.Named | None
    ) -> None:
        if not mpi.is_launcher(launcher[0]):
            remedy = "name a launcher with its options, as in: -- srun --mpi=pmix -n 8"
            raise OptionError("no launcher", launcher[0], remedy)
        self._launcher = list(launcher)
        words = [*launcher, "sh", "-c", "echo latecomer-rank"]
        ranks = processes.output_of(words, _ASK_S).count("latecomer-rank")
        if ranks < 2:
            remedy = "it must start two ranks or more; try it with hostname for a program"
            raise OptionError(f"ranks started by {' '.join(launcher)}", ranks, remedy)
        super().__init__(f"job of {ranks} ranks", ranks, program.of_any(family), named)

    def run(self, arguments: Sequence[str], deadline: float | None) -> int:
        return processes.run([*self._launcher, str(self.program), *arguments], deadline=deadline)


def find_place(
    where: str | None,
    nodes: int | None,
    rate: str | None,
    per_node: int,
    family: str | None,
    clock_skew: str | None = None,
    prefix: str = program.PREFIX,
    network: str | None = None,
) -> Place:
    """The place that the options name, or else the lab where it works.

    `prefix` chooses the program, `network` the costs that plans assume there.

    Raises UserError.
    """
    named = networks.chosen(network) if network else None
    one_of("--place", where or "lab", PLACES)
    one_of("--mpi", family or "openmpi", mpi.FAMILIES)
    if clock_skew and where not in (None, "lab"):
        raise OptionError(f"--clock-skew with --place {where}", clock_skew, "use the lab")
    if rate and where not in (None, "lab"):
        remedy = "leave it out, or use the lab"
        raise OptionError(f"--rate with --place {where}", rate, remedy)
    if where == "inherit":
        if nodes is not None or per_node != 1:
            raise OptionError("--nodes or --per-node given", where, "leave it out: the job says")
        return InheritedPlace(family, prefix, named)
    if any(variable(name) for name in _RANK[:3]):
        what = "this is one rank of an MPI job"
        raise OptionError(what, f"--place {where or 'lab'}", "use --place inherit")
    if where != "local":
        spec = cluster.LabSpec(
            nodes or _DEFAULT_NODES["lab"],
            cluster.parse_rate(rate or _DEFAULT_RATE),
            per_node=per_node,
            clock_skew_s=cluster.parse_skew(clock_skew or "0"),
        )
        try:
            return LabPlace(cluster.settle(spec), family, prefix, named)
        except cluster.LabError as error:
            if where == "lab" or clock_skew is not None or rate is not None:
                raise
            say(f"plain local ranks, since there is no emulated cluster: {error}")
    ranks = (nodes or _DEFAULT_NODES["local"]) * per_node
    if ranks > MOST_RANKS:
        remedy = f"use {MOST_RANKS} at most, by --nodes and --per-node"
        raise OptionError("too many ranks", ranks, remedy)
    return LocalPlace(LOCAL, ranks, program.of_any(family, prefix), named)


def place_of(
    where: str | None,
    nodes: int | None,
    rate: str | None,
    per_node: int,
    family: str | None,
    network: str | None,
    launcher: Sequence[str],
) -> tuple[Place, str]:
    """The place, also by a launcher, and how its ranks lie, as a rule says it. Raises UserError."""
    if where == "inherit" or launcher:
        if not launcher:
            remedy = "write the launcher at the end, as in: -- srun --mpi=pmix -n 8"
            raise OptionError("--place inherit without a launcher", "", remedy)
        if where not in (None, "inherit") or nodes or rate or per_node != 1:
            remedy = "leave it out: the launcher says where ranks run"
            raise OptionError("a launcher with options of the place", " ".join(launcher), remedy)
        named = networks.chosen(network) if network else None
        return LaunchedPlace(launcher, family, named), "any"
    place = find_place(where, nodes, rate, per_node, family, network=network)
    if place.name == LOCAL:
        return place, "single-node"
    return place, "one-per-node" if per_node == 1 else "any"


def rank_of_job() -> int | None:
    """The rank of this process in the MPI job around it; None outside of one."""
    return _first_number(_RANK)


def _first_number(names: Sequence[str]) -> int | None:
    values = (variable(name) or "" for name in names)
    return next((int(value) for value in values if value.isdecimal()), None)


def _family_of_job() -> str:
    if variable("OMPI_COMM_WORLD_RANK"):
        return "openmpi"
    if variable("MPI_LOCALRANKID"):  # Hydra, the launcher of MPICH
        return "mpich"
    built = [name for name in mpi.FAMILIES if program.find(name)]
    if len(built) == 2:
        what = "both Open MPI and MPICH are built"
        remedy = "name the one of this job: --mpi openmpi or --mpi mpich"
        raise OptionError(what, "which one this job uses is not known", remedy)
    return built[0] if built else "openmpi"
