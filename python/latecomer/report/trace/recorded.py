"""A trace's arrivals for the atlas: numbers in place of all names."""

from __future__ import annotations

import numpy as np

from ...atlas.file import COLLECTIVES, OTHER, UNKNOWN, About, Arrivals
from ...base.arrays import Floats, Int64s
from .model import Group, Trace, TraceError

MOST_CALLS = 2000  # of a file: the atlas of some tens of programs stays below some MB


def recorded(trace: Trace, name: str, cores: int = 0, load: float = 0.0) -> Arrivals:
    """The calls that all their ranks are known to have made, or the middle ones of so many.

    Groups and places are numbered as they occur. Raises TraceError where there is no such call.
    """
    groups = [group for group in trace.groups if group.size > 1]
    whole = [np.flatnonzero(group.whole()) for group in groups]
    calls = sum(map(len, whole))
    if not calls:
        remedy = "record a run of two ranks or more that call collectives"
        raise TraceError("no collective is known on all its ranks", trace.source, remedy)
    spans = [_spans(group, own) for group, own in zip(groups, whole, strict=True)]
    of = np.repeat(np.arange(len(groups)), [len(each) for each in whole])
    begin, end = (np.concatenate([each[i] for each in spans]) for i in (0, 1))
    gaps = [np.maximum(np.r_[0.0, first[1:] - last[:-1]], 0.0) for first, last in spans]
    order = np.argsort(begin, kind="stable")
    skipped = max(0, calls - MOST_CALLS) // 2
    kept = order[skipped : skipped + MOST_CALLS]
    number = np.concatenate(whole)[kept]
    first, last = trace.span()
    span = float(last.max() - first.min())
    if len(kept) < calls:
        span = float(end[kept].max() - begin[kept].min())
    about = About(name, trace.ranks, calls, span, len(set(trace.hosts)), cores, load)
    return _columns(trace, [groups[i] for i in of[kept]], number, np.concatenate(gaps)[kept], about)


def _spans(group: Group, calls: Int64s) -> tuple[Floats, Floats]:
    """First arrival and last exit of each."""
    begin, end = np.full(len(group), np.nan), np.full(len(group), np.nan)
    for part in group.stretches():
        arrival, leave = group.times(part)
        begin[part], end[part] = arrival.min(axis=1), leave.max(axis=1)
    return begin[calls], end[calls]


def _columns(
    trace: Trace, groups: list[Group], calls: Int64s, gap: Floats, about: About
) -> Arrivals:
    lateness, transfer = [], []
    of_group: dict[int, int] = {}
    of_site: dict[int, int] = {}
    rows = []
    for group, call in zip(groups, calls.tolist(), strict=True):
        arrival, leave = group.times(slice(call, call + 1))
        lateness.append(arrival[0] - arrival.min())
        transfer.append(max(leave.max() - arrival.max(), 0.0))
        site = int(group.site[call])
        place = of_site.setdefault(site, len(of_site)) if trace.words[site] else UNKNOWN
        number = of_group.setdefault(id(group), len(of_group))
        rows.append((number, place, int(group.bytes[call]), int(group.root[call])))
    words = [trace.words[int(group.collective[call])]
             for group, call in zip(groups, calls, strict=True)]  # fmt: skip
    numbers = np.array(rows)
    return Arrivals(
        about,
        [word if word in COLLECTIVES else OTHER for word in words],
        numbers[:, 0].astype(np.int32),
        numbers[:, 1].astype(np.int32),
        numbers[:, 2],
        numbers[:, 3].astype(np.int32),
        gap,
        np.array(transfer),
        lateness,
    )
