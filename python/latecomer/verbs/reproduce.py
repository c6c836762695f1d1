"""`latecomer reproduce`: a paper's tables beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import FormatJson, Output

_FORMATS = ("table", "csv", "json")

Paper = Annotated[
    str,
    typer.Argument(
        metavar="PAPER",
        help="proficz2018, proficz2021, marendic2012, kolmakov2020 or traeff2021.",
    ),
]
Tables = Annotated[
    str | None,
    typer.Option("--tables", metavar="LIST", help="Only these of the paper, as in 3,4."),
]
Network = Annotated[
    str | None,
    typer.Option(
        "--network",
        metavar="COSTS",
        help="Costs to use instead of the fitted ones, as in ports=2 or alpha=30us,gamma=0.",
    ),
]
Iterations = Annotated[
    int,
    typer.Option("--iterations", metavar="N", min=1, help="Draws of random arrivals; in the lab "
                 "iterations at each delay."),
]  # fmt: skip
Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of random arrivals.")]
Format = Annotated[
    str, typer.Option("--format", metavar="|".join(_FORMATS), help="Of what is printed.")
]
Plot = Annotated[
    list[Path] | None,
    typer.Option("--plot", metavar="FILE", help="Pictures, .svg or .png; .html: a page with all."),
]
Lab = Annotated[
    bool,
    typer.Option("--lab", help="Also measure in the emulated cluster, scaled to --nodes and "
                 "--rate: vectors shrink with the rate, delays stay."),
]  # fmt: skip
Nodes = Annotated[int, typer.Option("--nodes", metavar="N", min=2, help="Hosts of the lab.")]
Rate = Annotated[str, typer.Option("--rate", metavar="R", help="Of the lab's links.")]


def reproduce(
    paper: Paper,
    tables: Tables = None,
    network: Network = None,
    iterations: Iterations = 16,
    seed: Seed = 1,
    format_: Format = "table",
    output: Output = None,
    plot: Plot = None,
    lab: Lab = False,
    nodes: Nodes = 8,
    rate: Rate = "200mbit",
    as_json: FormatJson = False,
) -> None:
    """Show what a paper published beside what our programs take in its settings.

    They run on the virtual network at the paper's size. Its costs are fitted on the paper's
    baseline rows; everything else is predicted. What is not implemented yet says so.

    Example: latecomer reproduce proficz2018 --tables 3 --plot proficz2018.png
    """
    from ..bench.choices import one_of
    from ..bench.result import check_paths
    from ..reproduce import job

    shown = "json" if as_json else one_of("--format", format_, _FORMATS)
    check_paths(output or (), plot or ())
    wanted = job.Wanted(paper, tables, network, iterations, seed)
    report = job.run(wanted, job.Lab(nodes, rate) if lab else None)
    for path in (*(output or ()), *(plot or ())):
        job.save(report, path, shown)
    job.show(report, shown)
