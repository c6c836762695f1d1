"""Options that verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from ..command.declare import flag, option
from ..options import choices

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
           "memory. The default is 1.", min=1),
]  # fmt: skip
Placement = Annotated[
    str | None,
    option("--placement", "LIST", "Name the node of each rank, as in 0,0,1,1. Ranks of a node "
           "share its link and memory."),
]  # fmt: skip

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
           "is rank 0.", min=0),
]  # fmt: skip
Arrival = Annotated[
    str,
    option("--arrival", "|".join(choices.PATTERNS), "Draw arrival times from this pattern. A CSV "
           "file has one line for each iteration, with the delay of each rank: 0,0.005,0 or "
           "0,5ms,0."),
]  # fmt: skip
Delay = Annotated[
    str | None,
    option("--delay", "LIST", "Delay late ranks by these times, as in 0,5ms,50ms. The default is "
           "50ms."),
]  # fmt: skip
LateRank = Annotated[
    int | None,
    option("--late-rank", "RANK", "Delay this rank in the pattern onelate. The default is rank 1."),
]
Estimate = Annotated[
    str,
    option("--estimate", "|".join(choices.ESTIMATES), "Tell algorithms the true arrival times, the "
           "times that the library estimates from earlier calls, or the reversed times."),
]  # fmt: skip
Seed = Annotated[
    int,
    option("--seed", "N", "Seed the random arrival times, the data and the order of algorithms.",
           min=0),
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
Report = Annotated[
    Path | None, option("--report", "FILE.html", "Write an HTML page with plots and tables.")
]
