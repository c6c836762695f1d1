"""Calls that each rank recorded for itself, matched over the ranks, on one clock.

Readers of other programs' traces make `Call`s; this makes the groups of a `Trace` of them. A call
is matched by its group and its sequence number there. Where the ranks recorded no numbers, the
calls of a rank are counted; ranks that began to record at different calls are shifted so that
collectives and sizes agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from . import align
from .model import SYNCHRONISING, UNKNOWN, Group, Trace, TraceError, Words, check_size

_MOST_SHIFT = 64  # calls that a rank may have begun to record later than another
_SAME_CLOCK = 100e-6  # seconds by which clocks of one host may seem to contradict each other


@dataclass(frozen=True)
class Call:
    """One rank's part of one call; times in seconds on the rank's own clock."""

    group: str
    sequence: int  # UNKNOWN: to be counted
    collective: str
    bytes: int  # of the whole vector; UNKNOWN
    arrival: float
    exit: float
    launch: float = 0.0  # between the program's call and the arrival
    element_bytes: int = UNKNOWN
    operator: str = ""
    root: int = UNKNOWN
    site: str = ""
    algorithm: str = ""

    @property
    def signature(self) -> tuple[str, int]:
        """What is equal on all ranks."""
        return self.collective, self.bytes


@dataclass(frozen=True)
class Recorded:
    """What one rank recorded."""

    source: str  # the file, for errors
    rank: int
    host: str  # "": not known
    calls: Sequence[Call]
    members: Mapping[str, Sequence[int]]  # of groups, where they are known
    begin: float  # of the recording, in seconds on the rank's own clock
    end: float
    pid: int = 0


def joined(
    source: str, form: str, ranks: int, recorded: Sequence[Recorded], remarks: list[str]
) -> Trace:
    """The trace. Raises TraceError where the ranks contradict each other."""
    by_rank = {each.rank: each for each in recorded}
    if missing := [rank for rank in range(ranks) if rank not in by_rank]:
        remarks.append(f"no file of {len(missing)} of {ranks} ranks, such as {missing[0]}")
    words = Words()
    names = dict.fromkeys(call.group for each in recorded for call in each.calls)
    for each in recorded:
        for name, members in each.members.items():
            if not all(0 <= rank < ranks for rank in members):
                raise TraceError(f"{each.source}: members of group {name!r}", list(members[:8]),
                                 f"ranks below {ranks}, which the files name")  # fmt: skip
    groups = [group for name in names if (group := _group(name, by_rank, words, remarks))]
    if not groups:
        raise TraceError(f"{source}: no collective that at least two ranks recorded",
                         f"{sum(len(each.calls) for each in recorded)} calls",
                         "profile the same steps on all ranks")  # fmt: skip
    hosts = [by_rank[rank].host if rank in by_rank else "?" for rank in range(ranks)]
    offsets, said = _offsets(groups, words, hosts, by_rank, remarks)
    groups = [align.apply(group, offsets) for group in groups]
    start = min(float(np.nanmin(group.arrival)) for group in groups)
    begin, end, error = (np.full(ranks, np.nan) for _ in range(3))
    for rank, each in by_rank.items():
        begin[rank], end[rank] = offsets[rank].apply(np.array([each.begin, each.end]))
        error[rank] = offsets[rank].error
    if np.isfinite(begin).any():
        start = min(start, float(np.nanmin(begin)))
    groups = [replace(g, arrival=g.arrival - start, exit=g.exit - start) for g in groups]
    return Trace(
        source=source,
        format=form,
        words=words,
        hosts=[host or "?" for host in hosts],
        groups=groups,
        begin=begin - start,
        end=end - start,
        clock=said,
        clock_error=error,
        pids=[by_rank[rank].pid if rank in by_rank else 0 for rank in range(ranks)],
        remarks=remarks,
    )


# ---- matching


def _group(
    name: str, by_rank: Mapping[int, Recorded], words: Words, remarks: list[str]
) -> Group | None:
    """The calls of one group; None, with a remark, where fewer than two ranks recorded it."""
    calls = {rank: [call for call in each.calls if call.group == name]
             for rank, each in by_rank.items()}  # fmt: skip
    calls = {rank: own for rank, own in calls.items() if own}
    members = _members(name, by_rank, sorted(calls))
    outside = [rank for rank in calls if rank not in members]
    if outside:
        raise TraceError(f"{by_rank[outside[0]].source}: group {name!r} has calls of rank",
                         outside[0], f"its members are {list(members[:8])}")  # fmt: skip
    if len(calls) < 2:
        return None
    numbered = _numbered(calls)
    if numbered is None:
        remarks.append(f"group {name!r}: the ranks' calls do not fit each other; it is left out")
        return None
    return _filled(name, members, numbered, words)


def _members(name: str, by_rank: Mapping[int, Recorded], seen: list[int]) -> Sequence[int]:
    """The members that the ranks name, else the ranks that recorded calls of the group."""
    said = {tuple(each.members[name]): each for each in by_rank.values() if name in each.members}
    if len(said) > 1:
        (one, first), (other, second) = list(said.items())[:2]
        raise TraceError(f"{second.source}: members of group {name!r}", list(other[:8]),
                         f"in {first.source}: {list(one[:8])}")  # fmt: skip
    return next(iter(said), tuple(seen))


def _numbered(calls: Mapping[int, list[Call]]) -> dict[int, dict[tuple[int, int], Call]] | None:
    """Each rank's calls by sequence number; a number may come several times, as in one batch."""
    if all(call.sequence != UNKNOWN for own in calls.values() for call in own):
        found = {rank: _occurrences(own) for rank, own in calls.items()}
        return found if _agree(found) else None
    first = max(calls, key=lambda rank: len(calls[rank]))
    counted = {}
    for rank, own in calls.items():
        shift = _shift([call.signature for call in calls[first]], [c.signature for c in own])
        if shift is None:
            return None
        ordered = sorted(own, key=lambda call: call.arrival)
        counted[rank] = {(at + shift, 0): call for at, call in enumerate(ordered)}
    return counted


def _occurrences(own: list[Call]) -> dict[tuple[int, int], Call]:
    found: dict[tuple[int, int], Call] = {}
    seen: dict[int, int] = {}
    for call in sorted(own, key=lambda each: each.arrival):
        again = seen.get(call.sequence, 0)
        seen[call.sequence] = again + 1
        found[call.sequence, again] = call
    return found


def _agree(found: Mapping[int, Mapping[tuple[int, int], Call]]) -> bool:
    """Tell whether equal numbers mean equal collectives."""
    said: dict[tuple[int, int], str] = {}
    return all(said.setdefault(key, call.collective) == call.collective
               for own in found.values() for key, call in own.items())  # fmt: skip


def _shift(first: list[tuple[str, int]], other: list[tuple[str, int]]) -> int | None:
    """The place in `first` at which `other` begins: the least shift at which they agree."""
    for size in range(min(_MOST_SHIFT, max(len(first), len(other)))):
        for shift in (size, -size) if size else (0,):
            ours, theirs = first[max(shift, 0) :], other[max(-shift, 0) :]
            if ours and theirs and all(a == b for a, b in zip(ours, theirs, strict=False)):
                return shift
    return None


def _filled(
    name: str,
    members: Sequence[int],
    numbered: Mapping[int, Mapping[tuple[int, int], Call]],
    words: Words,
) -> Group:
    keys = sorted({key for own in numbered.values() for key in own})
    row = {key: at for at, key in enumerate(keys)}
    column = {rank: at for at, rank in enumerate(members)}
    shape = (len(keys), len(members))
    check_size(name, *shape, sum(map(len, numbered.values())))
    arrival, leave, launch = (np.full(shape, np.nan) for _ in range(3))
    one: list[Call | None] = [None] * len(keys)
    size = np.full(len(keys), UNKNOWN, np.int64)
    for rank in sorted(numbered):
        for key, call in numbered[rank].items():
            at = row[key]
            arrival[at, column[rank]] = call.arrival
            leave[at, column[rank]] = call.exit
            launch[at, column[rank]] = call.launch
            one[at] = one[at] or call
            size[at] = max(size[at], call.bytes)
    some = [call for call in one if call is not None]
    repeated = any(again for _, again in keys)
    numbers = range(len(keys)) if repeated else [number for number, _ in keys]
    return Group(
        name=name,
        members=np.array(members, np.int32),
        sequence=np.array(numbers, np.int64),
        collective=np.array([words.place(call.collective) for call in some], np.int32),
        bytes=size,
        element_bytes=np.array([call.element_bytes for call in some], np.int32),
        operator=np.array([words.place(call.operator) for call in some], np.int32),
        root=np.array([call.root if call.root < len(members) else UNKNOWN for call in some],
                      np.int32),
        site=np.array([words.place(call.site) for call in some], np.int32),
        algorithm=np.array([words.place(call.algorithm) for call in some], np.int32),
        served=np.full(len(keys), UNKNOWN, np.int8),
        arrival=arrival,
        exit=leave,
        launch=launch,
    )  # fmt: skip


# ---- clocks


def _offsets(
    groups: Sequence[Group],
    words: Words,
    hosts: Sequence[str],
    by_rank: Mapping[int, Recorded],
    remarks: list[str],
) -> tuple[list[align.Offset], str]:
    """What to add to each rank's times, and how that was found, for people.

    Ranks of one host read one clock, unless the calls contradict that.
    """
    known = {host: at for at, host in enumerate(dict.fromkeys(hosts)) if host not in {"", "?"}}
    clocks = [known.get(host, len(hosts) + rank) for rank, host in enumerate(hosts)]
    if contradicted := _contradicted(groups, words, clocks):
        early, late = contradicted
        remarks.append(f"the clocks of ranks {early} and {late} contradict the calls, although "
                       "their hosts have one name: each rank's clock was aligned")  # fmt: skip
        clocks = list(range(len(hosts)))
    if len(set(clocks)) == 1:
        return [align.constant(0.0) for _ in hosts], "all ranks read the clock of one host"
    offsets = align.align(groups, words, clocks, {})
    unbound = [rank for rank in by_rank if not np.isfinite(offsets[rank].error)]
    if unbound:
        remarks.append(f"no call tells the clock of {len(unbound)} ranks, such as {unbound[0]}")
    worst = max((offsets[r].error for r in by_rank if r not in unbound), default=0.0)
    said = "the collectives themselves told the offsets of the clocks, within "
    return offsets, f"{said}{1e6 * worst:.3g} us"


def _contradicted(
    groups: Sequence[Group], words: Words, clocks: Sequence[int]
) -> tuple[int, int] | None:
    """Two ranks of one clock, of which one left a call before the other had entered it."""
    of_rank = np.asarray(clocks)
    for group in groups:
        waits = np.array([words[each] in SYNCHRONISING for each in group.collective], bool)
        for clock in np.unique(of_rank[group.members]):
            own = np.flatnonzero(of_rank[group.members] == clock)
            if len(own) < 2 or not waits.any():
                continue
            came, left = group.arrival[waits][:, own], group.exit[waits][:, own]
            whole = np.isfinite(came).all(axis=1) & np.isfinite(left).all(axis=1)
            if not whole.any():
                continue
            gap = came[whole].max(axis=1) - left[whole].min(axis=1)
            if gap.max() > _SAME_CLOCK:
                at = int(gap.argmax())
                late = int(group.members[own[came[whole][at].argmax()]])
                early = int(group.members[own[left[whole][at].argmin()]])
                return early, late
    return None
