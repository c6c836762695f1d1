"""Options that verbs share: one name for each thing, whichever verb it belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ..base.limits import MOST_RANKS, MOST_SEED
from ..command import declare
from ..command.declare import Option, UsageError, bad_value, flag
from ..lab.options import choices


@dataclass(frozen=True)
class Common:
    """What verbs say alike about an option."""

    meaning: str
    short: str = ""
    old: tuple[str, ...] = ()  # names of earlier versions, which are accepted and not shown


COMMON = {
    "--ranks": Common("numbers of ranks", short="-n"),
    "--nodes": Common("numbers of nodes; ranks are nodes times --per-node"),
    "--per-node": Common("ranks of each node"),
    "--placement": Common("the node of each rank"),
    "--place": Common("where a verb measures: lab, local or inherit"),
    "--network": Common("costs of messages"),
    "--collective": Common("collectives", old=("--collectives",)),
    "--algorithms": Common("algorithms, by name"),
    "--bytes": Common("sizes of the whole vector"),
    "--count": Common("elements of the whole vector"),
    "--arrivals": Common("when ranks arrive", old=("--arrival", "--times")),
    "--delay": Common("how late ranks are"),
    "--seed": Common("the seed of all that is random"),
    "--iterations": Common("how often a thing is measured or drawn"),
    "--budget": Common("for how long a verb works, about", old=("--seconds",)),
    "--deadline": Common("seconds after which all is ended"),
    "--format": Common("the form of the printed result"),
    "--output": Common("a file for the result", short="-o"),
    "--html": Common("a file for the page", old=("--report",)),
    "--svg": Common("a file for the picture of a call", old=("--picture",)),
    "--plot": Common("a file for a plot"),
    "--mpi": Common("the MPI library"),
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
    """An option of a verb, with the spellings that the table has for it."""
    known = COMMON.get(name, Common(""))
    return declare.option(
        name, metavar, help, known.short, min=min, max=max, old=(*known.old, *old)
    )


Json = Annotated[bool, flag("--json", "Print one JSON object.")]
FormatJson = Annotated[bool, flag("--json", "Print JSON, as --format json does.")]

ClockSkew = Annotated[
    str | None,
    option("--clock-skew", "TIME", "Give each host of the lab a monotonic clock of its own, which "
           "is ahead by some part of TIME, as in 5s. By default hosts share one clock."),
]  # fmt: skip

PerNode = Annotated[
    int | None,
    option("--per-node", "K", "Put so many consecutive ranks on each node; they share its link and "
           "memory. The default is 1.", min=1, max=MOST_RANKS),
]  # fmt: skip
Placement = Annotated[
    str | None,
    option("--placement", "LIST", "Name the node of each rank, as in 0,0,1,1. Ranks of a node "
           "share its link and memory."),
]  # fmt: skip


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


# Options of the benchmark, measured or simulated
Collective = Annotated[
    str,
    option("--collective", "NAME", "Use allreduce, allgather, reduce, bcast, gather or scatter."),
]
Type = Annotated[
    str, option("--type", "|".join(choices.TYPE_BYTES), "The vector holds numbers of this type.")
]
Op = Annotated[
    str | None,
    option("--op", "|".join(choices.OPERATORS), "Combine with this operator, in allreduce and "
           "reduce. The default is sum."),
]  # fmt: skip
Root = Annotated[
    int | None,
    option("--root", "RANK", "Make this rank the root, in collectives that have one. The default "
           "is rank 0.", min=0, max=MOST_RANKS - 1),
]  # fmt: skip
Arrivals = Annotated[
    str,
    option("--arrivals", "|".join(choices.PATTERNS), "Draw arrival times from this pattern. A CSV "
           "file has one line for each iteration, with the delay of each rank: 0,0.005,0 or "
           "0,5ms,0. A FILE of latecomer atlas has a program's arrivals; WHICH is a collective or "
           "the number of a place."),
]  # fmt: skip
Delay = Annotated[
    str | None,
    option("--delay", "LIST", "Delay late ranks by these times, as in 0,5ms,50ms. The default is "
           "50ms."),
]  # fmt: skip
LateRank = Annotated[
    int | None,
    option(
        "--late-rank",
        "RANK",
        "Delay this rank in the pattern onelate. The default is rank 1.",
        min=0,
        max=MOST_RANKS - 1,
    ),
]
Estimate = Annotated[
    str,
    option("--estimate", "|".join(choices.ESTIMATES), "Tell algorithms the true arrival times, the "
           "times that the library estimates from earlier calls, or the reversed times."),
]  # fmt: skip
Seed = Annotated[
    int,
    option("--seed", "N", "Seed the random arrival times, the data and the order of algorithms.",
           min=0, max=MOST_SEED),
]  # fmt: skip
Format = Annotated[
    str, option("--format", "|".join(choices.FORMATS), "Print the result in this format.")
]
Output = Annotated[
    list[Path] | None,
    option("--output", "FILE", "Also write the result to this file: as CSV or JSON if its name "
           "ends in .csv or .json, else in the format of --format."),
]  # fmt: skip
Plot = Annotated[
    list[Path] | None, option("--plot", "FILE", "Draw a plot into this .svg, .png or .html file.")
]
Ranks = Annotated[
    int | None,
    option("--ranks", "N", "Use so many ranks: --nodes times --per-node. Give --nodes or --ranks.",
           min=1, max=MOST_RANKS),
]  # fmt: skip
Page = Annotated[
    Path | None, option("--html", "FILE", "Write a page with plots and tables into this file.")
]
