"""Reads OTF2 archives, as Score-P and Open MPI's tools write them, by the Python module otf2.

The file format is read by OTF2's own library, which damaged archives may end or stop for ever: it
does so in a process of its own. Counts and definitions are checked here; calls that are wrong are
left out and counted.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from .alone import EndedError, alone
from .calls import Call, Recorded
from .dtypes import collective_of
from .files import find
from .left_out import LeftOut
from .matching import joined
from .model import UNKNOWN, Trace, TraceError, text_of
from .native_messages import remarks_on
from .otf2_messages import Events, Found, Members, found_of, messages_of

MOST_EVENTS = 200_000_000
MOST_CALLS = 20_000_000
STILL = 60.0  # seconds without a step of its library
_DATA = {".def", ".evt"}  # files beside the anchor
_A_WHILE = 10_000  # events
_UNDEFINED = "ranks whose definitions OTF2 cannot read"
_WHOLE = "a whole archive, with the folder `traces` beside the file"
NAMES = {name: collective_of(name) for name in (
    "BARRIER", "BCAST", "GATHER", "GATHERV", "SCATTER", "SCATTERV", "ALLGATHER", "ALLGATHERV",
    "ALLTOALL", "ALLTOALLV", "ALLTOALLW", "ALLREDUCE", "REDUCE", "REDUCE_SCATTER",
    "REDUCE_SCATTER_BLOCK",
)}  # fmt: skip
ROOTED = {"bcast", "gather", "scatter", "reduce"}


def fits(name: str) -> bool:
    """Tell whether a file of that name may be an archive's anchor file."""
    return name.endswith(".otf2")


def read(folder: str | Path) -> Trace:
    """The trace in an archive's folder. Raises TraceError, which says what to install."""
    folder, left = Path(folder), LeftOut()
    anchors = find(folder, fits, left)
    if len(anchors) != 1:
        names = ", ".join(path.name for path in anchors[:4]) or left.said() or "none"
        raise TraceError(f"{folder}: files that end in .otf2", f"{len(anchors)} ({names})",
                         "one archive a folder")  # fmt: skip
    otf2 = module(anchors[0])
    ranks, recorded, found, more = _read(anchors[0], otf2)
    talks = any(len(own.receives) for own in found.values())
    trace = joined(str(folder), "OTF2", ranks, recorded, more,
                   partial(messages_of, found) if talks else None)  # fmt: skip
    if not trace.groups and not trace.messages:
        told = f"none ({'; '.join(trace.remarks)})"
        raise TraceError(f"{folder}: collectives and messages", told,
                         "trace the same steps on all ranks")  # fmt: skip
    data = [path for path in anchors[0].parent.rglob("*") if path.suffix in _DATA]
    return replace(trace, inputs=[*anchors, *data],
                   remarks=[*trace.remarks, *remarks_on(trace.messages)])  # fmt: skip


def module(anchor: Path) -> ModuleType:
    """The Python module otf2. Raises TraceError, which names the archive."""
    try:
        import otf2
        import otf2.reader
        import otf2.writer
    except ImportError as error:
        remedy = f"install it for {sys.executable}: pip install otf2"
        raise TraceError(f"{anchor}: the Python module otf2 is needed", error, remedy) from None
    found: ModuleType = otf2
    return found


_OfRanks = tuple[list[Recorded], dict[int, Found], LeftOut]
_Found = tuple[int, list[Recorded], dict[int, Found], LeftOut]
_Places = list[int]  # the locations of ranks, by rank


def _read(anchor: Path, otf2: ModuleType) -> _Found:
    """The number of ranks, what they recorded, their messages, and what is left out."""
    found: _OfRanks | None = None
    try:
        places, found = alone(anchor, partial(_recorded, anchor, otf2, None), STILL)
    except EndedError:
        places = alone(anchor, partial(_places, anchor, otf2), STILL)
    if found is not None:
        return len(places), *found
    # A damaged file ends the events of all ranks: each rank is read by itself. Its process is new,
    # for behind a cut the library may take what its memory holds of another file for events.
    left, recorded, messages = LeftOut(), list[Recorded](), dict[int, Found]()
    for rank, place in enumerate(places):
        try:
            _, own = alone(anchor, partial(_recorded, anchor, otf2, rank), STILL)
        except TraceError as error:
            file = f"{_file(anchor, f'{place}.def')} or {_file(anchor, f'{place}.evt')}"
            left.add("ranks that OTF2 cannot read", f"rank {rank}, {file}", error)
            continue
        if own is not None:
            recorded += own[0]
            messages |= own[1]
            left.also(own[2])
        if sum(len(each.calls) for each in recorded) > MOST_CALLS:
            raise _too_many(anchor, "calls", MOST_CALLS)
    talks = any(len(own.sends) or len(own.receives) for own in messages.values())
    if not talks and not any(each.calls for each in recorded):
        raise TraceError(f"{anchor}: OTF2 can read no rank's events", left.said() or "none", _WHOLE)
    return len(places), recorded, messages, left


@contextmanager
def _opened(anchor: Path, otf2: ModuleType) -> Iterator[Any]:
    """A reader, which has read the definitions of all ranks. Raises TraceError."""
    library = otf2.reader._otf2
    at: Path = anchor
    try:
        library.Reader_Close(library.Reader_Open(str(anchor)))
        at = anchor.with_suffix(".def")
        reader = otf2.reader.Reader(str(anchor))
    except Exception as error:
        raise TraceError(f"{at}: OTF2 cannot read it", _said(error), _WHOLE) from None
    with closing(reader):
        yield reader


def _said(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__)[:200]


def _places(anchor: Path, otf2: ModuleType, still: Callable[[], None]) -> _Places:
    with _opened(anchor, otf2) as reader:
        still()
        return [place._ref for place in _ranks(anchor, reader, otf2)]


def _recorded(
    anchor: Path, otf2: ModuleType, only: int | None, still: Callable[[], None]
) -> tuple[_Places, _OfRanks | None]:
    """The ranks' places, and what all of them or `only` one recorded, as far as it can be read.

    None: the file of one of them cannot be read. `still`: work goes on.
    """
    with _opened(anchor, otf2) as reader:
        still()
        left = LeftOut()
        taken = _Taken(anchor, otf2, reader, left)
        places = [place._ref for place in taken.ranks]
        some = {place: rank for place, rank in taken.ranks.items() if only in (None, rank)
                and not _without_definitions(anchor, place._ref, left)}  # fmt: skip
        whole = True
        if only is not None:
            reader.events(list(some))
        try:
            taken.take(_until_damage(reader.events), some, still)
        except TraceError:
            raise
        except Exception as error:
            if only is None:
                return places, None
            whole = False
            for place in some:
                _blame(anchor, otf2, place._ref, _said(error), left)
        recorded = []
        for place, rank in some.items():
            begin, end, count = taken.spans.get(rank, [*2 * [float("nan")], 0.0])
            # Behind a cut the library may see an end in what its memory holds.
            if whole and count < place.number_of_events:
                left.add("ranks some of whose events cannot be read",
                         _file(anchor, f"{place._ref}.evt"))  # fmt: skip
            host, calls = text_of(place.group.system_tree_parent.name), taken.calls[rank]
            recorded.append(Recorded(f"{anchor}, rank {rank}", rank, host, calls, begin, end))
        members, events = taken.members, taken.events
        found = {rank: found_of(rank, events.of(rank), members.of, left) for rank in some.values()}
        return places, (recorded, found, left)


def _blame(anchor: Path, otf2: ModuleType, location: int, why: str, left: LeftOut) -> None:
    """Name the file of one location that cannot be read."""
    if _definitions_read(anchor, otf2, location):
        left.add("ends of ranks' event files, which OTF2 cannot read",
                 _file(anchor, f"{location}.evt"), why)  # fmt: skip
    else:
        left.add(_UNDEFINED, _file(anchor, f"{location}.def"), why)


def _until_damage(events: Iterator[Any]) -> Iterator[Any]:
    """Events in the order of time. Where they end in an error, the last one may be half an event.

    Raises ValueError where time falls: behind a cut the library repeats what was before it.
    """
    before = None
    for each in events:
        if before is not None:
            if each[1].time < before[1].time:
                raise ValueError("the file was cut")
            yield before
        before = each
    if before is not None:
        yield before


def _without_definitions(anchor: Path, location: int, left: LeftOut) -> bool:
    """Tell if the file of a location's own definitions has no header, and OTF2 accepts that."""
    path = _file(anchor, f"{location}.def")
    empty = path.is_file() and path.stat().st_size < 2
    if empty:
        left.add(_UNDEFINED, path, "the file is empty")
    return empty


def _file(anchor: Path, name: str) -> Path:
    """A file of one rank; the anchor, where the archive keeps those of all ranks together."""
    path = anchor.with_suffix("") / name
    return path if path.parent.is_dir() else anchor


def _definitions_read(anchor: Path, otf2: ModuleType, location: int) -> bool:
    """Tell if the definitions of one location can be read. Without a file of them, they can."""
    library = otf2.reader._otf2
    with _opened(anchor, otf2) as reader:
        library.Reader_SelectLocation(reader.handle, location)
        with suppress(library.Error):
            library.Reader_OpenDefFiles(reader.handle)
        try:
            own = library.Reader_GetDefReader(reader.handle, location)
            if own:
                library.Reader_ReadAllLocalDefinitions(reader.handle, own)
        except library.Error:
            return False
    return True


def _too_many(anchor: Path, what: str, most: int) -> TraceError:
    return TraceError(f"{anchor}: {what}", f"more than {most}", "trace fewer steps")


def _ranks(anchor: Path, reader: Any, otf2: ModuleType) -> dict[Any, int]:
    """The rank of each location that takes part in MPI."""
    for group in reader.definitions.groups:
        of_mpi = group.paradigm == otf2.Paradigm.MPI
        if of_mpi and group.group_type == otf2.GroupType.COMM_LOCATIONS:
            return {location: rank for rank, location in enumerate(group.members)}
    raise TraceError(f"{anchor}: locations of MPI", "none", "a trace of an MPI program")


class _Taken:
    """The events of the ranks of an archive: calls of collectives, and all else in `events`."""

    def __init__(self, anchor: Path, otf2: ModuleType, reader: Any, left: LeftOut) -> None:
        """Raise TraceError for an archive without ranks or ticks."""
        self.anchor, self.otf2, self.left = anchor, otf2, left
        self.ranks = _ranks(anchor, reader, otf2)
        if reader.timer_resolution <= 0:
            raise TraceError(f"{anchor}: ticks a second", reader.timer_resolution,
                             "a positive number")  # fmt: skip
        self._tick = 1.0 / reader.timer_resolution
        self._origin = int(reader.definitions.clock_properties.global_offset)
        self.members, self.events = _Members(self.ranks, otf2), Events(otf2, left, str(anchor))
        self.calls: dict[int, list[Call]] = defaultdict(list)  # by rank
        self.spans: dict[int, list[float]] = {}  # by rank: begin and end of its events, and number
        self._begun: dict[int, float] = {}
        self._found = 0
        self._known = {getattr(otf2.CollectiveOp, name).value: ours for name, ours in NAMES.items()}

    def take(
        self, events: Iterator[Any], some: Mapping[Any, int], still: Callable[[], None]
    ) -> None:
        """The events of `some` locations, whose ranks these are. Raises TraceError if too many."""
        for count, (place, event) in enumerate(events):
            if count > MOST_EVENTS:
                raise _too_many(self.anchor, "events", MOST_EVENTS)
            if count % _A_WHILE == 0:
                still()
            if place in some:
                self._one(some[place], event)

    def _one(self, rank: int, event: Any) -> None:
        time = (event.time - self._origin) * self._tick
        span = self.spans.setdefault(rank, [time, time, 0.0])
        span[1] = max(span[1], time)
        span[2] += 1
        if isinstance(event, self.otf2.events.MpiCollectiveBegin):
            self._begun[rank] = time
        elif isinstance(event, self.otf2.events.MpiCollectiveEnd):
            self._end(rank, event, self._begun.pop(rank, None), time)
        else:
            self.events.take(rank, event, time)

    def _end(self, rank: int, event: Any, arrival: float | None, time: float) -> None:
        """Keep the call that ends in an event, unless it is wrong, which is counted."""
        where = f"{self.anchor}, rank {rank}, {time:.9g} s"
        members, talk = self.members.of(event.communicator), self.events.of(rank)
        collective = self._known.get(event.collective_op.value)
        if members is not None and len(members.ranks) < 2:
            talk.told()
        elif collective is None:
            self.left.add("collectives that have no known name", where, event.collective_op)
        elif arrival is None:
            self.left.add("collectives without a beginning", where, collective)
        elif members is None or not members.different:
            self.left.add("collectives of communicators whose members are no different ranks",
                          where, collective)  # fmt: skip
        else:
            self._found += 1
            if self._found > MOST_CALLS:
                raise _too_many(self.anchor, "calls", MOST_CALLS)
            communicator = event.communicator
            size = max(int(event.size_sent), int(event.size_received))
            self.calls[rank].append(Call(
                # A name that no other communicator has.
                group=text_of(f"{communicator.name or 'communicator'} #{communicator._ref}"),
                members=members.ranks,
                sequence=UNKNOWN,
                collective=collective,
                bytes=size if size < 1 << 62 else UNKNOWN,
                arrival=arrival,
                exit=time,
                root=_root(event, self.otf2) if collective in ROOTED else UNKNOWN,
                site=talk.site,
            ))  # fmt: skip
            talk.told()


class _Members:
    """The ranks of communicators, each made once."""

    def __init__(self, ranks: dict[Any, int], otf2: ModuleType) -> None:
        self.ranks, self.alone = ranks, otf2.GroupType.COMM_SELF
        self.found: dict[Any, Members] = {}

    def of(self, communicator: Any) -> Members | None:
        """None: nothing is said."""
        group = getattr(communicator, "group", None)
        if group is None:
            return None
        if group.group_type == self.alone:
            return Members((0,))
        if group not in self.found:
            self.found[group] = Members(tuple(self.ranks.get(each, -1) for each in group.members))
        return self.found[group]


def _root(event: Any, otf2: ModuleType) -> int:
    root = int(event.root)
    return root if root < otf2.Undefined.UINT32.value and root < 1 << 31 else UNKNOWN
