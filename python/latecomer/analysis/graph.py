"""The graph of a traced job: calls in which ranks may wait, what they wait for, and computation.

A step is the time between two collectives in which all ranks wait for each other; where there are
none, an equal share of each rank's calls. A rank's *excess* is its computation in a step beyond
that of the lower median rank.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.compiled import core
from ..trace.model import Trace
from .waiting_calls import Events, Place, Places, Posts, gathered
from .windows import windows_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_SHARES = 64  # steps of equal shares of the calls, where no collective is of all ranks
MOST = 1 << 21  # calls of single ranks that are looked at; of more, windows with as many


@dataclass(frozen=True)
class Graph:
    """A job's calls, what they wait for, and the computation between them."""

    job: Any  # of the core
    events: Events
    sample: float  # the part of the run that was looked at
    windows: NDArray[np.int64]  # the places in the job's order where they begin; 0: the first
    last: Floats  # (ranks,) when each rank last left a call, in seconds
    computed: Floats  # (steps, ranks), in seconds
    beyond: Floats  # the part of it that is excess
    present: NDArray[np.int64]  # the ranks that are in any call
    places: Sequence[Place]
    number: NDArray[np.int64]  # of each call in the job, in the order in which they were gathered
    # By a group's place in the trace: its first call in that order, which of its calls are there,
    # and how many of their ranks are known.
    first_of: Mapping[int, tuple[int, NDArray[np.int64], NDArray[np.int64]]]
    left_at: NDArray[np.int64]  # the place of each call's end in the job's order
    length: int  # of that order

    def members(self, trace: Trace, group: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The calls of a group that all its ranks are known to have made, and what they are here.

        `number[first]` to `number[first + group.size - 1]` are the numbers of a call, by member.
        Returns the calls' places in the group, and `first` of each.
        """
        begin, rows, known = self.first_of[group]
        first = begin + np.cumsum(known) - known
        whole = np.flatnonzero(known == trace.groups[group].size)
        return rows[whole], first[whole]

    def without(self, ranks: Sequence[int]) -> Floats:
        """Had these ranks no excess: by how much shorter each rank computes, as `computed`."""
        less = np.zeros_like(self.beyond)
        less[:, list(ranks)] = self.beyond[:, list(ranks)]
        return less

    def nearer(self, part: float) -> Floats:
        """The same if all ranks came nearer to the mean of a step, by that part."""
        some = self.computed[:, self.present]
        less = np.zeros_like(self.computed)
        less[:, self.present] = part * (some - some.mean(axis=1, keepdims=True))
        return less

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
        on as it did; those of `anew`, numbers of calls by member, end by `exits`. `less`: by how
        much shorter ranks compute. Returns for each stretch when ranks had left their last calls
        before it, and in it, in the mean and as measured; by how much earlier each rank leaves
        (ranks,); waiting and moving. All in seconds, summed over ranks and calls.
        """
        found = self.job.replay(
            less=(np.zeros_like(self.beyond) if less is None else less).reshape(-1),
            moving=moving,
            first=np.cumsum([0, *map(len, anew)]) if anew else np.zeros(0, np.int64),
            calls=np.concatenate([np.zeros(0, np.int64), *anew]),
            exits=exits,
            stretches=np.array(stretches or self.ranges(), np.int64).reshape(-1),
        )
        return [(start, until, np.array(ahead), *sums) for start, until, ahead, *sums in found]

    def ranges(self) -> list[tuple[int, int]]:
        """The windows as places in the job's order, up to the next one."""
        ends = [*self.windows[1:].tolist(), self.length]
        return list(zip(self.windows.tolist(), ends, strict=True))

    def saved(self, less: Floats | None, moving: float = 1.0) -> float:
        """Seconds by which the run is shorter, by the same words as replay()."""
        return self.earlier([found[2] for found in self.replay(less, moving)])

    def earlier(self, ahead: Sequence[Floats]) -> float:
        """The same, if ranks leave their last calls in each window so much earlier."""
        if len(ahead) == 1:
            return float(self.last.max() - (self.last - ahead[0]).max())
        return float(np.mean(ahead, axis=1)[:, None].sum() / self.sample)


def graph_of(trace: Trace, most: int = MOST) -> Graph:
    """The graph of a trace, with its messages if it has them; of more calls a sample."""
    places = Places(trace)
    events, posts, number, first_of = gathered(trace, places, windows_of(trace, most))
    some = np.unique(events.window)  # those in which there is something
    events = replace(events, window=np.searchsorted(some, events.window))
    posts = replace(posts, window=np.searchsorted(some, posts.window))
    windows = max(len(some), 1)
    start = _starts(trace, events, windows)
    steps = _Steps(start, events)
    order, begins = _order(events, posts, windows)
    left_at = np.empty(len(events.rank), np.int64)
    ends = np.flatnonzero(order & 1)
    left_at[order[ends] >> 1] = ends
    last = np.full((windows, trace.ranks), -np.inf)
    np.maximum.at(last, (events.window, events.rank), events.end)
    spans = np.where(np.isfinite(last), last - start, 0.0)
    last = last.max(axis=0)
    whole = np.where(np.isfinite(last), last - start[0], 0.0).sum()
    return Graph(
        job=_job(start, events, posts, steps, order, begins),
        events=events,
        sample=float(spans.sum() / whole) if windows > 1 and whole > 0 else 1.0,
        windows=begins,
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


def _starts(trace: Trace, events: Events, windows: int) -> Floats:
    """When each rank began (windows, ranks): behind the first window, with its first call there."""
    start = np.full((windows, trace.ranks), np.inf)
    np.minimum.at(start, (events.window, events.rank), events.begin)
    first = start.min(axis=1, initial=np.inf, keepdims=True)
    start = np.where(np.isfinite(start), start, np.where(np.isfinite(first), first, 0.0))
    start[0] = np.where(np.isfinite(trace.begin), trace.begin, start[0].min(initial=np.inf))
    return start


# ---- steps, and who computes longer than the median rank in each


class _Steps:
    """Computation of each rank by step, and the part of it that is excess."""

    def __init__(self, start: Floats, events: Events) -> None:
        windows, ranks = start.shape
        order = np.lexsort((events.end, events.begin, events.rank, events.window))
        rank, begin, end = events.rank[order], events.begin[order], events.end[order]
        window = events.window[order]
        key = window * ranks + rank
        first = np.diff(key, prepend=-1) != 0
        before = np.where(
            first, start[window, rank], np.concatenate([[0.0], _latest(key, end)])[:-1]
        )
        computed = np.clip(begin - before, 0.0, None)
        synced = events.meets[order]
        ended = np.cumsum(synced)
        base = np.where(first, ended - synced, 0)
        own = ended - synced - np.maximum.accumulate(base)
        if not synced.any() and len(end):
            own = _shares(key)
        count = np.ones(windows, np.int64)
        np.maximum.at(count, window, own + 1)
        own += (np.cumsum(count) - count)[window]
        self.time = time = np.zeros((int(count.sum()), ranks))
        np.add.at(time, (own, rank), computed)
        self.present = present = np.flatnonzero(np.bincount(rank, minlength=ranks))
        self.beyond = np.zeros_like(time)
        if len(present) > 1:
            some = time[:, present]
            half = (len(present) - 1) // 2
            typical = np.partition(some, half, axis=1)[:, half : half + 1]
            self.beyond[:, present] = np.clip(some - typical, 0.0, None)
        self.step = np.empty(len(own), np.int64)  # of the computation before each event
        self.step[order] = own


# ---- the walk


def _latest(key: NDArray[np.int64], end: Floats) -> Floats:
    """When each rank had left all calls so far; one may go on in another. `key`: sorted."""
    latest = np.empty_like(end)
    bounds = np.append(np.flatnonzero(np.diff(key, prepend=-1)), len(key)).tolist()
    for first, last in pairwise(bounds):
        np.maximum.accumulate(end[first:last], out=latest[first:last])
    return latest


def _shares(key: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where ranks never all meet: equal shares of each rank's calls. `key`: sorted, of each call.

    Ranks of most programs do the same things equally often, however far they are apart.
    """
    calls = np.bincount(key)
    number = np.arange(len(key)) - np.searchsorted(key, key)
    shares = min(_SHARES, int(calls[calls > 0].min()))
    return number * shares // calls[key]


def _order(
    events: Events, posts: Posts, windows: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All posts that some call waits for, and all ends of calls, as the core numbers them.

    And where the windows begin there.
    """
    used = _used(events)
    order = np.concatenate([2 * used, 2 * np.arange(len(events.rank)) + 1])
    time = np.concatenate([posts.time[used], events.end])
    # At one instant a rank leaves a call, and then enters the next one.
    turn = np.concatenate([np.ones(len(used)), np.where(events.begin < events.end, 0, 2)])
    window = np.concatenate([posts.window[used], events.window])
    sorted_ = np.lexsort((turn, time, window))
    begins = np.searchsorted(window[sorted_], np.arange(windows))
    return order[sorted_], begins.astype(np.int64)


def _used(events: Events) -> NDArray[np.int64]:
    return np.unique(events.cause[events.cause >= 0])


def _job(
    start: Floats,
    events: Events,
    posts: Posts,
    steps: _Steps,
    order: NDArray[np.int64],
    begins: NDArray[np.int64],
) -> Any:
    """The job as the core takes it."""
    used = _used(events)
    step = np.zeros(len(posts.rank), np.int64)
    step[used] = _steps_of(events, posts, steps, used)
    return core.TracedJob(
        rank=events.rank, begin=events.begin, end=events.end, place=events.place,
        cause=events.cause, meets=events.meets, step=steps.step, post_rank=posts.rank,
        post_time=posts.time, post_step=step, order=order,
        beyond=steps.beyond.reshape(-1), start=start.reshape(-1), windows=begins,
    )  # fmt: skip


def _steps_of(
    events: Events, posts: Posts, steps: _Steps, used: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The step in which each of these posts was made: that of its rank's next event."""
    found = np.zeros(len(used), np.int64)
    mine_of, own_of = posts.rank[used], np.argsort(events.rank, kind="stable")
    bounds = np.searchsorted(events.rank[own_of], np.arange(int(events.rank.max(initial=-1)) + 2))
    by_rank = np.argsort(mine_of, kind="stable")
    starts = np.searchsorted(mine_of[by_rank], np.arange(len(bounds)))
    for rank in range(len(bounds) - 1):
        own = own_of[bounds[rank] : bounds[rank + 1]]  # by their end, as all events are
        mine = by_rank[starts[rank] : starts[rank + 1]]
        if len(own) and len(mine):
            at = np.searchsorted(events.end[own], posts.time[used[mine]], side="left")
            found[mine] = steps.step[own[np.minimum(at, len(own) - 1)]]
    return found
