"""Names of lines, each right of its line's end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import mean
from typing import NamedTuple

from matplotlib.axes import Axes

_INCHES = 0.2  # of height, for a name


class End(NamedTuple):
    """The last point of a line."""

    y: float
    name: str
    x: float
    colour: str


def name_ends(axes: Axes, ends: Sequence[End]) -> None:
    """Write each name right of its line's end, moved apart so that none covers another."""
    rows = max(1, axes.get_gridspec().nrows)
    height = _INCHES * rows / (0.8 * axes.figure.get_size_inches()[1])
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
