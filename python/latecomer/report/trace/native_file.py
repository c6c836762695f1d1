"""The trace files that the library wrote, one a rank, as the core reads them (src/trace/).

Files are not trusted: whatever they say is checked before it is used. A record that is wrong is
left out and counted; without its header a file is of no use.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...base.arrays import Array, Int32s
from ...core.compiled import core
from .left_out import LeftOut
from .model import TraceError, Words

MAGIC = b"LATETRC\0"
VERSION = 1
HEADER = np.dtype([
    ("magic", "S8"), ("version", "<u4"), ("header_bytes", "<u4"), ("record_bytes", "<u4"),
    ("byte_order", "<u4"), ("rank", "<i4"), ("ranks", "<i4"), ("pid", "<u8"), ("clock", "<u8"),
    ("begin", "<i8"), ("real", "<i8"), ("end", "<i8"), ("used", "<u8"), ("dropped", "<u8"),
    ("limit", "<u8"), ("host", "S64"), ("library", "S32"), ("messages", "<u8"),
    ("messages_lost", "<u8"), ("first_lost", "<u8"),
    ("turn", "<u4"), ("doing", "u1"), ("doing_what", "u1"), ("_", "V2"),
    ("since", "<i8"), ("doing_sequence", "<i8"), ("doing_communicator", "<u4"),
    ("doing_name", "<u4"), ("doing_peer", "<i4"), ("doing_site", "<u4"),
])  # fmt: skip
(UNUSED, A_TEXT, A_COMMUNICATOR, A_MEMBERS, A_CALL, A_CLOCK, A_MESSAGE, A_COMPLETION, AN_OTHER) = (
    range(9)
)  # kinds of records: the first byte of each
TEXT = np.dtype([("kind", "u1"), ("bytes", "u1"), ("last", "u1"), ("_", "u1"), ("id", "<u4"),
                 ("piece", "V56")])  # fmt: skip
COMMUNICATOR = np.dtype([
    ("kind", "u1"), ("listed", "u1"), ("together", "u1"), ("_", "V1"), ("id", "<u4"),
    ("key", "<u8"),
    ("number", "<u4"), ("size", "<i4"), ("rank", "<i4"), ("name", "<u4"), ("first", "<i4"),
    ("stride", "<i4"), ("__", "V24"),
])  # fmt: skip
CALL = np.dtype([
    ("kind", "u1"), ("served", "u1"), ("overlaps", "u1"), ("asleep", "u1"), ("communicator", "<u4"),
    ("sequence", "<u8"),
    ("bytes", "<i8"), ("arrival", "<i8"), ("exit", "<i8"), ("collective", "<u4"),
    ("site", "<u4"), ("algorithm", "<u4"), ("op", "<u4"), ("root", "<i4"),
    ("element_bytes", "<i4"),
])  # fmt: skip
CLOCK = np.dtype([("kind", "u1"), ("_", "V3"), ("communicator", "<u4"), ("origin", "<i8"),
                  ("offset", "<f8"), ("error", "<f8"), ("drift", "<f8"), ("drift_error", "<f8"),
                  ("__", "V16")])  # fmt: skip
MESSAGE = np.dtype([
    ("kind", "u1"), ("what", "u1"), ("flags", "u1"), ("_", "V1"), ("communicator", "<u4"),
    ("peer", "<i4"), ("tag", "<i4"), ("bytes", "<i8"), ("posted", "<i8"), ("begin", "<i8"),
    ("end", "<i8"), ("order", "<u4"), ("site", "<u4"), ("between", "<i8"),
])  # fmt: skip
COMPLETION = np.dtype([("kind", "u1"), ("_", "V3"), ("communicator", "<u4"), ("sequence", "<u8"),
                       ("begin", "<i8"), ("between", "<i8"), ("__", "V32")])  # fmt: skip
OTHER = np.dtype([("kind", "u1"), ("calls", "u1"), ("_", "V6"), ("begin", "<i8"), ("end", "<i8"),
                  ("inside", "<i8"), ("between", "<i8"), ("__", "V24")])  # fmt: skip
WHAT = ("send", "synchronous send", "buffered send", "ready send", "receive", "probe")
MOST_ORDER = 1 << 32  # of a message; below it
RANKS_BYTE = 28  # where a header has the number of ranks

_NAME = re.compile(r"rank-(\d{1,7})\.trace")


@dataclass(frozen=True)
class Comm:
    """A communicator in one file."""

    number: int  # in the file
    place: int  # among those of the file
    key: tuple[int, int]
    rank: int
    name: str
    members: Int32s
    calls: int  # that follow each other
    overlapping: int  # calls that another one completed
    together: bool  # its ranks leave a call in which all wait for each other together


@dataclass(frozen=True)
class Clock:
    """A comparison of clocks on a communicator."""

    communicator: int
    origin: int  # nanoseconds
    offset: float  # seconds
    error: float  # seconds, at the origin
    drift: float  # seconds a second, by which the offset grows, ...
    drift_error: float  # ... and by which the error does, before the origin and after


@dataclass(frozen=True)
class File:
    """One rank's file, checked."""

    path: Path
    own: Any  # of the core
    header: Mapping[str, Any]
    texts: Mapping[int, str]
    comms: Mapping[int, Comm]
    clocks: Sequence[Clock]
    messages: Array
    messages_traced: bool  # else it is not known which there were
    messages_lost: int  # that could not be recorded
    messages_whole: int  # no message of a lower `order` is missing
    completions: Array  # the calls that completed those that overlap
    others: Array  # calls that have no record of their own

    @property
    def last_exit(self) -> int:
        """The end of all calls, in nanoseconds; below the file's begin if there are none."""
        return int(self.own.last_exit)

    @property
    def slept(self) -> float:
        """The time that the rank slept in its collectives, in nanoseconds."""
        return float(self.own.slept)

    @property
    def outside(self) -> tuple[int, int, int]:
        """Nanoseconds outside of MPI, and of these preempted, and blocked; 0: not known."""
        time, preempted, blocked = self.own.outside
        return int(time), int(preempted), int(blocked)

    def number_texts(self, words: Words) -> None:
        """Give each text its number in the trace."""
        self.own.number_texts([(number, words.place(text)) for number, text in self.texts.items()],
                              words.place(""))  # fmt: skip


def fits(name: str) -> re.Match[str] | None:
    """Whether a file of that name may be a trace of the library; its first group is the rank."""
    return _NAME.fullmatch(name)


def read(paths: Sequence[Path], left: LeftOut) -> Iterable[File]:
    """The files that can be used; what is wrong with the others is left out."""
    ranks = [int(found[1]) if (found := fits(path.name)) else -1 for path in paths]
    named = list(zip(map(os.fsencode, paths), ranks, strict=True))
    for path, own in zip(paths, core.read_trace_files(named), strict=True):
        for what, byte, value, count in own.faults():
            left.add(what, f"{path}, byte {byte}", value, count)
        refused = own.refused()
        if refused is None:
            yield _file(path, own)
        else:
            left.add("files that cannot be used", _refusal(path, *refused))


def _refusal(path: Path, byte: int, what: str, value: str, right: str) -> TraceError:
    if byte < 0:
        return TraceError(f"{path}: {what}", value, "check the file")
    return TraceError(f"{path}, byte {byte}: {what}", value, f"right would be {right}")


def _file(path: Path, own: Any) -> File:
    header = own.header()
    texts = {number: raw.decode("utf-8", "replace") for number, raw in own.texts().items()}
    comms = {
        number: Comm(number, place, (key, copy), rank, texts[name], members, calls, *more)
        for place, (number, key, copy, rank, name, members, calls, *more) in enumerate(own.comms())
    }
    return File(
        path, own, header, texts, comms, [Clock(*each) for each in own.clocks()],
        own.messages().view(MESSAGE).reshape(-1), bool(header["messages"]),
        int(header["messages_lost"]), own.messages_whole,
        own.completions().view(COMPLETION).reshape(-1), own.others().view(OTHER).reshape(-1),
    )  # fmt: skip
