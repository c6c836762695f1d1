"""A whole reproduction: read, fit, predict, measure, and hand over."""

from __future__ import annotations

import io
import shlex
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from latecomer.base.output import console, progress_bar, say
from latecomer.core.compiled import __version__, core
from rich.console import Console

from . import report as reports
from .closed_forms import COSTS
from .comparison import Comparison, compare, with_lab
from .fit import Fit, fit_network, read_costs
from .paper import Paper, read_paper
from .predict import Predictor, Simulator, TimeOf, formula
from .report import Report

_WIDTH = 120  # of a table in a file


@dataclass(frozen=True)
class Wanted:
    """The options of the command line."""

    paper: str
    tables: str | None
    network: str | None
    iterations: int
    seed: int


@dataclass(frozen=True)
class Lab:
    """The emulated cluster to measure in."""

    nodes: int
    rate: str


def run(wanted: Wanted, lab: Lab | None = None) -> Report:
    """Everything that is said of one paper. Raises UserError and ValueError."""
    whole = read_paper(wanted.paper)
    paper = whole.only(wanted.tables)
    simulator = Simulator(whole, wanted.iterations, wanted.seed)
    fit = _changed(_fit(whole, simulator), wanted.network)
    rows = _predict(paper, formula(paper, fit), Predictor(paper, fit, simulator))
    used: dict[str, object] = {
        "version": __version__,
        "iterations": wanted.iterations,
        "seed": wanted.seed,
        "command": shlex.join(["latecomer", "reproduce", *sys.argv[1:]]),
    }
    if lab:
        rows = _measure(paper, rows, lab, wanted)
        used |= {"lab": f"{lab.nodes} x {lab.rate}"}
    return Report(paper, fit, rows, used)


def _fit(paper: Paper, simulator: Simulator) -> Fit:
    with progress_bar() as bar:
        bar.add_task("fitting the network", total=None)
        return fit_network(paper, simulator.baseline)


def _changed(fit: Fit, network: str | None) -> Fit:
    """The fit with the command line's costs in place of its own; residuals stay."""
    if network is None:
        return fit
    named = {part.partition("=")[0] for part in network.split(",")}
    kept = [part for part in fit.text.split(",") if part.partition("=")[0] not in named]
    text = core.Network(",".join([*kept, network])).text
    costs = dict(zip(COSTS, map(float, read_costs(text)), strict=True))
    more = ",".join(part for part in text.split(",") if part.partition("=")[0] not in COSTS)
    errors = {name: error for name, error in fit.errors.items() if costs[name] == fit.costs[name]}
    reasons = fit.reasons | {"--network": f"{network}, in place of what was fitted"}
    return replace(fit, costs=costs, errors=errors, more=more, reasons=reasons)


def _predict(paper: Paper, forms: TimeOf, ours: TimeOf) -> list[Comparison]:
    with progress_bar() as bar:
        task = bar.add_task("simulating", total=len(paper.numbers))
        return compare(paper, forms, ours, lambda: bar.advance(task))


def _measure(paper: Paper, rows: list[Comparison], lab: Lab, wanted: Wanted) -> list[Comparison]:
    from .lab import measure

    times = measure(paper, lab.nodes, lab.rate, wanted.iterations, wanted.seed)
    return with_lab(paper, rows, times)


def text(report: Report, format_: str) -> str:
    """The result as a file of this format."""
    if format_ == "csv":
        return reports.csv_text(report)
    if format_ == "json":
        return reports.json_text(report)
    page = io.StringIO()
    Console(file=page, width=_WIDTH, highlight=False).print(
        reports.renderable(report, _WIDTH), markup=False
    )
    return page.getvalue()


def show(report: Report, format_: str) -> None:
    """On standard output."""
    if format_ == "table":
        screen = console()
        screen.print(reports.renderable(report, screen.width), markup=False)
    else:
        print(text(report, format_), end="")
    say(reports.footer(report))


def save(report: Report, path: Path, format_: str) -> None:
    """Write a table, a picture or a page, by the name's end, and say so."""
    if path.suffix in (".svg", ".png"):
        from .picture import save as save_picture  # matplotlib takes a while to load

        save_picture(report, path)
    elif path.suffix == ".html":
        from .page import page

        path.write_text(page(report), encoding="utf-8")
    else:
        known = {".csv": "csv", ".json": "json"}
        path.write_text(text(report, known.get(path.suffix, format_)), encoding="utf-8")
    say(f"wrote {path}")
