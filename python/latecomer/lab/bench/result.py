"""The rows of a run of the benchmark, and its exit code."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Sequence

from ...base.busy import crowded
from ...base.output import say
from ...core.compiled import __version__
from ...launch.mpi import short_library
from ..options.arrivals import Iteration
from ..options.errors import BenchError
from ..results import statistics
from ..views import table
from ..views.result import Result
from .benchmark import Benchmark
from .job import INTERRUPTED, Outcome
from .places import LOCAL, Place


def make_result(
    benchmark: Benchmark, place: Place, job: Sequence[Iteration], outcome: Outcome
) -> Result:
    """The rows of a run. Raises BenchError, or KeyboardInterrupt, if it completed no iteration."""
    header = outcome.samples.header
    setting = statistics.Setting(
        collective=benchmark.collective,
        ranks=header.ranks,
        bytes=benchmark.bytes,
        op=benchmark.op,
        arrival=benchmark.arrival,
        estimate=benchmark.estimate,
        network=place.name,
        mpi=short_library(header.mpi),
        seed=benchmark.seed,
    )
    rows = statistics.summarise(
        outcome.samples, job, benchmark.delays or [None], setting, place.limit(benchmark)
    )
    if not rows and outcome.trouble == INTERRUPTED:
        raise KeyboardInterrupt
    if not rows:
        what = "no iteration was completed"
        raise BenchError(what, outcome.trouble or "no samples", "allow more time")
    return Result(rows, _used(benchmark, place, outcome, setting))


def _used(
    benchmark: Benchmark, place: Place, outcome: Outcome, setting: statistics.Setting
) -> dict[str, object]:
    header = outcome.samples.header
    remarks = list(outcome.remarks)
    if place.name == LOCAL:
        remarks += crowded(header.ranks, header.mpi)
    return {
        "version": __version__,
        **vars(setting),
        "mpi_library": header.mpi,
        "costs": place.costs or "default",
        "costs_from": place.costs_from,
        "count": benchmark.count,
        "type": benchmark.type,
        "late_rank": benchmark.pattern.late_rank,
        "imbalance": benchmark.imbalance,
        "delays_s": benchmark.delays,
        "iterations": benchmark.iterations,
        "warmup": benchmark.warmup,
        "compute_s": benchmark.compute,
        "edge": benchmark.edge,
        "progress": benchmark.progress,
        "clock": header.fields["clock"],
        "hosts": list(dict.fromkeys(header.fields.get("hosts", []))),
        "command": shlex.join(["latecomer", *sys.argv[1:]]),
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "complete": outcome.trouble or "yes",
        **({"remarks": remarks} if remarks else {}),
    }


def judge(outcome: Outcome, job: Sequence[Iteration], rows: Sequence[statistics.Row]) -> int:
    """Report a failure; return the exit code."""
    if outcome.trouble:
        complete = len({sample.iteration for sample in outcome.samples.complete()})
        say(f"{outcome.trouble}; these are the first {complete} of {len(job)} iterations")
    bad = [row for row in rows if row.wrong]
    for row in bad:
        say(f"error: {row.wrong} wrong elements: {row.label}, {table.delay_title(row)}")
    return outcome.code or (1 if bad else 0)
