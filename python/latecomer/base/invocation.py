"""How and when this command was called: what it prints to be copied begins with its name."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

NAME = "latecomer"
# The script in a clone, which starts Python, sets this one, and a lab the other for its command: no
# variables of the library.
VARIABLE = "CALLED_AS"
WITHIN = "CALLED_WITHIN"


def called() -> str:
    """As in `latecomer`, or `./latecomer` where that was typed; quoted for a shell."""
    return shlex.quote(_called)


def within() -> str:
    """The command that this one is a part of, as in `latecomer lab run --nodes 4 --`; else ""."""
    return _within


def called_here() -> str:
    """The begin of a command that starts processes where this one does."""
    return f"{_within} {called()}".lstrip()


def outer(command: Sequence[str]) -> str:
    """The begin of this command line, before the command that it is to start."""
    words = shlex.join(sys.argv[1 : len(sys.argv) - len(command)]).removesuffix(" --")
    return f"{called_here()} {words} --"


def command_line() -> str:
    """The words of this command, to be repeated."""
    return f"{called_here()} {shlex.join(sys.argv[1:])}"


def now() -> str:
    """The time of day, in UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def note() -> None:
    """Take the name from the script or from the command line; ranks do not see the variables."""
    global _called, _within  # noqa: PLW0603 - of the process, as its command line
    _within = os.environ.pop(WITHIN, "")
    word = os.environ.pop(VARIABLE, "") or sys.argv[0]
    if Path(word).name == NAME and not _same(word, shutil.which(NAME)):
        _called = word


def _same(word: str, found: str | None) -> bool:
    return found is not None and Path(found).resolve() == Path(word).resolve()


_called = NAME
_within = ""
