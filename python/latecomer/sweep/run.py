"""Goes through all cases of a question, within its time."""

from __future__ import annotations

import time
from dataclasses import dataclass

from .. import statistics
from ..errors import DeadlineError
from ..output import progress_bar, say
from .case import Case
from .engines import Engine, Poll
from .question import Question


@dataclass(frozen=True)
class Outcome:
    """Rows of the cases that were completed; `trouble` says why others are missing."""

    rows: list[statistics.Row]
    completed: int
    asked: int
    trouble: str | None = None
    code: int = 0


def simulate_all(question: Question, engine: Engine, deadline: float | None = None) -> Outcome:
    """The rows of all cases, or of those before the deadline (seconds) or an interruption."""
    shapes = [(ranks, count) for ranks in question.ranks for count in question.counts]
    cases = [Case(question, ranks, count, engine) for ranks, count in shapes]
    poll = _clock(deadline)
    rows: list[statistics.Row] = []
    total = sum(case.simulations for case in cases)
    if len(cases) > 1:
        say(f"{len(cases)} cases of ranks and size, {total} simulations")
    with progress_bar() as bar:
        task = bar.add_task("simulating", total=total)
        for number, case in enumerate(cases):
            bar.update(task, description=f"{case.ranks} ranks, {question.bytes(case.count)} bytes")
            try:
                rows += case.rows(poll, lambda: bar.advance(task))
            except KeyboardInterrupt:
                return Outcome(rows, number, len(cases), "interrupted", 130)
            except DeadlineError as error:
                return Outcome(rows, number, len(cases), f"{error.what} {error.value}", 1)
    return Outcome(rows, len(cases), len(cases))


def _clock(deadline: float | None) -> Poll:
    """Raises DeadlineError when the time is over."""
    end = time.monotonic() + deadline if deadline else None

    def poll() -> None:
        if end is not None and time.monotonic() > end:
            what = "stopped by --deadline after"
            raise DeadlineError(what, f"{deadline:g} s", "ask for less, or allow more time")

    return poll
