"""`latecomer reproduce`: a paper's tables beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from ..command.declare import argument, flag, option
from .options import FormatJson, Output

_FORMATS = ("table", "csv", "json")

Paper = Annotated[
    str,
    argument("PAPER", "Use proficz2018, proficz2021, marendic2012, kolmakov2020 or traeff2021."),
]
Tables = Annotated[
    str | None, option("--tables", "LIST", "Show these tables of the paper, as in 3,4.")
]
Network = Annotated[
    str | None,
    option("--network", "COSTS", "Use these costs in place of the fitted ones, as in ports=2 or "
           "alpha=30us,gamma=0."),
]  # fmt: skip
Iterations = Annotated[
    int,
    option("--iterations", "N", "Draw random arrivals so many times; measure so many iterations at "
           "each delay in the lab.", min=1),
]  # fmt: skip
Seed = Annotated[int, option("--seed", "N", "Seed the random arrival times.", min=0)]
Format = Annotated[str, option("--format", "|".join(_FORMATS), "Print the result in this format.")]
Plot = Annotated[
    list[Path] | None,
    option("--plot", "FILE", "Draw pictures into this .svg or .png file, or an .html page with "
           "all of them."),
]  # fmt: skip
Lab = Annotated[
    bool,
    flag("--lab", "Also measure in the emulated cluster of --nodes and --rate: vectors shrink with "
         "the rate, delays stay."),
]  # fmt: skip
Nodes = Annotated[int, option("--nodes", "N", "Use so many nodes in the lab.", min=2)]
Rate = Annotated[str, option("--rate", "R", "Limit the links of the lab to this rate.")]


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
