"""Differences between runs before and after a change, and whether that is more than noise.

A change is that of the medians. The noise is by how much runs of one kind differ, at most; with a
single run of each kind it is not known. A change is told if it is more than twice the noise: of
runs that do not differ, 0.6 % would be told with three of each kind, 7 % with two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

from ...base.arrays import Floats
from ...base.errors import UserError
from ...base.printable import plain
from ...base.units import size
from ..analysis.events import OTHER_CALLS
from ..analysis.facts import Facts, computation
from ..analysis.lateness import Lateness
from ..analysis.wording import APART, group_name
from ..trace.model import rows_of

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
    calls: dict[Place, int]  # a collective of many ranks is one
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
    call = np.where(events.source >= 0, events.row, np.arange(len(events.row)))
    seconds: dict[Place, float] = {}
    calls: dict[Place, int] = {}
    for kind, (column, own) in columns.items():
        called_at = (after if kind == KINDS[0] else of_calls)[own]
        keys, which = np.unique(called_at, axis=0, return_inverse=True)
        sums = np.bincount(which.reshape(-1), weights=column[own], minlength=len(keys))
        once = np.unique(
            np.column_stack([which.reshape(-1), events.source[own], call[own]]), axis=0
        )
        counts = np.bincount(once[:, 0], minlength=len(keys))
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


_ENOUGH = 3  # runs of each kind
_AS_MANY = 0.01  # calls may differ by so much before it is said


@dataclass(frozen=True)
class Run:
    """One run that was analysed."""

    found: Lateness
    facts: Facts
    pieces: Pieces

    @property
    def folder(self) -> str:
        return self.found.trace.source


def run_of(found: Lateness, facts: Facts) -> Run:
    """The run of a trace."""
    return Run(found, facts, pieces_of(found))


@dataclass(frozen=True)
class Change:
    """A time in seconds, in each run."""

    before: Sequence[float]
    after: Sequence[float]

    @property
    def seconds(self) -> float:
        """Above 0: longer."""
        return median(self.after) - median(self.before)

    @property
    def noise(self) -> float | None:
        """By how much runs of one kind differ, at most; None: not known."""
        if max(len(self.before), len(self.after)) < 2:
            return None
        return max(max(each) - min(each) for each in (self.before, self.after))

    @property
    def told(self) -> bool:
        """It is more than chance, as far as that is known."""
        return abs(self.seconds) > APART * (self.noise or 0.0)

    @property
    def sure(self) -> bool:
        """There are enough runs to tell."""
        return min(len(self.before), len(self.after)) >= _ENOUGH


@dataclass(frozen=True)
class Moved:
    """The change of one place."""

    place: Place
    change: Change
    calls: tuple[int, int]  # before and after; 0: there is none
    now_at: str = ""  # where it is after, if that has another name

    @property
    def name(self) -> str:
        """The name of the place, and whether only one side has it."""
        only = {(True, False): " (only after)", (False, True): " (only before)"}
        gone = only.get((not self.calls[0], not self.calls[1]), "")
        return f"{self.place.name}{f', after: {self.now_at}' if self.now_at else ''}{gone}"

    @property
    def as_many(self) -> bool:
        """Tell whether the sides have as many calls there."""
        return abs(self.calls[0] - self.calls[1]) <= _AS_MANY * max(self.calls)


@dataclass(frozen=True)
class Comparison:
    """Runs before and after."""

    before: Sequence[Run]
    after: Sequence[Run]
    run: Change
    kinds: dict[str, Change]  # by kind, of a rank in the mean
    places: Sequence[Moved]  # the largest change first
    ranks: Sequence[dict[str, Change]]  # of each rank; empty where their numbers differ

    def late(self, runs: Sequence[Run]) -> tuple[tuple[int, ...], int]:
        """Who is late in most of these runs, and in how many."""
        counts = Counter(tuple(run.facts.late) for run in runs)
        return counts.most_common(1)[0]


def compared(before: Sequence[Run], after: Sequence[Run]) -> Comparison:
    """The changes. Raises UserError where runs of one kind have different numbers of ranks."""
    for runs in (before, after):
        numbers = {run.found.trace.ranks: run.folder for run in runs}
        if len(numbers) > 1:
            given = " and ".join(f"{ranks} in {folder}" for ranks, folder in numbers.items())
            raise UserError("numbers of ranks of runs of one kind", given,
                            "name runs of the same number of ranks")  # fmt: skip

    def change(of: Callable[..., float]) -> Change:  # of a run; other arguments have defaults
        return Change([of(run) for run in before], [of(run) for run in after])

    same = before[0].found.trace.ranks == after[0].found.trace.ranks
    by_rank = [
        {kind: change(lambda run, r=rank, k=kind: float(run.pieces.by_rank[k][r]))
         for kind in KINDS} for rank in range(before[0].found.trace.ranks)
    ] if same else []  # fmt: skip
    return Comparison(
        before,
        after,
        change(lambda run: run.found.run_seconds),
        {kind: change(lambda run, k=kind: run.pieces.total(k)) for kind in KINDS},
        _places(before, after),
        by_rank,
    )


def _places(before: Sequence[Run], after: Sequence[Run]) -> list[Moved]:
    ours, theirs = (list(dict.fromkeys(place for run in runs for place in run.pieces.seconds))
                    for runs in (before, after))  # fmt: skip
    moved = []
    for old, now in _pairs(ours, theirs):
        change = Change(_seconds(before, old), _seconds(after, now))
        place = old or now
        if place is not None:
            at = now.at if old and now and now.at != old.at else ""
            calls = _calls(before, old), _calls(after, now)
            moved.append(Moved(place, change, calls, at))
    return sorted(moved, key=lambda each: -abs(each.change.seconds))


def _seconds(runs: Sequence[Run], place: Place | None) -> list[float]:
    return [run.pieces.seconds.get(place, 0.0) if place else 0.0 for run in runs]


def _calls(runs: Sequence[Run], place: Place | None) -> int:
    return round(median(run.pieces.calls.get(place, 0) if place else 0 for run in runs))


def _pairs(
    ours: Iterable[Place], theirs: Iterable[Place]
) -> list[tuple[Place | None, Place | None]]:
    """The same places before and after: by all that is known of them, else without the line, the
    site or the communicator's size, where that leaves one on each side: programs change.
    Last those that only one side has, with None for the other."""
    rest, others = list(ours), list(theirs)
    found: list[tuple[Place | None, Place | None]] = []
    for key in (lambda place: place, _function, _call, _any_size):
        mine, yours = (_alone(places, key) for places in (rest, others))
        pairs = {mine[each]: yours[each] for each in mine if each in yours}
        found += pairs.items()
        rest = [each for each in rest if each not in pairs]
        taken = set(pairs.values())
        others = [each for each in others if each not in taken]
    return [*found, *((place, None) for place in rest), *((None, place) for place in others)]


def _alone(places: Iterable[Place], key: Callable[[Place], object]) -> dict[object, Place]:
    """The places whose key no other one has."""
    counts = Counter(map(key, places := list(places)))
    return {key(place): place for place in places if counts[key(place)] == 1}


def _function(place: Place) -> Place:
    """As in main (app.c:42) and app+0x10: the line and the offset change with the program."""
    return replace(place, at=place.at.partition(" (")[0].partition("+0x")[0])


def _call(place: Place) -> Place:
    return replace(place, at="")


def _any_size(place: Place) -> Place:
    """Without the communicator's size: runs may have other numbers of ranks."""
    return replace(place, at="", communicator=place.communicator.rpartition(" (")[0])
