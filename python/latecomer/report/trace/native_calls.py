"""The calls of each communicator, matched over the library's files by their sequence."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from ...base.arrays import Floats, UInt64s
from ...core.compiled import core
from .align import Offset
from .left_out import LeftOut
from .model import Group, TraceError, Words, check_size, earliest
from .native_file import Comm, File
from .stored_times import Stored, Times

_Part = tuple[File, Comm]


class Matching:
    """Makes groups whose times stay in the files."""

    def __init__(
        self,
        files: Mapping[int, File],
        words: Words,
        clocks: Sequence[int],
        zero: int,
        left: LeftOut,
    ) -> None:
        """`clocks`: of each rank, from 0. Times count from `zero`, in nanoseconds."""
        self.files, self.words, self.zero, self.left = files, words, zero, left
        self._clock = list(clocks)
        self._by_key: dict[tuple[int, int], list[_Part]] = defaultdict(list)
        for file in files.values():
            for comm in file.comms.values():
                self._by_key[comm.key].append((file, comm))

    def group(self, key: tuple[int, int], *, overlapping: bool = False) -> Group | None:
        """The calls of one communicator; None: there are none to tell of.

        `overlapping`: those that another call completed.
        """
        parts = self._parts(key, overlapping)
        name, members = parts[0][1].name, parts[0][1].members
        calls = core.match_calls([(file.own, comm.place) for file, comm in parts], overlapping,
                                 self.zero)  # fmt: skip
        records = sum(_count(comm, overlapping) for _, comm in parts)
        try:
            check_size(name, calls.calls, len(members), records)
        except TraceError as error:
            self.left.add("calls of communicators that are too large", error, count=calls.calls)
            return None
        clocks = [self._clock[members[comm.rank]] for _, comm in parts]
        found = calls.columns(np.array(clocks, np.int64))
        for (file, comm), (count, call, collective, others) in zip(parts, found["differ"],
                                                                   strict=True):  # fmt: skip
            if count:
                told = [self.words[kind] or "unnamed" for kind in (collective, others)]
                self.left.add("calls that are another collective on lower ranks",
                              f"{file.path}: call {found['sequence'][call]} on {comm.name!r}",
                              f"{told[0]}, not {told[1]}", count)  # fmt: skip
        own = np.flatnonzero(found["mixed"] == 0)
        if not len(own):
            return None
        part_of = np.full(len(members), -1, np.int64)
        part_of[[comm.rank for _, comm in parts]] = np.arange(len(parts))
        stored = Stored(calls, own, part_of)
        stored.gaps = found["gap"][own]
        stored.together = parts[0][1].together
        if overlapping:
            stored.entered = self._entered(parts, found["sequence"][own], len(members))
        return Group(
            name=name,
            members=members,
            sequence=found["sequence"][own].astype(np.int64),
            **{column: found[column][own] for column in (
                "collective", "bytes", "element_bytes", "operator", "root", "site", "algorithm",
                "served",
            )},
            arrival=stored.arrival,
            exit=stored.exit,
        )  # fmt: skip

    def gaps(self, group: Group) -> Floats:
        """By how many seconds ranks of one clock contradict each other in each call, at most."""
        return _stored(group).gaps

    def together(self, group: Group) -> bool:
        """Tell if its ranks leave a call in which all wait for each other together."""
        return _stored(group).together

    def has_times(self, group: Group) -> bool:
        """Tell if any arrival is known."""
        return any(np.isfinite(group.times(part)[0]).any() for part in group.stretches())

    def set_clocks(
        self,
        groups: Sequence[Group],
        overlapping: Sequence[Group],
        offsets: Sequence[Offset],
        begin: Floats,
    ) -> float:
        """Put all times on the common clock, and return which of its times is their 0.

        That is the first of the groups' arrivals and of `begin`, one of each rank.
        """
        for group in [*groups, *overlapping]:
            _set_clock(group, offsets, 0.0)
        start = earliest(begin, *(group.first_arrivals() for group in groups))
        for group in [*groups, *overlapping]:
            _set_clock(group, offsets, start)
        return start

    def completed(self, group: Group, offsets: Sequence[Offset], start: float) -> Group:
        """With the times at which the calls that completed these were entered, where known."""
        found, between = _stored(group).entered
        for place, rank in enumerate(group.members):
            found[:, place] = offsets[rank].apply(found[:, place]) - start
        arrival, leave = group.times()
        within = (found >= arrival) & (found <= leave)
        idle = np.maximum(found - between, arrival)
        return replace(group, completed=np.where(within, found, np.nan),
                       idle=np.where(within, idle, np.nan))  # fmt: skip

    def _entered(self, parts: Sequence[_Part], sequence: UInt64s, members: int) -> Floats:
        """The same in seconds of each file's clock, and the time between tests before them.

        Of shape (2, calls, members); NaN: not known.
        """
        found = np.full((2, len(sequence), members), np.nan)
        for file, comm in parts:
            own = file.completions[file.completions["communicator"] == comm.number]
            at = np.searchsorted(sequence, own["sequence"])
            there = at < len(sequence)
            there[there] = sequence[at[there]] == own["sequence"][there]
            found[0, at[there], comm.rank] = (own["begin"][there] - self.zero) * 1e-9
            found[1, at[there], comm.rank] = own["between"][there] * 1e-9
        return found

    def _parts(self, key: tuple[int, int], overlapping: bool) -> list[_Part]:
        """What the files hold of a communicator, by rank, where they name its members alike."""
        parts = self._by_key[key]
        counts = Counter(comm.members.tobytes() for _, comm in parts)
        members = np.frombuffer(counts.most_common(1)[0][0], np.int32)
        found: dict[int, _Part] = {}
        for file, comm in parts:
            if comm.rank in found or not np.array_equal(comm.members, members):
                shown = tuple(map(int, comm.members[:8])), tuple(map(int, members[:8]))
                self.left.add("calls of communicators that other files describe differently",
                              f"{file.path}: members of communicator {comm.name!r}",
                              f"{shown[0]}; in most files {shown[1]}",
                              _count(comm, overlapping))  # fmt: skip
            else:
                found[comm.rank] = file, comm
        return [found[rank] for rank in sorted(found)]


def _count(comm: Comm, overlapping: bool) -> int:
    return comm.overlapping if overlapping else comm.calls


def _stored(group: Group) -> Stored:
    """The times, which are in files."""
    return cast("Times", group.arrival).stored


def _set_clock(group: Group, offsets: Sequence[Offset], start: float) -> None:
    stored = _stored(group)
    for rank, part in zip(group.members, stored.parts.tolist(), strict=True):
        if part >= 0:
            offset = offsets[rank]
            stored.calls.set_clock(part, offset.times, offset.offsets, start)
