"""Reads dumps of PyTorch's flight recorder, a file a rank: who hangs, and who came last.

Where the device's time of calls was recorded, lateness is told by it. Else by when the program
asked for a call: by the clocks of the ranks' hosts. Dumps do not name these, so the files of each
host may be in a folder of its name; the calls bound how far apart other clocks are.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from . import durations, flight_dump, rank_names
from .calls import Call, Recorded, with_members
from .contradictions import CONTRADICTING, contradicting
from .files import find
from .flight_dump import Dump, Entry
from .hanging import hanging
from .left_out import LeftOut
from .matching import joined
from .model import Trace, TraceError

MOST_ENTRIES = 1 << 22  # of all files
_FORM = "PyTorch flight recorder"
_NAMED = re.compile(r".*trace_rank_?\d+(?:\.(?:json|pickle|pkl))?", re.I)
_TOLD = 0.5  # of a rank's calls: if so many have a length, lengths tell
_RESOLUTION = 1e-6  # seconds, of lengths: those of a device's events
_BY_TIME = ("times are those at which the program asked for a call, and at which a thread that "
            "looks now and then saw its end")  # fmt: skip
_TIMING = "; set TORCH_NCCL_ENABLE_TIMING=1 to know what the device took"


def fits(name: str) -> bool:
    """Tell whether a file is named as PyTorch names a dump: nccl_trace_rank_3, or with .json."""
    return _NAMED.fullmatch(name) is not None


def read(folder: str | Path) -> Trace:
    """The trace in a folder of dumps. Raises TraceError where fewer than two ranks tell of a
    call: it says what hangs, if something does."""
    folder, left = Path(folder), LeftOut()
    dumps, listed = _dumps(folder, left)
    dumps = _agreed(dumps)
    where, hang = hanging(dumps)
    ranks = max(listed, 1 + max(dumps, default=-1))
    calls = {rank: [each for each in dump.entries if _of_use(each, dump, ranks, left)]
             for rank, dump in dumps.items()}  # fmt: skip
    try:
        trace = _by_length(folder, dumps, calls, ranks, left)
        trace = trace or _by_time(folder, dumps, calls, ranks, left)
    except TraceError as error:
        if not where:
            raise
        raise TraceError(error.what, f"{error.value}; {'; '.join(where)}", error.remedy) from None
    return replace(trace, inputs=[dump.path for dump in dumps.values()],
                   hang=hang, remarks=[*where, *trace.remarks])  # fmt: skip


def _dumps(folder: Path, left: LeftOut) -> tuple[dict[int, Dump], int]:
    """The newest dump of each rank, and the number of ranks by their lists.

    Raises TraceError where they are too much.
    """
    read, count = dict[Path, Dump](), 0
    for path in find(folder, fits, left):
        try:
            dump = flight_dump.read(path, left)
        except (TraceError, OSError) as error:
            left.add("files that cannot be used", error)
            continue
        count += len(dump.entries)
        if count > MOST_ENTRIES:
            raise TraceError(f"{folder}: calls of all dumps", f"more than {MOST_ENTRIES}",
                             "set TORCH_NCCL_TRACE_BUFFER_SIZE to less")  # fmt: skip
        read[path] = dump
    found = dict[int, Dump]()
    listed = rank_names.listed([dump.members.values() for dump in read.values()])
    for path, rank in rank_names.ranks(folder, [*read], max(listed, len(read)), left).items():
        dump = read[path]
        if rank in found:
            older, dump = sorted((found[rank], dump), key=_newest)
            left.add("older files of a rank", older.path)
        found[rank] = dump
    return found, listed


def _agreed(dumps: Mapping[int, Dump]) -> dict[int, Dump]:
    """With the members of each group as most ranks list them; a rank's own list may be wrong.

    Gloo lists none of the group of all ranks, which PyTorch describes as default_pg.
    """
    said = Counter(each for dump in dumps.values() for each in dump.members.items())
    fits: dict[tuple[int, str], tuple[int, ...]] = {}
    for (name, members), _ in reversed(said.most_common()):
        fits |= {(rank, name): members for rank in members if rank in dumps}
    everyone = tuple(sorted(dumps))
    of_all = {name: everyone for dump in dumps.values() for name, said in dump.about.items()
              if said == "default_pg"}  # fmt: skip
    own = {rank: dict(of_all) for rank in dumps}
    for (rank, name), members in fits.items():
        own[rank][name] = members
    return {rank: replace(dump, members=own[rank]) for rank, dump in dumps.items()}


def _newest(dump: Dump) -> int:
    return max((each.created for each in dump.entries), default=0)


def _of_use(entry: Entry, dump: Dump, ranks: int, left: LeftOut) -> bool:
    last = (dump.members.get(entry.group) or (0,))[-1]
    if entry.message:
        left.add("messages between two ranks", dump.path, entry.said)
    elif not entry.collective:
        left.add("calls of no known collective", dump.path, entry.said)
    elif last >= ranks:
        left.add("calls of groups of which no other dump has such ranks", dump.path,
                 f"group {entry.group!r} has rank {last}")  # fmt: skip
        return False
    return bool(entry.collective)


def _by_length(
    folder: Path,
    dumps: Mapping[int, Dump],
    calls: Mapping[int, list[Entry]],
    ranks: int,
    left: LeftOut,
) -> Trace | None:
    """By what the device took; None where that is not known of most calls of each rank."""
    timed = {rank: [each for each in own if not math.isnan(each.length)]
             for rank, own in calls.items()}  # fmt: skip
    if any(len(own) < _TOLD * len(calls[rank]) or not own for rank, own in timed.items()):
        return None
    found: dict[tuple[str, tuple[int, ...]], dict[str, dict[int, dict[int, Entry]]]] = {}
    for rank, own in timed.items():
        for each in own:
            members = dumps[rank].members.get(each.group) or tuple(sorted(dumps))
            if rank in members:
                of = found.setdefault((each.group, members), {}).setdefault(each.collective, {})
                of.setdefault(rank, {}).setdefault(each.number, each)
    shown: dict[str, tuple[tuple[int, ...], durations.Kinds]] = {}
    for (name, members), kinds in found.items():
        again = sum(each == name for each, _ in found) > 1
        said = with_members(name, members) if again else name
        while said in shown:
            said += ", ..."
        shown[said] = members, {kind: {rank: _lengths(own) for rank, own in of.items()}
                                for kind, of in kinds.items()}  # fmt: skip
    hosts = ["?" if rank in dumps else None for rank in range(ranks)]
    return durations.trace_of(str(folder), _FORM, hosts, shown, _RESOLUTION, [], left)


def _in_order(own: list[Entry], dump: Dump, left: LeftOut) -> list[Entry]:
    """Without the few calls that were not asked for between those before and after them."""
    created = np.array([each.created or math.nan for each in own], float)
    odd = set(contradicting(created, created).tolist())
    if odd:
        left.add(CONTRADICTING, dump.path, f"entry {own[min(odd)].order}", len(odd))
    if early := sum(0 < each.completed < each.created for each in own):
        left.doubt("ends of calls, which were seen before the program asked for them", dump.path,
                   early)  # fmt: skip
    return [each for at, each in enumerate(own) if at not in odd]


def _lengths(own: Mapping[int, Entry]) -> durations.Lengths:
    number = np.array(sorted(own), np.int64)
    some = [own[each] for each in number.tolist()]
    return durations.Lengths(
        number=number,
        seconds=np.array([each.length for each in some]),
        bytes=np.array([each.bytes for each in some], np.int64),
        place=number,
    )


def _by_time(
    folder: Path,
    dumps: Mapping[int, Dump],
    calls: Mapping[int, list[Entry]],
    ranks: int,
    left: LeftOut,
) -> Trace:
    """By when the program asked for a call. Raises TraceError."""
    base = min((each.created for own in calls.values() for each in own if each.created), default=0)

    def seconds(time: int) -> float:
        return (time - base) * 1e-9 if time else math.nan

    recorded = []
    for rank, all_own in calls.items():
        own = _in_order(all_own, dumps[rank], left)
        made = [
            Call(each.group, each.number, each.collective, each.bytes, seconds(each.created),
                 seconds(each.completed if each.completed >= each.created else 0),
                 dumps[rank].members.get(each.group, ()), site=each.site)
            for each in own
        ]  # fmt: skip
        times = np.array([[call.arrival, call.exit] for call in made]).reshape(-1, 2)
        known = times[np.isfinite(times)]
        begin, end = (known.min(), known.max()) if len(known) else (math.nan, math.nan)
        path = dumps[rank].path
        host = "" if path.parent == folder else path.parent.name
        recorded.append(Recorded(str(path), rank, host, made, begin, end, of_device=True))
    trace = joined(str(folder), _FORM, ranks, recorded, left)
    timing = _TIMING if any(dump.nccl for dump in dumps.values()) else ""
    return replace(trace, remarks=[_BY_TIME + timing, *trace.remarks])
