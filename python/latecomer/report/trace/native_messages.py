"""The messages of the library's trace files: their records, matched over the ranks."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...base.arrays import Array, Floats, Int64s
from .messages import Posted, Seconds, joined, matched
from .model import UNKNOWN, Messages, Others, Probes, Side, Words
from .native_file import MOST_ORDER, WHAT, File

_RECEIVE, _PROBE = WHAT.index("receive"), WHAT.index("probe")  # below these are sends


def messages_of(
    files: Mapping[int, File], words: Words, seconds: Seconds, clock_error: Floats
) -> Messages | None:
    """The messages; None: no file says that messages were looked at.

    `seconds(rank, times)`: the times of that rank's file on the trace's clock, whose error is
    `clock_error` of each rank.
    """
    if not any(file.messages_traced for file in files.values()):
        return None
    numbers: dict[tuple[int, int], int] = {}
    sends, receives = (_posted(files, words, seconds, numbers, which) for which in (False, True))
    lost = sum(file.messages_lost for file in files.values())
    until = min((float(seconds(rank, np.array([last]))[0]) for rank, file in files.items()
                 if (last := _known_until(file)) is not None), default=np.inf)  # fmt: skip
    return matched(sends, receives, clock_error, lost,
                   probes=_probes(files, words, seconds), until=until)  # fmt: skip


def _known_until(file: File) -> int | None:
    """From when on there was no room for messages of the rank, in its nanoseconds; None: never."""
    messages, whole = file.messages, file.messages_whole
    if whole >= MOST_ORDER or not file.header["full_of_messages"]:
        return None
    later = messages["order"] >= whole
    if later.any():
        return int(messages["posted"][later].min())
    ends = [int(column.max(initial=file.header["begin"]))
            for column in (messages["end"], file.others["end"])]  # fmt: skip
    return max(ends)


def others_of(files: Mapping[int, File], seconds: Seconds) -> Others | None:
    """Time in calls that have no record of their own; None: no file says that it has any."""
    if not any(file.messages_traced for file in files.values()):
        return None
    parts = [
        (np.full(len(own), rank, np.int32), seconds(rank, own["end"] - own["inside"]),
         seconds(rank, own["end"]), seconds(rank, own["end"] - own["inside"] - own["between"]),
         own["calls"])
        for rank, file in files.items() for own in [file.others]
    ]  # fmt: skip
    return Others(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _posted(
    files: Mapping[int, File],
    words: Words,
    seconds: Seconds,
    numbers: dict[tuple[int, int], int],
    receives: bool,
) -> Posted:
    """The sends or the receives of all files. `numbers`: of communicators, by their keys."""
    sides, keys, sizes, certain = [], [], [], []
    for rank, file in files.items():
        records = _by_order(file)
        own = records[records["what"] == _RECEIVE if receives else records["what"] < _RECEIVE]
        sides.append(_side(rank, file, own, words, seconds))
        keys.append(_keys(file, own, numbers, receives))
        sizes.append(own["bytes"].astype(np.int64))
        certain.append(own["order"] < file.messages_whole)
    return Posted(joined(sides), *(np.concatenate(each) for each in (keys, sizes, certain)))


def _by_order(file: File) -> Array:
    return file.messages[np.argsort(file.messages["order"], kind="stable")]


def _probes(files: Mapping[int, File], words: Words, seconds: Seconds) -> Probes:
    """The probes of all files. Each waits for what is received next from there with its tag."""
    sides, places, count = [], [], 0
    for rank, file in files.items():
        records = _by_order(file)
        own, receives = (records[records["what"] == what] for what in (_PROBE, _RECEIVE))
        sides.append(_side(rank, file, own, words, seconds))
        both = np.concatenate([own, receives])
        _, which = np.unique(both[["communicator", "peer", "tag"]], return_inverse=True)
        number = (which.reshape(-1).astype(np.int64) << 32) | both["order"].astype(np.int64)
        mine, theirs = number[: len(own)], number[len(own) :]
        order = np.argsort(theirs)
        after = np.searchsorted(theirs[order], mine)
        there = after < len(order)
        found = np.full(len(own), UNKNOWN, np.int64)
        found[there] = order[after[there]]
        there[there] = theirs[found[there]] >> 32 == mine[there] >> 32
        places.append(np.where(there, count + found, UNKNOWN))
        count += len(receives)
    return Probes(joined(sides), np.concatenate(places))


def _side(rank: int, file: File, own: Array, words: Words, seconds: Seconds) -> Side:
    some, which = np.unique(own["site"], return_inverse=True)
    sites = np.array([words.place(file.texts.get(int(each), "")) for each in some], np.int32)
    posted, begin, end = (seconds(rank, own[name]) for name in ("posted", "begin", "end"))
    site = sites[which.reshape(-1)] if len(own) else np.zeros(0, np.int32)
    idle = seconds(rank, own["begin"] - own["between"])
    return Side(np.full(len(own), rank, np.int32), posted, begin, end, site, idle)


def _keys(file: File, own: Array, numbers: dict[tuple[int, int], int], receives: bool) -> Int64s:
    """Communicator, sender, receiver and tag: alike on both sides."""
    some, which = np.unique(own["communicator"], return_inverse=True)
    comms = [file.comms[int(each)] for each in some]
    number = np.array([numbers.setdefault(c.key, len(numbers)) for c in comms], np.int64)
    mine = np.array([c.rank for c in comms], np.int64)
    at = which.reshape(-1)
    peer = own["peer"].astype(np.int64)
    me = mine[at] if len(own) else np.zeros(0, np.int64)
    ends = (peer, me) if receives else (me, peer)
    comm = number[at] if len(own) else np.zeros(0, np.int64)
    return np.column_stack([comm, *ends, own["tag"].astype(np.int64)])


def remarks_on(messages: Messages | None) -> list[str]:
    """Sentences about those that are missing."""
    if messages is None:
        return []
    counted = (
        (messages.lost, "messages, probes and other waits could not be recorded"),
        (messages.unmatched, "sends and receives have no other side in the trace"),
        (messages.uncertain, "messages are left out, since it is not sure what they belong to"),
    )
    return [f"{count:,} {words}" for count, words in counted if count]
