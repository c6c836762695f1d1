"""Reads the trace files that the library writes: src/runtime/trace/trace_records.hpp.

Files are not trusted: whatever they say is checked before it is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import align
from .model import SERVED, UNKNOWN, Group, Trace, TraceError, Words, check_size

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAGIC = b"LATETRC\0"
VERSION = 1
MOST_RANKS = 1 << 20
MOST_BYTES = 4 << 30  # of one file
MOST_MEMBERS = 1 << 24  # of all communicators of one file together

HEADER = np.dtype([
    ("magic", "S8"), ("version", "<u4"), ("header_bytes", "<u4"), ("record_bytes", "<u4"),
    ("byte_order", "<u4"), ("rank", "<i4"), ("ranks", "<i4"), ("pid", "<u8"), ("clock", "<u8"),
    ("begin", "<i8"), ("real", "<i8"), ("end", "<i8"), ("used", "<u8"), ("dropped", "<u8"),
    ("limit", "<u8"), ("host", "S64"), ("library", "S32"), ("reserved", "V64"),
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
    ("kind", "u1"), ("served", "u1"), ("_", "V2"), ("communicator", "<u4"), ("sequence", "<u8"),
    ("bytes", "<i8"), ("arrival", "<i8"), ("exit", "<i8"), ("collective", "<u4"),
    ("site", "<u4"), ("algorithm", "<u4"), ("op", "<u4"), ("root", "<i4"),
    ("element_bytes", "<i4"),
])  # fmt: skip
CLOCK = np.dtype([("kind", "u1"), ("_", "V3"), ("communicator", "<u4"), ("origin", "<i8"),
                  ("offset", "<f8"), ("error", "<f8"), ("drift", "<f8"), ("drift_error", "<f8"),
                  ("__", "V16")])  # fmt: skip
UNUSED, A_TEXT, A_COMMUNICATOR, A_MEMBERS, A_CALL, A_CLOCK = range(6)

_NAME = re.compile(r"rank-(\d{1,7})\.trace")
_BYTE_ORDER = 0x01020304
_RECORD = 64
_NS = 1e-9


@dataclass(frozen=True)
class _Comm:
    """A communicator in one file."""

    key: tuple[int, int]
    rank: int
    name: str
    members: tuple[int, ...]


@dataclass(frozen=True)
class _File:
    """One rank's file, checked."""

    path: Path
    header: Any
    texts: list[str]
    comms: Mapping[int, _Comm]
    calls: NDArray[Any]
    clocks: NDArray[Any]
    places: NDArray[np.int64]  # of the calls' records in the file


def is_folder_of_trace(folder: Path) -> bool:
    """True if there is a file of that name."""
    return folder.is_dir() and any(_NAME.fullmatch(path.name) for path in folder.iterdir())


def read(folder: str | Path) -> Trace:
    """The trace in a folder. Raises TraceError, which names the file, the place and the value."""
    folder = Path(folder)
    if not folder.is_dir():
        raise TraceError("no folder of a trace", folder, "name the one given as LATECOMER_TRACE")
    paths = sorted(path for path in folder.iterdir() if _NAME.fullmatch(path.name))
    if not paths:
        remedy = "it holds files named rank-0.trace, ... once a traced program has run"
        raise TraceError("no trace in the folder", folder, remedy)
    files = {}
    for path in paths:
        file = _read_file(path)
        files[int(file.header["rank"])] = file
    return _joined(folder, files)


# ---- one file


def _wrong(path: Path, offset: int, what: str, value: object, right: str) -> TraceError:
    return TraceError(f"{path}, byte {offset}: {what}", value, f"right would be {right}")


def _read_file(path: Path) -> _File:
    size = path.stat().st_size
    if size < HEADER.itemsize:
        raise _wrong(path, size, "the file ends in the header", size, f"{HEADER.itemsize} bytes")
    if size > MOST_BYTES:
        raise _wrong(path, 0, "size", size, f"at most {MOST_BYTES} bytes")
    header = np.fromfile(path, HEADER, 1)[0]
    _check_header(path, header, size)
    raw = np.fromfile(path, np.uint8, int(header["used"]) * _RECORD, offset=HEADER.itemsize)
    records = raw.reshape(-1, _RECORD)
    kinds = records[:, 0]
    if len(strange := np.flatnonzero(kinds > A_CLOCK)):
        place = int(strange[0])
        raise _wrong(path, _at(place), "kind of record", int(kinds[place]), f"0 to {A_CLOCK}")
    texts = _texts(path, records, np.flatnonzero(kinds == A_TEXT))
    comms = dict(_comms(path, records, kinds, texts, header))
    places = np.flatnonzero(kinds == A_CALL)
    calls = records[places].view(CALL).reshape(-1)
    _check_calls(path, calls, places, len(texts), comms)
    clocks = records[kinds == A_CLOCK].view(CLOCK).reshape(-1)
    known = np.isin(clocks["communicator"], list(comms))
    numbers = np.stack([clocks[name] for name in ("offset", "error", "drift", "drift_error")])
    usable = known & np.isfinite(numbers).all(axis=0) & (clocks["error"] >= 0)
    return _File(path, header, texts, comms, calls, clocks[usable], places)


def _at(record: int) -> int:
    return HEADER.itemsize + record * _RECORD


def _check_header(path: Path, header: Any, size: int) -> None:
    def check(good: bool, name: str, right: str) -> None:
        if not good:
            raise _wrong(path, HEADER.fields[name][1], name, header[name], right)

    if path.open("rb").read(8) != MAGIC:
        raise _wrong(path, 0, "the first bytes", bytes(header["magic"]), f"{MAGIC!r}: no trace")
    check(header["byte_order"] == _BYTE_ORDER, "byte_order", "that of this machine")
    check(header["version"] == VERSION, "version", f"{VERSION}: read it with the latecomer of then")
    check(header["header_bytes"] == HEADER.itemsize, "header_bytes", f"{HEADER.itemsize}")
    check(header["record_bytes"] == _RECORD, "record_bytes", f"{_RECORD}")
    check(1 <= header["ranks"] <= MOST_RANKS, "ranks", f"1 to {MOST_RANKS}")
    check(0 <= header["rank"] < header["ranks"], "rank", f"below {header['ranks']}")
    named = int(_NAME.fullmatch(path.name)[1])
    check(header["rank"] == named, "rank", f"{named}, as the file's name says")
    have = (size - HEADER.itemsize) // _RECORD
    check(header["used"] <= have, "used", f"at most {have}: the file is shorter than it was")


def _texts(path: Path, records: NDArray[np.uint8], places: NDArray[np.int64]) -> list[str]:
    texts: list[str] = []
    pieces = b""
    pieces_read = records[places].view(TEXT).reshape(-1)
    for place, record in zip(places, pieces_read, strict=True):
        length = int(record["bytes"])
        if record["id"] != len(texts):
            raise _wrong(path, _at(place) + 4, "id of a text", record["id"], f"{len(texts)}")
        if length > TEXT["piece"].itemsize:
            raise _wrong(path, _at(place) + 1, "length of a text", length, "at most 56")
        pieces += records[place, 8 : 8 + length].tobytes()
        if len(pieces) > 1 << 16:
            raise _wrong(path, _at(place), "length of a text", len(pieces), "at most 65536")
        if record["last"]:
            texts.append(pieces.decode("utf-8", "replace"))
            pieces = b""
    return texts


def _comms(
    path: Path, records: NDArray[np.uint8], kinds: NDArray[np.uint8], texts: list[str], header: Any
) -> Iterator[tuple[int, _Comm]]:
    lists: dict[int, list[Any]] = {}
    for record in records[kinds == A_MEMBERS].view(MEMBERS).reshape(-1):
        lists.setdefault(int(record["communicator"]), []).append(record)
    ranks, total = int(header["ranks"]), 0
    for place in np.flatnonzero(kinds == A_COMMUNICATOR):
        record = records[place].view(COMMUNICATOR)[0]
        total += max(int(record["size"]), 0)
        if total > MOST_MEMBERS:
            raise _wrong(path, _at(place), "members of all communicators", total,
                         f"at most {MOST_MEMBERS}")  # fmt: skip

        def check(good: bool, name: str, right: str, place=place, record=record) -> None:
            if not good:
                offset = _at(place) + COMMUNICATOR.fields[name][1]
                raise _wrong(path, offset, f"{name} of a communicator", record[name], right)

        check(1 <= record["size"] <= ranks, "size", f"1 to {ranks}")
        size = int(record["size"])
        check(0 <= record["rank"] < size, "rank", f"below {size}")
        check(record["name"] < len(texts), "name", f"below {len(texts)}")
        if record["listed"]:
            members = [int(each) for part in lists.get(int(record["id"]), ())
                       for each in part["ranks"][: part["count"]]]  # fmt: skip
        else:
            first, stride = int(record["first"]), int(record["stride"])
            members = [first + i * stride for i in range(size)]
        whole = len(members) == size == len(set(members))
        check(whole and all(0 <= each < ranks for each in members), "first",
              f"{size} different ranks below {ranks} as members")  # fmt: skip
        mine = int(record["rank"])
        check(members[mine] == header["rank"], "rank", f"that of rank {header['rank']}")
        key = (int(record["key"]), int(record["number"]))
        yield int(record["id"]), _Comm(key, mine, texts[record["name"]], tuple(members))


def _check_calls(
    path: Path,
    calls: NDArray[Any],
    places: NDArray[np.int64],
    texts: int,
    comms: Mapping[int, _Comm],
) -> None:
    sizes = {number: len(comm.members) for number, comm in comms.items()}
    size = np.array([sizes.get(int(each), 0) for each in np.unique(calls["communicator"])])
    _, which = np.unique(calls["communicator"], return_inverse=True)
    sizes_of_calls = size[which] if len(calls) else np.zeros(0, int)

    def check(good: NDArray[np.bool_], name: str, right: str) -> None:
        if not good.all():
            at = int(np.flatnonzero(~good)[0])
            offset = _at(int(places[at])) + CALL.fields[name][1]
            raise _wrong(path, offset, f"{name} of a call", calls[name][at], right)

    check(sizes_of_calls > 0, "communicator", "one that the file describes")
    for name in ("collective", "site", "algorithm", "op"):
        check(calls[name] < texts, name, f"the number of a text, below {texts}")
    check(calls["served"] < len(SERVED), "served", f"below {len(SERVED)}")
    check(calls["exit"] >= calls["arrival"], "exit", "not before the arrival")
    check(np.abs(calls["arrival"]) < 1 << 62, "arrival", "a time in nanoseconds")
    check(calls["bytes"] >= -1, "bytes", "-1 or more")
    check((calls["root"] >= -1) & (calls["root"] < np.maximum(sizes_of_calls, 1)), "root",
          "-1, or a rank of the communicator")  # fmt: skip
    for number in comms:
        own = np.sort(calls["sequence"][calls["communicator"] == number])
        again = np.flatnonzero(own[1:] == own[:-1])
        if len(again):
            twice = own[again[0]]
            good = ~((calls["communicator"] == number) & (calls["sequence"] == twice))
            check(good, "sequence", "a number that comes once")


# ---- all files


def _joined(folder: Path, files: Mapping[int, _File]) -> Trace:
    first = files[min(files)]
    ranks = int(first.header["ranks"])
    for file in files.values():
        if file.header["ranks"] != ranks:
            offset = HEADER.fields["ranks"][1]
            raise _wrong(file.path, offset, "ranks", file.header["ranks"],
                         f"{ranks}, as in {first.path.name}")  # fmt: skip
    remarks = []
    if missing := sorted(set(range(ranks)) - set(files)):
        remarks.append(f"no file of {len(missing)} ranks, such as {missing[0]}")
    if ended := sum(int(file.header["end"] == 0) for file in files.values()):
        remarks.append(f"{ended} ranks did not reach the end of MPI_Finalize")
    dropped = max(int(file.header["dropped"]) for file in files.values())
    if dropped:
        limit = int(first.header["limit"])
        remarks.append(f"the last {dropped} calls are not in the trace: LATECOMER_TRACE_BYTES was "
                       f"{limit}")  # fmt: skip
    words = Words()
    zero = int(first.header["begin"])  # so that doubles hold nanoseconds
    groups = [_group(key, files, words, zero) for key in _keys(files)]
    clocks = [int(files[r].header["clock"]) or -1 - r if r in files else -1 - r
              for r in range(ranks)]  # fmt: skip
    known = _known(files, clocks, zero)
    connected = all(clocks[rank] in known for rank in files)
    offsets = align.align(groups, words, clocks, known)
    groups = [align.apply(group, offsets) for group in groups]
    begin, end = np.full(ranks, np.nan), np.full(ranks, np.nan)
    error = np.full(ranks, np.nan)
    for rank, file in files.items():
        begin[rank] = offsets[rank].apply(np.array([file.header["begin"] - zero]) * _NS)[0]
        if file.header["end"]:
            end[rank] = offsets[rank].apply(np.array([file.header["end"] - zero]) * _NS)[0]
        error[rank] = offsets[rank].error
    start = min([float(np.nanmin(begin)), *(float(np.nanmin(g.arrival)) for g in groups)])
    for group in groups:
        np.subtract(group.arrival, start, out=group.arrival)
        np.subtract(group.exit, start, out=group.exit)
    return Trace(
        source=str(folder),
        format=f"latecomer {VERSION}",
        words=words,
        hosts=[_shown(files[r].header["host"]) if r in files else "?" for r in range(ranks)],
        groups=groups,
        begin=begin - start,
        end=end - start,
        clock=_clock_text(clocks, connected),
        clock_error=error,
        pids=[int(files[r].header["pid"]) if r in files else 0 for r in range(ranks)],
        dropped=dropped,
        remarks=remarks,
        started=(zero + int(first.header["real"])) * _NS + start,
    )


def _shown(raw: bytes) -> str:
    return bytes(raw).decode("utf-8", "replace")


def _clock_text(clocks: Sequence[int], connected: bool) -> str:
    if len(set(clocks)) == 1:
        return "all ranks read one clock"
    if connected:
        return "the library compared the clocks while the program ran"
    return "clocks were aligned by the collectives themselves"


def _keys(files: Mapping[int, _File]) -> list[tuple[int, int]]:
    """The communicators, in the order in which the lowest ranks met them."""
    return list(dict.fromkeys(comm.key for rank in sorted(files)
                              for comm in files[rank].comms.values()))  # fmt: skip


def _group(key: tuple[int, int], files: Mapping[int, _File], words: Words, zero: int) -> Group:
    """The calls of one communicator, matched by their sequence."""
    parts = []
    for file in files.values():
        for number, comm in file.comms.items():
            if comm.key == key:
                parts.append((file, comm, file.calls[file.calls["communicator"] == number]))
    members = parts[0][1].members
    for file, comm, _ in parts:
        if comm.members != members:
            what = f"{file.path}: members of communicator {comm.name!r}"
            raise TraceError(what, comm.members[:8], f"in {parts[0][0].path}: {members[:8]}")
    parts.sort(key=lambda part: part[1].rank)
    sequence = np.unique(np.concatenate([calls["sequence"] for _, _, calls in parts]))
    shape = (len(sequence), len(members))
    check_size(parts[0][1].name, *shape, sum(len(calls) for _, _, calls in parts))
    arrival, leave = np.full(shape, np.nan), np.full(shape, np.nan)
    words_of = {name: np.full(len(sequence), UNKNOWN, np.int32)
                for name in ("collective", "op", "site", "algorithm")}  # fmt: skip
    size = np.full(len(sequence), UNKNOWN, np.int64)
    element, root = (np.full(len(sequence), UNKNOWN, np.int32) for _ in range(2))
    served = np.full(len(sequence), UNKNOWN, np.int8)
    for file, comm, calls in parts:
        at = np.searchsorted(sequence, calls["sequence"])
        arrival[at, comm.rank] = (calls["arrival"] - zero) * _NS
        leave[at, comm.rank] = (calls["exit"] - zero) * _NS
        number = np.array([words.place(text) for text in file.texts] or [0], np.int32)
        for name, column in words_of.items():
            texts = number[calls[name]]
            fresh = column[at] == UNKNOWN
            if name == "collective" and (differ := ~fresh & (column[at] != texts)).any():
                _refuse_mixed(file, comm, calls, words, differ, column[at])
            column[at[fresh]] = texts[fresh]
        size[at] = np.maximum(size[at], calls["bytes"])
        element[at] = np.maximum(element[at], calls["element_bytes"])
        root[at] = np.maximum(root[at], calls["root"])
        served[at] = np.maximum(served[at], calls["served"].astype(np.int8))
    return Group(
        name=parts[0][1].name,
        members=np.array(members, np.int32),
        sequence=sequence.astype(np.int64),
        collective=words_of["collective"],
        bytes=size,
        element_bytes=element,
        operator=words_of["op"],
        root=root,
        site=words_of["site"],
        algorithm=words_of["algorithm"],
        served=served,
        arrival=arrival,
        exit=leave,
    )


def _refuse_mixed(
    file: _File,
    comm: _Comm,
    calls: NDArray[Any],
    words: Words,
    differ: NDArray[np.bool_],
    others: NDArray[np.int32],
) -> None:
    at = int(np.flatnonzero(differ)[0])
    mine = file.texts[calls["collective"][at]]
    what = f"{file.path}: call {calls['sequence'][at]} on {comm.name!r} is"
    raise TraceError(what, mine, f"it is {words[int(others[at])]} on lower ranks")


def _known(files: Mapping[int, _File], clocks: Sequence[int], zero: int) -> dict[int, align.Offset]:
    """The offsets of clocks that the library compared with rank 0's, or with one that it did."""
    known = {clocks[min(files)]: align.constant(0.0)}
    for _ in range(len(set(clocks))):
        before = len(known)
        for rank, file in files.items():
            if clocks[rank] in known:
                continue
            for number, comm in file.comms.items():
                base = known.get(clocks[comm.members[0]])
                own = file.clocks[file.clocks["communicator"] == number]
                if base is None or not len(own):
                    continue
                known[clocks[rank]] = _chained(own, base, zero)
                break
        if len(known) == before:
            break
    return known


def _chained(records: NDArray[Any], base: align.Offset, zero: int) -> align.Offset:
    """The offset by the library's models, from a clock whose own offset is `base`.

    A model gives absolute times of the other clock, which `zero` is taken from on both sides.
    """
    origin = (records["origin"] - zero) * _NS
    there = origin + records["offset"]
    offsets = base.apply(there) - origin
    order = np.argsort(origin)
    error = float(records["error"].max()) + base.error
    return align.Offset(origin[order], offsets[order], error)
