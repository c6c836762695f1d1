"""The looks that all pictures share: colours, dashes and markers of algorithms, and the style.

Algorithms have their own colours, told apart by colour-blind people too. The yardsticks have no
colour: native and models of it are dashed, ring is solid.
"""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...base.whole_files import fresh
from ...core import registry
from ..results.statistics import Row
from .lines import highlighted, lines

_INCHES = 0.2  # of height, for a name


class End(NamedTuple):
    """The last point of a line."""

    y: float
    name: str
    x: float
    colour: str


def limit_end(x: float, y: float) -> End:
    """The name of the line below which nothing can be: among the others it covers none of them."""
    return End(y, "no algorithm can be faster", x, INK)


def name_ends(axes: Axes, ends: Sequence[End]) -> None:
    """Write each name right of its line's end, moved apart so that none covers another."""
    grid = axes.get_gridspec()
    rows = grid.nrows if grid else 1
    height = _INCHES * rows / (0.8 * axes.figure.figure.get_size_inches()[1])
    places = apart([_height(axes, end.y) for end in sorted(ends)], height)
    for (y, name, x, colour), place in zip(sorted(ends), places, strict=True):
        axes.annotate(
            name,
            xy=(x, y),
            xytext=(1.05, place),
            textcoords="axes fraction",
            va="center",
            color=colour,
            fontsize=9,
            arrowprops={"arrowstyle": "-", "color": colour, "alpha": 0.6, "relpos": (0, 0.5)},
        )


def apart(places: Sequence[float], height: float) -> list[float]:
    """Ascending places in 0 to 1, moved as little as keeps each a label's height from the next.

    Labels that would cover each other stand together around the mean of their places.
    """
    groups: list[list[float]] = []  # of places, less the height of the labels below
    for index, place in enumerate(places):
        groups.append([place - index * height])
        while len(groups) > 1 and mean(groups[-2]) >= mean(groups[-1]):
            groups[-2:] = [groups[-2] + groups[-1]]
    moved = [mean(group) for group in groups for _ in group]
    most = 1 - (len(places) - 1) * height
    return [min(max(place, 0), most) + index * height for index, place in enumerate(moved)]


def _height(axes: Axes, value: float) -> float:
    """The position as a part of the axis."""
    low, high = axes.get_ylim()
    if axes.get_yscale() == "log":
        return math.log(value / low) / math.log(high / low)
    return (value - low) / (high - low)


# The colours of Okabe and Ito but yellow and black, the blue lighter: clear on white and on black.
COLOURS = ("#1b7fc4", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = "os^Dvp"  # one for each colour
_DASHES = ("-", (0, (6, 1.5)), (0, (2, 1.2)), (0, (7, 1.5, 1.5, 1.5)))  # where colours come again
INK, GRID, PAPER, FAINT = "#2b2f36", "#d5d9e0", "#ffffff", "#b4bac4"
_NATIVE, _RING = "#808893", INK

_STYLE: Any = {
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
# Metadata of an SVG without the date and the program that made it.
ANONYMOUS = {"Date": None, "Creator": None, "Format": None, "Type": None}

Look = Mapping[str, Any]  # keyword arguments of a line


def as_element(draw: Callable[[], Figure]) -> str:
    """The drawing as an element for an HTML page, with its colours."""
    text = io.StringIO()
    with styled():
        draw().savefig(text, format="svg", transparent=True, metadata=ANONYMOUS)
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    for colour, name in ((INK, "ink"), (GRID, "grid"), (PAPER, "paper"), (FAINT, "faint")):
        svg = svg.replace(colour, f"var(--{name})")
    return svg


def write(figure: Figure, path: Path) -> None:
    """Write a figure as SVG or PNG, by the name's end."""
    metadata = ANONYMOUS if path.suffix == ".svg" else None
    with fresh(path, path.suffix) as part:
        figure.savefig(part, facecolor=PAPER, metadata=metadata, dpi=160)


@contextmanager
def styled() -> Iterator[None]:
    """Figures made in this context look as ours do, whatever the user's own settings are."""
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **_STYLE}):
        yield


def line_looks(rows: Sequence[Row]) -> dict[str, Look]:
    """The look of each line, by its name: of `looks` if it is highlighted, else `OTHER`."""
    found, named = lines(rows), highlighted(rows)
    own = looks({name: found[name][0].algorithm for name in found if name in named})
    return {name: own.get(name, OTHER) for name in found}


def looks(algorithms: Mapping[str, str]) -> dict[str, Look]:
    """The look of each line, from its label and algorithm: yardsticks grey, the others coloured.

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
