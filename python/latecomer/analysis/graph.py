"""The graph of a traced job: calls in which ranks may wait, what they wait for, and computation.

A step is the time between two collectives in which all ranks wait for each other; where there are
none, an equal share of each rank's calls. A rank's *excess* is its computation in a step beyond
that of the lower median rank.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.compiled import core
from ..trace.model import UNKNOWN, Group, Side, Trace
from ..trace.waits import met, synchronising
from .sample import represented

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

OTHER_CALLS = "calls that have no record"  # of a Place
_SHARES = 64  # steps of equal shares of the calls, where no collective is of all ranks


@dataclass(frozen=True)
class Place:
    """The call after which a rank computes."""

    call: str  # as in "allreduce", "messages" or OTHER_CALLS; "": none, the program's beginning
    site: str  # "": not known


@dataclass(frozen=True)
class Graph:
    """A job's calls, what they wait for, and the computation between them."""

    trace: Trace  # whose graph it is: stretches of a trace that is too large
    times: float  # how many times as long the run of the whole trace is
    job: Any  # of the core
    events: Events
    last: Floats  # (ranks,) when each rank last left a call, in seconds
    computed: Floats  # (steps, ranks), in seconds
    beyond: Floats  # the part of it that is excess
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

    def without(self, ranks: Sequence[int]) -> Floats:
        """Had these ranks no excess: by how much shorter each rank computes, as `computed`."""
        less = np.zeros_like(self.beyond)
        less[:, list(ranks)] = self.beyond[:, list(ranks)]
        return less

    def nearer(self, part: float) -> Floats:
        """If all ranks came nearer to the mean of a step, by that part.

        The parts by which each computation of a step and rank is shorter; below 0: longer.
        """
        some = self.computed[:, self.present]
        less = np.zeros_like(self.computed)
        beyond = part * (some - some.mean(axis=1, keepdims=True))
        less[:, self.present] = np.divide(beyond, some, out=np.zeros_like(some), where=some > 0)
        return less

    def replay(
        self,
        less: Floats | None = None,
        moving: float = 1.0,
        *,
        parts: bool = False,
        stretches: Sequence[tuple[int, int]] = (),
        anew: Sequence[NDArray[np.int64]] = (),
        exits: Callable[[int, list[float]], Sequence[float]] | None = None,
    ) -> list[tuple[float, float, Floats, float, float]]:
        """What stretches of the order take; all of it, if there are none.

        Each call ends when what it waits for has come, and takes `moving` times as long from then
        on as it did; those of `anew`, numbers of calls by member, end by `exits`. `less`: by how
        much shorter ranks compute, from without() or, if these are `parts`, from nearer().
        Returns for each stretch when ranks had left their last calls before it, and in it, in the
        mean and as measured; by how much earlier each rank leaves (ranks,); waiting and moving. All
        in seconds, summed over ranks and calls.
        """
        found = self.job.replay(
            less=(np.zeros_like(self.beyond) if less is None else less).reshape(-1),
            parts=parts,
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


@dataclass(frozen=True)
class Events:
    """Calls in which ranks may wait, in the order in which they ended; one entry each."""

    rank: NDArray[np.int64]
    begin: Floats
    end: Floats
    place: NDArray[np.int64]  # a number of _Places
    cause: NDArray[np.int64]  # an index of a post: what the call waited for last; -1: nothing
    meets: NDArray[np.int64]  # 1: all ranks of the job wait for each other in it


@dataclass(frozen=True)
class _Posts:
    """Moments at which a rank did what others may wait for."""

    rank: NDArray[np.int64]
    time: Floats


def graph_of(trace: Trace) -> Graph:
    """The graph of a trace, with its messages if it has them."""
    trace, times = represented(trace)
    places = _Places(trace)
    events, posts, number, first_of = _gathered(trace, places)
    earliest = float(events.begin.min(initial=np.inf))
    begin = np.where(np.isfinite(trace.begin), trace.begin, earliest).astype(float)
    steps = _Steps(begin, events)
    order = _order(events, posts)
    left_at = np.empty(len(events.rank), np.int64)
    ends = np.flatnonzero(order & 1)
    left_at[order[ends] >> 1] = ends
    last = np.full(trace.ranks, -np.inf)
    np.maximum.at(last, events.rank, events.end)
    return Graph(
        trace=trace,
        times=times,
        job=_job(begin, events, posts, steps, order),
        events=events,
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


class _Places:
    """Numbers of places; 0 is the program's beginning."""

    def __init__(self, trace: Trace) -> None:
        self.trace, self.known = trace, [Place("", "")]
        self.numbers: dict[tuple[int, str], int] = {}

    def of(self, sites: NDArray[np.int32], call: str) -> NDArray[np.int64]:
        """The numbers of calls of one kind at these sites."""
        some, which = np.unique(sites, return_inverse=True)
        return np.array([self._one(int(site), call) for site in some], np.int64)[which.reshape(-1)]

    def _one(self, site: int, call: str) -> int:
        number = self.numbers.get((site, call))
        if number is None:
            number = self.numbers[site, call] = len(self.known)
            self.known.append(Place(call, self.trace.words[site]))
        return number


# ---- what there is in a trace


def _gathered(
    trace: Trace, places: _Places
) -> tuple[Events, _Posts, NDArray[np.int64], dict[int, int]]:
    """Calls in the order of their ends, posts, and where the calls went: Graph's `number`, ..."""
    parts: list[Events] = []
    first_of: dict[int, int] = {}
    ranks: list[NDArray[np.int64]] = []
    times: list[Floats] = []
    count = 0
    messages = trace.messages
    if messages is not None and len(messages):
        found, causes = _of_messages(messages.send, messages.receive, places)
        parts.append(found)
        for side in causes:
            ranks.append(side[0].astype(np.int64))
            times.append(side[1])
            count += len(side[0])
    parts += _of_other_calls(trace, places)
    for at, group in enumerate([*trace.groups, *trace.overlapping]):
        if group.size > 1 and len(group):
            first_of[at] = sum(len(part.rank) for part in parts)
            events, post_ranks, post_times = _of_calls(trace, group, count, places)
            parts.append(events)
            ranks.append(post_ranks)
            times.append(post_times)
            count += len(post_ranks)
    nothing = np.zeros(0)
    if not parts:
        whole = nothing.astype(np.int64)
        parts = [Events(whole, nothing, nothing, whole, whole, whole)]
    joined = {name: np.concatenate([getattr(each, name) for each in parts])
              for name in vars(parts[0])}  # fmt: skip
    order = np.argsort(joined["end"], kind="stable")
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    return (
        Events(**{name: column[order] for name, column in joined.items()}),
        _Posts(
            np.concatenate([nothing.astype(np.int64), *ranks]), np.concatenate([nothing, *times])
        ),
        number,
        first_of,
    )


def _of_messages(
    send: Side, receive: Side, places: _Places
) -> tuple[Events, list[tuple[NDArray[np.int32], Floats]]]:
    """The calls that completed sends and receives: several of one call are one event.

    A receive waits for the send to be posted. A send waits for the receive, if it ended after that
    one was posted: before, the library has taken the data.
    """
    count = len(send.rank)
    rank = np.concatenate([receive.rank, send.rank]).astype(np.int64)
    begin = np.concatenate([receive.begin, send.begin])
    end = np.concatenate([receive.end, send.end])
    place = places.of(np.concatenate([receive.site, send.site]), "messages")
    post = np.arange(2 * count)  # the sends' posts, then the receives'
    released = np.concatenate([send.posted, np.where(send.end >= receive.posted, receive.posted,
                                                     -np.inf)])  # fmt: skip
    order = np.lexsort((released, begin, rank))  # a rank enters one call at a time
    first = np.ones(len(order), bool)
    first[1:] = (np.diff(rank[order]) != 0) | (np.diff(begin[order]) != 0)
    at = np.flatnonzero(first)
    last = order[np.append(at[1:], len(order)) - 1]
    end = np.maximum.reduceat(end[order], at)
    cause = np.where(np.isfinite(released[last]), post[last], -1)
    events = Events(rank[last], begin[last], end, place[last], cause,
                     np.zeros(len(last), np.int64))  # fmt: skip
    return events, [(send.rank, send.posted), (receive.rank, receive.posted)]


def _of_other_calls(trace: Trace, places: _Places) -> list[Events]:
    """Probes, which wait for a message to be sent, and calls that wait for what is not known.

    Sends are the first posts.
    """
    found = []
    if trace.messages is not None and (probes := trace.messages.probes) is not None:
        side = probes.side
        found.append(_events(side.rank, side.begin, side.end, places.of(side.site, "messages"),
                             probes.message))  # fmt: skip
    if (others := trace.others) is not None:
        site = np.full(len(others), UNKNOWN, np.int32)
        found.append(_events(others.rank, others.begin, others.end, places.of(site, OTHER_CALLS),
                             np.full(len(others), -1)))  # fmt: skip
    return found


def _events(rank: Any, begin: Floats, end: Floats, place: Any, cause: Any) -> Events:
    whole = (rank, place, cause, np.zeros(len(rank)))
    ranks, places, causes, meets = (column.astype(np.int64) for column in whole)
    return Events(ranks, begin, end, places, causes, meets)


def _of_calls(
    trace: Trace, group: Group, count: int, places: _Places
) -> tuple[Events, NDArray[np.int64], Floats]:
    """The calls of a group: each rank waits for the last one that arrives before it leaves.

    Where another call completes them, it waits in that one.
    """
    arrival, leave = group.times()
    known = np.isfinite(arrival) & np.isfinite(leave)
    sync = synchronising(trace.words, group.collective)
    by_all = sync & known.all(axis=1) & (group.size == trace.ranks)
    came = np.where(known, arrival, -np.inf)
    # The arrivals in their order, those that are not known first, and how many each rank meets.
    order = np.argsort(came, axis=1, kind="stable")
    unknown = group.size - known.sum(axis=1, keepdims=True)
    met_by = met(np.where(known, arrival, np.nan), leave, sync)
    last = np.take_along_axis(order, np.maximum(unknown + met_by - 1, 0), axis=1)
    rows, at = np.nonzero(known)
    cause = count + rows * group.size + last[rows, at]
    place = np.zeros(len(group), np.int64)
    for collective in np.unique(group.collective):
        own = group.collective == collective
        place[own] = places.of(group.site[own], trace.words[int(collective)])
    begin = arrival
    if group.completed is not None:
        begin = np.where(np.isfinite(group.completed), group.completed, arrival)
    events = Events(
        rank=group.members[at].astype(np.int64),
        begin=begin[rows, at],
        end=leave[rows, at],
        place=place[rows],
        cause=cause,
        meets=by_all[rows].astype(np.int64),
    )
    members = np.tile(group.members.astype(np.int64), len(group))
    return events, members, came.reshape(-1)


# ---- steps, and who computes longer than the median rank in each


class _Steps:
    """Computation of each rank by step, and the part of it that is excess."""

    def __init__(self, start: Floats, events: Events) -> None:
        ranks = len(start)
        order = np.lexsort((events.end, events.begin, events.rank))
        rank, begin, end = events.rank[order], events.begin[order], events.end[order]
        first = np.diff(rank, prepend=-1) != 0
        before = np.where(first, start[rank], np.concatenate([[0.0], _latest(rank, end)])[:-1])
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
        self.step = np.empty(len(own), np.int64)  # of the computation before each event
        self.step[order] = own


# ---- the walk


def _latest(rank: NDArray[np.int64], end: Floats) -> Floats:
    """When each rank had left all calls so far; one may go on in another. `rank`: sorted."""
    apart = rank * (2 * float(np.abs(end).max(initial=0.0)) + 1)
    return np.maximum.accumulate(end + apart) - apart


def _shares(rank: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where ranks never all meet: equal shares of each rank's calls. `rank`: sorted, of each call.

    Ranks of most programs do the same things equally often, however far they are apart.
    """
    calls = np.bincount(rank)
    number = np.arange(len(rank)) - np.searchsorted(rank, rank)
    shares = min(_SHARES, int(calls[calls > 0].min()))
    return number * shares // calls[rank]


def _order(events: Events, posts: _Posts) -> NDArray[np.int64]:
    """All posts that some call waits for, and all ends of calls, as the core numbers them."""
    used = _used(events)
    order = np.concatenate([2 * used, 2 * np.arange(len(events.rank)) + 1])
    time = np.concatenate([posts.time[used], events.end])
    # At one instant a rank leaves a call, and then enters the next one.
    turn = np.concatenate([np.ones(len(used)), np.where(events.begin < events.end, 0, 2)])
    return order[np.lexsort((turn, time))]


def _used(events: Events) -> NDArray[np.int64]:
    return np.unique(events.cause[events.cause >= 0])


def _job(
    start: Floats, events: Events, posts: _Posts, steps: _Steps, order: NDArray[np.int64]
) -> Any:
    """The job as the core takes it."""
    used = _used(events)
    step = np.zeros(len(posts.rank), np.int64)
    step[used] = _steps_of(events, posts, steps, used)
    return core.TracedJob(
        rank=events.rank, begin=events.begin, end=events.end, place=events.place,
        cause=events.cause, meets=events.meets, step=steps.step, post_rank=posts.rank,
        post_time=posts.time, post_step=step, order=order,
        beyond=steps.beyond.reshape(-1), start=start,
    )  # fmt: skip


def _steps_of(
    events: Events, posts: _Posts, steps: _Steps, used: NDArray[np.int64]
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
