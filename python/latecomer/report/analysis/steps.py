"""The steps of a job, and where in them ranks compute longer than others.

A step is the time between two collectives in which all ranks wait for each other; where there are
none, an equal share of each rank's calls. A rank's *excess* is its computation in a step beyond
that of the lower median rank of its team: of the ranks that share calls or messages. It lies where
the rank computes longer than the lower median rank after the same call, in a loop in the same turn;
the rest in proportion in all its computation of the step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from ...base.arrays import Floats, Int32s, Int64s
from ..trace.model import rows_of
from .events import Events


def teams(groups: Iterable[Sequence[int] | Int32s]) -> list[int]:
    """The sizes of the sets of ranks that share no call, from the members of each group."""
    return list(Counter(team_of(groups).values()).values())


def team_of(groups: Iterable[Sequence[int] | Int32s]) -> dict[int, int]:
    """By rank a number of its set: a rank of it, the same for all."""
    above: dict[int, int] = {}  # by rank, one of its team: itself if it stands for the team

    def top(rank: int) -> int:
        while above[rank] != rank:
            above[rank] = rank = above[above[rank]]
        return rank

    for members in dict.fromkeys(tuple(map(int, each)) for each in groups):
        for rank in members:
            above.setdefault(rank, rank)
            above[top(rank)] = top(members[0])
    return {rank: top(rank) for rank in above}


_SHARES = 64  # steps of equal shares of the calls, where no collective is of all ranks


class Steps:
    """Computation of each rank by step, and the part of it that is excess."""

    def __init__(self, start: Floats, events: Events, team: Int64s) -> None:
        """`team`: of each rank a number, the same for ranks of one team."""
        ranks = len(start)
        order = np.argsort(events.rank, kind="stable")
        rank, begin, end = events.rank[order], events.begin[order], events.end[order]
        first = np.diff(rank, prepend=-1) != 0
        before = np.where(first, start[rank], np.concatenate([[0.0], end])[:-1])
        computed = np.clip(begin - before, 0.0, None)
        synced = events.meets[order]
        ended = np.cumsum(synced)
        base = np.where(first, ended - synced, 0)
        own = ended - synced - np.maximum.accumulate(base)
        if not synced.any() and len(end):
            own = _shares(rank)
        steps = int(own.max()) + 1 if len(own) else 1
        self.time = time = np.zeros((steps, ranks))
        np.add.at(time, (own, rank), computed)
        self.present = present = np.flatnonzero(np.bincount(rank, minlength=ranks))
        self.beyond, self.mean = np.zeros((steps, ranks)), np.zeros((steps, ranks))
        for _, at in rows_of(team[present]):
            mates = present[at]
            some = time[:, mates]
            half = (len(mates) - 1) // 2
            typical = np.partition(some, half, axis=1)[:, half : half + 1]
            self.beyond[:, mates] = np.clip(some - typical, 0.0, None)
            computing = np.maximum((some > 0).sum(axis=1), 1)
            self.mean[:, mates] = (some.sum(axis=1) / computing)[:, None]
        after = np.where(first, 0, np.concatenate([[0], events.place[order]])[:-1])
        sent = np.concatenate([[0], events.sends[order]])[:-1]  # which is another place
        # Figures of the computation before each event.
        self.step, self.after = np.empty(len(own), np.int64), np.empty(len(own), np.int64)
        self.spent, self.part, self.apart = (np.empty(len(own)) for _ in range(3))
        self.step[order], self.after[order], self.spent[order] = own, after, computed
        places = 2 * after + np.where(first, 0, sent)
        found = self._parts(computed, rank, own, places, team[rank])
        self.part[order], self.apart[order] = found

    def _parts(
        self, computed: Floats, rank: Int64s, step: Int64s, after: Int64s, team: Int64s
    ) -> tuple[Floats, Floats]:
        """The part of each computation that is excess, and the one that is beyond the mean of those
        after the same call, in the same turn, evened so that ranks of a team have equal sums in
        each step.

        `after`: the place of the call before it; `team`: of its rank.
        """
        turn = _turns(rank, step, after)
        alike = (team * (step.max(initial=0) + 1) + step) * (after.max(initial=0) + 1) + after
        alike = alike * (turn.max(initial=0) + 1) + turn
        order = np.lexsort((computed, alike))
        begins = np.flatnonzero(np.diff(alike[order], prepend=-1))
        size = np.diff(begins, append=len(order))
        typical, mean = np.empty(len(order)), np.empty(len(order))
        typical[order] = np.repeat(computed[order[begins + (size - 1) // 2]], size)
        mean[order] = np.repeat(np.add.reduceat(computed[order], begins) / size, size) \
            if len(order) else 0.0  # fmt: skip
        longer = np.clip(computed - typical, 0.0, None)
        whole, beyond = self._sum(longer, step, rank), self.beyond[step, rank]
        scale = np.divide(np.minimum(beyond, whole), whole, out=np.zeros_like(whole),
                          where=whole > 0)  # fmt: skip
        rest = np.clip(beyond - whole, 0.0, None)
        excess = longer * scale + rest * self._share(computed - longer, step, rank)
        # Nearer to the mean, but as long in each step on all ranks of a team that compute.
        target = mean * self._evened(mean, step, rank)
        some = computed > 0
        part, apart = (np.divide(seconds, computed, out=np.zeros_like(excess), where=some)
                       for seconds in (excess, computed - target))  # fmt: skip
        return part, apart

    def _sum(self, of: Floats, step: Int64s, rank: Int64s) -> Floats:
        """Of each the sum of its rank's in its step."""
        sums = np.zeros_like(self.time)
        np.add.at(sums, (step, rank), of)
        return np.asarray(sums[step, rank])

    def _share(self, of: Floats, step: Int64s, rank: Int64s) -> Floats:
        """The share of each in that sum; 0 where that is 0."""
        own = self._sum(of, step, rank)
        return np.divide(of, own, out=np.zeros_like(own), where=own > 0)

    def _evened(self, of: Floats, step: Int64s, rank: Int64s) -> Floats:
        """By how much these are to be multiplied so that the sums of a step are alike on all ranks
        of a team that compute in it."""
        own, mean = self._sum(of, step, rank), self.mean[step, rank]
        found: Floats = np.divide(mean, own, out=np.ones_like(own), where=own > 0)
        return found


def _turns(rank: Int64s, step: Int64s, after: Int64s) -> Int64s:
    """How often each rank had left the same place in the step before, as in the turns of a loop."""
    order = np.lexsort((after, step, rank))
    alike = [np.diff(column[order], prepend=-1) == 0 for column in (rank, step, after)]
    place = np.arange(len(order))
    begins = np.maximum.accumulate(np.where(np.logical_and.reduce(alike), 0, place))
    found = np.empty(len(order), np.int64)
    found[order] = place - begins
    return found


def _shares(rank: Int64s) -> Int64s:
    """Where ranks never all meet: equal shares of each rank's calls. `rank`: sorted, of each call.

    Ranks of most programs do the same things equally often, however far they are apart.
    """
    calls = np.bincount(rank)
    number = np.arange(len(rank)) - np.searchsorted(rank, rank)
    shares = min(_SHARES, int(calls[calls > 0].min()))
    return number * shares // calls[rank]
