"""The steps of a job, and where in them ranks compute longer than others.

A step is the time between two collectives in which all ranks wait for each other; where there are
none, an equal share of each rank's calls. A rank's *excess* is its computation in a step beyond
that of the lower median rank. It lies where the rank computes longer than the lower median rank
after the same call, in a loop in the same turn; the rest in its first computation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .events import SEND, Events

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_SHARES = 64  # steps of equal shares of the calls, where no collective is of all ranks


class Steps:
    """Computation of each rank by step, and the part of it that is excess."""

    def __init__(self, start: Floats, events: Events) -> None:
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
        self.beyond = np.zeros((steps, ranks))
        if len(present) > 1:
            some = time[:, present]
            half = (len(present) - 1) // 2
            typical = np.partition(some, half, axis=1)[:, half : half + 1]
            self.beyond[:, present] = np.clip(some - typical, 0.0, None)
        after = np.where(first, 0, np.concatenate([[0], events.place[order]])[:-1])
        sent = np.concatenate([[0], events.source[order] == SEND])[:-1]  # which is another place
        # Figures of the computation before each event.
        self.step, self.after = np.empty(len(own), np.int64), np.empty(len(own), np.int64)
        self.spent, self.part, self.apart = (np.empty(len(own)) for _ in range(3))
        self.step[order], self.after[order], self.spent[order] = own, after, computed
        self.part[order], self.apart[order] = self._parts(
            computed, rank, own, 2 * after + np.where(first, 0, sent)
        )  # fmt: skip

    def _parts(
        self,
        computed: Floats,
        rank: NDArray[np.int64],
        step: NDArray[np.int64],
        after: NDArray[np.int64],
    ) -> tuple[Floats, Floats]:
        """The part of each computation that is excess, and the one that is beyond the mean.

        `after`: the place of the call before it.
        """
        turn = _turns(rank, step, after)
        alike = (step * (after.max(initial=0) + 1) + after) * (turn.max(initial=0) + 1) + turn
        order = np.lexsort((computed, alike))
        begins = np.flatnonzero(np.diff(alike[order], prepend=-1))
        size = np.diff(begins, append=len(order))
        typical, mean = np.empty(len(order)), np.empty(len(order))
        typical[order] = np.repeat(computed[order[begins + (size - 1) // 2]], size)
        mean[order] = np.repeat(np.add.reduceat(computed[order], begins) / size, size) \
            if len(order) else 0.0  # fmt: skip
        longer = np.clip(computed - typical, 0.0, None)
        of_step = np.zeros_like(self.beyond)
        np.add.at(of_step, (step, rank), longer)
        whole, beyond = of_step[step, rank], self.beyond[step, rank]
        scale = np.divide(np.minimum(beyond, whole), whole, out=np.zeros_like(whole),
                          where=whole > 0)  # fmt: skip
        # The rest of the excess lies in the rest of the computation, the first one first.
        left = computed - longer
        before = np.cumsum(left) - left
        first = (np.diff(rank, prepend=-1) != 0) | (np.diff(step, prepend=-1) != 0)
        before -= np.maximum.accumulate(np.where(first, before, 0.0))
        excess = longer * scale + np.clip(beyond - whole - before, 0.0, left)
        some = computed > 0
        part, apart = (np.divide(seconds, computed, out=np.zeros_like(excess), where=some)
                       for seconds in (excess, computed - mean))  # fmt: skip
        return part, apart


def _turns(
    rank: NDArray[np.int64], step: NDArray[np.int64], after: NDArray[np.int64]
) -> NDArray[np.int64]:
    """How often each rank had left the same place in the step before, as in the turns of a loop."""
    order = np.lexsort((after, step, rank))
    alike = [np.diff(column[order], prepend=-1) == 0 for column in (rank, step, after)]
    place = np.arange(len(order))
    begins = np.maximum.accumulate(np.where(np.logical_and.reduce(alike), 0, place))
    found = np.empty(len(order), np.int64)
    found[order] = place - begins
    return found


def _shares(rank: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where ranks never all meet: equal shares of each rank's calls. `rank`: sorted, of each call.

    Ranks of most programs do the same things equally often, however far they are apart.
    """
    calls = np.bincount(rank)
    number = np.arange(len(rank)) - np.searchsorted(rank, rank)
    shares = min(_SHARES, int(calls[calls > 0].min()))
    return number * shares // calls[rank]
