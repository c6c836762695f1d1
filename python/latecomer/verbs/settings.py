"""The options of `latecomer run`: refused before a job starts, not noticed after it ran.

The library in the ranks does not end a program for a setting that it cannot read: it says so and
goes on without. Here somebody waits who can correct it, so here it is an error.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ..base.spelling import listed
from ..command.declare import UsageError, bad_value

if TYPE_CHECKING:
    from ..launch.dropin import Wishes

_MODES = ("on", "observe", "off")  # of LATECOMER
_WORDS = {"progress": ("none", "thread"), "wait": ("auto", "poll", "sleep")}


def check_values(wishes: Wishes) -> None:
    """Check what the library will read. Raises UsageError and ValueError."""
    from ..core import registry
    from ..core.compiled import core

    mode = wishes.variables().get("LATECOMER", "")
    if mode and mode not in _MODES:
        raise bad_value("LATECOMER", f"'{mode}'; give {listed(mode, _MODES)}")
    if wishes.algorithm is not None:
        _as_value("--algorithm", registry.check_choices, wishes.algorithm)
    for option, words in _WORDS.items():
        if (word := getattr(wishes, option)) is not None and word not in words:
            raise bad_value(f"--{option}", f"'{word}'; give {' or '.join(words)}")
    if wishes.min_bytes is not None:
        core.parse_bytes("--min-bytes", wishes.min_bytes)
    if wishes.rules is not None:
        from ..lab.rules import read

        read(wishes.rules)
    if wishes.wisdom is not None and wishes.wisdom.exists():
        from ..base import regular_files

        try:
            content = regular_files.read(wishes.wisdom, 1 << 20).decode("latin-1")
        except OSError as error:
            raise bad_value("--wisdom", f"{wishes.wisdom}: {error.strerror}") from None
        core.check_wisdom(content, f"wisdom file {wishes.wisdom}")


def _as_value(option: str, check: Callable[[str], None], text: str) -> None:
    try:
        check(text)
    except ValueError as error:
        raise bad_value(option, str(error)) from None


def check_files(wishes: Wishes, page: Path | None) -> None:
    """Check that what the job is to write can be written. Raises UsageError and ValueError."""
    from ..base.whole_files import check_file, check_folder

    if wishes.report:
        check_file("--output", wishes.report)
    if page:
        check_file("--html", page)
    if wishes.wisdom:
        check_file("--wisdom", wishes.wisdom)
    if not (trace := wishes.trace):
        return
    if trace.exists() and not trace.is_dir():
        raise bad_value("--trace", f"{trace} is a file; name a folder")
    check_folder("--trace", trace if trace.exists() else trace.absolute().parent, trace)


@contextmanager
def claimed(trace: Path | None) -> Iterator[None]:
    """Make the folder of a trace this job's own: of two that would write into it at once, the
    second would read the first one's calls as its own. Raises UsageError.
    """
    if trace is None:
        yield
        return
    from ..report.trace.about import NAME
    from ..report.trace.native import is_folder_of_trace

    made = not trace.exists()
    trace.mkdir(mode=0o700, exist_ok=True)
    claim = trace / NAME
    try:
        os.close(os.open(claim, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        raise UsageError(
            f"--trace: another job traces into {trace}, or did; name another folder, as in "
            f"--trace {fresh_folder(str(trace))}"
        ) from None
    try:
        yield
    finally:
        if not is_folder_of_trace(trace):
            claim.unlink(missing_ok=True)
            if made:
                with suppress(OSError):  # the program may have written something
                    trace.rmdir()


def fresh_folder(like: str = "traces") -> str:
    """The name of a folder that is not there, for a command that makes it."""
    names = itertools.chain([like], (f"{like}-{number}" for number in itertools.count(2)))
    return next(name for name in names if not Path(name).exists())
