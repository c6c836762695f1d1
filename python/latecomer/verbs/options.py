"""Options that verbs share: one name for each thing, whichever verb it belongs to."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ..base.limits import MOST_RANKS, MOST_SEED
from ..command import declare
from ..command.declare import Option, Seconds, UsageError, bad_value
from ..lab.options import choices
from ..lab.options.choices import one_of
from ..launch.program import PREFIX

if TYPE_CHECKING:
    from ..lab.bench.places import Place

# The options that verbs share. Their help begins with these words, in every verb.
COMMON = {
    "--algorithms": "Take these algorithms, with parameters, as in ring,linear_tree:segments=8.",
    "--arrivals": "Let the ranks arrive in this pattern, or at these times.",
    "--budget": "Work for about this long.",
    "--bytes": "Use vectors of this size, as in 4MiB.",
    "--collective": "Take calls of allreduce, allgather, reduce, bcast, gather or scatter.",
    "--count": "Use vectors of so many elements, as in 64Ki.",
    "--deadline": "End after this time, as in 90, 10m or 2h.",
    "--delay": "Let late ranks come so much later, as in 5ms.",
    "--format": "Write in this format.",
    "--html": "Write a page into this file.",
    "--iterations": "Repeat so many times at each delay.",
    "--json": "Print JSON.",
    "--mpi": "Use this MPI library.",
    "--network": "Use these costs, as in alpha=50us,beta=8ns,gamma=0.1ns, or those in @FILE.",
    "--nodes": "Use so many nodes.",
    "--output": "Write the result to this file.",
    "--per-node": "Put so many consecutive ranks on each node.",
    "--plot": "Draw into this file, an .svg or .png.",
    "--ranks": "Use so many ranks.",
    "--rate": "Limit each link to this rate, as in 200mbit.",
    "--root": "Make this rank the root, in collectives that have one.",
    "--seed": "Seed all that is random.",
}
SHORT = {"--ranks": "-n", "--output": "-o"}
OLD = {  # names of earlier versions, which are accepted and not shown
    "--collective": ("--collectives",),
    "--arrivals": ("--arrival", "--times"),
    "--budget": ("--seconds",),
    "--html": ("--report",),
    "--svg": ("--picture",),
}


def option(
    name: str,
    metavar: str,
    help: str,  # noqa: A002 - the field's name
    *,
    min: float | None = None,  # noqa: A002
    max: float | None = None,  # noqa: A002
    old: tuple[str, ...] = (),
) -> Option:
    """An option of a verb, with the words and spellings that the tables have for it."""
    help = f"{COMMON.get(name, '')} {help}".strip()  # noqa: A001
    every = (*OLD.get(name, ()), *old)
    return declare.option(name, metavar, help, SHORT.get(name, ""), min=min, max=max, old=every)


def flag(name: str, help: str = "") -> Option:  # noqa: A002
    """An option without a value, with the words that the table has for it."""
    return declare.flag(name, f"{COMMON.get(name, '')} {help}".strip())


def nodes_for(ranks: int | None, nodes: int | None, per_node: int | None) -> int | None:
    """The number of nodes, by --nodes or by --ranks. Raises UsageError."""
    if ranks is None:
        return nodes
    each = per_node or 1
    if nodes is not None:
        raise bad_value("--ranks", f"{ranks}; leave it out, or --nodes {nodes}")
    if ranks % each:
        raise bad_value("--ranks", f"{ranks}; give a multiple of --per-node {each}")
    return ranks // each


def refuse(why: str, options: Mapping[str, object]) -> None:
    """Refuse options that were given and have no effect. Raises UsageError."""
    for name, value in options.items():
        if value:
            raise UsageError(f"{why}; leave out {name}")


Json = Annotated[bool, flag("--json")]
Arrivals = Annotated[str, option(
    "--arrivals", "|".join(choices.PATTERNS), "randlate, gamma and gaussian "
    "are drawn at random. A CSV file has a line for each iteration, with the delay of each rank: "
    "0,0.005,0 or 0,5ms,0. A FILE of latecomer atlas has the times of a program, where WHICH is a "
    "collective or the number of a place."
)]  # fmt: skip
Estimate = Annotated[str, option(
    "--estimate", "|".join(choices.ESTIMATES), "Tell algorithms the true arrival times, the times "
    "that the library estimates from earlier calls, or the reversed times."
)]  # fmt: skip
Seed = Annotated[int, option("--seed", "N", "", min=0, max=MOST_SEED)]
Compute = Annotated[
    str, option("--compute", "TIME", "Emulate a computation of this length before each call.")
]
ClockSkew = Annotated[str | None, option(
    "--clock-skew", "TIME", "Give each host of the lab a monotonic clock of its own, which is "
    "ahead by some part of TIME, as in 5s. By default hosts share one clock."
)]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Nodes:
    """The nodes of simulated ranks."""

    per_node: Annotated[int | None, option(
        "--per-node", "K", "They share its link and memory. The default is 1.",
        min=1, max=MOST_RANKS
    )] = None  # fmt: skip
    placement: Annotated[str | None, option(
        "--placement", "LIST", "Name the node of each rank, as in 0,0,1,1. Ranks of a node share "
        "its link and memory."
    )] = None  # fmt: skip

    def nodes_of(self, ranks: int) -> tuple[int, ...]:
        """The node of each rank; empty: each has its own. Raises OptionError and ValueError."""
        from ..lab.options.choose import choose_placement

        return choose_placement(ranks, self.per_node, self.placement)


@dataclass(frozen=True, kw_only=True)
class Question:
    """The question of the benchmark, measured or simulated."""

    collective: Annotated[str, option("--collective", "NAME", "")] = "allreduce"
    type: Annotated[str, option(
        "--type", "|".join(choices.TYPE_BYTES), "The vector holds numbers of this type."
    )] = "float32"  # fmt: skip
    op: Annotated[str | None, option(
        "--op", "|".join(choices.OPERATORS), "Combine with this operator, in allreduce and reduce. "
        "The default is sum."
    )] = None  # fmt: skip
    root: Annotated[
        int | None, option("--root", "RANK", "The default is rank 0.", min=0, max=MOST_RANKS - 1)
    ] = None
    arrivals: Arrivals = "onelate"
    delay: Annotated[str | None, option(
        "--delay", "LIST", "Or one after another: 0,5ms,50ms. The default is 50ms."
    )] = None  # fmt: skip
    late_rank: Annotated[int | None, option(
        "--late-rank", "RANK", "Delay this rank in the pattern onelate. The default is rank 1.",
        min=0, max=MOST_RANKS - 1
    )] = None  # fmt: skip
    estimate: Estimate = "perfect"
    seed: Seed = 1


@dataclass(frozen=True, kw_only=True)
class Result:
    """The forms of a benchmark's result."""

    format: Annotated[str, option("--format", "|".join(choices.FORMATS), "")] = "table"
    output: Annotated[list[Path] | None, option(
        "--output", "FILE", "As CSV or JSON if its name ends in .csv or .json, else in the "
        "format of --format."
    )] = None  # fmt: skip
    plot: Annotated[
        list[Path] | None, option("--plot", "FILE", "A name in .html gives a page.")
    ] = None
    html: Annotated[Path | None, option("--html", "FILE", "It has plots and tables.")] = None
    json: Annotated[bool, flag("--json", "It stands for --format json.")] = False

    def forms(self, *more: Path | None) -> tuple[str, list[Path]]:
        """The format to print, and the files to write, which `more` are apart from.

        Raises OptionError, and UserError for files that cannot be written.
        """
        from ..lab.views import result

        shown = "json" if self.json else one_of("--format", self.format, choices.FORMATS)
        plots = [*(self.plot or ()), *([self.html] if self.html else ())]
        result.check_report(self.html)
        result.check_paths([*(self.output or ()), *filter(None, more)], plots)
        return shown, [*(self.output or ()), *plots]


@dataclass(frozen=True, kw_only=True)
class Where:
    """The place where something is measured."""

    ranks: Annotated[int | None, option(
        "--ranks", "N", "They are --nodes times --per-node: give --nodes or --ranks.",
        min=1, max=MOST_RANKS
    )] = None  # fmt: skip
    nodes: Annotated[int | None, option(
        "--nodes", "N", "The default is 8 in the lab, 4 with --place local.",
        min=1, max=MOST_RANKS
    )] = None  # fmt: skip
    rate: Annotated[str | None, option("--rate", "R", "The default is 200mbit.")] = None
    per_node: Annotated[int, option("--per-node", "K", "", min=1, max=MOST_RANKS)] = 1
    place: Annotated[str | None, option(
        "--place", "|".join(choices.PLACES), "Run in the emulated cluster, on this machine without "
        "it, or in the MPI job that started this command. The default is lab where it works, else "
        "local."
    )] = None  # fmt: skip
    network: Annotated[str | None, option(
        "--network", "COSTS", "Plans are made by them. The default is LATECOMER_NETWORK, else "
        "the costs that calibrate saved for this place."
    )] = None  # fmt: skip
    mpi: Annotated[str | None, option("--mpi", "openmpi|mpich", "")] = None
    deadline: Annotated[Seconds | None, option(
        "--deadline", "TIME", "The default is 5 times the expected time, and at least 600 s."
    )] = None  # fmt: skip

    def quiet(self) -> None:
        """Make the ranks of a job but the first one silent, so that only that one speaks."""
        from ..lab.bench.places import rank_of_job

        if "inherit" in (self.place, self.network) and rank_of_job():
            sys.stdout = sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - until the end

    def find(self, prefix: str = PREFIX, clock_skew: str | None = None) -> Place:
        """The place for the programs of this prefix. Raises UserError."""
        from ..lab.bench.places import find_place

        place, costs = self.place_and_costs()
        nodes = nodes_for(self.ranks, self.nodes, self.per_node)
        return find_place(
            place, nodes, self.rate, self.per_node, self.mpi, clock_skew, prefix, costs
        )

    def place_and_costs(self) -> tuple[str | None, str | None]:
        """The two options; --network named the place once. Raises OptionError."""
        place, network = self.place, self.network
        if network not in choices.PLACES:
            return place, network
        if place not in (None, network):
            raise choices.OptionError(
                f"--place {place} with --network", network, "use --place alone"
            )
        choices.deprecated(f"--network {network}", f"--place {network}")
        return network, None
