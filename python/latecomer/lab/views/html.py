"""A benchmark's result as one HTML page that needs nothing else: no script, no other file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from ...base import pages
from ...base.units import size
from ...core import networks
from ...core.native_choices import MODELS
from ..results.statistics import Row
from . import plot, style
from .lines import highlighted, is_sweep, lines, others
from .sweep_table import TITLE, Line, case_headings, table_lines
from .table import (
    best,
    by_delay,
    cells,
    columns,
    delay_title,
    delays_title,
    headings,
    merit,
    number,
    yardstick,
)

_AS = "as="  # among the parameters of an algorithm that chose another one

_ARRIVALS = {  # what the patterns are, in words
    "onelate": "one rank comes later than all others, by the delay",
    "randlate": "each rank comes later by a part of the delay, drawn at random",
    "gamma": "each rank comes later by a time drawn at random: the delay on average, some far more",
    "gaussian": "each rank comes later by a time drawn at random around the delay",
}

_TOLD = 5  # findings with a line of their own
_ACROSS = 9  # algorithms in a table that fits on the page


def page(rows: Sequence[Row], used: Mapping[str, Any]) -> str:
    """The whole page. `used` says how to repeat the measurement."""
    alarms = [f"{remark}." for remark in used.get("remarks", ())]
    if (complete := used.get("complete", "yes")) != "yes":
        alarms.insert(0, f"Not complete: {complete}. This is what was measured before that.")
    if wrong := sum(row.wrong or 0 for row in rows):
        alarms.append(f"{wrong} elements were wrong: see the last column.")
    wide = is_sweep(rows)
    blocks = by_delay(rows)
    return pages.page(
        __package__,
        wide=wide,
        title=f"latecomer: {rows[0].collective} on {_span(rows, 'ranks')} ranks",
        lead=_lead(rows),
        pattern=_pattern(rows),
        alarms=alarms,
        findings=list(_sweep_findings(rows)) if wide else list(map(_finding, blocks)),
        note=plot.note(rows),
        plot=Markup(plot.inline_svg(rows)),
        tables=[_sweep_table(rows, table_lines(rows), highlighted(rows))]
        if wide
        else [_table(block, first=block is blocks[0]) for block in blocks],
        others=_other_tables(rows) if wide else [],
        folded=len(others(rows)) if wide else 0,
        yardstick=yardstick(rows),
        modelled=yardstick(rows) in MODELS,
        used=pages.told((name, _told(value)) for name, value in used.items()),
    )


def _lead(rows: Sequence[Row]) -> str:
    row = rows[0]
    sizes = _span(rows, "bytes", size)
    network = networks.told(row.network)
    op = "" if row.op == "none" else f", operator {row.op}"
    return f"{sizes}{op}, arrivals {delays_title(rows)}; {network}, {row.mpi}"


def _pattern(rows: Sequence[Row]) -> str:
    """A sentence on the pattern of arrivals; "": it is balanced, or one of a file."""
    name = rows[0].arrival
    known = any(row.delay_ms for row in rows) and name in _ARRIVALS
    return f"{name}: {_ARRIVALS[name]}." if known else ""


def _span(rows: Sequence[Row], column: str, shown: Callable[[int], str] = str) -> str:
    """The least and greatest value: `2 to 64`, or the only one."""
    values = [getattr(row, column) for row in rows]
    return " to ".join(map(shown, sorted({min(values), max(values)})))


def _finding(block: Sequence[Row]) -> tuple[str, str, str]:
    """Who is fastest, and by how much; last who is not clearly slower.

    The name stands apart, between what is before and behind it.
    """
    row, names = best(block), {row: name for name, own in lines(block).items() for row in own}
    took, choice = f"{number(row.elapsed_ms)} ms", _choice(row)
    near = [
        r for r in block if r is not row and not r.wrong and r.elapsed_q1_ms <= row.elapsed_q3_ms
    ]
    before, after = f"{delay_title(row)}: ", f"{choice} {'takes least' if near else 'is fastest'}"
    if len(near) == len(block) - 1 > 1:
        return f"{before}no clear difference between any of them; ", names[row], f"{after}, {took}"
    rivals = ((yardstick(block), row.speedup_native), ("ring", row.speedup_ring))
    told = [
        f"{number(speedup)} times as fast as {'the model ' if name in MODELS else ''}{name}"
        for name, speedup in rivals
        if speedup and name not in (row.algorithm, *(r.algorithm for r in near))
    ]
    said = ", ".join([f"{after}, {took}" if near else f"{after} with {took}", *told])
    slower = f"; not clearly slower: {', '.join(names[r] for r in near)}" if near else ""
    return before, names[row], said + slower


def _choice(row: Row) -> str:
    """As in `, which chose ring`: of an algorithm that chooses another one."""
    chosen = [word.removeprefix(_AS) for word in row.parameters.split() if word.startswith(_AS)]
    return f", which chose {chosen[0]}," if chosen else ""


def _table(block: Sequence[Row], *, first: bool) -> tuple[str, list[str], list[pages.Row]]:
    """Caption, heads and rows; the first table says what the word means that no other page has."""
    absorbed = "; absorbed: the time of the imbalance that an algorithm hid" if first else ""
    shown, winner = columns(block), best(block)
    return (
        f"{delay_title(block[0])}; times in ms, the least elapsed first{absorbed}",
        ["algorithm", *headings(block, shown)],
        [_table_row(row, shown, row is winner) for row in sorted(block, key=merit)],
    )


def _table_row(row: Row, names: Sequence[str], is_best: bool) -> pages.Row:
    *values, wrong = cells(row, names)
    kind = ["best"] * is_best + ["yardstick"] * (row.algorithm in style.YARDSTICKS)
    last = pages.Cell(wrong, "wrong" if row.wrong else "")
    return pages.Row([row.algorithm], [*values, last], row.parameters, " ".join(kind))


def _told(value: object) -> object:
    return networks.told(value) if isinstance(value, str) else value


def _sweep_findings(rows: Sequence[Row]) -> Iterator[tuple[str, str, str]]:
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


def _other_tables(rows: Sequence[Row]) -> list[Shown]:
    """The tables of the algorithms that are not highlighted, the best first."""
    found, rest = table_lines(rows), others(rows)
    return [_sweep_table(rows, found, rest[start : start + _ACROSS])
            for start in range(0, len(rest), _ACROSS)]  # fmt: skip


def _sweep_table(rows: Sequence[Row], found: Sequence[Line], names: Sequence[str]) -> Shown:
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
