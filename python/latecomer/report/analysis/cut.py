"""A part of a trace: without its first calls, or between two times."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...base.arrays import Floats
from ...base.errors import UserError
from ...base.units import seconds
from ..trace.messages import some_of
from ..trace.model import Group, Messages, Others, Trace, earliest, latest
from .lateness import Lateness, analyse
from .origin import as_if_idle, idle_time, origin
from .wording import FLOOR

FEW = 10  # calls: with fewer none is left out by itself
DOMINANT = 0.1  # of all waiting, in the first call ...
TIMES = 5.0  # ... and as many times as much as in the mean of the others


def analysed(
    trace: Trace, *, skip: int | None = None, start: float = 0.0, end: float = np.inf
) -> Lateness:
    """The figures without the first `skip` calls, of the time from `start` to `end`.

    `skip` None: without the first call if it dominates, as it does where a program's ranks begin
    at different times. Raises UserError if no call is left.
    """
    messages = trace.messages
    until = min(trace.until, messages.until if messages is not None else np.inf, end)
    known = 1.0 if until == end else _known_part(trace, start, until, end)
    if start > 0 or np.isfinite(until):
        trace = between(trace, start, until if known > 0 else end)
    found = _figures(trace, skip)
    found.known, found.until = known, until
    return found


def _known_part(trace: Trace, start: float, until: float, end: float) -> float:
    """The part of that time in which all is known; 0: nothing of the trace is in it.

    Without calls or messages waiting would be taken for computation.
    """
    messages = trace.messages
    entered = [*map(_entered, trace.groups), messages.receive.posted if messages else np.zeros(0)]
    first, last = trace.span()
    begin, stop = max(start, earliest(first)), min(end, latest(last))
    if not any(((own >= start) & (own < until)).any() for own in entered):
        return 0.0
    return float(np.clip((until - begin) / max(stop - begin, 1e-300), 0.0, 1.0))


def _figures(trace: Trace, skip: int | None) -> Lateness:
    if skip:
        return _with_origin(_without(trace, skip))
    found = analyse(trace)
    if skip is None and _first_dominates(found):
        found = _without(trace, 1)
    return _with_origin(found)


def _with_origin(found: Lateness) -> Lateness:
    """Where a rank may hand on what it waited, the figures of the ranks are by the origin."""
    if found.trace.messages is not None or _meet_in_parts(found.trace):
        found.origin = begun = origin(found.trace)
        found.ranks = replace(found.ranks, cost=begun.cost, waiting=begun.waiting,
                              moving=begun.moving, waited=begun.waiting,
                              moved=begun.moving)  # fmt: skip
        if idle_time(found.trace) >= FLOOR * found.ranks.run.sum():
            found.idle = origin(as_if_idle(found.trace))
    return found


def _meet_in_parts(trace: Trace) -> bool:
    """True if ranks have calls with several sets of ranks."""
    sets = {tuple(np.sort(group.members)) for group in trace.groups if group.size > 1}
    members = [rank for each in sets for rank in each]
    return trace.between and len(set(members)) < len(members)


def _without(trace: Trace, skip: int) -> Lateness:
    found = analyse(without_first(trace, skip))
    if not found.groups:
        raise UserError("--skip", skip, f"the trace holds {trace.calls} calls: leave out fewer")
    left_out = analyse(only_first(trace, skip))
    found.skipped, found.skipped_waiting = skip, float(left_out.ranks.waiting.sum())
    return found


def _first_dominates(found: Lateness) -> bool:
    waiting = float(found.ranks.waiting.sum())
    complete = sum(group.complete for group in found.groups)
    if complete < FEW or not waiting:
        return False
    firsts = [(_entered(group.group, 1)[0], float(group.cost[0])) for group in found.groups]
    first = min(firsts)[1]
    return first >= DOMINANT * waiting and first >= TIMES * (waiting - first) / (complete - 1)


def _entered(group: Group, count: int | None = None) -> Floats:
    """When the first rank entered each of the first `count` calls; infinite: not known."""
    entered = np.full(len(group), np.inf)
    for part in group.stretches():
        if count is not None and part.start >= count:
            break
        some = part if count is None else slice(part.start, min(part.stop, count))
        arrival, _ = group.times(some)
        entered[some] = np.where(np.isfinite(arrival), arrival, np.inf).min(axis=1, initial=np.inf)
    return entered[:count]


def _first(trace: Trace, count: int) -> list[int]:
    """How many of the first `count` calls of all groups are of each group."""
    times = [_entered(group, count) if group.size > 1 else np.zeros(0) for group in trace.groups]
    owner = np.repeat(np.arange(len(times)), [len(each) for each in times])
    order = np.argsort(np.concatenate([*times, np.zeros(0)]), kind="stable")[:count]
    found: list[int] = np.bincount(owner[order], minlength=len(times)).tolist()
    return found


def without_first(trace: Trace, count: int) -> Trace:
    """All but the first calls, whichever their groups. Ranks begin when they left these."""
    counts = _first(trace, count)
    begin = np.array(trace.begin, float)
    for group, own in zip(trace.groups, counts, strict=True):
        if own:
            _, leave = group.times(slice(0, own))
            left = np.where(np.isfinite(leave), leave, -np.inf).max(axis=0)
            known = np.isfinite(left)
            own_ranks = group.members[known]
            begin[own_ranks] = np.fmax(begin[own_ranks], left[known])
    groups = [g.part(slice(own, None)) for g, own in zip(trace.groups, counts, strict=True)]
    return replace(trace, groups=groups, begin=begin, **_beside(trace, begin, np.inf))


def only_first(trace: Trace, count: int) -> Trace:
    """The first calls, whichever their groups."""
    counts = _first(trace, count)
    groups = [g.part(slice(0, own)) for g, own in zip(trace.groups, counts, strict=True)]
    return replace(trace, groups=groups, messages=None, overlapping=(), others=None)


def between(trace: Trace, start: float, end: float) -> Trace:
    """The calls that were entered from `start` to `end`, in seconds. Raises UserError."""
    groups = []
    for group in trace.groups:
        entered = _entered(group)
        inside = np.flatnonzero((entered >= start) & (entered < end))
        part = slice(int(inside[0]), int(inside[-1]) + 1) if len(inside) else slice(0, 0)
        groups.append(group.part(part))
    beside = _beside(trace, np.full(trace.ranks, start), end)
    if not sum(map(len, groups)) and not beside["messages"]:
        entered = np.concatenate([np.zeros(1), *map(_entered, trace.groups)])
        last = seconds(float(entered[np.isfinite(entered)].max()))
        to = f"to {end:g} s" if np.isfinite(end) else "on"
        raise UserError("--from, --to", f"from {start:g} s {to} there is no call",
                        f"the last one begins at {last}")  # fmt: skip
    left = np.full(trace.ranks, -np.inf)
    for group in groups:
        for part in group.stretches():
            _, leave = group.times(part)
            exits = np.where(np.isfinite(leave), leave, -np.inf).max(axis=0)
            left[group.members] = np.maximum(left[group.members], exits)
    begin = np.where(trace.begin > start, trace.begin, start) if start > 0 else trace.begin
    stop = np.maximum(np.minimum(trace.end, end), left) if np.isfinite(end) else trace.end
    return replace(trace, groups=groups, begin=begin, end=stop, **beside)


def _beside(trace: Trace, begin: Floats, end: float) -> dict[str, Any]:
    """The messages, and the collectives that other calls complete, of that time."""
    overlapping = []
    for group in trace.overlapping:
        early = (group.times()[0] < begin[group.members]).any(axis=1)
        inside = np.flatnonzero(~early & (_entered(group) < end))
        overlapping.append(group.part(inside))
    return {"messages": _messages(trace, begin, end), "overlapping": overlapping,
            "others": _others(trace.others, begin, end)}  # fmt: skip


def _others(others: Others | None, begin: Floats, end: float) -> Others | None:
    if others is None:
        return None
    inside = (others.begin >= begin[others.rank]) & (others.begin < end)
    return Others(**{name: column[inside] for name, column in vars(others).items()})


def _messages(trace: Trace, begin: Floats, end: float) -> Messages | None:
    """Those that both ranks posted after their begin, and before the end."""
    messages = trace.messages
    if messages is None:
        return None
    sent, received, probed = (~(side.posted < begin[side.rank]) & (side.posted < end)
                              for side in messages.sides)  # fmt: skip
    return some_of(messages, np.flatnonzero(sent & received), np.flatnonzero(probed))
