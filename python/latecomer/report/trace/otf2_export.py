"""Writes a trace as an OTF2 archive, for Vampir, Scalasca and others, by the Python module otf2."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .model import Trace, TraceError
from .otf2_archive import NAMES, ROOTED, module

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TICKS = 10**9  # a second
_OTHERS = "ALLTOALLW"  # stands for collectives that OTF2 has no name for


def otf2(trace: Trace, folder: Path) -> None:
    """The calls that are known on all their ranks, in a new folder. Raises TraceError.

    Each call is a region with the collective's name and an MPI collective in it. Readers count the
    calls of a communicator to match them, so that a call that one rank lacks would shift the rest.
    """
    if folder.exists():
        raise TraceError("the folder of an OTF2 archive exists", folder, "name a new one")
    library = module(folder)
    with library.writer.open(str(folder), timer_resolution=_TICKS) as out:
        _Archive(library, out, trace).write()


class _Archive:
    """An archive that is being written: its definitions, and the events of each rank."""

    def __init__(self, library: Any, out: Any, trace: Trace) -> None:
        self.library, self.out, self.trace = library, out, trace
        self.whole = [np.flatnonzero(group.whole()) for group in trace.groups]
        self.locations = self._locations()
        self.communicators = self._communicators()
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

    def write(self) -> None:
        """All events: a rank's calls in the order of time, none before the one before has ended."""
        for rank, location in enumerate(self.locations):
            writer = self.out.event_writer_from_location(location)
            free = 0
            for arrival, leave, group, call in self._calls(rank):
                begin = max(arrival, free)
                free = max(leave, begin)
                self._write_call(writer, group, call, begin, free)

    def _calls(self, rank: int) -> list[tuple[int, int, int, int]]:
        """Arrival and exit in ticks, the group's and the call's number."""
        found: list[tuple[int, int, int, int]] = []
        for number, group in enumerate(self.trace.groups):
            known = self.whole[number]
            for place in np.flatnonzero(group.members == rank):
                times = group.times(known, np.array([place]))
                ticks = (_ticks(each[:, 0]) for each in times)
                found += zip(*ticks, [number] * len(known), known.tolist(), strict=True)
        return sorted(found)

    def _write_call(self, writer: Any, number: int, call: int, begin: int, end: int) -> None:
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


def _ticks(seconds: NDArray[np.float64]) -> list[int]:
    return np.round(np.maximum(seconds, 0.0) * _TICKS).astype(np.int64).tolist()
