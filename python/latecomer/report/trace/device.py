"""Collectives of devices, which are kernels: those of NCCL, RCCL, oneCCL and others.

What a kernel is, is first what its event says of itself; then what the program's call says that
launched it; then its name. A kernel of which none of them tells is left out and counted.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence

import numpy as np

from .calls import Call
from .dtypes import collective_of, in_kernel, is_message
from .events import Asked, Events, Facts, Kernel, in_order
from .left_out import LeftOut
from .model import UNKNOWN

_WIDE = {"allgather", "allgatherv"}  # collectives whose whole vector is the output
_NESTED = 16  # events of one call of the program within each other
_RECORD = "record_param_comms"  # PyTorch's event with a call's facts

UNKNOWN_KERNELS = "kernels that communicate, of which nothing says the collective"
MESSAGES = "messages between two ranks"
NO_KERNELS = "collectives that the program called, in files without a device's kernels"


def calls(events: Events, members: Mapping[str, tuple[int, ...]], left: LeftOut) -> list[Call]:
    """The collectives, in the order of time. `members`: of groups, as the file lists them."""
    if not events.kernels:
        _say_what_was_called(events, left)
        return []
    asked = _Asked(events)
    starts, busy = _busy(events)
    # A trace of collectives alone does not tell whether the device had other work.
    told = len(events.work[0]) > len(events.kernels) or len(events.launches.start) > 0
    found = []
    for kernel in in_order(events.kernels, lambda each: each.stream):
        facts, sequence, name, algorithm = _known(kernel, asked.behind(kernel))
        if not name:
            what = MESSAGES if is_message(facts.name) else UNKNOWN_KERNELS
            left.add(what, events.path, facts.name if what == MESSAGES else kernel.name)
            continue
        # Work that began at the same instant is no reason to be late.
        before = int(np.searchsorted(starts, kernel.start, side="left")) - 1
        idle = max(0.0, kernel.start - busy[before]) if before >= 0 else 0.0
        group = facts.group or "all"
        found.append(Call(
            group=group,
            members=facts.members or members.get(group, ()),
            sequence=sequence,
            collective=name,
            bytes=_bytes(name, facts, len(facts.members or members.get(group, ()))),
            arrival=1e-6 * kernel.start,
            exit=1e-6 * (kernel.start + kernel.length),
            launch=1e-6 * idle if told else math.nan,
            element_bytes=facts.width,
            site=facts.site,
            algorithm=algorithm[:64],
        ))  # fmt: skip
    return found


def _say_what_was_called(events: Events, left: LeftOut) -> None:
    """Of a file without kernels; where the host carried out the collectives, none are missing."""
    named = [each for each in events.asked if collective_of(_word(each))]
    outer = [each for each in named if _kind(each) == max(map(_kind, named))]
    if outer and not events.on_host:
        left.add(NO_KERNELS, events.path, outer[0].name, len(outer))


def _kind(asked: Asked) -> int:
    """Calls of one collective lie within each other: of this kind, the lowest says most."""
    if asked.name.startswith(_RECORD):
        return 0
    return 2 if "::" in asked.name else 1  # as in nccl:all_reduce


def _word(asked: Asked) -> str:
    """The collective's name, as in nccl:all_to_all and c10d::alltoall_base_."""
    return "" if asked.name.startswith(_RECORD) else asked.name.rpartition(":")[2]


def _busy(events: Events) -> tuple[np.ndarray, np.ndarray]:
    """Starts of a device's work, sorted, and until when it was busy with all up to each."""
    starts, ends = (
        np.frombuffer(each, np.float64) if each else np.zeros(0) for each in events.work
    )
    order = np.argsort(starts, kind="stable")
    return starts[order], np.maximum.accumulate(ends[order]) if len(order) else ends


def _known(kernel: Kernel, asked: Sequence[Asked]) -> tuple[Facts, int, str, str]:
    """Facts, sequence number, collective and algorithm; "" for a collective that is not known."""
    facts, sequence = kernel.facts, kernel.sequence
    words = [facts.name]
    for each in asked:
        its = [each.facts.name, _word(each)]
        if any(
            collective_of(word) not in ("", collective_of(words[0])) for word in its if words[0]
        ):
            continue  # another call of the program
        words += its
        facts = facts.but(each.facts)
        sequence = each.sequence if sequence == UNKNOWN else sequence
    by_name, algorithm = in_kernel(kernel.name)
    for word in words:
        if name := collective_of(word):
            return facts, sequence, name, algorithm
        if is_message(word):
            return Facts(name=word), sequence, "", ""
    return facts, sequence, by_name, algorithm


def _bytes(collective: str, facts: Facts, members: int) -> int:
    count = facts.sent
    if collective in _WIDE:
        count = facts.received
        if count == UNKNOWN and facts.sent != UNKNOWN and members:
            count = facts.sent * members
    return UNKNOWN if UNKNOWN in {count, facts.width} else count * facts.width


class _Asked:
    """The program's calls, by what leads from a kernel to them."""

    def __init__(self, events: Events) -> None:
        self.by_external: dict[str, Asked] = {}
        self.by_thread: dict[str, list[Asked]] = {}
        for each in sorted(events.asked, key=lambda each: (each.start, -each.length)):
            self.by_thread.setdefault(each.thread, []).append(each)
            if each.external:
                self.by_external[each.external] = each
        self.starts = {thread: [each.start for each in own]
                       for thread, own in self.by_thread.items()}  # fmt: skip
        launches = events.launches
        self.threads = list(launches.threads)
        self.launches = {}
        wanted = {kernel.correlation for kernel in events.kernels if kernel.correlation}
        for number, start, thread in zip(launches.correlation, launches.start, launches.thread,
                                         strict=True):  # fmt: skip
            if number in wanted:
                self.launches[number] = (start, self.threads[thread])

    def behind(self, kernel: Kernel) -> list[Asked]:
        """The program's calls that launched the kernel, those first that say most."""
        launched = self.launches.get(kernel.correlation)
        if launched is not None and (found := self._around(*launched)):
            return found
        # Old traces give kernels their own number for that of the program's call.
        named = self.by_external.get(kernel.external)
        own = kernel.external == str(kernel.correlation) and not kernel.facts.name
        if named is None or own or kernel.start < named.start:
            return []
        return self._around(named.start, named.thread, named.start + named.length)

    def _around(self, when: float, thread: str, until: float | None = None) -> list[Asked]:
        """What a thread did at a time, or began until another; what says most comes first."""
        own, starts = self.by_thread.get(thread, []), self.starts.get(thread, [])
        last = bisect_right(starts, when if until is None else until)
        first = max(0, min(bisect_right(starts, when), last) - _NESTED)
        found = [each for each in own[first : min(last, first + 2 * _NESTED)]
                 if each.start + each.length >= when]  # fmt: skip
        found.reverse()  # the innermost first
        return sorted(found, key=_kind)
