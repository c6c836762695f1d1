"""Reads what `nsys export --type sqlite` writes of MPI and NCCL: one file a process, or for many.

Nsight Systems writes a table only if it recorded something for it. Used here: MPI_RANKS,
MPI_COLLECTIVES_EVENTS, StringIds, and if they are there TARGET_INFO_SESSION_START_TIME and
TARGET_INFO_SYSTEM_ENV (docs.nvidia.com/nsight-systems, SQLite Schema Reference; columns as in the
schema of 2025.3). Times are nanoseconds since the session began. A communicator is known by its
handle, which is the same on two ranks only for what the MPI library predefines.
"""

from __future__ import annotations

import math
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from . import nsight_nccl, rank_names
from .calls import Call, Recorded
from .dtypes import collective_of
from .events import MOST_RANKS
from .files import find
from .json_numbers import whole
from .left_out import LeftOut
from .matching import joined
from .model import UNKNOWN, Trace, TraceError, text_of
from .nsight_nccl import PROCESS, Exported

MOST_CALLS = 1 << 23  # of all files
MOST_STEPS = 1 << 29  # of SQLite's machine in one file: four times those of so many calls
_STEPS = 1_000_000
_MOST_NAMES = 4096  # of functions
_DAMAGED = (sqlite3.Error, UnicodeDecodeError)  # the latter where the error itself is no text
_DEFAULT = re.compile(r"report\d*\.sqlite", re.I)
_WORLD = {0x44000000, 0x101}  # MPI_COMM_WORLD of MPICH and its relatives, and of MPI's ABI
_SELF = {0x44000001, 0x102}
_CALLS = "MPI_COLLECTIVES_EVENTS"
_NEEDED = ("start", "end", "globalTid", "textId")
_MORE = ("commHandle", "rootRank", "size", "recvSize")
_BESIDE = ("MPI_P2P_EVENTS", "MPI_START_WAIT_EVENTS")
_RECORD = ("right would be an export of a profile of all ranks: mpirun -n 4 nsys profile "
           "--trace=mpi -o rank%q{OMPI_COMM_WORLD_RANK} ./app, then nsys export --type "
           "sqlite for each")  # fmt: skip
_NCCL = ("its ranges of NCCL tell when the host asked for calls, and end before the device begins: "
         f"record the kernels, too, by {nsight_nccl.RECORD}; for MPI ")  # fmt: skip
_MESSAGES = ("messages between two ranks, and waits: a wait tells one request at most, so that "
             "the ends of messages are not in such recordings")  # fmt: skip
_NO_RANK = ("calls of processes that are no known rank: right would be MPI_RANKS, or a name as in "
            "rank0.sqlite")  # fmt: skip
_GUESSED = ("handles of communicators, which may differ from rank to rank: those on which the same "
            "collectives were called are taken as one")  # fmt: skip


def fits(name: str) -> bool:
    """Tell whether a file of that name may be an export."""
    return name.lower().endswith(".sqlite")


@dataclass(frozen=True)
class _File:
    path: Path
    host: str
    zero: int  # nanoseconds since 1970 at which its times begin; 0: not known
    calls: Mapping[int, Sequence[Exported]]  # by rank, in the order of time


def read(folder: str | Path) -> Trace:
    """The trace in a folder of exports. Raises TraceError where fewer than two ranks tell of a
    collective: it says what is missing, and how it is recorded."""
    folder, left = Path(folder), LeftOut()
    paths, found, count = find(folder, fits, left), list[_File](), 0
    # A name that Nsight Systems chose tells no rank; that of the folder may.
    places = {path: path.parent if _DEFAULT.fullmatch(path.name) else path for path in paths}
    named = rank_names.ranks(folder, list(places.values()), len(paths), left)
    for path in paths:
        try:
            each = _read(path, named.get(places[path]), left)
        except TraceError as error:
            if len(paths) == 1:
                raise
            left.add("files that cannot be used", error)
            continue
        found.append(each)
        count += sum(map(len, each.calls.values()))
        if count > MOST_CALLS:
            raise TraceError(f"{folder}: calls", f"more than {MOST_CALLS}", "profile less time")
    return _joined(folder, _one_a_rank(found, left), left)


def _joined(folder: Path, files: Mapping[int, _File], left: LeftOut) -> Trace:
    base = min((each.zero for each in files.values() if each.zero), default=0)
    hosts = Counter({each.path: each.host for each in files.values()}.values())
    names = _communicators({rank: each.calls[rank] for rank, each in files.items()}, left)
    recorded = []
    for rank, each in sorted(files.items()):
        later = 1e-9 * (each.zero - base if each.zero else 0)
        calls = [
            Call(name, UNKNOWN, call.collective, call.bytes, later + 1e-9 * call.start,
                 later + 1e-9 * call.end, root=call.root)
            for call in each.calls[rank] if (name := call.group or names[rank][call.handle])
        ]  # fmt: skip
        # A session has a clock of its own: two files of a host need not agree.
        several = not each.host or hosts[each.host] > 1
        host = f"{each.host}, {each.path.name}".lstrip(", ") if several else each.host
        recorded.append(Recorded(str(each.path), rank, host, calls, math.nan, math.nan,
                                 of_device=True))  # fmt: skip
    ranks = max(files, default=-1) + 1
    trace = joined(str(folder), "Nsight Systems", ranks, recorded, left)
    return replace(trace, inputs=list(dict.fromkeys(each.path for each in files.values())))


def _one_a_rank(found: Sequence[_File], left: LeftOut) -> dict[int, _File]:
    files: dict[int, _File] = {}
    for each in found:
        for rank, calls in each.calls.items():
            if rank in files and len(files[rank].calls[rank]) >= len(calls):
                left.add("further files of a rank", each.path, f"rank {rank}", len(calls))
                continue
            if rank in files:
                left.add("further files of a rank", files[rank].path, f"rank {rank}")
            files[rank] = each
    return files


# ---- communicators


def _communicators(
    calls: Mapping[int, Sequence[Exported]], left: LeftOut
) -> dict[int, dict[int, str]]:
    """A name for each rank's handles; "" where it is not known which ranks the others are."""
    kinds: dict[int, dict[int, list[str]]] = {}
    for rank, own in calls.items():
        for call in own if not (own and own[0].group) else ():
            kinds.setdefault(rank, {}).setdefault(call.handle, []).append(call.collective)
    others = {rank: [handle for handle in own if handle not in _WORLD | _SELF]
              for rank, own in kinds.items()}  # fmt: skip
    alike = Counter(key for rank, own in others.items()
                    for key in {tuple(kinds[rank][handle]) for handle in own})  # fmt: skip
    number = {key: at for at, key in enumerate(alike)}
    names: dict[int, dict[int, str]] = {rank: {} for rank in calls}
    alone = all(len(own) == 1 for own in kinds.values())
    for rank, words in kinds.items():
        once = Counter(tuple(words[handle]) for handle in others[rank])
        for handle, word in words.items():
            key = tuple(word)
            if handle in _WORLD:
                names[rank][handle] = "MPI_COMM_WORLD"
            elif handle in _SELF:
                names[rank][handle] = ""
            elif alone or (once[key] == 1 and alike[key] == len(kinds)):
                names[rank][handle] = "communicator" if alone else f"communicator {number[key]}"
                left.doubt(_GUESSED, f"rank {rank}, handle {handle:#x}")
            else:
                names[rank][handle] = ""
                left.add("calls on communicators of which it is not known which ranks they have",
                         f"rank {rank}, handle {handle:#x}", count=len(word))  # fmt: skip
    return names


# ---- one file


def _read(path: Path, named: int | None, left: LeftOut) -> _File:
    """Raises TraceError."""
    address = f"file:{quote(str(path))}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(address, uri=True)) as data:
            return _Export(path, data, left).read(named)
    except _DAMAGED as error:
        raise TraceError(f"{path}: cannot be read as SQLite", error, _RECORD) from None


class _Export:
    """One database, which a stranger made: only plain tables are read, and for so many steps."""

    def __init__(self, path: Path, data: sqlite3.Connection, left: LeftOut) -> None:
        self.path, self.data, self.left, self.steps = path, data, left, 0
        data.text_factory = lambda raw: raw.decode("utf-8", "replace")
        data.set_progress_handler(self._step, _STEPS)
        data.execute("PRAGMA trusted_schema = OFF")
        self.tables = {
            name for name, sql in data.execute("SELECT name, sql FROM sqlite_master "
                                               "WHERE type = 'table'")
            if isinstance(name, str) and _plain(sql)
        }  # fmt: skip

    def read(self, named: int | None) -> _File:
        ranks = self._ranks(named)
        if found := nsight_nccl.calls(self._rows, self.tables, self.path, MOST_CALLS, self.left):
            if _CALLS in self.tables:
                self._count(_CALLS, "collectives of MPI, beside those of NCCL")
            return _File(self.path, self._host(), self._zero(), self._of_nccl(found, ranks))
        if _CALLS not in self.tables:
            what = f"no plain table {_CALLS}"
            raise TraceError(f"{self.path}: {what}", self._holds(), (_NCCL if self._nccl() else "")
                             + _RECORD)  # fmt: skip
        columns = {row[1] for row in self.data.execute(f"PRAGMA table_info({_CALLS})")}
        if lacking := [each for each in _NEEDED if each not in columns]:
            raise TraceError(f"{self.path}: columns of {_CALLS}", f"no {', '.join(lacking)}",
                             _RECORD)  # fmt: skip
        calls = self._calls(columns, ranks)
        for table in _BESIDE:
            self._count(table, _MESSAGES)
        return _File(self.path, self._host(), self._zero(), calls)

    def _step(self) -> bool:
        self.steps += _STEPS
        return self.steps > MOST_STEPS

    def _rows(self, statement: str, *values: object) -> Iterator[tuple[Any, ...]]:
        """The rows up to where the file is damaged or cut."""
        try:
            yield from self.data.execute(statement, values)
        except _DAMAGED as error:
            self.left.add("parts of files that cannot be read", self.path, error)

    def _holds(self) -> str:
        some = sorted(name for name in self.tables if not name.startswith(("ENUM_", "sqlite_")))
        return (
            f"its tables are {', '.join(some[:6])}{', ...' if len(some) > 6 else ''}"
            if some
            else "it has no tables"
        )

    def _nccl(self) -> bool:
        return bool(self._first("1", "StringIds", "WHERE value LIKE 'nccl%' LIMIT 1"))

    def _ranks(self, named: int | None) -> dict[int, int]:
        """The rank of each process; of -1: that in the file's name, if there is nothing else."""
        found: dict[int, int] = {}
        rows = self._rows("SELECT globalTid, rank FROM MPI_RANKS LIMIT 10000000") \
            if "MPI_RANKS" in self.tables else ()  # fmt: skip
        for thread, rank in rows:
            if isinstance(thread, int) and (right := whole(rank, 0, MOST_RANKS - 1)) is not None:
                found[thread & PROCESS] = right
            else:
                self.left.add("ranks of processes that are no numbers", self.path, text_of(rank))
        return found or ({} if named is None else {-1: named})

    def _calls(self, columns: set[str], ranks: Mapping[int, int]) -> dict[int, list[Exported]]:
        """Raises TraceError."""
        some = ", ".join(f'"{each}"' if each in columns else "NULL" for each in (*_NEEDED, *_MORE))
        found: dict[int, list[Exported]] = {}
        names: dict[int, str] = {}
        processes: set[int] = set()
        for at, row in enumerate(self._rows(f"SELECT {some} FROM {_CALLS}")):
            start, end, thread, name, handle, root, sent, received = row
            if at >= MOST_CALLS:
                raise TraceError(f"{self.path}: calls", f"more than {MOST_CALLS}",
                                 "profile less time")  # fmt: skip
            begin, finish = (whole(each, 0, 1 << 60) for each in (start, end))
            if begin is None or finish is None or begin > finish or not isinstance(thread, int):
                self.left.add("calls without a begin, an end and a thread", self.path,
                              f"start {text_of(start, 40)}, end {text_of(end, 40)}")  # fmt: skip
                continue
            processes.add(thread & PROCESS)
            rank = ranks.get(thread & PROCESS, ranks.get(-1))
            if rank is None:
                self.left.add(_NO_RANK, self.path)
                continue
            collective = self._collective(name, names)
            if collective:
                size = max(whole(sent, 0, 1 << 50) or 0, whole(received, 0, 1 << 50) or 0)
                chief = whole(root, 0, MOST_RANKS)
                found.setdefault(rank, []).append(Exported(
                    begin, finish, collective,
                    size if size and collective == "allreduce" else UNKNOWN,
                    handle=handle if isinstance(handle, int) else 0,
                    root=UNKNOWN if chief is None else chief))  # fmt: skip
        if -1 in ranks and len(processes - ranks.keys()) > 1:
            raise TraceError(f"{self.path}: processes without a rank", len(processes), _RECORD)
        return {rank: sorted(own, key=lambda each: each.start) for rank, own in found.items()}

    def _collective(self, text: object, names: dict[int, str]) -> str:
        """The collective of a function; "", and counted: it is none that is looked at."""
        if not isinstance(text, int):
            said = ""
        elif text not in names and len(names) < _MOST_NAMES and "StringIds" in self.tables:
            rows = self._rows("SELECT value FROM StringIds WHERE id = ?", text)
            said = names[text] = text_of(next(rows, ("",))[0])
        else:
            said = names.get(text, "")
        word = said.removeprefix("MPI_")
        if not (found := collective_of(word)):
            later = word[:1] == "I" and collective_of(word[1:])
            self.left.add("non-blocking collectives" if later else "calls of no known collective",
                          self.path, said)  # fmt: skip
        return found

    def _of_nccl(
        self, found: Mapping[int, Sequence[Exported]], ranks: Mapping[int, int]
    ) -> dict[int, list[Exported]]:
        """Raises TraceError."""
        if -1 in ranks and len(found) > 1:
            raise TraceError(f"{self.path}: processes without a rank", len(found),
                             f"right would be {nsight_nccl.RECORD}")  # fmt: skip
        calls = {}
        for process, own in found.items():
            rank = ranks.get(process, ranks.get(-1))
            if rank is None:
                self.left.add(_NO_RANK, self.path, count=len(own))
            else:
                calls[rank] = sorted(own, key=lambda each: each.start)
        return calls

    def _first(self, what: str, table: str, rest: str = "") -> Any:
        """The first value of a table; "": there is none."""
        if table not in self.tables:
            return ""
        return next(self._rows(f"SELECT {what} FROM {table} {rest}"), ("",))[0]

    def _count(self, table: str, what: str) -> None:
        if count := self._first("COUNT(*)", table):
            self.left.add(what, f"{self.path}, {table}", count=count)

    def _host(self) -> str:
        return text_of(self._first("value", "TARGET_INFO_SYSTEM_ENV", "WHERE name = 'Hostname'"))

    def _zero(self) -> int:
        return whole(self._first("utcEpochNs", "TARGET_INFO_SESSION_START_TIME"), 0, 1 << 62) or 0


def _plain(sql: object) -> bool:
    """Tell whether a table only holds what was put into it: no view, module or computed column."""
    words = sql.upper().split() if isinstance(sql, str) else ["VIRTUAL"]
    return "VIRTUAL" not in words and "AS" not in words and not any("AS(" in w for w in words)
