"""The messages of an interchange table, and its waits for what is not known."""

from __future__ import annotations

import numpy as np

from ...base.arrays import Floats, Int64s
from .left_out import LeftOut
from .messages import Posted, Seconds, joined, matched
from .model import UNKNOWN, Messages, Others, Probes, Side, rows_of
from .table_rows import Columns


def messages_of(
    sends: Columns,
    receives: Columns,
    probes: Columns,
    seconds: Seconds,
    clock_error: Floats,
    left: LeftOut,
) -> Messages:
    """The messages. `seconds(rank, times)`: that rank's times on the trace's clock.

    Of one group, sender and receiver those of equal sequence belong together; those without a
    sequence by their order. Whose peer is not known waits as a probe does.
    """
    parts = [_timed(rows, left) for rows in (sends, receives, probes)]
    alone = [{name: column[np.isnan(rows["peer"])] for name, column in rows.items()}
             for rows in parts[:2]]  # fmt: skip
    sends, receives = ({name: column[~np.isnan(rows["peer"])] for name, column in rows.items()}
                       for rows in parts[:2])  # fmt: skip
    probes = parts[2]
    keys = _keys(receives, sent=False)
    messages = [_places(keys, _keys(probes, sent=False)),
                *(np.full(len(rows["rank"]), UNKNOWN) for rows in alone)]  # fmt: skip
    sides = joined([_side(rows, seconds) for rows in (probes, *alone)])
    return matched(
        _posted(sends, _keys(sends, sent=True), seconds), _posted(receives, keys, seconds),
        clock_error, probes=Probes(sides, np.concatenate(messages)),
    )  # fmt: skip


def others_of(rows: Columns, seconds: Seconds, left: LeftOut) -> Others | None:
    """Stretches in which a rank waits for what is not known; None: the table has none."""
    rows = _timed(rows, left)
    if not len(rows["rank"]):
        return None
    side = _side(rows, seconds)
    return Others(side.rank, side.begin, side.end, side.idle, np.zeros(len(side.rank), np.uint8))


def _timed(rows: Columns, left: LeftOut) -> Columns:
    """In the order in which they were posted, without those whose times are not known."""
    posted = _or(rows, "requested", rows["arrive"])
    known = np.isfinite(rows["arrive"]) & np.isfinite(rows["leave"])
    if not known.all():
        left.add("rows of messages and other waits without their times",
                 f"rank {rows['rank'][~known][0]}", count=int((~known).sum()))  # fmt: skip
    order = np.lexsort((rows["arrive"], posted))
    order = order[known[order]]
    return {name: column[order] for name, column in rows.items()}


def _or(rows: Columns, column: str, others: Floats) -> Floats:
    """A column; the others' values where it says nothing."""
    found = rows.get(column)
    return others if found is None else np.where(np.isnan(found), others, found)


def _keys(rows: Columns, *, sent: bool) -> Int64s:
    """Group, sender, receiver and sequence; -1: not known."""
    nothing = np.full(len(rows["rank"]), np.nan)
    ends = (rows["rank"], rows["peer"]) if sent else (rows["peer"], rows["rank"])
    columns = (rows.get("group", nothing), *ends, rows.get("sequence", nothing))
    keys: Int64s = np.nan_to_num(np.column_stack(columns), nan=UNKNOWN).astype(np.int64)
    return keys


def _places(keys: Int64s, wanted: Int64s) -> Int64s:
    """Where in the keys the wanted ones are; UNKNOWN."""
    if not len(wanted):
        return np.zeros(0, np.int64)
    known = {tuple(key): at for at, key in enumerate(keys.tolist())}
    return np.array([known.get(tuple(key), UNKNOWN) if key[-1] >= 0 else UNKNOWN
                     for key in wanted.tolist()], np.int64)  # fmt: skip


def _posted(rows: Columns, keys: Int64s, seconds: Seconds) -> Posted:
    nothing = np.full(len(rows["rank"]), np.nan)
    sizes = np.nan_to_num(rows.get("bytes", nothing), nan=UNKNOWN).astype(np.int64)
    return Posted(_side(rows, seconds), keys, sizes, np.ones(len(sizes), bool))


def _side(rows: Columns, seconds: Seconds) -> Side:
    rank, begin = rows["rank"], rows["arrive"]
    columns = {"posted": _or(rows, "requested", begin), "begin": begin, "end": rows["leave"],
               "idle": _or(rows, "idle", begin)}  # fmt: skip
    found = {name: np.empty(len(rank)) for name in columns}
    for each, own in rows_of(rank):
        for name, times in columns.items():
            found[name][own] = seconds(each, times[own])
    site = rows.get("site", np.full(len(rank), UNKNOWN, np.int32))
    return Side(rank=rank, site=site, **found)
