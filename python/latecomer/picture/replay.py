"""Finds the content of each transfer by carrying out the programs on sets of contributions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.programs import Operation, Program, Schedule, Slice
from ..core.registry import collectives

Key = tuple[int, int]  # rank, operation


@dataclass(frozen=True)
class Contents:
    """Per element of a slice: whose contributions it holds, and its place in the vector."""

    ranks: NDArray[np.uint64]  # one bit for each rank
    places: NDArray[np.int64]

    @classmethod
    def of_rank(cls, rank: int, begin: int, count: int) -> Contents:
        """A stretch of the vector, a rank's own."""
        return cls(np.full(count, 1 << rank, np.uint64), np.arange(begin, begin + count))

    @classmethod
    def nothing(cls, count: int) -> Contents:
        """Scratch, before anything is written to it."""
        return cls(np.zeros(count, np.uint64), np.zeros(count, np.int64))

    def part(self, where: Slice) -> Contents:
        """A copy of the slice's elements."""
        chosen = slice(where.begin, where.end)
        return Contents(self.ranks[chosen].copy(), self.places[chosen].copy())

    def assign(self, where: Slice, what: Contents) -> None:
        """Overwrite the slice's elements."""
        chosen = slice(where.begin, where.end)
        self.ranks[chosen], self.places[chosen] = what.ranks, what.places

    def combined(self, other: Contents) -> Contents:
        """Join two sets of contributions to the same elements."""
        return Contents(self.ranks | other.ranks, self.places)


@dataclass(frozen=True)
class Load:
    """The content of a transfer."""

    final: bool  # contributions of all ranks: part of the result
    first: int  # the range of its elements in the vector, from `first` ...
    end: int  # ... up to here, exclusive


def loads(schedule: Schedule) -> dict[Key, Load]:
    """The load of each send, by rank and operation."""
    full = (1 << schedule.ranks) - 1 if collectives()[schedule.collective].combines else 0
    return {key: _load(sent, full) for key, sent in _Replay(schedule).run().items()}


def _load(sent: Contents, full: int) -> Load:
    if not len(sent.places):
        return Load(final=False, first=0, end=0)
    final = bool((sent.ranks == full).all()) if full else True  # nothing is to be combined
    return Load(final, int(sent.places.min()), int(sent.places.max()) + 1)


class _Replay:
    """Carries out the operations in any order that their dependencies allow."""

    def __init__(self, schedule: Schedule) -> None:
        self.programs = schedule.programs
        self.sources = _matching_sends(schedule.programs)
        self.memory = [_memory(schedule, program) for program in schedule.programs]
        self.sent: dict[Key, Contents] = {}
        self.done: list[set[int]] = [set() for _ in schedule.programs]

    def run(self) -> dict[Key, Contents]:
        """The content of each send. Expects a schedule that keeps all rules."""
        waiting = [(p.rank, index) for p in self.programs for index in range(len(p.operations))]
        while waiting:
            left = [key for key in waiting if not self._try(*key)]
            if len(left) == len(waiting):
                raise ValueError("schedule: one that gets stuck is not usable; verify it first")
            waiting = left
        return self.sent

    def _try(self, rank: int, index: int) -> bool:
        operation = self.programs[rank].operations[index]
        source = self.sources.get((rank, index))
        if not self.done[rank].issuperset(operation.after) or (source and source not in self.sent):
            return False
        self._carry_out(rank, index, operation)
        self.done[rank].add(index)
        return True

    def _carry_out(self, rank: int, index: int, operation: Operation) -> None:
        memory = self.memory[rank]
        if operation.kind == "send":
            self.sent[rank, index] = _read(memory, operation.source)
        elif operation.kind == "recv":
            _write(memory, operation.target, self.sent[self.sources[rank, index]])
        elif operation.kind == "copy":
            _write(memory, operation.target, _read(memory, operation.source))
        elif operation.kind == "combine":
            left, right = _read(memory, operation.source), _read(memory, operation.target)
            _write(memory, operation.result, left.combined(right))


def _matching_sends(programs: Sequence[Program]) -> dict[Key, Key]:
    """Match each receive with its send: the n-th at b from a receives the n-th from a to b."""
    sends, receives = defaultdict(list), defaultdict(list)
    for program in programs:
        for index, operation in enumerate(program.operations):
            if operation.kind == "send":
                sends[program.rank, operation.peer].append((program.rank, index))
            elif operation.kind == "recv":
                receives[operation.peer, program.rank].append((program.rank, index))
    pairs = (zip(receives[lane], sends[lane], strict=True) for lane in receives)
    return {receive: send for lane in pairs for receive, send in lane}


def _memory(schedule: Schedule, program: Program) -> dict[str, Contents]:
    touched = [s for o in program.operations for s in (o.source, o.target) if s]
    scratch = max((s.end for s in touched if s.buffer == "scratch"), default=0)
    problem, rank = schedule.problem, program.rank
    begin, count = problem.before(rank)
    own = Contents.of_rank(rank, begin, count)
    memory = {}
    for name, (first, size) in (("input", problem.input(rank)), ("output", problem.output(rank))):
        memory[name] = Contents.nothing(size)
        starts_full = name == "input" or not problem.input(rank)[1]
        if size and count and starts_full:
            memory[name].assign(Slice(name, begin - first, begin - first + count), own)
    return memory | {"scratch": Contents.nothing(scratch)}


def _read(memory: dict[str, Contents], where: Slice | None) -> Contents:
    return memory[where.buffer].part(where) if where else Contents.nothing(0)


def _write(memory: dict[str, Contents], where: Slice | None, what: Contents) -> None:
    if where:
        memory[where.buffer].assign(where, what)
