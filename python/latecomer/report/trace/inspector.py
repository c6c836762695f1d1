"""Reads the lines of NCCL Inspector, the profiler plug-in of NCCL and RCCL: a file a process.

A line is a JSON object about one call of one rank: the communicator's id, the rank and the number
of ranks there, the collective, its number among those of its kind on the communicator, and how long
it took, in whole microseconds. It has no time at which the call began. Formats: v4.0 of NCCL 2.28
to 2.30.7 (github.com/NVIDIA/nccl, plugins/profiler/inspector/inspector_json.cc, before 2.29
ext-profiler/inspector/inspector.cc), and RCCL's (github.com/ROCm/rocm-systems,
projects/rccl/ext-profiler/inspector).
"""

from __future__ import annotations

import json
import re
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...base.arrays import Int64s
from . import durations
from .dtypes import collective_of
from .events import MOST_RANKS
from .files import find, lines, text
from .json_numbers import whole
from .left_out import LeftOut
from .model import UNKNOWN, Trace, TraceError, text_of

MOST_CALLS = 1 << 24  # of all files
MOST_KINDS = 1 << 18  # of calls: one for each rank, communicator and collective
VERSION = "v4.0"
LONGEST = 1 << 20  # characters of a line
_MOST_US = 86_400e6  # microseconds of a call: a day
_RESOLUTION = 1e-6  # seconds: lengths are cut to whole microseconds
_NAMED = re.compile(r".*-pid\d+\.(?:log|jsonl)(?:\.gz)?")
_OF_EACH = frozenset({"allgather", "allgatherv", "reduce_scatter"})  # bytes are those of one rank
_ODD = "lines that tell no call of a rank: right would be header, metadata and coll_perf"
_MESSAGES = "messages between two ranks: their lines tell how long they took, and not when"
_HOST_TIMES = ("calls that the host timed and not the device: their lengths are not those of the "
               "collective; NCCL_INSPECTOR_REQUIRE_KERNEL_TIMING=1 leaves them out")  # fmt: skip
_GAPS = ("numbers of calls that a rank lacks between others: smaller than "
         "NCCL_INSPECTOR_DUMP_MIN_SIZE_BYTES, which is 8192 by default, or lost while the buffer "
         "of the plug-in was full; NCCL_INSPECTOR_DUMP_COLL_RING_SIZE sets its size")  # fmt: skip


def fits(name: str) -> bool:
    """Tell whether a file is named as the plug-in names its files, such as node1-pid4711.log."""
    return _NAMED.fullmatch(name) is not None


class _Of(NamedTuple):
    """Whose calls."""

    communicator: str
    rank: int  # in the communicator
    ranks: int
    host: str
    pid: int
    collective: str


@dataclass
class _File:
    """A file, and how many of its lines are left out of which the call's number is not known."""

    unnumbered: int = 0


@dataclass
class _Calls:
    file: _File  # of the first of them
    number: array[int] = field(default_factory=lambda: array("q"))
    us: array[float] = field(default_factory=lambda: array("d"))
    bytes: array[int] = field(default_factory=lambda: array("q"))
    place: array[int] = field(default_factory=lambda: array("q"))
    left_out: set[int] = field(default_factory=set)  # numbers


_Process = tuple[str, int]  # host and number
_Found = dict[_Of, _Calls]
_Groups = dict[str, tuple[Sequence[int], dict[str, dict[int, durations.Lengths]]]]


def read(folder: str | Path) -> Trace:
    """The trace in a folder of the plug-in's files. Raises TraceError where fewer than two ranks
    tell of a call."""
    folder, left = Path(folder), LeftOut()
    paths, told = find(folder, fits, left), _Lines(left)
    for path in paths:
        told.read(path)
    found = _of_one_run(_alone(told.found, left), left)
    members, processes = _ranks(found, left)
    ranks = max((max(own) + 1 for own in members.values()), default=0)
    hosts: list[str | None] = [None] * ranks
    for rank, (host, _) in processes.items():
        hosts[rank] = host
    trace = durations.trace_of(
        str(folder), "NCCL Inspector", hosts, _by_group(found, members, left), _RESOLUTION, paths,
        left,
    )  # fmt: skip
    if trace is None:
        what = f"{told.calls} calls in {len(paths)} files"
        raise TraceError(f"{folder}: no collective that at least two ranks recorded",
                         f"{what} ({left.said()})" if left.said() else what,
                         "right would be the file of each process of one job, with "
                         "NCCL_INSPECTOR_ENABLE=1 and no NCCL_INSPECTOR_PROM_DUMP")  # fmt: skip
    return trace


# ---- lines


class _Lines:
    """The calls of all files."""

    def __init__(self, left: LeftOut) -> None:
        self.left, self.found, self.calls = left, dict[_Of, _Calls](), 0
        # The owner of a line's call, as it says, and its calls: unlike _Of, as it stands there.
        self._seen: dict[tuple[Any, ...], tuple[_Calls, int]] = {}
        self._file = _File()

    def read(self, path: Path) -> None:
        """Raises TraceError where there are too many calls."""
        take, cut, at, line = self._take, list[str](), 0, ""
        self._file = _File()

        def overlong() -> None:
            self.left.add(f"lines of more than {LONGEST} characters", path)
            self._file.unnumbered += 1

        try:
            pieces = text(path, cut.append, self.left)
            for at, line in enumerate(lines(pieces, LONGEST, overlong), 1):
                if not line.isspace():
                    take(path, at, line)
        except TraceError as error:
            self.left.add("ends of files, which cannot be read", error)
        if not cut and line.rstrip()[-1:] not in ("", "}") and line[-1:] != "\n":
            cut.append("the last line is not whole")
        if cut:
            self.left.add("ends of files, which are missing", f"{path}, line {at}", cut[0])
        if self.calls > MOST_CALLS:
            raise TraceError(f"{path}: calls", f"more than {MOST_CALLS} with those before",
                             "read fewer files at once")  # fmt: skip

    def _take(self, path: Path, at: int, line: str) -> None:
        into, number, good = None, -1, False
        try:
            record = json.loads(line)
            perf = record.get("coll_perf")
            if perf is None and "p2p_perf" in record:
                self.left.add(_MESSAGES, path)
                return
            header, meta = record["header"], record["metadata"]
            key = (header["id"], header["rank"], header["n_ranks"], meta["hostname"], meta["pid"],
                   perf["coll"])  # fmt: skip
            number, took = perf["coll_sn"], perf["coll_exec_time_us"]
            size, source = perf.get("coll_msg_size_bytes"), perf.get("coll_timing_source")
            into, times = self._seen.get(key) or self._new(key)
            if (version := meta.get("inspector_output_format_version", VERSION)) != VERSION:
                self.left.doubt(f"lines of another format than {VERSION}",
                                f"{path}, line {at}: {text_of(str(version)[:40])}")  # fmt: skip
            good = type(number) is int and 0 <= number < 1 << 62 and 0 < took < _MOST_US
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass
        if into is None or not good:
            self.left.add(_ODD, f"{path}, line {at}", line[:80])
            self._leave_out(into, number)
            return
        if source == "collective_cpu":
            self.left.add(_HOST_TIMES, f"{path}, line {at}")
            self._leave_out(into, number)
            return
        into.place.append(self.calls)
        self.calls += 1
        into.number.append(number)
        into.us.append(took)
        known = type(size) is int and 0 <= size < 1 << 50
        into.bytes.append(size * times if known else UNKNOWN)

    def _leave_out(self, into: _Calls | None, number: Any) -> None:
        """The call of this line is no gap, which the plug-in would have made."""
        if into is not None and type(number) is int:
            into.left_out.add(number)
        else:
            self._file.unnumbered += 1

    def _new(self, key: tuple[Any, ...]) -> tuple[_Calls, int]:
        """Raises ValueError."""
        name, rank, ranks, host, pid, word = key
        ranks = whole(ranks, 1, MOST_RANKS)
        rank = None if ranks is None else whole(rank, 0, ranks - 1)
        pid, collective = whole(pid, 0, 1 << 62), collective_of(text_of(word))
        texts = isinstance(name, str) and isinstance(host, str)
        if ranks is None or rank is None or pid is None or not texts:
            raise ValueError
        if len(self.found) >= MOST_KINDS:
            raise ValueError
        of = _Of(text_of(name), rank, ranks, text_of(host), pid, collective or text_of(word))
        calls = self.found.setdefault(of, _Calls(self._file))
        self._seen[key] = calls, ranks if collective in _OF_EACH else 1
        return self._seen[key]


# ---- whose calls


def _alone(found: _Found, left: LeftOut) -> _Found:
    """One process for each rank of a communicator, and one size: those of the most calls."""
    sizes, owners = Counter[tuple[str, int]](), Counter[tuple[str, int, _Process]]()
    for of, calls in found.items():
        sizes[of.communicator, of.ranks] += len(calls.us)
        owners[of.communicator, of.rank, (of.host, of.pid)] += len(calls.us)
    size, owner = {}, {}
    for (name, ranks), _ in reversed(sizes.most_common()):
        size[name] = ranks
    for (name, rank, process), _ in reversed(owners.most_common()):
        owner[name, rank] = process
    kept = {}
    for of, calls in found.items():
        where = f"communicator {of.communicator}, rank {of.rank}"
        if of.ranks != size[of.communicator]:
            left.add("calls of a communicator of another size than most", where,
                     f"n_ranks {of.ranks}", len(calls.us))  # fmt: skip
        elif owner[of.communicator, of.rank] != (of.host, of.pid):
            left.add("calls of a rank that another process has, too", where,
                     f"process {of.pid} on {of.host}", len(calls.us))  # fmt: skip
        else:
            kept[of] = calls
    return kept


def _of_one_run(found: _Found, left: LeftOut) -> _Found:
    """The processes that communicators connect: of several such sets the largest."""
    of_process: dict[_Process, set[str]] = {}
    of_name: dict[str, set[_Process]] = {}
    counts = Counter[_Process]()
    for of, calls in found.items():
        of_process.setdefault((of.host, of.pid), set()).add(of.communicator)
        of_name.setdefault(of.communicator, set()).add((of.host, of.pid))
        counts[of.host, of.pid] += len(calls.us)
    done, runs = set[_Process](), []
    for process in sorted(of_process):
        run, new = set[_Process](), {process} - done
        while new:
            run |= new
            names = {name for each in new for name in of_process[each]}
            new = {each for name in names for each in of_name.pop(name, ())} - run
        done |= run
        runs.append((len(run), sum(counts[each] for each in run), run))
    runs.sort(key=lambda each: each[:2])
    for _, count, run in (each for each in runs[:-1] if each[2]):
        host, pid = min(run)
        left.add("calls of processes that share no communicator with the others, such as of "
                 "another run", f"process {pid} on {host}", count=count)  # fmt: skip
    best = runs[-1][2] if runs else set()
    return {of: calls for of, calls in found.items() if (of.host, of.pid) in best}


def _ranks(found: _Found, left: LeftOut) -> tuple[dict[str, list[int]], dict[int, _Process]]:
    """The ranks of the trace in each communicator, and the process of each rank.

    They are numbered as in the communicator that most ranks are known of; ranks that are not in
    it, behind these. A process that is several ranks is known by that communicator alone.
    """
    known: dict[str, dict[int, _Process]] = {}
    size = {of.communicator: of.ranks for of in found}
    for of in found:
        known.setdefault(of.communicator, {})[of.rank] = (of.host, of.pid)
    if not known:
        return {}, {}
    first = max(known, key=lambda name: (len(known[name]), size[name], name))
    processes = dict(known[first])
    several = Counter(processes.values())
    rank_of = {process: rank for rank, process in processes.items() if several[process] == 1}
    following = size[first]
    members = {first: list(range(size[first]))}
    for name, own in known.items():
        if name == first:
            continue
        repeated = Counter(own.values())
        if len(own) < size[name]:
            left.add("communicators of which the files of some ranks are missing", name,
                     f"{len(own)} of {size[name]} ranks")  # fmt: skip
        elif any(several[each] > 1 or repeated[each] > 1 for each in own.values()):
            left.add("communicators of processes that are several ranks each", name)
        else:
            for process in (own[rank] for rank in sorted(own)):
                if process not in rank_of:
                    rank_of[process], processes[following] = following, process
                    following += 1
            members[name] = [rank_of[own[rank]] for rank in sorted(own)]
    return members, processes


def _by_group(found: _Found, members: Mapping[str, Sequence[int]], left: LeftOut) -> _Groups:
    groups: _Groups = {name: (own, {}) for name, own in members.items()}
    order: dict[tuple[str, int], list[Int64s]] = {}
    for of, calls in found.items():
        order.setdefault((of.communicator, of.rank), []).append(np.asarray(calls.place))
    for of, calls in found.items():
        if of.communicator in members:
            rank = members[of.communicator][of.rank]
            where = f"rank {rank}, {of.collective} on {of.communicator}"
            known = groups[of.communicator][1].setdefault(of.collective, {})
            places = order[of.communicator, of.rank]
            known[rank] = _lengths(calls, np.sort(np.concatenate(places)), where, left)
    return groups


def _lengths(calls: _Calls, places: Int64s, where: str, left: LeftOut) -> durations.Lengths:
    number, first = np.unique(np.asarray(calls.number), return_index=True)
    if again := len(calls.number) - len(number):
        left.add("calls of a number that the rank had before", where, count=again)
    gaps = int(number[-1] - number[0]) + 1 - len(number) if len(number) else 0
    own = set(number.tolist()) if gaps and calls.left_out else set()
    gaps -= sum(number[0] < each < number[-1] for each in calls.left_out - own) if gaps else 0
    unnumbered = min(gaps, calls.file.unnumbered)
    calls.file.unnumbered -= unnumbered
    gaps -= unnumbered
    if gaps:
        left.add(_GAPS, where, count=gaps)
    place = np.searchsorted(places, np.asarray(calls.place)[first])
    return durations.Lengths(number, 1e-6 * np.asarray(calls.us)[first],
                             np.asarray(calls.bytes)[first], place)  # fmt: skip
