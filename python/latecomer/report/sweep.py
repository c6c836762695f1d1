"""The parts of an HTML page that differ where there are several ranks or sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape

from ..statistics import Row
from ..sweep_table import TITLE, Line, headings, table_lines
from ..table import number

HOW_TO_READ = (
    (
        "times",
        "From the arrival of the last rank to the last exit: what the collective still costs when "
        "everybody is there. Less is better; the best of each line is marked.",
    ),
    ("limit", "What no algorithm can beat for these arrivals on this network."),
    (
        "openmpi-4.1, mpich-5.0",
        "Models of what these libraries choose by default, run with our programs: the steps and "
        "cliffs of the choice, nothing else of the library.",
    ),
)


def findings(rows: Sequence[Row]) -> Iterator[str]:
    """How often each algorithm is fastest."""
    found = table_lines(rows)
    winners = Counter(line.best.algorithm for line in found if line.best)
    for name, often in winners.most_common():
        yield f"<b>{escape(name)}</b> is fastest in {often} of {len(found)} cases"


def table(rows: Sequence[Row]) -> Iterator[str]:
    """All times."""
    names = "".join(f"<th scope=col>{escape(name)}</th>" for name in headings(rows))
    yield f"<div class=wide><table><caption>{escape(TITLE)}</caption>"
    yield f"<thead><tr>{names}</tr></thead><tbody>"
    for line in table_lines(rows):
        yield _line(line)
    yield "</tbody></table></div>"


def _line(line: Line) -> str:
    case = "".join(f"<th scope=row>{escape(text)}</th>" for text in line.case)
    cells = "".join(_cell(row, row is line.best) for row in line.rows)
    return f"<tr>{case}<td>{number(line.limit)}</td>{cells}</tr>"


def _cell(row: Row | None, best: bool) -> str:
    if row is None:
        return "<td></td>"
    mark = " class=wrong" if row.wrong else " class=best" if best else ""
    return f'<td{mark} title="{escape(row.parameters)}">{number(row.after_last_ms)}</td>'
