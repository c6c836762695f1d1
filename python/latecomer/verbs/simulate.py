"""`latecomer simulate`: the benchmark on the virtual network, over lists of ranks and sizes."""

from __future__ import annotations

from typing import Annotated

import typer

from ..bench import choices
from ..bench.choices import one_of
from .options import (
    Arrival,
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

Algorithms = Annotated[
    str,
    option("--algorithms", "LIST", "all, or names with parameters, and models of what MPI "
           "libraries choose: ring,openmpi-4.1,mpich-5.0,linear_tree:segments=8."),
]  # fmt: skip
Nodes = Annotated[
    str,
    option("--nodes", "LIST", "Ranks, 4096 at most: 8, or 8,16,48, or 2-128 for each of them, "
           "2-1024:7 for every seventh, 2-1024:x2 doubling."),
]  # fmt: skip
Bytes = Annotated[
    str | None,
    option("--bytes", "LIST", "Of the whole vector, as in 4MiB, or 8-16MiB doubling from 8 bytes, "
           "8-16MiB:x4; each number has its own unit; default 1MiB."),
]  # fmt: skip
Count = Annotated[
    str | None, option("--count", "LIST", "Numbers in the vector, as in 1Mi or 1-4Mi.")
]
Progress = Annotated[
    str,
    option("--progress", "|".join(choices.PROGRESS), "Who moves data while a rank computes: a "
           "progress thread, nobody, or what parameters say (ring:progress=background)."),
]  # fmt: skip
Iterations = Annotated[
    int,
    option("--iterations", "N", "Draws at each delay, of random arrivals and jitter; where "
           "nothing is random, one is simulated.", min=1),
]  # fmt: skip
Network = Annotated[
    str,
    option("--network", "TEXT", "Costs, as in alpha=50us,beta=8ns,gamma=0.1ns,eager=64KiB,"
           "jitter=0.1 (these are built in, without jitter), or @FILE, or built-in; default: "
           "LATECOMER_NETWORK, else what calibrate saved, else built-in."),
]  # fmt: skip
EngineName = Annotated[
    str,
    option("--engine", "NAME", "virtual, or simgrid with --platform: the same programs as "
           "SimGrid's actors."),
]  # fmt: skip
Platform = Annotated[
    str | None,
    option("--platform", "FILE.xml", "SimGrid's description of hosts and links; per_node of "
           "--network ranks go to each host."),
]  # fmt: skip
Config = Annotated[
    str | None,
    option("--config", "TEXT", "SimGrid's own settings, as in network/model:CM02,..., or plain: "
           "closest to alpha and beta; default: SimGrid's defaults."),
]  # fmt: skip
Deadline = Annotated[
    float | None,
    option("--deadline", "S", "Stop after so many seconds, with what is complete.", min=0.1),
]  # fmt: skip
Memory = Annotated[
    str | None,
    option("--memory", "SIZE", "Refuse what needs more; default: three quarters of what is free."),
]


def simulate(
    collective: Collective = "allreduce",
    algorithms: Algorithms = "all",
    nodes: Nodes = "8",
    size: Bytes = None,
    count: Count = None,
    type_: Type = "float32",
    op: Op = None,
    root: Root = None,
    arrival: Arrival = "onelate",
    delay: Delay = None,
    late_rank: LateRank = None,
    progress: Progress = "declared",
    estimate: Estimate = "perfect",
    iterations: Iterations = 32,
    seed: Seed = 1,
    network: Network = "",
    engine: EngineName = "virtual",
    platform: Platform = None,
    config: Config = None,
    format_: Format = "table",
    output: Output = None,
    plot: Plot = None,
    report: Report = None,
    deadline: Deadline = None,
    memory: Memory = None,
    as_json: FormatJson = False,
) -> None:
    """Simulate algorithms on a virtual network, also many ranks and sizes at once.

    Columns are those of bench; times are in ms. Where the vectors of all ranks are small, results
    are computed and compared, elsewhere wrong is empty. Type and operator make a difference by the
    size of an element, by commuting, and by giving the same bits in whatever order. Over several
    ranks or sizes, table and plot show the time from the last arrival to the last exit.

    Exits with 1 if a result was wrong or the deadline came first. An interrupted run still prints
    what was completed.

    With --engine simgrid alpha, beta and jitter of --network are only planned for; the platform
    says what transfers take, and the lower bound is not known.

    Example: latecomer simulate --nodes 2-64 --bytes 64KiB --arrival balanced --plot scaling.svg
    """
    from .. import networks
    from ..bench.result import check_paths, check_report
    from ..compiled import core
    from ..memory import free_bytes
    from ..output import say
    from ..sweep import engines, question
    from ..sweep.panels import check_panels
    from ..sweep.result import judge, make_result
    from ..sweep.run import simulate_all

    named = networks.chosen(network)
    op = question.bench.choose_operator(collective, op)
    asked = question.Question(
        collective=collective,
        root=question.bench.choose_root(collective, root),
        algorithms=question.choose_algorithms(collective, algorithms, op),
        ranks=(ranks := question.choose_ranks(nodes)),
        counts=question.choose_counts(
            size, count, one_of("--type", type_, list(choices.TYPE_BYTES)), op
        ),
        type=type_,
        op=op,
        pattern=(pattern := question.choose_pattern(arrival, late_rank, ranks)),
        delays=question.bench.choose_delays(delay, pattern),
        iterations=iterations,
        seed=seed,
        estimate=one_of("--estimate", estimate, choices.ESTIMATES),
        network=named.text,
        costs_from=named.source,
        progress=one_of("--progress", progress, choices.PROGRESS),
    )
    shown = "json" if as_json else one_of("--format", format_, choices.FORMATS)
    plots = [*(plot or ()), *([report] if report else ())]
    check_report(report)
    check_paths(output or (), plots)
    if plots:
        check_panels(asked)
    available = core.parse_bytes("--memory", memory) if memory else free_bytes()
    world = engines.choose(engine, platform, config, named.text, estimate)
    outcome = simulate_all(asked, world, available, deadline)
    if outcome.trouble == "interrupted" and not outcome.rows:
        say("interrupted before the first case")
        raise typer.Exit(outcome.code)
    result = make_result(asked, world, outcome)
    result.hand_over(shown, [*(output or ()), *plots])
    raise typer.Exit(judge(outcome))
