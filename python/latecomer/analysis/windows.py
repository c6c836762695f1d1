"""Which part of a large trace is looked at: windows that are spread evenly over its calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..trace.model import Group, Trace

    Floats = NDArray[np.float64]
    Whole = NDArray[np.int64]

_COUNT = 32


@dataclass(frozen=True)
class Windows:
    """Times from `begins` to `ends`, in seconds, one after the other."""

    begins: Floats
    ends: Floats

    @property
    def count(self) -> int:
        """The number of windows; 1: all times are in it."""
        return len(self.begins)

    def of(self, times: Floats) -> tuple[Whole, Whole]:
        """Which of these are in a window, and in which one."""
        if self.count == 1:
            return np.arange(len(times)), np.zeros(len(times), np.int64)
        window = np.searchsorted(self.begins, times, side="right") - 1
        some = np.flatnonzero((window >= 0) & (times < self.ends[window]))
        return some, window[some]

    def of_group(self, group: Group) -> tuple[Whole, Whole]:
        """The same of a group's calls, by when a rank left them."""
        if self.count == 1:
            return np.arange(len(group)), np.zeros(len(group), np.int64)
        return self.of(_left(group))


def windows_of(trace: Trace, most: int) -> Windows:
    """Windows of about so many calls of single ranks; a single one if the trace has no more."""
    groups = [each for each in [*trace.groups, *trace.overlapping] if each.size > 1]
    messages = len(trace.messages) if trace.messages is not None else 0
    calls = sum(len(each) * each.size for each in groups) + 2 * messages
    if calls <= most:
        return Windows(np.full(1, -np.inf), np.full(1, np.inf))
    largest = max(groups, key=lambda each: len(each) * each.size, default=None)
    if trace.messages is not None and (
        largest is None or 2 * messages > len(largest) * largest.size
    ):
        times = np.sort(trace.messages.receive.end)
    else:
        times = np.sort(_left(largest))
    length = max(1, len(times) * most // (calls * _COUNT))
    first = np.linspace(0, len(times) - length, _COUNT).astype(np.int64)
    first = first[np.append(True, np.diff(first) >= length)]
    begins = times[first]
    begins[0] = -np.inf
    ends = times[np.minimum(first + length, len(times) - 1)]
    ends[first + length >= len(times)] = np.inf
    return Windows(begins, ends)


def _left(group: Group) -> Floats:
    """About when each call ended: by the first member that is known of most calls."""
    for member in range(group.size):
        left: Floats = group.times(slice(None), [member])[1][:, 0]
        if 2 * np.isfinite(left).sum() > len(left):
            break
    return np.maximum.accumulate(np.nan_to_num(left, nan=-np.inf))
