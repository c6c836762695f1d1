"""Reads PyTorch profiler traces: one Chrome JSON file a rank, as export_chrome_trace writes them.

Collectives of devices are kernels, those of the host events of threads; everything else in the file
only tells when the device was busy. Messages between two ranks are left out, and counted, as is
whatever is wrong: an event, a file, a rank. An error is raised where too little remains.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from . import chrome, device, gloo, rank_names
from .calls import Call, Recorded
from .events import MOST_RANKS, Events
from .files import find
from .json_numbers import whole
from .left_out import LeftOut
from .matching import joined
from .model import UNKNOWN, Trace, TraceError, text_of
from .same_run import best_set

MOST_CALLS = 1 << 23  # of all files
_WANTED = frozenset({"distributedInfo", "host_name", "baseTimeNanoseconds"})
_FURTHER = "further files of a rank, such as of another run or of other steps; keep one file a rank"
_ENDS = (".json", ".json.gz")


def fits(name: str) -> bool:
    """Tell whether a file of that name may be a profiler's trace."""
    return name.lower().endswith(_ENDS)


@dataclass
class _File:
    """One file's content."""

    path: Path
    rank: int | None  # as the file says
    world: int  # ranks; 0: it does not say
    base: int | None  # nanoseconds to be added to its times
    recorded: Recorded
    cut: bool  # its end is missing


def read(folder: str | Path) -> Trace:
    """The trace in a folder of profiler traces. Raises TraceError where fewer than two ranks have
    a usable one: it says what was found."""
    folder, left = Path(folder), LeftOut()
    paths = find(folder, fits, left)
    found, calls = [], 0
    for path in paths:
        try:
            each = _read(path, left)
        except (TraceError, OSError) as error:
            left.add("files that cannot be used", error)
            continue
        if each is None:
            left.add("files without a rank's collectives", path)
            continue
        found.append(each)
        calls += len(each.recorded.calls)
        if calls > MOST_CALLS:
            raise TraceError(f"{folder}: calls", f"more than {MOST_CALLS}", "profile fewer steps")
    ranked = _one_a_rank(folder, _of_one_job(_ranked(folder, found, left), left), left)
    if len(ranked) < 2:
        told = f"{sorted(ranked) or 'none'} of {len(paths)} files"
        raise TraceError(f"{folder}: ranks with a usable trace", f"{told} ({left.said()})"
                         if left.said() else told,
                         "right would be one file for each rank, named as in rank0.json: who is "
                         "late shows only side by side")  # fmt: skip
    ranks = _world(ranked)
    recorded = list(_on_one_base(ranked, left))
    trace = joined(str(folder), "PyTorch profiler", ranks, recorded, left)
    return replace(trace, inputs=[each.path for each in ranked.values()])


# ---- all files


def _ranked(folder: Path, found: Sequence[_File], left: LeftOut) -> list[tuple[int, _File]]:
    """The files whose rank is known: they say it, or their names do, or it is the only one that no
    other file has.
    """
    world = max((each.world for each in found), default=0)
    unnamed = [each.path for each in found if each.rank is None]
    named = rank_names.ranks(folder, unnamed, max(world, len(found)), left)
    known = {*named.values(), *(each.rank for each in found if each.rank is not None)}
    nameless = [each for each in found if each.rank is None and each.path not in named]
    missing = set(range(min(world, len(found)))) - known
    if len(nameless) == len(missing) == 1 and world == len(found) and nameless[0].cut:
        named[nameless[0].path] = missing.pop()
    ranked = []
    for each in found:
        rank = named.get(each.path) if each.rank is None else each.rank
        if each.rank is None and each.cut and rank is not None:
            left.doubt("ranks that files told at their missing ends, taken from the names of files "
                       "or as the only one missing", f"{each.path}: rank {rank}")  # fmt: skip
        if rank is None:
            left.add("files that do not say their rank, in the text or in their name; name them as "
                     "in rank0.json", each.path)  # fmt: skip
        else:
            ranked.append((rank, each))
    return sorted(ranked, key=lambda pair: (pair[0], pair[1].path))


def _of_one_job(ranked: Sequence[tuple[int, _File]], left: LeftOut) -> list[tuple[int, _File]]:
    """Without the files whose rank the job of most files cannot have."""
    said = Counter(each.world for _, each in ranked if each.world)
    world, count = said.most_common(1)[0] if said else (0, 0)
    if 2 * count <= len(ranked):
        return list(ranked)
    found = []
    for rank, each in ranked:
        if rank < world or each.world in (0, world):
            found.append((rank, each))
        else:
            left.add("files of another number of ranks than most", each.path,
                     f"world_size: {each.world}; right would be {world}")  # fmt: skip
    return found


def _world(ranked: Mapping[int, _File]) -> int:
    """The number of ranks: as most files say, else by the members of their groups."""
    told = Counter(each.world for each in ranked.values() if each.world)
    said = max(told, key=lambda world: (told[world], world), default=0)
    if not said:
        said = rank_names.listed([{call.members for call in each.recorded.calls}
                                  for each in ranked.values()])  # fmt: skip
    return max(max(ranked) + 1, said)


def _one_a_rank(
    folder: Path, ranked: Sequence[tuple[int, _File]], left: LeftOut
) -> dict[int, _File]:
    """One file a rank: those that were recorded at one time, on most ranks.

    A folder may hold several runs, or several cycles of one.
    """
    files: dict[int, list[_File]] = {}
    for rank, each in ranked:
        files.setdefault(rank, []).append(each)
    for own in files.values():
        own.sort(key=lambda each: (each.base or 0, each.path))
    usual = _usual_base(each for _, each in ranked)
    spans = {id(each): _span(each, usual) for _, each in ranked}
    numbers = {id(each): _numbers(each) for _, each in ranked}

    def fit(one: _File, other: _File) -> float:
        if one is other:
            return 2.0
        (host, begin, end), (host_too, first, last) = spans[id(one)], spans[id(other)]
        by_number = _shared(numbers[id(one)], numbers[id(other)])
        if not host or host != host_too or not begin <= end or not first <= last:
            return by_number
        both = min(end, last) - max(begin, first)
        part = min(1.0, both / max(min(end - begin, last - first), 1e-9))
        return -1.0 if both < 0 else part + max(by_number, 0.0)

    found = best_set(files, fit)
    for rank, own in files.items():
        for each in own:
            if found.get(rank) is not each:
                left.add(_FURTHER, each.path, _of_which(rank, folder, found))
    return found


def _of_which(rank: int, folder: Path, found: Mapping[int, _File]) -> str:
    if rank in found:
        return f"rank {rank} is in {found[rank].path.relative_to(folder)}"
    return f"of rank {rank} there is no other"


def _span(file: _File, usual: int) -> tuple[str, float, float]:
    """The host, and from when to when the file was recorded, by the host's calendar."""
    base = (usual if file.base is None else file.base) * 1e-9
    return file.recorded.host, base + file.recorded.begin, base + file.recorded.end


def _numbers(file: _File) -> dict[str, tuple[int, int]]:
    """The least and the greatest number of each group's calls."""
    found: dict[str, tuple[int, int]] = {}
    for call in file.recorded.calls:
        if call.sequence != UNKNOWN:
            low, high = found.get(call.group, (call.sequence, call.sequence))
            found[call.group] = min(low, call.sequence), max(high, call.sequence)
    return found


def _shared(one: Mapping[str, tuple[int, int]], other: Mapping[str, tuple[int, int]]) -> float:
    """The part of the numbers that two files have in common; below 0: none, in any group."""
    parts = []
    for group in one.keys() & other.keys():
        (low, high), (least, most) = one[group], other[group]
        both = min(high, most) - max(low, least) + 1
        parts.append(both / (1 + min(high - low, most - least)))
    return max(parts) if parts else 0.0


def _on_one_base(ranked: Mapping[int, _File], left: LeftOut) -> list[Recorded]:
    """What the ranks recorded. A file that lacks its base of times has that of the others."""
    usual, known = _usual_base(ranked.values()), any(each.base for each in ranked.values())
    bases = {rank: usual if each.base is None else each.base for rank, each in ranked.items()}
    least = min(bases.values(), default=0)  # numbers stay small enough for nanoseconds
    found = []
    for rank, each in ranked.items():
        if each.base is None and known:
            left.add("bases of times, which other files told", each.path)
        seconds = (bases[rank] - least) * 1e-9
        found.append(_moved(replace(each.recorded, rank=rank), seconds))
    return found


def _usual_base(files: Iterable[_File]) -> int:
    bases = Counter(each.base for each in files if each.base is not None)
    return bases.most_common(1)[0][0] if bases else 0


def _moved(recorded: Recorded, seconds: float) -> Recorded:
    calls = [replace(call, arrival=call.arrival + seconds, exit=call.exit + seconds)
             for call in recorded.calls] if seconds else recorded.calls  # fmt: skip
    return replace(recorded, calls=calls, begin=recorded.begin + seconds,
                   end=recorded.end + seconds)  # fmt: skip


# ---- one file


def _read(path: Path, left: LeftOut) -> _File | None:
    events = Events(path, left)
    told = chrome.read(path, events.take, left, _WANTED)
    events.settle()
    info = told.values.get("distributedInfo")
    info = info if isinstance(info, dict) else {}
    calls = _calls(path, events, info, told, left)
    if told.cut:
        left.add("ends of files, which are missing", told.cut)
    if not calls and not info:
        if not told.listed:
            left.add("files without traceEvents, where a trace has its events", path)
        return None
    begin, end = events.span()
    recorded = Recorded(
        source=str(path),
        rank=UNKNOWN,
        host=text_of(told.values.get("host_name") or ""),
        calls=calls,
        begin=1e-6 * begin,
        end=1e-6 * end,
        of_device=bool(events.kernels),
    )
    world = _said(path, info, "world_size", 1, MOST_RANKS, left) or 0
    rank = _said(path, info, "rank", 0, (world or MOST_RANKS) - 1, left)
    base = _said(path, told.values, "baseTimeNanoseconds", 0, 1 << 62, left)
    return _File(path, rank, world, base, recorded, bool(told.cut))


def _calls(
    path: Path, events: Events, info: Mapping[str, Any], told: chrome.Read, left: LeftOut
) -> list[Call]:
    groups = _groups(events, info)
    once = Counter(name for name, _ in groups)
    members = {name: own for name, own in groups if once[name] == 1}
    calls = [*device.calls(events, members, left), *gloo.calls(events, groups, left)]
    # Calls without numbers are counted: only whole files can be.
    torn = told.lost or (told.cut and (events.on_host or not _in_order(events)))
    counted = [call for call in calls if call.sequence == UNKNOWN] if torn else []
    if counted:
        left.add("calls without sequence numbers, in files of which a part is missing", path,
                 count=len(counted))  # fmt: skip
        calls = [call for call in calls if call.sequence != UNKNOWN]
    return calls


def _in_order(events: Events) -> bool:
    """Tell whether a file's collectives are in the order of time, so that a cut loses the last."""
    starts = [kernel.start for kernel in events.kernels]
    return all(a <= b for a, b in pairwise(starts))


def _said(
    path: Path, values: Mapping[str, Any], name: str, least: int, most: int, left: LeftOut
) -> int | None:
    """A whole number beside the events; None, and a remark if it is wrong."""
    if name not in values:
        return None
    found = whole(values[name], least, most)
    if found is None:
        left.add(f"values of {name} that are no whole numbers from {least} to {most}", path,
                 text_of(values[name], 40))  # fmt: skip
    return found


def _groups(events: Events, info: Mapping[str, Any]) -> list[tuple[str, tuple[int, ...]]]:
    """The groups that the file lists with all their members: those that the rank is in."""
    found: dict[tuple[str, tuple[int, ...]], None] = {}
    configs, rank = info.get("pg_config"), info.get("rank")
    for config in configs if isinstance(configs, list) else []:
        if isinstance(config, dict) and isinstance(config.get("pg_name"), (str, int)):
            own = events.members(config.get("ranks"), config.get("pg_size"))
            if own and (not isinstance(rank, int) or rank in own):
                found[text_of(config["pg_name"]), own] = None
    return list(found)
