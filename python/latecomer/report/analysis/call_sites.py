"""The calls of one place in the program: their cost, whom they wait for, and if that repeats.

The library forecasts by what a call is and by its position in the program's loop, from the last
call, from each of several calls ago, and from a pattern that moves on. The same is asked here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...base.arrays import Bools, Floats, Int32s, Int64s
from ..trace.model import UNKNOWN, Group, Trace, Words

_FEW = 8  # calls: with fewer nothing is said
_AGO = 32  # calls, at most
_OFTEN = 8  # times that a pattern of several calls must have come


@dataclass(frozen=True)
class Repeats:
    """The best of the forecasts."""

    share: float  # of the calls, whose last rank it tells right
    chance: float  # the share that guessing tells right
    ago: int  # calls of the same place and position; 0: the last rank moves on by as many ranks

    @property
    def usable(self) -> bool:
        """True if it can be forecast who will be last."""
        return self.share > max(0.5, min(2 * self.chance, 0.9))

    def words(self) -> str:
        """How it is told, as the end of a sentence."""
        if self.ago == 0:
            return "which rank is last moves on by as many ranks each time"
        if self.ago == 1:
            return "the rank that was last is so again in the next such call"
        return f"the rank that was last is so again {self.ago} such calls later"


def repeats(last: Int32s, ranks: int, in_loop: int = 1) -> Repeats | None:
    """The forecast that is right most often; None with too few calls.

    `last`: the last rank in each call of a place, which comes `in_loop` times in a loop; -1: none.
    """
    count = len(last)
    if count < max(_FEW, 3 * in_loop):
        return None
    chance = 1 / ranks
    best = Repeats(_again(last, in_loop), chance, 1)
    if best.usable:
        return best
    for ago in range(2, min(_AGO, count // _OFTEN) + 1):
        share = _again(last, ago)
        if share > best.share + 0.1:
            best = Repeats(share, chance, ago)
    moved = np.diff(last) % ranks
    known = (last[2:] >= 0) & (last[1:-1] >= 0) & (last[:-2] >= 0)
    share = float(((moved[1:] == moved[:-1]) & known).mean())
    if ranks > 2 and share > best.share + 0.1:
        best = Repeats(share, chance, 0)
    return best


def _again(last: Int32s, ago: int) -> float:
    """The share of the calls whose last rank was last so many calls ago."""
    return float(((last[ago:] == last[:-ago]) & (last[ago:] >= 0)).mean())


_CELLS = 1 << 22  # of places by members, for which sums are kept by member


@dataclass
class ByMember:
    """Sums over the calls of a place; arrays of shape (members,)."""

    cost: Floats  # seconds that the others waited for each: see src/lateness/calls.hpp
    last: Int64s  # calls in which it came last
    lateness: Floats  # seconds


@dataclass
class Site:
    """Calls of one place in the program, alike in group, collective and size."""

    group: int
    site: str
    collective: str
    bytes: int  # UNKNOWN: not known
    algorithms: tuple[str, ...]  # most frequent first
    calls: int
    waiting: float  # seconds, sums over calls and ranks
    moving: float
    spread: float  # seconds: the last rank's lateness, mean
    last_rank: int  # that came last most often; UNKNOWN: none ever did
    last_share: float
    fastest: float  # seconds: the shortest time from the last arrival to the last exit
    costly_rank: int  # that the others waited for longest
    cost: float  # seconds that they did
    repeats: Repeats | None  # of the last rank; None: too few calls
    members: Int32s
    by_member: ByMember


class Places:
    """Sums over one group's calls by place, stretch by stretch."""

    def __init__(self, group: Group) -> None:
        keys = np.stack([group.site, group.collective, group.bytes], axis=1).astype(np.int64)
        self.group = group
        if (keys == keys[:1]).all():  # as in most groups, of which there may be very many
            self.kinds, which = keys[:1], np.zeros(len(keys), np.int64)
        else:
            self.kinds, which = np.unique(keys, axis=0, return_inverse=True)
        self.which = which.reshape(-1)
        counts = np.bincount(self.which, minlength=len(self.kinds))
        # Places with few calls share the last row if there are too many.
        rows = min(len(self.kinds), max(1, _CELLS // group.size))
        self.row = np.empty(len(self.kinds), np.int64)
        self.row[np.argsort(-counts, kind="stable")] = np.arange(len(self.kinds))
        self.shared = rows - 1 if rows < len(self.kinds) else len(self.kinds)
        self.row = np.minimum(self.row, rows - 1)
        self.cost, self.lateness = (np.zeros((rows, group.size)) for _ in range(2))

    def add(self, calls: Int64s, cost: Floats, lateness: Floats) -> None:
        """Rows of `cost` and `lateness` are those calls."""
        rows = self.row[self.which[calls]]
        if (rows == rows[0]).all():
            self.cost[rows[0]] += cost.sum(axis=0)
            self.lateness[rows[0]] += lateness.sum(axis=0)
            return
        order = np.argsort(rows, kind="stable")
        found, starts = np.unique(rows[order], return_index=True)
        self.cost[found] += np.add.reduceat(cost[order], starts, axis=0)
        self.lateness[found] += np.add.reduceat(lateness[order], starts, axis=0)

    def sites(
        self,
        trace: Trace,
        number: int,
        complete: Bools,
        last: Int32s,
        waiting: Floats,
        moving: Floats,
        spread: Floats,
        after: Floats,
    ) -> list[Site]:
        """The places, from figures of each call; `last` is -1 where nobody is."""
        group, words = self.group, trace.words
        order = np.argsort(self.which, kind="stable")
        bounds = np.searchsorted(self.which[order], np.arange(len(self.kinds) + 1))
        lags = _calls_in_a_loop(self.which)
        found = []
        for kind, (site, collective, size) in enumerate(self.kinds):
            own = order[bounds[kind] : bounds[kind + 1]]
            whole = own[complete[own]]
            if not len(whole):
                continue
            lasts = np.bincount(last[whole][last[whole] >= 0], minlength=group.size)
            nothing = np.zeros(group.size)
            known = self.row[kind] < self.shared
            cost = self.cost[self.row[kind]] if known else nothing
            late = self.lateness[self.row[kind]] if known else nothing
            found.append(
                Site(
                    group=number,
                    site=words[int(site)],
                    collective=words[int(collective)],
                    bytes=int(size),
                    algorithms=_most_frequent(words, group.algorithm[whole]),
                    calls=len(whole),
                    waiting=float(waiting[whole].sum()),
                    moving=float(moving[whole].sum()),
                    spread=float(spread[whole].mean()),
                    last_rank=int(group.members[int(lasts.argmax())]) if lasts.any() else UNKNOWN,
                    last_share=float(lasts.max() / len(whole)),
                    fastest=float(np.nanmin(after[whole])),
                    costly_rank=int(group.members[int(cost.argmax())]),
                    cost=float(cost.max()),
                    repeats=repeats(last[whole], group.size, lags[kind]),
                    members=group.members,
                    by_member=ByMember(cost, lasts, late),
                )
            )
        return found


_LONGEST = 64  # calls of a loop, as the library's forecast knows them
_HOLDS = 0.9  # of the calls are those a loop before


def _calls_in_a_loop(which: Int64s) -> Int64s:
    """How often each kind of call comes in the program's loop; 1 where there is none."""
    kinds = int(which.max(initial=-1)) + 1
    for period in range(1, min(_LONGEST, len(which) // 3) + 1):
        if (which[period:] == which[:-period]).mean() >= _HOLDS:
            counts = np.bincount(which[len(which) // 2 :][:period], minlength=kinds)
            return np.maximum(counts, 1)
    return np.ones(kinds, np.int64)


def _most_frequent(words: Words, numbers: Int32s) -> tuple[str, ...]:
    if (numbers == numbers[0]).all():
        return (words[int(numbers[0])],)
    texts, counts = np.unique(numbers, return_counts=True)
    return tuple(words[int(texts[i])] for i in np.argsort(-counts))
