"""Writes a trace as an OTF2 archive, for Vampir, Scalasca and others, by the Python module otf2."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ctypes import CFUNCTYPE, c_char_p, c_int, c_uint64, c_void_p
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...base.arrays import Floats, Int64s
from ...base.whole_files import check_folder
from .model import Messages, Trace, TraceError, rows_of
from .otf2_archive import NAMES, ROOTED, module
from .table_export import NO_MESSAGES, ends, has_all_messages

# Begin and end in ticks, the place, and what writes the call's events at such times.
_Call = tuple[int, int, str, Callable[[Any, int, int], None]]
_What = tuple[int, Any, int, int]  # the other rank, a communicator, the message's own tag, bytes
_TICKS = 10**9  # a second
# A function for errors: of data, file, line, function, code, format and words.
_CALLBACK = CFUNCTYPE(c_int, c_void_p, c_char_p, c_uint64, c_char_p, c_int, c_char_p, c_void_p)
_OTHERS = "ALLTOALLW"  # stands for collectives that OTF2 has no name for


def otf2(trace: Trace, folder: Path) -> None:
    """The calls that all their ranks tell, and messages, in a new folder. Raises TraceError.

    Each call is a region with the collective's name and an MPI collective in it. Readers count the
    calls of a communicator to match them, so that a call that one rank lacks would shift the rest.
    """
    if folder.exists():
        raise TraceError("the folder of an OTF2 archive exists", folder, "name a new one")
    library = module(folder)
    if not has_all_messages(trace):
        trace = replace(trace, messages=None)
    there = folder.absolute().parent
    there.mkdir(parents=True, exist_ok=True)
    check_folder("an archive", there, folder)
    with tempfile.TemporaryDirectory(prefix=".latecomer-", dir=there) as part:
        archive = Path(part) / "archive"
        with _errors(library.reader._otf2) as found:
            _write(library, trace, archive, found)
        if found:
            raise TraceError(f"{folder}: OTF2 cannot write it", found[0],
                             "name a folder where there is space")  # fmt: skip
        archive.rename(folder)


def _write(library: Any, trace: Trace, folder: Path, errors: list[str]) -> None:
    """An archive, unless there are errors, which are added."""
    out = library.writer.Writer(str(folder), timer_resolution=_TICKS)
    try:
        _Archive(library, out, trace).write()
        out.close()
    except library.reader._otf2.Error as error:
        errors.append(error.description)
    finally:
        out._handle = None  # it would close itself once more


def lacking(trace: Trace) -> str:
    """A sentence of what an archive does not hold of a trace; "": it holds all calls."""
    beside = sum(len(group) for group in trace.overlapping)
    cut = sum(int((~group.whole()).sum()) for group in trace.groups)
    parts = [f"{beside:,} non-blocking collectives"] if beside else []
    parts += [f"{cut:,} collectives of which not all ranks are known"] if cut else []
    said = [f"the archive lacks {' and '.join(parts)}"] if parts else []
    said += [] if has_all_messages(trace) else [f"the archive has {NO_MESSAGES}"]
    return "; ".join(said)


@contextmanager
def _errors(otf2: Any) -> Iterator[list[str]]:
    """The errors that OTF2's library tells of: not all of them come back from its functions."""
    codes, register = otf2.ErrorCodes, otf2.Config.conf.lib.OTF2_Error_RegisterCallback
    found: list[str] = []

    def note(*words: Any) -> int:
        code: int = words[4]
        if code > 0:
            found.append(codes.Error_GetDescription(codes.ErrorCode(code)))
        return code

    kept = _CALLBACK(note)
    register(kept, None)
    try:
        yield found
    finally:
        register(None, None)


class _Archive:
    """An archive that is being written: its definitions, and the events of each rank."""

    def __init__(self, library: Any, out: Any, trace: Trace) -> None:
        self.library, self.out, self.trace = library, out, trace
        self.whole = [np.flatnonzero(group.whole()) for group in trace.groups]
        self.places: list[list[tuple[int, int]]] = [[] for _ in trace.hosts]
        for number, group in enumerate(trace.groups):
            for place, rank in enumerate(group.members.tolist()):
                self.places[rank].append((number, place))
        self.rows = self._rows()
        self.locations = self._locations()
        self.named: dict[tuple[str, bool], Any] = {}
        self.communicators = self._communicators()
        if trace.messages is not None:
            members = tuple(self.locations)
            kind, mpi = library.GroupType.COMM_GROUP, library.Paradigm.MPI
            of = out.definitions.group("", group_type=kind, paradigm=mpi, members=members)
            self.all = out.definitions.comm("messages", group=of)
        role, mpi = library.RegionRole.COLL_OTHER, library.Paradigm.MPI
        used = {int(each) for group in trace.groups for each in np.unique(group.collective)}
        self.regions = {
            each: out.definitions.region(
                f"MPI_{trace.words[each].capitalize()}", region_role=role, paradigm=mpi
            )
            for each in used
        }
        by_name = {ours: theirs for theirs, ours in reversed(NAMES.items())}
        self.kinds = {each: getattr(library.CollectiveOp, by_name.get(trace.words[each], _OTHERS))
                      for each in used}  # fmt: skip

    def _locations(self) -> list[Any]:
        define = self.out.definitions
        machine = define.system_tree_node("machine")
        hosts = dict.fromkeys(self.trace.hosts)
        nodes = {host: define.system_tree_node(host, parent=machine) for host in hosts}
        found = []
        for rank, host in enumerate(self.trace.hosts):
            process = define.location_group(f"MPI Rank {rank}", system_tree_parent=nodes[host])
            found.append(define.location("Master thread", group=process))
        return found

    def _communicators(self) -> list[Any]:
        define, library = self.out.definitions, self.library
        mpi, kinds = library.Paradigm.MPI, library.GroupType
        define.group(
            "", group_type=kinds.COMM_LOCATIONS, paradigm=mpi, members=tuple(self.locations)
        )
        found = []
        for group in self.trace.groups:
            members = tuple(self.locations[int(rank)] for rank in group.members)
            of = define.group("", group_type=kinds.COMM_GROUP, paradigm=mpi, members=members)
            found.append(define.comm(group.name, group=of))
        return found

    def _rows(self) -> dict[str, dict[int, Int64s]]:
        """By rank the places of its sends, receives, probes and other waits."""
        messages, others = self.trace.messages, self.trace.others
        parts: dict[str, Any] = {"others": others}
        if messages is not None:
            parts |= {"send": messages.send, "receive": messages.receive,
                      "probes": messages.probes.side}  # fmt: skip
        return {name: dict(rows_of(part.rank)) for name, part in parts.items() if part is not None}

    def _own(self, what: str, rank: int) -> Int64s:
        return self.rows[what].get(rank, np.zeros(0, np.int64))

    def write(self) -> None:
        """All events: a rank's calls in the order of time, none before the one before has ended."""
        begin, end = (_ticks(times, nothing=-1) for times in (self.trace.begin, ends(self.trace)))
        for rank, location in enumerate(self.locations):
            writer = self.out.event_writer_from_location(location)
            free = max(begin[rank], 0)
            if begin[rank] >= 0:
                writer.enter(free, self._region("program"))
            for arrival, leave, site, write in sorted(self._calls(rank), key=lambda call: call[:2]):
                start = max(arrival, free)
                free = max(leave, start)
                if site:
                    writer.enter(start, self._region(site))
                write(writer, start, free)
                if site:
                    writer.leave(free, self._region(site))
            if begin[rank] >= 0:
                writer.leave(max(end[rank], free), self._region("program"))

    def _region(self, name: str, *, of_mpi: bool = False) -> Any:
        library = self.library
        if (name, of_mpi) not in self.named:
            self.named[name, of_mpi] = self.out.definitions.region(
                name, paradigm=library.Paradigm.MPI if of_mpi else library.Paradigm.USER
            )
        return self.named[name, of_mpi]

    def _calls(self, rank: int) -> Iterator[_Call]:
        for number, place in self.places[rank]:
            group, known = self.trace.groups[number], self.whole[number]
            times = group.times(known, np.array([place]))
            for arrival, leave, call in zip(*(_ticks(each[:, 0]) for each in times),
                                            known.tolist(), strict=True):  # fmt: skip
                site = self.trace.words[int(group.site[call])]
                yield arrival, leave, site, partial(self._write_call, number, call)
        yield from self._messages(rank)

    def _messages(self, rank: int) -> Iterator[_Call]:
        """The calls of a rank that begin or complete messages, or wait for what is not known."""
        messages, others, words = self.trace.messages, self.trace.others, self.trace.words
        completed: dict[tuple[int, int, str], list[tuple[int, bool, bool, _What]]] = {}
        if messages is not None:
            sides = (True, "send", messages.send), (False, "receive", messages.receive)
            for sends, name, side in sides:
                own = self._own(name, rank)
                times = (_ticks(each[own]) for each in (side.posted, side.begin, side.end))
                for message, posted, begin, end in zip(own.tolist(), *times, strict=True):
                    site = words[int(side.site[message])]
                    call = completed.setdefault((begin, end, site), [])
                    what = self._what(messages, message, sends)
                    call.append((message, sends, posted < begin, what))
                    if posted < begin:
                        yield posted, posted, site, partial(self._begin, message, sends, what)
            for (begin, end, site), those in completed.items():
                yield begin, end, site, partial(self._complete, those)
            side, own = messages.probes.side, self._own("probes", rank)
            yield from self._unknown("MPI_Probe", side.begin[own], side.end[own])
        if others is not None:
            own = self._own("others", rank)
            yield from self._unknown("MPI_Test", others.begin[own], others.end[own])

    def _unknown(self, name: str, begin: Floats, end: Floats) -> Iterator[_Call]:
        region = self._region(name, of_mpi=True)

        def write(writer: Any, start: int, free: int) -> None:
            writer.enter(start, region)
            writer.leave(free, region)

        for each in zip(_ticks(begin), _ticks(end), strict=True):
            yield *each, "", write

    def _begin(
        self, message: int, sends: bool, what: _What, writer: Any, begin: int, end: int
    ) -> None:
        region = self._region("MPI_Isend" if sends else "MPI_Irecv", of_mpi=True)
        writer.enter(begin, region)
        if sends:
            writer.mpi_isend(begin, *what, 2 * message)
        else:
            writer.mpi_irecv_request(begin, 2 * message + 1)
        writer.leave(end, region)

    def _complete(
        self, those: Sequence[tuple[int, bool, bool, _What]], writer: Any, begin: int, end: int
    ) -> None:
        """One call, which completes these: messages, whether they are sent, and begun before."""
        _, sends, before, _ = those[0]
        name = "MPI_Waitall" if before or len(those) > 1 else "MPI_Send" if sends else "MPI_Recv"
        region = self._region(name, of_mpi=True)
        writer.enter(begin, region)
        for message, is_sent, was_begun, what in those:
            if is_sent and was_begun:
                writer.mpi_isend_complete(end, 2 * message)
            elif is_sent:
                writer.mpi_send(end, *what)
            elif was_begun:
                writer.mpi_irecv(end, *what, 2 * message + 1)
            else:
                writer.mpi_recv(end, *what)
        writer.leave(end, region)

    def _what(self, messages: Messages, message: int, sends: bool) -> _What:
        peer = (messages.receive if sends else messages.send).rank[message]
        return int(peer), self.all, message % (1 << 31), max(int(messages.bytes[message]), 0)

    def _write_call(self, number: int, call: int, writer: Any, begin: int, end: int) -> None:
        group = self.trace.groups[number]
        word = int(group.collective[call])
        root = int(group.root[call])
        none = self.library.Undefined.UINT32.value
        rooted = root >= 0 and self.trace.words[word] in ROOTED
        size = max(int(group.bytes[call]), 0)
        writer.enter(begin, self.regions[word])
        writer.mpi_collective_begin(begin)
        writer.mpi_collective_end(end, self.kinds[word], self.communicators[number],
                                  root if rooted else none, size, size)  # fmt: skip
        writer.leave(end, self.regions[word])


def _ticks(seconds: Floats, nothing: int = 0) -> list[int]:
    whole = np.round(np.maximum(np.nan_to_num(seconds, nan=0.0), 0.0) * _TICKS).astype(np.int64)
    ticks: list[int] = np.where(np.isfinite(seconds), whole, nothing).tolist()
    return ticks
