"""What is known of a traced run beside its calls: when, which program, by which command.

`latecomer run --trace FOLDER` notes the command in FOLDER/run.json; a trace without that file has
less to tell. The file is not trusted, as no file of a trace is.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...base import regular_files
from ...base.invocation import within
from .model import text_of

NAME = "run.json"
_MOST_BYTES = 1 << 20
_WRAPPERS = frozenset({"env", "numactl", "taskset", "nice", "time", "perf"})


@dataclass(frozen=True)
class About:
    """Empty, 0 or None: not known."""

    command: tuple[str, ...] = ()
    within: str = ""  # the command that this one was a part of, as typed, such as a lab's
    program: Path | None = None  # that the ranks executed, ...
    bytes: int = 0  # ... its size, ...
    changed: int = 0  # ... and when it was changed: nanoseconds since 1970
    mpi: str = ""  # the MPI library, as in "Open MPI 4.1.4"
    started: float = 0.0  # seconds since 1970
    ended: float = 0.0  # the same, by the calendar of the launcher's host
    code: int | None = None  # with which the launcher ended by itself

    @property
    def command_line(self) -> str:
        return shlex.join(self.command)


def note(
    folder: Path,
    command: Sequence[str],
    words: Sequence[str],
    mpi: str = "",
    *,
    ended: float = 0.0,
    code: int | None = None,
) -> None:
    """Write down how the trace in `folder` was made. Does nothing if that cannot be written.

    `words`: those of the command that are behind the launcher's options; `ended`: when the job
    did, in seconds since 1970; `code`: None: it was interrupted.
    """
    program = program_of(words)
    value: dict[str, Any] = {
        "command": list(command),
        "within": within(),
        "mpi": mpi,
        "ended": ended,
        "code": code,
    }
    try:
        if program:
            found = program.stat()
            value |= {"program": str(program), "bytes": found.st_size,
                      "changed_ns": found.st_mtime_ns}  # fmt: skip
        file = folder / NAME
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
            json.dump(value, out, indent=1)
    except (OSError, UnicodeError):
        return


def program_of(words: Sequence[str]) -> Path | None:
    """The first executable behind a launcher's options that is a binary; None: none is."""
    for word in words:
        found = None if word.startswith("-") or word in _WRAPPERS else shutil.which(word)
        if found and _is_elf(Path(found)):
            return Path(found).resolve()
    return None


def _is_elf(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def about(folder: Path, started: float = 0.0) -> About:
    """What is noted in the folder; what is wrong there is not used."""
    value = _read(folder / NAME)
    command = value.get("command")
    words = (
        command if isinstance(command, list) and all(isinstance(w, str) for w in command) else []
    )
    program, mpi, inside = value.get("program"), value.get("mpi"), value.get("within")
    if not isinstance(program, str) or "\0" in program or not Path(program).is_absolute():
        program = None
    return About(
        command=tuple(text_of(word, _MOST_BYTES) for word in words),
        within=text_of(inside, _MOST_BYTES) if isinstance(inside, str) else "",
        program=Path(program) if program else None,
        bytes=_whole(value.get("bytes")),
        changed=_whole(value.get("changed_ns")),
        mpi=text_of(mpi, 100) if isinstance(mpi, str) else "",
        started=started,
        ended=_time(value.get("ended")),
        code=_code(value.get("code")),
    )


def _read(file: Path) -> Mapping[str, Any]:
    try:
        if not file.is_file() or file.stat().st_size > _MOST_BYTES:
            return {}
        value = json.loads(regular_files.read(file, _MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _whole(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value < 1 << 63 else 0


def _time(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) and 0 <= value < 1 << 40 else 0.0


def _code(value: object) -> int | None:
    return value if isinstance(value, int) and 0 <= value < 256 else None
