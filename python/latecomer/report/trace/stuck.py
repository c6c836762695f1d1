"""Calls in which ranks wait for long, and the ranks that have not come: by the status in the files.

The rule of the watch and of the report. A status is older than it can be watched where the watcher
has just begun: then its age is that by the calendars of both hosts, which need not agree.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .last_seen import call_of, doing, key_of, place
from .native_file import File
from .tail import Tail

LONG_S = 10.0
_NS = 1e-9


@dataclass(frozen=True)
class Absent:
    """Ranks that have not come to a call, in the same place."""

    ranks: Sequence[int]
    where: str  # as in "outside of calls that may wait"
    seconds: float  # for so long, at most
    computes: bool  # it is no call that they wait in, so it is they who are waited for
    gone: bool  # their processes are not there any more


@dataclass(frozen=True)
class Stuck:
    """A call in which ranks wait."""

    where: str  # as in "in allreduce, call 12 of MPI_COMM_WORLD, at app+0x10"
    call: str  # as in "call 12 of MPI_COMM_WORLD, allreduce"; empty: no collective
    waits: Sequence[int]
    seconds: float  # of the rank that waits longest
    absent: Sequence[Absent]
    all_came: bool  # to a collective: it is not lateness that it takes so long

    @property
    def late(self) -> list[int]:
        """The ranks that are waited for, and wait in no call themselves."""
        return sorted(rank for them in self.absent if them.computes for rank in them.ranks)


def stuck(
    files: Mapping[int, File],
    tails: Mapping[int, Tail],
    now: float,
    real: float,
    least: float = LONG_S,
) -> list[Stuck]:
    """The calls that ranks have been in for `least` seconds or longer; those that tell who is late
    first, then the longest.

    `now`: seconds of the watcher's clock; `real`: since 1970.
    """
    ages = {rank: age(tails[rank], now, real) for rank in files if not tails[rank].ended}
    where = {rank: place(files[rank]) for rank in ages}
    calls: dict[object, list[int]] = {}
    for rank in ages:
        if doing(files[rank]):
            calls.setdefault(key_of(files[rank]) or where[rank], []).append(rank)
    found = []
    for call, ranks in calls.items():
        longest = max(ranks, key=lambda rank: ages[rank])
        if ages[longest] >= least:
            missing = _missing(call, files, tails, ranks) if isinstance(call, tuple) else []
            found.append(Stuck(where[longest], call_of(files[longest]), ranks, ages[longest],
                               _absent(missing, files, tails, where, ages),
                               isinstance(call, tuple) and not missing))  # fmt: skip
    return sorted(found, key=lambda each: (not each.late, -each.seconds))


def age(tail: Tail, now: float, real: float) -> float:
    """Seconds since the rank entered or left a call: not less than it was watched, nor more."""
    if tail.header["turn"] % 2:  # it is being written
        return 0.0
    since = (int(tail.header["real"]) + tail.last) * _NS
    watched = now - tail.seen if tail.header["turn"] else 0.0
    return min(max(real - since, watched), now - tail.moved)


def _missing(
    call: tuple[tuple[int, int], int],
    files: Mapping[int, File],
    tails: Mapping[int, Tail],
    waits: Sequence[int],
) -> list[int]:
    """The members that are not in the call, and have not left it."""
    key, sequence = call
    comm = next(each for each in files[waits[0]].comms.values() if each.key == key)
    return [rank for rank in sorted(set(comm.members.tolist()) - set(waits))
            if rank not in files or _passed(files[rank], tails[rank], key) < sequence]  # fmt: skip


def _passed(file: File, tail: Tail, key: tuple[int, int]) -> int:
    """The last call of a communicator that the rank is known to have left; -1: none.

    By the calls in the file, and where that is full by the words outside of calls.
    """
    own = [each.number for each in file.comms.values() if each.key == key]
    passed = [tail.passed.get(number, -1) for number in own]
    if file.header["turn"] and not doing(file) and file.header["doing_communicator"] in own:
        passed.append(int(file.header["doing_sequence"]))
    return max(passed, default=-1)


def _absent(
    missing: Sequence[int],
    files: Mapping[int, File],
    tails: Mapping[int, Tail],
    where: Mapping[int, str],
    ages: Mapping[int, float],
) -> list[Absent]:
    by_place: dict[tuple[str, bool, bool], list[int]] = {}
    for rank in missing:
        gone = rank in ages and ages[rank] >= LONG_S and is_gone(tails[rank])
        computes = rank in files and not doing(files[rank])
        said = where.get(rank, "where it had ended" if rank in files else "in no file")
        by_place.setdefault((said, computes, gone), []).append(rank)
    return [Absent(ranks, said, max(ages.get(rank, 0.0) for rank in ranks), computes, gone)
            for (said, computes, gone), ranks in by_place.items()]  # fmt: skip


def is_gone(tail: Tail) -> bool:
    """The rank's process was one of this host, and is there no more."""
    if bytes(tail.header["host"]).decode("utf-8", "replace") != socket.gethostname():
        return False
    try:
        os.kill(int(tail.header["pid"]), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        pass
    return False
