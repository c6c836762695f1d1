"""For whom a rank waits: for those alone that come before it leaves.

In a call that nobody can leave before all have entered it, all come before, whatever clocks say
that are not exact. In others, such as a broadcast, a rank may have left when the last one comes;
in an all-to-all with counts it does where nothing is sent to it, but mostly it does not.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import numpy as np

from ...base.arrays import Bools, Floats, Int32s, Int64s
from .contradictions import SAME_CLOCK, gaps
from .contradictions import waits as never_early
from .model import OBJECTS, SYNCHRONISING, Group, Trace, Words


def are(words: Words, kinds: Int32s, names: Set[str]) -> Bools:
    """Which of these collectives have such names, or are the non-blocking or persistent form, as
    "iallreduce" and "allreduce_init" of "allreduce"."""
    found: Bools = words.tell(
        kinds, lambda name: name.removesuffix("_init").removeprefix("i") in names
    )
    return found


def may_meet(words: Words, kinds: Int32s) -> Bools:
    """Which of these collectives ranks mostly leave after all have entered them.

    Those that make communicators, and those on windows and files, need not.
    """
    found: Bools = are(words, kinds, SYNCHRONISING | {"alltoallw"})
    found |= words.tell(kinds, lambda name: name.startswith(OBJECTS))
    return found


def synchronising(trace: Trace, group: Group, calls: Any, arrival: Floats, leave: Floats) -> Bools:
    """Tell of these calls of a group if nobody left them before all had entered.

    `arrival`, `leave`: theirs, of shape (calls, ranks). Where somebody can leave early, nobody did
    unless times show it that differ by more than clocks may.
    """
    found = may_meet(trace.words, group.collective[calls])
    rows = np.flatnonzero(found & ~never_early(group, trace.words, calls))
    error = float(np.fmax.reduce(trace.clock_error[group.members], initial=0.0))
    found[rows] = gaps(arrival[rows], leave[rows]) <= SAME_CLOCK + 2 * error
    return found


def met(arrival: Floats, leave: Floats, by_all: Bools) -> Int64s:
    """How many arrivals of its call each rank waits for or comes after, its own included.

    Arrays of shape (calls, ranks), but `by_all`: of each call, whether nobody leaves it before all
    have entered. Arrivals that are not known are NaN, and count as none.
    """
    known = np.isfinite(arrival).sum(axis=1)
    counts = np.repeat(known[:, None], arrival.shape[1], axis=1)
    rows = np.flatnonzero(~by_all)
    if len(rows):
        came, left = arrival[rows], np.fmax(leave[rows], arrival[rows])
        both = np.concatenate([came, left], axis=1)
        order = np.argsort(both, axis=1, kind="stable")  # at one instant arrivals come first
        ranks = arrival.shape[1]
        before = np.cumsum(order < ranks, axis=1)
        place = np.empty_like(order)
        np.put_along_axis(place, order, before, axis=1)
        counts[rows] = np.minimum(place[:, ranks:], known[rows, None])
    return counts


def waiting(arrival: Floats, leave: Floats, by_all: Bools) -> Floats:
    """Seconds from each arrival to the last one that comes before the rank leaves.

    Shapes as for `met`; NaN where a time is not known.
    """
    if by_all.all():
        until = np.fmax.reduce(arrival, axis=1, keepdims=True)
    else:
        place = np.maximum(met(arrival, leave, by_all) - 1, 0)
        until = np.take_along_axis(np.sort(arrival, axis=1), place, axis=1)
    return np.clip(np.minimum(until, leave) - arrival, 0.0, None)
