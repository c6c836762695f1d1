"""One clock for ranks whose clocks nobody compared: the collectives themselves tell.

Nobody leaves a synchronising collective before the last rank has entered it. So each such call
bounds the offset of one clock from another from both sides, by one clock's arrivals and the other's
exits. The offset is the middle of the range that the calls of a stretch of time allow, its error
half the range, and the drift meanwhile.

Ranks of some groups are known to leave such calls together, as the kernels of a device do: then
the ends differ by the offset, however late a rank always is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from .model import SYNCHRONISING, Group, Words

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_WINDOWS = 32  # clocks drift: each window of time has an offset of its own
_CALLS_A_WINDOW = 16
_NEARLY_ALL = 0.9  # of the ends of calls are within the error that is told
_AS_CLOSE = 1.5  # clocks whose errors are within this factor of the least are found at once
LARGEST_DRIFT = 200e-6  # seconds a second: each clock is within 100 ppm of the right rate


@dataclass(frozen=True)
class Offset:
    """What is added to a rank's times: by time, linear between these, constant outside."""

    times: NDArray[np.float64]  # seconds on the rank's own clock
    offsets: NDArray[np.float64]  # seconds
    error: float = 0.0  # seconds; infinite where nothing is known

    def apply(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        """The common time of the rank's times."""
        if len(self.offsets) == 1:
            return times + float(self.offsets[0])
        return times + np.interp(times, self.times, self.offsets)


def constant(offset: float, error: float = 0.0) -> Offset:
    """The same offset at all times."""
    return Offset(np.zeros(1), np.full(1, float(offset)), error)


def align(
    groups: Sequence[Group],
    words: Words,
    clocks: Sequence[int],
    known: dict[int, Offset],
    together: Sequence[bool] = (),
) -> list[Offset]:
    """The offset of each rank from the clock of the ranks in `known`.

    `groups` have times on their ranks' own clocks; ranks with equal `clocks` read the same one.
    Offsets in `known`, by clock, are taken as they are; where it is empty, the first rank's clock
    that a call tells of is the common one. A clock that no call connects keeps its times, with an
    infinite error. `together`: of each group, if its ranks leave a synchronising call together;
    none does by default.
    """
    of_rank = np.asarray(clocks)
    waiting = [_Waiting(group, words, of_rank) for group in groups]
    if any(together):
        waiting = [each for each, so in zip(waiting, together, strict=True) if so]
    fit = _fit_ends if any(together) else _fit
    waiting = [each for each in waiting if each.waits.any()]
    found = dict(known) or {_common(waiting, clocks): constant(0.0)}
    where: dict[int, list[_Waiting]] = {}
    for each in waiting:
        for clock in each.members:
            where.setdefault(clock, []).append(each)
    while missing := [clock for clock in dict.fromkeys(clocks) if clock not in found]:
        for each in waiting:
            each.look(found)
        fits = {clock: fit(where.get(clock, ()), clock) for clock in missing}
        # The closest ones first, since the others are compared with these, too.
        most = _AS_CLOSE * min(own.error for own in fits.values())
        found |= {clock: own for clock, own in fits.items() if own.error <= most}
    return [found[clock] for clock in clocks]


def _common(waiting: Sequence[_Waiting], clocks: Sequence[int]) -> int:
    """The first clock of which a call is known: rank 0 may have no file, or no call."""
    told = (clock for clock in dict.fromkeys(clocks) if any(each.tells(clock) for each in waiting))
    return next(told, clocks[0])


def apply(group: Group, offsets: Sequence[Offset]) -> Group:
    """The group with its times on the common clock."""
    arrival, leave = (np.array(each) for each in group.times())
    for place, rank in enumerate(group.members):
        for times in (arrival, leave):
            times[:, place] = offsets[rank].apply(times[:, place])
    return replace(group, arrival=arrival, exit=leave)


class _Waiting:
    """A group's calls in which all ranks wait, and what those with known clocks say about them."""

    def __init__(self, group: Group, words: Words, clocks: NDArray[np.int64]) -> None:
        self.group = group
        self.waits = np.array([words[each] in SYNCHRONISING for each in group.collective], bool)
        self.members: dict[int, list[int]] = {}  # places in the group, by clock
        for place, clock in enumerate(clocks[group.members].tolist()):
            self.members.setdefault(clock, []).append(place)
        self._seen: set[int] = set()  # clocks
        self.last = np.full(int(self.waits.sum()), -np.inf)  # arrival in each call
        self.first = np.full(len(self.last), np.inf)  # exit

    def look(self, found: Mapping[int, Offset]) -> None:
        """Take in the clocks that are new in `found`."""
        for clock in (self.members.keys() & found.keys()) - self._seen:
            came, left = self.times(clock)
            np.maximum(self.last, found[clock].apply(came), out=self.last)
            np.minimum(self.first, found[clock].apply(left), out=self.first)
            self._seen.add(clock)

    def times(self, clock: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The last arrival and the first exit of a clock's ranks in each call, on that clock."""
        own = np.flatnonzero(self.waits)
        arrival, leave = self.group.times(own, np.array(self.members[clock], np.int64))
        return arrival.max(axis=1), leave.min(axis=1)

    def tells(self, clock: int) -> bool:
        """Tell if the times of some call are known on this clock."""
        came, left = self.times(clock) if clock in self.members else (np.zeros(0), np.zeros(0))
        return bool((np.isfinite(came) & np.isfinite(left)).any())

    def bounds(self, clock: int) -> tuple[NDArray[np.float64], ...]:
        """For each call that tells: its time on this clock, the least and the greatest offset."""
        my_last, my_first = self.times(clock)
        low, high = self.last - my_first, self.first - my_last
        whole = np.isfinite(low) & np.isfinite(high)
        return my_last[whole], low[whole], high[whole]

    def ends(self, clock: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The exit of each call that tells, on this clock, and what is to be added to it."""
        _, own = self.times(clock)
        whole = np.isfinite(self.first) & np.isfinite(own)
        return own[whole], (self.first - own)[whole]


def _fit(groups: Sequence[_Waiting], clock: int) -> Offset:
    """The offset of one clock from those that the groups have seen."""
    parts = [found for group in groups if len((found := group.bounds(clock))[0])]
    if not parts:
        return constant(0.0, np.inf)
    when, low, high = (np.concatenate(each) for each in zip(*parts, strict=True))
    fits = [_in_windows(when, low, high, windows) for windows in _windows(when)]
    return min(fits, key=lambda fit: fit.error)


def _windows(when: NDArray[np.float64]) -> list[list[NDArray[np.int64]]]:
    """All calls as one stretch of time, and as several."""
    order = np.argsort(when)
    count = min(_MOST_WINDOWS, max(1, len(when) // _CALLS_A_WINDOW))
    return [np.array_split(order, n) for n in {1, count}]


def _fit_ends(groups: Sequence[_Waiting], clock: int) -> Offset:
    """The same, where the ranks of the groups leave a call together."""
    parts = [found for group in groups if len((found := group.ends(clock))[0])]
    if not parts:
        return constant(0.0, np.inf)
    when, apart = (np.concatenate(each) for each in zip(*parts, strict=True))
    fits = []
    for windows in _windows(when):
        times = np.array([when[each].mean() for each in windows])
        fit = Offset(times, np.array([np.median(apart[each]) for each in windows]))
        off = np.abs(when + apart - fit.apply(when))
        fits.append(replace(fit, error=float(np.quantile(off, _NEARLY_ALL))))
    return min(fits, key=lambda fit: fit.error)


def _in_windows(
    when: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    windows: Sequence[NDArray[np.int64]],
) -> Offset:
    """An offset for each window of calls, by the ranges that they allow."""
    least = np.array([low[each].max() for each in windows])
    most = np.array([high[each].min() for each in windows])
    times = np.array([when[each].mean() for each in windows])
    drift = LARGEST_DRIFT * max(float(np.ptp(when[each])) for each in windows)
    # A range is empty where the clock drifted within the window.
    error = float(np.abs(most - least).max()) / 2 + drift
    return Offset(times, (least + most) / 2, error)
