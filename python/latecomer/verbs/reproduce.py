"""`latecomer reproduce`: a paper's tables beside ours."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated

from ..base.errors import UserError
from ..base.limits import LAB_NODES, MOST_ITERATIONS, MOST_SEED
from ..command.declare import argument, flag
from .options import FormatJson, Output, option

CLONE = Path(__file__).resolve().parents[3]
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
           "each delay in the lab.", min=1, max=MOST_ITERATIONS),
]  # fmt: skip
Seed = Annotated[int, option("--seed", "N", "Seed the random arrival times.", min=0, max=MOST_SEED)]
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
Nodes = Annotated[
    int, option("--nodes", "N", "Use so many nodes in the lab.", min=2, max=LAB_NODES)
]
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
    """Show the published results of a paper beside the times of our programs in its settings.

    Programs run on the virtual network at the paper's size. The costs of the network are fitted
    on the paper's baseline rows; everything else is predicted. A row without a program says so.
    The papers' numbers are in evidence/ of a clone, and not in an installed package.

    Example: latecomer reproduce proficz2018 --tables 3 --plot proficz2018.png
    """
    from ..lab.options.choices import one_of
    from ..lab.views.result import check_paths

    job = _job()
    shown = "json" if as_json else one_of("--format", format_, _FORMATS)
    check_paths(output or (), plot or ())
    wanted = job.Wanted(paper, tables, network, iterations, seed)
    report = job.run(wanted, job.Lab(nodes, rate) if lab else None)
    for path in (*(output or ()), *(plot or ())):
        job.save(report, path, shown)
    job.show(report, shown)


def _job() -> ModuleType:
    """The part of the clone that reproduces papers. Raises UserError where there is no clone."""
    if not (CLONE / "evidence" / "reproduce").is_dir():
        what = "the papers' numbers are not part of this installation"
        remedy = "run ./latecomer reproduce in a clone of the repository"
        raise UserError(what, CLONE / "evidence", remedy)
    sys.path.append(str(CLONE))
    return import_module("evidence.reproduce.job")
