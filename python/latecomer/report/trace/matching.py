"""Calls that each rank recorded for itself, matched over the ranks, on one clock.

Readers of other programs' traces make `Call`s; this makes the groups of a `Trace` of them. A group
is known by its name and its members: names alone are given twice. A call is matched by its group
and its sequence number there; those without numbers are counted (`counting.py`). Calls that
contradict those of other ranks are left out, and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...base.units import seconds
from . import align
from .calls import ALIKE, Call, Recorded, with_members
from .contradictions import (
    CONTRADICTING,
    FEW,
    SAME_CLOCK,
    contradicting,
    gaps,
    leave_out,
    of_one_clock,
)
from .counting import counted
from .left_out import LeftOut
from .messages import Seconds
from .model import (
    UNKNOWN,
    Group,
    Trace,
    TraceError,
    Words,
    check_size,
    earliest,
    ranks_said,
    text_of,
)

_Key = tuple[str, tuple[int, ...]]  # a group's name and its members, sorted
_Calls = dict[int, list[Call]]  # by rank
_Numbered = dict[int, dict[tuple[int, int], Call]]  # ... and by sequence number


def joined(
    source: str,
    form: str,
    ranks: int,
    recorded: Sequence[Recorded],
    left: LeftOut,
    more: Callable[[Words, Seconds, np.ndarray], Mapping[str, Any]] | None = None,
) -> Trace:
    """The trace. Raises TraceError where no call is known on two ranks.

    `more` makes further fields of it: messages, without which there must be calls; it is given the
    error of each rank's clock, too.
    """
    by_rank = {each.rank: each for each in recorded}
    remarks = []
    if missing := [rank for rank in range(ranks) if rank not in by_rank]:
        remarks.append(f"no file of {ranks_said(missing)}, of {ranks} ranks")
    words = Words()
    clocks = {rank: each.host for rank, each in by_rank.items() if each.host}
    by_group = _by_group(by_rank, ranks, left)
    names = Counter(name for name, _ in by_group)
    groups = []
    for (name, members), calls in by_group.items():
        several = names[name] > 1 and members
        shown = with_members(name, members) if several else name
        if group := _group(shown, members, calls, words, clocks, left):
            groups.append(group)
    if not groups and more is None:
        told = f"{sum(len(each.calls) for each in recorded)} calls of {len(recorded)} ranks"
        raise TraceError(f"{source}: no collective that at least two ranks recorded",
                         f"{told} ({left.said()})" if left.said() else told,
                         "profile the same steps on all ranks")  # fmt: skip
    hosts = [by_rank[rank].host if rank in by_rank else "?" for rank in range(ranks)]
    # Ranks of one host read one clock, unless the calls contradict that.
    known = {host: at for at, host in enumerate(dict.fromkeys(hosts)) if host not in {"", "?"}}
    own = [known.get(host, len(hosts) + rank) for rank, host in enumerate(hosts)]
    begin, end, error = (np.full(ranks, np.nan) for _ in range(3))
    for rank, each in by_rank.items():
        begin[rank], end[rank] = each.begin, each.end
    others = None if more is None else (begin, end)
    offsets, said = offsets_of(groups, words, own, by_rank, remarks, left, others)
    groups = [align.apply(group, offsets) for group in groups]
    for rank in by_rank:
        begin[rank], end[rank] = offsets[rank].apply(np.array([begin[rank], end[rank]]))
        error[rank] = offsets[rank].error

    def seconds(rank: int, times: np.ndarray) -> np.ndarray:
        return offsets[rank].apply(times) - start

    start = earliest(begin, *(group.times()[0] for group in groups))
    start = start if np.isfinite(start) else 0.0
    groups = [replace(group, arrival=arrival - start, exit=leave - start)
              for group in groups for arrival, leave in [group.times()]]  # fmt: skip
    return Trace(
        source=text_of(source, 4096),
        format=form,
        words=words,
        hosts=[host or "?" for host in hosts],
        groups=groups,
        begin=begin - start,
        end=end - start,
        clock=said,
        clock_error=error,
        of_device=any(each.of_device for each in recorded),
        **{} if more is None else more(words, seconds, error),
        remarks=[*remarks, *left.remarks()],
    )


# ---- groups


def _by_group(by_rank: Mapping[int, Recorded], ranks: int, left: LeftOut) -> dict[_Key, _Calls]:
    """The calls of each group, in the order in which the lowest ranks met the groups."""
    known: dict[str, set[tuple[int, ...]]] = {}
    for rank, each in by_rank.items():
        for group, members in _distinct(each.calls):
            if members and max(members) < ranks and rank in members:
                known.setdefault(group, set()).add(members)
    found: dict[_Key, _Calls] = {}
    for rank, each in sorted(by_rank.items()):
        into: dict[tuple[str, int], list[Call] | None] = {}
        for group, members in _distinct(each.calls):
            right = _members(members, rank, known.get(group, set()))
            into[group, id(members)] = None if right is None else (
                found.setdefault((group, right), {}).setdefault(rank, []))  # fmt: skip
        for call in each.calls:
            own = into[call.group, id(call.members)]
            if own is None:
                left.add("calls in groups of which it is not known that the rank is in them",
                         each.source, f"group {call.group!r} of rank {rank}")  # fmt: skip
            else:
                own.append(call)
    return found


def _distinct(calls: Sequence[Call]) -> list[_Key]:
    """The groups of the calls, in their order; those of equal members may come several times."""
    seen = {(call.group, id(call.members)): call for call in calls}
    return [(call.group, call.members) for call in seen.values()]


def _members(
    said: tuple[int, ...], rank: int, known: set[tuple[int, ...]]
) -> tuple[int, ...] | None:
    """As a call says, else as any call of a group of that name with the rank in it does.

    (): nothing is said of the group; None: the rank is in none, or in several.
    """
    if said in known and rank in said:
        return said
    fit = [each for each in known if rank in each]
    return fit[0] if len(fit) == 1 else None if known or said else ()


def _group(
    name: str,
    members: tuple[int, ...],
    calls: _Calls,
    words: Words,
    clocks: Mapping[int, object],
    left: LeftOut,
) -> Group | None:
    """The calls of one group; None, with a remark, where they tell nothing."""
    calls = {rank: _following(name, rank, own, left) for rank, own in calls.items()}
    whole = sum(map(len, calls.values()))
    if len(calls) < 2:
        if len(members) != 1:
            left.add("calls of groups that one rank alone recorded", f"group {name!r}",
                     f"rank {min(calls)}", whole)  # fmt: skip
        return None
    numbered = _numbered(name, calls, clocks, left)
    if len(numbered) < 2:
        left.add("calls of groups whose ranks' calls do not fit each other", f"group {name!r}",
                 count=whole)  # fmt: skip
        return None
    try:
        group = _filled(name, members or tuple(sorted(calls)), numbered, words)
    except TraceError as error:
        left.add("calls of groups that are too large", error, count=whole)
        return None
    if not np.isfinite(group.arrival).any():
        left.add("calls of groups without any known time", f"group {name!r}", count=whole)
        return None
    return group


def _following(name: str, rank: int, own: list[Call], left: LeftOut) -> list[Call]:
    """A rank's calls without the few that cannot have come between the others."""
    arrival, leave = (np.array([getattr(call, time) for call in own], float)
                      for time in ("arrival", "exit"))  # fmt: skip
    odd = set(contradicting(arrival, leave).tolist())
    if odd:
        first = own[min(odd)]
        left.add(CONTRADICTING, f"group {name!r}, rank {rank}",
                 f"from {first.arrival:.6g} to {first.exit:.6g} s", len(odd))  # fmt: skip
    return [call for place, call in enumerate(own) if place not in odd]


# ---- matching


def _numbered(name: str, calls: _Calls, clocks: Mapping[int, object], left: LeftOut) -> _Numbered:
    """Each rank's calls by sequence number; a number may come several times, as in one batch."""
    most = all(2 * sum(call.sequence == UNKNOWN for call in own) < len(own)
              for own in calls.values())  # fmt: skip
    if not most:
        return _agreeing(name, counted(name, calls, clocks, left), left)
    found: _Numbered = {}
    for rank, own in calls.items():
        found[rank], seen, last = {}, Counter[int](), None
        for call in own:
            if call.sequence == UNKNOWN:
                left.add("calls without a sequence number, among others that have one",
                         f"group {name!r}", f"rank {rank}")  # fmt: skip
                continue
            if last is not None and (last.sequence, last.kind) == (call.sequence, call.kind):
                # Several kernels of one call, such as the broadcasts of an uneven all-gather.
                last = replace(last, exit=call.exit, bytes=max(last.bytes, call.bytes))
            else:
                last, seen[call.sequence] = call, seen[call.sequence] + 1
            found[rank][call.sequence, seen[call.sequence] - 1] = last
    _say_who_is_alone(name, found, left)
    return _agreeing(name, found, left)


def _say_who_is_alone(name: str, found: _Numbered, left: LeftOut) -> None:
    """Ranks of whose calls no other rank has the numbers, such as of another run."""
    owners = Counter(key for own in found.values() for key in own)
    for rank, own in found.items():
        if own and all(owners[key] == 1 for key in own):
            where = f"group {name!r}, rank {rank}, calls {min(own)[0]} to {max(own)[0]}"
            left.doubt("numbers of a rank's calls, which no other rank has", where)


def _agreeing(name: str, found: _Numbered, left: LeftOut) -> _Numbered:
    """Without the numbers that are another collective on another rank; {}: most of them are."""
    kinds: dict[tuple[int, int], set[str]] = {}
    for own in found.values():
        for key, call in own.items():
            kinds.setdefault(key, set()).add(call.kind)
    odd = {key for key, said in kinds.items() if len(said) > 1}
    if 2 * len(odd) > len(kinds):
        return {}
    if odd:
        kind = " and ".join(sorted(kinds[min(odd)]))
        left.add("calls that are another collective on another rank", f"group {name!r}",
                 f"call {min(odd)[0]} is {kind}", len(odd))  # fmt: skip
        return {rank: {key: call for key, call in own.items() if key not in odd}
                for rank, own in found.items()}  # fmt: skip
    return found


def _filled(name: str, members: Sequence[int], numbered: _Numbered, words: Words) -> Group:
    keys = sorted({key for own in numbered.values() for key in own})
    row = {key: at for at, key in enumerate(keys)}
    column = {rank: at for at, rank in enumerate(members)}
    shape = (len(keys), len(members))
    check_size(name, *shape, sum(map(len, numbered.values())))
    arrival, leave, launch = (np.full(shape, np.nan) for _ in range(3))
    one: list[Call | None] = [None] * len(keys)
    uneven: dict[int, str] = {}
    size = np.full(len(keys), UNKNOWN, np.int64)
    for rank in sorted(numbered):
        for key, call in numbered[rank].items():
            at = row[key]
            arrival[at, column[rank]] = call.arrival
            leave[at, column[rank]] = call.exit
            launch[at, column[rank]] = call.launch
            one[at] = one[at] or call
            if call.collective in ALIKE:
                uneven[at] = call.collective
            size[at] = max(size[at], call.bytes)
    some = [call for call in one if call is not None]
    repeated = any(again for _, again in keys)
    numbers = range(len(keys)) if repeated else [number for number, _ in keys]
    return Group(
        name=name,
        members=np.array(members, np.int32),
        sequence=np.array(numbers, np.int64),
        collective=np.array([words.place(uneven.get(at, call.collective))
                             for at, call in enumerate(some)], np.int32),
        bytes=size,
        element_bytes=np.array([call.element_bytes for call in some], np.int32),
        operator=np.array([words.place(call.operator) for call in some], np.int32),
        root=np.array([call.root if call.root < len(members) else UNKNOWN for call in some],
                      np.int32),
        site=np.array([words.place(call.site) for call in some], np.int32),
        algorithm=np.array([words.place(call.algorithm) for call in some], np.int32),
        served=np.full(len(keys), UNKNOWN, np.int8),
        arrival=arrival,
        exit=leave,
        launch=launch,
    )  # fmt: skip


# ---- clocks


def offsets_of(
    groups: Sequence[Group],
    words: Words,
    clocks: Sequence[int],
    present: Collection[int],
    remarks: list[str],
    left: LeftOut,
    others: tuple[np.ndarray, np.ndarray] | None = None,
) -> tuple[list[align.Offset], str]:
    """What to add to each rank's times, and how that was found, for people.

    Ranks of equal `clocks` read the same one, unless the calls contradict that; `present` are the
    ranks that recorded something. `others`: as for align.spans_of.
    """
    if contradicted := _contradicted(groups, words, clocks, left):
        early, late = contradicted
        remarks.append(f"the clocks of ranks {early} and {late} contradict the calls, although "
                       "their hosts have one name, or their files are of two runs: each rank's "
                       "clock was aligned")  # fmt: skip
        clocks = list(range(len(clocks)))
    if len({clocks[rank] for rank in present}) == 1:
        return [align.constant(0.0) for _ in clocks], "all ranks read the clock of one host"
    spans = align.spans_of(groups, clocks, others)
    offsets = align.align(groups, words, clocks, {}, spans=spans)
    unbound = [rank for rank in present if not np.isfinite(offsets[rank].error)]
    if unbound:
        remarks.append(f"no call tells the clock of {ranks_said(unbound)}")
    worst = max((offsets[r].error for r in present if r not in unbound), default=0.0)
    said = "the collectives themselves told the offsets of the clocks, within "
    return offsets, f"{said}{seconds(worst)}"


def _contradicted(
    groups: Sequence[Group], words: Words, clocks: Sequence[int], left: LeftOut
) -> tuple[int, int] | None:
    """Two ranks of one clock, of which one left a call before the other had entered it.

    Where that is so in few calls, they are at fault and not the clock: they are left out.
    """
    for group, own, wait in of_one_clock(groups, words, clocks):
        came, leaving = group.arrival[:, own], group.exit[:, own]
        whole = wait & np.isfinite(came).all(axis=1) & np.isfinite(leaving).all(axis=1)
        gap = gaps(came, leaving, whole)
        if (gap > SAME_CLOCK).sum() > FEW * whole.sum():
            at = int(gap.argmax())
            late, early = int(came[at].argmax()), int(leaving[at].argmin())
            return int(group.members[own[early]]), int(group.members[own[late]])
        leave_out(group, own, whole, left)
    return None
