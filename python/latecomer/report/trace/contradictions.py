"""Calls that contradict each other: one rank left before another, on the same clock, had entered.

Some calls cannot be left before all have entered them. Where few seem to be, these calls are wrong;
where most are, the clocks are, or the ranks whose times do not go with the others'.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .left_out import LeftOut
from .model import Group, Words, never_early

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FEW = 0.1  # of the calls: so many may be wrong
SAME_CLOCK = 100e-6  # seconds by which clocks of one host may seem to contradict each other
EARLY = "calls that one rank left before another entered them"
STRANGERS = "ranks that left most calls before the others entered them, or came after they had left"


def waits(group: Group, words: Words, calls: Any = slice(None)) -> NDArray[np.bool_]:
    """Which of these calls nobody can have left early."""
    kinds, size = group.collective[calls], group.bytes[calls]
    empty = words.tell(kinds, lambda kind: never_early(kind, 0))
    return np.where(size != 0, words.tell(kinds, never_early), empty)


def gaps(came: Floats, leaving: Floats, wait: NDArray[np.bool_] | bool = True) -> Floats:
    """By how much each call was left before its last rank entered; of the ranks that are known."""
    known = np.isfinite(came) & np.isfinite(leaving)
    last = np.where(known, came, -np.inf).max(axis=1, initial=-np.inf)
    first = np.where(known, leaving, np.inf).min(axis=1, initial=np.inf)
    return np.where(wait, last - first, -np.inf)


def leave_out(group: Group, own: NDArray[np.int64], wait: NDArray[np.bool_], left: LeftOut) -> None:
    """Forget the calls that contradict themselves; `own`: members of one clock."""
    odd = np.flatnonzero(_gaps_of(group, own, wait) > SAME_CLOCK)
    if len(odd):
        where = f"group {group.name!r}, call {group.sequence[odd[0]]}"
        left.add(EARLY, where, count=len(odd))
        group.forget_arrivals(odd)


def _gaps_of(group: Group, own: NDArray[np.int64], wait: NDArray[np.bool_]) -> Floats:
    found = np.empty(len(group))
    for part in group.stretches():
        found[part] = gaps(*group.times(part, own), wait[part])
    return found


def of_one_clock(
    groups: Sequence[Group], words: Words, clocks: Sequence[int]
) -> Iterator[tuple[Group, NDArray[np.int64], NDArray[np.bool_]]]:
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


def _strange(group: Group, own: NDArray[np.int64], wait: NDArray[np.bool_]) -> NDArray[np.int64]:
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
