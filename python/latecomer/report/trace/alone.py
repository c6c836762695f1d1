"""Work in a process of its own, for libraries that may end their process or never come back."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TypeVar

from .model import TraceError

_Result = TypeVar("_Result")


class EndedError(TraceError):
    """The process ended, or did not go on."""


def alone(file: Path, work: Callable[[Callable[[], None]], _Result], still: float) -> _Result:
    """What `work` returns. It calls its argument now and then, to say that it goes on.

    Raises its TraceError, or EndedError, which names the file, if the process ends, or does not go
    on for `still` seconds.
    """
    fork = get_context("fork")
    here, there = fork.Pipe(duplex=False)
    process = fork.Process(target=_carry_out, args=(work, there), daemon=True)
    process.start()
    there.close()
    try:
        while here.poll(still):
            found = here.recv()
            if isinstance(found, TraceError):
                raise found
            if found is not None:
                result: _Result = found[0]
                return result
        why = f"no step in {still:g} s"
    except EOFError:
        process.join()
        code = process.exitcode or 0
        why = f"its process ended by signal {-code}" if code < 0 else f"exit code {code}"
    finally:
        process.kill()
        process.join()
        here.close()
    raise EndedError(
        f"{file}: its library did not come to an end", why, "right would be a whole file"
    )


def _carry_out(work: Callable[[Callable[[], None]], object], there: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever waits for this process ends it
    # An error tells what is wrong; the library's own lines would come before it.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        there.send((work(lambda: there.send(None)),))
    except TraceError as error:
        there.send(error)
    except BrokenPipeError:
        os._exit(1)
