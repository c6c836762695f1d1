"""Whether the rank that comes last can be told from earlier calls of the same place.

The library forecasts by what a call is and by its position in the program's loop, from the last
call, from each of several calls ago, and from a pattern that moves on. The same is asked here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FEW = 8  # calls: with fewer nothing is said
_AGO = 32  # calls, at most
_OFTEN = 8  # times that a pattern of several calls must have come


@dataclass(frozen=True)
class Repeats:
    """The best of the forecasts."""

    share: float  # of the calls, whose last rank it tells right
    chance: float  # the share that guessing tells right
    ago: int  # calls of the same place and position; 0: the last rank moves on by as many ranks

    @property
    def usable(self) -> bool:
        """True if it can be forecast who will be last."""
        return self.share > max(0.5, min(2 * self.chance, 0.9))

    def words(self) -> str:
        """How it is told, as the end of a sentence."""
        if self.ago == 0:
            return "which rank is last moves on by as many ranks each time"
        if self.ago == 1:
            return "the rank that was last is so again in the next such call"
        return f"the rank that was last is so again {self.ago} such calls later"


def repeats(last: NDArray[np.int32], ranks: int, in_loop: int = 1) -> Repeats | None:
    """The forecast that is right most often; None with too few calls.

    `last`: the last rank in each call of a place, which comes `in_loop` times in a loop; -1: none.
    """
    count = len(last)
    if count < max(_FEW, 3 * in_loop):
        return None
    chance = 1 / ranks
    best = Repeats(_again(last, in_loop), chance, 1)
    if best.usable:
        return best
    for ago in range(2, min(_AGO, count // _OFTEN) + 1):
        share = _again(last, ago)
        if share > best.share + 0.1:
            best = Repeats(share, chance, ago)
    moved = np.diff(last) % ranks
    known = (last[2:] >= 0) & (last[1:-1] >= 0) & (last[:-2] >= 0)
    share = float(((moved[1:] == moved[:-1]) & known).mean())
    if ranks > 2 and share > best.share + 0.1:
        best = Repeats(share, chance, 0)
    return best


def _again(last: NDArray[np.int32], ago: int) -> float:
    """The share of the calls whose last rank was last so many calls ago."""
    return float(((last[ago:] == last[:-ago]) & (last[ago:] >= 0)).mean())
