"""A rank's trace file while it grows: each look reads what is new, and the last records are kept.

Beside these a tail keeps what later records refer to: texts, communicators and clocks. Messages
are matched by counting, so it counts those that it has left out, until both sides have left out as
many.
"""

from __future__ import annotations

import os
from collections import Counter, deque
from pathlib import Path
from typing import Any

import numpy as np

from ...base import regular_files
from ...base.arrays import Array, Bools, Int64s, UInt32s
from . import native_file as native
from .events import MOST_RANKS

Records = Int64s  # (records, 8)
LEAST = 32  # calls that are kept, however long ago they were
_BYTES = native.CALL.itemsize  # of a record
_CHUNK = 1 << 16  # records that are read at once
_CLOCKS = 8  # comparisons of clocks that are kept of each communicator
_COMMUNICATORS = 4096  # that are kept
_TURNS = 8  # looks at a header that is being written
# The column of a record that has the time at which the rank was done with it.
_DONE = {kind: layout.fields[name][1] // 8 for kind, layout, name in (
    (native.A_CALL, native.CALL, "exit"), (native.A_MESSAGE, native.MESSAGE, "end"),
    (native.A_COMPLETION, native.COMPLETION, "begin"), (native.AN_OTHER, native.OTHER, "end"),
) if layout.fields}  # fmt: skip
_FIXED = (native.A_TEXT, native.A_MEMBERS, native.A_COMMUNICATOR, native.A_CLOCK)
_RECEIVE, _PROBE = native.WHAT.index("receive"), native.WHAT.index("probe")
# The channel of a message: (communicator, whether it was received, the other rank there, tag).
Channel = tuple[int, bool, int, int]


class Tail:
    """One rank's file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.header: Any = None  # of native.HEADER; None: not there yet ...
        self.why = ""  # ... and never will be, as the file is no trace
        self.looked = self.moved = -np.inf  # by the watcher's clock: the last look, and ...
        # ... the last look before the rank entered or left a call, and the first one after that
        self.seen = np.inf
        self.recent: Records = np.zeros((0, 8), np.int64)
        self.cut = False  # earlier records are left out
        self.left_out: Counter[Channel] = Counter()  # messages
        self.passed: dict[int, int] = {}  # by communicator: the number of the last call there
        self._seen = 0  # records
        self._first_order = 0  # of messages: those with a lower one are left out
        self._texts: list[bytes] = []
        self._members: dict[int, bytes] = {}
        self._comms: dict[int, bytes] = {}
        self._clocks: dict[int, deque[bytes]] = {}

    def look(self, now: float, *, records: bool) -> bool:
        """Read the header, and what is new. False: it is another file now, or is cut.

        `now`: seconds of the watcher's clock. Raises OSError.
        """
        with regular_files.opened(self.path) as file:
            number = file.fileno()
            header = _header(number)
            have = (os.fstat(number).st_size - native.HEADER.itemsize) // _BYTES
            if header is None:
                self.why = _no_trace(number)
                return self.header is None
            used = min(int(header["used"]), max(have, 0))
            if self.header is not None:
                same = all(self.header[name] == header[name] for name in ("begin", "pid", "ranks"))
                if not same or used < self._seen:
                    return False
                if self.header["turn"] != header["turn"]:
                    self.moved, self.seen = self.looked, now
            self.seen = min(self.seen, now)
            self.header, self.looked = header, now
            while records and self._seen < used:
                count = min(_CHUNK, used - self._seen)
                at = native.HEADER.itemsize + self._seen * _BYTES
                raw = os.pread(number, count * _BYTES, at)
                raw = raw[: len(raw) // _BYTES * _BYTES]
                if not raw:
                    return False
                self._seen += len(raw) // _BYTES
                self._take(raw)
        return True

    @property
    def ended(self) -> bool:
        """The rank has reached the end of MPI_Finalize."""
        return self.header is not None and int(self.header["end"]) != 0

    @property
    def full(self) -> bool:
        """The file has no more room for calls, or lacks messages since it has none for these."""
        size = native.HEADER.itemsize + int(self.header["used"]) * _BYTES
        room = int(self.header["limit"]) // 4 * 3  # as room_for_messages in src/trace/records.hpp
        return bool(self.header["dropped"] or (self.header["first_lost"] and size >= room))

    @property
    def last(self) -> int:
        """The last time that is known of the rank, in nanoseconds of its clock."""
        done = _done(self.recent)
        return max(int(self.header["since"]), int(done.max(initial=0)))

    def keep(self, since: int, most: int) -> None:
        """Leave out records of before that time, or beyond the last `most`; some calls stay.

        These are collectives, unless the rank has made none for longer than those took.
        """
        done = _done(self.recent)
        late = np.flatnonzero(done >= since)
        first = int(late[0]) if len(late) else len(done)
        calls = np.flatnonzero(_kinds(self.recent) == native.A_CALL)[-LEAST:]
        if not len(calls) or self.last - done[calls[-1]] > done[calls[-1]] - done[calls[0]]:
            calls = np.arange(len(done))[-LEAST:]
        first = min(first, int(calls[0]) if len(calls) == LEAST else 0)
        first = max(first, len(done) - most)
        if first > 0:
            self.cut = True
            self._leave_out(self.recent[:first])
            self.recent = self._ordered(self.recent[first:])

    def drop(self, channel: Channel, count: int) -> None:
        """Leave out the first messages of a channel that are here, so many at most."""
        at = np.flatnonzero(_kinds(self.recent) == native.A_MESSAGE)
        keys = _channels(self.recent[at])
        own = at[(keys == np.array(channel, np.int64)).all(axis=1) & _counts(self.recent[at])]
        own = own[np.argsort(_orders(self.recent[own]), kind="stable")][:count]
        self.left_out[channel] += len(own)
        self.recent = np.delete(self.recent, own, axis=0)

    def places(self) -> dict[int, tuple[tuple[int, int], int]]:
        """By a communicator's number here: what names it on all ranks, and this rank in it."""
        found = {}
        for number, raw in self._comms.items():
            own = np.frombuffer(raw, native.COMMUNICATOR)[0]
            found[number] = (int(own["key"]), int(own["number"])), int(own["rank"])
        return found

    def write(self, folder: Path) -> None:
        """Write a trace file of the records that are kept."""
        self._forget()
        clocks = [each for own in self._clocks.values() for each in own]
        fixed = b"".join([*self._texts, *self._members.values(), *self._comms.values(), *clocks])
        header = self.header.copy()
        header["used"] = len(fixed) // _BYTES + len(self.recent)
        (folder / self.path.name).write_bytes(header.tobytes() + fixed + self.recent.tobytes())

    # ---- records

    def _take(self, raw: bytes) -> None:
        records = np.frombuffer(raw, np.int64).reshape(-1, 8)
        kinds = _kinds(records)
        for record in records[np.isin(kinds, _FIXED)]:
            self._fix(record.tobytes())
        calls = _as(native.CALL, records[kinds == native.A_CALL])
        for comm in np.unique(calls["communicator"]).tolist():
            last = int(calls["sequence"][calls["communicator"] == comm].max())
            self.passed[comm] = max(self.passed.get(comm, -1), last)
        new = records[np.isin(kinds, tuple(_DONE))]
        self.recent = np.concatenate([self.recent, self._ordered(new)])
        if len(self.recent) > 4 * _CHUNK:  # the first look at a long trace
            self.keep(0, 2 * _CHUNK)

    def _fix(self, record: bytes) -> None:
        kind, number = record[0], int.from_bytes(record[4:8], "little")
        if kind == native.A_TEXT:
            self._texts.append(record)
        elif kind == native.A_MEMBERS:
            self._members[number] = self._members.get(number, b"") + record
        elif kind == native.A_COMMUNICATOR:
            self._comms[number] = record
        else:
            self._clocks.setdefault(number, deque(maxlen=_CLOCKS)).append(record)

    def _forget(self) -> None:
        """The communicators that were made first, where there are very many."""
        if len(self._comms) <= _COMMUNICATORS:
            return
        used = set((self.recent[:, 0] >> 32).tolist())
        for number in [each for each in self._comms if each not in used][:-_COMMUNICATORS]:
            for known in (self._comms, self._members, self._clocks, self.passed):
                known.pop(number, None)

    # ---- messages

    def _ordered(self, records: Records) -> Records:
        """Without messages that were begun before one that is left out: those count as well."""
        late = (_kinds(records) == native.A_MESSAGE) & (_orders(records) < self._first_order)
        if not late.any():
            return records
        self._count(records[late])
        others: Records = records[~late]
        return others

    def _leave_out(self, records: Records) -> None:
        messages = records[_kinds(records) == native.A_MESSAGE]
        if len(messages):
            self._first_order = max(self._first_order, int(_orders(messages).max()) + 1)
            self._count(messages)

    def _count(self, messages: Records) -> None:
        keys = _channels(messages[_counts(messages)])
        some, times = np.unique(keys, axis=0, return_counts=True)
        for (comm, received, peer, tag), count in zip(some.tolist(), times.tolist(), strict=True):
            self.left_out[comm, bool(received), peer, tag] += count


def began(path: Path) -> int:
    """When a file's rank began, in nanoseconds since 1970; 0: it has no header, or none to read."""
    try:
        with regular_files.opened(path) as file:
            header = _header(file.fileno())
    except OSError:
        return 0
    return 0 if header is None else int(header["real"]) + int(header["begin"])


def _header(number: int) -> Any:
    """The header, with a status that is whole if there is one; None: it is not written yet,
    or is none."""
    header = None
    for _ in range(_TURNS):
        raw = os.pread(number, native.HEADER.itemsize, 0)
        if len(raw) < native.HEADER.itemsize or not raw.startswith(native.MAGIC):
            return None
        header = np.frombuffer(raw, native.HEADER)[0]
        if not 1 <= header["ranks"] <= MOST_RANKS:
            return None
        if header["turn"] % 2 == 0:
            break
    return header


def _no_trace(number: int) -> str:
    """Why a file without a header is no trace; empty: it may be written yet."""
    raw = os.pread(number, native.HEADER.itemsize, 0)
    start = raw[: len(native.MAGIC)]
    if not native.MAGIC.startswith(start.rstrip(b"\0")):
        return f"it begins with {start!r}, right would be {native.MAGIC!r}"
    if len(raw) < native.HEADER.itemsize:
        return ""
    ranks = int(np.frombuffer(raw, native.HEADER)["ranks"][0])
    return "" if 0 <= ranks <= MOST_RANKS else f"its number of ranks is {ranks}"


def _kinds(records: Records) -> Int64s:
    return records[:, 0] & 0xFF


def _done(records: Records) -> Int64s:
    """The time of each record, in nanoseconds."""
    column = np.zeros(256, np.int64)
    column[list(_DONE)] = list(_DONE.values())
    return records[np.arange(len(records)), column[_kinds(records)]]


def _as(layout: np.dtype[Any], records: Records) -> Array:
    return np.ascontiguousarray(records).view(layout).reshape(-1)


def _orders(messages: Records) -> UInt32s:
    return _as(native.MESSAGE, messages)["order"]


def _counts(messages: Records) -> Bools:
    """Which of them are sends or receives: probes are waits for a message that is another's."""
    found: Bools = _as(native.MESSAGE, messages)["what"] != _PROBE
    return found


def _channels(messages: Records) -> Int64s:
    """The channel of each, of shape (messages, 4)."""
    own = _as(native.MESSAGE, messages)
    received = own["what"] == _RECEIVE
    channels = [own["communicator"], received, own["peer"], own["tag"]]
    return np.column_stack([each.astype(np.int64) for each in channels])
