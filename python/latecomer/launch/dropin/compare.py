"""The same program with and without the drop-in library, in turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from ...base.busy import busy
from .job import Ended, Wishes, run_once


@dataclass(frozen=True)
class Comparison:
    """Run times in seconds.

    Each turn is a run without the library, one with it, and another without: the control. Parts are
    of the median time without. How much the runs without the library differ is the noise.
    """

    without: list[float]
    with_it: list[float]
    control: list[float]
    last: Ended  # the last run with the library
    remarks: Sequence[str] = ()  # on the machine, when the runs began

    @property
    def gain(self) -> float:
        """The part of the time that is saved, of the medians."""
        return self._part(median(self.with_it))

    @property
    def spread(self) -> tuple[float, float]:
        """The same of the slowest and of the fastest run with the library."""
        return self._part(max(self.with_it)), self._part(min(self.with_it))

    @property
    def control_gain(self) -> float:
        """The same for the control: 0 but for noise."""
        return self._part(median(self.control))

    @property
    def control_spread(self) -> tuple[float, float]:
        """The same of the slowest and of the fastest run without the library, the control too."""
        every = self.without + self.control
        return self._part(max(every)), self._part(min(every))

    def verdict(self) -> str:
        """As in "faster by 15.5 % with latecomer"."""
        slowest, fastest = self.control_spread
        if abs(self.gain) <= fastest - slowest:
            every = self.without + self.control
            return ("no difference can be told: runs without latecomer differ by as much "
                    f"(control: {min(every):.3f} to {max(every):.3f} s)")  # fmt: skip
        way = "faster" if self.gain > 0 else "slower"
        return f"{way} by {100 * abs(self.gain):.1f} % with latecomer"

    def text(self) -> str:
        """The times, and the verdict."""
        turns = len(self.without)
        return "\n".join([
            f"without   {median(self.without):.3f} s (median of {turns} turns)",
            f"control   {median(self.control):.3f} s (without, once more)",
            f"with      {median(self.with_it):.3f} s",
            self.verdict(),
            *self.remarks,
        ])  # fmt: skip

    def _part(self, seconds: float) -> float:
        return 1 - seconds / median(self.without)


KINDS = ("without", "with", "control")


def folder_of(trace: Path, kind: str, turn: int) -> Path:
    """Of the trace of a run, in the folder of all; `turn` counts from 0."""
    return trace / f"{kind}-{turn + 1}"


def _own(wishes: Wishes, kind: str, turn: int) -> tuple[Wishes, bool]:
    """The wishes for a run, and whether it is one without the library."""
    if wishes.trace is None:
        return wishes, kind != "with"
    folder = folder_of(wishes.trace, kind, turn)
    if kind == "with":
        return replace(wishes, trace=folder), False
    return Wishes(trace=folder, observe=True, messages=wishes.messages), False


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

    With a folder for traces all runs are traced into folders of it; in those without latecomer the
    library only observes.

    The order within a turn changes, so that a machine that becomes faster or slower hits all alike.
    """
    remarks = busy()
    times: dict[str, list[float]] = {kind: [] for kind in KINDS}
    last = Ended(0, 0.0)
    for turn in range(turns):
        for kind in KINDS if turn % 2 == 0 else reversed(KINDS):
            progress(f"turn {turn + 1} of {turns}: {'with' if kind == 'with' else 'without'}")
            quiet = turn > 0 or kind != "without"
            own, off = _own(wishes, kind, turn)
            ended = run_once(command, own, off=off, deadline=deadline, quiet=quiet)
            if ended.code != 0 or (not off and ended.summary is None):
                return ended
            times[kind].append(ended.seconds)
            last = ended if kind == "with" else last
    return Comparison(times["without"], times["with"], times["control"], last, remarks)
