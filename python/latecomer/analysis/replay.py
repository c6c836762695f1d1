"""Replays a trace on the virtual network: the computation between calls stays as it was measured.

A rank enters its next call its computation after it has left the one before. Where a trace is long,
stretches of consecutive calls stand for it: each is begun as it was measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..trace.model import SYNCHRONISING, Group, Trace
from ..trace.waits import waiting

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

STRETCH = 48  # calls
_MOST_KEPT = 1 << 22  # times of stretches that are read once for all questions

# What a call takes: from its arrivals, relative to the first one, to its exits. None: as measured.
Executes = Callable[["Floats"], "Floats"]


@dataclass(frozen=True)
class CallClass:
    """Calls that are simulated as one another."""

    group: int
    collective: str
    bytes: int
    root: int


@dataclass(frozen=True)
class Replayed:
    """A replay of the stretches."""

    seconds: float  # what the whole run takes
    error: float  # its standard error, from the differences of the stretches; 0: all was replayed
    calls: int  # replayed
    waiting: float  # mean over the ranks, of the whole run
    moving: float
    after_last: dict[CallClass, float]  # seconds: mean exit minus last arrival, mean over the calls


class Replay:
    """The calls of all groups in the order in which they became complete."""

    def __init__(self, trace: Trace, run_seconds: float) -> None:
        self.trace, self.run_seconds = trace, run_seconds
        last, groups, calls = [], [], []
        for number, group in enumerate(trace.groups):
            if group.size < 2 or not len(group):
                continue
            came = np.full(len(group), np.nan)  # where all times are known
            for part in group.stretches():
                arrival, leave = group.times(part)
                came[part] = np.where(np.isfinite(leave).all(axis=1), arrival.max(axis=1), np.nan)
            whole = np.flatnonzero(np.isfinite(came))
            last.append(came[whole])
            groups.append(np.full(len(whole), number))
            calls.append(whole)
        if not last or not sum(map(len, last)):
            raise ValueError("no call is known on all its ranks")
        order = np.argsort(np.concatenate(last), kind="stable")
        self.groups = np.concatenate(groups)[order]
        self.calls = np.concatenate(calls)[order]
        self._kept: dict[tuple[int, int], list[tuple[Group, Floats, Floats]]] = {}
        self._states: dict[int, Floats] = {}
        self._before = {number: np.flatnonzero(self.groups == number)
                        for number in np.unique(self.groups)}  # fmt: skip

    def __len__(self) -> int:
        return len(self.calls)

    @cached_property
    def classes(self) -> list[CallClass]:
        """Of each event."""
        made: dict[int, list[CallClass]] = {}
        for number in np.unique(self.groups):
            group = self.trace.groups[number]
            sizes = _classed(group.bytes)
            columns = np.stack([group.collective, sizes, group.root], axis=1).astype(np.int64)
            kinds, which = np.unique(columns, axis=0, return_inverse=True)
            classes = [CallClass(int(number), self.trace.words[name], size, root)
                       for name, size, root in kinds.tolist()]  # fmt: skip
            made[number] = [classes[kind] for kind in which.reshape(-1).tolist()]
        return [made[g][c] for g, c in zip(self.groups, self.calls, strict=True)]

    def measured(self, event: int) -> tuple[Group, Floats, Floats]:
        """The group, arrivals and exits of an event."""
        ((group, arrival, leave),) = self.some([event])
        return group, arrival, leave

    def some(self, events: Sequence[int]) -> list[tuple[Group, Floats, Floats]]:
        """The same of several events, which are read at once where they are of one group."""
        found: list[Any] = [None] * len(events)
        chosen = np.asarray(events, np.int64)
        for number in np.unique(self.groups[chosen]):
            group = self.trace.groups[number]
            own = np.flatnonzero(self.groups[chosen] == number)
            times = zip(*group.times(self.calls[chosen[own]]), strict=True)
            for at, (arrival, leave) in zip(own.tolist(), times, strict=True):
                found[at] = group, arrival, leave
        return found

    def run(
        self,
        executes: Callable[[CallClass, int], Executes | None],
        stretches: Sequence[tuple[int, int]],
        lateness: float = 1.0,
    ) -> Replayed:
        """Replay stretches (begin, end) of events. Each stands for the events up to the next one.

        `lateness`: the part of the differences between the ranks' computations that stays.
        `executes` gives what a call takes, by its class and event.
        """
        ends = [begin for begin, _ in stretches[1:]] + [len(self)]
        ratios, weights, waits, moves, ranks = [], [], 0.0, 0.0, self.trace.ranks
        after: dict[CallClass, list[float]] = {}
        for (begin, end), until in zip(stretches, ends, strict=True):
            own, was, waited, moved = self._stretch(executes, begin, end, lateness, after)
            share = self._span(begin, until)
            ratios.append(own / was)
            weights.append(share)
            waits += waited * share / was / ranks
            moves += moved * share / was / ranks
        ratio, weight = np.array(ratios), np.array(weights)
        whole = sum(end - begin for begin, end in stretches) >= len(self)
        changed = float((ratio * weight).sum() - weight.sum())
        error = 0.0
        if not whole and len(ratio) > 2:
            later = ratio[1:]  # the first one is the beginning, not a sample
            error = float(later.std(ddof=1) / np.sqrt(len(later)) * weight.sum())
        calls = sum(end - begin for begin, end in stretches)
        means = {each: float(np.mean(times)) for each, times in after.items()}
        return Replayed(self.run_seconds + changed, error, calls, waits, moves, means)

    def stretches(self, calls: int) -> list[tuple[int, int]]:
        """The beginning, and evenly spaced stretches, with about so many calls; all if they fit."""
        if calls >= 0.8 * len(self):
            return [(0, len(self))]
        length = STRETCH if calls >= 3 * STRETCH else max(4, calls // 3)
        count = max(2, calls // length)
        begins = np.linspace(0, len(self) - length, count).astype(int)
        return [(int(b), int(b) + length) for b in begins]

    def _read(self, begin: int, end: int) -> list[tuple[Group, Floats, Floats]]:
        """The events of a stretch: many questions are asked of the same ones."""
        found = self._kept.get((begin, end))
        if found is None:
            found = self.some(range(begin, end))
            if len(found) * self.trace.ranks * len(self._kept) < _MOST_KEPT:
                self._kept[begin, end] = found
        return found

    def _span(self, begin: int, end: int) -> float:
        """The time from the state before one event to the state after the last, over the ranks."""
        return max(float((self._state(end) - self._state(begin)).mean()), 1e-12)

    def _state(self, event: int) -> Floats:
        """When each rank left its last call before an event, as measured."""
        if event in self._states:
            return self._states[event]
        left = np.full(self.trace.ranks, -np.inf)
        for number, events in self._before.items():
            place = int(np.searchsorted(events, event)) - 1
            if place >= 0:
                group = self.trace.groups[number]
                _, (exits,) = group.times([self.calls[events[place]]])
                left[group.members] = np.maximum(left[group.members], exits)
        unknown = ~np.isfinite(left)
        if unknown.any():
            begin = np.where(np.isfinite(self.trace.begin), self.trace.begin, 0.0)
            left[unknown] = begin[unknown]
        if len(left) * len(self._states) < _MOST_KEPT:
            self._states[event] = left
        return left

    def _stretch(
        self,
        executes: Callable[[CallClass, int], Executes | None],
        begin: int,
        end: int,
        lateness: float,
        after: dict[CallClass, list[float]],
    ) -> tuple[float, float, float, float]:
        """The mean time of the ranks, as it was measured, and their waiting and moving."""
        before = self._state(begin)
        clock, was = before.copy(), before.copy()
        waited = moved = 0.0
        for event, (group, arrival, leave) in zip(range(begin, end), self._read(begin, end),
                                                  strict=True):  # fmt: skip
            members = group.members
            computed = np.maximum(arrival - was[members], 0.0)
            was[members] = leave
            if lateness != 1.0:
                computed = computed.mean() + lateness * (computed - computed.mean())
            came = clock[members] + computed
            call_class = self.classes[event]
            execute = executes(call_class, event)
            if execute is None:
                exits = _as_measured(call_class.collective, came, arrival, leave)
            else:
                first = came.min()
                exits = first + execute(came - first)
            clock[members] = exits
            last = came.max()
            after.setdefault(call_class, []).append(float(exits.mean() - last))
            by_all = np.array([call_class.collective in SYNCHRONISING])
            waits = waiting(came[None], exits[None], by_all)[0]
            waited += float(waits.sum())
            moved += float((exits - came - waits).sum())
        spent = float((clock - before).mean())
        return spent, max(float((was - before).mean()), 1e-12), waited, moved


def _as_measured(collective: str, came: Floats, arrival: Floats, leave: Floats) -> Floats:
    """The exits of a call with other arrivals: after the last one, what it took is what it took."""
    last, now = arrival.max(), came.max()
    after = now + (leave - last)
    if collective in SYNCHRONISING:
        return np.maximum(after, now)
    return np.maximum(np.where(leave >= last, after, came + (leave - arrival)), came)


def _classed(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sizes within an eighth of an octave count as the most frequent of them."""
    octave = np.round(8 * np.log2(np.maximum(sizes, 1))).astype(int)
    made = sizes.copy()
    for each in np.unique(octave):
        own = octave == each
        values, counts = np.unique(sizes[own], return_counts=True)
        made[own] = values[counts.argmax()]
    return made
