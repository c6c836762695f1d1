"""NCCL's collectives in exports of Nsight Systems: kernels, and the communicators they belong to.

A kernel (CUPTI_ACTIVITY_KIND_KERNEL) says when the device began and ended, and its name which
collective. The communicator is in the payload of NCCL's range (NVTX_EVENTS) around the call that
launched it (CUPTI_ACTIVITY_KIND_RUNTIME), as JSON with the names of github.com/NVIDIA/nccl,
src/include/nvtx_payload_schemas.h; an export has it with `--include-json=true`.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from .device import UNKNOWN_KERNELS
from .dtypes import collective_of, in_kernel
from .json_numbers import whole
from .left_out import LeftOut
from .model import UNKNOWN, TraceError, text_of

PROCESS = ~0xFFFFFF  # of a global thread number: the lower 24 bits are the thread's
KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
RECORD = ("nsys export --type sqlite --include-json=true, of nsys profile --trace=cuda,nvtx -o "
          "rank%q{RANK} for each rank; or NCCL Inspector, or PyTorch's profiler")  # fmt: skip
_RANGES, _LAUNCHES = "NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME"
_OURS = "(SELECT id FROM StringIds WHERE value LIKE 'nccl%')"
_NO_GROUP = ("kernels of NCCL that were launched in no range of a collective, by processes of "
             "several communicators")  # fmt: skip

Rows = Callable[..., Iterator[tuple[Any, ...]]]


class Exported(NamedTuple):
    """A rank's call of a collective; times in nanoseconds."""

    start: int
    end: int
    collective: str
    bytes: int
    group: str = ""  # of NCCL, whose communicators have a number that all ranks know ...
    handle: int = 0  # ... and of MPI the communicator's handle
    root: int = UNKNOWN


class _Range(NamedTuple):
    end: int
    communicator: str
    bytes: int


def calls(
    rows: Rows, tables: set[str], path: Path, most: int, left: LeftOut
) -> dict[int, list[Exported]]:
    """The collectives of each process; none: the file has no kernels of NCCL.

    `rows(statement)` reads plain tables. Raises TraceError where no range tells a communicator.
    """
    kernels = f"FROM {KERNELS} WHERE shortName IN {_OURS} LIMIT {most}"
    if not {KERNELS, "StringIds"} <= tables or not any(rows(f"SELECT 1 {kernels}")):
        return {}
    named = _Named(rows, tables, most)
    if not named.communicators:
        raise TraceError(f"{path}: communicators of NCCL's kernels", "no range of NCCL tells one",
                         f"right would be {RECORD}")  # fmt: skip
    found: dict[int, list[Exported]] = {}
    devices: dict[int, object] = {}
    for start, end, thread, device, number, text in rows(
        f'SELECT start, "end", globalPid, deviceId, correlationId, shortName {kernels}'
    ):
        begin, finish = (whole(each, 0, 1 << 60) for each in (start, end))
        if begin is None or finish is None or begin > finish or not isinstance(thread, int):
            left.add("kernels without a begin, an end and a process", path, text_of(start, 40))
            continue
        process, name = thread & PROCESS, text_of(named.texts.get(text))
        around, (collective, _) = named.around(process, number), in_kernel(name)
        if devices.setdefault(process, device) != device:
            left.add("kernels of NCCL on a process's second device", path, name)
        elif not collective:
            left.add(UNKNOWN_KERNELS, path, name)
        elif around is None:
            left.add(_NO_GROUP, path, name)
        else:
            size = around.bytes if collective == "allreduce" else UNKNOWN
            one = Exported(begin, finish, collective, size, around.communicator)
            found.setdefault(process, []).append(one)
    return found


class _Named:
    """Ranges of NCCL that name their communicator, and the launches of its kernels."""

    def __init__(self, rows: Rows, tables: set[str], most: int) -> None:
        texts = rows("SELECT id, value FROM StringIds WHERE value LIKE 'nccl%' LIMIT 65536")
        self.texts: dict[int, str] = dict(texts)
        self.communicators: dict[int, set[str]] = {}  # of each process
        self._ranges: dict[int, tuple[list[int], list[_Range]]] = {}  # of each thread
        self._launches: dict[tuple[int, object], tuple[int, int]] = {}
        if _RANGES in tables:
            self._read_ranges(rows, most)
        if _LAUNCHES in tables:
            for number, start, thread in rows(
                f"SELECT correlationId, start, globalTid FROM {_LAUNCHES} WHERE correlationId IN "
                f"(SELECT correlationId FROM {KERNELS} WHERE shortName IN {_OURS}) LIMIT {most}"
            ):
                if isinstance(thread, int) and isinstance(start, int):
                    self._launches[thread & PROCESS, number] = start, thread

    def _read_ranges(self, rows: Rows, most: int) -> None:
        there = {row[1] for row in rows(f"PRAGMA table_info({_RANGES})")}
        number, text, at = (name if name in there else "NULL"
                            for name in ("textId", "jsonText", "jsonTextId"))  # fmt: skip
        payloads = f"COALESCE({text}, (SELECT value FROM StringIds WHERE id = {at}))"
        found: dict[int, list[tuple[int, _Range]]] = {}
        for start, end, thread, said, word, payload in rows(
            f'SELECT start, "end", globalTid, text, {number}, {payloads} FROM {_RANGES} '
            f"WHERE {number} IN {_OURS} OR text LIKE 'nccl%' LIMIT {most}"
        ):
            try:
                told = json.loads(payload)
                communicator = told["NCCL communicator ID"]
            except (TypeError, ValueError, KeyError, RecursionError):
                continue
            if not isinstance(communicator, (int, str)) or not isinstance(thread, int):
                continue
            group = text_of(str(communicator), 40)
            self.communicators.setdefault(thread & PROCESS, set()).add(group)
            name = said if isinstance(said, str) else text_of(self.texts.get(word))
            if isinstance(start, int) and isinstance(end, int) and collective_of(name[4:]):
                size = whole(told.get("Message size [bytes]"), 0, 1 << 50)
                one = _Range(end, group, UNKNOWN if size is None else size)
                found.setdefault(thread, []).append((start, one))
        for thread, own in found.items():
            own.sort()
            self._ranges[thread] = [start for start, _ in own], [each for _, each in own]

    def around(self, process: int, number: object) -> _Range | None:
        """The range in which a kernel was launched; those of collectives are not nested.

        Else the communicator of a process that has only one.
        """
        start, thread = self._launches.get((process, number), (0, 0))
        starts, own = self._ranges.get(thread, ([], []))
        at = bisect_right(starts, start) - 1
        if at >= 0 and start <= own[at].end:
            return own[at]
        alone = self.communicators.get(process, set())
        return _Range(0, next(iter(alone)), UNKNOWN) if len(alone) == 1 else None
