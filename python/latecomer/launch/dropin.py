"""Runs MPI programs with the drop-in library, and compares them with themselves without it."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from ..base.busy import busy
from ..base.spelling import counted
from . import preload, processes

_OF_THE_COMMAND = ("LATECOMER_LAB", "LATECOMER_MPI", "LATECOMER_PROGRAMS")


@dataclass(frozen=True)
class Wishes:
    """The settings of the drop-in library that a user names; None: as the environment says."""

    algorithm: str | None = None
    reproducible: bool = False
    progress: str | None = None
    min_bytes: str | None = None
    report: Path | None = None
    rules: Path | None = None
    trace: Path | None = None
    observe: bool | None = None  # False: to carry out calls, whatever the environment says
    verbose: bool = False
    wisdom: Path | None = None
    messages: bool = True  # in the trace, or if there is none timed by an observed run
    wait: str | None = None

    def variables(self) -> dict[str, str]:
        named = {
            "LATECOMER_ALGORITHM": self.algorithm,
            "LATECOMER_REPRODUCIBLE": "1" if self.reproducible else None,
            "LATECOMER_PROGRESS": self.progress,
            "LATECOMER_WAIT": self.wait,
            "LATECOMER_MIN_BYTES": self.min_bytes,
            "LATECOMER_STATS": str(self.report.resolve()) if self.report else None,
            "LATECOMER_RULES": str(self.rules.resolve()) if self.rules else None,
            "LATECOMER_TRACE": str(self.trace.resolve()) if self.trace else None,
            "LATECOMER_WISDOM": str(self.wisdom.absolute()) if self.wisdom else None,
            "LATECOMER": None if self.observe is None else "observe" if self.observe else "on",
        }
        if self.verbose and not self.report:
            named["LATECOMER_STATS"] = "1"
        inherited = {
            name: value
            for name, value in os.environ.items()
            if (name == "LATECOMER" or name.startswith("LATECOMER_"))
            and name not in _OF_THE_COMMAND
        }
        return inherited | {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True)
class Ended:
    """The end of a run."""

    code: int
    seconds: float
    summary: Mapping[str, Any] | None = None  # as rank 0 wrote it; None: it did not
    begun: bool = False  # a rank began MPI with the library
    why: str = ""  # it was inactive, if that was told
    unlike: str = ""  # the ranks did something else than was asked
    trace: Path | None = None  # the folder that it was to trace into


def run_once(
    command: Sequence[str],
    wishes: Wishes,
    *,
    off: bool,
    deadline: float | None,
    quiet: bool = False,
) -> Ended:
    """Run `command`, which starts with a launcher. `quiet` drops the standard output.

    Raises LaunchError for a launcher that is not known.
    """
    with _folder() as folder:
        summary = Path(folder) / "summary.json"
        if off:  # a site's module or plug-in may preload the library
            named = {"LATECOMER": "off", "LATECOMER_SUMMARY": str(summary)}
            words = preload.with_variables(command, named)
        else:
            named = wishes.variables() | {"LATECOMER_SUMMARY": str(summary)}
            if quiet:
                named.setdefault("LATECOMER_STATS", "0")
            library = preload.library(messages=_has_messages(wishes, named))
            words = preload.preloading(command, library, named)
        begin = time.monotonic()
        code = processes.run(words, env=os.environ | named, deadline=deadline, quiet=quiet)
        seconds = time.monotonic() - begin
        told = _read(summary)
    if told is None or not told.get("active"):
        why = str((told or {}).get("why", ""))
        return Ended(code, seconds, None, told is not None, why, trace=wishes.trace)
    unlike = _unlike(told.get("observes"), wishes, off=off)
    job = told if "ranks" in told else None
    return Ended(code, seconds, job, True, unlike=unlike, trace=wishes.trace)


def _folder() -> tempfile.TemporaryDirectory[str]:
    """A folder for a run: here, where the ranks of all hosts see it, or else in /tmp."""
    prefix = ".latecomer-run-"
    try:
        here = Path.cwd()
        return tempfile.TemporaryDirectory(prefix=prefix, dir=here, ignore_cleanup_errors=True)
    except OSError:
        return tempfile.TemporaryDirectory(prefix=prefix)


def _unlike(observed: bool | None, wishes: Wishes, *, off: bool) -> str:
    """The difference between an active library and what was asked; empty if there is none.

    `observed`: None: it did not say, as in a job that was ended from outside.
    """
    if off:
        found = "the library was active in a run without it"
    elif wishes.observe and observed is False:
        found = "the library carried out collectives in a run that was to be observed"
    elif wishes.observe is False and observed:
        found = "the library only observed in a run with it"
    else:
        return ""
    return f"{found}: the option --latecomer of Slurm's job or step comes first; leave it out"


def preload_variables(wishes: Wishes) -> dict[str, str]:
    """The variables that the ranks need where this command cannot start the launcher."""
    named = wishes.variables()
    if not wishes.observe:
        named.setdefault("LATECOMER_STATS", "1")
    preloaded = preload.preloaded(messages=_has_messages(wishes, named))
    return {preload.VARIABLE: preloaded, **named}


def _has_messages(wishes: Wishes, variables: Mapping[str, str]) -> bool:
    """True if the ranks are to trace messages, or to time them."""
    observes = variables.get("LATECOMER") == "observe"
    return wishes.messages and (observes or bool(variables.get("LATECOMER_TRACE")))


def _read(file: Path) -> Mapping[str, Any] | None:
    try:
        found = json.loads(file.read_text())
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


LEAST_TURNS = 3  # that tell something


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
        """As in "faster by 15.5 % with latecomer".

        Equal programs differ by more than the noise shown in half of the comparisons by one turn,
        in 10 % of those by two, in 3 % by three, in 0.2 % by five.
        """
        if len(self.without) < LEAST_TURNS:
            return f"too few turns to tell; right would be --turns {LEAST_TURNS} or more"
        slowest, fastest = self.control_spread
        if abs(self.gain) <= fastest - slowest:
            every = self.without + self.control
            return ("no significant difference: runs without latecomer differ by as much "
                    f"(control: {min(every):.3f} to {max(every):.3f} s)")  # fmt: skip
        way = "faster" if self.gain > 0 else "slower"
        return f"{way} by {100 * abs(self.gain):.1f} % with latecomer"

    def text(self) -> str:
        turns = len(self.without)
        return "\n".join([
            f"without   {median(self.without):.3f} s (median of {counted(turns, 'turn')})",
            f"control   {median(self.control):.3f} s (without, once more)",
            f"with      {median(self.with_it):.3f} s",
            self.verdict(),
            *self.remarks,
        ])  # fmt: skip

    def _part(self, seconds: float) -> float:
        return 1 - seconds / median(self.without)


KINDS = ("without", "with", "control")


def folder_of(trace: Path, kind: str, turn: int) -> Path:
    """The folder of a run's trace, in the folder of all; `turn` counts from 0."""
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
    did not do in it what it should: then there is nothing to compare.

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
            if ended.code != 0 or ended.unlike or (not off and ended.summary is None):
                return ended
            times[kind].append(ended.seconds)
            last = ended if kind == "with" else last
    return Comparison(times["without"], times["with"], times["control"], last, remarks)
