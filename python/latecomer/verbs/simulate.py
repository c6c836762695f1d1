"""`latecomer simulate`: the benchmark on the virtual network, over lists of ranks and sizes."""

from __future__ import annotations

from typing import Annotated

from ..base.limits import MOST_ITERATIONS, MOST_RANKS
from ..command.declare import Seconds, bad_value
from ..lab.options import choices
from ..lab.options.choices import one_of
from .options import (
    Arrivals,
    Collective,
    Delay,
    Estimate,
    Format,
    FormatJson,
    LateRank,
    Op,
    Output,
    Page,
    Placement,
    Plot,
    Root,
    Seed,
    Type,
    nodes_for,
    option,
)

Algorithms = Annotated[
    str,
    option("--algorithms", "LIST", "Simulate these algorithms: all, or names with parameters, or "
           "models of the choices of MPI libraries, as in ring,openmpi-4.1,mpich-5.0,"
           "linear_tree:segments=8."),
]  # fmt: skip
Nodes = Annotated[
    str | None,
    option("--nodes", "LIST", "Simulate these numbers of nodes: 8, or 8,16,48, or 2-128 for each "
           "of them, or 2-1024:7 for every seventh, or 2-1024:x2 for powers of two. At most 4096 "
           "ranks can be simulated. The default is 8."),
]  # fmt: skip
Ranks = Annotated[
    str | None,
    option("--ranks", "LIST", "Simulate these numbers of ranks, as in --nodes: nodes times "
           "--per-node. Give --nodes or --ranks."),
]  # fmt: skip
PerNode = Annotated[
    int | None,
    option("--per-node", "K", "Put so many ranks on each node; they share its link and memory. The "
           "default is 1.", min=1, max=MOST_RANKS),
]  # fmt: skip
Bytes = Annotated[
    str | None,
    option("--bytes", "LIST", "Use vectors of these sizes, as in 4MiB, or 8-16MiB for 8 bytes, 16 "
           "bytes and so on, or 8-16MiB:x4. Each number has its own unit. The default is 1MiB."),
]  # fmt: skip
Count = Annotated[
    str | None,
    option("--count", "LIST", "Use vectors of so many numbers, as in 1Mi or 1-4Mi."),
]
Progress = Annotated[
    str,
    option("--progress", "|".join(choices.PROGRESS), "Move data during computation with a progress "
           "thread, with none, or as parameters say (ring:progress=background)."),
]  # fmt: skip
Iterations = Annotated[
    int,
    option("--iterations", "N", "Draw random arrivals and jitter so many times at each delay. "
           "Without anything random one iteration is simulated.", min=1,
           max=MOST_ITERATIONS),
]  # fmt: skip
Network = Annotated[
    str,
    option("--network", "COSTS", "Use these costs, as in alpha=50us,beta=8ns,gamma=0.1ns,"
           "eager=64KiB,jitter=0.1 (on nodes of several ranks also local_alpha, local_beta and "
           "memory=, per byte of all its ranks together), or those in @FILE, or built-in. The "
           "default is LATECOMER_NETWORK, else the costs that calibrate saved, else built-in."),
]  # fmt: skip
EngineName = Annotated[
    str,
    option("--engine", "virtual|simgrid", "Run the programs on the virtual network, or as actors "
           "of SimGrid on a --platform."),
]  # fmt: skip
Platform = Annotated[
    str | None,
    option("--platform", "FILE.xml", "Read hosts and links of SimGrid from this file."),
]
Config = Annotated[
    str | None,
    option("--config", "TEXT", "Give SimGrid these settings of its own, as in "
           "network/model:CM02,..., or plain, which is closest to alpha and beta. The default is "
           "SimGrid's own."),
]  # fmt: skip
Deadline = Annotated[
    Seconds | None,
    option("--deadline", "TIME", "Stop after this time, as in 90, 10m or 2h, and print the cases "
           "that are complete."),
]  # fmt: skip
Memory = Annotated[
    str | None,
    option("--memory", "SIZE", "Refuse simulations that need more memory. The default is three "
           "quarters of the free memory."),
]  # fmt: skip


def simulate(
    collective: Collective = "allreduce",
    algorithms: Algorithms = "all",
    ranks: Ranks = None,
    nodes: Nodes = None,
    per_node: PerNode = None,
    placement: Placement = None,
    size: Bytes = None,
    count: Count = None,
    type_: Type = "float32",
    op: Op = None,
    root: Root = None,
    arrivals: Arrivals = "onelate",
    delay: Delay = None,
    late_rank: LateRank = None,
    progress: Progress = "as-configured",
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
    html: Page = None,
    deadline: Deadline = None,
    memory: Memory = None,
    as_json: FormatJson = False,
) -> int:
    """Simulate algorithms on a virtual network, also many ranks and sizes at once.

    With --placement the ranks are those that it lists, and --nodes is left out.

    Columns are those of bench, and times are in ms. Results are computed and compared where the
    vectors of all ranks are small; elsewhere the column wrong is empty. Type and operator change
    the size of an element, the order of combining that is allowed, and whether that order changes
    the bits. Over several ranks or sizes, table and plot show the time from the last arrival to
    the last exit.

    The exit code is 1 if a result was wrong or the deadline passed. An interrupted run still
    prints the cases that are complete.

    With --engine simgrid the platform determines the times of transfers; plans assume alpha, beta
    and jitter of --network, and the lower bound is not known.

    Example: latecomer simulate --nodes 2-64 --bytes 64KiB --arrivals balanced --plot scaling.svg
    """
    from ..base.memory import free_bytes
    from ..base.output import say
    from ..core import networks
    from ..core.compiled import core
    from ..lab.options import choose
    from ..lab.sweep import engines, sweep
    from ..lab.sweep.panels import check_panels
    from ..lab.sweep.result import judge, make_result
    from ..lab.sweep.run import simulate_all
    from ..lab.views.result import check_paths, check_report

    named = networks.chosen(network)
    nodes = _nodes(ranks, nodes, per_node)
    cluster = sweep.choose_cluster(nodes, per_node, named.costs, placement)
    op = choose.choose_operator(collective, op)
    asked = sweep.Sweep(
        collective=collective,
        root=choose.choose_root(collective, root),
        algorithms=sweep.choose_algorithms(collective, algorithms, op),
        ranks=cluster.ranks,
        counts=sweep.choose_counts(
            size, count, one_of("--type", type_, list(choices.TYPE_BYTES)), op
        ),
        type=type_,
        op=op,
        pattern=(pattern := sweep.choose_pattern(arrivals, late_rank, cluster.ranks)),
        delays=choose.choose_delays(delay, pattern),
        iterations=iterations,
        seed=seed,
        estimate=one_of("--estimate", estimate, choices.ESTIMATES),
        network=cluster.network,
        placement=cluster.placement,
        costs_from=named.source,
        progress=one_of("--progress", progress, choices.PROGRESS),
    )
    shown = "json" if as_json else one_of("--format", format_, choices.FORMATS)
    plots = [*(plot or ()), *([html] if html else ())]
    check_report(html)
    check_paths(output or (), plots)
    if plots:
        check_panels(asked)
    available = core.parse_bytes("--memory", memory) if memory else free_bytes()
    world = engines.choose(engine, platform, config, asked.network, asked.estimate)
    outcome = simulate_all(asked, world, available, deadline)
    if outcome.trouble == "interrupted" and not outcome.rows:
        say("interrupted before the first case")
        return outcome.code
    result = make_result(asked, world, outcome)
    result.hand_over(shown, [*(output or ()), *plots])
    return judge(outcome)


def _nodes(ranks: str | None, nodes: str | None, per_node: int | None) -> str | None:
    """The list of numbers of nodes, by --nodes or by --ranks. Raises UsageError, OptionError."""
    from ..lab.options.ranges import parse_numbers, read_whole

    if ranks is None:
        return nodes
    if nodes is not None:
        raise bad_value("--ranks", f"{ranks}; leave it out, or --nodes {nodes}")
    numbers = parse_numbers("--ranks", ranks, read_whole, doubling=False)
    return ",".join(str(nodes_for(number, None, per_node)) for number in numbers)
