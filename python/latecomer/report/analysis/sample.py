"""A large trace by some stretches of it, one behind the other, as a trace of a shorter run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...base.arrays import Floats, Int32s, Int64s
from ..trace.messages import some_of
from ..trace.model import UNKNOWN, Group, Messages, Others, Trace

MOST = 4_000_000  # calls of single ranks, messages and other waits: more are represented by ...
SOME = 1_000_000  # ... so many ...
_STRETCHES = 16  # ... in so many stretches


def represented(trace: Trace) -> tuple[Trace, float]:
    """The trace, or one of its stretches; and how many times as long the run of the whole is.

    Evenly spaced stretches of the largest group's calls tell when each rank is in a stretch; where
    that has too few that are known on all its ranks, equal times do. Everything else counts if it
    lies in there on all its ranks.
    """
    groups = [group for group in trace.groups if group.size > 1]
    events = sum(len(group) * group.size for group in [*groups, *trace.overlapping])
    if (messages := trace.messages) is not None:
        events += sum(len(side.rank) for side in messages.sides)
    events += len(trace.others) if trace.others is not None else 0
    main = max(groups, key=lambda group: len(group) * group.size, default=None)
    if events <= MOST:
        return trace, 1.0
    bounds = _bounds(trace, main, SOME / events) if main is not None else []
    if len(bounds) < _STRETCHES // 2:
        bounds = _equal_times(trace, SOME / events)
    shifts, now = [], None
    for begin, end in bounds:
        shifts.append(0.0 if now is None else float(begin.mean()) - now)
        now = float(end.mean()) - shifts[-1]
    long = sum(float((end - begin).mean()) for begin, end in bounds)
    whole = float((bounds[-1][1] - bounds[0][0]).mean())
    last = bounds[-1][1] - shifts[-1]
    made = replace(
        trace,
        groups=[_group(group, bounds, shifts) for group in trace.groups],
        overlapping=[_group(group, bounds, shifts) for group in trace.overlapping],
        messages=None if messages is None else _messages(messages, bounds, shifts),
        others=_others(trace.others, bounds, shifts) if trace.others is not None else None,
        begin=bounds[0][0],
        end=last,
    )
    return made, whole / max(long, 1e-300)


def _bounds(trace: Trace, main: Group, share: float) -> list[tuple[Floats, Floats]]:
    """When each rank leaves the calls before a stretch, and the last one in it."""
    length = max(2, int(len(main) * share / _STRETCHES))
    if len(main) < _STRETCHES * (length + 1):
        return []
    firsts = np.linspace(0, len(main) - 1 - length, _STRETCHES).astype(np.int64)
    rows = np.stack([firsts, firsts + length], axis=1).reshape(-1)
    _, leave = main.times(rows)
    found, before = [], -np.inf
    for begin, end in leave.reshape(-1, 2, main.size):
        if not np.isfinite([begin, end]).all() or begin.min() < before:
            continue
        of_ranks = np.full((2, trace.ranks), [[begin.mean()], [end.mean()]])
        of_ranks[:, main.members] = begin, end
        found.append((of_ranks[0], of_ranks[1]))
        before = end.max()
    return found


def _equal_times(trace: Trace, share: float) -> list[tuple[Floats, Floats]]:
    begin, end = trace.span()
    first, last = float(begin.min()), float(end.max())
    length = share * (last - first) / _STRETCHES
    return [(np.full(trace.ranks, start), np.full(trace.ranks, start + length))
            for start in np.linspace(first, last - length, _STRETCHES).tolist()]  # fmt: skip


def _group(group: Group, bounds: list[tuple[Floats, Floats]], shifts: list[float]) -> Group:
    """Its calls in the stretches, in their order."""
    nothing = np.zeros((0, group.size))
    rows, by, arrivals, exits = [np.zeros(0, np.int64)], [np.zeros(0)], [nothing], [nothing]
    calls = _first_arrivals(group)
    for (begin, end), shift in zip(bounds, shifts, strict=True):
        first, last = begin[group.members], end[group.members]
        near = np.flatnonzero((calls >= first[0]) & (calls <= last[0]))
        if not len(near):
            continue
        arrival, leave = group.times(near)
        out = (arrival < first) | (leave > last)  # what is not known contradicts nothing
        inside = np.flatnonzero(~out.any(axis=1))
        rows.append(near[inside])
        by.append(np.full(len(inside), shift))
        arrivals.append(arrival[inside] - shift)
        exits.append(leave[inside] - shift)
    some, earlier = group.part(np.concatenate(rows)), np.concatenate(by)[:, None]
    return replace(
        some,
        arrival=np.concatenate(arrivals),
        exit=np.concatenate(exits),
        completed=None if some.completed is None else some.completed - earlier,
        idle=None if some.idle is None else some.idle - earlier,
    )


def _first_arrivals(group: Group) -> Floats:
    """When the first member entered each call; NaN: not known."""
    parts = [group.times(part, np.array([0]))[0][:, 0] for part in group.stretches()]
    return np.concatenate([np.zeros(0), *parts])


def _messages(
    messages: Messages, bounds: list[tuple[Floats, Floats]], shifts: list[float]
) -> Messages:
    """Those of which both sides lie in one stretch."""
    sent, received, probed = (_stretch_of(side.rank, side.posted, side.end, bounds)
                              for side in messages.sides)  # fmt: skip
    own, probes = np.flatnonzero((sent == received) & (sent >= 0)), np.flatnonzero(probed >= 0)
    by = np.array(shifts)
    return some_of(messages, own, probes, by[sent[own]], by[probed[probes]])


def _others(others: Others, bounds: list[tuple[Floats, Floats]], shifts: list[float]) -> Others:
    part = _stretch_of(others.rank, others.begin, others.end, bounds)
    own = np.flatnonzero(part >= 0)
    by = np.array(shifts)[part[own]]
    begin, end, idle = (column[own] - by for column in (others.begin, others.end, others.idle))
    return Others(others.rank[own], begin, end, idle, others.calls[own])


def _stretch_of(
    rank: Int32s, begin: Floats, end: Floats, bounds: list[tuple[Floats, Floats]]
) -> Int64s:
    """The stretch in which these lie; UNKNOWN: none."""
    found = np.full(len(rank), UNKNOWN)
    for at, (first, last) in enumerate(bounds):
        found[(begin >= first[rank]) & (end <= last[rank])] = at
    return found
