"""Who is late now: whom the report would name in the last seconds, if chance does not explain it.

The time is cut into blocks of a quarter of a second, and each block has the rank that cost the
others most. If nobody in particular is late, each rank is as likely to be that one. So of the
blocks that have most of the waiting, n, those of one rank are k by chance with a probability of at
most exp(-n KL(k/n, 1/ranks)), the bound of Chernoff. Calls of one block count once, since what
slows a rank down for some milliseconds makes it late in all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...base.arrays import Floats, Int32s, Int64s
from ...core.compiled import core
from ..analysis.facts import Facts, facts
from ..analysis.lateness import Lateness
from ..analysis.wording import LITTLE
from ..trace.model import latest
from ..trace.waits import synchronising

BLOCK_S = 0.25
_MOST = 0.75  # of the waiting, in the blocks that are counted
_AS_LATE = 0.5  # of the usual cost of a block: less is not the same lateness
OVER = 8  # blocks after the last one of theirs: somebody is no longer late
CHANCE = 1e-6  # of naming somebody in a window without reason


@dataclass(frozen=True)
class Now:
    """The last seconds."""

    facts: Facts  # nobody is late in them where chance may explain it
    window: float  # seconds
    until: float  # their end, in seconds since 1970
    caused: Sequence[float]  # by rank: the others' waiting for it, as a part of the time of all
    waits: Sequence[float]  # by rank: its waiting, as a part of its time
    since: float = 0.0  # when it began that somebody is late, in seconds since 1970
    before: bool = False  # it may have begun before `since`: of that time nothing is known
    was: tuple[int, ...] = ()  # who was late from `since` to `until`, and is no longer
    early: bool = False  # the report's rule names somebody, but so little may be chance

    @property
    def waiting(self) -> float:
        """The waiting of all ranks, as a part of their time."""
        return self.facts.waiting / max(self.facts.run, 1e-300)


def now(found: Lateness, block: float = BLOCK_S, *, whole: bool = False) -> Now:
    """Who is late in the window that was analysed; `block`: seconds.

    `whole`: the window has all that the job did until now, so nothing began before it.
    """
    trace, told, ranks = found.trace, facts(found), found.ranks
    caused = (ranks.charged / max(told.run, 1e-300)).tolist()
    waits = (ranks.waited / np.maximum(ranks.run, 1e-300)).tolist()
    until = trace.started + latest(trace.span()[1])
    quiet = Now(told, found.run_seconds, until, caused, waits)
    if not told.late:
        return quiet
    begin, cost = _blocks(found, block)
    present = int((ranks.calls > 0).sum())
    if found.origin and found.origin.waits:
        present = len(found.origin.graph.present)
    choices = len(set(trace.hosts)) if told.host else math.comb(trace.ranks, len(told.late))
    by_chance = choices * _chance(cost, told.late, present) > CHANCE
    nobody = replace(told, late=(), host=False)
    if by_chance or told.waiting < LITTLE * told.run:
        most = (len(told.late) / max(present, 1)) ** len(_heavy(cost))  # if all blocks were theirs
        return replace(quiet, facts=nobody, early=choices * most > CHANCE)
    first, last = _stretch(cost, told.late)
    since, ended = (trace.started + max(float(each), 0.0)
                    for each in (begin[first], begin[last] + block))  # fmt: skip
    # As many blocks as tell that a lateness is over tell that it had not begun.
    somebody = replace(quiet, since=since, before=not whole and first < OVER)
    if len(begin) - 1 - last < OVER:
        return somebody
    return replace(somebody, facts=nobody, was=tuple(told.late), until=ended)


def _blocks(found: Lateness, block: float) -> tuple[Floats, Floats]:
    """When each block begins, in seconds, and what each rank cost in it: (blocks, ranks)."""
    if found.origin and found.origin.waits:
        graph = found.origin.graph
        time = np.full(len(graph.beyond), np.inf)
        np.minimum.at(time, graph.step, graph.events.begin)
        parts = [(time, graph.beyond, np.arange(found.trace.ranks, dtype=np.int32))]
    else:
        parts = [_costs(found, each.number) for each in found.groups if each.complete]
    numbers = [np.floor(time / block) for time, _, _ in parts]
    blocks = np.unique(np.concatenate([number[np.isfinite(number)] for number in numbers]))
    cost = np.zeros((len(blocks), found.trace.ranks))
    for number, (_, own, members) in zip(numbers, parts, strict=True):
        known = np.isfinite(number)
        rows = np.searchsorted(blocks, number[known])
        np.add.at(cost, (rows[:, None], members[None, :]), own[known])
    return blocks * block, cost


def _costs(found: Lateness, number: int) -> tuple[Floats, Floats, Int32s]:
    """When each call of a group was entered, what each rank cost in it, and the ranks."""
    group = found.trace.groups[number]
    whole = np.flatnonzero(group.whole())
    arrival, leave = map(np.ascontiguousarray, group.times(whole))
    by_all = synchronising(found.trace, group, whole, arrival, leave)
    cost = core.examine_calls(arrival, leave, by_all)["cost"]
    return arrival.min(axis=1), cost, group.members


def _heavy(cost: Floats) -> Int64s:
    """The blocks that have most of the cost."""
    order = np.argsort(-cost.sum(axis=1), kind="stable")
    sums = np.cumsum(cost.sum(axis=1)[order])
    return order[: int(np.searchsorted(sums, _MOST * sums[-1])) + 1]


def _chance(cost: Floats, late: Sequence[int], present: int) -> float:
    """How likely these of so many ranks, chosen before, cost most in so many blocks, at most."""
    heavy = _heavy(cost)
    n, k = len(heavy), int(np.isin(cost[heavy].argmax(axis=1), late).sum())
    p, q = len(late) / max(present, 1), k / n
    if q <= p or p >= 1:
        return 1.0
    rest = (1 - q) * math.log((1 - q) / (1 - p)) if q < 1 else 0.0
    return math.exp(-n * (q * math.log(q / p) + rest))


def _stretch(cost: Floats, late: Sequence[int]) -> tuple[int, int]:
    """The first and the last block of their lateness: most of those between are theirs."""
    usual = cost[_heavy(cost)].sum(axis=1).mean()
    theirs = cost[:, list(late)].sum(axis=1) >= _AS_LATE * usual
    best, first, last, begin, score = 0, 0, 0, 0, 0
    for block, one in enumerate(theirs.tolist()):
        if score <= 0:
            begin, score = block, 0
        score += 1 if one else -1
        if score >= best:
            best, first, last = score, begin, block
    return first, last
