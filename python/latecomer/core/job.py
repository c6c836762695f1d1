"""A job on the virtual network: ranks compute, call, and compute on once they left the call.

`JobCosts` are the times that a rank takes to find out which algorithm is best.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import TYPE_CHECKING

from .compiled import core
from .programs import costs, problem
from .rehearsal import RehearsedCall, library_model

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..base.arrays import Floats


Microseconds = tuple[float, float, float, float]  # for the numbers of RANKS
RANKS = (4, 8, 16, 32)

# Processor time of one core: evidence/planning_time.py --usual --ranks 4,8,16,32. A plan with its
# program, and its price where it has one. An all-reduce's rows, or those of a collective by name.
COSTS: Mapping[str, tuple[Microseconds, Microseconds | None]] = {
    "circulant": ((6, 12, 11, 14), None),
    "dual_root": ((6, 12, 14, 18), None),
    "early_owners": ((27, 69, 126, 116), (1, 1, 1, 148)),
    "fastest": ((23, 57, 77, 98), None),
    "generalized": ((11, 18, 33, 47), None),
    "linear_tree": ((31, 39, 50, 59), None),
    "nodes": ((50, 99, 214, 349), (88, 291, 1315, 3981)),
    "online_nodes": ((1, 1, 1, 1), (5, 16, 35, 116)),
    "online_owners": ((1, 1, 1, 1), (5, 16, 36, 138)),
    "pipelined_tree": ((3, 16, 13, 14), None),
    "prereduced_circulant": ((28, 37, 46, 50), (1, 1, 1, 1)),
    "prereduced_ring": ((6, 11, 22, 44), (2, 3, 10, 30)),
    "rabenseifner": ((5, 6, 7, 8), None),
    "recursive_doubling": ((4, 4, 5, 6), None),
    "reduce_bcast": ((4, 3, 3, 6), None),
    "ring": ((4, 7, 20, 37), None),
    "segmented_ring": ((7, 12, 43, 53), None),
    "sorted_linear_tree": ((44, 60, 112, 140), (1, 1, 2, 2)),
    "straggler_exchange": ((6, 13, 30, 72), (37, 148, 657, 2413)),
    "two_tree": ((33, 42, 43, 57), None),
    "bcast arrival_b": ((4, 4, 4, 4), (31, 85, 221, 636)),
    "bcast arrival_nb": ((4, 4, 4, 4), (49, 118, 274, 673)),
    "bcast binomial": ((2, 2, 2, 3), (3, 6, 12, 25)),
    "bcast fastest": ((18, 21, 24, 30), (25, 63, 169, 506)),
    "bcast flat": ((2, 2, 3, 4), (3, 6, 12, 24)),
    "bcast linear": ((17, 20, 23, 28), (25, 64, 176, 535)),
    "bcast scatter_allgather": ((3, 3, 4, 6), (4, 10, 25, 64)),
    "gather binomial": ((3, 3, 3, 4), (3, 7, 14, 30)),
    "gather fastest": ((3, 4, 4, 5), (3, 7, 14, 30)),
    "gather linear_sync": ((3, 3, 5, 8), (3, 6, 12, 26)),
    "reduce binary_tree": ((5, 24, 28, 31), (5, 58, 163, 401)),
    "reduce binomial": ((2, 3, 3, 4), (3, 7, 13, 27)),
    "reduce direct_send": ((4, 6, 11, 20), (7, 24, 88, 410)),
    "reduce fastest": ((30, 35, 41, 52), (41, 103, 280, 800)),
    "reduce linear": ((3, 4, 6, 11), (3, 6, 13, 26)),
    "reduce linear_tree": ((28, 32, 38, 48), (41, 106, 294, 851)),
    "reduce local_redirect": ((1, 1, 1, 1), (6, 15, 36, 81)),
    "reduce rabenseifner": ((3, 4, 5, 6), (5, 14, 33, 81)),
    "scatter binomial": ((3, 3, 3, 4), (3, 7, 14, 30)),
    "scatter fastest": ((3, 4, 5, 5), (3, 7, 14, 30)),
    "scatter linear": ((3, 3, 5, 8), (3, 6, 12, 25)),
}
PLANS = {name: plan for name, (plan, _) in COSTS.items()}
PRICES = {name: price for name, (_, price) in COSTS.items() if price}


@dataclass(frozen=True)
class JobCosts:
    """Costs in seconds, or in microseconds for 4, 8, 16 and 32 ranks, by algorithm.

    `connect` is assumed, not measured here: making communicators, a common clock and memory, for
    each doubling of the ranks (docs/decisions/0016-selection.md). `look` is expecting arrivals,
    deciding and learning in a call that is decided about, without plans and prices: 5 us
    (docs/decisions/0016-selection.md; the forecast's part is measured by `core_tests
    --gtest_also_run_disabled_tests --gtest_filter='ForecastCost*'`).
    `plans` is making a plan and building a rank's program, whether it runs or not; `prices` is
    pricing a plan for given arrivals. Algorithms that are not listed cost as much as the dearest
    that is.
    """

    connect: float = 400e-6
    look: float = 5e-6
    plans: Mapping[str, Microseconds] = field(default_factory=lambda: PLANS)
    prices: Mapping[str, Microseconds] = field(default_factory=lambda: PRICES)

    def charges(self, ranks: int, collective: str = "allreduce") -> core.Charges:
        """The seconds for so many ranks."""

        def seconds(rows: Mapping[str, Microseconds]) -> dict[str, float]:
            own = {name: row for name, row in rows.items() if " " not in name}
            own |= {
                name.removeprefix(f"{collective} "): row
                for name, row in rows.items()
                if name.startswith(f"{collective} ")
            }
            return {name: at(ranks, row) for name, row in own.items()}

        plans, prices = seconds(self.plans), seconds(self.prices)
        return core.Charges(
            connect=self.connect * max(1, math.ceil(math.log2(ranks))),
            look=self.look,
            plan=plans,
            other_plan=max(plans.values(), default=0.0),
            price=prices,
            other_price=max(prices.values(), default=0.0),
        )


def at(ranks: int, row: Microseconds) -> float:
    """Seconds for so many ranks: on lines between the measured numbers; in proportion beyond."""
    if ranks <= RANKS[0]:
        return 1e-6 * row[0]
    if ranks >= RANKS[-1]:
        return 1e-6 * row[-1] * ranks / RANKS[-1]
    above = next(i for i, number in enumerate(RANKS) if ranks <= number)
    share = (ranks - RANKS[above - 1]) / (RANKS[above] - RANKS[above - 1])
    return 1e-6 * (row[above - 1] + share * (row[above] - row[above - 1]))


MEASURED = JobCosts()


@dataclass
class Wisdom:
    """What jobs have learnt of the network, for the next one, as `LATECOMER_WISDOM` keeps it.

    Factors of the costs that plans assume, and deviations of their logarithms, as in
    "start-ups=0.9/0.1 bytes=1.2/0.05 combining=1/0.5 exchanges=1.3/0.2"; empty: nothing.
    """

    network: str = ""


def rehearse_job(
    algorithm: str,
    compute: ArrayLike,
    *,
    count: int | Sequence[int],
    network: str | core.Network = "",
    assumed: str | core.Network | None = None,
    native: str = "openmpi-4.1",
    element_bytes: int = 4,
    commutative: bool = True,
    exact: bool = False,
    collective: str = "allreduce",
    root: int = 0,
    seed: int = 1,
    placement: Sequence[int] | None = None,
    slowdown: ArrayLike | None = None,
    library_slowdown: ArrayLike | None = None,
    cold: float = 1.0,
    finding_out: JobCosts | None = MEASURED,
    wisdom: Wisdom | None = None,
) -> list[RehearsedCall]:
    """Run a job with feedback: a rank enters a call when it left the last one and has computed.

    Parameters
    ----------
    algorithm : str
        A name of the registry, with parameters if wanted, or "auto". "native" is the MPI library
        alone. A named algorithm that does not depend on arrivals runs without arrival stamps.
    compute : array of shape (calls, ranks)
        How long each rank computes before each call, in seconds.
    count : int or one for each call
        Elements.
    network, assumed : str or Network
        The costs of the network, and those that plans assume (None: the same).
    native : str
        A model of what the MPI library chooses for all-reduce (elsewhere that stands for
        `fastest`), or an algorithm.
    seed : int
        Draws the jitter of the network.
    slowdown, library_slowdown : array of shape (calls,)
        How many times longer each call takes than on the network, whoever executes it; and how many
        times longer still if the MPI library does.
    cold : float
        A call takes so many times longer if the call before was another algorithm's.
    finding_out : JobCosts or None
        The times of connecting, decisions, plans and prices on each rank. They and reviews, which
        are reductions on the network, then delay the calls. None: all that is free. Arrival stamps
        and exchanges of arrivals take their time on the network in any case.
    wisdom : Wisdom or None
        "auto" begins with it, and at the end it is what this job has learnt, if that is anything.
    element_bytes, commutative, exact, collective, root, placement
        As in `program`.

    Returns
    -------
    list of RehearsedCall
        Arrivals and exits since the start of the job.

    Raises
    ------
    ValueError
        For what makes no sense.
    RuntimeError
        If a rank gets stuck.
    """
    import numpy as np

    computed = np.asarray(compute, dtype=float)
    if computed.ndim != 2 or computed.shape[1] == 0 or not np.all(computed >= 0):
        what = f"compute: an array of shape {computed.shape} with its values is not usable"
        raise ValueError(f"{what}; right would be seconds from 0 on, shape (calls, ranks)")
    calls, ranks = computed.shape
    counts = list(count) if isinstance(count, Sequence) else [count] * calls
    slower = _paces("slowdown", slowdown, calls)
    library_slower = _paces("library_slowdown", library_slowdown, calls)
    if len(counts) != calls:
        raise ValueError(f"count: {len(counts)} numbers; right would be one, or {calls}")
    if not 0 < cold < np.inf:
        raise ValueError(f"cold: {cold} is not usable; right would be a positive number")

    def asked(elements: int) -> tuple[core.Problem, str]:
        model = library_model(native, collective, ranks, elements, element_bytes, commutative)
        what = problem(ranks, elements, collective, element_bytes, root, commutative, exact)
        return what, model

    first, model = asked(counts[0] if counts else 1)
    series = core.Rehearsal(
        first,
        algorithm,
        costs(network),
        costs(network if assumed is None else assumed),
        model,
        placement=list(placement or ()),
        plain=True,
        charges=None if finding_out is None else finding_out.charges(ranks, collective),
        cold=cold,
        wisdom="" if wisdom is None else wisdom.network,
    )
    found: list[RehearsedCall] = []
    left = np.zeros(ranks)
    for number, row in enumerate(computed):
        if number > 0 and counts[number] != counts[number - 1]:
            series.change(*asked(counts[number]))
        found.append(
            _call(series, left + row, seed + number, (slower[number], library_slower[number]))
        )
        left = found[-1].exits
    if wisdom is not None:
        wisdom.network = series.learnt() or wisdom.network
    return found


def _call(
    series: core.Rehearsal, arrivals: Floats, seed: int, slower: tuple[float, float]
) -> RehearsedCall:
    """One call. The rehearsal counts time from the first arrival."""
    began = arrivals.min()
    told = series.call((arrivals - began).tolist(), None, seed, *slower, began=float(began))
    return RehearsedCall.of(told, arrivals, began)


def _paces(what: str, given: ArrayLike | None, calls: int) -> Sequence[float]:
    import numpy as np

    if given is None:
        return list(repeat(1.0, calls))
    asked = np.asarray(given, dtype=float)
    if asked.shape != (calls,) or not np.all((asked > 0) & np.isfinite(asked)):
        raise ValueError(f"{what}: not usable; right would be {calls} positive numbers")
    paces: list[float] = asked.tolist()
    return paces
