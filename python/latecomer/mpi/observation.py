"""Who was late, and how long ranks waited for each other, inside a block of the program."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import zip_longest
from pathlib import Path

import numpy as np
from mpi4py import MPI

from ..base.summary import RankSummary, Summary
from . import statistics
from .library import Library, family, handle, library
from .statistics import Kind, Statistics, Times

_ROOTED = ("reduce", "bcast", "gather", "scatter")  # ranks need not wait for the last one

_COUNTERS = ("get_last_to_arrive", "get_stats", "count_stats", "get_key_stats")
_NOTHING = (
    "No collective call was seen: start the program by `latecomer run -- mpirun ...`, or call "
    "latecomer.Communicator(comm)."
)
_OBSERVED = (
    "The times of a block are not kept under `latecomer run --observe`, which tells at its end who "
    "was late in the whole run: leave out `--observe`."
)


@dataclass
class _Counts:
    """What a rank knows of the communicator's calls."""

    kinds: list[tuple[str, int, Times]]  # collective, calls, times
    last: np.ndarray  # [rank]: calls in which it came last
    calls: int  # with those of which no times are kept

    @classmethod
    def now(cls, seen: Sequence[Library], comm: MPI.Comm) -> _Counts:
        """The counts of these libraries so far."""
        kinds, last, calls = [], np.zeros(comm.Get_size(), np.uint64), 0
        for each in seen:
            found = statistics.read(each, comm)
            calls += _calls(found)
            kinds += [(kind.collective, _calls(kind), kind.times) for kind in found.kinds]
            more = np.zeros_like(last)
            each.call("get_last_to_arrive", handle(comm), more.ctypes.data, more.size)
            last += more
        return cls(kinds, last, calls)


@dataclass
class _Times:
    """A rank's time in the calls of a block."""

    calls: int = 0
    told: int = 0
    untimed: bool = False  # there were calls of which no times are kept
    waiting: float = 0.0
    moving: float = 0.0
    unknown: dict[str, float] = field(default_factory=dict)  # by collective: no arrivals known

    def add(self, collective: str, calls: int, times: Times) -> None:
        """Add calls of one kind; those whose arrivals are known stand for the others."""
        known = times.waiting + times.moving
        self.calls += calls
        self.told += times.told
        if times.told and known > 0:
            self.waiting += times.inside * times.waiting / known
            self.moving += times.inside * times.moving / known
        else:
            self.unknown[collective] = self.unknown.get(collective, 0.0) + times.inside


class Observation:
    """What observe() saw."""

    def __init__(self) -> None:
        self._summary: Summary | None = None

    def summary(self) -> Summary:
        """The times of all ranks, alike on all of them. Raises RuntimeError inside the block."""
        if self._summary is None:
            raise RuntimeError("no summary yet: the block of latecomer.observe must have ended")
        return self._summary

    def _ended(self, summary: Summary) -> None:
        self._summary = summary


@contextmanager
def observe(comm: MPI.Comm) -> Iterator[Observation]:
    """Observe the collective calls on `comm` inside a block: who was late, who waited.

        with latecomer.observe(comm) as o:
            train()
        if comm.rank == 0:
            print(o.summary())

    Nothing is changed or delayed inside the block; at its end the ranks exchange their counters, so
    all ranks of `comm` must reach it. Seen are the calls that latecomer passes on: all collectives
    of `comm` that the drop-in library handles, when the program was started by `latecomer run`
    without --observe, and those of latecomer.Communicator(comm). Others pass by unseen; a summary
    without calls says so.

    *Waiting* is the time from a rank's arrival in a call to the last arrival before its exit,
    *moving* the time from then to its exit. Both are measured where arrivals are known; the same
    parts are taken of other calls of the same kind. Where none of a kind are known, the rank with
    the shortest time is taken not to have waited; the time in rooted calls counts as moving.
    """
    seen = [of for of in (library(), _dropin()) if of is not None]
    observation = Observation()
    before = [_Counts.now([each], comm) for each in seen]
    began = time.perf_counter()
    yield observation
    elapsed = time.perf_counter() - began
    after = [_Counts.now([each], comm) for each in seen]
    observation._ended(_exchange(comm, list(zip(before, after, strict=True)), elapsed))


def _exchange(comm: MPI.Comm, seen: Sequence[tuple[_Counts, _Counts]], elapsed: float) -> Summary:
    mine = _Times()
    last = np.zeros(comm.Get_size(), np.uint64)
    for before, after in seen:
        last += after.last - before.last
        _add_new(mine, before, after)
        mine.untimed |= after.calls > before.calls and not after.kinds
    everyone = comm.allgather((socket.gethostname(), elapsed, mine))
    last = comm.allgather(last)[0]  # bcast may take it for a buffer
    all_times = [times for _, _, times in everyone]
    return Summary(tuple(
        RankSummary(rank, host, seconds, times.calls, times.told, int(last[rank]),
                    *_divided(times, all_times))
        for rank, (host, seconds, times) in enumerate(everyone)
    ), _OBSERVED if any(times.untimed for times in all_times) else _NOTHING)  # fmt: skip


def _add_new(to: _Times, before: _Counts, after: _Counts) -> None:
    """Add what happened in between. Kinds keep their places; new ones come last."""
    nothing = ("", 0, Times())
    for old, new in zip_longest(before.kinds, after.kinds, fillvalue=nothing):
        to.add(new[0], new[1] - old[1], new[2].since(old[2]))


def _divided(mine: _Times, everyone: Sequence[_Times]) -> tuple[float, float]:
    """Waiting and moving, with the calls whose arrivals nobody knows."""
    waiting, moving = mine.waiting, mine.moving
    for collective, seconds in mine.unknown.items():
        least = min(each.unknown.get(collective, 0.0) for each in everyone)
        moved = seconds if collective in _ROOTED else min(seconds, least)
        waiting, moving = waiting + seconds - moved, moving + moved
    return waiting, moving


def _calls(of: Kind | Statistics) -> int:
    return sum(n for name, n in of.calls.items() if name != "before_arrival")


@cache
def _dropin() -> Library | None:
    """The drop-in library of this process, for reading its counters; None without it."""
    name = f"liblatecomer_preload_{family()}.so"
    maps = Path("/proc/self/maps")
    lines = maps.read_text(encoding="utf-8", errors="replace").splitlines() if maps.exists() else []
    paths = {line.split(maxsplit=5)[5] for line in lines if line.endswith(f"/{name}")}
    return Library(Path(paths.pop()), family(), _COUNTERS) if paths else None
