"""The parts of an HTML page that differ where there are several ranks or sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape

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


def findings(rows: Sequence[Row]) -> Iterator[str]:
    """Sentences that count how often each algorithm is fastest."""
    found = table_lines(rows)
    winners = Counter(name for line in found for name in line.fastest).most_common()
    ties = " (equal times count for each)" if any(len(line.fastest) > 1 for line in found) else ""
    for name, often in winners[:_TOLD]:
        yield f"<b>{escape(name)}</b> is fastest in {often} of {len(found)} cases{ties}"
        ties = ""
    if less := [f"{escape(name)} in {often}" for name, often in winners[_TOLD:]]:
        yield f"less often: {', '.join(less)}"


def table(rows: Sequence[Row]) -> Iterator[str]:
    """All times: those of the highlighted algorithms, and the others' to be unfolded."""
    found, rest = table_lines(rows), others(rows)
    yield from _table(rows, found, highlighted(rows))
    if rest:
        yield f"<details><summary>The other {len(rest)} algorithms, the best first</summary>"
        for start in range(0, len(rest), _ACROSS):
            yield from _table(rows, found, rest[start : start + _ACROSS])
        yield "</details>"


def _table(rows: Sequence[Row], found: Sequence[Line], names: Sequence[str]) -> Iterator[str]:
    heads = "".join(f"<th scope=col>{_head(name)}</th>" for name in (*case_headings(rows), *names))
    yield f'<div class="wide sweep"><table><caption>{escape(TITLE)}</caption>'
    yield f"<thead><tr>{heads}</tr></thead><tbody>"
    for line in found:
        yield _line(line, names)
    yield "</tbody></table></div>"


def _head(name: str) -> str:
    """May be broken after each part of the name."""
    return escape(name).replace("_", "_<wbr>")


def _line(line: Line, names: Sequence[str]) -> str:
    case = "".join(f"<th scope=row>{escape(text)}</th>" for text in line.case)
    fastest = line.fastest
    cells = "".join(_cell(line.rows[name], name in fastest) for name in names)
    return f"<tr>{case}<td>{number(line.limit)}</td>{cells}</tr>"


def _cell(row: Row | None, best: bool) -> str:
    if row is None:
        return "<td></td>"
    mark = " class=wrong" if row.wrong else " class=best" if best else ""
    return f'<td{mark} title="{escape(row.parameters)}">{number(row.after_last_ms)}</td>'
