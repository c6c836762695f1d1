"""The parts of an HTML page that differ where there are several ranks or sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ...base import pages
from ..results.statistics import Row
from .highlight import highlighted, others
from .sweep_table import TITLE, Line, case_headings, table_lines
from .table import number

_TOLD = 5  # findings with a line of their own
_ACROSS = 9  # algorithms in a table that fits on the page

HOW_TO_READ = (
    (
        "times",
        "From the arrival of the last rank to the last exit: what the collective still costs when "
        "everybody is there. Less is better; the best of each line is marked, with all that are "
        "equal to it, in the folded tables too. What an algorithm chose by itself is shown where "
        "the pointer rests on its time.",
    ),
    ("limit", "What no algorithm can beat for these arrivals on this network."),
    (
        "openmpi-4.1, mpich-5.0",
        "Models of what these libraries choose by default, run with our programs: the steps and "
        "cliffs of the choice, nothing else of the library.",
    ),
)


def findings(rows: Sequence[Row]) -> Iterator[tuple[str, str, str]]:
    """Sentences that count how often each algorithm is fastest: what is before its name, the name,
    and the rest.
    """
    found = table_lines(rows)
    winners = Counter(name for line in found for name in line.fastest).most_common()
    ties = " (equal times count for each)" if any(len(line.fastest) > 1 for line in found) else ""
    for name, often in winners[:_TOLD]:
        yield "", name, f" is fastest in {often} of {len(found)} cases{ties}"
        ties = ""
    if less := [f"{name} in {often}" for name, often in winners[_TOLD:]]:
        yield f"less often: {', '.join(less)}", "", ""


Shown = tuple[str, list[str], list[pages.Row]]  # caption, heads and rows


def tables(rows: Sequence[Row]) -> list[Shown]:
    """The times of the highlighted algorithms."""
    return [_table(rows, table_lines(rows), highlighted(rows))]


def other_tables(rows: Sequence[Row]) -> list[Shown]:
    """Those of the others, the best first."""
    found, rest = table_lines(rows), others(rows)
    return [_table(rows, found, rest[start : start + _ACROSS])
            for start in range(0, len(rest), _ACROSS)]  # fmt: skip


def _table(rows: Sequence[Row], found: Sequence[Line], names: Sequence[str]) -> Shown:
    return TITLE, [*case_headings(rows), *names], [_line(line, names) for line in found]


def _line(line: Line, names: Sequence[str]) -> pages.Row:
    fastest = line.fastest
    cells = [_cell(line.rows[name], name in fastest) for name in names]
    return pages.Row(line.case, [number(line.limit), *cells])


def _cell(row: Row | None, best: bool) -> str | pages.Cell:
    if row is None:
        return ""
    mark = "wrong" if row.wrong else "best" if best else ""
    return pages.Cell(number(row.after_last_ms), mark, row.parameters)
