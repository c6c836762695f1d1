"""Reads OTF2 archives, as Score-P and Open MPI's tools write them, by the Python module otf2.

The file format is read by OTF2's own library, which is trusted with it: read archives of strangers
with care. Counts and definitions are checked here.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .matching import Call, Recorded, joined
from .model import UNKNOWN, Trace, TraceError

if TYPE_CHECKING:
    from types import ModuleType

MOST_EVENTS = 200_000_000
MOST_CALLS = 20_000_000
NAMES = {
    "BARRIER": "barrier", "BCAST": "bcast", "GATHER": "gather", "GATHERV": "gather",
    "SCATTER": "scatter", "SCATTERV": "scatter", "ALLGATHER": "allgather",
    "ALLGATHERV": "allgatherv", "ALLTOALL": "alltoall", "ALLTOALLV": "alltoallv",
    "ALLTOALLW": "alltoallv", "ALLREDUCE": "allreduce", "REDUCE": "reduce",
    "REDUCE_SCATTER": "reduce_scatter", "REDUCE_SCATTER_BLOCK": "reduce_scatter",
}  # fmt: skip
ROOTED = {"bcast", "gather", "scatter", "reduce"}


def is_archive(folder: Path) -> bool:
    """Tell whether the folder holds an archive's anchor file."""
    return folder.is_dir() and any(folder.glob("*.otf2"))


def read(folder: str | Path) -> Trace:
    """The trace in an archive's folder. Raises TraceError, which says what to install."""
    folder = Path(folder)
    anchors = sorted(folder.glob("*.otf2"))
    if len(anchors) != 1:
        raise TraceError(f"{folder}: files that end in .otf2", len(anchors), "one archive a folder")
    otf2 = module(anchors[0])
    before = signal.getsignal(signal.SIGINT)
    try:
        with otf2.reader.open(str(anchors[0])) as reader:
            return _read(str(folder), anchors[0], reader, otf2)
    except TraceError:
        raise
    except Exception as error:
        said = str(error).strip() or type(error).__name__
        remedy = "a whole archive, with the folder `traces` beside the file"
        raise TraceError(f"{anchors[0]}: OTF2 cannot read it", said[:200], remedy) from None
    finally:
        signal.signal(signal.SIGINT, before)


def module(anchor: Path) -> ModuleType:
    """The Python module otf2. Raises TraceError, which names the archive."""
    try:
        import otf2
        import otf2.reader
        import otf2.writer
    except ImportError as error:
        remedy = f"install it for {sys.executable}: pip install otf2"
        raise TraceError(f"{anchor}: the Python module otf2 is needed", error, remedy) from None
    return otf2


def _read(source: str, anchor: Path, reader: Any, otf2: ModuleType) -> Trace:
    ranks = _ranks(anchor, reader, otf2)
    tick = 1.0 / _positive(anchor, reader.timer_resolution)
    origin = int(reader.definitions.clock_properties.global_offset)
    calls: dict[int, list[Call]] = {rank: [] for rank in ranks.values()}
    spans: dict[int, list[float]] = {}
    members: dict[str, tuple[int, ...]] = {}
    for rank, group, call in _calls(anchor, reader, otf2, ranks, (tick, origin), spans, members):
        calls[rank].append(call)
        members.setdefault(call.group, group)
    recorded = []
    for location, rank in ranks.items():
        begin, end = spans.get(rank, [0.0, 0.0])
        own = {name: each for name, each in members.items() if rank in each}
        host = location.group.system_tree_parent.name
        recorded.append(Recorded(f"{anchor}, rank {rank}", rank, str(host)[:256], calls[rank], own,
                                 begin, end))  # fmt: skip
    return joined(source, "OTF2", len(ranks), recorded, [])


def _positive(anchor: Path, resolution: int) -> int:
    if resolution <= 0:
        raise TraceError(f"{anchor}: ticks a second", resolution, "a positive number")
    return resolution


def _ranks(anchor: Path, reader: Any, otf2: ModuleType) -> dict[Any, int]:
    """The rank of each location that takes part in MPI."""
    for group in reader.definitions.groups:
        of_mpi = group.paradigm == otf2.Paradigm.MPI
        if of_mpi and group.group_type == otf2.GroupType.COMM_LOCATIONS:
            return {location: rank for rank, location in enumerate(group.members)}
    raise TraceError(f"{anchor}: locations of MPI", "none", "a trace of an MPI program")


def _calls(
    anchor: Path,
    reader: Any,
    otf2: ModuleType,
    ranks: dict[Any, int],
    clock: tuple[float, int],
    spans: dict[int, list[float]],
    members: dict[str, tuple[int, ...]],
) -> Iterator[tuple[int, tuple[int, ...], Call]]:
    """Each call, with its rank and the members of its communicator."""
    tick, origin = clock
    begun: dict[int, float] = {}
    known = {getattr(otf2.CollectiveOp, name).value: ours for name, ours in NAMES.items()}
    found = 0
    for count, (location, event) in enumerate(reader.events):
        if count > MOST_EVENTS:
            raise TraceError(f"{anchor}: events", f"more than {MOST_EVENTS}", "trace fewer of them")
        rank = ranks.get(location)
        if rank is None:
            continue
        time = (event.time - origin) * tick
        span = spans.setdefault(rank, [time, time])
        span[1] = max(span[1], time)
        if isinstance(event, otf2.events.MpiCollectiveBegin):
            begun[rank] = time
        elif isinstance(event, otf2.events.MpiCollectiveEnd):
            collective = known.get(event.collective_op.value)
            group = getattr(event.communicator, "group", None)
            if rank not in begun or collective is None or group is None:
                continue
            if group.group_type == otf2.GroupType.COMM_SELF or len(group.members) < 2:
                continue
            found += 1
            if found > MOST_CALLS:
                raise TraceError(f"{anchor}: calls", f"more than {MOST_CALLS}", "trace fewer steps")
            name = _named(event.communicator)
            size = max(int(event.size_sent), int(event.size_received))
            of_group = members.get(name) or tuple(ranks[each] for each in group.members)
            yield (rank, of_group, Call(
                group=name,
                sequence=UNKNOWN,
                collective=collective,
                bytes=size if size < 1 << 62 else UNKNOWN,
                arrival=begun.pop(rank),
                exit=time,
                root=_root(event, otf2) if collective in ROOTED else UNKNOWN,
            ))  # fmt: skip


def _named(communicator: Any) -> str:
    """A name that no other communicator has."""
    return f"{communicator.name or 'communicator'} #{communicator._ref}"[:256]


def _root(event: Any, otf2: ModuleType) -> int:
    root = int(event.root)
    return root if root < otf2.Undefined.UINT32.value and root < 1 << 31 else UNKNOWN
