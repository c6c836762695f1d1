"""The time of a run until its last call, in pieces: computation, waiting, moving data, by place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...base.printable import plain
from ...base.units import size
from ..analysis.events import OTHER_CALLS
from ..analysis.facts import computation
from ..analysis.lateness import Lateness
from ..analysis.wording import group_name
from ..trace.model import rows_of

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
    unknown = graph.for_unknown()
    every = np.ones(len(events.rank), bool)
    columns = {
        "computation": (graph.spent, every),
        "waiting": (waited, ~unknown),
        "moving data": (inside - waited, ~unknown),
        "not known": (inside, unknown),
    }
    groups = [*trace.groups, *trace.overlapping]
    sizes = np.full(len(events.rank), -1, np.int64)
    for number, rows in rows_of(events.source):
        if number >= 0:
            sizes[rows] = groups[number].bytes[events.row[rows]]
    nothing = np.full(len(events.rank), -1, np.int64)
    of_calls = np.column_stack([events.place, np.maximum(events.source, -1), sizes])
    after = np.column_stack([graph.after, nothing, nothing])
    seconds: dict[Place, float] = {}
    calls: dict[Place, int] = {}
    for kind, (column, own) in columns.items():
        called_at = (after if kind == KINDS[0] else of_calls)[own]
        keys, which = np.unique(called_at, axis=0, return_inverse=True)
        sums = np.bincount(which.reshape(-1), weights=column[own], minlength=len(keys))
        counts = np.bincount(which.reshape(-1), minlength=len(keys))
        for (place, number, length), total, count in zip(keys.tolist(), sums, counts, strict=True):
            called = graph.places[place]
            at = "" if called.call == OTHER_CALLS else found.named(called.site)
            comm = group_name(groups[number].name, groups[number].size) if number >= 0 else ""
            key = Place(kind, called.call, length, comm, at)
            seconds[key] = seconds.get(key, 0.0) + graph.times * float(total) / ranks
            calls[key] = calls.get(key, 0) + round(graph.times * count)
    by_rank = {kind: np.asarray(graph.times * np.bincount(events.rank, column * own, ranks), float)
               for kind, (column, own) in columns.items()}  # fmt: skip
    return Pieces(seconds, calls, by_rank)
