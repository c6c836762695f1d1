"""Calls that take far longer than others after what they waited for: was a rank stopped in them?

A rank that is stopped inside MPI, by a signal or by another process on its core, looks as if it
moved data. But such a call is far longer than the rank's median one of its place and size, and
most often it is longest for the rank itself: those that need its data may wait for it in their next
call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...base.arrays import Floats, Int64s
from ..trace.model import UNKNOWN, ranks_said
from .blame import late_ranks
from .events import RECEIVE, SEND
from .graph import Graph
from .wording import LITTLE, percent

_TIMES = 10.0  # as long as the median call
_SLICE = 10e-3  # seconds: a busy processor's scheduler lets others go first for less


@dataclass(frozen=True)
class Stopped:
    """Time of ranks in such calls beyond the median one; seconds of shape (ranks,)."""

    time: Floats
    calls: int  # of single ranks


def stopped(graph: Graph) -> Stopped:
    """The calls of a job that are so long."""
    known = ~graph.for_unknown()
    like = _likeness(graph)[:, known]
    events, ranks = graph.events, graph.trace.ranks
    moving = np.clip(events.end - events.begin - graph.waited(), 0.0, None)[known]
    order = np.lexsort((moving, *like))
    fresh = np.ones(len(order), bool)
    fresh[1:] = (np.diff(like[:, order]) != 0).any(axis=0)
    first = np.flatnonzero(fresh)
    count = np.diff(np.append(first, len(order)))
    median = np.empty_like(moving)
    median[order] = np.repeat(moving[order[first + count // 2]], count)
    long = (moving > _TIMES * median) & (moving > _SLICE)
    time = np.asarray(np.bincount(like[0, long], (moving - median)[long], ranks), float)
    return Stopped(graph.times * time, round(graph.times * int(long.sum())))


def _likeness(graph: Graph) -> Int64s:
    """The properties of calls that take equally long: rank, place, number of ranks or kind, bytes.

    Of shape (4, events). A root, or a rank that is far away, takes longer than others always.
    """
    events, trace = graph.events, graph.trace
    groups = [*trace.groups, *trace.overlapping]
    source, row, calls = events.source, events.row, events.source >= 0
    kind, size = source.astype(np.int64), np.full(len(source), UNKNOWN, np.int64)
    kind[calls] = np.array([group.size for group in groups], np.int64)[source[calls]]
    before = np.cumsum([0, *map(len, groups)])
    of_calls = np.concatenate([np.zeros(0, np.int64), *(group.bytes for group in groups)])
    size[calls] = of_calls[before[source[calls]] + row[calls]]
    if trace.messages is not None:
        moved = (source == RECEIVE) | (source == SEND)
        size[moved] = trace.messages.bytes[row[moved]]
    return np.stack([events.rank, events.place, kind, size])


def remark(graph: Graph, hosts: Sequence[str], run: float) -> str:
    """A sentence, if these calls take a part of `run`, the time of all ranks; else ""."""
    found = stopped(graph)
    whole = float(found.time.sum())
    if whole <= LITTLE * run:
        return ""
    told = (f"{percent(whole / run)} of the time is spent in {found.calls:,} calls that take "
            f"{_TIMES:g} times as long as others like them")  # fmt: skip
    ranks, _ = late_ranks(found.time, hosts)
    if ranks:
        part = percent(float(found.time[ranks].sum()) / whole)
        return f"{told}, {part} of it by {ranks_said(ranks)}: stopped inside them, it seems."
    return f"{told}: ranks are stopped inside them, it seems; the trace cannot tell which."
