"""A benchmark's rows as a table for people, as CSV, as JSON, and as OSU's benchmarks print."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING

from ...base.printable import csv_cell
from ...base.units import size
from ...core.native_choices import MODELS
from ..results.statistics import COLUMNS, Row

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

_HEADINGS = (
    "elapsed",
    "quartiles",
    "after last",
    "limit",
    "absorbed",
    "x native",
    "x ring",
    "wrong",
)
_WIDE = 100  # columns of a screen that shows all
_WIDE_ONLY = ("quartiles", "absorbed")
_DROPPED = (*_WIDE_ONLY, "limit", "wrong", "x native", "x ring", "after last")  # in this order
_PAD = 2  # columns of a screen between two of a table
_LEGEND = (  # for the first table of a screen
    ({"elapsed"}, "elapsed: mean of a rank in the call"),
    ({"limit"}, "limit: least after last"),
    ({"absorbed"}, "absorbed: imbalance hidden"),
    ({"x native", "x ring"}, "x: times as fast"),
)


def by_delay(rows: Sequence[Row]) -> list[list[Row]]:
    """The rows in blocks of one delay each, and of one number of ranks and size."""
    cases = groupby(rows, key=lambda row: (row.ranks, row.bytes, row.delay_ms))
    return [list(block) for _, block in cases]


def best(block: Sequence[Row]) -> Row:
    """The row with the least mean elapsed time among those with right results, if there are any."""
    return min(block, key=merit)


def merit(row: Row) -> tuple[bool, float]:
    """A key that sorts the rows of a block, the best first and wrong results last."""
    return bool(row.wrong), row.elapsed_ms


def delay_title(row: Row) -> str:
    """Title of a block of rows: `onelate, delay 5 ms`."""
    if row.delay_ms is None:
        return row.arrival
    return f"{row.arrival}, delay {row.delay_ms:g} ms" if row.delay_ms else "all arrive together"


def delays_title(rows: Sequence[Row]) -> str:
    """Title of all rows: `onelate, delays 0, 5 ms`; that of `delay_title` if they are alike."""
    delays = sorted({row.delay_ms or 0 for row in rows})
    if len(delays) == 1:
        return delay_title(rows[0])
    return f"{rows[0].arrival}, delays {', '.join(f'{delay:g}' for delay in delays)} ms"


def case_title(row: Row) -> str:
    """Title of a block of rows, with ranks and size."""
    return f"{row.ranks} ranks, {size(row.bytes)}, {delay_title(row)}"


def number(value: float | None) -> str:
    """Three significant digits above 1, two below 0.1, never in exponent form; nothing for None.

    At most four decimals: of a time in ms, tenths of a microsecond.
    """
    if value is None:
        return ""
    steps = (1000, 0), (10, 1), (0.1, 2), (0.01, 3), (5e-5, 4), (0, 2)
    digits = next(digits for least, digits in steps if abs(value) >= least)
    text = f"{value:.{digits}f}"
    return text if float(text) else text.lstrip("-")


def columns(rows: Sequence[Row]) -> list[str]:
    """The columns of a table; without `x native` where nothing was compared with it."""
    compared = any(row.speedup_native is not None for row in rows)
    return [name for name in _HEADINGS if compared or name != "x native"]


def cells(row: Row, names: Sequence[str]) -> list[str]:
    """The values of a row in these `columns`."""
    texts = [
        number(row.elapsed_ms),
        f"{number(row.elapsed_q1_ms)} - {number(row.elapsed_q3_ms)}",
        number(row.after_last_ms),
        number(row.limit_ms),
        number(row.absorption_ms),
        number(row.speedup_native),
        number(row.speedup_ring),
        "" if row.wrong is None else str(row.wrong),
    ]
    values = dict(zip(_HEADINGS, texts, strict=True))
    return [values[name] for name in names]


def headings(rows: Sequence[Row], names: Sequence[str]) -> list[str]:
    """The headings of `cells`; times are in ms."""
    return [f"x {yardstick(rows)}" if name == "x native" else name for name in names]


def yardstick(rows: Sequence[Row]) -> str:
    """The reference of `speedup_native`: native, or the first model of it if it was not run."""
    names = [row.algorithm for row in rows]
    models = [name for name in names if name in MODELS]
    return models[0] if models and "native" not in names else "native"


def rich_tables(rows: Sequence[Row], width: int = _WIDE) -> RenderableType:
    """A table for each delay, the best elapsed time marked; fewer columns where not all fit."""
    from rich.console import Group

    shown = _fitting(rows, width)
    first, *others = (_rich_table(block, shown) for block in by_delay(rows))
    return Group(first, legend(shown), "", *(part for table in others for part in (table, "")))


def _fitting(rows: Sequence[Row], width: int) -> list[str]:
    """The columns that fit beside the whole names of the algorithms."""
    shown = [name for name in columns(rows) if width >= _WIDE or name not in _WIDE_ONLY]
    texts = [headings(rows, shown), *(cells(row, shown) for row in rows)]
    own = {name: _PAD + max(map(len, column))
           for name, column in zip(shown, zip(*texts, strict=True), strict=True)}  # fmt: skip
    names = _PAD + max(len(row.algorithm) for row in rows)
    wrong = any(row.wrong for row in rows)
    for name in sorted(_DROPPED, key=lambda name: wrong and name == "wrong"):
        if names + sum(own[each] for each in shown) > width and name in shown:
            shown.remove(name)
    return shown


def legend(shown: Sequence[str]) -> str:
    """The meaning of the columns, in one line."""
    told = [text for names, text in _LEGEND if names & set(shown)]
    return f"[dim]{'; '.join(told)}[/]"


def _rich_table(block: Sequence[Row], shown: Sequence[str]) -> Table:
    from rich.table import Table
    from rich.text import Text

    title = f"{delay_title(block[0])}; times in ms"
    table = Table(title=title, title_justify="left", box=None, title_style="bold")
    table.add_column("algorithm", overflow="fold")
    for name in headings(block, shown):
        table.add_column(name, justify="right", no_wrap=True)
    winner = best(block)
    for row in block:
        values = dict(zip(shown, map(Text, cells(row, shown)), strict=True))
        if row.wrong and "wrong" in values:
            values["wrong"].stylize("bold red")
        label = Text.assemble(row.algorithm, " ", (row.parameters, "dim"))
        style = "bold green" if row is winner else None
        table.add_row(label, *values.values(), style=style)
    return table


def csv_text(rows: Sequence[Row]) -> str:
    """The columns in their fixed order; empty where not defined."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([_csv_cell(value) for value in asdict(row).values()] for row in rows)
    return text.getvalue()


def _csv_cell(value: object) -> object:
    if isinstance(value, float):
        return f"{value:.6g}"
    return csv_cell(value) if isinstance(value, str) else value


def json_text(rows: Sequence[Row], used: Mapping[str, object]) -> str:
    """The rows, and the versions and costs used to get them."""
    return json.dumps({"used": used, "rows": [asdict(row) for row in rows]}, indent=2) + "\n"


def osu_text(rows: Sequence[Row], used: Mapping[str, object]) -> str:
    """A text as of OSU's micro-benchmarks: a block for each algorithm and delay; microseconds."""
    return "\n".join(_osu_lines(rows, used)) + "\n"


def _osu_lines(rows: Sequence[Row], used: Mapping[str, object]) -> Iterator[str]:
    for row in rows:
        yield f"# latecomer {row.collective} Latency Test v{used['version']}"
        yield f"# Algorithm: {row.label}; {delay_title(row)}"
        names = ("Avg Latency(us)", "Q1 Latency(us)", "Q3 Latency(us)", "Iterations", "Validation")
        yield "# Size    " + "".join(f"{name:>18}" for name in names)
        times = (row.elapsed_ms, row.elapsed_q1_ms, row.elapsed_q3_ms)
        latencies = "".join(f"{1e3 * time:18.2f}" for time in times)
        valid = "-" if row.wrong is None else "Fail" if row.wrong else "Pass"
        yield f"{row.bytes:<10}{latencies}{row.iterations:18}{valid:>18}"
