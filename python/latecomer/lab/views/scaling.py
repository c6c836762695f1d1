"""Pictures of time against ranks, or against size: a line for each algorithm.

Where both vary there is a panel for each of the fewer. The models of MPI libraries' choices are
grey and dashed; a circle on them is a place where the choice changes. The limit is dotted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from ...base.units import size
from ...core.native_choices import MODELS
from ..results.statistics import Row
from .lines import Panel, lines, panels
from .style import GRID, INK, OTHER, PAPER, End, Look, limit_end, line_looks, name_ends
from .table import delay_title, delays_title

_FEW = 24  # points of a line that are marked
_WIDE_RANGE = 12  # from where an axis is logarithmic
_MOST_TICKS = 8

Point = tuple[float, float]


def figure(rows: Sequence[Row]) -> Figure:
    """All panels."""
    shown = panels(rows)
    across = min(len(shown), 2 if len(shown) in (2, 4) else 3)
    down = math.ceil(len(shown) / across)
    made = Figure(figsize=(6.4 * across, 0.5 + 4.6 * down), layout="constrained")
    FigureCanvasAgg(made)
    cells = list(made.subplots(down, across, squeeze=False).flat)
    looks = line_looks(rows)
    logarithmic = _wide(_times(rows))  # in all panels or in none
    for axes, panel in zip(cells, shown, strict=False):
        _panel(axes, panel, looks, logarithmic)
    for axes in cells[len(shown) :]:
        axes.set_axis_off()
    return made


def title(rows: Sequence[Row]) -> str:
    """Title of the picture."""
    row = rows[0]
    return f"{row.collective}, {row.op}, {delays_title(rows)}: last exit after the last arrival, ms"


def _panel(axes: Axes, panel: Panel, looks: dict[str, Look], logarithmic: bool) -> None:
    axes.set_title(_panel_title(panel), loc="left", fontsize=10.5, fontweight="bold")
    found = {
        name: sorted((getattr(r, panel.x), r.after_last_ms) for r in own if r.after_last_ms)
        for name, own in lines(panel.rows).items()
    }
    limit = sorted({(getattr(r, panel.x), r.limit_ms) for r in panel.rows if r.limit_ms})
    timed = [x for points in found.values() for x, _ in points]
    _scale_x(axes, panel.x, timed or [getattr(r, panel.x) for r in panel.rows])
    _scale_y(axes, _times(panel.rows), logarithmic)
    for name, own in lines(panel.rows).items():
        _line(axes, found[name], looks[name])
        if own[0].algorithm in MODELS:
            _mark_changes(axes, own, panel.x, looks[name])
    _limit(axes, limit)
    ends = _ends(found, looks)
    name_ends(axes, [*ends, limit_end(*limit[-1])] if limit else ends)


def _panel_title(panel: Panel) -> str:
    row = panel.rows[0]
    fixed = f"{row.ranks} ranks" if panel.x == "bytes" else size(row.bytes)
    return f"{fixed}, {delay_title(row)}"


def _ends(found: dict[str, list[Point]], looks: dict[str, Look]) -> list[End]:
    """Labels of the lines that are named."""
    return [
        End(points[-1][1], name, points[-1][0], looks[name]["color"])
        for name, points in found.items()
        if points and looks[name] is not OTHER
    ]


def _times(rows: Sequence[Row]) -> list[float]:
    """All that are shown, above 0; with the limits."""
    return [time for row in rows for time in (row.after_last_ms, row.limit_ms) if time]


def _wide(values: Sequence[float]) -> bool:
    """Tell whether an axis for these numbers has to be logarithmic."""
    return bool(values) and max(values) / min(values) >= _WIDE_RANGE


def _line(axes: Axes, points: Sequence[Point], look: Look) -> None:
    xs, ys = zip(*points, strict=True) if points else ((), ())
    thin = {"linewidth": look["linewidth"] * 0.8, "markevery": math.ceil(len(xs) / _FEW) or 1}
    axes.plot(xs, ys, **{**look, **thin})


def _mark_changes(axes: Axes, own: Sequence[Row], x: str, look: Look) -> None:
    """Circles where the model chooses another algorithm than at the point before."""
    points = [
        (getattr(row, x), row.after_last_ms, row.parameters.split()[1])  # as NAME parameters
        for row in sorted(own, key=lambda row: getattr(row, x)) if row.after_last_ms
    ]  # fmt: skip
    changes = [now for before, now in pairwise(points) if before[2] != now[2]]
    xs, ys = [at for at, _, _ in changes], [time for _, time, _ in changes]
    axes.plot(xs, ys, "o", color=look["color"], markerfacecolor=PAPER, markersize=5, zorder=4)


def _limit(axes: Axes, points: Sequence[Point]) -> None:
    if not points:
        return
    xs, ys = zip(*points, strict=True)
    axes.fill_between(xs, ys, axes.get_ylim()[0], color=GRID, alpha=0.6, linewidth=0)
    axes.plot(xs, ys, color=INK, linewidth=1, linestyle=":")


def _scale_x(axes: Axes, column: str, xs: Sequence[float]) -> None:
    first, last, multiplied = min(xs), max(xs), _multiplied(xs)
    if multiplied or _wide(xs):
        axes.set_xscale("log", base=2)
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xticks(sorted(set(xs)) if multiplied else _powers(first, last))
        axes.minorticks_off()
    axes.set_xlim(first, last)
    shown = size if column == "bytes" else "{:g}".format
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: shown(value)))
    axes.set_xlabel("vector" if column == "bytes" else "ranks", loc="left")


def _multiplied(xs: Sequence[float]) -> bool:
    """Tell whether the numbers are few and each is a multiple of the last, as in 2-16:x2."""
    ordered = sorted(set(xs))
    factors = {b / a for a, b in pairwise(ordered)}
    return len(factors) == 1 and 2 < len(ordered) <= _MOST_TICKS


def _powers(first: float, last: float) -> list[float]:
    """Powers of two in the range, not more than fit."""
    low, high = math.ceil(math.log2(first)), math.floor(math.log2(last))
    step = math.ceil((high - low + 1) / _MOST_TICKS)
    return [2.0**power for power in range(low, high + 1, step)]


def _scale_y(axes: Axes, ys: Sequence[float], logarithmic: bool) -> None:
    if not ys:
        return
    low, high = min(ys) / 1.25, 1.15 * max(ys)
    if logarithmic:
        axes.set_yscale("log")
        axes.set_yticks(_log_ticks(low, high))
        axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_ylim(*((low, high) if logarithmic else (0, 1.05 * max(ys))))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _log_ticks(low: float, high: float) -> list[float]:
    """Two at least: powers of ten; 1, 2 and 5 times these; in a narrow range as on a line."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1,), (1, 2, 5)):
        places = (step * 10.0**decade for decade in decades for step in steps)
        ticks = [tick for tick in places if low <= tick <= high]
        if len(ticks) > 1:
            return ticks
    return [tick for tick in MaxNLocator(4).tick_values(low, high) if low <= tick <= high]
