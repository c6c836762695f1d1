"""All that calls of a trace wait for: had others come later, it need not be what came last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..trace.model import Group, Words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Numbers = NDArray[np.int64]

_FROM_ROOT = frozenset({"bcast", "scatter", "scatterv"})
_TO_ROOT = frozenset({"reduce", "gather", "gatherv"})


@dataclass(frozen=True)
class Lists:
    """Lists of numbers, one behind the other: list i has `numbers[first[i]:first[i + 1]]`."""

    first: Numbers
    numbers: Numbers

    @staticmethod
    def of(owner: Numbers, numbers: Numbers, count: int) -> Lists:
        """The lists 0 to `count - 1` from pairs of a list, in order, and a number."""
        return Lists(np.searchsorted(owner, np.arange(count + 1)), numbers)


@dataclass(frozen=True)
class Awaited:
    """What events wait for besides their causes."""

    others: Lists  # by event: further posts
    meeting: Numbers  # by event: the meeting of which it waits for all members; -1: none
    # By meeting: its members' arrivals in the order of time, each twice the number of a post, or
    # (only where `by_all` is 1) twice that of an event, which begins then, and 1 more.
    came: Lists
    by_all: Numbers  # by meeting, 1: nobody leaves before all have come


class Gathering:
    """The same, while events and posts are gathered, by their numbers in that order."""

    def __init__(self) -> None:
        nothing = np.zeros(0, np.int64)
        self.others = [(nothing, nothing)]  # events, and a post of each
        self.waits = [(nothing, nothing)]  # events, and the meeting of each
        self.came = [(nothing, nothing)]  # meetings, and a member of each, as in Awaited
        self.by_all = [nothing]

    def also(self, events: Numbers, posts: Numbers) -> None:
        """These events, which may be named several times, wait for these posts, too."""
        self.others.append((events, posts))

    def collectives(
        self,
        group: Group,
        words: Words,
        times: tuple[Floats, Floats],
        sync: NDArray[np.bool_],
        events: Numbers,
        posts: Numbers,
    ) -> None:
        """The calls of a group, of which nobody leaves those of `sync` before all have come.

        By call and member: the `times` of arrivals and exits, the event, or -1 if these are not
        known, and the post of the arrival.
        """
        arrival, leave = times
        whole = (events >= 0).all(axis=1)
        root = np.clip(group.root, 0, group.size - 1)
        rooted = whole & (group.root == root) & (group.bytes != 0)
        rows = np.flatnonzero(rooted & words.tell(group.collective, _FROM_ROOT.__contains__))
        from_root = posts[rows, root[rows]]
        others = np.arange(group.size) != root[rows, None]
        at, member = np.nonzero(others & (leave[rows] > arrival[rows, root[rows]][:, None]))
        self.also(events[rows[at], member], from_root[at])

        sync = sync & whole
        to_root = rooted & words.tell(group.collective, _TO_ROOT.__contains__)
        rows = np.flatnonzero(sync | to_root)
        entered = sync[rows]  # its event begins with the arrival, and none has ended before
        if group.completed is not None:
            entered = entered & ~np.isfinite(group.completed[rows]).any(axis=1)
        came = np.where(entered[:, None], 2 * events[rows] + 1, 2 * posts[rows])
        number = sum(map(len, self.by_all)) + np.arange(len(rows))
        self.came.append((np.repeat(number, group.size), came.reshape(-1)))
        at, member = np.nonzero(sync[rows, None] | (np.arange(group.size) == root[rows, None]))
        self.waits.append((events[rows[at], member], number[at]))
        self.by_all.append(sync[rows].astype(np.int64))

    def posts(self) -> Numbers:
        """All that are waited for."""
        came = np.concatenate([each for _, each in self.came])
        return np.concatenate([*(posts for _, posts in self.others), came[came % 2 == 0] // 2])

    def made(self, number: Numbers, used: Numbers, begin: Floats, posted: Floats) -> Awaited:
        """By the events' final numbers; `used`: the posts that stay, in order.

        `begin`, `posted`: when events begin, and the times of posts, by their final numbers.
        """
        event, post = (np.concatenate(each) for each in zip(*self.others, strict=True))
        turn = np.argsort(number[event], kind="stable")
        others = Lists.of(number[event][turn], np.searchsorted(used, post)[turn], len(number))
        event, of = (np.concatenate(each) for each in zip(*self.waits, strict=True))
        meeting = np.full(len(number), -1)
        meeting[number[event]] = of
        owner, came = (np.concatenate(each) for each in zip(*self.came, strict=True))
        enters = came % 2 == 1
        time = np.empty(len(came))
        came = came // 2
        came[enters] = number[came[enters]]
        came[~enters] = np.searchsorted(used, came[~enters])
        time[enters], time[~enters] = begin[came[enters]], posted[came[~enters]]
        turn = np.lexsort((time, owner))
        by_all = np.concatenate(self.by_all)
        return Awaited(others, meeting,
                       Lists.of(owner, (2 * came + enters)[turn], len(by_all)), by_all)  # fmt: skip
