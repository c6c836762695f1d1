"""Who began it: the computation that waiting comes from, through messages and collectives.

A rank that comes late may be a victim: it waited for another one. So each rank carries along by
whose *excess* its clock is late. Excess is computation beyond that of the lower median rank in the
same step, where a step is the time between two collectives in which all ranks wait for each other.
A rank that waits for another one goes on with that one's account, since it goes on when that one
lets it. What the accounts differ by is what the waiting is charged to; the rest is *order*: ranks
whose work cannot begin before that of others has ended, as in a pipeline, and transfers.

So all charges and the order together are all waiting. Terms: D. Boehme, M. Geimer, L. Arnold,
F. Voigtlaender, F. Wolf: Identifying the root causes of wait states in large-scale parallel
applications, ACM TOPC 3(2), 2016 (direct and indirect waiting, delay costs).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...base.arrays import Floats
from ..trace.model import Trace
from .events import Place
from .graph import Graph, graph_of


@dataclass(frozen=True)
class Origin:
    """Sums over the run, in seconds; arrays of shape (ranks,)."""

    cost: Floats  # waiting of all ranks that comes from each rank's excess
    direct: Floats  # waiting of all ranks for each rank, whoever is the origin
    waiting: Floats  # of each rank
    moving: Floats  # of each rank, in the calls that were looked at
    unknown: Floats  # of each rank, in calls in which it may wait for what is not known
    excess: Floats  # computation of each rank beyond the median rank's
    order: float  # waiting that comes from nobody's excess
    by_place: Mapping[tuple[int, int], float]  # cost by rank and number of the place
    waits: int  # calls in which a rank waited
    graph: Graph

    def squares(self) -> Floats:
        """The sums of squares of the excess in each rank's computations."""
        graph = self.graph
        each = np.square(graph.times * graph.part * graph.spent)
        squares = np.bincount(graph.events.rank, each, len(self.excess)) / graph.times
        return np.asarray(squares, float)

    def place(self, ranks: Sequence[int]) -> tuple[Place, float] | None:
        """After which call these ranks' excess costs most, and its share of their cost."""
        found: dict[int, float] = defaultdict(float)
        for (rank, place), cost in self.by_place.items():
            if rank in ranks:
                found[place] += cost
        whole = sum(found.values())
        if whole <= 0:
            return None
        best = max(found, key=lambda place: found[place])
        return self.graph.places[best], found[best] / whole


def origin(trace: Trace) -> Origin:
    """The figures of a trace. Its messages count if it has them."""
    made = graph_of(trace)
    found = made.job.origins()
    cost, by_place = np.zeros(trace.ranks), {}
    for rank, place, seconds in found["charges"]:
        cost[rank] += made.times * seconds
        by_place[rank, place] = made.times * seconds
    unknown = made.unknown()
    moving = np.clip(np.array(found["moving"]) - unknown, 0.0, None)
    direct, waiting, moving, unknown, excess = (made.times * np.array(sums) for sums in (
        found["direct"], found["waiting"], moving, unknown, made.beyond.sum(axis=0)
    ))  # fmt: skip
    return Origin(cost, direct, waiting, moving, unknown, excess, made.times * found["order"],
                  by_place, round(made.times * found["waits"]), made)  # fmt: skip


# ---- calls that test in vain


def idle_time(trace: Trace) -> float:
    """Seconds of all ranks between calls that tested in vain, at most."""
    sides = trace.messages.sides if trace.messages is not None else ()
    total = sum(float((side.begin - side.idle).sum()) for side in sides)
    if trace.others is not None:
        total += float((trace.others.begin - trace.others.idle).sum())
    for group in trace.overlapping:
        if group.completed is not None and group.idle is not None:
            total += float(np.nansum(group.completed - group.idle))
    return total


def as_if_idle(trace: Trace) -> Trace:
    """The trace, if ranks waited between calls that test, where it has them compute."""
    messages, others = trace.messages, trace.others
    if messages is not None:
        send, receive, probing = (replace(side, begin=side.idle) for side in messages.sides)
        probes = replace(messages.probes, side=probing)
        messages = replace(messages, send=send, receive=receive, probes=probes)
    if others is not None:
        others = replace(others, begin=others.idle)
    overlapping = [group if group.idle is None else replace(group, completed=group.idle)
                   for group in trace.overlapping]  # fmt: skip
    return replace(trace, messages=messages, others=others, overlapping=overlapping)
