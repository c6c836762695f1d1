"""When ranks are in MPI: data of large messages move only while both are, in whichever calls."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..trace.model import Trace

    Floats = NDArray[np.float64]


class Presence:
    """The calls of each rank in which data move: all that may wait."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    @cached_property
    def _times(self) -> tuple[Floats, Floats, NDArray[np.int64]]:
        """Begins and ends of the ranks' calls, and where those of each rank begin."""
        rank, begin, end = (np.concatenate(each) for each in zip(*_calls(self.trace), strict=True))
        order = np.lexsort((end, rank))
        begin, end = begin[order], end[order]
        bounds = np.searchsorted(rank[order], np.arange(self.trace.ranks + 1))
        # The first begin of those that end no earlier: threads of a rank may be in calls at once.
        earliest = np.empty(len(begin))
        for first, stop in pairwise(bounds):
            earliest[first:stop] = np.minimum.accumulate(begin[first:stop][::-1])[::-1]
        return earliest, end, bounds

    def since(self, rank: NDArray[Any], time: Floats) -> Floats:
        """When these ranks are in MPI first, from these times on; infinite: never again."""
        found = np.full(len(time), np.inf)
        if not len(time):
            return found
        begin, end, bounds = self._times
        some, which = np.unique(rank, return_inverse=True)
        by_rank = np.argsort(which, kind="stable")
        starts = np.searchsorted(which[by_rank], np.arange(len(some) + 1))
        for place, one in enumerate(some.tolist()):
            own = by_rank[starts[place] : starts[place + 1]]
            first, stop = bounds[one], bounds[one + 1]
            at = first + np.searchsorted(end[first:stop], time[own], side="right")
            there = at < stop
            found[own[there]] = np.maximum(begin[at[there]], time[own[there]])
        return found


def _calls(trace: Trace) -> list[tuple[NDArray[Any], Floats, Floats]]:
    """Ranks, begins and ends of calls."""
    found: list[tuple[NDArray[Any], Floats, Floats]]
    found = [(np.zeros(0, np.int64), np.zeros(0), np.zeros(0))]
    messages = trace.messages
    if messages is not None:
        sides = [messages.send, messages.receive]
        sides += [messages.probes.side] if messages.probes is not None else []
        found += [(side.rank, side.begin, side.end) for side in sides]
    if (others := trace.others) is not None:
        found.append((others.rank, others.begin, others.end))
    for group in [*trace.groups, *trace.overlapping]:
        arrival, leave = group.times()
        begin = arrival if group.completed is None else np.fmax(group.completed, arrival)
        rows, member = np.nonzero(np.isfinite(begin) & np.isfinite(leave))
        found.append((group.members[member], begin[rows, member], leave[rows, member]))
    return found
