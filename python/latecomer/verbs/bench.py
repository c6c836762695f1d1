"""`latecomer bench`: the papers' mini-benchmark, with ranks that arrive when it is told to."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ..base.limits import MOST_ITERATIONS, MOST_RANKS
from ..command.declare import Seconds
from ..lab.options import choices
from ..lab.options.choices import one_of
from ..lab.options.errors import OptionError
from .options import (
    Arrivals,
    ClockSkew,
    Collective,
    Delay,
    Estimate,
    Format,
    FormatJson,
    LateRank,
    Op,
    Output,
    Page,
    Plot,
    Ranks,
    Root,
    Seed,
    Type,
    nodes_for,
    option,
)

if TYPE_CHECKING:
    from ..lab.bench.benchmark import Benchmark
    from ..lab.bench.places import Place

Algorithms = Annotated[
    str,
    option("--algorithms", "LIST", "Measure these algorithms: all, or names with parameters, as in "
           "native,ring,linear_tree:segments=8."),
]  # fmt: skip
Bytes = Annotated[
    str | None,
    option("--bytes", "SIZE", "Use a vector of this size, as in 4MiB. The default is 1MiB."),
]
Count = Annotated[str | None, option("--count", "N", "Use a vector of so many numbers, as in 1Mi.")]
Imbalance = Annotated[
    str,
    option("--uneven", "|".join(choices.IMBALANCES), "Choose what the delays make uneven. phase: a "
           "late rank computes so much longer before the call. data: its image holds more pixels "
           "(with --op over, which skips clear ones). operator: it combines more slowly.",
           old=("--imbalance",)),
]  # fmt: skip
Progress_ = Annotated[
    str,
    option("--progress", "|".join(choices.PROGRESS), "Move data during computation with a progress "
           "thread, with none, or as LATECOMER_PROGRESS says."),
]  # fmt: skip
Compute = Annotated[
    str, option("--compute", "TIME", "Emulate a computation of this length before each call.")
]
Edge = Annotated[
    float,
    option("--edge", "PART", "Report progress to the library after this part of the computation, "
           "with --estimate online.", min=0, max=1),
]  # fmt: skip
Iterations = Annotated[
    int,
    option(
        "--iterations",
        "N",
        "Measure so many iterations at each delay.",
        min=1,
        max=MOST_ITERATIONS,
    ),
]
Warmup = Annotated[
    int,
    option("--warmup", "N", "Run so many iterations first without recording them; auto makes 9 "
           "more calls, to learn.", min=0, max=MOST_ITERATIONS),
]  # fmt: skip
Keep = Annotated[
    Path | None,
    option("--samples", "FILE", "Keep the arrival and exit time of every call in this file."),
]
Nodes = Annotated[
    int | None,
    option("--nodes", "N", "Use so many nodes. The default is 8 in the lab, 4 with --place local.",
           min=1, max=MOST_RANKS),
]  # fmt: skip
Rate = Annotated[
    str | None,
    option("--rate", "R", "Limit the links of the lab to this rate. The default is 200mbit."),
]
PerNode = Annotated[
    int,
    option("--per-node", "K", "Start so many ranks on each node.", min=1, max=MOST_RANKS),
]
PlaceOption = Annotated[
    str | None,
    option("--place", "|".join(choices.PLACES), "Run in the emulated cluster, on this machine "
           "without it, or in the MPI job that started this command. The default is lab where it "
           "works, else local."),
]  # fmt: skip
Network = Annotated[
    str | None,
    option("--network", "COSTS", "Plan with these costs, as in alpha=50us,beta=8ns,gamma=0.1ns, or "
           "with those in @FILE. The default is LATECOMER_NETWORK, else the costs that calibrate "
           "saved for this place."),
]  # fmt: skip
Mpi = Annotated[str | None, option("--mpi", "openmpi|mpich", "Use this MPI library.")]
Deadline = Annotated[
    Seconds | None,
    option("--deadline", "TIME", "Kill everything after this time, as in 90, 10m or 2h. The "
           "default is 5 times the expected time, and at least 600 s."),
]  # fmt: skip


def bench(
    collective: Collective = "allreduce",
    algorithms: Algorithms = "all",
    size: Bytes = None,
    count: Count = None,
    type_: Type = "float32",
    op: Op = None,
    root: Root = None,
    arrivals: Arrivals = "onelate",
    delay: Delay = None,
    late_rank: LateRank = None,
    imbalance: Imbalance = "phase",
    progress: Progress_ = "as-configured",
    compute: Compute = "100ms",
    edge: Edge = 0.5,
    estimate: Estimate = "perfect",
    iterations: Iterations = 32,
    warmup: Warmup = 4,
    seed: Seed = 1,
    format_: Format = "table",
    output: Output = None,
    plot: Plot = None,
    html: Page = None,
    keep: Keep = None,
    ranks: Ranks = None,
    nodes: Nodes = None,
    rate: Rate = None,
    per_node: PerNode = 1,
    place: PlaceOption = None,
    network: Network = None,
    clock_skew: ClockSkew = None,
    mpi_family: Mpi = None,
    deadline: Deadline = None,
    as_json: FormatJson = False,
) -> int:
    """Measure algorithms when ranks arrive together, and when some are late.

    Every algorithm gets the same arrival times, and algorithms take turns iteration by iteration.
    Times are in ms. The column elapsed holds the time of a rank in the collective: the mean over
    ranks, and the median over iterations. The column after last holds the time from the last
    arrival to the last exit. The column limit holds its lower bound for any algorithm.

    The exit code is 1 if a result was wrong or the run did not end well. An interrupted run still
    prints the iterations that are complete.

    Example: latecomer bench --algorithms native,ring,prereduced_ring --delay 0,5ms,50ms
    """
    from ..lab.bench import benchmark, places
    from ..lab.options import choose
    from ..lab.views import result

    if "inherit" in (place, network) and places.rank_of_job():
        be_quiet()
    place, network = place_and_costs(place, network)
    op = choose.choose_operator(collective, op)
    asked = benchmark.Benchmark(
        collective=collective,
        root=choose.choose_root(collective, root),
        algorithms=choose.choose_algorithms(collective, algorithms, op),
        count=choose.choose_count(
            size, count, one_of("--type", type_, list(choices.TYPE_BYTES)), op
        ),
        type=type_,
        op=op,
        pattern=(pattern := choose.choose_pattern(arrivals, late_rank)),
        delays=choose.choose_delays(delay, pattern),
        imbalance=imbalance,
        iterations=iterations,
        warmup=warmup,
        seed=seed,
        compute=choose.read_seconds("--compute", compute),
        edge=edge,
        estimate=one_of("--estimate", estimate, choices.ESTIMATES),
        progress=one_of("--progress", progress, choices.PROGRESS),
    )
    shown = "json" if as_json else one_of("--format", format_, choices.FORMATS)
    plots = [*(plot or ()), *([html] if html else ())]
    result.check_report(html)
    result.check_paths([*(output or ()), *([keep] if keep else ())], plots)
    nodes = nodes_for(ranks, nodes, per_node)
    where = places.find_place(place, nodes, rate, per_node, mpi_family, clock_skew, network=network)
    return _answer(asked, where, deadline, keep, shown, [*(output or ()), *plots])


def _answer(
    benchmark: Benchmark,
    place: Place,
    deadline: float | None,
    keep: Path | None,
    shown: str,
    files: Sequence[Path],
) -> int:
    from ..lab.bench.job import measure, take_part
    from ..lab.bench.result import judge, make_result

    benchmark = benchmark.on(place.ranks)
    if place.rank:
        return take_part(benchmark, place, deadline)
    job = benchmark.job(place.ranks)
    outcome = measure(benchmark, place, job, deadline, keep)
    result = make_result(benchmark, place, job, outcome)
    result.hand_over(shown, files)
    return judge(outcome, job, result.rows)


def place_and_costs(place: str | None, network: str | None) -> tuple[str | None, str | None]:
    """The two options; --network named the place once. Raises OptionError."""
    if network not in choices.PLACES:
        return place, network
    if place not in (None, network):
        raise OptionError(f"--place {place} with --network", network, "use --place alone")
    choices.deprecated(f"--network {network}", f"--place {network}")
    return network, None


def be_quiet() -> None:
    """Make this rank of a job silent, so that only the first one speaks."""
    sys.stdout = sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - until the process ends
