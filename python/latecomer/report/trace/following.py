"""Calls of one rank in one group follow each other: few that do not have a wrong time."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import numpy as np

from .contradictions import FEW, SAME_CLOCK

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Places = NDArray[np.int64]

WHAT = "calls that contradict the rank's calls before and after them"


def contradicting(arrival: Floats, leave: Floats) -> Places:
    """The places of calls to leave out, so that the others follow each other.

    The calls are in the order in which the rank made them. As few as possible are left out; where
    they are more than a few, calls may overlap, and none is.
    """
    kept = known = np.flatnonzero(np.isfinite(arrival) & np.isfinite(leave))
    most = int(FEW * len(known))
    # To mend a pair of neighbours takes one call at least, and a call is in two pairs.
    if 0 < int((np.diff(arrival[kept]) < 0).sum()) <= 2 * most:
        kept = _unless_many(kept, _ascending(arrival[kept]), most)
    order = kept[np.argsort(arrival[kept], kind="stable")]
    overlaps = int((leave[order][:-1] > arrival[order][1:] + SAME_CLOCK).sum())
    if 0 < overlaps <= 2 * most:
        kept = _unless_many(kept, _apart(arrival[kept], leave[kept]), most)
    return np.setdiff1d(known, kept)


def _unless_many(places: Places, some: Places, most: int) -> Places:
    return places[some] if len(places) - len(some) <= most else places


def _ascending(values: Floats) -> Places:
    """The places of a longest sequence that does not fall."""
    least: list[float] = []  # the last value of the best sequence of each length
    ends: list[int] = []  # its place
    before = np.full(len(values), -1)
    for place, value in enumerate(values.tolist()):
        at = bisect_right(least, value)
        before[place] = ends[at - 1] if at else -1
        least[at : at + 1], ends[at : at + 1] = [value], [place]
    found, place = [], ends[-1] if ends else -1
    while place >= 0:
        found.append(place)
        place = int(before[place])
    return np.array(found[::-1], np.int64)


def _apart(arrival: Floats, leave: Floats) -> Places:
    """The places of as many calls as can follow each other."""
    until, found = -np.inf, []
    for place in np.argsort(leave, kind="stable").tolist():
        if arrival[place] + SAME_CLOCK >= until:
            found.append(place)
            until = float(leave[place])
    return np.sort(np.array(found, np.int64))
