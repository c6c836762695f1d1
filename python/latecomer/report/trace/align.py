"""One clock for ranks whose clocks nobody compared: the collectives themselves tell.

Nobody leaves some collectives before the last rank has entered them. So each such call bounds the
offset of one clock from another from both sides, by one clock's arrivals and the other's exits. The
offset is the middle of the range that the calls of a stretch of time allow. Its error is half the
range, and what clocks may have drifted apart since those calls, or until them.

Collectives that a rank may leave early, where parts of the data are empty, tell of clocks that no
others connect.

Ranks of some groups are known to leave such calls together, as the kernels of a device do: then
the ends differ by the offset, however late a rank always is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...base.arrays import Bools, Floats, Int64s
from .contradictions import FAILED, waits
from .model import SYNCHRONISING, Group, Words

_MOST_WINDOWS = 32  # clocks drift: each window of time has an offset of its own
_CALLS_A_WINDOW = 16
_NEARLY_ALL = 0.9  # of the ends of calls are within the error that is told
_AS_CLOSE = 1.5  # clocks whose errors are within this factor of the least are found at once
_CLOSE = 1e-3  # seconds: the calls may tell more of a known offset whose error is greater
LARGEST_DRIFT = 200e-6  # seconds a second: each clock is within 100 ppm of the right rate
Spans = Mapping[int, tuple[float, float]]  # of clocks: the first and the last time that is used


@dataclass(frozen=True)
class Offset:
    """What is added to a rank's times: by time, linear between these, constant outside."""

    times: Floats  # seconds on the rank's own clock
    offsets: Floats  # seconds
    error: float = 0.0  # seconds; infinite where nothing is known

    def apply(self, times: Floats) -> Floats:
        """The common time of the rank's times."""
        if len(self.offsets) == 1:
            return times + float(self.offsets[0])
        return times + np.interp(times, self.times, self.offsets)


def constant(offset: float, error: float = 0.0) -> Offset:
    """The same offset at all times."""
    return Offset(np.zeros(1), np.full(1, float(offset)), error)


_NOTHING = constant(0.0, np.inf)


def spans_of(
    groups: Sequence[Group], clocks: Sequence[int], others: tuple[Floats, Floats] | None = None
) -> Spans:
    """When calls of the groups were on each clock; `others`: by rank, first and last other times.

    Those that are not known are NaN.
    """
    of_rank = np.asarray(clocks)
    first, last = np.full(of_rank.max() + 1, np.inf), np.full(of_rank.max() + 1, -np.inf)
    parts = [(of_rank[group.members], group.first_arrivals(), group.last_exits())
             for group in groups]  # fmt: skip
    for of, begin, end in [*parts, *([(of_rank, *others)] if others else [])]:
        np.fmin.at(first, of, begin)
        np.fmax.at(last, of, end)
    return {clock: (float(first[clock]), float(last[clock])) for clock in set(clocks)}


def align(
    groups: Sequence[Group],
    words: Words,
    clocks: Sequence[int],
    known: Mapping[int, Offset],
    together: Sequence[bool] = (),
    spans: Spans | None = None,
) -> list[Offset]:
    """The offset of each rank from the clock of the ranks in `known`.

    `groups` have times on their ranks' own clocks; ranks with equal `clocks` read the same one.
    Offsets in `known`, by clock, are taken as they are, unless calls tell more; where it is empty,
    the first rank's clock that a call tells of is the common one. A clock that no call connects
    has an infinite error. `together`: of each group, if its ranks leave a synchronising call
    together; none does by default. `spans`: those of the groups by default.
    """
    spans = spans_of(groups, clocks) if spans is None else spans
    of_rank = np.asarray(clocks)
    if any(together):
        groups = [group for group, so in zip(groups, together, strict=True) if so]
    fit = _fit_ends if any(together) else _fit
    sure = [waits(group, words) for group in groups]
    others = [words.tell(group.collective, SYNCHRONISING.__contains__) & (group.bytes != 0)
              & (group.served != FAILED) & ~own
              for group, own in zip(groups, sure, strict=True)]  # fmt: skip
    stages = [_Calls(groups, sure, of_rank), _Calls(groups, others, of_rank)]
    found = {clock: own for clock, own in known.items() if own.error <= _CLOSE}
    found = found or {_common(stages, clocks): constant(0.0)}
    while missing := [clock for clock in dict.fromkeys(clocks) if clock not in found]:
        for calls in stages:
            calls.look(found)
            fits = {
                clock: min(fit(calls.of.get(clock, ()), clock, spans[clock]),
                           known.get(clock, _NOTHING), key=lambda own: own.error)
                for clock in missing
            }  # fmt: skip
            if any(np.isfinite(own.error) for own in fits.values()):
                break
        found |= calls.closest(fits)
    return [found[clock] for clock in clocks]


def _common(stages: Sequence[_Calls], clocks: Sequence[int]) -> int:
    """The first clock of which a call is known: rank 0 may have no file, or no call."""
    for clock in dict.fromkeys(clocks):
        if any(each.tells(clock) for calls in stages for each in calls.of.get(clock, ())):
            return clock
    return clocks[0]


def apply(group: Group, offsets: Sequence[Offset], start: float = 0.0) -> Group:
    """The group with its times on the common clock, of which `start` becomes 0."""

    def common(times: Floats) -> Floats:
        columns = [offsets[rank].apply(times[:, place]) - start
                   for place, rank in enumerate(group.members)]  # fmt: skip
        return np.stack(columns, axis=1)

    arrival, leave = map(common, group.times())
    completed, idle = (None if times is None else common(times)
                       for times in (group.completed, group.idle))  # fmt: skip
    return replace(group, arrival=arrival, exit=leave, completed=completed, idle=idle)


class _Calls:
    """Calls of groups in which ranks wait, and the groups of each clock."""

    def __init__(self, groups: Sequence[Group], which: Sequence[Bools], clocks: Int64s) -> None:
        self._all = [_Waiting(group, own, clocks) for group, own in zip(groups, which, strict=True)
                     if own.any()]  # fmt: skip
        self.of: dict[int, list[_Waiting]] = {}
        for each in self._all:
            for clock in each.members:
                self.of.setdefault(clock, []).append(each)

    def look(self, found: Mapping[int, Offset]) -> None:
        """Take in the clocks that are new in `found`."""
        for each in self._all:
            each.look(found)

    def closest(self, fits: Mapping[int, Offset]) -> dict[int, Offset]:
        """The closest ones first, since the others are compared with these, too.

        Of those that share a group in which no clock was found before, one: its calls tell how far
        apart these are.
        """
        most = _AS_CLOSE * min(own.error for own in fits.values())
        chosen: dict[int, Offset] = {}
        new: set[int] = set()
        for clock, own in sorted(fits.items(), key=lambda item: item[1].error):
            groups = {id(each) for each in self.of.get(clock, ()) if not each.seen}
            if own.error <= most and not groups & new:
                chosen[clock] = own
                new |= groups
        return chosen


class _Waiting:
    """Some of a group's calls, and what those with known clocks say about them."""

    def __init__(self, group: Group, which: Bools, clocks: Int64s) -> None:
        self._group, self._calls = group, np.flatnonzero(which)
        self.members: dict[int, list[int]] = {}  # places in the group, by clock
        for place, clock in enumerate(clocks[group.members].tolist()):
            self.members.setdefault(clock, []).append(place)
        self.seen: set[int] = set()  # clocks
        self.error = np.inf  # of the best of them
        # In each call the last arrival and the first exit: as those clocks tell, and at least and
        # at most, by their errors.
        self._last, self._least = np.full((2, len(self._calls)), -np.inf)
        self._first, self._most = np.full((2, len(self._calls)), np.inf)

    def look(self, found: Mapping[int, Offset]) -> None:
        """Take in the clocks that are new in `found`."""
        for clock in (self.members.keys() & found.keys()) - self.seen:
            own = found[clock]
            came, left = map(own.apply, self.times(clock))
            np.maximum(self._last, came, out=self._last)
            np.maximum(self._least, came - own.error, out=self._least)
            np.minimum(self._first, left, out=self._first)
            np.minimum(self._most, left + own.error, out=self._most)
            self.seen.add(clock)
            self.error = min(self.error, own.error)

    def times(self, clock: int) -> tuple[Floats, Floats]:
        """The last arrival and the first exit of a clock's ranks in each call, on that clock."""
        arrival, leave = self._group.times(self._calls, np.array(self.members[clock], np.int64))
        return arrival.max(axis=1), leave.min(axis=1)

    def tells(self, clock: int) -> bool:
        """Tell if the times of some call are known on this clock."""
        came, left = self.times(clock)
        return bool((np.isfinite(came) & np.isfinite(left)).any())

    def bounds(self, clock: int) -> Floats:
        """For each call that tells: its time on this clock, the least and the greatest offset.

        These twice: by the clocks that are found, and by their errors, too.
        """
        my_last, my_first = self.times(clock)
        found = np.stack([my_last, self._last - my_first, self._first - my_last,
                          self._least - my_first, self._most - my_last])  # fmt: skip
        return found[:, np.isfinite(found[:3]).all(axis=0)]

    def ends(self, clock: int) -> tuple[Floats, Floats]:
        """The exit of each call that tells, on this clock, and what is to be added to it."""
        _, own = self.times(clock)
        whole = np.isfinite(self._first) & np.isfinite(own)
        return own[whole], (self._first - own)[whole]


def _fit(groups: Sequence[_Waiting], clock: int, span: tuple[float, float]) -> Offset:
    """The offset of one clock from those that the groups have seen, for that time."""
    bounds = np.concatenate([np.empty((5, 0)), *(group.bounds(clock) for group in groups)], axis=1)
    if not bounds.shape[1]:
        return _NOTHING
    fits = [_in_windows(bounds, windows, span) for windows in _windows(bounds[0])]
    return min(fits, key=lambda fit: fit[0])[1]


def _windows(when: Floats) -> list[list[Int64s]]:
    """All calls as one stretch of time, and as several."""
    order = np.argsort(when)
    count = min(_MOST_WINDOWS, max(1, len(when) // _CALLS_A_WINDOW))
    return [np.array_split(order, n) for n in {1, count}]


def _fit_ends(groups: Sequence[_Waiting], clock: int, span: tuple[float, float]) -> Offset:
    """The same, where the ranks of the groups leave a call together."""
    parts = [(*ends, group.error) for group in groups if len((ends := group.ends(clock))[0])]
    if not parts:
        return _NOTHING
    when, apart = (np.concatenate([part[at] for part in parts]) for at in (0, 1))
    away = max(when.min() - span[0], span[1] - when.max(), 0.0)
    more = max(error for *_, error in parts) + LARGEST_DRIFT * float(away)
    fits = []
    for windows in _windows(when):
        times = np.array([when[each].mean() for each in windows])
        fit = Offset(times, np.array([np.median(apart[each]) for each in windows]))
        off = np.abs(when + apart - fit.apply(when))
        fits.append(replace(fit, error=float(np.quantile(off, _NEARLY_ALL)) + more))
    return min(fits, key=lambda fit: fit.error)


def _in_windows(
    bounds: Floats, windows: Sequence[Int64s], span: tuple[float, float]
) -> tuple[float, Offset]:
    """An offset for each window of calls, by the ranges that they allow, and its error.

    That comes first from the clocks that are found; in the offset are their errors, too.
    """
    when = bounds[0]
    times = np.array([when[each].mean() for each in windows])
    low, least = np.array([bounds[1::2, each].max(axis=1) for each in windows]).T
    high, most = np.array([bounds[2::2, each].min(axis=1) for each in windows]).T
    offsets = (low + high) / 2
    # A range is empty where the clock drifted within the window.
    near = np.abs(high - low).max() / 2
    half = np.abs([offsets - least, most - offsets]).max()
    # A window's calls tell of all times from the window before to the one after.
    begin = np.array([when[each].min() for each in windows])
    end = np.array([when[each].max() for each in windows])
    before, after = np.append(span[0], times[:-1]), np.append(times[1:], span[1])
    drift = LARGEST_DRIFT * max((end - before).max(), (after - begin).max())
    return float(near + drift), Offset(times, offsets, float(half + drift))
