"""Calls that contradict each other: of several ranks on one clock, or of one rank in one group.

Some calls cannot be left before all have entered them, and calls of a rank in a group follow each
other. Where few seem not to, these calls are wrong; where most do not, the clocks are, or the ranks
whose times do not go with the others'.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ...base.arrays import Bools, Floats, Int64s
from .left_out import LeftOut
from .model import SERVED, Group, Words, never_early

FAILED = SERVED.index("failed")
FEW = 0.1  # of the calls: so many may be wrong
SAME_CLOCK = 100e-6  # seconds by which clocks of one host may seem to contradict each other
EARLY = "calls that one rank left before another entered them"
STRANGERS = "ranks that left most calls before the others entered them, or came after they had left"


def waits(group: Group, words: Words, calls: Any = slice(None)) -> Bools:
    """Which of these calls nobody can have left early: those that failed are left when they do."""
    kinds, size = group.collective[calls], group.bytes[calls]
    empty = words.tell(kinds, lambda kind: never_early(kind, 0))
    found: Bools = np.where(size != 0, words.tell(kinds, never_early), empty)
    found[group.served[calls] == FAILED] = False
    return found


def gaps(came: Floats, leaving: Floats, wait: Bools | bool = True) -> Floats:
    """By how much each call was left before its last rank entered; of the ranks that are known."""
    known = np.isfinite(came) & np.isfinite(leaving)
    last = np.where(known, came, -np.inf).max(axis=1, initial=-np.inf)
    first = np.where(known, leaving, np.inf).min(axis=1, initial=np.inf)
    return np.where(wait, last - first, -np.inf)


def leave_out(group: Group, own: Int64s, wait: Bools, left: LeftOut) -> None:
    """Forget the calls that contradict themselves; `own`: members of one clock."""
    odd = np.flatnonzero(_gaps_of(group, own, wait) > SAME_CLOCK)
    if len(odd):
        where = f"group {group.name!r}, call {group.sequence[odd[0]]}"
        left.add(EARLY, where, count=len(odd))
        group.forget_arrivals(odd)


def _gaps_of(group: Group, own: Int64s, wait: Bools) -> Floats:
    found = np.empty(len(group))
    for part in group.stretches():
        found[part] = gaps(*group.times(part, own), wait[part])
    return found


def of_one_clock(
    groups: Sequence[Group], words: Words, clocks: Sequence[int]
) -> Iterator[tuple[Group, Int64s, Bools]]:
    """Groups, the members that read one clock, and which calls nobody can leave early.

    `clocks`: of each rank. Only where there are two members, and such calls.
    """
    of_rank = np.asarray(clocks)
    for group in groups:
        wait = waits(group, words)
        for clock in np.unique(of_rank[group.members]):
            own = np.flatnonzero(of_rank[group.members] == clock)
            if len(own) > 1 and wait.any():
                yield group, own, wait


def without_strangers(
    groups: Sequence[Group],
    words: Words,
    clocks: Sequence[int],
    left: LeftOut,
    worst: Callable[[Group], Floats],
) -> None:
    """Forget the ranks whose calls contradict those of most ranks, then single calls that do.

    `worst`: by how much the ranks of any one clock contradict each other in each call, at most.
    """
    odd = [group for group in groups if (worst(group) > SAME_CLOCK).any()]
    for group, own, wait in of_one_clock(odd, words, clocks):
        for at in own[_strange(group, own, wait)]:
            left.add(STRANGERS, f"group {group.name!r}", f"rank {group.members[at]}")
            group.forget_member(int(at))
        leave_out(group, own, wait, left)


def _strange(group: Group, own: Int64s, wait: Bools) -> Int64s:
    """The ranks that contradict the median rank in most of their calls; none if they are many."""
    odd, calls = np.zeros(len(own), np.int64), np.zeros(len(own), np.int64)
    for part in group.stretches():
        came, leaving = (times[wait[part]] for times in group.times(part, own))
        known = np.isfinite(came) & np.isfinite(leaving)
        whole = known.sum(axis=1) > 2
        if not whole.any():
            continue
        came, leaving, known = came[whole], leaving[whole], known[whole]
        middle = np.nanmedian(np.where(known, came, np.nan), axis=1, keepdims=True)
        over = np.nanmedian(np.where(known, leaving, np.nan), axis=1, keepdims=True)
        late = (came > over + SAME_CLOCK) | (leaving < middle - SAME_CLOCK)
        odd += (known & late).sum(axis=0)
        calls += known.sum(axis=0)
    found = np.flatnonzero(2 * odd > calls)
    return found if 2 * len(found) < len(own) else np.zeros(0, np.int64)


CONTRADICTING = "calls that contradict the rank's calls before and after them"


def contradicting(arrival: Floats, leave: Floats) -> Int64s:
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


def _unless_many(places: Int64s, some: Int64s, most: int) -> Int64s:
    return places[some] if len(places) - len(some) <= most else places


def _ascending(values: Floats) -> Int64s:
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


def _apart(arrival: Floats, leave: Floats) -> Int64s:
    """The places of as many calls as can follow each other."""
    until, found = -np.inf, []
    for place in np.argsort(leave, kind="stable").tolist():
        if arrival[place] + SAME_CLOCK >= until:
            found.append(place)
            until = float(leave[place])
    return np.sort(np.array(found, np.int64))
