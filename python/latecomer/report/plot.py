"""Plots of a benchmark's rows: a curve over the delay, or bars where there is a single delay.

Algorithms have their own colours, told apart by colour-blind people too, and their names beside
their curves; where they are too many, those that are not prominent are grey and listed in `note`.
The yardsticks have no colour: native is dashed, so are models of it, ring is solid.
"""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from .. import registry
from ..lines import is_sweep, lines
from ..statistics import Row
from ..table import by_delay, delay_title, number, size
from .labels import End, name_ends
from .prominent import others, prominent

# The colours of Okabe and Ito but yellow and black, the blue lighter: clear on white and on black.
COLOURS = ("#1b7fc4", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = "os^Dvp"  # one for each colour
_DASHES = ("-", (0, (6, 1.5)), (0, (2, 1.2)), (0, (7, 1.5, 1.5, 1.5)))  # where colours come again
INK, GRID, PAPER, FAINT = "#2b2f36", "#d5d9e0", "#ffffff", "#b4bac4"
_NATIVE, _RING = "#808893", INK

_STYLE = {
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "text.parse_math": False,  # names are names, whatever is in them
    "axes.labelcolor": INK,
    "axes.edgecolor": GRID,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "xtick.color": INK,
    "ytick.color": INK,
    "svg.fonttype": "none",
    "svg.hashsalt": "latecomer",  # the same picture has the same bytes
}
_BARS_MEAN = (
    "full: mean elapsed time of a rank, with quartiles; pale: last exit after the last arrival; ms"
)
# Metadata of an SVG that says nothing of when and by what it was made.
ANONYMOUS = {"Date": None, "Creator": None, "Format": None, "Type": None}

Look = Mapping[str, object]  # keyword arguments of a line


def save(rows: Sequence[Row], path: Path) -> None:
    """Write a plot as SVG or PNG, by the name's end."""
    with styled():
        figure = _figure(rows)
        _title(figure, rows)
        metadata = ANONYMOUS if path.suffix == ".svg" else None
        figure.savefig(path, facecolor=PAPER, metadata=metadata, dpi=160)


def inline_svg(rows: Sequence[Row]) -> str:
    """The plot as an element for an HTML page, with its colours --ink, --grid, --paper, --faint."""
    return as_element(lambda: _figure(rows))


def as_element(draw: Callable[[], Figure]) -> str:
    """What is drawn as an element for an HTML page, with its colours."""
    text = io.StringIO()
    with styled():
        draw().savefig(text, format="svg", transparent=True, metadata=ANONYMOUS)
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    for colour, name in ((INK, "ink"), (GRID, "grid"), (PAPER, "paper"), (FAINT, "faint")):
        svg = svg.replace(colour, f"var(--{name})")
    return svg


@contextmanager
def styled():
    """Figures made in this context look as ours do, whatever the user's own settings are."""
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **_STYLE}):
        yield


def _figure(rows: Sequence[Row]) -> Figure:
    if is_sweep(rows):
        from . import scaling

        return scaling.figure(rows)
    return _bars(rows) if is_bars(rows) else _curves(rows, by_delay(rows))


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
        from . import scaling

        return scaling.title(rows)
    row, blocks = rows[0], by_delay(rows)
    when = row.arrival if len(blocks) > 1 else delay_title(row)  # the delays are on the axis
    return f"{row.collective} of {size(row.bytes)} on {row.ranks} ranks, {when}"


def note(rows: Sequence[Row]) -> str:
    """Which lines are grey and have no name, if any; the best first."""
    grey = [] if is_bars(rows) else others(rows)
    if not grey:
        return ""
    best = "the best first, by the geometric mean of time over the least of each case"
    return f"Named: yardsticks, auto and the best of the others. Grey ({best}): {', '.join(grey)}."


def is_bars(rows: Sequence[Row]) -> bool:
    """Is the picture one of bars, since nothing varies but the algorithm?"""
    return len(by_delay(rows)) == 1


def line_looks(rows: Sequence[Row]) -> dict[str, Look]:
    """How each line looks, by its name: `looks` if it is prominent, else `OTHER`."""
    found, named = lines(rows), prominent(rows)
    own = looks({name: found[name][0].algorithm for name in found if name in named})
    return {name: own.get(name, OTHER) for name in found}


def looks(algorithms: Mapping[str, str]) -> dict[str, Look]:
    """How each line looks, from its label and algorithm: yardsticks grey, the others coloured.

    Colour, dash and marker go by the algorithm's place in the registry, so that all pictures agree;
    no two lines share all three. Later lines are thinner, so that one that they cover is seen.
    """
    coloured = {label: name for label, name in algorithms.items() if name not in YARDSTICKS}
    widths = [2.2 - 1.0 * i / max(1, len(coloured) - 1) for i in range(len(coloured))]
    found = {
        label: {**_coloured(place), "linewidth": width, "zorder": 3 - width / 10}
        for (label, place), width in zip(_places(coloured).items(), widths, strict=True)
    }
    return {label: found.get(label) or YARDSTICKS[name] for label, name in algorithms.items()}


def _places(algorithms: Mapping[str, str]) -> dict[str, int]:
    """Each algorithm's in the registry; the ones after it for repetitions and unknown names."""
    names = list(dict.fromkeys(row.name for row in registry.algorithms()))
    known = [name for name in names if name not in YARDSTICKS]
    own = {name: place for place, name in enumerate(known)}
    further = itertools.count(len(known))
    return {
        label: own.pop(name) if name in own else next(further) for label, name in algorithms.items()
    }


def _coloured(place: int) -> Look:
    """Colour, marker and dash: another one of them for each place, until all are used."""
    again, colour = divmod(place, len(COLOURS))
    shift, dash = divmod(again, len(_DASHES))
    look = {"color": COLOURS[colour], "marker": MARKERS[(colour + shift) % len(MARKERS)]}
    hollow = {"markerfacecolor": PAPER} if again else {}
    return {**look, "linestyle": _DASHES[dash], "markersize": 5, **hollow}


YARDSTICKS: dict[str, Look] = {  # the dashed ones above all, the widest below: all are seen
    "native": {"color": _NATIVE, "linestyle": "--", "linewidth": 2.4, "zorder": 3},
    "openmpi-4.1": {"color": _NATIVE, "linestyle": "--", "linewidth": 2.4, "zorder": 3},
    "mpich-5.0": {"color": _NATIVE, "linestyle": "-.", "linewidth": 2.4, "zorder": 3},
    "ring": {"color": _RING, "linestyle": "-", "linewidth": 3.0},
}


OTHER: Look = {"color": FAINT, "linewidth": 1.0, "zorder": 1.8}  # of lines without a name


# Curves over the delay


def _curves(rows: Sequence[Row], blocks: Sequence[Sequence[Row]]) -> Figure:
    has_clock = rows[0].after_last_ms is not None
    figure = Figure(figsize=(12 if has_clock else 7, 5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, 2 if has_clock else 1, squeeze=False)[0]
    _curve_panel(axes[0], rows, "elapsed_ms", "mean elapsed time of a rank, ms")
    if has_clock:
        _curve_panel(axes[1], rows, "after_last_ms", "last exit after the last arrival, ms")
        _limit_curve(axes[1], blocks)
    return figure


def _curve_panel(axes: Axes, rows: Sequence[Row], column: str, title: str) -> None:
    axes.set_title(title, loc="left", fontsize=10)
    found, ends = lines(rows), []
    for name, look in line_looks(rows).items():
        own = sorted(found[name], key=lambda r: r.delay_ms)
        delays = [r.delay_ms for r in own]
        axes.plot(delays, [getattr(r, column) for r in own], clip_on=False, **look)
        if look is OTHER:
            continue
        if column == "elapsed_ms":
            bands = [r.elapsed_q1_ms for r in own], [r.elapsed_q3_ms for r in own]
            axes.fill_between(delays, *bands, color=look["color"], alpha=0.18, linewidth=0)
        ends.append(End(getattr(own[-1], column), name, delays[-1], look["color"]))
    axes.set_ylim(bottom=0)
    scale_delays(axes, sorted({r.delay_ms for r in rows}))
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


def _limit_curve(axes: Axes, blocks: Sequence[Sequence[Row]]) -> None:
    if blocks[0][0].limit_ms is None:
        return
    points = sorted((b[0].delay_ms, min(r.limit_ms for r in b)) for b in blocks)
    delays, limits = zip(*points, strict=True)
    axes.fill_between(delays, limits, color=GRID, alpha=0.6, linewidth=0)
    axes.plot(delays, limits, color=INK, linewidth=1, linestyle=":")
    axes.annotate(
        "no algorithm can be faster",
        xy=(delays[-1], limits[-1]),
        xytext=(-4, -5),
        textcoords="offset points",
        ha="right",
        va="top",
        fontsize=8.5,
    )


# Bars for a single delay


def _bars(block: Sequence[Row]) -> Figure:
    found = {name: own for name, (own,) in lines(block).items()}
    names = sorted(found, key=lambda name: -found[name].elapsed_ms)
    ordered = [found[name] for name in names]
    figure = Figure(figsize=(9.5, 1.3 + 0.52 * len(ordered)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    own_looks = looks({name: found[name].algorithm for name in found})
    for place, (name, row) in enumerate(zip(names, ordered, strict=True)):
        _bar(axes, place, row, own_looks[name])
    _name_bars(axes, names, ordered)
    _limit_line(axes, ordered)
    return figure


def _bar(axes: Axes, place: int, row: Row, look: Look) -> None:
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
        color=INK,
        capsize=3,
        linewidth=1.2,
        path_effects=[withStroke(linewidth=3, foreground=PAPER)],
    )


def _value(axes: Axes, x: float, y: float, value: float) -> None:
    axes.annotate(
        number(value), (x, y), (6, 0), textcoords="offset points", va="center", fontsize=8
    )


def _name_bars(axes: Axes, names: Sequence[str], ordered: Sequence[Row]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(-0.6, len(names) - 0.4)
    for name, row in zip(axes.get_yticklabels(), ordered, strict=True):
        name.set_fontweight("bold" if row.algorithm in YARDSTICKS else "normal")
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(_BARS_MEAN, loc="left")
    axes.margins(x=0.08)


def _limit_line(axes: Axes, block: Sequence[Row]) -> None:
    limits = [row.limit_ms for row in block if row.limit_ms is not None]
    if limits:
        axes.axvline(min(limits), color=INK, linewidth=1, linestyle=":")
        axes.annotate(
            f"limit after the last arrival: {number(min(limits))} ms",
            (min(limits), 1),
            (4, 2),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            va="bottom",
            fontsize=8.5,
        )
