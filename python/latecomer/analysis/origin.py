"""Who began it: the computation that waiting comes from, through messages and collectives.

A rank that comes late may be a victim: it waited for another one. So each rank carries along by
whose *excess* its clock is late. Excess is computation beyond that of the lower median rank in the
same step, where a step is the time between two collectives in which all ranks wait for each other.
A rank that waits for another one goes on with that one's account, since it goes on when that one
lets it. What the accounts differ by is what the waiting is charged to; the rest is *order*: ranks
whose work cannot begin before that of others has ended, as in a pipeline, and transfers.

So all charges and the order together are all waiting. Terms: D. Boehme, M. Geimer, L. Arnold,
F. Voigtlaender, F. Wolf: Identifying the root causes of wait states in large-scale parallel
applications, ACM TOPC 3(2), 2016 (direct and indirect waiting, delay costs).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.compiled import core
from ..trace.model import Group, Side, Trace
from ..trace.waits import met, synchronising

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_SHARES = 64  # steps of equal shares of the calls, where no collective is of all ranks
MOST = 20_000_000  # events; beyond that the first ones are looked at


@dataclass(frozen=True)
class Origin:
    """Sums over the run, in seconds; arrays of shape (ranks,)."""

    cost: Floats  # waiting of all ranks that comes from each rank's excess
    direct: Floats  # waiting of all ranks for each rank, whoever is the origin
    waiting: Floats  # of each rank
    moving: Floats  # of each rank, in the calls that were looked at
    excess: Floats  # computation of each rank beyond the median rank's
    order: float  # waiting that comes from nobody's excess
    by_place: Mapping[tuple[int, int], float]  # cost by rank and number of the place
    places: Sequence[Place]
    waits: int  # calls in which a rank waited
    whole: bool  # False: the first MOST events only
    job: Any  # of the core
    last: Floats  # when each rank last left a call that was looked at

    def saved(self, ranks: Sequence[int], end: Floats) -> float:
        """Seconds that the run would be shorter, had these ranks no excess.

        Each call ends when what it waits for has come, and takes as long from then on as it did.
        `end`: of each rank; NaN: not known.
        """
        marks = np.zeros(len(end), np.int64)
        marks[list(ranks)] = 1
        last = np.fmax(self.last, end)
        return float(last.max() - (last - np.array(self.job.ahead_without(marks))).max())

    def place(self, ranks: Sequence[int]) -> tuple[Place, float] | None:
        """After which call these ranks' excess costs most, and its share of their cost."""
        found: dict[int, float] = defaultdict(float)
        for (rank, place), cost in self.by_place.items():
            if rank in ranks:
                found[place] += cost
        whole = sum(found.values())
        if whole <= 0:
            return None
        best = max(found, key=lambda place: found[place])
        return self.places[best], found[best] / whole


@dataclass(frozen=True)
class Place:
    """The call after which a rank computes."""

    call: str  # as in "allreduce", or "messages"; "": none, the program's beginning
    site: str  # "": not known


@dataclass(frozen=True)
class _Events:
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


def origin(trace: Trace) -> Origin:
    """The figures of a trace. Its messages count if it has them."""
    places = _Places(trace)
    events, posts = _gathered(trace, places)
    whole = len(events.rank) <= MOST
    if not whole:
        events = _Events(**{name: column[:MOST] for name, column in vars(events).items()})
    earliest = float(events.begin.min(initial=np.inf))
    begin = np.where(np.isfinite(trace.begin), trace.begin, earliest).astype(float)
    steps = _Steps(begin, events)
    job = _job(begin, events, posts, steps)
    found = job.origins()
    cost, by_place = np.zeros(trace.ranks), {}
    for rank, place, seconds in found["charges"]:
        cost[rank] += seconds
        by_place[rank, place] = seconds
    last = np.full(trace.ranks, -np.inf)
    np.maximum.at(last, events.rank, events.end)
    direct, waiting, moving = (np.array(found[name]) for name in ("direct", "waiting", "moving"))
    return Origin(cost, direct, waiting, moving, steps.beyond.sum(axis=0), found["order"],
                  by_place, places.known, found["waits"], whole, job, last)  # fmt: skip


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


def _gathered(trace: Trace, places: _Places) -> tuple[_Events, _Posts]:
    parts: list[_Events] = []
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
    for group in [*trace.groups, *trace.overlapping]:
        if group.size > 1 and len(group):
            events, post_ranks, post_times = _of_calls(trace, group, count, places)
            parts.append(events)
            ranks.append(post_ranks)
            times.append(post_times)
            count += len(post_ranks)
    nothing = np.zeros(0)
    if not parts:
        whole = nothing.astype(np.int64)
        parts = [_Events(whole, nothing, nothing, whole, whole, whole)]
    joined = {name: np.concatenate([getattr(each, name) for each in parts])
              for name in vars(parts[0])}  # fmt: skip
    order = np.argsort(joined["end"], kind="stable")
    return (
        _Events(**{name: column[order] for name, column in joined.items()}),
        _Posts(
            np.concatenate([nothing.astype(np.int64), *ranks]), np.concatenate([nothing, *times])
        ),
    )


def _of_messages(
    send: Side, receive: Side, places: _Places
) -> tuple[_Events, list[tuple[NDArray[np.int32], Floats]]]:
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
    _, which = np.unique(np.column_stack([rank.astype(np.float64), begin, end]), axis=0,
                         return_inverse=True)  # fmt: skip
    order = np.lexsort((released, which.reshape(-1)))
    last = order[np.flatnonzero(np.diff(which.reshape(-1)[order], append=-1))]
    cause = np.where(np.isfinite(released[last]), post[last], -1)
    events = _Events(rank[last], begin[last], end[last], place[last], cause,
                     np.zeros(len(last), np.int64))  # fmt: skip
    return events, [(send.rank, send.posted), (receive.rank, receive.posted)]


def _of_calls(
    trace: Trace, group: Group, count: int, places: _Places
) -> tuple[_Events, NDArray[np.int64], Floats]:
    """The calls of a group: each rank waits for the last one that arrives before it leaves."""
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
    events = _Events(
        rank=group.members[at].astype(np.int64),
        begin=arrival[rows, at],
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

    def __init__(self, start: Floats, events: _Events) -> None:
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
        time = np.zeros((steps, ranks))
        np.add.at(time, (own, rank), computed)
        present = np.flatnonzero(np.bincount(rank, minlength=ranks))
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


def _job(start: Floats, events: _Events, posts: _Posts, steps: _Steps) -> Any:
    """The job as the core takes it: all posts that some call waits for, and all ends of calls."""
    used = np.unique(events.cause[events.cause >= 0])
    order = np.concatenate([2 * used, 2 * np.arange(len(events.rank)) + 1])
    time = np.concatenate([posts.time[used], events.end])
    # At one instant a rank leaves a call, and then enters the next one.
    turn = np.concatenate([np.ones(len(used)), np.where(events.begin < events.end, 0, 2)])
    step = np.zeros(len(posts.rank), np.int64)
    step[used] = _steps_of(events, posts, steps, used)
    return core.TracedJob(
        rank=events.rank, begin=events.begin, end=events.end, place=events.place,
        cause=events.cause, meets=events.meets, step=steps.step, post_rank=posts.rank,
        post_time=posts.time, post_step=step, order=order[np.lexsort((turn, time))],
        beyond=steps.beyond.reshape(-1), start=start,
    )  # fmt: skip


def _steps_of(
    events: _Events, posts: _Posts, steps: _Steps, used: NDArray[np.int64]
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
