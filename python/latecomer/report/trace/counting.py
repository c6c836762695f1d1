"""Calls without sequence numbers, matched over the ranks by their place.

Ranks may begin to record at different calls, or lack some. Between ranks that read one clock it
tells which calls are the same: nobody leaves before all have entered, so these overlap. Other ranks
are shifted by whole calls, so that collectives and sizes agree, and no times contradict each other
whatever the offset of the clocks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...base.arrays import Bools
from .calls import Call
from .left_out import LeftOut
from .model import SYNCHRONISING, UNKNOWN

MOST_SHIFT = 64  # calls that a rank may have begun to record later than another
_ODD = 0.1  # of a rank's calls, which may differ from those of the others
_MET = 0.5  # of a rank's calls, at least, overlap with those of others if they read one clock
_FEW = 0.05  # of the calls may have wrong times
_OFF = 100e-6  # seconds by which times may contradict each other, ...
_DRIFT = 200e-6  # ... and seconds a second
Signature = tuple[str, int]
Counted = dict[int, dict[tuple[int, int], Call]]  # by rank and place


@dataclass
class _Slot:
    """One call, as the ranks of one clock have it."""

    signature: Signature
    begin: float  # the last arrival, ...
    end: float  # ... and the first exit; NaN: not known
    calls: dict[int, Call] = field(default_factory=dict)  # by rank

    def add(self, rank: int, call: Call) -> None:
        # max() and min() keep the first one if the second is NaN: unknown times are passed over.
        self.begin = max(call.arrival if math.isnan(self.begin) else self.begin, call.arrival)
        self.end = min(call.exit if math.isnan(self.end) else self.end, call.exit)
        self.calls[rank] = call


_Line = list[_Slot]


def counted(
    name: str, calls: Mapping[int, Sequence[Call]], clocks: Mapping[int, object], left: LeftOut
) -> Counted:
    """Each rank's calls by their place; without the ranks that do not fit.

    `clocks`: ranks with equal ones read the same; without one a rank has its own.
    """
    lines = _lines(calls, clocks)
    lines.sort(key=len, reverse=True)
    found: Counted = {}
    doubtful: list[int] = []
    for line in lines:
        ranks = sorted({rank for slot in line for rank in slot.calls})
        shift, others = _shift(lines[0], line)
        if shift is None:
            for rank in ranks:
                left.add("ranks whose calls do not fit those of the others", f"group {name!r}",
                         f"rank {rank}")  # fmt: skip
            continue
        if others and len(line) != len(lines[0]):
            doubtful += ranks
        for at, slot in enumerate(line):
            for rank, call in slot.calls.items():
                found.setdefault(rank, {})[at + shift, 0] = call
    if doubtful:
        left.doubt("which calls of different hosts are the same: the ranks recorded different "
                   "numbers of calls, and these have no sequence numbers",
                   f"group {name!r}, rank {doubtful[0]}", len(doubtful))  # fmt: skip
    return found


# ---- ranks of one clock


def _lines(calls: Mapping[int, Sequence[Call]], clocks: Mapping[int, object]) -> list[_Line]:
    """The calls of the ranks of each clock, matched by time; else a line for each rank."""
    of_clock: dict[object, list[int]] = {}
    for rank in calls:
        of_clock.setdefault(clocks.get(rank, (rank,)), []).append(rank)
    lines = []
    for ranks in of_clock.values():
        waits = all(_by_all(call) for rank in ranks for call in calls[rank])
        joint = _by_time({rank: calls[rank] for rank in ranks}) if waits else None
        lines += [joint] if joint else [_line(rank, calls[rank]) for rank in ranks]
    return lines


def _by_all(call: Call) -> bool:
    """Tell whether all ranks are in the call at one time; few parts of the data are empty, but in
    an all-to-all with counts."""
    usual = call.collective in SYNCHRONISING and call.collective != "alltoallv" and call.bytes != 0
    return usual or call.never_early


def _line(rank: int, calls: Sequence[Call]) -> _Line:
    return [_Slot(call.signature, call.arrival, call.exit, {rank: call}) for call in calls]


def _by_time(calls: Mapping[int, Sequence[Call]]) -> _Line | None:
    """One line of all ranks; None where their calls do not overlap: the clocks are not one."""
    line: _Line = []
    for rank in sorted(calls, key=lambda rank: -len(calls[rank])):
        own = calls[rank]
        line, met = (_merged(line, rank, own)) if line else (_line(rank, own), len(own))
        if met < _MET * len(own):
            return None
    return line


def _merged(line: _Line, rank: int, calls: Sequence[Call]) -> tuple[_Line, int]:
    """The line with a rank's calls, and how many of these were in it."""
    merged: _Line = []
    met = at = place = 0
    while at < len(line) or place < len(calls):
        call = calls[place] if place < len(calls) else None
        if call is None or (at < len(line) and _before(line, at, calls, place)):
            merged.append(line[at])
            at += 1
        elif at == len(line) or _after(line, at, calls, place):
            merged.append(_Slot(call.signature, call.arrival, call.exit, {rank: call}))
            place += 1
        else:
            line[at].add(rank, call)
            merged.append(line[at])
            met, at, place = met + 1, at + 1, place + 1
    return merged, met


def _before(line: _Line, at: int, calls: Sequence[Call], place: int) -> bool:
    """Tell whether the slot was over when the call began: the rank lacks it."""
    slot, call = line[at], calls[place]
    if slot.end < call.arrival - _OFF:
        return True
    return at + 1 < len(line) and _overlap(line[at + 1], call) > max(_overlap(slot, call), 0.0)


def _after(line: _Line, at: int, calls: Sequence[Call], place: int) -> bool:
    """Tell whether the call was over when the slot began: the others lack it."""
    slot, call = line[at], calls[place]
    if call.exit < slot.begin - _OFF:
        return True
    return place + 1 < len(calls) and _overlap(slot, calls[place + 1]) > max(
        _overlap(slot, call), 0.0
    )


def _overlap(slot: _Slot, call: Call) -> float:
    """Seconds that both have in common; 0 where a time is not known: calls come in order."""
    if math.isnan(slot.begin + slot.end + call.arrival + call.exit):
        return 0.0
    return min(slot.end, call.exit) - max(slot.begin, call.arrival)


# ---- ranks of different clocks


class _Columns:
    """A line as arrays."""

    def __init__(self, line: _Line, kinds: dict[str, int]) -> None:
        self.kind = np.array([kinds.setdefault(slot.signature[0], len(kinds)) for slot in line])
        self.size = np.array([slot.signature[1] for slot in line])
        self.waits = np.array([all(call.never_early for call in slot.calls.values())
                               for slot in line], bool)  # fmt: skip
        self.begin = np.array([slot.begin for slot in line])
        self.end = np.array([slot.end for slot in line])

    def __len__(self) -> int:
        return len(self.kind)


def _shift(first: _Line, other: _Line) -> tuple[int | None, bool]:
    """The place in `first` at which `other` begins, and whether others would be as right.

    The least shift at which collectives and sizes agree, and no times contradict each other; else
    the one at which fewest calls are odd.
    """
    if other is first:
        return 0, False
    kinds: dict[str, int] = {}
    one, two = _Columns(first, kinds), _Columns(other, kinds)
    best, fewest = None, (_ODD, math.inf)
    right = 0
    for shift in _shifts(min(MOST_SHIFT, max(len(one), len(two)))):
        ours, theirs = max(shift, 0), max(-shift, 0)
        both = min(len(one) - ours, len(two) - theirs)
        if both <= 0:
            continue
        here, there = slice(ours, ours + both), slice(theirs, theirs + both)
        odd = float(_differ(one, here, two, there).mean())
        if odd >= _ODD:
            continue
        wrong = _contradiction(one, here, two, there)
        if (odd, wrong) < fewest:
            best, fewest = shift, (odd, wrong)
        right += odd == 0 and wrong == 0 and 2 * both >= min(len(one), len(two))
        if right > 1 or (right and len(one) == len(two)):
            break
    return best, right > 1


def _differ(one: _Columns, here: slice, two: _Columns, there: slice) -> Bools:
    """Which calls contradict each other: sizes that are not known do not."""
    size, length = one.size[here], two.size[there]
    differ: Bools = (size != length) & (size != UNKNOWN) & (length != UNKNOWN)
    differ |= one.kind[here] != two.kind[there]
    return differ


def _contradiction(one: _Columns, here: slice, two: _Columns, there: slice) -> float:
    """Seconds that no offset of the two clocks can explain; but of few calls, which may be wrong.

    Each call bounds the offset: none of the two has left before the other has entered.
    """
    begin, end, came, left = one.begin[here], one.end[here], two.begin[there], two.end[there]
    known = one.waits[here] & two.waits[there] & np.isfinite(begin + end + came + left)
    if not known.any():
        return 0.0
    begin, end, came, left = begin[known], end[known], came[known], left[known]
    low = float(np.quantile(begin - left, 1 - _FEW, method="lower"))
    high = float(np.quantile(end - came, _FEW, method="higher"))
    return max(0.0, low - high - _OFF - _DRIFT * float(end.max() - begin.min()))


def _shifts(sizes: int) -> Iterator[int]:
    """0, 1, -1, 2, ..."""
    for size in range(sizes):
        yield from (size, -size) if size else (0,)
