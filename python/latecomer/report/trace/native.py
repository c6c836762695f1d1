"""Reads the trace files that the library writes, one a rank, and matches their calls.

What is wrong is left out and counted: a record, a file, a communicator that files describe
differently. An error is raised where nothing remains.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from itertools import count
from pathlib import Path

import numpy as np

from ...base.arrays import Array, Floats
from . import align, native_file
from .about import about
from .contradictions import without_strangers
from .files import find
from .last_seen import last_seen
from .left_out import LeftOut
from .model import Trace, TraceError, Words, ranks_said, text_of
from .native_calls import Matching
from .native_file import VERSION, Clock, File
from .native_hang import failed, hang_of
from .native_messages import messages_of, others_of, remarks_on
from .same_run import Span, apart, together

_NS = 1e-9
_WANDER = 0.5e-6  # seconds a second, as kWander in src/clocks/clock.cpp
fits = native_file.fits


def is_folder_of_trace(folder: Path) -> bool:
    """True if there is a file of that name."""
    return folder.is_dir() and any(fits(path.name) for path in folder.iterdir())


def read(folder: str | Path) -> Trace:
    """The trace in a folder. Raises TraceError, which names the file, the place and the value."""
    left, run = LeftOut(), about(Path(folder))
    files = files_of(Path(folder), left)
    trace = joined(Path(folder), files, left)
    return replace(trace, hang=hang_of(files, run), failed=failed(files, run))


def files_of(folder: Path, left: LeftOut) -> dict[int, File]:
    """The files of one run in a folder, by rank. Raises TraceError where none can be used."""
    paths = find(folder, fits, left)
    found = list(native_file.read(paths, left))
    files = _one_a_rank(_of_one_run(_of_one_job(found, left), left), left)
    if not files:
        raise TraceError(f"{folder}: usable files of a trace",
                         f"none of {len(paths)} ({left.said()})",
                         "right would be rank-0.trace, ... of one job, whole")  # fmt: skip
    return dict(sorted(files.items()))


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
            where = f"{file.path}, byte {native_file.RANKS_BYTE}"
            left.add("files of another number of ranks than most", where,
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
    """From the begin that the file tells to its end, or to that of its last call or message."""
    begin, end = int(file.header["begin"]), int(file.header["end"])
    end = end or _last(file)
    clock = int(file.header["clock"]) or f"rank {file.header['rank']}"
    return Span(clock, begin * _NS, end * _NS, int(file.header["real"]) * _NS)


def _last(file: File) -> int:
    """The end of all that the file holds, in nanoseconds; its begin if it holds nothing."""
    begin = int(file.header["begin"])
    last = (int(own["end"].max(initial=begin)) for own in (file.messages, file.others))
    return max(begin, file.last_exit, *last)


# ---- all files


def joined(folder: Path, files: Mapping[int, File], left: LeftOut) -> Trace:
    """The trace of these files, which are not empty. Raises TraceError where no call is usable."""
    first = files[min(files)]
    ranks = int(first.header["ranks"])
    remarks = []
    if missing := sorted(set(range(ranks)) - set(files)):
        remarks.append(f"no file of {ranks_said(missing)}, of {ranks} ranks")
    of_device = any(comm.together for file in files.values() for comm in file.comms.values())
    if ended := sum(int(file.header["end"] == 0) for file in files.values()):
        where = "the end of the program" if of_device else "MPI_Finalize"
        remarks.append(f"{ended} rank{'s' if ended > 1 else ''} did not reach {where}")
        remarks += last_seen(files)
    dropped = max(int(file.header["dropped"]) for file in files.values())
    if dropped:
        limit = int(first.header["limit"])
        remarks.append(f"the last {dropped} calls are not in the trace: LATECOMER_TRACE_BYTES was "
                       f"{limit}")  # fmt: skip
    words = Words()
    zero = int(first.header["begin"])  # so that doubles hold nanoseconds
    for file in files.values():
        file.number_texts(words)
    clocks = _numbered([int(files[r].header["clock"]) or -1 - r if r in files else -1 - r
                        for r in range(ranks)])  # fmt: skip
    matching = Matching(files, words, clocks, zero, left)
    found = [matching.group(key) for key in _keys(files)]
    groups = [group for group in found if group is not None]
    messages_there = any(len(file.messages) for file in files.values())
    if not groups and not messages_there and left.remarks():
        raise TraceError(f"{folder}: usable calls of a trace", f"none ({left.said()})",
                         "right would be rank-0.trace, ... of one job, whole")  # fmt: skip
    without_strangers(groups, words, clocks, left, matching.gaps)
    groups = [group for group in groups if matching.has_times(group)]
    of_others = (matching.group(key, overlapping=True) for key in _keys(files))
    overlapping = [group for group in of_others if group is not None and len(group)]
    spans = align.spans_of([*groups, *overlapping], clocks, _beside_calls(files, ranks, zero))
    known = _known(files, clocks, zero, spans)
    connected = all(clocks[rank] in known for rank in files)
    together = [matching.together(group) for group in groups]
    offsets = align.align(groups, words, clocks, known, together, spans)
    begin, end = np.full(ranks, np.nan), np.full(ranks, np.nan)
    error, slept = np.full(ranks, np.nan), np.zeros(ranks)
    outside = np.full((ranks, 3), np.nan)
    for rank, file in files.items():
        slept[rank] = file.slept * _NS
        if file.outside[0]:
            outside[rank] = np.array(file.outside) * _NS
        begin[rank] = offsets[rank].apply(np.array([file.header["begin"] - zero]) * _NS)[0]
        if file.header["end"]:
            end[rank] = offsets[rank].apply(np.array([file.header["end"] - zero]) * _NS)[0]
        error[rank] = offsets[rank].error
    start = matching.set_clocks(groups, overlapping, offsets, begin)
    overlapping = [matching.completed(group, offsets, start) for group in overlapping]

    def seconds(rank: int, times: Array) -> Floats:
        return offsets[rank].apply((times - zero) * _NS) - start

    messages = messages_of(files, words, seconds, error)
    until = min((float(seconds(rank, np.array([_last(file)]))[0]) for rank, file in files.items()
                 if file.header["dropped"]), default=np.inf)  # fmt: skip
    return Trace(
        source=text_of(str(folder), 4096),
        format=f"{'NCCL, ' if of_device else ''}latecomer {VERSION}",  # no MPI program
        words=words,
        hosts=[_shown(files[r].header["host"]) if r in files else "?" for r in range(ranks)],
        groups=groups,
        begin=begin - start,
        end=end - start,
        clock=_clock_text([clocks[rank] for rank in files], connected, of_device),
        clock_error=error,
        dropped=dropped,
        until=until,
        inputs=[file.path for file in files.values()],
        remarks=[*remarks, *remarks_on(messages), *left.remarks()],
        started=(zero + int(first.header["real"])) * _NS + start,
        messages=messages,
        overlapping=overlapping,
        others=others_of(files, seconds),
        of_device=of_device,
        slept=slept,
        outside=outside,
        unended=[rank for rank, file in files.items() if not file.header["end"]],
    )


def _shown(raw: bytes) -> str:
    return bytes(raw).decode("utf-8", "replace")


def _clock_text(clocks: Sequence[int], connected: bool, of_device: bool) -> str:
    if len(set(clocks)) == 1:
        return "all ranks read one clock"
    if connected:
        return "the library compared the clocks while the program ran"
    if of_device:
        return "clocks were aligned by the ends of collectives, which devices leave together"
    return "clocks were aligned by the collectives themselves"


def _keys(files: Mapping[int, File]) -> list[tuple[int, int]]:
    """The communicators, in the order in which the lowest ranks met them."""
    return list(dict.fromkeys(comm.key for rank in sorted(files)
                              for comm in files[rank].comms.values()))  # fmt: skip


def _numbered(clocks: Sequence[int]) -> list[int]:
    """From 0, since those of files have 64 bits, and negative ones are added."""
    number = {clock: at for at, clock in enumerate(dict.fromkeys(clocks))}
    return [number[clock] for clock in clocks]


def _beside_calls(files: Mapping[int, File], ranks: int, zero: int) -> tuple[Floats, Floats]:
    """By rank, the first and the last time of messages and of calls without a record; NaN: none."""
    first, last = np.full((2, ranks), np.nan)
    for rank, file in files.items():
        begins = np.concatenate([file.messages["posted"], file.others["begin"]])
        ends = np.concatenate([file.messages["end"], file.others["end"]])
        if len(begins):
            first[rank], last[rank] = (begins.min() - zero) * _NS, (ends.max() - zero) * _NS
    return first, last


def _known(
    files: Mapping[int, File], clocks: Sequence[int], zero: int, spans: align.Spans
) -> dict[int, align.Offset]:
    """The offsets of clocks that the library compared with rank 0's, or with one that it did.

    Of several comparisons those count whose error is the least, with that of the clocks between.
    """
    compared: dict[int, list[tuple[int, list[Clock]]]] = {}  # by the clock they were compared with
    for rank, file in files.items():
        of_comm: dict[int, list[Clock]] = {}
        for each in file.clocks:
            of_comm.setdefault(each.communicator, []).append(each)
        for number, comm in file.comms.items():
            if own := of_comm.get(number):
                compared.setdefault(clocks[comm.members[0]], []).append((clocks[rank], own))
    known: dict[int, align.Offset] = {}
    order = count()  # of equal errors the first one
    next_ones = [(0.0, next(order), clocks[min(files)], align.constant(0.0))]
    while next_ones:
        _, _, clock, offset = heappop(next_ones)
        if clock in known:
            continue
        known[clock] = offset
        for other, own in compared.get(clock, ()):
            if other not in known:
                found = _chained(own, offset, zero, spans[other])
                heappush(next_ones, (found.error, next(order), other, found))
    return known


def _chained(
    own: Sequence[Clock], base: align.Offset, zero: int, span: tuple[float, float]
) -> align.Offset:
    """The offset by the library's models, from a clock whose own offset is `base`.

    A model gives absolute times of the other clock, which `zero` is taken from on both sides. It is
    the better known the nearer its origin is: at the ends of the span the one counts that is known
    best there.
    """
    own = sorted(own, key=lambda each: each.origin)
    origin = np.array([each.origin - zero for each in own]) * _NS
    offset, error, drift, growth = np.array(
        [(each.offset, each.error, each.drift, each.drift_error) for each in own]
    ).T
    outside = np.array([time for time in span if np.isfinite(time)
                        and not origin[0] <= time <= origin[-1]])  # fmt: skip
    away = outside[:, None] - origin
    errors = error + growth * np.abs(away)
    best = errors.argmin(axis=1)
    at = np.arange(len(outside)), best
    times = np.append(origin, outside)
    offsets = np.append(offset, offset[best] + drift[best] * away[at])
    offsets = base.apply(times + offsets) - times
    order = np.argsort(times)
    between = _WANDER * np.max(np.diff(origin), initial=0.0) / 2
    worst = max(error.max() + between, errors[at].max(initial=0.0))
    return align.Offset(times[order], offsets[order], float(worst) + base.error)
