"""Goes through all cases of a sweep, within its time."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from ...base.errors import DeadlineError
from ...base.output import progress_bar, say
from ..results import statistics
from .case import Case
from .engines import Engine
from .memory import check_memory
from .sweep import Sweep

_AGAIN_S = 1  # where Python had to ignore the exception, as while it deletes an object


@dataclass(frozen=True)
class Outcome:
    """Rows of the cases that were completed; `trouble` says why others are missing."""

    rows: list[statistics.Row]
    completed: int
    asked: int
    trouble: str | None = None
    code: int = 0


def simulate_all(
    sweep: Sweep, engine: Engine, memory: float, deadline: float | None = None
) -> Outcome:
    """The rows of all cases, or of those before the deadline (seconds) or an interruption.

    Raises UserError if a case needs more than `memory`, in bytes.
    """
    shapes = [(ranks, count) for ranks in sweep.ranks for count in sweep.counts]
    rows: list[statistics.Row] = []
    completed = 0
    try:
        with time_limit(deadline):
            check_memory(sweep, memory)
            for found in _rows(sweep, engine, shapes):
                rows += found
                completed += 1
    except KeyboardInterrupt:
        return Outcome(rows, completed, len(shapes), "interrupted", 130)
    except DeadlineError as error:
        return Outcome(rows, completed, len(shapes), f"{error.what} {error.value}", 1)
    return Outcome(rows, completed, len(shapes))


def _rows(
    sweep: Sweep, engine: Engine, shapes: Sequence[tuple[int, int]]
) -> Iterator[list[statistics.Row]]:
    """Rows of one case after the other."""
    cases = [Case(sweep, ranks, count, engine) for ranks, count in shapes]
    total = sum(case.simulations for case in cases)
    if len(cases) > 1:
        say(f"{len(cases)} cases of ranks and size, {total} simulations")
    with progress_bar() as bar:
        task = bar.add_task("simulating", total=total)
        for case in cases:
            bar.update(task, description=f"{case.ranks} ranks, {sweep.bytes(case.count)} bytes")
            yield case.rows(lambda: bar.advance(task))


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raises DeadlineError in here when the time is over, also in the midst of the core's work."""

    def end(_number: int, _frame: object) -> None:
        what = "stopped by --deadline after"
        raise DeadlineError(what, f"{seconds:g} s", "ask for less, or allow more time")

    if seconds is None:
        yield
        return
    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
