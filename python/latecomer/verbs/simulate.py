"""`latecomer simulate`: the benchmark on the virtual network, over lists of ranks and sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ..base.limits import MOST_ITERATIONS
from ..command.declare import Seconds, bad_value
from ..lab.options import choices
from .options import Nodes, Question, Result, nodes_for, option


@dataclass(frozen=True, kw_only=True)
class Options(Result, Nodes, Question):
    """The options of simulate."""

    algorithms: Annotated[str, option(
        "--algorithms", "LIST", "Or models of the choices of MPI libraries: openmpi-4.1, "
        "mpich-5.0."
    )] = "all"  # fmt: skip
    nodes: Annotated[str | None, option(
        "--nodes", "LIST", "Or lists: 8,16,48, or 2-128 for each of them, or 2-1024:7 for every "
        "seventh, or 2-1024:x2 for powers of two. At most 4096 ranks can be simulated. The "
        "default is 8."
    )] = None  # fmt: skip
    ranks: Annotated[str | None, option(
        "--ranks", "LIST", "Or lists, as in --nodes. They are --nodes times --per-node: give "
        "--nodes or --ranks."
    )] = None  # fmt: skip
    bytes: Annotated[str | None, option(
        "--bytes", "LIST", "Several: 8-16MiB for 8 bytes, 16 bytes and so on, or "
        "8-16MiB:x4. Each number has its own unit. The default is 1MiB."
    )] = None  # fmt: skip
    count: Annotated[str | None, option("--count", "LIST", "Several: 1-4Mi.")] = None
    progress: Annotated[str, option(
        "--progress", "|".join(choices.PROGRESS), "Move data during computation with a progress "
        "thread, with none, or as parameters say (ring:progress=background)."
    )] = "as-configured"  # fmt: skip
    iterations: Annotated[int, option(
        "--iterations", "N", "Without anything random one iteration is simulated.",
        min=1, max=MOST_ITERATIONS
    )] = 32  # fmt: skip
    network: Annotated[str, option(
        "--network", "COSTS", "Or built-in. Further ones are eager=64KiB,jitter=0.1 and, on "
        "nodes of several ranks, local_alpha, local_beta and memory, per byte of all its ranks "
        "together. The default is LATECOMER_NETWORK, else the costs that calibrate saved, else "
        "built-in."
    )] = ""  # fmt: skip
    engine: Annotated[str, option(
        "--engine", "virtual|simgrid", "Run the programs on the virtual network, or as actors of "
        "SimGrid on a --platform."
    )] = "virtual"  # fmt: skip
    platform: Annotated[str | None, option(
        "--platform", "FILE.xml", "Read hosts and links of SimGrid from this file."
    )] = None  # fmt: skip
    config: Annotated[str | None, option(
        "--config", "TEXT", "Give SimGrid these settings of its own, as in network/model:CM02,..., "
        "or plain, which is closest to alpha and beta. The default is SimGrid's own."
    )] = None  # fmt: skip
    deadline: Annotated[
        Seconds | None, option("--deadline", "TIME", "Cases that are complete are printed.")
    ] = None
    memory: Annotated[str | None, option(
        "--memory", "SIZE", "Refuse simulations that need more memory. The default is three "
        "quarters of the free memory."
    )] = None  # fmt: skip

    def numbers_of_nodes(self) -> str | None:
        """The list, by --nodes or by --ranks. Raises UsageError, OptionError."""
        from ..lab.options.choices import parse_numbers, read_whole

        if self.ranks is None:
            return self.nodes
        if self.nodes is not None:
            raise bad_value("--ranks", f"{self.ranks}; leave it out, or --nodes {self.nodes}")
        numbers = parse_numbers("--ranks", self.ranks, read_whole, doubling=False)
        return ",".join(str(nodes_for(number, None, self.per_node)) for number in numbers)


def simulate(asked: Options) -> int:
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
    from ..lab.sweep import engines, run, sweep

    named = networks.chosen(asked.network)
    nodes = asked.numbers_of_nodes()
    cluster = sweep.choose_cluster(nodes, asked.per_node, named.costs, asked.placement)
    common = choose.question(asked)
    question = sweep.Sweep(
        **common,
        algorithms=sweep.choose_algorithms(asked.collective, asked.algorithms, common["op"]),
        counts=sweep.choose_counts(asked.bytes, asked.count, asked.type, common["op"]),
        **cluster,
        costs_from=named.source,
    )
    sweep.check_late_rank(question, asked.late_rank)
    shown, files = asked.forms()
    if asked.plot or asked.html:
        sweep.check_panels(question)
    available = core.parse_bytes("--memory", asked.memory) if asked.memory else free_bytes()
    world = engines.choose(
        asked.engine, asked.platform, asked.config, question.network, question.estimate
    )
    outcome = run.simulate_all(question, world, available, asked.deadline)
    if outcome.trouble == "interrupted" and not outcome.rows:
        say("interrupted before the first case")
        return outcome.code
    result = run.make_result(question, world, outcome)
    result.hand_over(shown, files)
    return run.judge(outcome)
