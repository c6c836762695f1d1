"""Which ranks have not come to which call, and where they were last, by dumps of all ranks.

A rank that has not come may itself wait in a call of another group, which then is the one to look
at: each sentence says where the rank is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from .flight_dump import Dump, Entry
from .model import ranks_said

_MOST = 8  # sentences
_Key = tuple[str, tuple[int, ...]]  # a group's name and its members


def hanging(dumps: Mapping[int, Dump]) -> list[str]:
    """Sentences about the calls that are not complete; none if all are."""
    told: list[str] = []
    absent: list[int] = []
    for (name, members), of in _by_group(dumps).items():
        for sentence, ranks in _of_group(name, members, of, dumps):
            told.append(sentence)
            absent += [rank for rank in ranks if rank not in absent]
    told += [_last(rank, dumps[rank]) for rank in absent]
    more = len(told) - _MOST
    return told if more <= 0 else [*told[:_MOST], f"{more} sentences more about calls that are not "
                                   "complete"]  # fmt: skip


def _by_group(dumps: Mapping[int, Dump]) -> dict[_Key, dict[int, dict[int, Entry]]]:
    """The collectives of each group, by rank and number. Ranks of a group may have none."""
    found: dict[_Key, dict[int, dict[int, Entry]]] = {}
    for rank, dump in dumps.items():
        for name, members in dump.members.items():
            if rank in members:
                found.setdefault((name, members), {}).setdefault(rank, {})
        for entry in dump.entries:
            if not entry.message:
                key = entry.group, dump.members.get(entry.group, ())
                found.setdefault(key, {}).setdefault(rank, {})[entry.number] = entry
    return found


def _of_group(
    name: str,
    members: Sequence[int],
    of: Mapping[int, Mapping[int, Entry]],
    dumps: Mapping[int, Dump],
) -> Iterator[tuple[str, list[int]]]:
    """A sentence about the first call that is not complete, and the ranks that have not come."""
    pending = [number for own in of.values() for number, each in own.items() if not each.done]
    if not pending:
        return
    number = min(pending)
    came = {rank: own[number] for rank, own in sorted(of.items()) if number in own}
    absent = [rank for rank, own in sorted(of.items())
              if max(own, default=-1) < number and not dumps[rank].cut]  # fmt: skip
    about = next((dump.about[name] for dump in dumps.values() if dump.about.get(name)), "")
    group = f"group {name!r}" + (f" ({about})" if about else "")
    names = sorted({each.name for each in came.values()})
    said = f"call {number} of {group}, {' or '.join(names)}, is not complete"
    if len(names) > 1:
        each = (f"{kind} by {ranks_said([r for r, e in came.items() if e.name == kind])}"
                for kind in names)  # fmt: skip
        yield f"{said}: the ranks call different collectives, {', '.join(each)}", absent
    elif absent:
        be = "has" if len(absent) == 1 else "have"
        yield f"{said}: {_come(came)}, {ranks_said(absent)} {be} not", absent
    else:
        whole = len(came) == (len(members) or len(of))
        who = "all ranks have come" if whole else _come(came)
        begun = [rank for rank, each in came.items() if each.started]
        seen = f", and the device of {ranks_said(begun)} had begun" if begun else ""
        yield f"{said}: {who}{seen}", []


def _come(came: Mapping[int, Entry]) -> str:
    return f"{ranks_said(list(came))} {'has' if len(came) == 1 else 'have'} come"


def _last(rank: int, dump: Dump) -> str:
    """Where the rank was last: in the first call that is not complete, or after the last one."""
    pending = [each for each in dump.entries if not each.done]
    if not dump.entries:
        return f"rank {rank} has no call in its dump"
    entry = pending[0] if pending else dump.entries[-1]
    what = "message" if entry.message else "call"
    where = f"{what} {entry.number} of group {entry.group!r}, {entry.name}"
    at = f", at {entry.site}" if entry.site else ""
    return f"rank {rank} was last seen {'in' if pending else 'after'} {where}{at}"
