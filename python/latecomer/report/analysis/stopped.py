"""Calls that take far longer than others after what they waited for: was a rank stopped in them?

A rank that is stopped inside MPI, by a signal or by another process on its core, looks as if it
moved data. But such a call is far longer than the median one of its place and size, and most often
it is longest for the rank itself: those that need its data may wait for it in their next call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..trace.model import ranks_said
from .blame import late_ranks
from .wording import LITTLE, percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .graph import Graph

_TIMES = 10.0  # as long as the median call
_SLICE = 10e-3  # seconds: a busy processor's scheduler lets others go first for less


@dataclass(frozen=True)
class Stopped:
    """Time of ranks in such calls beyond the median one; seconds of shape (ranks,)."""

    time: NDArray[np.float64]
    calls: int  # of single ranks


def stopped(graph: Graph) -> Stopped:
    """The calls of a job that are so long."""
    events, trace = graph.events, graph.trace
    known = ~graph.for_unknown()
    size = np.full(len(events.rank), -1, np.int64)
    for number, group in enumerate([*trace.groups, *trace.overlapping]):
        own = events.source == number
        size[own] = group.bytes[events.row[own]]
    rank = events.rank[known]
    moving = np.clip(events.end - events.begin - graph.waited(), 0.0, None)[known]
    _, kind = np.unique(np.column_stack([events.place, size])[known], axis=0, return_inverse=True)
    kind = kind.reshape(-1)
    order = np.lexsort((moving, kind))
    first = np.flatnonzero(np.diff(kind[order], prepend=-1))
    count = np.diff(np.append(first, len(order)))
    median = moving[order[first + (count - 1) // 2]][kind] if len(order) else moving
    long = (moving > _TIMES * median) & (moving > _SLICE)
    time = np.bincount(rank[long], (moving - median)[long], trace.ranks)
    return Stopped(graph.times * time, round(graph.times * int(long.sum())))


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
        return f"{told}, most of it by {ranks_said(ranks)}: stopped inside MPI, it seems."
    return f"{told}: ranks are stopped inside MPI, it seems; the trace cannot tell which."
