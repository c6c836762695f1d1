"""What a collective's time consists of, in traces that tell when the program asked for it.

For one rank in one call: `launch` is the time from the program's call, or from the end of the
device's last work, to the arrival; then it waits for the last rank; then it moves data. Of the
moving, as much as the fastest call of the same group, collective and size took is `transfer`; the
rest is `slower`. Of the waiting, `for_launch` is the part for which the last rank had nothing to do
but wait for its own host or thread: what its launch took longer than the shortest one.

A call is of the kind of its largest part if that is DOMINANT of all; else it is mixed. It is
inconclusive if the clocks' error, added up over the ranks, is more than UNCLEAR of its waiting and
moving.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base.arrays import Bools, Floats
from ...base.units import seconds, size
from ..trace.model import Group, Trace, rows_of
from ..trace.waits import synchronising, waiting
from .wording import group_name, percent

DOMINANT = 0.6
UNCLEAR = 0.5
FEW = 3  # calls of a class: with fewer nothing is called slower than the fastest
NAMES = ("launch", "waiting", "transfer", "slower")
_SAID = {
    "launch": "host or launch delay", "waiting": "waiting for late ranks",
    "transfer": "transfer", "slower": "slower than the fastest call of its size",
}  # fmt: skip


@dataclass
class Parts:
    """Sums over calls and ranks in seconds, and numbers of calls by kind."""

    group: str
    ranks: int
    collective: str
    bytes: int
    calls: int
    launch: float
    waiting: float
    for_launch: float  # a part of `waiting`
    transfer: float
    slower: float
    fastest: float  # seconds of moving in the fastest call, mean over its ranks
    kinds: dict[str, int]  # of NAMES, "mixed" and "inconclusive"

    @property
    def total(self) -> float:
        return self.launch + self.waiting + self.transfer + self.slower


def split(trace: Trace) -> list[Parts]:
    """One entry for each group, collective and size; the longest first. Empty: nothing known."""
    found = [parts for group in trace.groups if group.launch is not None
             for parts in _of_group(trace, group, group.launch)]  # fmt: skip
    return sorted(found, key=lambda parts: -parts.total)


def together(found: Sequence[Parts]) -> Parts | None:
    """The sum of all; None without any."""
    if not found:
        return None
    kinds = {kind: sum(each.kinds[kind] for each in found) for kind in found[0].kinds}
    names = ("calls", "launch", "waiting", "for_launch", "transfer", "slower")
    sums: dict[str, Any] = {name: sum(getattr(each, name) for each in found) for name in names}
    return Parts("", 0, "", -1, fastest=0.0, kinds=kinds, **sums)


def _of_group(trace: Trace, group: Group, launch: Floats) -> Iterator[Parts]:
    whole = group.whole()
    classes = np.stack([group.collective, group.bytes], axis=1)[whole]
    arrival, leave = group.arrival[whole], np.maximum(group.exit[whole], group.arrival[whole])
    launched = np.nan_to_num(launch[whole], nan=0.0)
    by_all = synchronising(trace, group, whole, arrival, leave)
    error = float(np.max(np.nan_to_num(trace.clock_error[group.members], nan=0.0), initial=0.0))
    kinds, which = np.unique(classes, axis=0, return_inverse=True)
    for number, own in rows_of(which.reshape(-1)):
        words, count = trace.words[int(kinds[number, 0])], int(kinds[number, 1])
        times = _split(arrival[own], leave[own], launched[own], by_all[own])
        yield Parts(
            group=group.name,
            ranks=group.size,
            collective=words,
            bytes=count,
            calls=len(own),
            **{name: float(times[name].sum()) for name in (*NAMES, "for_launch")},
            fastest=float(times["fastest"]),
            kinds=_kinds(times, error * group.size),
        )


def _split(arrival: Floats, leave: Floats, launch: Floats, by_all: Bools) -> dict[str, Any]:
    """Sums over the ranks of each call; arrays of shape (calls,)."""
    wait = waiting(arrival, leave, by_all)
    moving = (leave - arrival - wait).mean(axis=1)
    ranks = arrival.shape[1]
    fastest = moving.min() if len(moving) >= FEW else moving.max()
    latest = np.take_along_axis(launch, arrival.argmax(axis=1)[:, None], axis=1)
    excess = np.maximum(latest - launch.min(axis=1, keepdims=True), 0.0)
    return {
        "launch": launch.sum(axis=1),
        "waiting": wait.sum(axis=1),
        "for_launch": np.minimum(wait, excess).sum(axis=1),
        "transfer": ranks * np.minimum(moving, fastest),
        "slower": ranks * np.maximum(moving - fastest, 0.0),
        "fastest": fastest,
    }


def _kinds(times: dict[str, Any], error: float) -> dict[str, int]:
    """Numbers of calls; `error` of the clocks, over all ranks."""
    parts = np.stack([times[name] for name in NAMES])
    total = np.maximum(parts.sum(axis=0), 1e-300)
    largest = parts.argmax(axis=0)
    clear = parts.max(axis=0) >= DOMINANT * total
    unclear = error > UNCLEAR * parts[1:].sum(axis=0)
    of_kind = [clear & ~unclear & (largest == at) for at in range(len(NAMES))]
    counts = {name: int(own.sum()) for name, own in zip(NAMES, of_kind, strict=True)}
    return counts | {"mixed": int((~clear & ~unclear).sum()), "inconclusive": int(unclear.sum())}


# ---- for people


def lines(found: Sequence[Parts]) -> list[str]:
    """The parts of all calls, as sentences."""
    whole = together(found)
    if whole is None or not whole.total:
        return []
    # Some traces do not tell the launch.
    shown = ["waiting", "transfer", "slower", *(["launch"] if whole.launch else [])]
    told = ", ".join(f"{percent(getattr(whole, name) / whole.total)} {_SAID[name]}"
                     for name in shown)  # fmt: skip
    text = [f"Time of the collectives: {told}."]
    if whole.for_launch > 0.1 * whole.waiting:
        share = percent(whole.for_launch / whole.waiting)
        text.append(f"{share} of the waiting is for ranks whose own host or thread began late.")
    kinds = [f"{whole.kinds[name]} mostly {_SAID[name]}" for name in NAMES if whole.kinds[name]]
    kinds += [f"{whole.kinds[name]} {name}" for name in ("mixed", "inconclusive")
              if whole.kinds[name]]  # fmt: skip
    text.append(f"Of {whole.calls} calls: {', '.join(kinds)}.")
    return text


HEAD = ("collective", "bytes", "calls", "waiting", "transfer", "fastest", "slower",
        "host or launch", "mostly")  # fmt: skip


def row(parts: Parts) -> list[str]:
    """The cells of a table, below HEAD; times are means of a rank in a call."""
    share = 1 / max(parts.calls * parts.ranks, 1)
    mostly = max(parts.kinds, key=lambda kind: parts.kinds[kind])
    return [
        f"{parts.collective} on {group_name(parts.group, parts.ranks)}",
        size(parts.bytes) if parts.bytes >= 0 else "?",
        str(parts.calls),
        *(seconds(share * getattr(parts, name)) for name in ("waiting", "transfer")),
        seconds(parts.fastest),
        seconds(share * parts.slower),
        seconds(share * parts.launch) if parts.launch else "-",
        f"{_SAID.get(mostly, mostly)} ({parts.kinds[mostly]})",
    ]


DEFINITIONS = (
    ("host or launch delay", "From the program's call, or the end of the device's last work, until "
     "a thread or the device began with the collective. The device had nothing else to do."),
    ("transfer, slower", "Moving data as long as in the fastest call of the same group, collective "
     f"and size, and the rest. With fewer than {FEW} such calls all counts as transfer."),
    ("mixed, inconclusive", f"No part is {percent(DOMINANT)} of a call's time; the error of the "
     f"clocks, summed over the ranks, is more than {percent(UNCLEAR)} of waiting and moving."),
)  # fmt: skip
