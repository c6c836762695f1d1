"""A benchmark's result as one HTML page that needs nothing else: no script, no other file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

from ..base.pages import POLICY, STYLE
from ..core import networks
from ..core.native_choices import MODELS
from ..results.statistics import Row
from . import looks, plot, sweep
from .lines import is_sweep, lines
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
    size,
    yardstick,
)

_AS = "as="  # among the parameters of an algorithm that chose another one

_HOW_TO_READ = (
    (
        "elapsed",
        "The time a rank spends in the collective, from its own arrival to its own exit: the mean "
        "over the ranks, and of that the median over the iterations. Early ranks wait for late "
        "ones, so it grows with the delay for every algorithm. Less is better.",
    ),
    (
        "quartiles",
        "A quarter of the iterations took less than the first number, a quarter more than the "
        "second. Differences smaller than this range may be noise.",
    ),
    (
        "after last",
        "From the arrival of the last rank to the last exit: what the collective still costs when "
        "everybody is there. Algorithms that use the waiting time have little left to do then.",
    ),
    (
        "limit",
        "The physical lower bound of after last for these arrivals on this network, for all "
        "algorithms that move a rank's data only from its arrival on. Empty where the network's "
        "speed is not known.",
    ),
    (
        "absorbed",
        "How much of the imbalance the algorithm hid: its run time when all arrive together, "
        "minus its run time here, plus the time between the first and the last arrival. Below 0 "
        "it suffered from the imbalance.",
    ),
    (
        "x {yardstick}, x ring",
        "How many times as fast as {meaning}, and as the ring, by elapsed time. Above 1 is faster. "
        "These yardsticks are in italics.",
    ),
    (
        "wrong",
        "Elements that differed from the right result. Anything but 0 is a "
        "defect; empty where results were not computed.",
    ),
)


def page(rows: Sequence[Row], used: Mapping[str, object]) -> str:
    """The whole page. `used` says how to repeat the measurement."""
    return "\n".join(_page(rows, used)) + "\n"


def _page(rows: Sequence[Row], used: Mapping[str, Any]) -> Iterator[str]:
    title = f"latecomer: {rows[0].collective} on {_span(rows, 'ranks')} ranks"
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>"
    yield f"<h1>{escape(title)}</h1>\n<p class=lead>{escape(_lead(rows))}</p>"
    if (complete := used.get("complete", "yes")) != "yes":
        yield f"<p class=alarm>Not complete: {escape(str(complete))}. This is what was measured "
        yield "before that.</p>"
    for remark in used.get("remarks", ()):
        yield f"<p class=alarm>{escape(remark)}.</p>"
    yield from _findings(rows)
    caption = f"<figcaption>{escape(said)}</figcaption>" if (said := plot.note(rows)) else ""
    yield f"<figure>{plot.inline_svg(rows)}{caption}</figure>"
    yield "<h2>All algorithms</h2>"
    if is_sweep(rows):
        yield from sweep.table(rows)
        yield from _definitions("How to read it", sweep.HOW_TO_READ)
    else:
        for block in by_delay(rows):
            yield from _table(block)
        yield from _definitions("How to read it", _how_to_read(rows))
    yield from _definitions("What was used", ((name, _told(value)) for name, value in used.items()))
    yield "</body>\n</html>"


def _how_to_read(rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    name = yardstick(rows)
    meaning = "the MPI library's own collective"
    if name in MODELS:
        meaning = "our programs for what that library chooses by default (a model: no MPI ran)"
    for term, text in _HOW_TO_READ:
        yield term.format(yardstick=name), text.format(meaning=meaning)


def _lead(rows: Sequence[Row]) -> str:
    row = rows[0]
    sizes = _span(rows, "bytes", size)
    network = networks.told(row.network)
    return f"{sizes}, operator {row.op}, arrivals {delays_title(rows)}; {network}, {row.mpi}"


def _span(rows: Sequence[Row], column: str, shown: Callable[[int], str] = str) -> str:
    """The least and greatest value: `2 to 64`, or the only one."""
    values = [getattr(row, column) for row in rows]
    return " to ".join(map(shown, sorted({min(values), max(values)})))


def _findings(rows: Sequence[Row]) -> Iterator[str]:
    wrong = sum(row.wrong or 0 for row in rows)
    if wrong:
        yield f"<p class=alarm>{wrong} elements were wrong: see the last column.</p>"
    yield "<ul class=findings>"
    if is_sweep(rows):
        yield from (f"<li>{finding}</li>" for finding in sweep.findings(rows))
    else:
        for block in by_delay(rows):
            yield f"<li>{escape(delay_title(block[0]))}: {_finding(block)}</li>"
    yield "</ul>"


def _finding(block: Sequence[Row]) -> str:
    """Who is fastest, and by how much; first that nobody clearly is, where that is so."""
    row, names = best(block), _names(block)
    who, took = f"<b>{escape(names[row])}</b>{_choice(row)}", f"{number(row.elapsed_ms)} ms"
    near = [r for r in block if r is not row and r.elapsed_q1_ms <= row.elapsed_q3_ms]
    text = f"{who} is fastest with {took}"
    if near:
        others = escape(", ".join(names[r] for r in near))
        text = f"no clear difference between {who} with {took}, the least, and {others}"
    rivals = ((yardstick(block), row.speedup_native), ("ring", row.speedup_ring))
    told = [
        f"{number(speedup)} times as fast as {_described(name)}"
        for name, speedup in rivals
        if speedup and name not in (row.algorithm, *(r.algorithm for r in near))
    ]
    return ", ".join([text, *told])


def _choice(row: Row) -> str:
    """As in `, which chose ring`: of an algorithm that chooses another one."""
    chosen = [word.removeprefix(_AS) for word in row.parameters.split() if word.startswith(_AS)]
    return f", which chose {escape(chosen[0])}," if chosen else ""


def _names(block: Sequence[Row]) -> dict[Row, str]:
    return {row: name for name, own in lines(block).items() for row in own}


def _described(name: str) -> str:
    return f"the model {name}" if name in MODELS else name


def _table(block: Sequence[Row]) -> Iterator[str]:
    shown = columns(block)
    names = "".join(f"<th scope=col>{escape(heading)}</th>" for heading in headings(block, shown))
    yield f"<div class=wide><table><caption>{escape(delay_title(block[0]))}; times in ms, "
    yield "the least elapsed first</caption>"
    yield f"<thead><tr><th scope=col>algorithm</th>{names}</tr></thead><tbody>"
    winner = best(block)
    for row in sorted(block, key=merit):
        yield _table_row(row, shown, row is winner)
    yield "</tbody></table></div>"


def _table_row(row: Row, names: Sequence[str], is_best: bool) -> str:
    *shown, wrong = cells(row, names)
    name = f"{escape(row.algorithm)} <small>{escape(row.parameters)}</small>"
    values = "".join(f"<td>{escape(cell)}</td>" for cell in shown)
    mark = " class=wrong" if row.wrong else ""
    classes = ["best"] * is_best + ["yardstick"] * (row.algorithm in looks.YARDSTICKS)
    start = f'<tr class="{" ".join(classes)}">' if classes else "<tr>"
    return f"{start}<th scope=row>{name}</th>{values}<td{mark}>{escape(wrong)}</td></tr>"


def _definitions(title: str, entries) -> Iterator[str]:
    yield f"<h2>{escape(title)}</h2>\n<dl>"
    for name, text in entries:
        yield f"<dt>{escape(str(name).replace('_', ' '))}</dt><dd>{escape(_words(text))}</dd>"
    yield "</dl>"


def _told(value: object) -> object:
    return networks.told(value) if isinstance(value, str) else value


def _words(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
