"""The events of a trace: calls in which ranks may wait, and the posts that they wait for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...base.arrays import Array, Bools, Floats, Int32s, Int64s
from ..trace.model import UNKNOWN, Group, Messages, Trace
from ..trace.waits import met, synchronising
from .awaited import Awaited, Gathering, Presence, come_back, last_needed

OTHER_CALLS = "calls that have no record"  # of a Place
# Sources of events that are no collectives.
RECEIVE, SEND, PROBE, OTHER = -1, -2, -3, -4


@dataclass(frozen=True)
class Place:
    """The call after which a rank computes."""

    call: str  # as in "allreduce", "messages" or OTHER_CALLS; "": none, the program's beginning
    site: str  # "": not known


@dataclass(frozen=True)
class Events:
    """Calls in which ranks may wait, in the order in which they ended; one entry each.

    `source` says what a call is, and `row` which one of these: the place of a group, of the trace's
    groups and then its overlapping ones, and the call's place in it; RECEIVE or SEND, of messages,
    and the message that the call waited for last; PROBE, and its message, or UNKNOWN; OTHER, and
    the place in the trace's others. Times are in seconds.
    """

    rank: Int64s
    begin: Floats
    end: Floats
    place: Int64s  # a number of Places
    cause: Int64s  # an index of a post: what the call waited for last; -1: nothing
    source: Int32s
    row: Int32s
    meets: Int64s  # 1: all ranks of the job wait for each other in it
    sends: Bools  # it completed sends, and nothing else

    def some(self, which: Any) -> Events:
        return Events(**{name: column[which] for name, column in vars(self).items()})


@dataclass(frozen=True)
class Posts:
    """Moments, in seconds, at which a rank did what some call waits for."""

    rank: Int64s
    time: Floats


@dataclass(frozen=True)
class Gathered:
    """All events and posts of a trace."""

    events: Events
    posts: Posts
    awaited: Awaited
    number: Int64s  # of each event, in the order in which they were gathered
    first_of: dict[int, int]  # by a group's place in the trace: its first event in that order
    shared: float  # for how long ranks are in two calls at one time, in seconds


class Places:
    """Numbers of places; 0 is the program's beginning."""

    def __init__(self, trace: Trace) -> None:
        self.trace, self.known = trace, [Place("", "")]
        self.numbers: dict[tuple[int, str], int] = {}

    def of(self, sites: Int32s, call: str) -> Int64s:
        """The numbers of calls of one kind at these sites."""
        some, which = np.unique(sites, return_inverse=True)
        return np.array([self._one(int(site), call) for site in some], np.int64)[which.reshape(-1)]

    def _one(self, site: int, call: str) -> int:
        number = self.numbers.get((site, call))
        if number is None:
            number = self.numbers[site, call] = len(self.known)
            self.known.append(Place(call, self.trace.words[site]))
        return number


def gathered(trace: Trace, places: Places) -> Gathered:
    """All events and posts of a trace."""
    parts, ranks, times = [], [np.zeros(0, np.int64)], [np.zeros(0)]
    first_of: dict[int, int] = {}
    count = posted = 0
    awaited = Gathering()
    messages = trace.messages
    presence = Presence(trace)
    if messages is not None and len(messages):
        own, back = _of_messages(messages, presence, places, awaited)
        parts.append(own)
        ranks += 2 * [side.rank.astype(np.int64) for side in (messages.send, messages.receive)]
        times += [messages.send.posted, messages.receive.posted, *back]
        posted = 4 * len(messages)
    parts += _of_other_calls(trace, places)
    count = sum(len(part.rank) for part in parts)
    for at, group in enumerate([*trace.groups, *trace.overlapping]):
        if group.size > 1 and len(group):
            first_of[at] = count
            events, who, came = _of_calls(
                trace, at, group, count, posted, places, presence, awaited
            )
            parts.append(events)
            ranks.append(who)
            times.append(came)
            count += len(events.rank)
            posted += len(came)
    parts = parts or [_events([], np.zeros(0), np.zeros(0), [], [], 0, 0)]
    joined = Events(**{name: np.concatenate([getattr(each, name) for each in parts])
                       for name in vars(parts[0])})  # fmt: skip
    rank_of, time_of = np.concatenate(ranks), np.concatenate(times)
    known = joined.cause >= 0
    until = np.full(len(joined.rank), -np.inf)
    until[known] = time_of[joined.cause[known]]
    order = np.lexsort((-until, joined.begin, joined.end))
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    events = joined.some(order)
    begin, shared = _begins(events)
    made = awaited.made(number, time_of)
    # Only posts that some call waits for.
    known = events.cause >= 0
    used = np.zeros(len(time_of), bool)
    used[events.cause[known]] = used[made.posts()] = True
    place = np.cumsum(used) - 1
    events.cause[known] = place[events.cause[known]]
    posts = Posts(rank_of[used], time_of[used])
    return Gathered(replace(events, begin=begin), posts, made.by(place), number, first_of, shared)


def _begins(events: Events) -> tuple[Floats, float]:
    """When events begin, such that a rank is in one at a time. They are sorted by their end.

    Several may be of one call: then the one that waits longest counts, which comes first. Where
    threads of a rank are in MPI at one time, that belongs to the call that ends next; returns the
    sum of such times, too.
    """
    order = np.argsort(events.rank, kind="stable")
    rank, begin, end = events.rank[order], events.begin[order], events.end[order]
    first = np.diff(rank, prepend=-1) != 0
    before = np.where(first, -np.inf, np.concatenate([[0.0], end])[:-1])
    apart = begin + rank * (2 * float(np.abs(begin).max(initial=0.0)) + 1)
    least = np.minimum.accumulate(apart[::-1])[::-1]
    inside = np.where(least < apart, least - apart + begin, begin)  # some call, from then on
    found = np.empty(len(order))
    found[order] = np.minimum(np.maximum(before, inside), np.maximum(begin, end))
    calls = np.lexsort((end, begin, rank))
    last = (np.diff(rank[calls], append=-1) != 0) | (np.diff(begin[calls], append=np.inf) != 0)
    in_calls = (end - begin)[calls[last]].sum()
    return found, float(in_calls - (events.end - found).sum())


def _events(
    rank: Any, begin: Floats, end: Floats, place: Any, cause: Any, source: Any, row: Any,
    meets: Any = 0, sends: Any = False,
) -> Events:  # fmt: skip
    """Events of these columns, or numbers where all are alike."""

    def whole(column: Any, kind: type = np.int64) -> Array:
        return np.array(np.broadcast_to(column, len(rank)), kind)

    return Events(whole(rank), begin, end, whole(place), whole(cause), whole(source, np.int32),
                  whole(row, np.int32), whole(meets), whole(sends, np.bool_))  # fmt: skip


def _of_messages(
    messages: Messages, presence: Presence, places: Places, awaited: Gathering
) -> tuple[Events, list[Floats]]:
    """The calls that completed sends and receives: several of one call are one event.

    A receive waits for the send to be posted, and a send for the receive, if it ended after that
    one was posted. Data of large messages move only while both ranks are in MPI: so who waits while
    the other one comes back to MPI, in whichever call, waited for that, unless its part had ended
    before. Eager sends need no receive, but in shared memory some end only when the receiver comes
    back to MPI: they waited for that if nothing came later. Posts are those of the sends, then
    those of the receives, then these entries in the same order, whose times are returned.
    """
    send, receive, count = messages.send, messages.receive, len(messages)
    rank, begin, end, site = (
        np.concatenate([getattr(receive, name), getattr(send, name)])
        for name in ("rank", "begin", "end", "site")
    )
    near = _near(messages, places.trace)
    eager = _eager(messages, places.trace, near, _alone(rank, begin)[count:])
    times, posts, came = [], [], []
    for side, (own, other) in enumerate(((receive, send), (send, receive))):
        alone = eager & (side == 1)
        both = np.where(alone, own.begin, np.maximum(other.posted, own.begin))
        there = presence.since(other.rank, both)
        entered = (there > both) & (there < own.end)
        entered &= (alone & near) | (~eager & (there <= other.end))
        times.append(np.where(entered, there, np.where(alone, -np.inf, other.posted)))
        posts.append(np.arange(count) + np.where(entered, 2 + side, side) * count)
        came.append(there)
    released, which = np.concatenate(times), np.concatenate(posts)
    order = np.lexsort((released, begin, rank))  # a rank enters one call at a time
    first = np.ones(len(order), bool)
    first[1:] = (np.diff(rank[order]) != 0) | (np.diff(begin[order]) != 0)
    at = np.flatnonzero(first)
    last = order[np.append(at[1:], len(order)) - 1]
    end = np.maximum.reduceat(end[order], at)
    receives = np.add.reduceat((order < count).astype(np.int64), at)
    events = _events(rank[last], begin[last], end, places.of(site, "messages")[last],
                     np.where(np.isfinite(released[last]), which[last], -1),
                     np.where(last < count, RECEIVE, SEND), last % count,
                     sends=receives == 0)  # fmt: skip
    further = np.isfinite(released) & ~np.concatenate([np.zeros(count, bool), eager])
    further[last] = False
    further = further[order]
    awaited.also((np.cumsum(first) - 1)[further], which[order[further]])
    return events, came


def _near(messages: Messages, trace: Trace) -> Bools:
    """Which messages stay on one host."""
    host = np.unique(np.array(trace.hosts), return_inverse=True)[1].reshape(-1)
    found: Bools = host[messages.send.rank] == host[messages.receive.rank]
    return found


def _alone(rank: Array, begin: Floats) -> Bools:
    """Which of these are the only one of their rank that begins then."""
    order = np.lexsort((begin, rank))
    first = (np.diff(rank[order], prepend=-1) != 0) | (np.diff(begin[order], prepend=-1) != 0)
    found = np.empty(len(order), bool)
    found[order] = first & np.append(first[1:], True)
    return found


def _eager(messages: Messages, trace: Trace, near: Bools, alone: Bools) -> Bools:
    """Which messages the library takes before they are received.

    Of each octave of sizes, on one host and between hosts, those that come before their receives
    tell, where a call completed the send `alone`: most must have ended before. Octaves that no
    message tells of are as larger ones.
    """
    send, receive = messages.send, messages.receive
    error = np.minimum(np.nan_to_num(trace.clock_error), 1e9)
    error = np.where(near, 0.0, error[send.rank] + error[receive.rank])
    found = send.end + error < receive.posted  # these were, whatever becomes of others
    tells = alone & (send.begin + error < receive.posted)
    taken = tells & found
    octave = np.log2(np.maximum(messages.bytes, 1)).astype(np.int64)
    for own in (near, ~near):
        told, yes = (np.bincount(octave[own & which], minlength=64) for which in (tells, taken))
        eager = 2 * yes > told
        below = np.arange(64) <= np.flatnonzero(eager).max(initial=-1)
        found |= own & (eager | (below & (told == 0)))[octave]
    return found


def _of_other_calls(trace: Trace, places: Places) -> Iterator[Events]:
    """Probes, which wait for a message to be sent, and calls that wait for what is not known.

    Sends are the first posts.
    """
    if trace.messages is not None:
        side, probes = trace.messages.probes.side, trace.messages.probes
        yield _events(side.rank, side.begin, side.end, places.of(side.site, "messages"),
                      probes.message, PROBE, probes.message)  # fmt: skip
    if (others := trace.others) is not None:
        site = np.full(len(others), UNKNOWN, np.int32)
        yield _events(others.rank, others.begin, others.end, places.of(site, OTHER_CALLS), -1,
                      OTHER, np.arange(len(others)))  # fmt: skip


def _of_calls(
    trace: Trace, at: int, group: Group, made: int, count: int, places: Places,
    presence: Presence, awaited: Gathering,
) -> tuple[Events, Int64s, Floats]:  # fmt: skip
    """The calls of a group: each rank waits for the last one that arrives before it leaves.

    Where another call completes them, it waits in that one. Data move only while ranks are in MPI:
    so it waits, too, for those that enter such a call meanwhile, and where there is a root for
    those that come back to MPI. There are `made` events and `count` posts so far; returns the ranks
    and times of the next posts, too: of each call by member the arrivals, then the entries; then
    those of ranks that came back.
    """
    arrival, leave = group.times()
    known = np.isfinite(arrival) & np.isfinite(leave)
    sync = synchronising(trace, group, slice(None), arrival, leave)
    by_all = sync & known.all(axis=1) & (group.size == trace.ranks) & (group.completed is None)
    begin, came = arrival, np.where(known, arrival, np.nan)
    last = last_needed(group, trace.words, came, _last(came, leave, sync))
    if group.completed is not None:
        begin = np.where(np.isfinite(group.completed), group.completed, arrival)
        entered = np.where(known, begin, np.nan)
        later = _last(entered, leave, np.zeros_like(sync))
        until = np.take_along_axis(came, last, axis=1)
        now = np.take_along_axis(entered, later, axis=1)
        last = np.where((now > np.fmax(until, begin)) & (now < leave), group.size + later, last)
        came = np.concatenate([came, entered], axis=1)
    rows, member = np.nonzero(known)
    place = np.zeros(len(group), np.int64)
    for collective in np.unique(group.collective):
        own = group.collective == collective
        place[own] = places.of(group.site[own], trace.words[int(collective)])
    until = np.take_along_axis(came, last, axis=1)
    back = come_back(trace, group, presence, np.where(known, begin, np.nan), leave, until)
    causes = count + np.arange(len(group))[:, None] * came.shape[1] + last
    causes[back[0], back[1]] = count + came.size + np.arange(len(back[0]))
    cause = causes[rows, member]
    events = _events(group.members[member], begin[rows, member], leave[rows, member], place[rows],
                     cause, at, rows, by_all[rows])  # fmt: skip
    number = np.full(known.shape, -1)
    number[known] = made + np.arange(len(rows))
    arrived = count + np.arange(len(group))[:, None] * came.shape[1] + np.arange(group.size)
    awaited.collectives(group, trace.words, (arrival, leave), sync, number, arrived)
    who = np.tile(group.members.astype(np.int64), came.size // group.size)
    return events, np.concatenate([who, back[2]]), np.concatenate([came.reshape(-1), back[3]])


def _last(came: Floats, leave: Floats, by_all: Bools) -> Int64s:
    """Who comes last before each rank leaves; shapes as for met()."""
    order = np.argsort(came, axis=1, kind="stable")  # those that are not known last
    return np.take_along_axis(order, np.maximum(met(came, leave, by_all) - 1, 0), axis=1)
