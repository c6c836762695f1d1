"""Which ranks have not come to which call, and where they were last, by dumps of all ranks.

A rank that has not come may itself wait in a call of another group, which then is the one to look
at: each sentence says where the rank is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from .flight_dump import Dump, Entry
from .model import Hang, ranks_said

_MOST = 8  # sentences
_Key = tuple[str, tuple[int, ...]]  # a group's name and its members


def hanging(dumps: Mapping[int, Dump]) -> tuple[list[str], Hang | None]:
    """Sentences about the calls that are not complete, and the one to begin with.

    That is one to which ranks have not come that wait in no other call, if there is one.
    """
    found: list[Hang] = []
    absent: list[int] = []
    for (name, members), of in _by_group(dumps).items():
        for each in _of_group(name, members, of, dumps):
            found.append(each)
            absent += [rank for rank in each.absent if rank not in absent]
    told = [each.said for each in found] + [f"rank {rank} {_last(dumps[rank])}" for rank in absent]
    more = len(told) - _MOST
    if more > 0:
        told[_MOST:] = [f"{more} sentences more about calls that are not complete"]
    return told, min(found, key=lambda each: _order(each, dumps), default=None)


def _order(hang: Hang, dumps: Mapping[int, Dump]) -> int:
    if not hang.absent:
        return 2
    return int(any(not each.done for rank in hang.absent for each in dumps[rank].entries))


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
) -> Iterator[Hang]:
    """The first call that is not complete."""
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
        yield Hang(f"{said}: the ranks call different collectives, {', '.join(each)}")
    elif absent:
        be = "has" if len(absent) == 1 else "have"
        yield Hang(
            f"{said}: {_come(came)}, {ranks_said(absent)} {be} not",
            absent,
            f"call {number} of {about or group}, {' or '.join(names)}",
            f"{ranks_said(list(came))} wait{'s' if len(came) == 1 else ''}",
            [_last(dumps[rank]) for rank in absent],
        )
    else:
        whole = len(came) == (len(members) or len(of))
        who = "all ranks have come" if whole else _come(came)
        begun = [rank for rank, each in came.items() if each.started]
        seen = f", and the device of {ranks_said(begun)} had begun" if begun else ""
        yield Hang(f"{said}: {who}{seen}")


def _come(came: Mapping[int, Entry]) -> str:
    return f"{ranks_said(list(came))} {'has' if len(came) == 1 else 'have'} come"


def _last(dump: Dump) -> str:
    """Where the rank was last: in the first call that is not complete, or after the last one."""
    pending = [each for each in dump.entries if not each.done]
    if not dump.entries:
        return "has no call in its dump"
    entry = pending[0] if pending else dump.entries[-1]
    what = "message" if entry.message else "call"
    where = f"{what} {entry.number} of group {entry.group!r}, {entry.name}"
    at = f", at {entry.site}" if entry.site else ""
    return f"was last seen {'in' if pending else 'after'} {where}{at}"
