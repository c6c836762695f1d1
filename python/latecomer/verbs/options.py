"""Options that verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..arrivals import PATTERNS
from ..bench import choices


def option(name: str, metavar: str, text: str, **more: object):
    """An option with a value."""
    return typer.Option(name, metavar=metavar, help=text, **more)


Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
FormatJson = Annotated[bool, typer.Option("--json", help="The same as --format json.")]

ClockSkew = Annotated[
    str | None,
    option("--clock-skew", "TIME", "Give each host of the lab a monotonic clock of its own, ahead "
           "by some part of TIME that depends on its number, as in 5s; default: they share one."),
]  # fmt: skip

# Of the benchmark, measured or simulated
Collective = Annotated[
    str,
    option("--collective", "NAME", "allreduce, allgather, reduce, bcast, gather or scatter."),
]
Type = Annotated[str, option("--type", "|".join(choices.TYPE_BYTES), "Of the numbers.")]
Op = Annotated[
    str | None,
    option("--op", "|".join(choices.OPERATORS), "The operator, of collectives that have one; "
           "default: sum."),
]  # fmt: skip
Root = Annotated[
    int | None, option("--root", "RANK", "Of collectives that have one; default: 0.", min=0)
]
Arrival = Annotated[
    str,
    option("--arrival", "|".join(PATTERNS), "Who is late. A file has a line for each iteration, "
           "on it the lateness of each rank: 0,0.005,0 or 0,5ms,0."),
]  # fmt: skip
Delay = Annotated[
    str | None, option("--delay", "LIST", "How late, as in 0,5ms,50ms; default 50ms.")
]
LateRank = Annotated[
    int | None, option("--late-rank", "RANK", "Who is late with onelate; default: rank 1.")
]
Estimate = Annotated[
    str,
    option("--estimate", "|".join(choices.ESTIMATES), "What algorithms are told of the arrivals: "
           "the truth, what the library finds out call by call, or the reverse."),
]  # fmt: skip
Seed = Annotated[int, option("--seed", "N", "Of arrivals, data and order.", min=0)]
Format = Annotated[str, option("--format", "|".join(choices.FORMATS), "Of what is printed.")]
Output = Annotated[
    list[Path] | None,
    option("--output", "FILE", "Also write the result here; .csv and .json as such, anything else "
           "as --format says. Can be repeated."),
]  # fmt: skip
Plot = Annotated[list[Path] | None, option("--plot", "FILE", "A plot: .svg, .png or .html.")]
Report = Annotated[Path | None, option("--report", "FILE.html", "A page with plot and table.")]
