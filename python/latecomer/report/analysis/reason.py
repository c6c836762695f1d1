"""Why ranks are late: they compute, others have their processor, or they wait outside of MPI."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...base.arrays import Floats
from ...base.units import seconds
from .blame import HALF
from .wording import LITTLE, SHARE, percent

PREEMPTED, BLOCKED, BUSY = KINDS = "preempted", "blocked", "busy"
_PART = 0.25  # of what late ranks take longer: less of one kind is worth no word
_SOME = 0.02  # of the time outside of MPI, likewise
_DID = {
    PREEMPTED: "{be} ready to run, while others had the processor,",
    BLOCKED: "slept, or waited for a disk, a device or another process,",
    BUSY: "ran",
}  # fmt: skip


@dataclass(frozen=True)
class Reason:
    """Why ranks are late, or all are slow."""

    # The kinds, and by how many seconds each was longer on late ranks, in their mean, than on other
    # ranks; the longest first.
    longer: Sequence[tuple[str, float]] = ()
    # Without those: the part of all ranks' time outside of MPI that they were preempted.
    preempted: float = 0.0

    @property
    def why(self) -> str:
        return self.longer[0][0] if self.longer else PREEMPTED

    def sentence(self, late: int) -> str:
        """`late`: how many ranks are."""
        if not self.longer:
            return (f"Ranks were ready to run, while others had the processor, for "
                    f"{percent(self.preempted)} of their time outside MPI.")  # fmt: skip
        be = "were" if late > 1 else "was"
        first, *rest = (f"{_DID[kind].format(be=be)} {seconds(time)} longer"
                        for kind, time in self.longer)  # fmt: skip
        mean = ", in the mean" if late > 1 else ""
        more = ": more work, or a slower processor" if [*dict(self.longer)] == [BUSY] else ""
        told = ", and ".join([f"{first} than other ranks{mean}", *rest])
        return f"{'They' if late > 1 else 'It'} {told}{more}."


def of_part(outside: Floats | None, part: Floats) -> Floats | None:
    """The same as `outside` of reason_of(), in a part of the run that the sample is of.

    `part`: by rank, the seconds outside of MPI in it. NaN where it is less than half of all.
    """
    if outside is None or not len(outside):
        return outside
    share = np.clip(part / np.where(outside[:, 0] > 0, outside[:, 0], np.nan), 0.0, 1.0)
    return outside * np.where(share >= HALF, share, np.nan)[:, None]


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
    """Compare their time outside of MPI with the median of the others.

    None where that is not why they are late.
    """
    others = np.delete(outside, list(late), axis=0)
    if not len(others):
        return None
    time, preempted, blocked = outside[list(late)].mean(axis=0) - np.median(others, axis=0)
    if time <= HALF * lateness:
        return None
    each = zip(KINDS, map(float, (preempted, blocked, time - preempted - blocked)), strict=True)
    longer = sorted((kind for kind in each if kind[1] >= _PART * time), key=lambda kind: -kind[1])
    return Reason(longer) if sum(kind[1] for kind in longer) >= HALF * time > 0 else None


def _of_all(outside: Floats, waiting: float | None) -> Reason | None:
    """Who is without a processor keeps the others waiting. `waiting`: None: that is no question."""
    time, preempted, blocked = map(float, outside.sum(axis=0))
    explains = waiting is not None and preempted * (len(outside) - 1) >= HALF * waiting
    some = preempted >= max(_SOME * time, blocked) and explains
    return Reason(preempted=preempted / time) if preempted >= SHARE * time or some else None
