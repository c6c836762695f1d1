"""The graph of a traced job: calls in which ranks may wait, what they wait for, and computation.

A step is the time between two collectives in which all ranks wait for each other; where there are
none, an equal share of each rank's calls. A rank's *excess* is its computation in a step beyond
that of the lower median rank. It lies where the rank computes longer than the lower median rank
after the same call, in a loop in the same turn; the rest in its first computation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.compiled import core
from ..trace.model import Trace
from .events import OTHER, PROBE, SEND, Events, Place, Places, Posts, gathered
from .sample import represented

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_SHARES = 64  # steps of equal shares of the calls, where no collective is of all ranks


@dataclass(frozen=True)
class Graph:
    """A job's calls, what they wait for, and the computation between them."""

    trace: Trace  # whose graph it is: stretches of a trace that is too large
    times: float  # how many times as long the run of the whole trace is
    job: Any  # of the core
    events: Events
    posts: Posts
    step: NDArray[np.int64]  # of the computation before each event
    spent: Floats  # seconds of that computation
    after: NDArray[np.int64]  # the place of the call before it
    part: Floats  # of that computation, which is excess
    apart: Floats  # ... which is beyond the mean of those after the same call, in the same turn
    start: Floats  # (ranks,) when each rank began, in seconds
    last: Floats  # (ranks,) when each rank last left a call, in seconds
    computed: Floats  # (steps, ranks), in seconds
    beyond: Floats  # how much of it is excess
    present: NDArray[np.int64]  # the ranks that are in any call
    places: Sequence[Place]
    number: NDArray[np.int64]  # of each call in the job, in the order in which they were gathered
    first_of: Mapping[int, int]  # by a group's place in the trace: its first call in that order
    left_at: NDArray[np.int64]  # the place of each call's end in the job's order
    length: int  # of that order

    def members(self, group: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The calls of a group that all its ranks are known to have made, and what they are here.

        `number[first]` to `number[first + group.size - 1]` are the numbers of a call, by member.
        Returns the calls' places in the group, and `first` of each.
        """
        own = self.trace.groups[group]
        arrival, leave = own.times()
        known = (np.isfinite(arrival) & np.isfinite(leave)).sum(axis=1)
        first = self.first_of[group] + np.cumsum(known) - known
        calls = np.flatnonzero(known == own.size)
        return calls, first[calls]

    def waited(self) -> Floats:
        """Seconds in each call until that for which it waited; for its own rank none does."""
        if not len(self.posts.rank):
            return np.zeros(len(self.events.rank))
        cause, end = self.events.cause, self.events.end
        waits = (cause >= 0) & (self.posts.rank[cause] != self.events.rank)
        until = np.minimum(np.where(waits, self.posts.time[cause], -np.inf), end)
        return np.clip(until - self.events.begin, 0.0, None)

    def unknown(self) -> Floats:
        """Seconds of each rank in calls that may wait for what is not known."""
        events, alone = self.events, self.for_unknown()
        inside = (events.end - events.begin)[alone]
        return np.bincount(events.rank[alone], inside, self.trace.ranks)

    def for_unknown(self) -> NDArray[np.bool_]:
        """Of each event: it may wait for what is not known."""
        source, row = self.events.source, self.events.row
        return (source == OTHER) | ((source == PROBE) & (row < 0))

    def without(self, ranks: Sequence[int]) -> Floats:
        """Had these ranks no excess: of the computation before each event the part that goes."""
        return np.where(np.isin(self.events.rank, ranks), self.part, 0.0)

    def nearer(self, part: float) -> Floats:
        """The same if ranks came nearer to their mean after each call, in the same turn of a loop.

        Below 0: they compute longer.
        """
        return part * self.apart

    def replay(
        self,
        less: Floats | None = None,
        moving: float = 1.0,
        *,
        stretches: Sequence[tuple[int, int]] = (),
        anew: Sequence[NDArray[np.int64]] = (),
        exits: Callable[[int, list[float]], Sequence[float]] | None = None,
    ) -> list[tuple[float, float, Floats, float, float]]:
        """What stretches of the order take; all of it, if there are none.

        Each call ends when what it waits for has come, and takes `moving` times as long from then
        on as it did; those of `anew`, numbers of calls by member, end by `exits`. `less`: how much
        shorter ranks compute, from without() or nearer().
        Returns for each stretch when ranks had left their last calls before it, and in it, in the
        mean and as measured; by how much earlier each rank leaves (ranks,); waiting and moving. All
        in seconds, summed over ranks and calls.
        """
        found = self.job.replay(
            less=np.zeros_like(self.part) if less is None else less,
            moving=moving,
            first=np.cumsum([0, *map(len, anew)]) if anew else np.zeros(0, np.int64),
            calls=np.concatenate([np.zeros(0, np.int64), *anew]),
            exits=exits,
            stretches=np.array(stretches or [(0, self.length)], np.int64).reshape(-1),
        )
        return [(start, until, np.array(ahead), *sums) for start, until, ahead, *sums in found]

    def saved(self, less: Floats | None, moving: float = 1.0) -> float:
        """Seconds by which the run is shorter, by the same words as replay()."""
        return self.earlier(self.replay(less, moving)[0][2])

    def earlier(self, ahead: Floats) -> float:
        """The same, if ranks leave their last calls so much earlier."""
        return self.times * float(self.last.max() - (self.last - ahead).max())


def graph_of(trace: Trace) -> Graph:
    """The graph of a trace, with its messages if it has them."""
    trace, times = represented(trace)
    places = Places(trace)
    events, posts, number, first_of = gathered(trace, places)
    earliest = float(events.begin.min(initial=np.inf))
    begin = np.where(np.isfinite(trace.begin), trace.begin, earliest).astype(float)
    steps = _Steps(begin, events)
    order = _order(events, posts)
    job = core.TracedJob(
        rank=events.rank, begin=events.begin, end=events.end, place=events.place,
        cause=events.cause, meets=events.meets, beyond=steps.part, post_rank=posts.rank,
        post_time=posts.time, post_next=_next(events, posts), order=order, start=begin,
    )  # fmt: skip
    left_at = np.empty(len(events.rank), np.int64)
    ends = np.flatnonzero(order & 1)
    left_at[order[ends] >> 1] = ends
    last = np.full(trace.ranks, -np.inf)
    np.maximum.at(last, events.rank, events.end)
    return Graph(
        trace=trace,
        times=times,
        job=job,
        events=events,
        posts=posts,
        step=steps.step,
        spent=steps.spent,
        after=steps.after,
        part=steps.part,
        apart=steps.apart,
        start=begin,
        last=last,
        computed=steps.time,
        beyond=steps.beyond,
        present=steps.present,
        places=places.known,
        number=number,
        first_of=first_of,
        left_at=left_at,
        length=len(order),
    )


# ---- steps, and who computes longer than the median rank in each


class _Steps:
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
        # Of the computation before each event.
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
        """Of each computation the part that is excess, and the one that is beyond the mean.

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
        # What is left of the excess lies in what is left of the computation, the first one first.
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


def _order(events: Events, posts: Posts) -> NDArray[np.int64]:
    """All posts, and all ends of calls, as the core numbers them."""
    made = np.arange(len(posts.rank))
    order = np.concatenate([2 * made, 2 * np.arange(len(events.rank)) + 1])
    time = np.concatenate([posts.time, events.end])
    # At one instant a rank leaves a call, and then enters the next one.
    turn = np.concatenate([np.ones(len(made)), np.where(events.begin < events.end, 0, 2)])
    return order[np.lexsort((turn, time))]


def _next(events: Events, posts: Posts) -> NDArray[np.int64]:
    """The next event of each post's rank; -1: there is none."""
    found = np.full(len(posts.rank), -1)
    own_of = np.argsort(events.rank, kind="stable")
    bounds = np.searchsorted(events.rank[own_of], np.arange(int(events.rank.max(initial=-1)) + 2))
    by_rank = np.argsort(posts.rank, kind="stable")
    starts = np.searchsorted(posts.rank[by_rank], np.arange(len(bounds)))
    for rank in range(len(bounds) - 1):
        own = own_of[bounds[rank] : bounds[rank + 1]]  # by their end, as all events are
        mine = by_rank[starts[rank] : starts[rank + 1]]
        at = np.searchsorted(events.end[own], posts.time[mine], side="left")
        inside = at < len(own)
        found[mine[inside]] = own[at[inside]]
    return found
