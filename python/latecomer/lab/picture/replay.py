"""The content of each transfer, by carrying out the moves on sets of contributions."""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from ...core.programs import Schedule, Slice
from ...core.registry import collectives
from ...core.simulation import Move, Simulation


@dataclass(frozen=True)
class Labels:
    """The format of times."""

    unit: str  # "steps", or a unit of time such as "ms"
    scale: float  # how many of it are one second

    def time(self, seconds: float) -> str:
        value = f"{seconds * self.scale:.4g}"
        return f"{value} {self.unit.rstrip('s') if self.steps and value == '1' else self.unit}"

    @property
    def steps(self) -> bool:
        """Not a real time, but the transfer of one segment."""
        return self.unit == "steps"


@dataclass(frozen=True)
class Call:
    """A call that was simulated, with its trace."""

    schedule: Schedule
    simulation: Simulation
    nodes: tuple[int, ...] = ()  # of the ranks; empty: each has its own

    @property
    def name(self) -> str:
        """The algorithm with its parameters, as users write it."""
        return ":".join([self.schedule.algorithm, *self.schedule.parameters.split()])

    @cached_property
    def followed(self) -> Followed:
        """The data that its transfers carry."""
        return follow(self.schedule, self.simulation, self.nodes)


class Stretch(NamedTuple):
    """Elements of a buffer that have the same contributions and follow each other in the vector."""

    begin: int
    end: int
    place: int  # of the first one in the vector
    ranks: int  # one bit for each rank that contributed

    def part(self, begin: int, end: int) -> Stretch:
        """The part that lies in this range of the buffer."""
        first, last = max(begin, self.begin), min(end, self.end)
        return Stretch(first, last, self.place + first - self.begin, self.ranks)

    def moved(self, by: int) -> Stretch:
        """The same at another place of the buffer."""
        return self._replace(begin=self.begin + by, end=self.end + by)


class Contents:
    """The stretches of a buffer, in order. Where there is none nothing was written."""

    def __init__(self) -> None:
        self._stretches: list[Stretch] = []

    def __iter__(self) -> Iterator[Stretch]:
        return iter(self._stretches)

    def read(self, where: Slice) -> list[Stretch]:
        """The stretches in the slice, counted from its begin."""
        touched = self._stretches[self._touched(where)]
        return [each.part(where.begin, where.end).moved(-where.begin) for each in touched]

    def write(self, where: Slice, read: Iterable[Stretch]) -> None:
        """Overwrite the slice by stretches that were read elsewhere."""
        if where.end == where.begin:
            return
        chosen = self._touched(where)
        touched = self._stretches[chosen]
        left = [s.part(s.begin, where.begin) for s in touched if s.begin < where.begin]
        right = [s.part(where.end, s.end) for s in touched if s.end > where.end]
        self._stretches[chosen] = [*left, *(each.moved(where.begin) for each in read), *right]

    def _touched(self, where: Slice) -> slice:
        all_ = self._stretches
        first = max(0, bisect_right(all_, where.begin, key=lambda each: each.begin) - 1)
        while first < len(all_) and all_[first].end <= where.begin:
            first += 1
        last = first
        while last < len(all_) and all_[last].begin < where.end:
            last += 1
        return slice(first, last)


def combined(left: Sequence[Stretch], right: Sequence[Stretch]) -> list[Stretch]:
    """Join two sets of contributions to the same elements."""
    found = []
    for one in left:
        for other in right:
            if other.begin < one.end and one.begin < other.end:
                both = one.part(other.begin, other.end)
                found.append(both._replace(ranks=one.ranks | other.ranks))
    return found


@dataclass(frozen=True)
class Load:
    """The content of a transfer."""

    final: bool  # contributions of all ranks: part of the result
    first: int  # the range of its elements in the vector, from `first` ...
    end: int  # ... up to here, exclusive


class Held(NamedTuple):
    """From this time on the rank has so many elements of its result."""

    time: float
    rank: int
    elements: int


@dataclass
class Followed:
    """The findings from following a call."""

    loads: dict[int, Load] = field(default_factory=dict)  # by the number of the move in the trace
    held: list[Held] = field(default_factory=list)  # by time


def segments(carried: Iterable[Load]) -> list[tuple[int, int]]:
    """The segments of the vector, if all transfers carry one; empty if their ranges overlap."""
    ranges = sorted({(load.first, load.end) for load in carried if load.end > load.first})
    apart = all(before[1] <= after[0] for before, after in pairwise(ranges))
    return ranges if apart else []


def follow(schedule: Schedule, simulation: Simulation, nodes: Sequence[int] = ()) -> Followed:
    """The load of each message, and the part of the result that each rank has over time.

    `nodes`: of the ranks, which share a buffer there; empty: each has its own.
    """
    return _Replay(schedule, simulation, nodes).run()


class _Replay:
    def __init__(
        self, schedule: Schedule, simulation: Simulation, nodes: Sequence[int] = ()
    ) -> None:
        self.schedule = schedule
        self.simulation = simulation
        combines = collectives()[schedule.collective].combines
        self.full = (1 << schedule.ranks) - 1 if combines else 0
        self.memory = [self._memory(rank) for rank in range(schedule.ranks)]
        shared = {node: Contents() for node in nodes}
        for memory, node in zip(self.memory, nodes, strict=False):
            memory["node"] = shared[node]
        self.pending: list[tuple[float, int, Move, list[Stretch]]] = []
        self.found = Followed()

    def run(self) -> Followed:
        """Moves read when they begin, and write when they are taken."""
        for rank, arrival in enumerate(self.simulation.arrivals):
            self._note(rank, float(arrival))
        for number, move in enumerate(self.simulation.trace):
            self._write_until(move.begin)
            if move.source is None or move.target is None:
                continue
            read = self.memory[move.sender][move.source.buffer].read(move.source)
            if move.kind == "message":
                self.found.loads[number] = self._load(read)
            elif move.kind in ("combine", "accumulate"):
                other = self.memory[move.sender][move.target.buffer].read(move.target)
                read = combined(read, other)
            heapq.heappush(self.pending, (move.taken, number, move, read))
        self._write_until(float("inf"))
        self.found.held.sort()
        return self.found

    def _write_until(self, time: float) -> None:
        while self.pending and self.pending[0][0] <= time:
            taken, _, move, read = heapq.heappop(self.pending)
            where = move.result
            if where is None:
                continue
            self.memory[move.receiver][where.buffer].write(where, read)
            if where.buffer == "output":
                self._note(move.receiver, taken)

    def _note(self, rank: int, time: float) -> None:
        output = self.memory[rank]["output"]
        elements = sum(each.end - each.begin for each in output if self._final(each))
        self.found.held.append(Held(time, rank, elements))

    def _final(self, stretch: Stretch) -> bool:
        return stretch.ranks == self.full if self.full else True  # nothing is to be combined

    def _load(self, sent: list[Stretch]) -> Load:
        if not sent:
            return Load(final=False, first=0, end=0)
        end = max(each.place + each.end - each.begin for each in sent)
        return Load(all(map(self._final, sent)), min(each.place for each in sent), end)

    def _memory(self, rank: int) -> dict[str, Contents]:
        """A rank's own contribution lies in its input or, in place, in its output."""
        problem = self.schedule.problem
        begin, count = problem.before(rank)
        memory = {name: Contents() for name in ("input", "output", "scratch")}
        buffers = {"input": problem.input(rank), "output": problem.output(rank)}
        for name, (first, size) in buffers.items():
            starts_full = name == "input" or not problem.input(rank)[1]
            if size and count and starts_full:
                where = Slice(name, begin - first, begin - first + count)
                memory[name].write(where, [Stretch(0, count, begin, 1 << rank)])
        return memory
