"""A trace for ui.perfetto.dev and chrome://tracing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain, count
from pathlib import Path
from typing import Any

from ...base.whole_files import fresh_text
from .model import Trace
from .table_export import calls_of, messages_of, others_of

_ARGUMENTS = ("sequence", "bytes", "algorithm", "served", "site", "last_rank")  # of slices
_BESIDE = ("group", "sequence", "bytes", "peer", "site")  # the same of those that may overlap


def perfetto(trace: Trace, file: Path) -> None:
    """Chrome's JSON, for ui.perfetto.dev: a process for each rank, a track for each communicator.

    A call is a slice, in it one of waiting and one of moving data. What may overlap has tracks of
    its own: non-blocking collectives, messages, and waits for what is not known, each from its
    begin to its end.
    """
    with fresh_text(file) as out:
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
        for table in calls_of(trace, group, group.name):
            yield from _slices(table, number)
    of_others = (calls_of(trace, group, group.name) for group in trace.overlapping)
    yield from _beside(chain(*of_others, messages_of(trace), others_of(trace)))


def _named(what: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}


def _slices(table: dict[str, Any], track: int) -> Iterator[dict[str, Any]]:
    for i, rank in enumerate(table["rank"]):
        if table["waiting_s"][i] is None:
            continue
        begin = 1e6 * table["arrive"][i]
        waiting, moving = 1e6 * table["waiting_s"][i], 1e6 * table["moving_s"][i]
        place = {"ph": "X", "pid": rank, "tid": track}
        args = {name: table[name][i] for name in _ARGUMENTS}
        yield place | {"name": table["operation"][i], "ts": round(begin, 3),
                       "dur": round(waiting + moving, 3), "args": args}  # fmt: skip
        if waiting > 0:
            yield place | {"name": "wait for late ranks", "ts": round(begin, 3),
                           "dur": round(waiting, 3), "cname": "bad"}  # fmt: skip
        yield place | {"name": "transfer", "ts": round(begin + waiting, 3),
                       "dur": round(moving, 3), "cname": "good"}  # fmt: skip


def _beside(tables: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Asynchronous slices: of one process, these may overlap."""
    number = count()
    for table in tables:
        for i, (posted, came, end) in enumerate(
            zip(table["requested"], table["arrive"], table["leave"], strict=True)
        ):
            begin = came if posted is None else posted
            if begin is None or end is None:
                continue
            slice_ = {"cat": "mpi", "id": str(next(number)), "pid": table["rank"][i], "tid": 0,
                      "name": table["operation"][i]}  # fmt: skip
            args = {name: table[name][i] for name in _BESIDE if table[name][i] not in (None, "")}
            yield slice_ | {"ph": "b", "ts": round(1e6 * begin, 3), "args": args}
            yield slice_ | {"ph": "e", "ts": round(1e6 * max(begin, end), 3)}
