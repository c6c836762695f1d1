"""Pictures of one number of ranks and one size: curves over the delay, or bars for one delay.

Names stand beside their curves; algorithms that are not highlighted are grey.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from ..results.statistics import Row
from . import style
from .lines import lines
from .style import End, limit_end, name_ends
from .table import by_delay, number

Point = tuple[float, float]

_BARS_MEAN = (
    "full: mean elapsed time of a rank, with quartiles; pale: last exit after the last arrival; ms"
)


def figure(rows: Sequence[Row]) -> Figure:
    """Curves, or bars where nothing varies but the algorithm."""
    return _bars(rows) if is_bars(rows) else _curves(rows, by_delay(rows))


def is_bars(rows: Sequence[Row]) -> bool:
    """Tell whether the picture is one of bars, since nothing varies but the algorithm."""
    return len(by_delay(rows)) == 1


# Curves over the delay


def _curves(rows: Sequence[Row], blocks: Sequence[Sequence[Row]]) -> Figure:
    has_clock = rows[0].after_last_ms is not None
    figure = Figure(figsize=(12 if has_clock else 7, 5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, 2 if has_clock else 1, squeeze=False)[0]
    _curve_panel(axes[0], rows, "elapsed_ms", "mean elapsed time of a rank, ms")
    if has_clock:
        title = "last exit after the last arrival, ms"
        _curve_panel(axes[1], rows, "after_last_ms", title, _limits(blocks))
    return figure


def _curve_panel(
    axes: Axes, rows: Sequence[Row], column: str, title: str, limits: Sequence[Point] = ()
) -> None:
    axes.set_title(title, loc="left", fontsize=10)
    found, ends = lines(rows), []
    for name, look in style.line_looks(rows).items():
        own = sorted(found[name], key=lambda r: r.delay_ms or 0)
        delays = [r.delay_ms or 0 for r in own]
        axes.plot(delays, [getattr(r, column) for r in own], clip_on=False, **look)
        if look is style.OTHER:
            continue
        if column == "elapsed_ms":
            bands = [r.elapsed_q1_ms for r in own], [r.elapsed_q3_ms for r in own]
            axes.fill_between(delays, *bands, color=look["color"], alpha=0.18, linewidth=0)
        ends.append(End(getattr(own[-1], column), name, delays[-1], look["color"]))
    axes.set_ylim(bottom=0)
    scale_delays(axes, sorted({r.delay_ms or 0 for r in rows}))
    if limits:
        places, least = zip(*limits, strict=True)
        axes.fill_between(places, least, color=style.GRID, alpha=0.6, linewidth=0)
        axes.plot(places, least, color=style.INK, linewidth=1, linestyle=":")
        ends.append(limit_end(*limits[-1]))
    name_ends(axes, ends)


def scale_delays(axes: Axes, delays: Sequence[float]) -> None:
    """Logarithmic above the least delay if they span decades, so that none hides another."""
    least = next(delay for delay in delays if delay > 0)
    wide = delays[-1] / least > 20
    if wide:
        axes.set_xscale("symlog", linthresh=least)
    axes.set_xlabel("delay, ms (logarithmic)" if wide else "delay, ms")
    axes.set_xlim(delays[0], delays[-1])
    axes.set_xticks(delays, [f"{delay:g}" for delay in delays])
    axes.minorticks_off()


def _limits(blocks: Sequence[Sequence[Row]]) -> list[Point]:
    """The least time that any algorithm can take, over the delay; none if it is not known."""
    if blocks[0][0].limit_ms is None:
        return []
    return sorted((b[0].delay_ms or 0, min(r.limit_ms or 0 for r in b)) for b in blocks)


# Bars for a single delay


def _bars(block: Sequence[Row]) -> Figure:
    found = {name: own for name, (own,) in lines(block).items()}
    names = sorted(found, key=lambda name: -found[name].elapsed_ms)
    ordered = [found[name] for name in names]
    figure = Figure(figsize=(9.5, 1.3 + 0.52 * len(ordered)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    own_looks = style.looks({name: found[name].algorithm for name in found})
    for place, (name, row) in enumerate(zip(names, ordered, strict=True)):
        _bar(axes, place, row, own_looks[name])
    _name_bars(axes, names, ordered)
    _limit_line(axes, ordered)
    return figure


def _bar(axes: Axes, place: int, row: Row, look: style.Look) -> None:
    colour = look["color"]
    axes.barh(place + 0.18, row.elapsed_ms, 0.36, color=colour)
    if row.elapsed_q3_ms > row.elapsed_q1_ms:
        _whiskers(axes, place + 0.18, row)
    _value(axes, row.elapsed_q3_ms, place + 0.18, row.elapsed_ms)
    if row.after_last_ms is not None:
        axes.barh(place - 0.18, row.after_last_ms, 0.3, color=colour, alpha=0.4)
        _value(axes, row.after_last_ms, place - 0.18, row.after_last_ms)


def _whiskers(axes: Axes, y: float, row: Row) -> None:
    axes.errorbar(
        row.elapsed_ms,
        y,
        xerr=[[row.elapsed_ms - row.elapsed_q1_ms], [row.elapsed_q3_ms - row.elapsed_ms]],
        color=style.INK,
        capsize=3,
        linewidth=1.2,
        path_effects=[withStroke(linewidth=3, foreground=style.PAPER)],
    )


def _value(axes: Axes, x: float, y: float, value: float) -> None:
    axes.annotate(
        number(value), (x, y), (6, 0), textcoords="offset points", va="center", fontsize=8
    )


def _name_bars(axes: Axes, names: Sequence[str], ordered: Sequence[Row]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(-0.6, len(names) - 0.4)
    for name, row in zip(axes.get_yticklabels(), ordered, strict=True):
        name.set_fontweight("bold" if row.algorithm in style.YARDSTICKS else "normal")
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(_BARS_MEAN, loc="left")
    axes.margins(x=0.08)


def _limit_line(axes: Axes, block: Sequence[Row]) -> None:
    limits = [row.limit_ms for row in block if row.limit_ms is not None]
    if limits:
        axes.axvline(min(limits), color=style.INK, linewidth=1, linestyle=":")
        axes.annotate(
            f"limit after the last arrival: {number(min(limits))} ms",
            (min(limits), 1),
            (4, 2),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            va="bottom",
            fontsize=8.5,
        )
