"""The collectives of a trace in their order, and those that are simulated as one another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...base.arrays import Floats, Int64s
from ..trace.model import Group
from .graph import Graph

_STRETCH = 48  # calls
_TIMES = 1 << 21  # that are read at once


@dataclass(frozen=True)
class CallClass:
    """Calls that are simulated as one another."""

    group: int
    collective: str
    bytes: int
    root: int


class Collectives:
    """The calls of all groups that are known on all their ranks, as they became complete."""

    def __init__(self, graph: Graph) -> None:
        self.trace, self.graph = graph.trace, graph
        nothing = np.zeros(0, np.int64)
        last, groups, calls, first = [nothing.astype(float)], [nothing], [nothing], [nothing]
        some = 0
        for number, group in enumerate(graph.trace.groups):
            if group.size < 2 or not len(group):
                continue
            some += len(group)
            whole, places = graph.members(number)
            last.append(_last_arrivals(group, whole))
            groups.append(np.full(len(whole), number))
            calls.append(whole)
            first.append(places)
        if some and not sum(map(len, last)):
            raise ValueError("no call is known on all its ranks")
        order = np.argsort(np.concatenate(last), kind="stable")
        self.groups = np.concatenate(groups)[order]
        self.calls = np.concatenate(calls)[order]
        self._first = np.concatenate(first)[order]
        self.last: Floats = np.concatenate(last)[order]  # arrivals, in seconds

    def __len__(self) -> int:
        return len(self.calls)

    @cached_property
    def classes(self) -> list[CallClass]:
        """Of each call."""
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

    def measured(self, events: Sequence[int]) -> Iterator[tuple[Group, Floats, Floats]]:
        """The group, arrivals and exits of each of these calls, some of which are in memory."""
        step = max(1, _TIMES // self.trace.ranks)
        for at in range(0, len(events), step):
            yield from self.some(events[at : at + step])

    def some(self, events: Sequence[int]) -> list[tuple[Group, Floats, Floats]]:
        """The same, all of them read at once where they are of one group."""
        found: list[Any] = [None] * len(events)
        chosen = np.asarray(events, np.int64)
        for number in np.unique(self.groups[chosen]):
            group = self.trace.groups[number]
            own = np.flatnonzero(self.groups[chosen] == number)
            times = zip(*group.times(self.calls[chosen[own]]), strict=True)
            for at, (arrival, leave) in zip(own.tolist(), times, strict=True):
                found[at] = group, arrival, leave
        return found

    def members(self, event: int) -> Int64s:
        """The numbers of a call in the job, by member."""
        first, group = self._first[event], self.trace.groups[self.groups[event]]
        return self.graph.number[first : first + group.size]

    def stretches(self, calls: int) -> list[tuple[int, int]]:
        """The beginning, and evenly spaced stretches, with about so many calls; all if they fit."""
        if calls >= 0.8 * len(self):
            return [(0, len(self))]
        length = _STRETCH if calls >= 3 * _STRETCH else max(4, calls // 3)
        count = max(2, calls // length)
        begins = np.linspace(0, len(self) - length, count).astype(int)
        return [(int(b), int(b) + length) for b in begins]


def _last_arrivals(group: Group, calls: Int64s) -> Floats:
    """Of these calls, some at a time."""
    step = max(1, _TIMES // group.size)
    parts = [group.times(calls[at : at + step])[0].max(axis=1) for at in range(0, len(calls), step)]
    return np.concatenate([np.zeros(0), *parts])


def _classed(sizes: Int64s) -> Int64s:
    """Sizes within an eighth of an octave count as the most frequent of them."""
    octave = np.round(8 * np.log2(np.maximum(sizes, 1))).astype(int)
    made = sizes.copy()
    for each in np.unique(octave):
        own = octave == each
        values, counts = np.unique(sizes[own], return_counts=True)
        made[own] = values[counts.argmax()]
    return made
