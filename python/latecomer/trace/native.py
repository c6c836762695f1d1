"""Reads the trace files that the library writes, one a rank, and matches their calls.

What is wrong is left out and counted: a record, a file, a communicator that files describe
differently. An error is raised where nothing remains.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import align, native_file
from .contradictions import without_strangers
from .files import find
from .last_seen import last_seen
from .left_out import LeftOut
from .model import (
    UNKNOWN,
    Group,
    Trace,
    TraceError,
    Words,
    check_size,
    earliest,
    ranks_said,
    text_of,
)
from .native_file import VERSION, Comm, File
from .native_messages import messages_of, remarks_on
from .same_run import Span, apart, together

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NS = 1e-9
fits = native_file.fits


def is_folder_of_trace(folder: Path) -> bool:
    """True if there is a file of that name."""
    return folder.is_dir() and any(fits(path.name) for path in folder.iterdir())


def read(folder: str | Path) -> Trace:
    """The trace in a folder. Raises TraceError, which names the file, the place and the value."""
    folder, left = Path(folder), LeftOut()
    paths = find(folder, fits, left)
    found = [file for path in paths if (file := _read(path, left)) is not None]
    files = _one_a_rank(_of_one_run(_of_one_job(found, left), left), left)
    if not files:
        raise TraceError(f"{folder}: usable files of a trace",
                         f"none of {len(paths)} ({left.said()})",
                         "right would be rank-0.trace, ... of one job, whole")  # fmt: skip
    return _joined(folder, dict(sorted(files.items())), left)


def _read(path: Path, left: LeftOut) -> File | None:
    try:
        return native_file.read(path, left)
    except TraceError as error:
        left.add("files that cannot be used", error)
        return None


def _of_one_job(files: Sequence[File], left: LeftOut) -> list[File]:
    """The files that name the number of ranks which most of them name."""
    if not files:
        return []
    ranks = Counter(int(file.header["ranks"]) for file in files).most_common(1)[0][0]
    found = []
    for file in files:
        if int(file.header["ranks"]) == ranks:
            found.append(file)
        else:
            offset = native_file.HEADER.fields["ranks"][1]
            left.add("files of another number of ranks than most", f"{file.path}, byte {offset}",
                     f"ranks: {file.header['ranks']}; right would be {ranks}")  # fmt: skip
    return found


def _of_one_run(files: Sequence[File], left: LeftOut) -> list[File]:
    """The files that were written at the same time as most."""
    spans = {at: _span(file) for at, file in enumerate(files)}
    kept = together(spans, lambda run: len({int(files[at].header["rank"]) for at in run}))
    for at, file in enumerate(files):
        if at not in kept:
            left.add("files of another run", file.path, apart(at, kept, spans))
    return [files[at] for at in sorted(kept)]


def _one_a_rank(files: Sequence[File], left: LeftOut) -> dict[int, File]:
    found: dict[int, File] = {}
    for file in files:
        rank = int(file.header["rank"])
        if rank in found:
            left.add("further files of a rank", file.path, f"rank {rank} is in {found[rank].path}")
        found.setdefault(rank, file)
    return found


def _span(file: File) -> Span:
    """From the begin that the file tells to its end, or to that of its last call."""
    begin, end = int(file.header["begin"]), int(file.header["end"])
    if not end:
        end = max(begin, int(file.calls["exit"].max(initial=begin)))
    clock = int(file.header["clock"]) or f"rank {file.header['rank']}"
    return Span(clock, begin * _NS, end * _NS, int(file.header["real"]) * _NS)


# ---- all files


def _joined(folder: Path, files: Mapping[int, File], left: LeftOut) -> Trace:
    first = files[min(files)]
    ranks = int(first.header["ranks"])
    remarks = []
    if missing := sorted(set(range(ranks)) - set(files)):
        remarks.append(f"no file of {ranks_said(missing)}, of {ranks} ranks")
    if ended := sum(int(file.header["end"] == 0) for file in files.values()):
        remarks.append(
            f"{ended} rank{'s' if ended > 1 else ''} did not reach the end of MPI_Finalize"
        )
        remarks += last_seen(files)
    dropped = max(int(file.header["dropped"]) for file in files.values())
    if dropped:
        limit = int(first.header["limit"])
        remarks.append(f"the last {dropped} calls are not in the trace: LATECOMER_TRACE_BYTES was "
                       f"{limit}")  # fmt: skip
    words = Words()
    zero = int(first.header["begin"])  # so that doubles hold nanoseconds
    found = (_group(key, files, words, zero, left) for key in _keys(files))
    groups = [group for group in found if group is not None]
    if not groups and left.remarks():
        raise TraceError(f"{folder}: usable calls of a trace", f"none ({left.said()})",
                         "right would be rank-0.trace, ... of one job, whole")  # fmt: skip
    clocks = [int(files[r].header["clock"]) or -1 - r if r in files else -1 - r
              for r in range(ranks)]  # fmt: skip
    without_strangers(groups, words, clocks, left)
    groups = [group for group in groups if np.isfinite(group.arrival).any()]
    of_others = (_group(key, files, words, zero, left, "overlapping") for key in _keys(files))
    overlapping = [group for group in of_others if group is not None and len(group)]
    known = _known(files, clocks, zero)
    connected = all(clocks[rank] in known for rank in files)
    offsets = align.align(groups, words, clocks, known)
    groups, overlapping = (
        [align.apply(group, offsets) for group in each] for each in (groups, overlapping)
    )
    begin, end = np.full(ranks, np.nan), np.full(ranks, np.nan)
    error = np.full(ranks, np.nan)
    for rank, file in files.items():
        begin[rank] = offsets[rank].apply(np.array([file.header["begin"] - zero]) * _NS)[0]
        if file.header["end"]:
            end[rank] = offsets[rank].apply(np.array([file.header["end"] - zero]) * _NS)[0]
        error[rank] = offsets[rank].error
    start = earliest(begin, *(group.arrival for group in groups))
    for group in [*groups, *overlapping]:
        np.subtract(group.arrival, start, out=group.arrival)
        np.subtract(group.exit, start, out=group.exit)
        if group.completed is not None:
            np.subtract(group.completed, start, out=group.completed)

    def seconds(rank: int, times: NDArray[Any]) -> NDArray[np.float64]:
        return offsets[rank].apply((times - zero) * _NS) - start

    messages = messages_of(files, words, seconds, error)
    return Trace(
        source=text_of(str(folder), 4096),
        format=f"latecomer {VERSION}",
        words=words,
        hosts=[_shown(files[r].header["host"]) if r in files else "?" for r in range(ranks)],
        groups=groups,
        begin=begin - start,
        end=end - start,
        clock=_clock_text([clocks[rank] for rank in files], connected),
        clock_error=error,
        pids=[int(files[r].header["pid"]) if r in files else 0 for r in range(ranks)],
        dropped=dropped,
        inputs=[file.path for file in files.values()],
        remarks=[*remarks, *remarks_on(messages), *left.remarks()],
        started=(zero + int(first.header["real"])) * _NS + start,
        messages=messages,
        overlapping=overlapping,
    )


def _shown(raw: bytes) -> str:
    return bytes(raw).decode("utf-8", "replace")


def _clock_text(clocks: Sequence[int], connected: bool) -> str:
    if len(set(clocks)) == 1:
        return "all ranks read one clock"
    if connected:
        return "the library compared the clocks while the program ran"
    return "clocks were aligned by the collectives themselves"


def _keys(files: Mapping[int, File]) -> list[tuple[int, int]]:
    """The communicators, in the order in which the lowest ranks met them."""
    return list(dict.fromkeys(comm.key for rank in sorted(files)
                              for comm in files[rank].comms.values()))  # fmt: skip


def _group(
    key: tuple[int, int],
    files: Mapping[int, File],
    words: Words,
    zero: int,
    left: LeftOut,
    which: str = "calls",
) -> Group | None:
    """The calls of one communicator, matched by their sequence; None: there are none to tell of.

    `which`: the name of those calls in a file.
    """
    parts = _parts(key, files, left, which)
    name, members = parts[0][1].name, parts[0][1].members
    sequence = np.unique(np.concatenate([calls["sequence"] for _, _, calls in parts]))
    shape = (len(sequence), len(members))
    try:
        check_size(name, *shape, sum(len(calls) for _, _, calls in parts))
    except TraceError as error:
        left.add("calls of communicators that are too large", error, count=len(sequence))
        return None
    arrival, leave = np.full(shape, np.nan), np.full(shape, np.nan)
    completed = np.full(shape, np.nan) if which == "overlapping" else None
    words_of = {name: np.full(len(sequence), UNKNOWN, np.int32)
                for name in ("collective", "op", "site", "algorithm")}  # fmt: skip
    size = np.full(len(sequence), UNKNOWN, np.int64)
    element, root = (np.full(len(sequence), UNKNOWN, np.int32) for _ in range(2))
    served = np.full(len(sequence), UNKNOWN, np.int8)
    mixed = np.zeros(len(sequence), bool)
    for file, comm, calls in parts:
        at = np.searchsorted(sequence, calls["sequence"])
        arrival[at, comm.rank] = (calls["arrival"] - zero) * _NS
        leave[at, comm.rank] = (calls["exit"] - zero) * _NS
        if completed is not None:
            completed[at, comm.rank] = _completed(file, calls, zero)
        for field, column in words_of.items():
            texts = _words(file, calls[field], words)
            fresh = column[at] == UNKNOWN
            if field == "collective" and (differ := ~fresh & (column[at] != texts)).any():
                told = words[int(texts[differ][0])], words[int(column[at[differ]][0])]
                left.add("calls that are another collective on lower ranks",
                         f"{file.path}: call {calls['sequence'][differ][0]} on {comm.name!r}",
                         f"{told[0]}, not {told[1]}", int(differ.sum()))  # fmt: skip
                mixed[at[differ]] = True
            column[at[fresh]] = texts[fresh]
        size[at] = np.maximum(size[at], calls["bytes"])
        element[at] = np.maximum(element[at], calls["element_bytes"])
        root[at] = np.maximum(root[at], calls["root"])
        served[at] = np.maximum(served[at], calls["served"].astype(np.int8))
    own = ~mixed
    if not own.any():
        return None
    return Group(
        name=name,
        members=np.array(members, np.int32),
        sequence=sequence[own].astype(np.int64),
        collective=words_of["collective"][own],
        bytes=size[own],
        element_bytes=element[own],
        operator=words_of["op"][own],
        root=root[own],
        site=words_of["site"][own],
        algorithm=words_of["algorithm"][own],
        served=served[own],
        arrival=arrival[own],
        exit=leave[own],
        completed=completed[own] if completed is not None else None,
    )


def _completed(file: File, calls: NDArray[Any], zero: int) -> NDArray[np.float64]:
    """When the calls that completed these were entered, in seconds; NaN: not known."""
    number = calls["communicator"][:1]
    own = file.completions[file.completions["communicator"] == number]
    own = own[np.argsort(own["sequence"], kind="stable")]
    at = np.searchsorted(own["sequence"], calls["sequence"])
    found = np.full(len(calls), np.nan)
    there = at < len(own)
    there[there] = own["sequence"][at[there]] == calls["sequence"][there]
    begin = own["begin"][at[there]]
    within = (begin >= calls["arrival"][there]) & (begin <= calls["exit"][there])
    found[there] = np.where(within, (begin - zero) * _NS, np.nan)
    return found


def _parts(
    key: tuple[int, int], files: Mapping[int, File], left: LeftOut, which: str
) -> list[tuple[File, Comm, NDArray[Any]]]:
    """What the files hold of a communicator, by its ranks: those that name its members alike."""
    parts = [(file, comm, calls[calls["communicator"] == number])
             for file in files.values() for calls in (getattr(file, which),)
             for number, comm in file.comms.items()
             if comm.key == key]  # fmt: skip
    members = Counter(comm.members for _, comm, _ in parts).most_common(1)[0][0]
    found: dict[int, tuple[File, Comm, NDArray[Any]]] = {}
    for part in parts:
        file, comm, calls = part
        if comm.members != members or comm.rank in found:
            left.add("calls of communicators that other files describe differently",
                     f"{file.path}: members of communicator {comm.name!r}",
                     f"{comm.members[:8]}; in most files {members[:8]}", len(calls))  # fmt: skip
        else:
            found[comm.rank] = part
    return [found[rank] for rank in sorted(found)]


def _words(file: File, numbers: NDArray[np.uint32], words: Words) -> NDArray[np.int32]:
    """The trace's numbers of a file's texts; of one that the file lacks, that of ""."""
    known, which = np.unique(numbers, return_inverse=True)
    places = [words.place(file.texts.get(number, "")) for number in known.tolist()]
    return np.array(places, np.int32)[which] if len(numbers) else np.zeros(0, np.int32)


def _known(files: Mapping[int, File], clocks: Sequence[int], zero: int) -> dict[int, align.Offset]:
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
