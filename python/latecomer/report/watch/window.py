"""The last seconds of a running job, as a trace that the report's analysis reads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from ...base.errors import UserError
from ..analysis.cut import analysed
from ..analysis.lateness import Lateness
from ..trace import native
from ..trace.files import find
from ..trace.left_out import LeftOut
from ..trace.model import Trace, TraceError, ranks_said
from ..trace.native_file import File
from ..trace.tail import Tail, began

WINDOW_S = 10.0
MOST_RECORDS = 1 << 19  # of all ranks together
LEAST_RECORDS = 256  # of a rank
_NS = 1e-9


@dataclass
class Seen:
    """The findings of one look. Ranks are those of MPI_COMM_WORLD."""

    ranks: int = 0  # 0: no file is there
    there: list[int] = field(default_factory=list)  # ranks whose files are there
    ended: list[int] = field(default_factory=list)  # ... and have ended
    unreadable: dict[int, str] = field(default_factory=dict)  # by rank: its file, and why
    fresh: bool = False  # another run has begun
    tails: dict[int, Tail] = field(default_factory=dict)
    files: dict[int, File] = field(default_factory=dict)
    found: Lateness | None = None  # None: no call of the last seconds can be used
    why: str = ""  # not, where it is no call's lack

    @property
    def missing(self) -> list[int]:
        """Ranks whose files are not there."""
        return sorted(set(range(self.ranks)).difference(self.there))


class Window:
    """The files of a folder, which may come later; memory is bounded for any length of the run.

    The last seconds are written into files of its own, which the readers of traces read.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._tails: dict[int, Tail] = {}
        self._unreadable: dict[int, str] = {}
        self._own = TemporaryDirectory(prefix="latecomer-watch-")

    def close(self) -> None:
        self._own.cleanup()

    def look(self, now: float) -> Seen:
        """Read what is new. `now`: seconds of the watcher's clock. Raises TraceError."""
        seen = Seen(fresh=self._look_at_headers(now), unreadable=self._unreadable)
        seen.tails = tails = dict(sorted(self._tails.items()))
        if not tails:
            return seen
        seen.ranks = int(_newest(tails.values()).header["ranks"])
        tails = {rank: tail for rank, tail in tails.items() if tail.header["ranks"] == seen.ranks}
        seen.tails = tails
        seen.there = list(tails)
        seen.ended = [rank for rank, tail in tails.items() if tail.ended]
        if seen.missing:
            return seen  # messages are counted on both sides from the beginning, so none is read
        if not all(self._look(tail, now, records=True) for tail in tails.values()):
            self._tails = {}  # replaced or cut meanwhile: the next look begins anew
            return replace(seen, tails={}, fresh=True)
        most = max(LEAST_RECORDS, MOST_RECORDS // len(tails))
        for tail in tails.values():
            tail.keep(tail.last - round(WINDOW_S / _NS), most)
        _leave_out_alike(tails)
        self._read(seen)
        return seen

    def _look_at_headers(self, now: float) -> bool:
        """Find the files. True: another run's are there in place of those of before."""
        paths = {}
        if self.folder.is_dir():
            paths = _of_last_run(find(self.folder, native.fits, LeftOut()))
        gone = any(paths.get(rank) != tail.path for rank, tail in self._tails.items())
        replaced = gone or not all(self._look(each, now) for each in self._tails.values())
        if replaced:
            self._tails = {}
        self._unreadable = {}
        for rank in sorted(paths.keys() - self._tails.keys()):
            tail = Tail(paths[rank])
            if self._look(tail, now) and tail.header is not None:
                self._tails[rank] = tail
            elif tail.why:
                self._unreadable[rank] = f"{tail.path}: {tail.why}"
        return replaced

    @staticmethod
    def _look(tail: Tail, now: float, *, records: bool = False) -> bool:
        try:
            return tail.look(now, records=records)
        except OSError as error:
            tail.why = error.strerror or "it cannot be opened"
            return False

    def _read(self, seen: Seen) -> None:
        left, folder = LeftOut(), Path(self._own.name)
        for path in folder.iterdir():  # those of a run before may be of more ranks
            path.unlink()
        for tail in seen.tails.values():
            tail.write(folder)
        try:
            seen.files = native.files_of(folder, left)
            trace = native.joined(folder, seen.files, left)
            # Where records were left out, the window begins when it does on all ranks.
            start = _common_begin(trace, [rank for rank, tail in seen.tails.items() if tail.cut])
            full = [rank for rank, tail in seen.tails.items() if tail.full]
            if full:
                seen.why = (f"the files of {ranks_said(full)} are full, and lack later calls or "
                            "messages: set LATECOMER_TRACE_BYTES to more")  # fmt: skip
                return
            seen.found = analysed(trace, skip=0, start=start)
        except TraceError as error:
            seen.why = f"the files cannot be used: {error}"
        except UserError:  # no call in that time
            return


def _of_last_run(paths: Iterable[Path]) -> dict[int, Path]:
    """The files of the run that began last, by rank: in one folder, or in one for each node.

    The ranks of other nodes are others, those of an earlier run are the same.
    """
    folders: dict[Path, dict[int, Path]] = defaultdict(dict)
    for path in paths:
        fits = native.fits(path.name)
        folders[path.parent][int(fits[1]) if fits else -1] = path
    if len(folders) == 1:
        return next(iter(folders.values()))
    found: dict[int, Path] = {}
    for own in sorted(folders.values(), key=lambda each: -max(map(began, each.values()))):
        if found.keys().isdisjoint(own):
            found |= own
    return found


def _newest(tails: Iterable[Tail]) -> Tail:
    """The file of the run that began last; those of an earlier one may still be there."""
    return max(tails, key=lambda tail: int(tail.header["real"]) + int(tail.header["begin"]))


def _common_begin(trace: Trace, cut: list[int]) -> float:
    """The first time from which on all records of these ranks are there, in seconds."""
    first = np.full(trace.ranks, np.inf)
    for group in trace.groups:
        arrival, _ = group.times()
        np.fmin.at(first, group.members, np.fmin.reduce(arrival, axis=0, initial=np.inf))
    if trace.messages is not None:
        for side in (trace.messages.send, trace.messages.receive):
            np.fmin.at(first, side.rank, side.posted)
    known = first[cut][np.isfinite(first[cut])]
    return float(known.max(initial=0.0))


def _leave_out_alike(tails: dict[int, Tail]) -> None:
    """Leave out the same messages on both of their sides.

    The n-th send of a channel belongs to its n-th receive: so both sides leave out as many.
    """
    places = {rank: tail.places() for rank, tail in tails.items()}
    owner = {(key, own): (tails[rank], number) for rank, comms in places.items()
             for number, (key, own) in comms.items()}  # fmt: skip
    sides: dict[object, dict[bool, tuple[Tail, tuple[int, bool, int, int]]]] = defaultdict(dict)
    for rank, tail in tails.items():
        for channel in tail.left_out:
            comm, received, peer, tag = channel
            if comm not in places[rank]:
                continue
            key, own = places[rank][comm]
            ends = (peer, own) if received else (own, peer)
            other, number = owner.get((key, peer), (None, 0))
            found = sides[key, ends, tag]
            found[received] = tail, channel
            if other is not None:
                found.setdefault(not received, (other, (number, not received, own, tag)))
    for both in sides.values():
        if len(both) < 2:
            continue
        counts = {which: tail.left_out[channel] for which, (tail, channel) in both.items()}
        fewer = counts[True] < counts[False]
        tail, channel = both[fewer]
        if missing := abs(counts[True] - counts[False]):
            tail.drop(channel, missing)
        if both[True][0].left_out[both[True][1]] == both[False][0].left_out[both[False][1]]:
            for tail, channel in both.values():
                tail.left_out.pop(channel, None)
