"""Reads PyTorch profiler traces: one Chrome JSON file a rank, as export_chrome_trace writes them.

NCCL's and RCCL's collectives are kernels of the device; the profiler gives them the collective's
name, group, sequence number and size, or links them to the program's call that has these. Gloo's
are events `gloo:...` of worker threads. Everything else in the file only tells when the device was
busy. Messages between two ranks are left out.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any

from . import chrome, gloo
from .dtypes import collective_of, element_bytes
from .matching import Call, Recorded, joined
from .model import UNKNOWN, Trace, TraceError

MOST_FILES = 1 << 16
MOST_RANKS = 1 << 20
_NUMBER = re.compile(r"rank[-_.]?(\d+)", re.IGNORECASE)
_LAST_NUMBER = re.compile(r"(\d+)(?!.*\d)")
_KERNEL = re.compile(r"(?:nccl|rccl)(?:Dev)?Kernel[_s]?([A-Za-z]+)_?(\w*)")
_DEVICE = {"kernel", "gpu_memcpy", "gpu_memset"}
_WIDE = {"allgather"}  # collectives whose whole vector is the output


def is_folder_of_traces(folder: Path) -> bool:
    """Tell whether the folder holds files that may be a profiler's traces."""
    return folder.is_dir() and bool(_paths(folder))


def _paths(folder: Path) -> list[Path]:
    ends = (".json", ".json.gz")
    return sorted(path for path in folder.iterdir() if path.name.endswith(ends) and path.is_file())


def read(folder: str | Path) -> Trace:
    """The trace in a folder of profiler traces. Raises TraceError, which names the file."""
    folder = Path(folder)
    paths = _paths(folder)
    if not 0 < len(paths) <= MOST_FILES:
        raise TraceError(f"{folder}: files of a profiler's trace", len(paths),
                         f"1 to {MOST_FILES} files that end in .json or .json.gz")  # fmt: skip
    recorded: dict[int, Recorded] = {}
    ranks, remarks = 1, []
    for path in paths:
        each, world = _recorded(path, only=len(paths) == 1)
        if each is None:
            remarks.append(f"{path.name} is no trace of a rank")
            continue
        if each.rank in recorded:
            remedy = f"{recorded[each.rank].source} has it already: keep one file a rank"
            raise TraceError(f"{path}: rank", each.rank, remedy)
        recorded[each.rank] = each
        ranks = max(ranks, world, each.rank + 1)
    if len(recorded) < 2:
        raise TraceError(f"{folder}: ranks with a trace", sorted(recorded) or "none",
                         "one file for each rank: who is late shows only side by side")  # fmt: skip
    return joined(str(folder), "PyTorch profiler", ranks, list(recorded.values()), remarks)


# ---- one file


def _keep(event: dict[str, Any]) -> dict[str, Any] | None:
    """What is of use of an event: of a device's other work only when it was."""
    if event.get("ph") != "X":
        return None
    category, name = str(event.get("cat")), str(event.get("name"))
    if category in _DEVICE:
        if _KERNEL.match(name):
            return event
        return {"cat": category, "name": "", "ts": event.get("ts"), "dur": event.get("dur", 0.0)}
    of_program = category == "cpu_op" and name.startswith(("c10d::", "record_param_comms"))
    of_gloo = category == "user_annotation" and name.startswith("gloo:")
    return event if of_program or of_gloo else None


def _recorded(path: Path, only: bool) -> tuple[Recorded | None, int]:
    """What the file's rank recorded, and the number of ranks that it knows of."""
    values, events = chrome.read(path, _keep)
    if not events and "distributedInfo" not in values:
        return None, 0
    info = values.get("distributedInfo")
    info = info if isinstance(info, dict) else {}
    world = _whole(path, info.get("world_size", 1), "world_size", 1, MOST_RANKS)
    rank = _rank(path, info, only)
    base = _base(path, values)
    timed = [(base + _time(path, event, "ts"), _time(path, event, "dur", 0.0), event)
             for event in events]  # fmt: skip
    timed.sort(key=lambda each: each[0])
    members = _members(path, info, events)
    calls = [*_device_calls(path, timed), *gloo.calls(path, timed, members)]
    first = min((start for start, _, _ in timed), default=0.0)
    last = max((start + length for start, length, _ in timed), default=0.0)
    host = str(values.get("host_name") or "")[:256]
    pids = (event.get("pid") for _, _, event in timed if event.get("cat") == "cpu_op")
    pid = next((each for each in pids if isinstance(each, int) and each >= 0), 0)
    return Recorded(str(path), rank, host, calls, members, first, last, pid), world


def _rank(path: Path, info: Mapping[str, Any], only: bool) -> int:
    if "rank" in info:
        return _whole(path, info["rank"], "rank", 0, MOST_RANKS - 1)
    stem = path.name.partition(".json")[0]
    found = _NUMBER.search(stem) or _LAST_NUMBER.search(stem)
    if found is None and not only:
        raise TraceError(f"{path}: no rank in the file, nor in its name", path.name,
                         "name it as in rank0.json")  # fmt: skip
    return _whole(path, int(found[1][:9]) if found else 0, "rank in the name", 0, MOST_RANKS - 1)


def _base(path: Path, values: Mapping[str, Any]) -> float:
    """Seconds to be added to the times; those of all files are near each other."""
    base = values.get("baseTimeNanoseconds", 0)
    return _whole(path, base, "baseTimeNanoseconds", 0, 1 << 62) % (10**15) * 1e-9


def _whole(path: Path, value: Any, what: str, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise TraceError(f"{path}: {what}", str(value)[:40], f"a whole number {least} to {most}")
    return value


def _time(path: Path, event: Mapping[str, Any], key: str, otherwise: float | None = None) -> float:
    """Seconds."""
    value = event.get(key, otherwise)
    if isinstance(value, str) and len(value) < 40:
        try:
            value = float(value)
        except ValueError:
            value = None
    usable = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not usable or not math.isfinite(value) or abs(value) > 1e18 or (key == "dur" and value < 0):
        raise TraceError(f"{path}: {key} of event {str(event.get('name'))[:60]!r}",
                         str(event.get(key))[:40], "a number of microseconds")  # fmt: skip
    return float(value) * 1e-6


def _members(
    path: Path, info: Mapping[str, Any], events: Iterable[Mapping[str, Any]]
) -> dict[str, tuple[int, ...]]:
    """The members of groups, where the file names all of them."""
    found: dict[str, tuple[int, ...]] = {}
    configs = info.get("pg_config")
    for config in configs if isinstance(configs, list) else []:
        if isinstance(config, dict):
            _add_members(found, config.get("pg_name"), config.get("ranks"), config.get("pg_size"))
    for event in events:
        args = event.get("args")
        if isinstance(args, dict) and "Process Group Ranks" in args:
            name = args.get("Process Group Name")
            if str(name) not in found:
                _add_members(found, name, args["Process Group Ranks"], args.get("Group size"))
    for name, ranks in found.items():
        if len(set(ranks)) != len(ranks) or not all(0 <= each < MOST_RANKS for each in ranks):
            raise TraceError(f"{path}: members of group {name!r}", list(ranks[:8]),
                             "different ranks")  # fmt: skip
    return found


def _add_members(found: dict[str, tuple[int, ...]], name: Any, ranks: Any, size: Any) -> None:
    """Lists of many ranks are cut in texts: they end in `...`, and are not used."""
    if isinstance(ranks, str):
        numbers = [int(each) for each in re.findall(r"\d{1,9}", ranks[: 1 << 20])]
        ranks = [] if "..." in ranks else numbers
    if not isinstance(ranks, list) or not ranks or name is None:
        return
    whole = all(isinstance(each, int) and not isinstance(each, bool) for each in ranks)
    if whole and (not isinstance(size, int) or size == len(ranks)):
        found[str(name)] = tuple(ranks)


# ---- collectives of a device


def _device_calls(path: Path, timed: list[tuple[float, float, dict[str, Any]]]) -> list[Call]:
    """Kernels of NCCL and RCCL. Before one the device may be idle: its host launched it late."""
    said = _said_by_program(timed)
    work = [each for each in timed if each[2].get("cat") in _DEVICE]
    starts = [start for start, _, _ in work]
    # The end of everything that began up to each: the device was busy until then.
    busy = list(accumulate((start + length for start, length, _ in work), max))
    calls = []
    for at, (start, length, event) in enumerate(work):
        match = _KERNEL.match(str(event.get("name")))
        if not match:
            continue
        args = _args(event)
        facts = {**said.get(str(args.get("External id")), {}), **args}
        collective = collective_of(str(facts.get("Collective name", match[1])))
        if not collective:
            continue
        # Work that began at the same instant is no reason to be late.
        before = bisect_right(starts, start, hi=at) - 1
        while before >= 0 and starts[before] == start:
            before -= 1
        idle = max(0.0, start - busy[before]) if before >= 0 else 0.0
        calls.append(_call(path, facts, collective, match[2], start, length, idle))
    return calls


def _args(event: Mapping[str, Any]) -> dict[str, Any]:
    args = event.get("args")
    return args if isinstance(args, dict) else {}


def _said_by_program(
    timed: Iterable[tuple[float, float, dict[str, Any]]],
) -> dict[Any, dict[str, Any]]:
    """What the program's calls say about the kernels that have their number."""
    found = {}
    for _, _, event in timed:
        if str(event.get("name")).startswith("record_param_comms"):
            args = _args(event)
            number = args.get("External id")
            if isinstance(number, (int, str)):
                found[str(number)] = args
    return found


def _call(
    path: Path,
    facts: Mapping[str, Any],
    collective: str,
    kernel: str,
    start: float,
    length: float,
    idle: float,
) -> Call:
    width = element_bytes(str(facts.get("dtype", "")))
    count = facts.get("Out msg nelems" if collective in _WIDE else "In msg nelems")
    known = isinstance(count, int) and 0 <= count < 1 << 50 and width > 0
    number = facts.get("Seq", UNKNOWN)
    if number != UNKNOWN:
        number = _whole(path, number, "Seq", 0, 1 << 62)
    return Call(
        group=str(facts.get("Process Group Name", "all"))[:256],
        sequence=number,
        collective=collective,
        bytes=count * width if known else UNKNOWN,
        arrival=start,
        exit=start + length,
        launch=idle,
        element_bytes=width,
        site=str(facts.get("Process Group Description", ""))[:256],
        algorithm=kernel[:64],
    )
