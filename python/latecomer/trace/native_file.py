"""One trace file that the library wrote: src/runtime/trace/trace_records.hpp.

Files are not trusted: whatever they say is checked before it is used. A record that is wrong is
left out and counted; without its header a file is of no use.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .left_out import LeftOut
from .model import SERVED, TraceError

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAGIC = b"LATETRC\0"
VERSION = 1
MOST_RANKS = 1 << 20
MOST_BYTES = 4 << 30  # of one file
MOST_MEMBERS = 1 << 24  # of all communicators of one file together
MOST_ORDER = 1 << 32  # of a message; below it

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
TEXT = np.dtype([("kind", "u1"), ("bytes", "u1"), ("last", "u1"), ("_", "u1"), ("id", "<u4"),
                 ("piece", "V56")])  # fmt: skip
COMMUNICATOR = np.dtype([
    ("kind", "u1"), ("listed", "u1"), ("_", "V2"), ("id", "<u4"), ("key", "<u8"),
    ("number", "<u4"), ("size", "<i4"), ("rank", "<i4"), ("name", "<u4"), ("first", "<i4"),
    ("stride", "<i4"), ("__", "V24"),
])  # fmt: skip
MEMBERS = np.dtype([("kind", "u1"), ("count", "u1"), ("_", "V2"), ("communicator", "<u4"),
                    ("first", "<u4"), ("__", "V4"), ("ranks", "<i4", 12)])  # fmt: skip
CALL = np.dtype([
    ("kind", "u1"), ("served", "u1"), ("overlaps", "u1"), ("_", "V1"), ("communicator", "<u4"),
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
    ("end", "<i8"), ("order", "<u4"), ("site", "<u4"), ("__", "V8"),
])  # fmt: skip
COMPLETION = np.dtype([("kind", "u1"), ("_", "V3"), ("communicator", "<u4"), ("sequence", "<u8"),
                       ("begin", "<i8"), ("__", "V40")])  # fmt: skip
UNUSED, A_TEXT, A_COMMUNICATOR, A_MEMBERS, A_CALL, A_CLOCK, A_MESSAGE, A_COMPLETION = range(8)
WHAT = ("send", "synchronous send", "buffered send", "ready send", "receive", "probe")
NONBLOCKING, PERSISTENT, ANY_SOURCE, ANY_TAG, MATCHED_PROBE = 1, 2, 4, 8, 16  # bits of flags

_NAME = re.compile(r"rank-(\d{1,7})\.trace")
_BYTE_ORDER = 0x01020304
_RECORD = 64
_LONGEST_TEXT = 1 << 16
_MOST_TIME = 1 << 61  # nanoseconds: differences fit in 64 bits


@dataclass(frozen=True)
class Comm:
    """A communicator in one file."""

    key: tuple[int, int]
    rank: int
    name: str
    members: tuple[int, ...]


@dataclass(frozen=True)
class File:
    """One rank's file, checked."""

    path: Path
    header: Any
    texts: Mapping[int, str]
    comms: Mapping[int, Comm]
    calls: NDArray[Any]  # that follow each other on their communicator
    overlapping: NDArray[Any]  # calls that another one completed
    clocks: NDArray[Any]
    messages: NDArray[Any]
    messages_traced: bool  # else it is not known which there were
    messages_lost: int  # that could not be recorded
    messages_whole: int  # no message of a lower `order` is missing
    completions: NDArray[Any]  # the calls that completed those that overlap


def fits(name: str) -> re.Match[str] | None:
    """Whether a file of that name may be a trace of the library; its first group is the rank."""
    return _NAME.fullmatch(name)


def read(path: Path, left: LeftOut) -> File:
    """What one file holds. Raises TraceError, with the place and the value, if that is nothing."""
    try:
        size = path.stat().st_size
        return _read(path, size, left)
    except OSError as error:
        raise TraceError(f"{path}: cannot be read", error.strerror, "check the file") from None


def _read(path: Path, size: int, left: LeftOut) -> File:
    if size < HEADER.itemsize:
        raise _wrong(path, size, "the file ends in the header", size, f"{HEADER.itemsize} bytes")
    if size > MOST_BYTES:
        raise _wrong(path, 0, "size", size, f"at most {MOST_BYTES} bytes")
    header = np.fromfile(path, HEADER, 1)[0]
    _check_header(path, header)
    have, used = (size - HEADER.itemsize) // _RECORD, int(header["used"])
    if used > have:
        left.add("ends of files, which are missing", f"{path}, byte {size}",
                 f"{have} records; used: {used}")  # fmt: skip
    raw = np.fromfile(path, np.uint8, min(used, have) * _RECORD, offset=HEADER.itemsize)
    records = raw.reshape(-1, _RECORD)
    kinds = records[:, 0]
    strange = np.flatnonzero(kinds > A_COMPLETION)
    if len(strange):
        place = int(strange[0])
        left.add(f"records of a kind that is not 0 to {A_COMPLETION}", _where(path, place),
                 f"kind of record: {kinds[place]}", len(strange))  # fmt: skip
    texts = _texts(path, records, np.flatnonzero(kinds == A_TEXT), left)
    comms = dict(_comms(path, records, kinds, texts, header, left))
    about = _About(path, header, texts, comms, left)
    places = np.flatnonzero(kinds == A_CALL)
    calls = records[places].view(CALL).reshape(-1)
    calls = calls[_good_calls(about, calls, places)]
    places = np.flatnonzero(kinds == A_MESSAGE)
    messages = records[places].view(MESSAGE).reshape(-1)
    good = _good_messages(about, messages, places)
    lost = [int(header["first_lost"]) - 1] if header["first_lost"] else []
    whole = min([MOST_ORDER, *lost, *messages["order"][~good].tolist()])
    messages = messages[good]
    clocks = records[kinds == A_CLOCK].view(CLOCK).reshape(-1)
    known = np.isin(clocks["communicator"], list(comms))
    numbers = np.stack([clocks[name] for name in ("offset", "error", "drift", "drift_error")])
    usable = known & np.isfinite(numbers).all(axis=0) & (clocks["error"] >= 0)
    usable &= np.abs(clocks["origin"]) < _MOST_TIME
    if not usable.all():
        place = int(np.flatnonzero(kinds == A_CLOCK)[np.flatnonzero(~usable)[0]])
        left.add("comparisons of clocks that are wrong", _where(path, place),
                 count=int((~usable).sum()))  # fmt: skip
    overlaps = calls["overlaps"] != 0
    return File(path, header, texts, comms, calls[~overlaps], calls[overlaps], clocks[usable],
                messages, bool(header["messages"]), int(header["messages_lost"]), whole,
                records[kinds == A_COMPLETION].view(COMPLETION).reshape(-1))  # fmt: skip


# ---- what is wrong


def _at(record: int) -> int:
    return HEADER.itemsize + record * _RECORD


def _where(path: Path, record: int, offset: int = 0) -> str:
    return f"{path}, byte {_at(record) + offset}"


def _wrong(path: Path, offset: int, what: str, value: object, right: str) -> TraceError:
    return TraceError(f"{path}, byte {offset}: {what}", value, f"right would be {right}")


# ---- parts of a file


def _check_header(path: Path, header: Any) -> None:
    def check(good: bool, name: str, right: str) -> None:
        if not good:
            raise _wrong(path, HEADER.fields[name][1], name, header[name], right)

    with path.open("rb") as file:  # NumPy cuts zeros
        if file.read(8) != MAGIC:
            raise _wrong(path, 0, "the first bytes", bytes(header["magic"]), f"{MAGIC!r}: no trace")
    check(header["byte_order"] == _BYTE_ORDER, "byte_order", "that of this machine")
    check(header["version"] == VERSION, "version", f"{VERSION}: read it with the latecomer of then")
    check(header["header_bytes"] == HEADER.itemsize, "header_bytes", f"{HEADER.itemsize}")
    check(header["record_bytes"] == _RECORD, "record_bytes", f"{_RECORD}")
    check(1 <= header["ranks"] <= MOST_RANKS, "ranks", f"1 to {MOST_RANKS}")
    check(0 <= header["rank"] < header["ranks"], "rank", f"below {header['ranks']}")
    named = int(_NAME.fullmatch(path.name)[1])
    check(header["rank"] == named, "rank", f"{named}, as the file's name says")
    for name in ("begin", "end", "real"):
        check(abs(int(header[name])) < _MOST_TIME, name, "a time in nanoseconds")


def _texts(
    path: Path, records: NDArray[np.uint8], places: NDArray[np.int64], left: LeftOut
) -> dict[int, str]:
    """Texts by their numbers, each in one or more records."""
    texts: dict[int, str] = {}
    pieces, number = b"", -1
    for place, record in zip(places, records[places].view(TEXT).reshape(-1), strict=True):
        if int(record["id"]) != number:
            pieces, number = b"", int(record["id"])
        length = int(record["bytes"])
        if length > TEXT["piece"].itemsize or len(pieces) + length > _LONGEST_TEXT:
            left.add("pieces of texts that are too long", _where(path, place, 1),
                     f"length of a text: {length}; right would be at most 56")  # fmt: skip
            continue
        pieces += records[place, 8 : 8 + length].tobytes()
        if record["last"]:
            if number in texts:
                left.add("texts whose number another one has", _where(path, place, 4),
                         f"id of a text: {number}")  # fmt: skip
            texts.setdefault(number, pieces.decode("utf-8", "replace"))
            number = -1
    return texts


def _comms(
    path: Path,
    records: NDArray[np.uint8],
    kinds: NDArray[np.uint8],
    texts: Mapping[int, str],
    header: Any,
    left: LeftOut,
) -> Iterator[tuple[int, Comm]]:
    lists: dict[int, list[Any]] = {}
    for record in records[kinds == A_MEMBERS].view(MEMBERS).reshape(-1):
        lists.setdefault(int(record["communicator"]), []).append(record)
    total = 0
    for place in np.flatnonzero(kinds == A_COMMUNICATOR):
        record = records[place].view(COMMUNICATOR)[0]
        total += max(int(record["size"]), 0)
        if total > MOST_MEMBERS:
            raise _wrong(path, _at(place), "members of all communicators", total,
                         f"at most {MOST_MEMBERS}")  # fmt: skip
        members = _members(record, int(header["ranks"]), lists)
        wrong = _wrong_of(record, members, texts, header)
        if wrong:
            name, right = wrong
            left.add(f"communicators whose {name} is not {right}",
                     _where(path, place, COMMUNICATOR.fields[name][1]),
                     f"{name} of a communicator: {record[name]}")  # fmt: skip
            continue
        key = (int(record["key"]), int(record["number"]))
        yield int(record["id"]), Comm(key, int(record["rank"]), texts[int(record["name"])], members)


def _members(record: Any, ranks: int, lists: Mapping[int, list[Any]]) -> tuple[int, ...]:
    """The ranks of a communicator; (): its size is wrong."""
    if not 1 <= record["size"] <= ranks:
        return ()
    if record["listed"]:
        return tuple(int(each) for part in lists.get(int(record["id"]), ())
                     for each in part["ranks"][: part["count"]])  # fmt: skip
    first, stride = int(record["first"]), int(record["stride"])
    return tuple(first + i * stride for i in range(int(record["size"])))


def _wrong_of(
    record: Any, members: tuple[int, ...], texts: Mapping[int, str], header: Any
) -> tuple[str, str] | None:
    """Which value of a communicator is wrong, and what would be right."""
    size, ranks = int(record["size"]), int(header["ranks"])
    whole = len(members) == size == len(set(members)) and all(0 <= each < ranks for each in members)
    mine = int(record["rank"])
    checks = (
        (1 <= size <= ranks, "size", "1 to the number of ranks"),
        (0 <= mine < size, "rank", "below its size"),
        (int(record["name"]) in texts, "name", "the number of a text"),
        (whole, "first", "that of as many different ranks as it has"),
        (whole and 0 <= mine < size and members[mine] == header["rank"], "rank",
         "that of the file's rank"),
    )  # fmt: skip
    return next(((name, right) for good, name, right in checks if not good), None)


@dataclass(frozen=True)
class _About:
    """The parts of a file that its records rest on."""

    path: Path
    header: Any
    texts: Mapping[int, str]
    comms: Mapping[int, Comm]
    left: LeftOut

    def sizes(self, numbers: NDArray[np.uint32]) -> NDArray[np.int64]:
        """The sizes of communicators; 0: there is no such one."""
        known, which = np.unique(numbers, return_inverse=True)
        sizes = [len(self.comms[each].members) if each in self.comms else 0
                 for each in known.tolist()]  # fmt: skip
        return np.array(sizes, np.int64)[which] if len(numbers) else np.zeros(0, np.int64)


class _Checked:
    """Records of one kind, and which of them are right so far."""

    def __init__(
        self, about: _About, records: NDArray[Any], places: NDArray[np.int64], noun: str
    ) -> None:
        self.about, self.records, self.places, self.noun = about, records, places, noun
        self.alive = np.ones(len(records), bool)

    def check(self, good: NDArray[np.bool_], name: str, right: str, *, words: bool = False) -> None:
        """Leave out those that are not good. `words`: they stay, without the word."""
        bad = np.flatnonzero(self.alive & ~good)
        if not len(bad):
            return
        at, noun = int(bad[0]), self.noun
        what = f"words of {noun}s" if words else f"{noun}s"
        where = _where(self.about.path, int(self.places[at]), self.records.dtype.fields[name][1])
        self.about.left.add(f"{what} whose {name} is not {right}", where,
                            f"{name} of a {noun}: {self.records[name][at]}", len(bad))  # fmt: skip
        if not words:
            self.alive[bad] = False

    def check_times(self, *names: str) -> None:
        for name in names:
            self.check(np.abs(self.records[name].astype(np.float64)) < _MOST_TIME, name,
                       "a time in nanoseconds")  # fmt: skip

    def check_span(self, first: str, last: str, right: str) -> None:
        """Those before the file's begin or after its end are wrong, unless most are."""
        header, records = self.about.header, self.records
        if header["end"] and header["end"] < header["begin"]:
            return
        late = (records[last] > header["end"]) & (header["end"] != 0)
        within = (records[first] >= header["begin"]) & ~late
        if 2 * (self.alive & within).sum() > self.alive.sum():  # else the header is at fault
            self.check(within, first, right)


def _first_of_each(keys: NDArray[Any]) -> NDArray[np.bool_]:
    first = np.zeros(len(keys), bool)
    first[np.unique(keys, axis=0, return_index=True)[1]] = True
    return first


def _good_calls(about: _About, calls: NDArray[Any], places: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which calls are right. Those whose place, algorithm or operator alone has no text stay."""
    checked, sizes = _Checked(about, calls, places, "call"), about.sizes(calls["communicator"])
    check, known = checked.check, np.array(sorted(about.texts), np.int64)
    check(sizes > 0, "communicator", "one that the file describes")
    check(np.isin(calls["collective"], known), "collective", "the number of a text")
    for name in ("site", "algorithm", "op"):
        check(np.isin(calls[name], known), name, "the number of a text", words=True)
    check(calls["served"] < len(SERVED), "served", f"below {len(SERVED)}")
    check(calls["overlaps"] <= 1, "overlaps", "0 or 1")
    check(calls["exit"] >= calls["arrival"], "exit", "at or after the arrival")
    checked.check_times("arrival", "exit")
    check(calls["bytes"] >= -1, "bytes", "-1 or more")
    check((calls["root"] >= -1) & (calls["root"] < np.maximum(sizes, 1)), "root",
          "-1, or a rank of the communicator")  # fmt: skip
    keys = np.stack([calls["communicator"].astype(np.uint64), calls["sequence"]], axis=1)
    check(_first_of_each(keys), "sequence", "a number that comes once")
    checked.check_span("arrival", "exit", "in the time that the file tells, with its exit")
    check(_in_turn(calls, checked.alive & (calls["overlaps"] == 0)), "arrival",
          "after the exit of the call before")  # fmt: skip
    return checked.alive


def _good_messages(
    about: _About, messages: NDArray[Any], places: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Which messages are right. Those whose place alone has no text stay."""
    checked = _Checked(about, messages, places, "message")
    sizes, check = about.sizes(messages["communicator"]), checked.check
    check(sizes > 0, "communicator", "one that the file describes")
    known = np.array(sorted(about.texts), np.int64)
    check(np.isin(messages["site"], known), "site", "the number of a text", words=True)
    check(messages["what"] < len(WHAT), "what", f"below {len(WHAT)}")
    check(messages["flags"] < 2 * MATCHED_PROBE, "flags", f"below {2 * MATCHED_PROBE}")
    check((messages["peer"] >= 0) & (messages["peer"] < np.maximum(sizes, 1)), "peer",
          "a rank of the communicator")  # fmt: skip
    check(messages["tag"] >= 0, "tag", "0 or more")
    check(messages["bytes"] >= 0, "bytes", "0 or more")
    checked.check_times("posted", "begin", "end")
    check(messages["begin"] >= messages["posted"], "begin", "at or after the posting")
    check(messages["end"] >= messages["begin"], "end", "at or after the begin")
    check(_first_of_each(messages["order"]), "order", "a number that comes once")
    checked.check_span("posted", "end", "in the time that the file tells, with its end")
    return checked.alive


def _in_turn(calls: NDArray[Any], alive: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Without the fewest calls that must be wrong, where one begins before another has ended.

    A rank's calls on a communicator follow each other.
    """
    good = np.ones(len(calls), bool)
    for number in np.unique(calls["communicator"][alive]):
        own = np.flatnonzero(alive & (calls["communicator"] == number))
        own = own[np.argsort(calls["sequence"][own], kind="stable")]
        arrival, leave = calls["arrival"][own], calls["exit"][own]
        if (arrival[1:] < leave[:-1]).any():
            good[own] = False
            good[own[_longest_series(arrival.tolist(), leave.tolist())]] = True
    return good


def _longest_series(begins: Sequence[int], ends: Sequence[int]) -> list[int]:
    """The places of the most intervals of which each begins when the one before has ended."""
    least: list[int] = []  # of all series of 1, 2, ... intervals the least end, ...
    last: list[int] = []  # ... and the place of its last interval
    before = [-1] * len(begins)
    for at, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        length = bisect_right(least, begin)
        before[at] = last[length - 1] if length else -1
        if length == len(least):
            least.append(end)
            last.append(at)
        elif end < least[length]:
            least[length], last[length] = end, at
    found, at = [], last[-1] if last else -1
    while at >= 0:
        found.append(at)
        at = before[at]
    return found[::-1]
