"""The graph of a traced job: calls in which ranks may wait, what they wait for, and computation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base.arrays import Bools, Floats, Int64s
from ...core.compiled import core
from ..trace.model import Trace
from .events import OTHER, PROBE, Events, Gathered, Place, Places, Posts, gathered
from .sample import represented
from .steps import Steps, team_of


@dataclass(frozen=True)
class Graph(Gathered):
    """A job's calls, what they wait for, and the computation between them."""

    trace: Trace  # whose graph it is: stretches of a trace that is too large
    times: float  # how many times as long the run of the whole trace is
    job: Any  # of the core
    step: Int64s  # of the computation before each event
    spent: Floats  # seconds of that computation
    after: Int64s  # the place of the call before it
    part: Floats  # of that computation, which is excess
    apart: Floats  # ... beyond what it would be if ranks were balanced, as Steps says
    start: Floats  # (ranks,) when each rank began, in seconds
    last: Floats  # (ranks,) when each rank last left a call, in seconds
    computed: Floats  # (steps, ranks), in seconds
    beyond: Floats  # how much of it is excess
    present: Int64s  # the ranks that are in any call
    team: Int64s  # (ranks,) a number, the same for ranks that share calls or messages
    places: Sequence[Place]
    left_at: Int64s  # the place of each call's end in the job's order
    length: int  # of that order

    @property
    def unclear(self) -> tuple[float, str]:
        """The part of the ranks' time of which the graph does not tell who waits, and why.

        Where several threads are in MPI, none of which is known to be the one that computes, and
        in calls that may wait for what is not known.
        """
        length = max(float((self.last - self.start)[self.present].sum()), 1e-300)
        unknown = float(self.unknown().sum())
        if self.shared > unknown:
            return self.shared / length, "while two of their threads are in MPI"
        return unknown / length, "in calls of which the trace does not tell for whom they wait"

    def members(self, group: int) -> tuple[Int64s, Int64s]:
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
        return np.asarray(np.bincount(events.rank[alone], inside, self.trace.ranks), float)

    def for_unknown(self) -> Bools:
        """Tell of each event whether it may wait for what is not known."""
        source, row = self.events.source, self.events.row
        found: Bools = (source == OTHER) | ((source == PROBE) & (row < 0))
        return found

    def on_files(self) -> Bools:
        """Tell of each event whether it is a collective on a file."""
        files = np.array([place.call.startswith("file_") for place in self.places])
        found: Bools = files[self.events.place]
        return found

    def without(self, ranks: Sequence[int]) -> Floats:
        """Had these ranks no excess: of the computation before each event the part that goes."""
        return np.where(np.isin(self.events.rank, ranks), self.part, 0.0)

    def nearer(self, part: float) -> Floats:
        """The same if ranks came nearer to perfect balance.

        Below 0: they compute longer.
        """
        return part * self.apart

    def replay(
        self,
        less: Floats | None = None,
        moving: float = 1.0,
        *,
        stretches: Sequence[tuple[int, int]] = (),
        anew: Sequence[Int64s] = (),
        exits: Callable[[int, list[float]], Sequence[float]] | None = None,
    ) -> list[tuple[float, float, Floats, float, float]]:
        """The times that stretches of the order take; all of it, if there are none.

        Each call ends when all that it waits for has come, and takes as long from then on as it
        did, `moving` times that where it moves data over the network; those of `anew`, numbers of
        calls by member, end by `exits`. `less`: how much shorter ranks compute, from without() or
        nearer().
        Returns for each stretch when ranks had left their last calls before it, and in it, in the
        mean and as measured; by how much earlier each rank leaves (ranks,); waiting and moving. All
        in seconds, summed over ranks and calls.
        """
        found = self.job.replay(
            less=np.zeros_like(self.part) if less is None else less,
            moving=np.where(self.for_unknown() | self.on_files(), 1.0, moving),
            first=np.cumsum([0, *map(len, anew)]) if anew else np.zeros(0, np.int64),
            calls=np.concatenate([np.zeros(0, np.int64), *anew]),
            exits=exits,
            stretches=np.array(stretches or [(0, self.length)], np.int64).reshape(-1),
        )
        return [(start, until, np.array(ahead), *sums) for start, until, ahead, *sums in found]

    def saved(self, less: Floats | None, moving: float = 1.0) -> float:
        """Seconds by which the run is shorter, by the same words as replay()."""
        return self.earlier(self.replay(less, moving)[0][2])

    def earlier(self, ahead: Floats, ranks: Any = slice(None)) -> float:
        """The same of these ranks, if they leave their last calls so much earlier."""
        last = self.last[ranks]
        if not np.isfinite(last).any():
            return 0.0  # they are in no call
        return self.times * float(last.max() - (last - ahead[ranks]).max())


def graph_of(trace: Trace) -> Graph:
    """The graph of a trace, with its messages if it has them."""
    trace, times = represented(trace)
    places = Places(trace)
    found = gathered(trace, places)
    events, posts, awaited = found.events, found.posts, found.awaited
    earliest = float(events.begin.min(initial=np.inf))
    begin = np.where(np.isfinite(trace.begin), trace.begin, earliest).astype(float)
    team = _teams(trace)
    steps = Steps(begin, events, team)
    columns = {
        "rank": events.rank, "begin": events.begin, "end": events.end, "place": events.place,
        "cause": events.cause, "others_first": awaited.others.first,
        "others": awaited.others.numbers, "meeting": awaited.meeting, "meets": events.meets,
        "beyond": steps.part, "post_rank": posts.rank, "post_time": posts.time,
        "post_next": _next(events, posts), "came_first": awaited.came.first,
        "came": awaited.came.numbers, "for_all": awaited.for_all, "start": begin,
    }  # fmt: skip
    order = core.TracedJob(order=_by_time(events, posts), **columns).causal_order()
    job = core.TracedJob(order=order, **columns)
    left_at = np.empty(len(events.rank), np.int64)
    ends = np.flatnonzero(order & 1)
    left_at[order[ends] >> 1] = ends
    last = np.full(trace.ranks, -np.inf)
    np.maximum.at(last, events.rank, events.end)
    return Graph(
        **vars(found),
        trace=trace,
        times=times,
        job=job,
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
        team=team,
        places=places.known,
        left_at=left_at,
        length=len(order),
    )


def _teams(trace: Trace) -> Int64s:
    """By rank a number, the same for ranks that share calls or messages, if through others."""
    shared = [group.members for group in (*trace.groups, *trace.overlapping) if len(group)]
    if (messages := trace.messages) is not None:
        pairs = np.unique(messages.send.rank.astype(np.int64) * trace.ranks + messages.receive.rank)
        shared += list(np.stack(np.divmod(pairs, trace.ranks), axis=1))
    found = np.arange(trace.ranks)
    for rank, number in team_of(shared).items():
        found[rank] = number
    return found


def _by_time(events: Events, posts: Posts) -> Int64s:
    """All posts, and all ends of calls, as the core numbers them, by their time."""
    made = np.arange(len(posts.rank))
    order = np.concatenate([2 * made, 2 * np.arange(len(events.rank)) + 1])
    time = np.concatenate([posts.time, events.end])
    # At one instant a rank leaves a call, and then enters the next one.
    turn = np.concatenate([np.ones(len(made)), np.where(events.begin < events.end, 0, 2)])
    return order[np.lexsort((turn, time))]


def _next(events: Events, posts: Posts) -> Int64s:
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
