"""The time of a run until its last call, in pieces: computation, waiting, moving data, by place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...base.units import size
from ..analysis.events import OTHER, OTHER_CALLS, PROBE
from ..analysis.facts import computation
from ..analysis.graph import latest
from ..analysis.lateness import Lateness
from ..analysis.wording import group_name, plain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

KINDS = ("computation", "waiting", "moving data", "not known")  # of a piece


@dataclass(frozen=True)
class Place:
    """Where a piece of time is."""

    kind: str  # of KINDS
    call: str  # as in "allreduce", "messages"; of computation the call before; "": the beginning
    bytes: int  # of its whole vector; below 0: not known
    communicator: str  # "": none is known
    at: str  # as in "main (app.c:42)"; "": not known

    @property
    def where(self) -> str:
        """As in "allreduce of 1 MiB at main (app.c:42), on MPI_COMM_WORLD (4 ranks)"."""
        of = f" of {size(self.bytes)}" if self.bytes > 0 else ""
        at = f" at {plain(self.at)}" if self.at else ""
        on = f", on {self.communicator}" if self.communicator else ""
        return f"{plain(self.call)}{of}{at}{on}"

    @property
    def name(self) -> str:
        """As in "waiting in allreduce at main (app.c:42)"."""
        if self.kind == KINDS[0]:
            return computation(self.call, self.at)
        return f"{'time' if self.kind == KINDS[3] else self.kind} in {self.where}"


@dataclass(frozen=True)
class Pieces:
    """One run."""

    seconds: dict[Place, float]  # sums over the ranks, divided by their number
    calls: dict[Place, int]  # single ranks' calls
    by_rank: dict[str, Floats]  # by kind: seconds of each rank

    def total(self, kind: str) -> float:
        """Seconds of a rank, in the mean."""
        return float(self.by_rank[kind].mean())


def pieces_of(found: Lateness) -> Pieces:
    """The pieces of a run that was analysed."""
    graph, ranks = found.graph, found.trace.ranks
    events, trace = graph.events, graph.trace
    waited = graph.waited()
    inside = np.clip(events.end - events.begin, 0.0, None)
    unknown = (events.source == OTHER) | ((events.source == PROBE) & (events.cause < 0))
    computed, before = _computed(found)
    every = np.ones(len(events.rank), bool)
    columns = {
        "computation": (computed, every),
        "waiting": (waited, ~unknown),
        "moving data": (inside - waited, ~unknown),
        "not known": (inside, unknown),
    }
    groups = [*trace.groups, *trace.overlapping]
    sizes = np.full(len(events.rank), -1, np.int64)
    for number, group in enumerate(groups):
        own = events.source == number
        sizes[own] = group.bytes[events.row[own]]
    nothing = np.full(len(events.rank), -1, np.int64)
    of_calls = np.column_stack([events.place, np.maximum(events.source, -1), sizes])
    after = np.column_stack([before, nothing, nothing])
    seconds: dict[Place, float] = {}
    calls: dict[Place, int] = {}
    for kind, (column, own) in columns.items():
        rows = (after if kind == KINDS[0] else of_calls)[own]
        keys, which = np.unique(rows, axis=0, return_inverse=True)
        sums = np.bincount(which.reshape(-1), weights=column[own], minlength=len(keys))
        counts = np.bincount(which.reshape(-1), minlength=len(keys))
        for (place, number, length), total, count in zip(keys.tolist(), sums, counts, strict=True):
            called = graph.places[place]
            at = "" if called.call == OTHER_CALLS else found.named(called.site)
            comm = group_name(groups[number].name, groups[number].size) if number >= 0 else ""
            key = Place(kind, called.call, length, comm, at)
            seconds[key] = seconds.get(key, 0.0) + graph.times * float(total) / ranks
            calls[key] = calls.get(key, 0) + round(graph.times * count)
    by_rank = {kind: graph.times * np.bincount(events.rank, weights=column * own, minlength=ranks)
               for kind, (column, own) in columns.items()}  # fmt: skip
    return Pieces(seconds, calls, by_rank)


def _computed(found: Lateness) -> tuple[Floats, NDArray[np.int64]]:
    """The computation before each event, in seconds, and the place of the call before that."""
    graph = found.graph
    events, start = graph.events, graph.start
    order = np.lexsort((events.end, events.begin, events.rank))
    rank, begin, end = events.rank[order], events.begin[order], events.end[order]
    first = np.diff(rank, prepend=-1) != 0
    left = np.where(first, start[rank], np.concatenate([[0.0], latest(rank, end)])[:-1])
    place = np.where(first, 0, np.concatenate([[0], events.place[order]])[:-1])
    computed, before = np.empty(len(order)), np.empty(len(order), np.int64)
    computed[order], before[order] = np.clip(begin - left, 0.0, None), place
    return computed, before
