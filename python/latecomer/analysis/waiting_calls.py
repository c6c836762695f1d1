"""The calls of a traced job in which ranks may wait, and what they wait for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..trace.model import Group, Side, Trace
from ..trace.waits import met, synchronising
from .windows import Windows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Place:
    """The call after which a rank computes."""

    call: str  # as in "allreduce", or "messages"; "": none, the program's beginning
    site: str  # "": not known


@dataclass(frozen=True)
class Events:
    """Calls in which ranks may wait, in the order in which they ended; one entry each."""

    rank: NDArray[np.int64]
    begin: Floats
    end: Floats
    place: NDArray[np.int64]  # a number of Places
    cause: NDArray[np.int64]  # an index of a post: what the call waited for last; -1: nothing
    meets: NDArray[np.int64]  # 1: all ranks of the job wait for each other in it
    window: NDArray[np.int64]


@dataclass(frozen=True)
class Posts:
    """Moments at which a rank did what others may wait for."""

    rank: NDArray[np.int64]
    time: Floats
    window: NDArray[np.int64]


class Places:
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


def gathered(
    trace: Trace, places: Places, windows: Windows
) -> tuple[Events, Posts, NDArray[np.int64], dict[int, Any]]:
    """Calls in the order of their ends, posts, and where the calls went: Graph's `number`, ..."""
    whole = np.zeros(0, np.int64)
    parts = [Events(whole, np.zeros(0), np.zeros(0), whole, whole, whole, whole)]
    posts = [Posts(whole, np.zeros(0), whole)]
    first_of: dict[int, Any] = {}
    messages = trace.messages
    if messages is not None and len(messages):
        some, window = windows.of(messages.receive.end)
        sides = (
            Side(**{name: column[some] for name, column in vars(side).items()})
            for side in (messages.send, messages.receive)
        )
        events, causes = _of_messages(*sides, places, window)
        parts.append(events)
        posts += causes
    for at, group in enumerate([*trace.groups, *trace.overlapping]):
        if group.size > 1 and len(group):
            rows, window = windows.of_group(group)
            count = sum(len(each.rank) for each in posts)
            events, cause, known = _of_calls(trace, group, rows, window, count, places)
            first_of[at] = sum(len(part.rank) for part in parts), rows, known
            parts.append(events)
            posts.append(cause)
    events = _joined(parts)
    order = np.lexsort((events.end, events.window))
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    events = Events(**{name: column[order] for name, column in vars(events).items()})
    return events, _joined(posts), number, first_of


def _joined(parts: Sequence[Any]) -> Any:
    return type(parts[0])(**{name: np.concatenate([getattr(each, name) for each in parts])
                             for name in vars(parts[0])})  # fmt: skip


def _of_messages(
    send: Side, receive: Side, places: Places, window: NDArray[np.int64]
) -> tuple[Events, list[Posts]]:
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
    twice = np.concatenate([window, window])
    events = Events(rank[last], begin[last], end, place[last], cause,
                    np.zeros(len(last), np.int64), twice[last])  # fmt: skip
    return events, [
        Posts(side.rank.astype(np.int64), side.posted, window) for side in (send, receive)
    ]


def _of_calls(
    trace: Trace,
    group: Group,
    some: NDArray[np.int64],
    window: NDArray[np.int64],
    count: int,
    places: Places,
) -> tuple[Events, Posts, NDArray[np.int64]]:
    """These calls of a group: each rank waits for the last one that arrives before it leaves.

    Where another call completes them, it waits in that one. The posts have numbers from `count`.
    Returns also of how many ranks each call is known.
    """
    arrival, leave = group.times(some)
    known = np.isfinite(arrival) & np.isfinite(leave)
    sync = synchronising(trace.words, group.collective[some])
    by_all = sync & known.all(axis=1) & (group.size == trace.ranks)
    came = np.where(known, arrival, -np.inf)
    # The arrivals in their order, those that are not known first, and how many each rank meets.
    order = np.argsort(came, axis=1, kind="stable")
    unknown = group.size - known.sum(axis=1, keepdims=True)
    met_by = met(np.where(known, arrival, np.nan), leave, sync)
    last = np.take_along_axis(order, np.maximum(unknown + met_by - 1, 0), axis=1)
    rows, at = np.nonzero(known)
    cause = count + rows * group.size + last[rows, at]
    place = np.zeros(len(some), np.int64)
    for collective in np.unique(group.collective[some]):
        own = group.collective[some] == collective
        place[own] = places.of(group.site[some][own], trace.words[int(collective)])
    begin = arrival
    if group.completed is not None:
        completed = group.completed[some]
        begin = np.where(np.isfinite(completed), completed, arrival)
    events = Events(
        rank=group.members[at].astype(np.int64),
        begin=begin[rows, at],
        end=leave[rows, at],
        place=place[rows],
        cause=cause,
        meets=by_all[rows].astype(np.int64),
        window=window[rows],
    )
    members = np.tile(group.members.astype(np.int64), len(some))
    posts = Posts(members, came.reshape(-1), np.repeat(window, group.size))
    return events, posts, known.sum(axis=1)
