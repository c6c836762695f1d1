"""Writes interchange tables, as CSV, JSON lines or Parquet; table.py reads them back.

A row for each rank of each call, and its waiting; then messages, and what ranks began and ended.
"""

from __future__ import annotations

import csv as csv_module
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ...base.arrays import Floats, Int32s, Int64s
from ...base.printable import csv_cell
from ...base.whole_files import fresh, fresh_text
from .model import SERVED, UNKNOWN, Group, Side, Trace, TraceError
from .table import OTHER, PROBE, RECEIVE, RUN, SEND
from .waits import synchronising, waiting

Table = dict[str, list[Any]]
COLUMNS = {
    "group": str, "sequence": int, "operation": str, "bytes": int, "rank": int, "host": str,
    "arrive": float, "leave": float, "requested": float, "peer": int, "idle": float,
    "clock_error": float, "root": int, "operator": str, "element_bytes": int, "site": str,
    "algorithm": str, "served": str, "members": int, "waiting_s": float, "moving_s": float,
    "last_rank": int,
}  # fmt: skip
_STRETCH = 4096  # calls at once
_MESSAGES = "messages"
NO_MESSAGES = "no messages, since the trace lacks some of them"


def csv(trace: Trace, file: Path) -> None:
    """The table as CSV, or as JSON lines if the file's name ends in .jsonl; packed behind a .gz.

    In CSV texts that begin with = + - @ get a quote before, and control characters are replaced.
    """
    with fresh_text(file, newline="") as out:
        columns = _columns(trace)
        if file.name.lower().removesuffix(".gz").endswith(".jsonl"):
            for table in _tables(trace):
                for row in zip(*(table[name] for name in columns), strict=True):
                    told = {name: value for name, value in zip(columns, row, strict=True)
                            if value not in (None, "")}  # fmt: skip
                    out.write(json.dumps(told, separators=(",", ":")) + "\n")
            return
        writer = csv_module.writer(out)
        writer.writerow(columns)
        for table in _tables(trace):
            shown = [list(map(csv_cell, table[name])) if COLUMNS[name] is str else table[name]
                     for name in columns]  # fmt: skip
            writer.writerows(zip(*shown, strict=True))


def parquet(trace: Trace, file: Path) -> None:
    """The table as Parquet. Raises TraceError where pyarrow is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise TraceError("Parquet needs a package that is not installed", "pyarrow",
                         "pip install pyarrow, or use --csv") from None  # fmt: skip
    types = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64()}
    names = _columns(trace)
    schema = pyarrow.schema([(name, types[COLUMNS[name]]) for name in names])
    with fresh(file) as part, pyarrow.parquet.ParquetWriter(part, schema) as writer:
        for table in _tables(trace):
            writer.write_table(pyarrow.table({name: table[name] for name in names}, schema))


def lacking(trace: Trace) -> str:
    """A sentence of what a table does not hold of a trace; "": it holds what answers rest on."""
    return "" if has_all_messages(trace) else f"the table has {NO_MESSAGES}"


def has_all_messages(trace: Trace) -> bool:
    """Tell if no message is missing of those that the trace has, if it has any."""
    return trace.messages is None or bool(np.isinf(trace.messages.until))


def _columns(trace: Trace) -> list[str]:
    """Without `peer` where messages were not measured, since it tells that they were."""
    return [name for name in COLUMNS if name != "peer" or _talks(trace)]


def _talks(trace: Trace) -> bool:
    return trace.messages is not None and has_all_messages(trace)


def ends(trace: Trace) -> Floats:
    """When each rank ended, or the files were full: later waiting would pass for computation."""
    return np.minimum(trace.end, trace.until)


def _tables(trace: Trace) -> Iterator[Table]:
    """Columns as lists, by stretches of rows."""
    names = group_names(trace)
    for group, name in zip(trace.groups, names, strict=False):
        yield from calls_of(trace, group, name)
    for group, name in zip(trace.overlapping, names[len(trace.groups) :], strict=True):
        yield from calls_of(trace, group, name)
    if _talks(trace):
        yield from messages_of(trace)
    yield from others_of(trace)
    yield _runs(trace)


def group_names(trace: Trace) -> list[str]:
    """A name for each group, then for each overlapping one, that no other one of its kind has."""
    names = []
    for groups in (trace.groups, trace.overlapping):
        counts = Counter(group.name for group in groups)
        taken = set(counts)
        for at, group in enumerate(groups):
            name = group.name
            if not name or counts[name] > 1:
                name = f"{name or 'unnamed communicator'} #{at}"
                while name in taken:
                    name += "'"
                taken.add(name)
            names.append(name)
    return names


def _table(count: int, **columns: Any) -> Table:
    """All columns; those that are not given are empty, and numbers that are not known, too."""
    found: Table = {}
    for name, kind in COLUMNS.items():
        values = columns.get(name)
        if values is None:
            found[name] = ["" if kind is str else None] * count
        elif isinstance(values, (str, int)):
            found[name] = [values] * count
        elif isinstance(values, np.ndarray) and kind is float:
            rounded = values.round(9).astype(object)
            rounded[~np.isfinite(values)] = None
            found[name] = rounded.tolist()
        else:
            found[name] = values.tolist() if isinstance(values, np.ndarray) else list(values)
    return found


def _runs(trace: Trace) -> Table:
    """When each rank began and ended, its host, and the error of its clock."""
    return _table(trace.ranks, operation=RUN, rank=list(range(trace.ranks)), host=trace.hosts,
                  arrive=trace.begin, leave=ends(trace), clock_error=trace.clock_error)  # fmt: skip


def calls_of(trace: Trace, group: Group, name: str) -> Iterator[Table]:
    """The rows of a group, `waiting_s` None where a rank's times are not known."""
    for begin in range(0, len(group), _STRETCH):
        yield _calls(trace, group, name, slice(begin, begin + _STRETCH))


def _calls(trace: Trace, group: Group, name: str, part: slice) -> Table:
    arrival, leave = group.times(part)
    known = np.isfinite(arrival) & np.isfinite(leave)
    call, place = (each.reshape(-1) for each in np.indices(arrival.shape))
    came = np.where(known, arrival, np.nan)
    waits = waiting(came, leave, synchronising(trace, group, part, came, leave))
    waits = np.where(known, waits, np.nan)
    overlaps = group.completed is not None
    requested, arrive = None, arrival
    if group.completed is not None:
        requested = arrival
        arrive = np.where(np.isfinite(group.completed[part]), group.completed[part], arrival)
    elif group.launch is not None:
        requested = arrival - group.launch[part]
    texts = {column: _texts(trace, getattr(group, of)[part], call) for column, of in
             (("operation", "collective"), ("operator", "operator"), ("site", "site"),
              ("algorithm", "algorithm"))}  # fmt: skip
    served = [SERVED[each] if each >= 0 else "" for each in group.served[part]]
    ranks = group.members[place]
    return _table(
        len(call),
        **texts | ({"operation": [f"i{each}" for each in texts["operation"]]} if overlaps else {}),
        group=name,
        sequence=group.sequence[part][call],
        bytes=group.bytes[part][call],
        element_bytes=group.element_bytes[part][call],
        root=group.root[part][call],
        rank=ranks,
        host=[trace.hosts[rank] for rank in ranks],
        arrive=arrive.reshape(-1),
        leave=leave.reshape(-1),
        requested=None if requested is None else requested.reshape(-1),
        idle=None if group.idle is None else group.idle[part].reshape(-1),
        members=group.size,
        waiting_s=waits.reshape(-1),
        moving_s=np.clip(leave - came - waits, 0.0, None).reshape(-1),
        last_rank=_last_ranks(group, np.where(known, arrival, -np.inf))[call],
        served=[served[i] for i in call],
    )


def _texts(trace: Trace, numbers: Int32s, call: Int64s) -> list[str]:
    column = [trace.words[int(each)] for each in numbers]
    return [column[i] for i in call]


def _last_ranks(group: Group, arrival: Floats) -> Int32s:
    """The rank that came last in each call; UNKNOWN where several did, at the same instant."""
    last = group.members[arrival.argmax(axis=1)]
    alone = (arrival == arrival.max(axis=1, keepdims=True)).sum(axis=1) == 1
    return np.where(alone, last, UNKNOWN)


def messages_of(trace: Trace) -> Iterator[Table]:
    """The rows of messages, which are numbered by their place in the trace."""
    messages = trace.messages
    if messages is not None:
        number, (send, receive) = np.arange(len(messages)), (messages.send, messages.receive)
        for what, own, other in ((SEND, send, receive), (RECEIVE, receive, send)):
            yield from _sides(trace, own, what, number, other.rank, messages.bytes)
        at = messages.probes.message
        peers = np.append(send.rank, UNKNOWN)[at]  # the last one is that of UNKNOWN
        yield from _sides(trace, messages.probes.side, PROBE, at, peers, None)


def others_of(trace: Trace) -> Iterator[Table]:
    """The rows of waits for what is not known."""
    if (others := trace.others) is not None:
        yield _table(len(others), operation=OTHER, rank=others.rank, arrive=others.begin,
                     leave=others.end, idle=others.idle)  # fmt: skip


def _sides(
    trace: Trace, side: Side, what: str, number: Any, peer: Any, size: Any
) -> Iterator[Table]:
    for begin in range(0, len(side.rank), _STRETCH):
        part = slice(begin, begin + _STRETCH)
        own = side.part(part)
        yield _table(
            len(own.rank), group=_MESSAGES, operation=what, rank=own.rank, peer=peer[part],
            sequence=number[part], bytes=None if size is None else size[part], arrive=own.begin,
            leave=own.end, requested=own.posted, idle=own.idle,
            site=[trace.words[int(each)] for each in own.site],
        )  # fmt: skip
