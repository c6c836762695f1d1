"""Plots of a benchmark's rows, as files or as elements of a page.

Curves run over the delay, or over ranks or sizes; bars stand where there is a single delay. Where
algorithms are too many for names beside their curves, the others are grey and listed in `note`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from ...base.units import size
from ..results.statistics import Row
from . import curves, scaling, style
from .lines import is_sweep, others
from .table import by_delay, delay_title


def save(rows: Sequence[Row], path: Path) -> None:
    """Write a plot as SVG or PNG, by the name's end."""
    with style.styled():
        figure = _figure(rows)
        _title(figure, rows)
        style.write(figure, path)


def inline_svg(rows: Sequence[Row]) -> str:
    """The plot as an element for an HTML page, with its colours --ink, --grid, --paper, --faint."""
    return style.as_element(lambda: _figure(rows))


def _figure(rows: Sequence[Row]) -> Figure:
    if is_sweep(rows):
        return scaling.figure(rows)
    return curves.figure(rows)


def _title(figure: Figure, rows: Sequence[Row]) -> None:
    row = rows[0]
    figure.suptitle(_what(rows), x=0.01, ha="left", fontsize=12, fontweight="bold", wrap=True)
    often = max(row.iterations for row in rows)
    median = f"median over {often} iterations; " if often > 1 else ""
    network = re.sub(r",(?=\S)", ", ", row.network)  # lines are broken at spaces
    used = f"{median}{network}, {row.mpi}, seed {row.seed}"
    said = "\n".join(filter(None, (note(rows), used)))
    figure.supxlabel(said, x=0.01, ha="left", fontsize=8, wrap=True)


def _what(rows: Sequence[Row]) -> str:
    if is_sweep(rows):
        return scaling.title(rows)
    row, blocks = rows[0], by_delay(rows)
    when = row.arrival if len(blocks) > 1 else delay_title(row)  # the delays are on the axis
    return f"{row.collective} of {size(row.bytes)} on {row.ranks} ranks, {when}"


def note(rows: Sequence[Row]) -> str:
    """A sentence that lists the grey lines, the best first; "" if there are none."""
    grey = [] if curves.is_bars(rows) else others(rows)
    if not grey:
        return ""
    best = "the best first, by the geometric mean of time over the least of each case"
    return f"Named: yardsticks, auto and the best of the others. Grey ({best}): {', '.join(grey)}."
