"""The time of a rank that its calls cover: a moment counts once, however many calls are under way.

A rank may be in calls of several groups at one time, as on several streams of a device. It moves
data while any of them does; it waits while none does, and one of them waits.
"""

from __future__ import annotations

import numpy as np

from ...base.arrays import Bools, Floats
from ..trace.model import Group, Trace
from ..trace.waits import synchronising, waiting

_SAME = 1e-6  # of a rank's time in calls: less that is in two of them is rounding


def once(trace: Trace, waited: Floats, moved: Floats) -> tuple[Floats, Floats]:
    """Seconds that each rank waited, and moved data, of the sums over its calls.

    They are the sums where no calls of a rank in two groups overlap.
    """
    groups = [group for group in trace.groups if group.size > 1 and len(group)]
    whole = [group.whole() for group in groups] if trace.between else []
    places: dict[int, list[tuple[int, int]]] = {}
    for number, group in enumerate(groups[: len(whole)]):
        for place, rank in enumerate(group.members.tolist()):
            places.setdefault(rank, []).append((number, place))
    twice: dict[int, float] = {}  # ranks that are in two calls at once: the time in any
    for rank, own in places.items():
        if len(own) < 2:
            continue
        came, left = _times(groups, whole, own)
        inside, any_of_them = float((left - came).sum()), _length(came, left)
        if inside - any_of_them > _SAME * inside:
            twice[rank] = any_of_them
    if not twice:
        return waited, moved
    until = [_until(trace, group, known, [place for place, rank in enumerate(group.members.tolist())
                                          if rank in twice])
             for group, known in zip(groups, whole, strict=True)]  # fmt: skip
    waited, moved = waited.copy(), moved.copy()
    for rank, inside in twice.items():
        own = places[rank]
        _, left = _times(groups, whole, own)
        begin = np.concatenate([until[number][place] for number, place in own])
        moved[rank] = _length(begin, np.maximum(left, begin))
        waited[rank] = max(inside - moved[rank], 0.0)
    return waited, moved


def _times(
    groups: list[Group], whole: list[Bools], own: list[tuple[int, int]]
) -> tuple[Floats, Floats]:
    """When a rank entered and left its calls that are known on all ranks."""
    came, left = [], []
    for number, place in own:
        arrival, leave = groups[number].times(members=slice(place, place + 1))
        came.append(arrival[whole[number], 0])
        left.append(leave[whole[number], 0])
    arrivals, exits = np.concatenate(came), np.concatenate(left)
    return arrivals, np.maximum(exits, arrivals)


def _until(trace: Trace, group: Group, known: Bools, some: list[int]) -> dict[int, Floats]:
    """By place of some members: when each began to move data in the calls that are known."""
    found = np.empty((int(known.sum()), len(some)))
    at = 0
    for part in group.stretches() if some else ():
        came, left = (each[known[part]] for each in group.times(part))
        calls = np.arange(part.start, part.stop)[known[part]]
        begin = came + waiting(came, left, synchronising(trace, group, calls, came, left))
        found[at : at + len(came)] = begin[:, some]
        at += len(came)
    return {place: found[:, column] for column, place in enumerate(some)}


def _length(begin: Floats, end: Floats) -> float:
    """The length of all that stretches cover."""
    order = np.argsort(begin, kind="stable")
    begin, end = begin[order], np.maximum.accumulate(end[order])
    before = np.concatenate([[-np.inf], end[:-1]])
    return float(np.clip(end - np.maximum(begin, before), 0.0, None).sum())
