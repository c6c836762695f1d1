"""The result of simulations: rows, and the settings that they were made with."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Sequence

from ...base.output import say
from ...core.compiled import __version__
from ..options.errors import BenchError
from ..views import table
from ..views.result import Result
from .engines import Engine
from .run import Outcome
from .sweep import Sweep


def make_result(sweep: Sweep, engine: Engine, outcome: Outcome) -> Result:
    """The rows of a sweep. Raises BenchError if no case was completed."""
    if not outcome.rows:
        what = "no case was completed"
        raise BenchError(what, outcome.trouble or "no cases", "ask for less, or allow more time")
    return Result(outcome.rows, _used(sweep, engine, outcome))


def _used(sweep: Sweep, engine: Engine, outcome: Outcome) -> dict[str, object]:
    return {
        "version": __version__,
        "collective": sweep.collective,
        "ranks": _span(sweep.ranks),
        "bytes": _span([sweep.bytes(count) for count in sweep.counts]),
        "op": sweep.op,
        "arrival": sweep.pattern.name,
        "estimate": sweep.estimate,
        "progress": sweep.progress,
        "network": engine.network,
        "costs_from": sweep.costs_from,
        "mpi": engine.name,
        "seed": sweep.seed,
        "count": _span(sweep.counts),
        "type": sweep.type,
        "late_rank": sweep.pattern.late_rank,
        "delays_s": sweep.delays,
        "iterations": sweep.iterations,
        "command": shlex.join(["latecomer", *sys.argv[1:]]),
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "complete": outcome.trouble or "yes",
    }


def _span(numbers: Sequence[int]) -> object:
    return numbers[0] if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


def judge(outcome: Outcome) -> int:
    """Report a failure; return the exit code."""
    if outcome.trouble:
        first = f"these are the first {outcome.completed} of {outcome.asked} cases"
        say(f"{outcome.trouble}; {first}")
    bad = [row for row in outcome.rows if row.wrong]
    for row in bad:
        say(f"error: {row.wrong} wrong elements: {row.label}, {table.case_title(row)}")
    return outcome.code or (1 if bad else 0)
