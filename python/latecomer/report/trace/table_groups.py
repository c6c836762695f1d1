"""The collectives of an interchange table: its rows, matched over the ranks of each group."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ...base.arrays import Bools, Floats, Int8s, Int32s, Int64s
from .calls import ALIKE
from .contradictions import CONTRADICTING, contradicting
from .left_out import LeftOut
from .model import SERVED, UNKNOWN, Group, TraceError, Words, check_size
from .table_rows import Columns

MOST_GROUPS = 1 << 14  # a report of as many takes 24 s of processor time


def groups_of(rows: Columns, words: Words, left: LeftOut, *, overlapping: bool) -> list[Group]:
    """The groups, in the order of their first arrivals. Raises TraceError if they are too many.

    `overlapping`: rows of calls that another one completed; `requested` is when they were begun.
    """
    if not len(rows["rank"]):
        return []
    rows.setdefault("group", np.full(len(rows["rank"]), -1, np.int32))
    rows = _numbered(rows, words, left)
    order = np.lexsort((rows["rank"], rows["sequence"], rows["group"]))
    rows = {name: column[order] for name, column in rows.items()}
    bounds = np.flatnonzero(np.diff(rows["group"], prepend=-2, append=-2))
    if len(bounds) - 1 > MOST_GROUPS:
        raise TraceError("groups of a table", len(bounds) - 1,
                         f"right would be at most {MOST_GROUPS}: the name of a communicator, which "
                         "all its calls share")  # fmt: skip
    found = []
    for begin, end in pairwise(bounds.tolist()):
        part = {name: column[begin:end] for name, column in rows.items()}
        name = words[int(part["group"][0])] or "all"
        if (group := _group(name, part, words, left, overlapping)) is not None:
            found.append((float(np.fmin.reduce(group.arrival, axis=None)), group))
    return [group for _, group in sorted(found, key=lambda pair: pair[0])]


def _numbered(rows: Columns, words: Words, left: LeftOut) -> Columns:
    """With a sequence for each row: its place among those of its rank and group, if none is."""
    number = rows.setdefault("sequence", np.full(len(rows["rank"]), np.nan))
    lacking = np.isnan(number)
    if not lacking.any():
        return rows
    group = rows["group"] + 1
    some = np.zeros(int(group.max()) + 1, bool)
    some[group[~lacking]] = True
    odd = lacking & (some[group] | np.isnan(rows["arrive"]))
    if odd.any():
        left.add("rows without a sequence, in groups where others have one, or without a time",
                 f"group {words[int(rows['group'][odd][0])]!r}", count=int(odd.sum()))  # fmt: skip
        rows = {name: column[~odd] for name, column in rows.items()}
        lacking, group = lacking[~odd], group[~odd]
    order = np.lexsort((rows["arrive"], rows["rank"], group))
    new = np.diff(group[order], prepend=-1) != 0
    new |= np.diff(rows["rank"][order], prepend=-1) != 0
    first = np.maximum.accumulate(np.where(new, np.arange(len(order)), 0))
    place = np.empty(len(order))
    place[order] = np.arange(len(order)) - first
    rows["sequence"] = np.where(lacking, place, rows["sequence"])
    return _of_equal_counts(rows, lacking, words, left)


def _of_equal_counts(rows: Columns, counted: Bools, words: Words, left: LeftOut) -> Columns:
    """Without the groups whose ranks have different numbers of calls that are counted."""
    group = rows["group"].astype(np.int64)
    pairs, calls = np.unique((group << 32 | rows["rank"])[counted], return_counts=True)
    if not len(pairs):
        return rows
    first = np.flatnonzero(np.diff(pairs >> 32, prepend=-2))
    uneven = np.minimum.reduceat(calls, first) != np.maximum.reduceat(calls, first)
    odd = counted & np.isin(group, (pairs[first] >> 32)[uneven])
    if odd.any():
        left.add("rows that cannot be matched, since ranks of a group have different numbers of "
                 "calls and none has a sequence", f"group {words[int(group[odd][0])] or 'all'!r}",
                 count=int(odd.sum()))  # fmt: skip
    return {name: column[~odd] for name, column in rows.items()}


def _group(
    name: str, rows: Columns, words: Words, left: LeftOut, overlapping: bool
) -> Group | None:
    """The calls of one group, whose rows are in the order of sequence and rank."""
    members, place = np.unique(rows["rank"], return_inverse=True)
    numbers, call = np.unique(rows["sequence"], return_inverse=True)
    where = f"group {name!r}"
    if len(members) < 2:
        left.add("rows of groups that one rank alone recorded", where, f"rank {members[0]}",
                 len(place))  # fmt: skip
        return None
    try:
        check_size(name, len(numbers), len(members), len(place))
    except TraceError as error:
        left.add("calls of groups that are too large", error, count=len(numbers))
        return None
    twice = np.diff(call * len(members) + place, prepend=-1) == 0
    if twice.any():
        left.add("further rows of a rank in a call", where,
                 f"call {rows['sequence'][twice][0]:.0f}", int(twice.sum()))  # fmt: skip
    first, keep = np.flatnonzero(np.diff(call, prepend=-1)), np.flatnonzero(~twice)
    group = _filled(name, members, numbers, _Places(rows, first, call, place, keep), words,
                    overlapping)  # fmt: skip
    if not (np.isfinite(group.arrival).any() and np.isfinite(group.exit).any()):
        left.add("calls of groups without any known time", where, count=len(numbers))
        return None
    if not overlapping:
        group = _following(group, where, left)
    kinds = _kinds(rows["operation"], words)
    odd = np.minimum.reduceat(kinds, first) != np.maximum.reduceat(kinds, first)
    if odd.any():
        left.add("calls that are another collective on another rank", where,
                 f"call {numbers[odd][0]:.0f}", int(odd.sum()))  # fmt: skip
        return group.part(np.flatnonzero(~odd)) if not odd.all() else None
    return group


def _following(group: Group, where: str, left: LeftOut) -> Group:
    """Without the times of the few calls that cannot have come between the rank's others."""
    arrival, leave = group.times()
    for at, rank in enumerate(group.members):
        odd = contradicting(arrival[:, at], leave[:, at])
        if len(odd):
            left.add(CONTRADICTING, f"{where}, rank {rank}", f"call {group.sequence[odd[0]]}",
                     len(odd))  # fmt: skip
            arrival[odd, at] = leave[odd, at] = np.nan
    return replace(group, arrival=arrival, exit=leave)


@dataclass(frozen=True)
class _Places:
    """Where a group's rows belong."""

    rows: Columns
    first: Int64s  # row of each call
    call: Int64s  # of each row
    member: Int64s  # of each row
    keep: Int64s  # rows, one for each call and member

    def times(self, column: str) -> Floats | None:
        """An array of shape (calls, members); None: no row has any."""
        if column not in self.rows or np.isnan(self.rows[column]).all():
            return None
        found = np.full((len(self.first), int(self.member.max()) + 1), np.nan)
        found[self.call[self.keep], self.member[self.keep]] = self.rows[column][self.keep]
        return found

    def text(self, column: str) -> Int32s:
        """The value of each call, as its lowest rank has it."""
        found = self.rows.get(column)
        return np.full(len(self.first), UNKNOWN, np.int32) if found is None else found[self.first]

    def whole(self, column: str) -> Int64s:
        """The greatest value of each call; UNKNOWN."""
        if column not in self.rows:
            return np.full(len(self.first), UNKNOWN)
        greatest = np.fmax.reduceat(self.rows[column], self.first)
        return np.nan_to_num(greatest, nan=UNKNOWN).astype(np.int64)


def _filled(
    name: str, members: Int32s, numbers: Floats, places: _Places, words: Words, overlapping: bool
) -> Group:
    nothing = np.full((len(numbers), len(members)), np.nan)
    arrival, leave = (times if (times := places.times(column)) is not None else nothing.copy()
                      for column in ("arrive", "leave"))  # fmt: skip
    requested, idle, completed = places.times("requested"), places.times("idle"), None
    if overlapping:
        completed, arrival = arrival, arrival if requested is None else requested
        idle = completed if idle is None else np.where(np.isnan(idle), completed, idle)
    return Group(
        name=name,
        members=members.astype(np.int32),
        sequence=numbers.astype(np.int64),
        collective=places.text("operation"),
        bytes=places.whole("bytes"),
        element_bytes=places.whole("element_bytes").astype(np.int32),
        operator=places.text("operator"),
        root=places.whole("root").astype(np.int32),
        site=places.text("site"),
        algorithm=places.text("algorithm"),
        served=_served(places.text("served"), words),
        arrival=arrival,
        exit=leave,
        launch=None if requested is None or overlapping else arrival - requested,
        completed=completed,
        idle=idle if overlapping else None,
    )


def _kinds(operations: Int32s, words: Words) -> Int64s:
    """Equal for what all ranks see as one collective."""
    some, at = np.unique(operations, return_inverse=True)
    texts = (words[each] for each in some.tolist())
    return np.array([words.place(ALIKE.get(text, text)) for text in texts])[at.reshape(-1)]


def _served(places: Int32s, words: Words) -> Int8s:
    some, at = np.unique(places, return_inverse=True)
    texts = (words[each] for each in some.tolist())
    known = [SERVED.index(text) if text in SERVED else UNKNOWN for text in texts]
    return np.array(known, np.int8)[at.reshape(-1)]
