"""Goes through all cases of a sweep, within its time and memory; the result."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ...base import memory
from ...base.errors import DeadlineError
from ...base.output import progress_bar, say
from ..options.choices import BenchError
from ..results import statistics
from ..views import result, table
from .case import Case
from .engines import Engine
from .sweep import Sweep

_BYTES_PER_OPERATION = 170  # measured: 152
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
    sweep: Sweep, engine: Engine, available: float, deadline: float | None = None
) -> Outcome:
    """The rows of all cases, or of those before the deadline (seconds) or an interruption.

    Raises UserError if a case needs more memory than is available, in bytes.
    """
    shapes = [(ranks, count) for ranks in sweep.ranks for count in sweep.counts]
    rows: list[statistics.Row] = []
    completed = 0
    try:
        with time_limit(deadline):
            _check_memory(sweep, available)
            for found in _rows(sweep, engine, shapes):
                rows += found
                completed += 1
    except KeyboardInterrupt:
        return Outcome(rows, completed, len(shapes), "interrupted", 130)
    except DeadlineError as error:
        return Outcome(rows, completed, len(shapes), f"{error.what} {error.value}", 1)
    return Outcome(rows, completed, len(shapes))


def _check_memory(sweep: Sweep, limit: float) -> None:
    """Raises UserError, which says how much it needs, if the largest cases need more bytes."""
    ranks = sweep.ranks[-1]
    for name in sweep.algorithms:
        for count in sweep.counts:
            needed = about_bytes(sweep, sweep.program(name, ranks, count), ranks, count)
            what = f"{name} on {ranks} ranks, {sweep.bytes(count)} bytes"
            memory.check_memory(what, needed, limit)


def about_bytes(sweep: Sweep, program: str, ranks: int, count: int) -> int:
    """About how much memory one simulation takes."""
    operations = sweep.plan(program, ranks, count).about_operations()
    return memory.about_bytes(operations, ranks, _BYTES_PER_OPERATION)


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


def make_result(sweep: Sweep, engine: Engine, outcome: Outcome) -> result.Result:
    """The rows of a sweep. Raises BenchError if no case was completed."""
    if not outcome.rows:
        what = "no case was completed"
        raise BenchError(what, outcome.trouble or "no cases", "ask for less, or allow more time")
    sizes = [sweep.bytes(count) for count in sweep.counts]
    setting = statistics.setting_of(
        sweep, _span(sweep.ranks), _span(sizes), engine.network, engine.name
    )
    used = result.used(sweep, setting, outcome.trouble)
    more = {"count": _span(sweep.counts), "costs_from": sweep.costs_from}
    return result.Result(outcome.rows, used | more)


def _span(numbers: Sequence[int]) -> Any:
    return numbers[0] if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


def judge(outcome: Outcome) -> int:
    """Report a failure; return the exit code."""
    if outcome.trouble:
        first = f"these are the first {outcome.completed} of {outcome.asked} cases"
        say(f"{outcome.trouble}; {first}")
    return outcome.code or result.count_wrong(outcome.rows, table.case_title)
