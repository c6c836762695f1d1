"""A trace in the formats of other tools. Names come from programs, so each format escapes them."""

from __future__ import annotations

import csv as csv_module
import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.plain import plain
from ...base.written import fresh
from .model import SERVED, UNKNOWN, Group, Trace, TraceError
from .waits import synchronising, waiting

if TYPE_CHECKING:
    from numpy.typing import NDArray

COLUMNS = ("communicator", "members", "sequence", "collective", "bytes", "operator", "root", "rank",
           "host", "arrival_s", "exit_s", "waiting_s", "moving_s", "last_rank", "served",
           "algorithm", "site")  # fmt: skip
_FORMULA = ("=", "+", "-", "@")  # spreadsheets execute cells that begin so
_ARGUMENTS = ("sequence", "bytes", "algorithm", "served", "site", "last_rank")  # of slices
_STRETCH = 4096  # calls at once


def csv(trace: Trace, file: Path) -> None:
    """One line for each call and rank. Texts that begin with = + - @ get a quote before; their
    control characters are replaced."""
    with fresh(file) as part, part.open("w", encoding="utf-8", newline="") as out:
        writer = csv_module.writer(out)
        writer.writerow(COLUMNS)
        for table in _tables(trace):
            texts = (
                "communicator",
                "collective",
                "operator",
                "host",
                "served",
                "algorithm",
                "site",
            )
            shown = [
                [_cell(each) for each in table[name]] if name in texts else table[name]
                for name in COLUMNS
            ]
            writer.writerows(zip(*shown, strict=True))


def _cell(text: str) -> str:
    text = plain(text)
    return "'" + text if text.startswith(_FORMULA) else text


def parquet(trace: Trace, file: Path) -> None:
    """What csv() writes, without its quotes. Raises TraceError where pyarrow is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise TraceError("Parquet needs a package that is not installed", "pyarrow",
                         "pip install pyarrow, or use --csv") from None  # fmt: skip
    with fresh(file) as part:
        tables = (pyarrow.table(dict(table)) for table in _tables(trace))
        first = next(tables)
        with pyarrow.parquet.ParquetWriter(part, first.schema) as writer:
            for table in chain([first], tables):
                writer.write_table(table)


def perfetto(trace: Trace, file: Path) -> None:
    """Chrome's JSON, for ui.perfetto.dev: a process for each rank, a track for each communicator.

    A call is a slice, in it one of waiting and one of moving data.
    """
    with fresh(file) as part, part.open("w", encoding="utf-8") as out:
        out.write('{"displayTimeUnit":"ms","traceEvents":[\n')
        first = True
        for event in _events(trace):
            out.write(("" if first else ",\n") + json.dumps(event, separators=(",", ":")))
            first = False
        out.write("\n]}\n")


def _events(trace: Trace) -> Iterator[dict[str, Any]]:
    for rank, host in enumerate(trace.hosts):
        yield _named("process_name", rank, 0, f"rank {rank} on {host}")
        yield {"ph": "M", "name": "process_sort_index", "pid": rank, "tid": 0,
               "args": {"sort_index": rank}}  # fmt: skip
    for number, group in enumerate(trace.groups):
        name = group.name or "unnamed communicator"
        for rank in group.members:
            yield _named("thread_name", int(rank), number, name)
        for table in _columns(trace, group):
            yield from _slices(table, number)


def _named(what: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}


def _slices(table: dict[str, Any], track: int) -> Iterator[dict[str, Any]]:
    for i, rank in enumerate(table["rank"]):
        begin = 1e6 * table["arrival_s"][i]
        waiting, moving = 1e6 * table["waiting_s"][i], 1e6 * table["moving_s"][i]
        place = {"ph": "X", "pid": rank, "tid": track}
        args = {name: table[name][i] for name in _ARGUMENTS}
        yield place | {"name": table["collective"][i], "ts": round(begin, 3),
                       "dur": round(waiting + moving, 3), "args": args}  # fmt: skip
        if waiting > 0:
            yield place | {"name": "wait for late ranks", "ts": round(begin, 3),
                           "dur": round(waiting, 3), "cname": "bad"}  # fmt: skip
        yield place | {"name": "transfer", "ts": round(begin + waiting, 3),
                       "dur": round(moving, 3), "cname": "good"}  # fmt: skip


def _tables(trace: Trace) -> Iterator[dict[str, list[Any]]]:
    """Columns as lists, by stretches of calls; at least one, which may be empty."""
    found = False
    for group in trace.groups:
        for table in _columns(trace, group):
            found = True
            yield table
    if not found:
        yield {name: [] for name in COLUMNS}


def _columns(trace: Trace, group: Group) -> Iterator[dict[str, list[Any]]]:
    words = trace.words
    for begin in range(0, len(group), _STRETCH):
        part = slice(begin, begin + _STRETCH)
        arrival, leave = group.times(part)
        known = np.isfinite(arrival) & np.isfinite(leave)
        call, place = np.nonzero(known)
        latest = _last_ranks(group, np.where(known, arrival, -np.inf))
        came, left = arrival[known], leave[known]
        by_all = synchronising(words, group.collective[part])
        waits = waiting(np.where(known, arrival, np.nan), leave, by_all)[known]

        def texts(numbers: NDArray[np.int32], part=part, call=call) -> list[str]:
            column = [words[int(each)] for each in numbers[part]]
            return [column[i] for i in call]

        served = [SERVED[each] if each >= 0 else "" for each in group.served[part]]
        ranks = group.members[place]
        yield {
            "communicator": [group.name] * len(call),
            "members": [group.size] * len(call),
            "sequence": group.sequence[part][call].tolist(),
            "collective": texts(group.collective),
            "bytes": group.bytes[part][call].tolist(),
            "operator": texts(group.operator),
            "root": group.root[part][call].tolist(),
            "rank": ranks.tolist(),
            "host": [trace.hosts[rank] for rank in ranks],
            "arrival_s": came.round(9).tolist(),
            "exit_s": left.round(9).tolist(),
            "waiting_s": waits.round(9).tolist(),
            "moving_s": np.clip(left - came - waits, 0.0, None).round(9).tolist(),
            "last_rank": latest[call].tolist(),
            "served": [served[i] for i in call],
            "algorithm": texts(group.algorithm),
            "site": texts(group.site),
        }


def _last_ranks(group: Group, arrival: NDArray[np.float64]) -> NDArray[np.int32]:
    """The rank that came last in each call; UNKNOWN where several did, at the same instant."""
    last = group.members[arrival.argmax(axis=1)]
    alone = (arrival == arrival.max(axis=1, keepdims=True)).sum(axis=1) == 1
    return np.where(alone, last, UNKNOWN)
