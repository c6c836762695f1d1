"""Who is late in a trace, where, and what it costs.

Definitions, for one call: a rank waits from its arrival to the last arrival before it leaves (see
`trace/waits.py`); then it moves data, until its exit. The lateness of a rank is its arrival minus
the median arrival of the call, or of two ranks, minus the other's arrival. If the last two arrive
at the same instant, nobody is last. Calls that not all members are known to have entered and left
are left out, and counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ...base.arrays import Array, Bools, Float32s, Floats, Int64s
from ...core.compiled import core
from ..trace.model import Group, Trace, earliest, latest
from ..trace.waits import synchronising
from .call_sites import Places, Site
from .covered import once
from .graph import Graph, graph_of
from .origin import Origin
from .time_parts import Parts, split


@dataclass
class Ranks:
    """Sums over the calls of each rank; arrays of shape (ranks,)."""

    calls: Int64s
    last: Int64s  # calls in which it came last
    first: Int64s
    waiting: Floats  # seconds
    moving: Floats  # seconds
    held_up: Floats  # seconds that others waited for it alone: until the second last had come
    cost: Floats  # seconds that the others waited for it: see src/lateness/calls.hpp
    squares: Floats  # of its cost in each call
    lateness: Floats  # mean, seconds
    median: Floats  # of the lateness, seconds
    correlation: Floats  # of the lateness in one call with that in the next; NaN: undefined
    run: Floats  # seconds from its begin to its end; of a trace without what is between, in calls
    waited: Floats  # as `waiting` and ...
    moved: Floats  # ... `moving`, but time in several calls counts once: see covered.py

    @property
    def charged(self) -> Floats:
        """`cost`, all of which together is the time that all ranks waited."""
        waiting, waited = float(self.waiting.sum()), float(self.waited.sum())
        return self.cost if waited == waiting else self.cost * (waited / waiting)


@dataclass
class Series:
    """The calls of a group in bins of consecutive ones, oldest first."""

    first: Int64s  # calls: the bins' bounds, one more than bins
    time: Floats  # of the first arrival of the bin's first call, seconds
    spread: Floats  # mean over the calls of the last rank's lateness, seconds
    worst: Floats  # its maximum
    moving: Floats  # mean over calls and ranks, seconds
    heat: Float32s  # (rank bins, bins): lateness; of several ranks that of the latest
    rank_bins: Int64s  # bounds, one more than rank bins


@dataclass
class GroupLateness:
    """One group."""

    group: Group
    number: int  # in the trace
    complete: int  # calls
    waiting: float  # seconds, sum over calls and ranks
    moving: float
    repeated: float  # share of calls whose last rank was last in the call before, too
    series: Series
    cost: Floats  # of each call: waiting of all its ranks, seconds; 0 where not complete
    whole: Bools  # of each call: it is complete
    first: float  # seconds: the first arrival that is known, ...
    last: float  # ... and the last exit


@dataclass
class Lateness:
    """The whole trace."""

    trace: Trace
    ranks: Ranks
    groups: list[GroupLateness]
    sites: list[Site]
    incomplete: int  # calls
    skipped: int = 0  # calls at the beginning that are left out ...
    skipped_waiting: float = 0.0  # ... and the waiting of all ranks in them, seconds
    code: Mapping[str, str] = field(default_factory=dict)  # function and line of sites, if known
    origin: Origin | None = None  # None: no rank hands on what it waited, as far as is known
    known: float = 1.0  # `trace` is the part of the time asked for in which all is known, ...
    until: float = np.inf  # ... until then, in seconds
    idle: Origin | None = None  # the same, had ranks waited between calls that test in vain

    def named(self, site: str) -> str:
        """The place for people: function and line, if they are known."""
        return self.code.get(site, site)

    @property
    def run_seconds(self) -> float:
        """From the first rank's begin to the last rank's end."""
        begin, end = self.trace.span()
        first = earliest(begin, np.array([each.first for each in self.groups]))
        last = latest(end, np.array([each.last for each in self.groups]))
        return max(last - first, 0.0)

    @cached_property
    def graph(self) -> Graph:
        """The graph of the trace, made once."""
        return self.origin.graph if self.origin else graph_of(self.trace)

    @cached_property
    def parts(self) -> list[Parts]:
        return split(self.trace)

    @property
    def clock_error(self) -> float:
        """Seconds, of the ranks whose calls count; infinite: nothing tells a clock."""
        counts = self.ranks.calls > 0
        if (messages := self.trace.messages) is not None:
            counts[messages.send.rank] = counts[messages.receive.rank] = True
        errors = self.trace.clock_error[counts]
        return float(np.nanmax(errors, initial=0.0))

    @property
    def waiting_share(self) -> float:
        """Waiting of all ranks, as a part of the run times of all ranks."""
        return float(self.ranks.waited.sum() / max(self.ranks.run.sum(), 1e-300))

    @property
    def moving_share(self) -> float:
        """The same of moving data."""
        return float(self.ranks.moved.sum() / max(self.ranks.run.sum(), 1e-300))

    @property
    def latest(self) -> int | None:
        """The rank that came last most often; None: none ever did."""
        return int(np.argmax(self.ranks.last)) if self.ranks.last.any() else None

    @property
    def latest_share(self) -> float:
        """The share of its calls in which it came last."""
        rank = self.latest
        return 0.0 if rank is None else float(self.ranks.last[rank] / self.ranks.calls[rank])


def analyse(trace: Trace, *, bins: int = 400, rank_bins: int = 250) -> Lateness:
    """Everything in one pass over the calls. `bins`, `rank_bins`: of the heat map, at most."""
    count = trace.ranks
    amounts = ("waiting", "moving", "held_up", "cost", "squares")
    kinds = dict.fromkeys(("calls", "last", "first"), int) | dict.fromkeys(amounts, float)
    sums: dict[str, Array] = {name: np.zeros(count, kind) for name, kind in kinds.items()}
    moments = np.zeros((5, count))  # of the lateness: n, sum, pairs, ...
    samples: list[list[Floats]] = [[] for _ in range(count)]
    groups, sites, incomplete = [], [], 0
    for number, group in enumerate(trace.groups):
        if group.size < 2 or len(group) == 0:
            continue
        found = _Group(trace, number, group, min(bins, len(group)), min(rank_bins, group.size))
        for stretch in group.stretches():
            found.add(stretch)
        members = group.members
        for name, column in sums.items():
            column[members] += getattr(found, name)
        moments[:, members] += found.moments
        for place, rank in enumerate(members):
            samples[rank].append(found.sample[:, place])
        incomplete += len(group) - found.complete
        groups.append(found.result())
        sites += found.sites()
    waited, moved = once(trace, sums["waiting"], sums["moving"])
    ranks = Ranks(
        **sums,
        lateness=moments[1] / np.maximum(moments[0], 1),
        median=np.array([float(np.nanmedian(np.concatenate(s))) if s and
                         np.isfinite(np.concatenate(s)).any() else 0.0 for s in samples]),
        correlation=_correlation(moments),
        run=_run_times(trace),
        waited=waited,
        moved=moved,
    )  # fmt: skip
    if not trace.between:
        ranks.run = ranks.waiting + ranks.moving
    groups.sort(key=lambda each: -each.waiting)
    sites.sort(key=lambda each: -(each.waiting + each.moving))
    return Lateness(trace, ranks, groups, sites, incomplete)


def _run_times(trace: Trace) -> Floats:
    first, last = trace.span()
    return np.clip(np.where(np.isfinite(first) & np.isfinite(last), last - first, 0.0), 0.0, None)


def _correlation(moments: Floats) -> Floats:
    """Of consecutive pairs: n, mean of the products and squares, about the mean."""
    n, total, pairs, products, squares = moments
    mean = total / np.maximum(n, 1)
    variance = squares / np.maximum(n, 1) - mean**2
    covariance = products / np.maximum(pairs, 1) - mean**2
    usable = (pairs > 2) & (variance > 1e-18)
    found = np.where(usable, covariance / np.where(usable, variance, 1.0), np.nan)
    return np.clip(found, -1.0, 1.0)


class _Group:
    """Sums over one group's calls, stretch by stretch."""

    def __init__(self, trace: Trace, number: int, group: Group, bins: int, rank_bins: int) -> None:
        self.trace, self.number, self.group = trace, number, group
        size = group.size
        self.complete = 0
        self.calls, self.last, self.first = (np.zeros(size, np.int64) for _ in range(3))
        self.waiting, self.moving, self.held_up = (np.zeros(size) for _ in range(3))
        self.cost, self.squares = np.zeros(size), np.zeros(size)
        self.places = Places(group)
        self.moments = np.zeros((5, size))
        self.before: Floats | None = None  # lateness in the call before
        self.before_last = -1
        self.repeats = self.pairs = 0
        self.bounds = np.linspace(0, len(group), bins + 1).astype(np.int64)
        self.rank_bounds = np.linspace(0, size, rank_bins + 1).astype(np.int64)
        self.bin_calls, self.time = np.zeros(bins), np.full(bins, np.inf)
        self.spread, self.worst, self.bin_moving = (np.zeros(bins) for _ in range(3))
        self.late_sums = np.zeros((bins, size))
        every = max(1, len(group) // 2000)
        self.sampled = np.arange(0, len(group), every)
        self.sample = np.full((len(self.sampled), size), np.nan, np.float32)
        calls = len(group)
        self.call_waiting, self.call_moving = np.zeros(calls), np.zeros(calls)
        self.call_spread, self.call_after = np.zeros(calls), np.full(calls, np.nan)
        self.call_last = np.full(calls, -1, np.int32)  # -1: nobody
        self.whole = np.zeros(calls, bool)
        self.entered, self.left = np.inf, -np.inf

    def add(self, stretch: slice) -> None:
        arrival, leave = self.group.times(stretch)
        bins = slice(*np.searchsorted(self.bounds[:-1], (stretch.start, stretch.stop)))
        firsts = arrival[self.bounds[:-1][bins] - stretch.start]
        self.time[bins] = np.where(np.isfinite(firsts), firsts, np.inf).min(axis=1)
        self.entered = min(self.entered, earliest(arrival))
        self.left = max(self.left, latest(leave))
        whole = np.isfinite(arrival).all(axis=1) & np.isfinite(leave).all(axis=1)
        place = np.arange(stretch.start, stretch.stop)[whole]
        if not len(place):
            return
        if not whole.all():
            arrival, leave = arrival[whole], leave[whole]
        size = self.group.size
        found = core.examine_calls(
            np.ascontiguousarray(arrival, float), np.ascontiguousarray(leave, float),
            synchronising(self.trace, self.group, place, arrival, leave),
        )  # fmt: skip
        late, last = found["lateness"], found["last"]
        self.complete += len(place)
        self.calls += len(place)
        somebody = np.flatnonzero(last >= 0)
        self.last += np.bincount(last[somebody], minlength=size)
        self.first += np.bincount(found["first"], minlength=size)
        self.waiting += found["rank_waiting"]
        self.moving += found["rank_moving"]
        alone = found["alone"][somebody]
        self.held_up += np.bincount(last[somebody], weights=alone, minlength=size)
        self.cost += found["rank_cost"]
        self.squares += np.square(found["cost"]).sum(axis=0)
        self.places.add(place, found["cost"], late)
        self._add_moments(found)
        self.whole[place] = True
        self.call_waiting[place], self.call_moving[place] = found["waited"], found["moved"]
        self.call_spread[place], self.call_last[place] = found["spread"], last
        self.call_after[place] = found["after"]
        self._add_bins(place, late, found["spread"], found["moved"] / size)

    def _add_moments(self, found: Mapping[str, Any]) -> None:
        late, lasts, calls = found["lateness"], found["last"], len(found["last"])
        self.moments += [
            np.full(self.group.size, float(calls)),
            found["rank_lateness"],
            np.full(self.group.size, calls - 1.0),
            found["products"],
            found["squares"],
        ]
        if self.before is not None:
            self.moments[2] += 1.0
            self.moments[3] += self.before * late[0]
            lasts = np.append(self.before_last, lasts)
        self.repeats += int(((lasts[1:] == lasts[:-1]) & (lasts[1:] >= 0)).sum())
        self.pairs += len(lasts) - 1
        self.before, self.before_last = late[-1].copy(), int(lasts[-1])

    def _add_bins(self, place: Int64s, late: Floats, spread: Floats, moving: Floats) -> None:
        which = np.searchsorted(self.bounds, place, side="right") - 1
        starts = np.flatnonzero(np.diff(which, prepend=-1))
        here = which[starts]
        self.bin_calls += np.bincount(which, minlength=len(self.bin_calls))
        self.spread[here] += np.add.reduceat(spread, starts)
        self.worst[here] = np.maximum(self.worst[here], np.maximum.reduceat(spread, starts))
        self.bin_moving[here] += np.add.reduceat(moving, starts)
        self.late_sums[here] += np.add.reduceat(late, starts, axis=0)
        into = np.searchsorted(self.sampled, place)
        into[into == len(self.sampled)] = 0
        hit = self.sampled[into] == place
        self.sample[into[hit]] = late[hit]

    def result(self) -> GroupLateness:
        calls = np.maximum(self.bin_calls, 1)
        heat = np.maximum.reduceat(self.late_sums / calls[:, None], self.rank_bounds[:-1], axis=1)
        series = Series(
            first=self.bounds,
            time=self.time,
            spread=self.spread / calls,
            worst=self.worst,
            moving=self.bin_moving / calls,
            heat=heat.T.astype(np.float32),
            rank_bins=self.rank_bounds,
        )
        return GroupLateness(
            group=self.group,
            number=self.number,
            complete=self.complete,
            waiting=float(self.waiting.sum()),
            moving=float(self.moving.sum()),
            repeated=self.repeats / self.pairs if self.pairs else float("nan"),
            series=series,
            cost=self.call_waiting,
            whole=self.whole,
            first=self.entered,
            last=self.left,
        )

    def sites(self) -> list[Site]:
        """The calls by site, collective and size."""
        return self.places.sites(self.trace, self.number, self.whole, self.call_last,
                                 self.call_waiting, self.call_moving, self.call_spread,
                                 self.call_after)  # fmt: skip
