"""A paper beside our results as tables for people, as CSV and as JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from .comparison import Comparison
from .fit import PER_SECOND, Fit
from .paper import Paper
from .predict import programs
from .sentences import CLOSE, about_fit, agreement, digits, grouped

COLUMNS = (
    "paper", "table", "row", "column", "collective", "algorithm", "baseline", "ranks", "bytes",
    "arrival", "delay_ms", "metric", "statistic", "unit", "published", "ours", "ratio", "how",
    "name", "lab", "reason", "doubt", "source", "program", "baseline_program", "network",
)  # fmt: skip

_NAMES, _CELL = 40, 10  # columns of a terminal for the names of a row, and for each number
_UNPLACED = "?"  # the column of a number whose place in the table is lost


@dataclass(frozen=True)
class Report:
    """Everything that is said of one paper."""

    paper: Paper
    fit: Fit
    rows: list[Comparison]
    used: dict[str, object]  # how to repeat it

    def sentences(self) -> list[str]:
        """Agreement and deviation in sentences, made from the numbers."""
        return agreement(self.paper, self.fit, self.rows)

    @property
    def notes(self) -> list[str]:
        """Why it deviates: written by people, kept beside the data."""
        return self.paper.facts["notes"]

    @property
    def about(self) -> list[str]:
        """The machine, the place of the numbers, and remarks to read before them."""
        facts = self.paper.facts
        told = [facts["machine"], f"data: evidence/papers/{self.paper.name}/*.csv"]
        return [*told, facts["caution"]] if "caution" in facts else told

    @property
    def title(self) -> str:
        """Authors, year, title, place."""
        facts = self.paper.facts
        return f"{facts['authors']} ({facts['year']}): {facts['title']}. {facts['where']}"


def rows_for_scripts(report: Report) -> list[dict[str, object]]:
    """A dictionary with COLUMNS for each number; None where there is none."""
    return [_flat(report, row) for row in report.rows]


def _flat(report: Report, row: Comparison) -> dict[str, object]:
    all_of_it = asdict(row.number) | _repeated(report, row)
    all_of_it |= {
        "paper": report.paper.name,
        "source": row.source,
        "published": row.paper,
        "ours": row.ours,
        "ratio": row.ratio,
        "how": row.how,
        "name": row.name,
        "lab": row.lab,
        "reason": row.reason,
    }
    return {column: all_of_it[column] for column in COLUMNS}


def _repeated(report: Report, row: Comparison) -> dict[str, str]:
    """The simulated programs and formulas, and their network; empty: there were none."""
    number, paper = row.number, report.paper
    if row.reason:
        return dict.fromkeys(("program", "baseline_program", "network"), "")
    return {
        "program": programs(paper, number, number.algorithm),
        "baseline_program": programs(paper, number, number.baseline),
        "network": number.network or report.fit.text,
    }


def csv_text(report: Report) -> str:
    """COLUMNS, empty where there is nothing."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in rows_for_scripts(report):
        writer.writerow({name: _cell(value) for name, value in row.items()})
    return text.getvalue()


def _cell(value: object) -> object:
    return f"{value:.6g}" if isinstance(value, float) else value


def json_text(report: Report) -> str:
    """Title, fit, rows, words, notes and the versions used."""
    fit = report.fit
    residuals = [
        {"row": r.number.row, "column": r.number.column, "algorithm": r.number.algorithm,
         "paper_s": r.paper, "fitted_s": r.fitted, "relative": r.relative}
        for r in fit.residuals
    ]  # fmt: skip
    whole = {
        "paper": report.paper.name,
        "title": report.title,
        "url": report.paper.facts["url"],
        "machine": report.paper.facts["machine"],
        "network": fit.text,
        "fit": {"costs": fit.costs, "errors": fit.errors, "held": fit.reasons,
                "on": fit.on, "why": fit.why,
                "determined": fit.determined, "residuals": residuals},
        "rows": rows_for_scripts(report),
        "words": report.sentences(),
        "notes": report.notes,
        "lost": report.paper.facts["lost"],
        "used": report.used,
    }  # fmt: skip
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


# For people


def renderable(report: Report, width: int) -> RenderableType:
    """Title, fit, tables, words, notes, for a terminal of so many columns."""
    parts: list[RenderableType] = [Text(report.title, "bold"), *report.about, ""]
    parts += [*_section("The network", about_fit(report.fit)), *_residuals(report.fit)]
    for rows in by_metric(report.rows):
        parts += [*_grids(rows, max(2, (width - _NAMES) // _CELL)), ""]
    parts += _section("Where we agree, where not", report.sentences())
    parts += _section("Why", report.notes)
    parts += _section("Lost, so not here", report.paper.facts["lost"])
    return Group(*parts)


def _section(title: str, lines: Sequence[str]) -> list[RenderableType]:
    grid = Table.grid(padding=(0, 1))
    for line in lines:
        grid.add_row("-", Text(line))
    return [Text(title, "bold"), grid, ""]


def _residuals(fit: Fit) -> list[RenderableType]:
    if not fit.residuals:
        return []
    unit = fit.residuals[0].number.unit
    title = f"The fit on {fit.on}, row by row; {unit}"
    table = Table(title=title, title_justify="left", title_style="bold", box=None)
    table.add_column("")
    for name in ("paper", "fitted", "fitted / paper - 1"):
        table.add_column(name, justify="right")
    for row in fit.residuals:
        place = f"{row.number.row}, {row.number.column}"
        times = (digits(PER_SECOND[unit] * time) for time in (row.paper, row.fitted))
        table.add_row(place, *times, f"{row.relative:+.1%}")
    return [table, ""]


def by_metric(rows: Sequence[Comparison]) -> Iterator[list[Comparison]]:
    """The rows of one table and metric at a time."""
    yield from grouped(rows, _shared).values()


def _shared(row: Comparison) -> tuple[str, str]:
    """A winner without a number stands among the speedups of the others."""
    return row.number.table, row.number.metric.replace("fastest", "speedup")


def caption(rows: Sequence[Comparison]) -> str:
    """Table, metric and unit of rows that share them."""
    table, metric = _shared(rows[0])
    unit = rows[0].number.unit
    return f"{table}: {metric}" + ("" if unit in ("ratio", "") else f", {unit}")


def cells(row: Comparison) -> list[str]:
    """The paper's value, ours, their ratio, the lab's."""
    return [cell(row) for _, cell, _ in _KINDS]


def _grids(rows: Sequence[Comparison], at_once: int) -> Iterator[RenderableType]:
    """The numbers in the paper's own rows and columns, a few columns at once."""
    placed = dict.fromkeys(row.number.column for row in rows)
    columns = (column for column in placed if column != _UNPLACED)
    while part := list(islice(columns, at_once)):
        yield _grid([row for row in rows if row.number.column in part], part)


def _grid(rows: Sequence[Comparison], columns: Sequence[str]) -> Table:
    table = Table(title=caption(rows), title_justify="left", title_style="bold", box=None)
    table.add_column("")
    table.add_column("", style="dim")
    for column in columns:
        table.add_column(column, justify="right")
    for name, line in grouped(rows, lambda row: row.number.row).items():
        _add_line(table, name, columns, line)
    return table


def _add_line(table: Table, name: str, columns: Sequence[str], rows: Sequence[Comparison]) -> None:
    by = grouped(rows, lambda row: row.number.column)
    for title, cell, needed in _KINDS:
        if title == "paper" or any(needed(row) for row in rows):
            cells = (" ".join(map(cell, by.get(column, ()))) for column in columns)
            first = title == "paper"
            table.add_row(name if first else "", rows[0].source if first else title, *cells)


def _paper_cell(row: Comparison) -> str:
    number = row.number
    if row.paper is None:
        return number.algorithm
    named = "|" in number.algorithm + number.baseline and "|" not in number.algorithm
    return f"{number.algorithm} {digits(row.paper)}" if named else digits(row.paper)


def _our_cell(row: Comparison) -> str:
    return row.name or (digits(row.ours) if row.ours is not None else "-")


def _ratio_cell(row: Comparison) -> str:
    if row.agrees is not None:
        return "same" if row.agrees else "other"
    return "" if row.ratio is None else f"{row.ratio:.2f}" + ("" if _near(row.ratio) else " !")


def _near(ratio: float) -> bool:
    return abs(ratio - 1) <= CLOSE


def _has_ours(row: Comparison) -> bool:
    return row.ours is not None or bool(row.name)


_KINDS: tuple[tuple[str, Callable[[Comparison], str], Callable[[Comparison], bool]], ...] = (
    ("paper", _paper_cell, lambda _: True),
    ("ours", _our_cell, _has_ours),
    ("ratio", _ratio_cell, _has_ours),
    ("lab", lambda row: digits(row.lab), lambda row: row.lab is not None),
)


def footer(report: Report) -> str:
    """The settings in one line."""
    used = report.used
    text = f"{report.paper.name}; version {used['version']}, {used['iterations']} draws of random "
    lab = f"; lab {used['lab']}" if "lab" in used else ""
    return f"{text}arrivals, seed {used['seed']}{lab}"
