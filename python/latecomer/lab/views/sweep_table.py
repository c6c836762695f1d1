"""Rows over several ranks or sizes as one table: a line for each case, a column for each algorithm.

Cells hold the time from the last arrival to the last exit, which the limit bounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ...base.units import size
from ..results.statistics import Row
from .lines import lines
from .table import delays_title, number

_NARROW = 9  # columns of a screen for a number
TITLE = "last exit after the last arrival, ms"


@dataclass(frozen=True)
class Line:
    """One case: its description, its limit, and a row for each of `lines` (None: was not run)."""

    case: list[str]
    limit: float | None
    rows: dict[str, Row | None]

    @property
    def fastest(self) -> dict[str, Row]:
        """The rows with the least time among those with right results, if there are any."""
        timed = [
            (name, row, (bool(row.wrong), row.after_last_ms))
            for name, row in self.rows.items()
            if row and row.after_last_ms is not None
        ]
        least = min((time for *_, time in timed), default=(True, math.inf))
        return {name: row for name, row, time in timed if _equal(time, least)}


def _equal(time: tuple[bool, float], other: tuple[bool, float]) -> bool:
    """Tell whether two times are equal but for rounding: one program may have several names."""
    return time[0] == other[0] and math.isclose(time[1], other[1])


def headings(rows: Sequence[Row]) -> list[str]:
    """Headings of the columns of a case, then of the algorithms."""
    return [*case_headings(rows), *lines(rows)]


def case_headings(rows: Sequence[Row]) -> list[str]:
    """Headings of the columns before the algorithms'."""
    return [*_case_names(rows), "limit"]


def table_lines(rows: Sequence[Row]) -> list[Line]:
    """The table's lines, in the order of the rows."""
    columns = {name: {_case(row): row for row in own} for name, own in lines(rows).items()}
    names, found = _case_names(rows), []
    for case in dict.fromkeys(map(_case, rows)):
        own = {name: column.get(case) for name, column in columns.items()}
        first = next(row for row in own.values() if row)
        found.append(Line([_shown(first, name) for name in names], first.limit_ms, own))
    return found


def rich_table(rows: Sequence[Row], width: int) -> RenderableType:
    """A table for a terminal, the best times marked; only the best where not all fit."""
    row = rows[0]
    title = Text(f"{row.collective}, {row.op}, {delays_title(rows)}: {TITLE}", "bold")
    return Group(title, _all(rows) if least_width(rows) <= width else _fastest(rows, width))


def least_width(rows: Sequence[Row]) -> int:
    """Columns of a terminal that shows all algorithms."""
    return sum(max(len(name), 8) + 2 for name in headings(rows))


def _all(rows: Sequence[Row]) -> Table:
    table = Table(box=None)
    for name in headings(rows):
        table.add_column(name, justify="right", no_wrap=True)
    for line in table_lines(rows):
        fastest = line.fastest
        cells = [_cell(row, name in fastest) for name, row in line.rows.items()]
        table.add_row(*line.case, number(line.limit), *cells)
    return table


def _fastest(rows: Sequence[Row], width: int) -> Table:
    """The best algorithm of each case; without the limit where the names would not fit beside."""
    case, found = _case_names(rows), table_lines(rows)
    told = [(line, *_first(list(line.fastest.values()))) for line in found]
    names = max((len(name) for _, name, _ in told), default=0)
    limit = [] if width < names + _NARROW * (len(case) + 2) else ["limit"]
    table = Table(box=None)
    for name in (*case, *limit):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("fastest", overflow="fold")
    table.add_column("ms", justify="right", no_wrap=True)
    for line, name, time in told:
        table.add_row(*line.case, *([number(line.limit)] if limit else []), name, time)
    return table


def _first(fastest: Sequence[Row]) -> tuple[str, Text]:
    """The fastest algorithm, the number of those equal to it, and its time."""
    if not fastest:
        return "", Text()
    equal = f", {len(fastest) - 1} equal" if len(fastest) > 1 else ""
    return f"{fastest[0].label}{equal}", _cell(fastest[0], False)


def _cell(row: Row | None, best: bool) -> Text:
    if row is None:
        return Text()
    style = "bold red" if row.wrong else "bold green" if best else ""
    return Text(number(row.after_last_ms), style)


def _case(row: Row) -> tuple[int, int, float | None]:
    return row.ranks, row.bytes, row.delay_ms


def _case_names(rows: Sequence[Row]) -> list[str]:
    columns = {"ranks": "ranks", "bytes": "bytes", "delay": "delay_ms"}
    return [name for name, column in columns.items() if len({getattr(r, column) for r in rows}) > 1]


def _shown(row: Row, name: str) -> str:
    if name == "bytes":
        return size(row.bytes)
    return str(row.ranks) if name == "ranks" else f"{row.delay_ms:g} ms"
