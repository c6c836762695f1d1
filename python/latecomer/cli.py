"""The `latecomer` command. Each verb is a file of verbs/ and is loaded when it is called."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Sequence

import latecomer

from .base import invocation, variables
from .base.errors import UserError
from .base.output import say
from .base.printable import HALVES
from .command.declare import Group, UsageError
from .command.parse import dispatch
from .verbs.commands import COMMANDS

_STREAMS = (0, 1, 2)
_OF_CORE = "incompatible function arguments"  # the core's functions take no such number


def run(words: Sequence[str], commands: Group = COMMANDS) -> int:
    """Run one command line and return its exit code: 0, 2 for a usage error, 1 otherwise."""
    try:
        code = _within_bounds([str(word) for word in words] or ["--help"], commands)
        sys.stdout.flush()
    except KeyboardInterrupt:
        say("interrupted")
        return 130
    except (UsageError, ValueError) as error:
        return _fail(str(error), 2)
    except (UserError, ImportError, RuntimeError) as error:
        return _fail(str(error), 1)
    except BrokenPipeError:  # the reader has seen enough, as in `| head`
        _print_no_more()
        return 0
    except OSError as error:
        _print_no_more()
        where = error.filename or "standard output"
        return _fail(f"cannot read or write {where}: {error.strerror or error}", 1)
    return code


def _within_bounds(words: Sequence[str], commands: Group) -> int:
    """Run, and name the command where no option's bound kept a number from being too much."""
    try:
        return _run(words, commands)
    except (MemoryError, OverflowError, TypeError) as error:
        if isinstance(error, TypeError) and _OF_CORE not in str(error):
            raise
        why = "a number is too large or too small for it; give another one"
        if any(word != word.translate(HALVES) for word in words):
            why = "a word is no text in UTF-8; give another one"
        if isinstance(error, MemoryError):
            why = "not enough memory; ask for less"
        raise RuntimeError(f"{shlex.join(words)}: {why}") from None


def _run(words: Sequence[str], commands: Group) -> int:
    first, *rest = words
    if first in ("--version", "-V") or words == ["version"]:
        print(f"latecomer {latecomer.__version__}")
        return 0
    if first == "help":  # as in help, help run, help lab run
        words = [*rest, "--help"]
    return dispatch(commands, invocation.called(), words)


def _print_no_more() -> None:
    """Drop the content of standard output's buffer, so that Python ends silently."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, code: int) -> int:
    say(f"error: {message}")
    return code


def _interrupt(number: int, _frame: object) -> None:
    raise KeyboardInterrupt(number)


def _open_closed() -> None:
    """Nothing stands for standard streams that are closed, as by `>&-`: else the next file that is
    opened would be one of them, and get what is printed.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= _STREAMS[-1]:
        os.set_inheritable(number, True)
    os.close(number)
    for number, name in zip(_STREAMS, ("stdin", "stdout", "stderr"), strict=True):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))


def main() -> None:
    """The command. A time limit or a closed connection ends it as Ctrl-C does: in order."""
    _open_closed()
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup wants it
            signal.signal(number, _interrupt)
    invocation.note()
    variables.forget_module()
    sys.exit(run(sys.argv[1:]))
