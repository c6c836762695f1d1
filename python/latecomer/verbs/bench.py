"""`latecomer bench`: the papers' mini-benchmark, with ranks that arrive when it is told to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ..base.limits import MOST_ITERATIONS
from ..lab.options import choices
from .options import ClockSkew, Compute, Question, Result, Where, option


@dataclass(frozen=True, kw_only=True)
class Options(Result, Where, Question):
    """The options of bench."""

    algorithms: Annotated[str, option("--algorithms", "LIST", "Or all.")] = "all"
    bytes: Annotated[str | None, option("--bytes", "SIZE", "The default is 1MiB.")] = None
    count: Annotated[str | None, option("--count", "N", "")] = None
    imbalance: Annotated[str, option(
        "--uneven", "|".join(choices.IMBALANCES), "Choose what the delays make uneven. phase: a "
        "late rank computes so much longer before the call. data: its image holds more pixels "
        "(with --op over, which skips clear ones). operator: it combines more slowly.",
        old=("--imbalance",)
    )] = "phase"  # fmt: skip
    progress: Annotated[str, option(
        "--progress", "|".join(choices.PROGRESS), "Move data during computation with a progress "
        "thread, with none, or as LATECOMER_PROGRESS says."
    )] = "as-configured"  # fmt: skip
    compute: Compute = "100ms"
    edge: Annotated[float, option(
        "--edge", "PART", "Report progress to the library after this part of the computation, with "
        "--estimate online.", min=0, max=1
    )] = 0.5  # fmt: skip
    iterations: Annotated[int, option("--iterations", "N", "", min=1, max=MOST_ITERATIONS)] = 32
    warmup: Annotated[int, option(
        "--warmup", "N", "Run so many iterations first without recording them; auto makes 9 more "
        "calls, to learn.", min=0, max=MOST_ITERATIONS
    )] = 4  # fmt: skip
    keep: Annotated[Path | None, option(
        "--samples", "FILE", "Keep the arrival and exit time of every call in this file."
    )] = None  # fmt: skip
    clock_skew: ClockSkew = None


def bench(asked: Options) -> int:
    """Measure algorithms when ranks arrive together, and when some are late.

    Every algorithm gets the same arrival times, and algorithms take turns iteration by iteration.
    Times are in ms. The column elapsed holds the time of a rank in the collective: the mean over
    ranks, and the median over iterations. The column after last holds the time from the last
    arrival to the last exit. The column limit holds its lower bound for any algorithm.

    The exit code is 1 if a result was wrong or the run did not end well. An interrupted run still
    prints the iterations that are complete.

    Example: latecomer bench --algorithms native,ring,prereduced_ring --delay 0,5ms,50ms
    """
    from ..lab.bench.benchmark import Benchmark
    from ..lab.bench.job import judge, make_result, measure, take_part
    from ..lab.options import choose

    asked.quiet()
    common = choose.question(asked)
    benchmark = Benchmark(
        **common,
        algorithms=choose.choose_algorithms(asked.collective, asked.algorithms, common["op"]),
        count=choose.choose_count(asked.bytes, asked.count, asked.type, common["op"]),
        imbalance=asked.imbalance,
        warmup=asked.warmup,
        compute=choose.read_seconds("--compute", asked.compute),
        edge=asked.edge,
    )
    shown, files = asked.forms(asked.keep)
    place = asked.find(clock_skew=asked.clock_skew)
    benchmark = benchmark.on(place.ranks)
    if place.rank:
        return take_part(benchmark, place, asked.deadline)
    job = benchmark.job(place.ranks)
    outcome = measure(benchmark, place, job, asked.deadline, asked.keep)
    result = make_result(benchmark, place, job, outcome)
    result.hand_over(shown, files)
    return judge(outcome, job, result.rows)
