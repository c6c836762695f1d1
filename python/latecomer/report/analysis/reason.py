"""Why ranks are late: they compute, others have their processor, or they wait outside of MPI."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...base.arrays import Floats
from .blame import HALF
from .wording import LITTLE, SHARE, percent

BUSY, PREEMPTED, BLOCKED = "busy", "preempted", "blocked"
_SOME = 0.02  # of the time outside of MPI: less time off the processor is worth no word


@dataclass(frozen=True)
class Reason:
    """Why, of some ranks or of all."""

    why: str  # BUSY, PREEMPTED or BLOCKED
    part: float  # of their time outside of MPI that they spent so
    others: float | None = None  # the median of that of the other ranks; None: not of interest
    of_all: bool = False  # it is that of all ranks, and no late one's

    def sentence(self, late: int) -> str:
        """Of so many late ranks."""
        who = "Ranks were" if self.of_all else "They were" if late > 1 else "It was"
        whose = "its" if who == "It was" else "their"
        of_time = f"{percent(self.part)} of {whose} time outside MPI"
        beside = "" if self.others is None else f", other ranks for {percent(self.others)}"
        if self.why == PREEMPTED:
            return f"{who} ready to run, while others had the processor, for {of_time}{beside}."
        if self.why == BLOCKED:
            return (f"{who} asleep, or waiting for a disk, a device or another process, for "
                    f"{of_time}{beside}.")  # fmt: skip
        return f"{who} running for {of_time}: more work, or a slower processor."


def reason_of(
    late: Sequence[int], outside: Floats | None, waiting: float, run: float, lateness: float = 0.0
) -> Reason | None:
    """Why these ranks are late; else why all are slow. None: it is not known.

    `outside`: by rank, the seconds outside of MPI, and of these the seconds preempted and blocked;
    shape (ranks, 3), NaN where they are not known. `waiting`, `run`: seconds, of all ranks;
    `lateness`: of the late ones, so many in all.
    """
    if outside is None or not outside.size or not (outside[:, 0] > 0).all():
        return None
    matters = waiting >= LITTLE * run
    found = _of_late(late, outside, lateness) if late and matters else None
    return found or _of_all(outside, waiting if matters and not late else None)


def _of_late(late: Sequence[int], outside: Floats, lateness: float) -> Reason | None:
    """The most of what they take longer outside of MPI than the median of the others.

    None where that is not why they are late.
    """
    others = np.delete(outside, list(late), axis=0)
    mine = outside[list(late)].mean(axis=0)
    if not len(others):
        return None
    time, preempted, blocked = mine - np.median(others, axis=0)
    running = time - preempted - blocked
    if time <= HALF * lateness or max(preempted, blocked, running) < HALF * time:
        return None

    def of(column: int) -> Reason:
        why = (PREEMPTED, BLOCKED)[column - 1]
        return Reason(why, float(mine[column] / mine[0]),
                      float(np.median(others[:, column] / others[:, 0])))  # fmt: skip

    if running >= HALF * time:
        return Reason(BUSY, float(1 - (mine[1] + mine[2]) / mine[0]))
    return of(1) if preempted >= HALF * time else of(2)


def _of_all(outside: Floats, waiting: float | None) -> Reason | None:
    """Who is without a processor keeps the others waiting. `waiting`: None: that is no question."""
    preempted = float(outside[:, 1].sum())
    part = preempted / float(outside[:, 0].sum())
    explains = waiting is not None and preempted * (len(outside) - 1) >= HALF * waiting
    matters = part >= SHARE or (part >= _SOME and explains)
    return Reason(PREEMPTED, part, of_all=True) if matters else None
