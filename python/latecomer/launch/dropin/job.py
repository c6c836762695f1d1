"""One run of an MPI program, with or without the drop-in library."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import preload, processes

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
    observe: bool = False
    verbose: bool = False
    wisdom: Path | None = None
    messages: bool = True  # in the trace, if there is one

    def variables(self) -> dict[str, str]:
        """Its environment variables."""
        named = {
            "LATECOMER_ALGORITHM": self.algorithm,
            "LATECOMER_REPRODUCIBLE": "1" if self.reproducible else None,
            "LATECOMER_PROGRESS": self.progress,
            "LATECOMER_MIN_BYTES": self.min_bytes,
            "LATECOMER_STATS": str(self.report.resolve()) if self.report else None,
            "LATECOMER_RULES": str(self.rules.resolve()) if self.rules else None,
            "LATECOMER_TRACE": str(self.trace.resolve()) if self.trace else None,
            "LATECOMER_WISDOM": str(self.wisdom.absolute()) if self.wisdom else None,
            "LATECOMER": "observe" if self.observe else None,
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
    with tempfile.TemporaryDirectory(prefix="latecomer-run-") as folder:
        summary = Path(folder) / "summary.json"
        words, variables = list(command), dict(os.environ)
        if not off:
            named = wishes.variables() | {"LATECOMER_SUMMARY": str(summary)}
            if quiet:
                named.setdefault("LATECOMER_STATS", "0")
            library = preload.library(messages=_traces_messages(wishes, named))
            words = preload.preloading(command, library, named)
            variables |= named
        begin = time.monotonic()
        code = processes.run(words, env=variables, deadline=deadline, quiet=quiet)
        seconds = time.monotonic() - begin
        told = _read(summary)
    if told is None or not told.get("active"):
        return Ended(code, seconds, None, told is not None, str((told or {}).get("why", "")))
    return Ended(code, seconds, told if "ranks" in told else None, True)


def preload_variables(wishes: Wishes) -> dict[str, str]:
    """What the ranks' environment needs where this command cannot start the launcher."""
    named = wishes.variables()
    if not wishes.observe:
        named.setdefault("LATECOMER_STATS", "1")
    preloaded = preload.preloaded(messages=_traces_messages(wishes, named))
    return {preload.VARIABLE: preloaded, **named}


def _traces_messages(wishes: Wishes, variables: Mapping[str, str]) -> bool:
    return wishes.messages and bool(variables.get("LATECOMER_TRACE"))


def _read(file: Path) -> Mapping[str, Any] | None:
    try:
        found = json.loads(file.read_text())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
