"""Gloo's collectives in a profiler's trace.

The program's call is an event `c10d::...`. The collective itself is an event `gloo:...` of one of
the worker threads that each process group has. Neither names its group: where a rank has several,
the threads tell, since those of a group were created together, in the order of the groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .dtypes import collective_of, element_bytes
from .matching import Call
from .model import UNKNOWN, TraceError

_THREADS = 2  # of a group

Timed = tuple[float, float, dict[str, Any]]


def calls(path: Path, timed: Sequence[Timed], members: Mapping[str, Sequence[int]]) -> list[Call]:
    """The collectives, in the order of time. Raises TraceError."""
    ran = [each for each in timed if str(each[2].get("name")).startswith("gloo:")]
    if not ran:
        return []
    asked = [each for each in timed if str(each[2].get("name")).startswith("c10d::")]
    group_of = _groups(path, ran, list(members) or ["all"])
    found = []
    for start, length, event in ran:
        name = collective_of(str(event.get("name")).removeprefix("gloo:"))
        group = group_of[_thread(event)]
        count, width = _size(event)
        asked_at = _take(asked, name, count, start)
        if not name:
            continue
        if name == "allgather" and count != UNKNOWN:
            count *= len(members.get(group, [0]))
        found.append(
            Call(
                group=group,
                sequence=UNKNOWN,
                collective=name,
                bytes=UNKNOWN if UNKNOWN in {count, width} else count * width,
                arrival=start,
                exit=start + length,
                launch=start - asked_at if asked_at is not None else 0.0,
                element_bytes=width,
            )
        )
    return found


def _groups(path: Path, ran: Sequence[Timed], names: Sequence[str]) -> dict[Any, str]:
    """The group of each worker thread. Raises TraceError where the threads do not tell."""
    threads = sorted({_thread(event) for _, _, event in ran},
                     key=lambda tid: (str(type(tid)), tid))  # fmt: skip
    if len(names) == 1 or len(threads) == 1:
        return dict.fromkeys(threads, names[0])
    runs: list[list[Any]] = []
    for tid in threads:  # threads of one group have numbers near each other
        near = runs and isinstance(tid, int) and isinstance(runs[-1][-1], int)
        near = near and tid - runs[-1][-1] <= _THREADS
        if near and len(runs[-1]) < _THREADS:
            runs[-1].append(tid)
        else:
            runs.append([tid])
    if len(runs) > len(names):
        remedy = f"{_THREADS} neighbours for each of the groups {list(names)[:8]}"
        raise TraceError(f"{path}: worker threads of Gloo", threads[:8], remedy)
    return {tid: names[at] for at, run in enumerate(runs) for tid in run}


def _thread(event: Mapping[str, Any]) -> int | str:
    tid = event.get("tid")
    return tid if isinstance(tid, int) else str(tid)


def _size(event: Mapping[str, Any]) -> tuple[int, int]:
    """Elements of all inputs, and bytes of an element; UNKNOWN."""
    args = event.get("args")
    args = args if isinstance(args, dict) else {}
    shapes, types = args.get("Input Dims"), args.get("Input type")
    if not isinstance(shapes, list) or not isinstance(types, list) or not types:
        return UNKNOWN, UNKNOWN
    total = 0
    for shape in shapes[:4096]:
        count = 1
        for extent in shape if isinstance(shape, list) else []:
            if not isinstance(extent, int) or not 0 <= extent < 1 << 40:
                return UNKNOWN, UNKNOWN
            count *= extent
        total += count
    return (total, element_bytes(str(types[0]))) if total < 1 << 50 else (UNKNOWN, UNKNOWN)


def _take(asked: list[Timed], name: str, count: int, start: float) -> float | None:
    """When the program asked for the call: the earliest event of its kind that is not taken."""
    for at, (when, _, event) in enumerate(asked):
        if when > start:
            return None
        called = collective_of(str(event.get("name")).removeprefix("c10d::"))
        if called == name and _size_asked(event) in {count, UNKNOWN}:
            del asked[at]
            return when
    return None


def _size_asked(event: Mapping[str, Any]) -> int:
    """Elements of the tensors that the program's call names; UNKNOWN where they are lists."""
    args = event.get("args")
    shapes = args.get("Input Dims") if isinstance(args, dict) else None
    lists = [shape for shape in (shapes if isinstance(shapes, list) else [])
             if isinstance(shape, list)]  # fmt: skip
    flat = [part for shape in lists for part in shape if isinstance(part, list)]
    if len(flat) != 1:
        return UNKNOWN
    total = 1
    for extent in flat[0]:
        total *= extent if isinstance(extent, int) else 1
    return total
