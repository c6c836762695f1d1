"""Collectives that threads of the host carry out, in a profiler's trace: Gloo's and MPI's.

The program's call is an event `c10d::...`. The collective itself is an event `gloo:...` of one of
the worker threads that each process group has, or `mpi:...`. Neither names its group: where a rank
has several, the threads tell, since those of a group were created together, in the order of the
groups.
"""

from __future__ import annotations

from collections.abc import Sequence

from .calls import Call
from .dtypes import collective_of, is_message
from .events import Asked, Events, OnHost, in_order
from .left_out import LeftOut
from .model import UNKNOWN

_THREADS = 2  # of a group
_LOOKED_AT = 64  # calls of the program, of which one may be that of a collective
_UNKNOWN = "collectives of the host that have no known name"
_MESSAGES = "messages between two ranks"
_GROUPS = ("collectives of the host whose group is not known, since their threads do not fit the "
           "groups")  # fmt: skip

Groups = Sequence[tuple[str, tuple[int, ...]]]  # name and members


def calls(events: Events, groups: Groups, left: LeftOut) -> list[Call]:
    """The collectives, in the order of time. `groups`: those that the rank is in, as it lists."""
    if not events.on_host:
        return []
    ran = in_order(events.on_host, lambda each: each.thread)
    group_of = _groups(ran, groups or [("all", ())])
    if group_of is None:
        left.add(_GROUPS, events.path, f"{len({each.thread for each in ran})} threads for "
                 f"{len(groups)} groups", len(ran))  # fmt: skip
        return []
    asked: dict[str, list[Asked]] = {}
    for one in sorted(events.asked, key=lambda one: -one.start):
        if "::" in one.name:  # the earliest one last
            asked.setdefault(collective_of(one.name.rpartition("::")[2]), []).append(one)
    found = []
    for each in ran:
        word = each.name.partition(":")[2]
        name = collective_of(word)
        group, members = group_of[each.thread]
        asked_at = _take(asked.get(name, []), each)
        if not name:
            left.add(_MESSAGES if is_message(word) else _UNKNOWN, events.path, each.name)
            continue
        count = each.elements
        if name == "allgather" and count != UNKNOWN:
            count *= max(len(members), 1)
        found.append(
            Call(
                group=group,
                members=members,
                sequence=UNKNOWN,
                collective=name,
                bytes=UNKNOWN if UNKNOWN in {count, each.width} else count * each.width,
                arrival=1e-6 * each.start,
                exit=1e-6 * (each.start + each.length),
                launch=1e-6 * (each.start - asked_at) if asked_at is not None else 0.0,
                element_bytes=each.width,
            )
        )
    return found


def _groups(
    ran: Sequence[OnHost], groups: Groups
) -> dict[int | str, tuple[str, tuple[int, ...]]] | None:
    """The group of each worker thread; None where the threads do not tell."""
    threads = sorted({each.thread for each in ran}, key=lambda tid: (str(type(tid)), tid))
    if len(groups) == 1:
        return dict.fromkeys(threads, groups[0])
    if any(not each.name.startswith("gloo:") for each in ran):
        return None  # MPI's groups share a thread
    if len(threads) == 1:
        return {threads[0]: groups[0]}
    runs: list[list[int | str]] = []
    for tid in threads:  # threads of one group have numbers near each other
        last = runs[-1][-1] if runs else None
        near = isinstance(tid, int) and isinstance(last, int) and tid - last <= _THREADS
        if near and len(runs[-1]) < _THREADS:
            runs[-1].append(tid)
        else:
            runs.append([tid])
    if len(runs) > len(groups):
        return None
    return {tid: groups[at] for at, run in enumerate(runs) for tid in run}


def _take(asked: list[Asked], ran: OnHost) -> float | None:
    """When the program asked for the call: the earliest event of its kind that is not taken."""
    for back in range(1, min(_LOOKED_AT, len(asked)) + 1):
        if not asked[-back].start <= ran.start:
            return None
        if asked[-back].shapes in {ran.elements, UNKNOWN}:
            return asked.pop(-back).start
    return None
