"""What comes out of simulations: rows with what was used to get them."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Sequence

from ..base.output import say
from ..core.compiled import __version__
from ..options.errors import BenchError
from ..report import table
from ..report.result import Result
from .engines import Engine
from .question import Question
from .run import Outcome


def make_result(question: Question, engine: Engine, outcome: Outcome) -> Result:
    """The rows of a sweep. Raises BenchError if no case was completed."""
    if not outcome.rows:
        what = "no case was completed"
        raise BenchError(what, outcome.trouble or "no cases", "ask for less, or allow more time")
    return Result(outcome.rows, _used(question, engine, outcome))


def _used(question: Question, engine: Engine, outcome: Outcome) -> dict[str, object]:
    return {
        "version": __version__,
        "collective": question.collective,
        "ranks": _span(question.ranks),
        "bytes": _span([question.bytes(count) for count in question.counts]),
        "op": question.op,
        "arrival": question.pattern.name,
        "estimate": question.estimate,
        "progress": question.progress,
        "network": engine.network,
        "costs_from": question.costs_from,
        "mpi": engine.name,
        "seed": question.seed,
        "count": _span(question.counts),
        "type": question.type,
        "late_rank": question.pattern.late_rank,
        "delays_s": question.delays,
        "iterations": question.iterations,
        "command": shlex.join(["latecomer", *sys.argv[1:]]),
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "complete": outcome.trouble or "yes",
    }


def _span(numbers: Sequence[int]) -> object:
    return numbers[0] if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


def judge(outcome: Outcome) -> int:
    """Say what went wrong; the exit code."""
    if outcome.trouble:
        first = f"these are the first {outcome.completed} of {outcome.asked} cases"
        say(f"{outcome.trouble}; {first}")
    bad = [row for row in outcome.rows if row.wrong]
    for row in bad:
        say(f"error: {row.wrong} wrong elements: {row.label}, {table.case_title(row)}")
    return outcome.code or (1 if bad else 0)
