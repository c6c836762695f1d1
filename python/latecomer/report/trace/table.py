"""Reads the interchange table, to which any recording converts: a row for each rank of each call.

`rank`, `arrive` and `leave` (seconds) are needed; docs/recordings.md has what else a row may tell.
Rows come in any order. Calls are matched by group and sequence; calls of which none has a sequence,
by their order on each rank.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...base.arrays import Bools, Floats, Int8s
from ...base.spelling import counted
from . import align, rank_names, table_rows
from .contradictions import FEW
from .dtypes import collective_of, is_message
from .files import find
from .left_out import LeftOut
from .matching import offsets_of
from .model import OBJECTS, Group, Trace, TraceError, earliest, ranks_said, text_of
from .native_messages import remarks_on
from .table_groups import groups_of
from .table_messages import messages_of, others_of
from .table_rows import Columns

_ENDS = (".csv", ".csv.gz", ".jsonl", ".jsonl.gz", ".parquet")
_LIBRARY = re.compile(r"^(?:p?mpix?_|[nr]ccl|gloo:|mpi:|c10d::)", re.I)
# Kinds of rows besides collectives.
RUN, SEND, RECEIVE, PROBE, OTHER = "run", "send", "receive", "probe", "other"
_CALL, _OVERLAPPING, _RUN, _SEND, _RECEIVE, _PROBE, _OTHER = range(7)
_KINDS = {RUN: _RUN, SEND: _SEND, RECEIVE: _RECEIVE, PROBE: _PROBE, OTHER: _OTHER}


def fits(name: str) -> bool:
    """Tell whether a file of that name in a folder may be a table."""
    return name.lower().endswith(_ENDS)


def read(where: Path) -> Trace:
    """The trace in a file of whichever of the three formats, or in all tables of a folder.

    Raises TraceError, which says what was found and what would be right.
    """
    left = LeftOut()
    paths = [where] if where.is_file() else find(where, fits, left)
    rows = table_rows.read(paths, left)
    return replace(_Table(where, rows, left).trace(), inputs=paths)


def operation_of(text: str) -> tuple[int, str]:
    """The kind of a row, and the collective, by names such as MPI_Iallreduce and ncclAllGather."""
    name = _LIBRARY.sub("", text.strip())
    if name.lower() in _KINDS:
        return _KINDS[name.lower()], ""
    if is_message(name):
        return (_SEND if "send" in name.lower() else _RECEIVE), ""
    if found := collective_of(name):
        return _CALL, found
    if name.startswith(OBJECTS):  # as our own traces name them
        return _CALL, name
    if name[:1] in "iI" and (found := collective_of(name[1:])):
        return _OVERLAPPING, found
    return _CALL, ""


class _Table:
    """All rows of a recording."""

    def __init__(self, where: Path, rows: table_rows.Rows, left: LeftOut) -> None:
        self.where, self.left, self.words, self.read = where, left, rows.words, rows.count
        self.remarks: list[str] = []
        columns = rows.columns() if rows.stretches else {"rank": np.zeros(0)}
        columns["rank"] = columns["rank"].astype(np.int32)
        self.columns = self._believed(columns)
        self.ranks = int(self.columns["rank"].max(initial=-1)) + 1
        self.kinds = self._named()

    def trace(self) -> Trace:
        """The trace. Raises TraceError where too little remains."""
        groups, overlapping = (
            groups_of(self._of(kind), self.words, self.left, overlapping=kind == _OVERLAPPING)
            for kind in (_CALL, _OVERLAPPING)
        )
        talks = "peer" in self.columns and bool((self.kinds >= _SEND).any())
        if not groups and not talks:
            told = counted(self.read, "row")
            told += f" ({self.left.said()})" if self.left.said() else ""
            raise TraceError(f"{self.where}: no collective that at least two ranks recorded",
                             told, "right would be a row for each rank of each call, with "
                             "the same group and sequence")  # fmt: skip
        hosts = self._hosts()
        begin, end, present = self._runs()
        offsets, said, error = self._clocks(groups, hosts, present)
        start = self._start(offsets)

        def seconds(rank: int, times: Any) -> Any:
            return offsets[rank].apply(times) - start

        for rank in range(self.ranks):
            begin[rank], end[rank] = seconds(rank, np.array([begin[rank], end[rank]]))
        messages = None
        if "peer" in self.columns:
            sends, receives, probes = map(self._of, (_SEND, _RECEIVE, _PROBE))
            messages = messages_of(sends, receives, probes, seconds, error, self.left)
        others = others_of(self._of(_OTHER), seconds, self.left)
        if missing := np.flatnonzero(~present).tolist():
            told = f"no times of {ranks_said(missing)}, of {self.ranks} ranks"
            self.remarks.append(told)
        return Trace(
            source=text_of(str(self.where), 4096),
            format="table",
            words=self.words,
            hosts=hosts,
            groups=[align.apply(group, offsets, start) for group in groups],
            begin=begin,
            end=end,
            clock=said,
            clock_error=error,
            remarks=[*self.remarks, *remarks_on(messages), *self.left.remarks()],
            messages=messages,
            overlapping=[align.apply(group, offsets, start) for group in overlapping],
            others=others,
        )

    # ---- rows

    def _believed(self, columns: Columns) -> Columns:
        """Without ranks that are far greater than others: numbers of something else.

        Those of few rows need only be twice as great.
        """
        some, rows = np.unique(columns["rank"], return_counts=True)
        many = rows >= FEW * np.median(rows) if len(some) else np.zeros(0, bool)
        greatest = int(some[many].max(initial=0))
        odd = (some >= rank_names.believed(len(some))) | (~many & (some > 2 * greatest + 1))
        strange = np.isin(columns["rank"], some[odd])
        if not strange.any():
            return columns
        usual = int((~odd).sum())
        told = f"rows of ranks that are too great for {usual if usual > 1 else len(some)} ranks"
        self.left.add(f"{told}: right would be 0, 1, 2 and so on", self.where,
                      columns["rank"][strange][0], int(strange.sum()))  # fmt: skip
        return {name: column[~strange] for name, column in columns.items()}

    def _named(self) -> Int8s:
        """The kind of each row; `operation` becomes the collective, as all readers name it."""
        if "operation" not in self.columns:
            self.columns["operation"] = np.full(len(self.columns["rank"]), -1, np.int32)
        said = self.columns["operation"]
        if (unnamed := int((said < 0).sum())) and unnamed == len(said):
            told = "a rank is taken to wait for those that come before it leaves"
            self.remarks.append(f"the recording has no names of collectives: {told}")
        some, at = np.unique(said, return_inverse=True)
        kinds, names = np.zeros(len(some), np.int8), np.zeros(len(some), np.int32)
        counts = np.bincount(at.reshape(-1), minlength=len(some))
        for number, (place, count) in enumerate(zip(some.tolist(), counts.tolist(), strict=True)):
            text = self.words[place]
            kinds[number], name = operation_of(text)
            names[number] = self.words.place(name or text or "collective")
            if not name and text and kinds[number] == _CALL:
                self.left.doubt("operations of no known name, which are taken as collectives that "
                                "may end before all have come", self.where, count)  # fmt: skip
        self.columns["operation"] = names[at.reshape(-1)]
        return kinds[at.reshape(-1)]

    def _of(self, kind: int) -> Columns:
        own = self.kinds == kind
        return {name: column[own] for name, column in self.columns.items()}

    def _hosts(self) -> list[str]:
        place = np.full(self.ranks, -1, np.int32)
        if "host" in self.columns:
            host, rank = self.columns["host"], self.columns["rank"]
            known = np.flatnonzero(host >= 0)[::-1]  # the first one is written last
            place[rank[known]] = host[known]
            if odd := int((place[rank[known]] != host[known]).sum()):
                self.left.doubt("rows of another host than the rank's first one", self.where, odd)
        if (place < 0).all():
            told = "all times are taken as of one clock unless the calls contradict that"
            self.remarks.append(f"the recording has no hosts: none can be named, and {told}")
        return [self.words[each] or "?" for each in place.tolist()]

    def _runs(self) -> tuple[Floats, Floats, Bools]:
        """When each rank began and ended, and which have any time."""
        begin, end = np.full(self.ranks, np.nan), np.full(self.ranks, np.nan)
        runs = self._of(_RUN)
        np.fmin.at(begin, runs["rank"], runs["arrive"])
        np.fmax.at(end, runs["rank"], runs["leave"])
        timed = np.isfinite(self.columns["arrive"]) | np.isfinite(self.columns["leave"])
        return begin, end, np.bincount(self.columns["rank"][timed], minlength=self.ranks) > 0

    def _clocks(
        self, groups: list[Group], hosts: list[str], present: Bools
    ) -> tuple[list[align.Offset], str, Floats]:
        """The seconds to add to times, how it was found, and the error of each rank's clock."""
        error = np.full(self.ranks, np.nan)
        np.fmax.at(error, self.columns["rank"], self.columns.get("clock_error", np.nan))
        error[~present] = np.nan
        if np.isfinite(error[present]).all():
            offsets = [align.constant(0.0, each) for each in error]
            return offsets, "the table tells the error of its one clock", error
        known = {host: at for at, host in enumerate(dict.fromkeys(hosts))}
        clocks = [known[host] for host in hosts]
        if len(known) > 1 and "?" in known:
            clocks = [known[host] if host != "?" else len(known) + rank
                      for rank, host in enumerate(hosts)]  # fmt: skip
        there = np.flatnonzero(present).tolist()
        offsets, said = offsets_of(groups, self.words, clocks, there, self.remarks, self.left,
                                   self._first_and_last())  # fmt: skip
        error[there] = [offsets[rank].error for rank in there]
        return offsets, said, error

    def _first_and_last(self) -> tuple[Floats, Floats]:
        """By rank, the first and the last time of calls and messages; NaN: none is known."""
        first, last = np.full((2, self.ranks), np.nan)
        own = self.kinds != _RUN
        np.fmin.at(first, self.columns["rank"][own], self.columns["arrive"][own])
        np.fmax.at(last, self.columns["rank"][own], self.columns["leave"][own])
        return first, last

    def _start(self, offsets: list[align.Offset]) -> float:
        """The earliest time on the common clock."""
        first = np.full(self.ranks, np.inf)
        for name in ("requested", "idle", "arrive"):
            if name in self.columns:
                np.fmin.at(first, self.columns["rank"], self.columns[name])
        found = earliest(*(offsets[rank].apply(first[rank : rank + 1]) for rank in
                           np.flatnonzero(np.isfinite(first))))  # fmt: skip
        return found if np.isfinite(found) else 0.0
