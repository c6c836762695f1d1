"""Places that run the benchmark program: the lab, this machine as it is, or a given MPI job."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from ...base.limits import MOST_RANKS
from ...base.output import say
from ...base.variables import variable
from ...core import networks
from ...core.compiled import core
from ...launch import mpi, processes, program
from .. import cluster
from ..options.choices import PLACES, one_of
from ..options.errors import OptionError
from ..results import statistics
from .benchmark import Benchmark

_DEFAULT_NODES = {"lab": 8, "local": 4}
_DEFAULT_RATE = "200mbit"

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


class Place(Protocol):
    """A place that runs the benchmark program."""

    rank: int  # of this process; 0 where it starts all of them
    ranks: int
    name: str  # for the network column
    costs: str  # of the network, for plans; "": not known
    costs_from: str  # for people
    beta: float  # seconds per byte of a link; 0: not known

    def limit(self, benchmark: Benchmark) -> statistics.Limit | None:
        """The lower bound of the time after the last arrival; None: not known."""

    def run(self, arguments: Sequence[str], deadline: float | None) -> int:
        """Run the program and return its exit code. Raises DeadlineError after some seconds."""


class LabPlace:
    """The emulated cluster."""

    rank = 0

    def __init__(
        self,
        spec: cluster.LabSpec,
        family: str | None,
        prefix: str = program.PREFIX,
        named: networks.Named | None = None,
    ) -> None:
        self._spec = spec
        self._program = program.of_any(family, prefix)
        self.ranks, self.name = spec.ranks, spec.describe()
        self.beta = spec.beta_seconds_per_byte
        assumed = networks.Named(lab_costs(spec), "assumed for the lab")
        self.costs, self.costs_from = _costs(self, self._program, named, assumed)

    def limit(self, benchmark: Benchmark) -> statistics.Limit | None:
        """None if ranks share a link: the bound is for one rank on each."""
        if self._spec.per_node > 1:
            return None
        idle = lab_costs(self._spec, _LATENCY_S)  # cores are no physical limit of a network
        return statistics.LabLimit(
            benchmark.collective,
            benchmark.bytes,
            core.Network(idle),
            benchmark.background,
            benchmark.root,
        )

    def run(self, arguments: Sequence[str], deadline: float | None) -> int:
        if self._spec.nodes * self._spec.rate_bits_per_s > _CARRIED:
            say("so many fast links may be more than this machine carries: see latecomer lab check")
        return cluster.run(self._spec, [str(self._program), *arguments], deadline=deadline)


class LocalPlace:
    """Plain MPI on this machine."""

    rank = 0
    beta = 0.0
    name = LOCAL

    def __init__(
        self,
        ranks: int,
        family: str | None,
        prefix: str = program.PREFIX,
        named: networks.Named | None = None,
    ) -> None:
        self.ranks = ranks
        self._program = program.of_any(family, prefix)
        self.costs, self.costs_from = _costs(self, self._program, named)

    def limit(self, benchmark: Benchmark) -> None:
        """Nothing is known of this machine's memory as a network."""

    def run(self, arguments: Sequence[str], deadline: float | None) -> int:
        using = mpi.family_of(str(self._program)) or mpi.family(program.family_of(self._program))
        words = [str(self._program), *arguments]
        launch = mpi.launch_command(using, self.ranks, words, allow_root=True)
        return processes.run(launch.command, env=launch.env, deadline=deadline)


class InheritedPlace:
    """The MPI job that this process is a rank of."""

    beta = 0.0
    name = INHERITED

    def __init__(
        self, family: str | None, prefix: str = program.PREFIX, named: networks.Named | None = None
    ) -> None:
        rank, size = rank_of_job(), _first_number(_SIZE)
        if rank is None or size is None:
            what = "--place inherit outside of an MPI job"
            raise OptionError(what, "no rank", "start it as in: mpirun -n 4 latecomer bench ...")
        self.rank, self.ranks = rank, size
        self._program = program.of_family(family or _family_of_job(), prefix)
        self.costs, self.costs_from = _costs(self, self._program, named)

    def limit(self, benchmark: Benchmark) -> None:
        """Nothing is known of the network."""

    def run(self, arguments: Sequence[str], deadline: float | None) -> int:
        # The launcher may have left open files for its ranks, so the program inherits all.
        child = subprocess.Popen([str(self._program), *arguments], close_fds=False)
        try:
            return processes.exit_code(child.wait(deadline))
        except subprocess.TimeoutExpired:
            what = "still running at the deadline and killed"
            raise processes.DeadlineError(
                what, f"{deadline:g} s", "allow more by --deadline"
            ) from None
        finally:
            processes.stop(child)


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
        wanted = where == "lab" or clock_skew is not None
        if place := _lab_place(spec, family, prefix, named, wanted=wanted):
            return place
    ranks = (nodes or _DEFAULT_NODES["local"]) * per_node
    if ranks > MOST_RANKS:
        raise OptionError(
            "too many ranks", ranks, f"use {MOST_RANKS} at most, by --nodes and --per-node"
        )
    return LocalPlace(ranks, family, prefix, named)


def _costs(
    place: Place,
    path: Path,
    named: networks.Named | None,
    assumed: networks.Named = networks.UNNAMED,
) -> tuple[str, str]:
    """The costs that plans assume there, and their source."""
    if named:
        return named.text, named.source
    found = networks.of_place(place.name, place.ranks, program.family_of(path), assumed)
    return found.text, found.source


def _lab_place(
    spec: cluster.LabSpec,
    family: str | None,
    prefix: str,
    named: networks.Named | None,
    wanted: bool,
) -> LabPlace | None:
    try:
        return LabPlace(cluster.settle(spec), family, prefix, named)
    except cluster.LabError as error:
        if wanted:
            raise
        say(f"plain local ranks, since there is no emulated cluster: {error}")
        return None


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
        raise OptionError("which MPI library this job uses is not clear", "", "name it by --mpi")
    return built[0] if built else "openmpi"
