"""`latecomer bench`: the papers' mini-benchmark, with ranks that arrive when it is told to."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import mpi
from ..bench import choices
from ..bench.choices import one_of
from .options import (
    Arrival,
    ClockSkew,
    Collective,
    Delay,
    Estimate,
    Format,
    FormatJson,
    LateRank,
    Op,
    Output,
    Plot,
    Report,
    Root,
    Seed,
    Type,
    option,
)

if TYPE_CHECKING:
    from ..bench.places import Place
    from ..bench.question import Question

Algorithms = Annotated[
    str,
    option(
        "--algorithms", "LIST", "all, or names with parameters: native,ring,linear_tree:segments=8."
    ),
]
Bytes = Annotated[
    str | None, option("--bytes", "SIZE", "Of the whole vector, as in 4MiB; default 1MiB.")
]
Count = Annotated[str | None, option("--count", "N", "Numbers in the vector, as in 1Mi.")]
Imbalance = Annotated[
    str,
    option("--imbalance", "|".join(choices.IMBALANCES), "What the delays do: a rank computes so "
           "much longer before the call; it has a fuller image, in proportion (with --op over, "
           "which skips clear pixels); combining a whole vector takes so much longer on it."),
]  # fmt: skip
Progress_ = Annotated[
    str,
    option("--progress", "|".join(choices.PROGRESS), "Who moves data while a rank computes: a "
           "progress thread, nobody, or what LATECOMER_PROGRESS says."),
]  # fmt: skip
Compute = Annotated[str, option("--compute", "TIME", "Emulated computation before each call.")]
Edge = Annotated[
    float,
    option(
        "--edge",
        "PART",
        "Of the computation before its edge, which the library is told of with --estimate online.",
        min=0,
        max=1,
    ),
]
Iterations = Annotated[int, option("--iterations", "N", "At each delay.", min=1)]
Warmup = Annotated[
    int,
    option("--warmup", "N", "Iterations before, not recorded; auto has 9 more, to learn.", min=0),
]
Keep = Annotated[Path | None, option("--samples", "FILE", "Keep all arrivals and exits here.")]
Nodes = Annotated[
    int | None, option("--nodes", "N", "Hosts; default: 8 in the lab, 4 local.", min=1)
]
Rate = Annotated[
    str | None, option("--rate", "R", "Of the lab's links, as in 100mbit; default: 200mbit.")
]
PerNode = Annotated[int, option("--per-node", "K", "Ranks on each host.", min=1)]
Network = Annotated[
    str | None,
    option("--network", "|".join(choices.NETWORKS), "The emulated cluster, this machine as it is, "
           "or the MPI job that this command is started in; default: lab where it works, else "
           "local."),
]  # fmt: skip
Mpi = Annotated[str | None, option("--mpi", "|".join(mpi.FAMILIES), "Which MPI library.")]
Deadline = Annotated[
    float | None,
    option("--deadline", "S", "Kill everything after so many seconds; default: 5 times the time "
           "expected, 600 at least.", min=0.1),
]  # fmt: skip


def bench(
    collective: Collective = "allreduce",
    algorithms: Algorithms = "all",
    size: Bytes = None,
    count: Count = None,
    type_: Type = "float32",
    op: Op = None,
    root: Root = None,
    arrival: Arrival = "onelate",
    delay: Delay = None,
    late_rank: LateRank = None,
    imbalance: Imbalance = "phase",
    progress: Progress_ = "declared",
    compute: Compute = "100ms",
    edge: Edge = 0.5,
    estimate: Estimate = "perfect",
    iterations: Iterations = 32,
    warmup: Warmup = 4,
    seed: Seed = 1,
    format_: Format = "table",
    output: Output = None,
    plot: Plot = None,
    report: Report = None,
    keep: Keep = None,
    nodes: Nodes = None,
    rate: Rate = None,
    per_node: PerNode = 1,
    network: Network = None,
    clock_skew: ClockSkew = None,
    mpi_family: Mpi = None,
    deadline: Deadline = None,
    as_json: FormatJson = False,
) -> None:
    """Measure algorithms when ranks arrive together, and when some are late.

    Every algorithm sees the same arrivals, interleaved iteration by iteration. Times are in ms.
    elapsed is a rank's time in the collective, mean over ranks, median over iterations; after last
    is from the last arrival to the last exit; limit is what no algorithm can beat there.

    Exits with 1 if a result was wrong or the run did not end well. An interrupted run still
    prints the iterations that were completed.

    Example: latecomer bench --algorithms native,ring,prereduced_ring --delay 0,5ms,50ms
    """
    from ..bench import places, question, result
    from ..compiled import core

    if network == "inherit" and places.rank_of_job():
        be_quiet()
    op = question.choose_operator(collective, op)
    asked = question.Question(
        collective=collective,
        root=question.choose_root(collective, root),
        algorithms=question.choose_algorithms(collective, algorithms, op),
        count=question.choose_count(
            size, count, one_of("--type", type_, list(choices.TYPE_BYTES)), op
        ),
        type=type_,
        op=op,
        pattern=(pattern := question.choose_pattern(arrival, late_rank)),
        delays=question.choose_delays(delay, pattern),
        imbalance=imbalance,
        iterations=iterations,
        warmup=warmup,
        seed=seed,
        compute=core.parse_seconds("--compute", compute),
        edge=edge,
        estimate=one_of("--estimate", estimate, choices.ESTIMATES),
        progress=one_of("--progress", progress, choices.PROGRESS),
    )
    shown = "json" if as_json else one_of("--format", format_, choices.FORMATS)
    plots = [*(plot or ()), *([report] if report else ())]
    result.check_report(report)
    result.check_paths([*(output or ()), *([keep] if keep else ())], plots)
    place = places.find_place(network, nodes, rate, per_node, mpi_family, clock_skew)
    raise typer.Exit(_answer(asked, place, deadline, keep, shown, [*(output or ()), *plots]))


def _answer(
    question: Question,
    place: Place,
    deadline: float | None,
    keep: Path | None,
    shown: str,
    files: Sequence[Path],
) -> int:
    from ..bench.job import measure, take_part
    from ..bench.result import judge, make_result

    question = question.on(place.ranks)
    if place.rank:
        return take_part(question, place, deadline)
    job = question.job(place.ranks)
    outcome = measure(question, place, job, deadline, keep)
    result = make_result(question, place, job, outcome)
    result.hand_over(shown, files)
    return judge(outcome, job, result.rows)


def be_quiet() -> None:
    """Of all ranks of a job only the first one speaks; programs that it starts do not care."""
    sys.stdout = sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - until the process ends
