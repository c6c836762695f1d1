"""Calls of which only the lengths are known: all ranks leave together, each came so much earlier.

Time between calls is not known. So calls stand one behind the other on a time line that is
made here and tells nothing else: `Trace.between` is False.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...base.arrays import Floats, Int64s
from .left_out import LeftOut
from .model import SYNCHRONISING, UNKNOWN, Group, Trace, Words, check_size, ranks_said, text_of

_CLOCK = "no clock: a rank came as much before the last one as it was longer in the call"
_BESIDE = ("only the lengths of calls are known: ranks are taken to leave a call together, shares "
           "are of the time in collectives, and on time lines calls follow at once")  # fmt: skip
_NOT_TOGETHER = "calls that ranks need not leave together, such as broadcasts"


@dataclass(frozen=True)
class Lengths:
    """A rank's calls of one collective: one entry a call, each number once, and in order."""

    number: Int64s
    seconds: Floats
    bytes: Int64s  # of the whole vector; UNKNOWN
    place: Int64s  # among the rank's calls of the group, of whichever collective


Kinds = Mapping[str, Mapping[int, Lengths]]  # of a group: by collective and rank


def trace_of(
    source: str,
    form: str,
    hosts: Sequence[str | None],
    calls: Mapping[str, tuple[Sequence[int], Kinds]],
    resolution: float,
    inputs: Sequence[Path],
    left: LeftOut,
) -> Trace | None:
    """The trace; None where no call is known on two ranks. Raises TraceError.

    `hosts` by rank; None: it has no file. `calls` by group: the ranks of its members, and by
    collective and rank what is known. `resolution`: of the lengths, in seconds.
    """
    words, groups, begin = Words(), [], 0.0
    for name, (members, known) in sorted(calls.items(), key=lambda each: -len(each[1][0])):
        if group := _group(name, members, known, words, begin, left):
            groups.append(group)
            begin = float(np.nanmax(group.exit))
    if not groups:
        return None
    ranks, present = len(hosts), np.array([host is not None for host in hosts])
    remarks = [_BESIDE]
    if not present.all():
        missing = np.flatnonzero(~present).tolist()
        remarks.append(f"no file of {ranks_said(missing)}, of {ranks} ranks")
    return Trace(
        source=text_of(source, 4096),
        format=form,
        words=words,
        hosts=[host or "?" for host in hosts],
        groups=groups,
        begin=np.full(ranks, np.nan),
        end=np.full(ranks, np.nan),
        clock=_CLOCK,
        clock_error=np.where(present, resolution, np.nan),
        inputs=inputs,
        remarks=[*remarks, *left.remarks()],
        between=False,
        of_device=True,
    )


def _group(
    name: str,
    members: Sequence[int],
    known: Mapping[str, Mapping[int, Lengths]],
    words: Words,
    begin: float,
    left: LeftOut,
) -> Group | None:
    """Its calls, the first of which begins at `begin`; None if none is known on two ranks."""
    parts = []
    for collective, of in known.items():
        count = sum(len(each.number) for each in of.values())
        if collective not in SYNCHRONISING:
            left.add(_NOT_TOGETHER, f"group {name!r}", collective, count)
        elif len(of) > 1:
            parts.append((collective, *_columns(name, members, of)))
        elif len(members) > 1:
            left.add("calls of groups that one rank alone recorded", f"group {name!r}",
                     f"rank {min(of)}", count)  # fmt: skip
    if not parts:
        return None
    order = np.argsort(np.concatenate([place for *_, place in parts]), kind="stable")
    numbers, lengths, size = (np.concatenate([part[at] for part in parts])[order]
                              for at in (1, 2, 3))  # fmt: skip
    end = begin + np.cumsum(np.nanmax(lengths, axis=1))
    nothing = np.full(len(order), UNKNOWN, np.int32)
    no_word = np.full(len(order), words.place(""), np.int32)
    return Group(
        name=name,
        members=np.array(members, np.int32),
        sequence=numbers if len(parts) == 1 else np.arange(len(order), dtype=np.int64),
        collective=np.repeat([words.place(part[0]) for part in parts],
                             [len(part[1]) for part in parts]).astype(np.int32)[order],
        bytes=size,
        element_bytes=nothing,
        operator=no_word,
        root=nothing,
        site=no_word,
        algorithm=no_word,
        served=np.full(len(order), UNKNOWN, np.int8),
        arrival=end[:, None] - lengths,
        exit=np.where(np.isfinite(lengths), end[:, None], np.nan),
        launch=np.full_like(lengths, np.nan),
    )  # fmt: skip


def _columns(
    name: str, members: Sequence[int], of: Mapping[int, Lengths]
) -> tuple[Int64s, Floats, Int64s, Int64s]:
    """The calls of one collective: numbers, seconds of shape (calls, members), bytes, places."""
    numbers = np.unique(np.concatenate([each.number for each in of.values()]))
    check_size(name, len(numbers), len(members), sum(len(each.number) for each in of.values()))
    column = {rank: at for at, rank in enumerate(members)}
    seconds = np.full((len(numbers), len(members)), np.nan)
    size = np.full(len(numbers), UNKNOWN, np.int64)
    place = np.full(len(numbers), -1)
    for rank, each in of.items():
        row = np.searchsorted(numbers, each.number)
        seconds[row, column[rank]] = each.seconds
        size[row] = np.maximum(size[row], each.bytes)
        place[row] = np.maximum(place[row], each.place)
    # Files may begin at different calls: what comes later has a later place.
    return numbers, seconds, size, np.maximum.accumulate(place)
