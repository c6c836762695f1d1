"""All that calls of a trace wait for: had others come later, it need not be what came last.

Data of large messages move only while both ranks are in MPI, in whichever calls.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from ...base.arrays import Array, Bools, Floats, Int64s
from ..trace.model import Group, Trace, Words
from ..trace.waits import are, may_meet


class Presence:
    """The calls of each rank in which data move: all that may wait."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    @cached_property
    def _times(self) -> tuple[Floats, Floats, Int64s]:
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

    def since(self, rank: Array, time: Floats) -> Floats:
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


def _calls(trace: Trace) -> list[tuple[Array, Floats, Floats]]:
    """Ranks, begins and ends of calls."""
    found: list[tuple[Array, Floats, Floats]]
    found = [(np.zeros(0, np.int64), np.zeros(0), np.zeros(0))]
    if trace.messages is not None:
        found += [(side.rank, side.begin, side.end) for side in trace.messages.sides]
    if (others := trace.others) is not None:
        found.append((others.rank, others.begin, others.end))
    for group in [*trace.groups, *trace.overlapping]:
        arrival, leave = group.times()
        begin = arrival if group.completed is None else np.fmax(group.completed, arrival)
        rows, member = np.nonzero(np.isfinite(begin) & np.isfinite(leave))
        found.append((group.members[member], begin[rows, member], leave[rows, member]))
    return found


_FROM_ROOT = frozenset({"bcast", "scatter", "scatterv"})
_TO_ROOT = frozenset({"reduce", "gather", "gatherv"})
_SOME_EMPTY = frozenset({"scatterv", "gatherv"})  # parts of the data may be empty


@dataclass(frozen=True)
class Lists:
    """Lists of numbers, one behind the other: list i has `numbers[first[i]:first[i + 1]]`."""

    first: Int64s
    numbers: Int64s

    @staticmethod
    def of(owner: Int64s, numbers: Int64s, count: int) -> Lists:
        """The lists 0 to `count - 1` from pairs of a list, in order, and a number."""
        return Lists(np.searchsorted(owner, np.arange(count + 1)), numbers)


@dataclass(frozen=True)
class Awaited:
    """What events wait for besides their causes."""

    others: Lists  # by event: further posts
    meeting: Int64s  # by event: the meeting of which it waits for all members; -1: none
    came: Lists  # by meeting: the posts of its members' arrivals, by time
    for_all: Int64s  # by meeting, 1: who waits, for all; else for those before it leaves

    def posts(self) -> Int64s:
        """All posts that are waited for, some of them several times."""
        return np.concatenate([self.others.numbers, self.came.numbers])

    def by(self, place: Int64s) -> Awaited:
        """The same by other numbers of the posts: those at their present ones."""
        others, came = (Lists(lists.first, place[lists.numbers])
                        for lists in (self.others, self.came))  # fmt: skip
        return replace(self, others=others, came=came)


class Gathering:
    """Gathers that while events and posts are gathered, by their numbers in that order."""

    def __init__(self) -> None:
        nothing = np.zeros(0, np.int64)
        self.others = [(nothing, nothing)]  # events, and a post of each
        self.waits = [(nothing, nothing)]  # events, and the meeting of each
        self.came = [(nothing, nothing)]  # meetings, and the post of a member's arrival
        self.for_all = [nothing]
        self.meetings = 0

    def also(self, events: Int64s, posts: Int64s) -> None:
        """These events, which may be named several times, wait for these posts, too."""
        self.others.append((events, posts))

    def collectives(
        self,
        group: Group,
        words: Words,
        times: tuple[Floats, Floats],
        sync: Bools,
        events: Int64s,
        posts: Int64s,
    ) -> None:
        """The calls of a group, of which nobody leaves those of `sync` before all have come.

        By call and member: the `times` of arrivals and exits, the event, or -1 if these are not
        known, and the post of the arrival. Members of which nothing is known do not count.
        """
        arrival, leave = times
        root, rooted, is_root = _roots(group, events >= 0)
        rows = np.flatnonzero(rooted & are(words, group.collective, _FROM_ROOT))
        later = leave[rows] > arrival[rows, root[rows]][:, None]
        sure = _sure(group, words)
        waits = (events[rows] >= 0) & ~is_root[rows] & (later | sure[rows, None])
        at, member = np.nonzero(waits)
        self.also(events[rows[at], member], posts[rows[at], root[rows[at]]])

        sync = sync & ~_sparse(group, words, sync)
        to_root = rooted & are(words, group.collective, _TO_ROOT)
        rows = np.flatnonzero(sync | to_root)
        number = self.meetings + np.arange(len(rows))
        self.meetings += len(rows)
        known = events[rows] >= 0
        at, member = np.nonzero(known)
        self.came.append((number[at], posts[rows[at], member]))
        at, member = np.nonzero(known & (sync[rows, None] | is_root[rows]))
        self.waits.append((events[rows[at], member], number[at]))
        self.for_all.append((sync | sure)[rows].astype(np.int64))

    def made(self, number: Int64s, posted: Floats) -> Awaited:
        """By the events' final numbers; `posted`: the times of posts."""
        event, post = (np.concatenate(each) for each in zip(*self.others, strict=True))
        turn = np.argsort(number[event], kind="stable")
        others = Lists.of(number[event][turn], post[turn], len(number))
        event, of = (np.concatenate(each) for each in zip(*self.waits, strict=True))
        meeting = np.full(len(number), -1)
        meeting[number[event]] = of
        owner, member = (np.concatenate(each) for each in zip(*self.came, strict=True))
        turn = np.lexsort((posted[member], owner))
        for_all = np.concatenate(self.for_all)
        came = Lists.of(owner[turn], member[turn], len(for_all))
        return Awaited(others, meeting, came, for_all)


def last_needed(group: Group, words: Words, arrival: Floats, last: Int64s) -> Int64s:
    """By call and member who came last before it left, as in `last`, or later, but was needed.

    Where clocks are off, who was needed seems to have come after the rank left.
    """
    root, rooted, is_root = _roots(group, np.isfinite(arrival))
    sure = rooted & _sure(group, words)
    from_root = sure & are(words, group.collective, _FROM_ROOT)
    to_root = sure & are(words, group.collective, _TO_ROOT)
    came = np.where(np.isfinite(arrival), arrival, -np.inf)
    needed = np.where(from_root[:, None], root[:, None], last)
    needed = np.where(to_root[:, None] & is_root, came.argmax(axis=1)[:, None], needed)
    later = np.take_along_axis(came, needed, axis=1) > np.take_along_axis(came, last, axis=1)
    return np.where(later, needed, last)


def come_back(
    trace: Trace, group: Group, presence: Presence, begin: Floats, leave: Floats, until: Floats
) -> tuple[Int64s, Int64s, Int64s, Floats]:
    """Calls in which a rank waited for another to come back to MPI, in whichever call.

    In shared memory a message may end only then. So members may wait for a root on their host to
    which their data go, and a root for any on its host to which its data go. By call and member:
    `begin`, `leave`, and `until` when it waited otherwise. Returns calls, members, the ranks waited
    for, and when these came.
    """
    members, nothing = group.members.astype(np.int64), np.zeros(0, np.int64)
    known = np.isfinite(begin) & np.isfinite(leave)
    root, rooted, is_root = _roots(group, known)
    to_root, from_root = (rooted & are(trace.words, group.collective, kinds)
                          for kinds in (_TO_ROOT, _FROM_ROOT))  # fmt: skip
    if trace.of_device or not (to_root | from_root).any():  # kernels move nothing for others
        return nothing, nothing, nothing, np.zeros(0)
    host = np.unique(np.array(trace.hosts), return_inverse=True)[1].reshape(-1)[members]
    near = (host[root][:, None] == host) & known & ~is_root
    at, member = np.nonzero(to_root[:, None] & near)
    who = members[root[at]]
    there = presence.since(who, begin[at, member])

    rows, other = np.nonzero(from_root[:, None] & near)
    came = np.full(known.shape, -np.inf)
    came[rows, other] = presence.since(members[other], begin[rows, root[rows]])
    came[came >= np.take_along_axis(leave, root[:, None], axis=1)] = -np.inf
    rows, last = np.flatnonzero(from_root), came.argmax(axis=1)

    at, member = np.concatenate([at, rows]), np.concatenate([member, root[rows]])
    who = np.concatenate([who, members[last[rows]]])
    there = np.concatenate([there, came[rows, last[rows]]])
    waited = (there > np.fmax(until, begin)[at, member]) & (there < leave[at, member])
    return at[waited], member[waited], who[waited], there[waited]


def _roots(group: Group, known: Bools) -> tuple[Int64s, Bools, Bools]:
    """Of each call the root, whether it has one whose times are known, and data; and by member
    whether it is that."""
    root = np.clip(group.root, 0, group.size - 1).astype(np.int64)
    has_root = np.take_along_axis(known, root[:, None], axis=1)[:, 0]
    rooted = has_root & (group.root == root) & (group.bytes != 0)
    return root, rooted, np.arange(group.size) == root[:, None]


def _sure(group: Group, words: Words) -> Bools:
    """Calls in which no part alone can be empty."""
    return ~are(words, group.collective, _SOME_EMPTY)


def _sparse(group: Group, words: Words, sync: Bools) -> Bools:
    """Calls at whose place some such call was left before all had entered: not all need all."""
    early = ~sync & may_meet(words, group.collective)
    places = np.stack([group.collective, group.site], axis=1)
    _, which = np.unique(places, axis=0, return_inverse=True)
    return np.isin(which.reshape(-1), which.reshape(-1)[early])
