"""How and when this command was called: what it prints to be copied begins with its name."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import time
from pathlib import Path

NAME = "latecomer"
VARIABLE = "CALLED_AS"  # of the script in a clone, which starts Python; no variable of the library


def called() -> str:
    """As in `latecomer`, or `./latecomer` where that was typed."""
    return _called


def command_line() -> str:
    """The words of this command, to be repeated."""
    return shlex.join([NAME, *sys.argv[1:]])


def now() -> str:
    """The time of day, in UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def note() -> None:
    """Take the name from the script or from the command line; ranks do not see the variable."""
    global _called  # noqa: PLW0603 - of the process, as its command line
    word = os.environ.pop(VARIABLE, "") or sys.argv[0]
    if Path(word).name == NAME and not _same(word, shutil.which(NAME)):
        _called = word


def _same(word: str, found: str | None) -> bool:
    return found is not None and Path(found).resolve() == Path(word).resolve()


_called = NAME
