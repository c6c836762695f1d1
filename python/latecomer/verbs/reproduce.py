"""`latecomer reproduce`: a paper's tables beside ours, by a program of the clone."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ..base.clone import CLONE
from ..base.errors import UserError
from ..base.limits import LAB_NODES, MOST_ITERATIONS, MOST_SEED
from ..command.declare import argument, words_of
from ..launch import processes
from .options import flag, option

FORMATS = ("table", "csv", "json")


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of reproduce, which the program of the clone reads too."""

    paper: Annotated[str, argument(
        "PAPER", "Use proficz2018, proficz2021, marendic2012, kolmakov2020 or traeff2021."
    )]  # fmt: skip
    tables: Annotated[
        str | None, option("--tables", "LIST", "Show these tables of the paper, as in 3,4.")
    ] = None
    network: Annotated[str | None, option(
        "--network", "COSTS", "They replace fitted ones: ports=2 or alpha=30us,gamma=0."
    )] = None  # fmt: skip
    iterations: Annotated[int, option("--iterations", "N", "", min=1, max=MOST_ITERATIONS)] = 16
    seed: Annotated[int, option("--seed", "N", "", min=0, max=MOST_SEED)] = 1
    format: Annotated[str, option("--format", "|".join(FORMATS), "")] = "table"
    output: Annotated[list[Path] | None, option(
        "--output", "FILE", "As CSV or JSON if its name ends in .csv or .json, else in the "
        "format of --format."
    )] = None  # fmt: skip
    plot: Annotated[list[Path] | None, option(
        "--plot", "FILE", "A name in .html gives a page with all pictures."
    )] = None  # fmt: skip
    lab: Annotated[bool, flag(
        "--lab", "Also measure in the emulated cluster of --nodes and --rate: vectors shrink with "
        "the rate, delays stay."
    )] = False  # fmt: skip
    nodes: Annotated[int, option("--nodes", "N", "", min=2, max=LAB_NODES)] = 8
    rate: Annotated[str, option("--rate", "R", "")] = "200mbit"
    json: Annotated[bool, flag("--json", "It stands for --format json.")] = False


def reproduce(asked: Options) -> int:
    """Show the published results of a paper beside the times of our programs in its settings.

    Programs run on the virtual network at the paper's size. The costs of the network are fitted
    on the paper's baseline rows; everything else is predicted. A row without a program says so.
    The papers' numbers are in evidence/ of a clone, and not in an installed package.

    Example: latecomer reproduce proficz2018 --tables 3 --plot proficz2018.png
    """
    if not (CLONE / "evidence" / "reproduce").is_dir():
        what = "the papers' numbers are not part of this installation"
        remedy = "run ./latecomer reproduce in a clone of the repository"
        raise UserError(what, CLONE / "evidence", remedy)
    folders = [str(CLONE), str(CLONE / "python"), os.environ.get("PYTHONPATH", "")]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, folders))}
    words = [sys.executable, "-m", "evidence.reproduce", *words_of(asked)]
    return processes.run(words, env=env, deadline=None)
