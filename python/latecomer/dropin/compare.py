"""The same program with and without the drop-in library, in turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from .job import Ended, Wishes, run_once


@dataclass(frozen=True)
class Comparison:
    """Run times in seconds.

    Each turn is a run without the library, one with it, and another without: the difference of the
    two without it is the control, which shows the noise.
    """

    without: list[float]
    with_it: list[float]
    control: list[float]
    last: Ended  # the last run with the library

    @property
    def gain(self) -> float:
        """The median over the turns of the time saved, as a part of the time without."""
        return median(self._parts(self.with_it))

    @property
    def spread(self) -> tuple[float, float]:
        """The smallest and the largest such part."""
        parts = self._parts(self.with_it)
        return min(parts), max(parts)

    @property
    def control_gain(self) -> float:
        """The same for the control: 0 but for noise."""
        return median(self._parts(self.control))

    @property
    def control_spread(self) -> tuple[float, float]:
        """The smallest and the largest part of the control."""
        parts = self._parts(self.control)
        return min(parts), max(parts)

    def _parts(self, others: Sequence[float]) -> list[float]:
        return [1 - other / base for base, other in zip(self.without, others, strict=True)]


def compare(
    command: Sequence[str],
    wishes: Wishes,
    *,
    turns: int,
    deadline: float | None,
    progress: Callable[[str], None],
) -> Comparison | Ended:
    """Run the turns. A run ends the comparison, and is returned, if it fails, or if the library
    was not active in it though it should be: then there is nothing to compare.

    The order within a turn changes, so that a machine that becomes faster or slower hits all alike.
    """
    times: dict[str, list[float]] = {"without": [], "with": [], "control": []}
    last = Ended(0, 0.0)
    for turn in range(turns):
        order = ["without", "with", "control"]
        for kind in order if turn % 2 == 0 else reversed(order):
            progress(f"turn {turn + 1} of {turns}: {'with' if kind == 'with' else 'without'}")
            quiet = turn > 0 or kind != "without"
            ended = run_once(command, wishes, off=kind != "with", deadline=deadline, quiet=quiet)
            if ended.code != 0 or (kind == "with" and ended.summary is None):
                return ended
            times[kind].append(ended.seconds)
            last = ended if kind == "with" else last
    return Comparison(times["without"], times["with"], times["control"], last)
