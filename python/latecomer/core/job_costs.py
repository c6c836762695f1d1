"""The times that a rank of a job takes to find out which algorithm is best."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from .compiled import core

Microseconds = tuple[float, float, float, float]  # for the numbers of RANKS
RANKS = (4, 8, 16, 32)

# Processor time of one core: evidence/planning_time.py --usual --ranks 4,8,16,32
PLANS: Mapping[str, Microseconds] = {
    "circulant": (6, 12, 11, 14),
    "dual_root": (6, 12, 14, 18),
    "early_owners": (27, 69, 126, 116),
    "fastest": (23, 57, 77, 98),
    "generalized": (11, 18, 33, 47),
    "linear_tree": (31, 39, 50, 59),
    "nodes": (50, 99, 214, 349),
    "online_nodes": (1, 1, 1, 1),
    "online_owners": (1, 1, 1, 1),
    "pipelined_tree": (3, 16, 13, 14),
    "prereduced_circulant": (28, 37, 46, 50),
    "prereduced_ring": (6, 11, 22, 44),
    "rabenseifner": (5, 6, 7, 8),
    "recursive_doubling": (4, 4, 5, 6),
    "reduce_bcast": (4, 3, 3, 6),
    "ring": (4, 7, 20, 37),
    "segmented_ring": (7, 12, 43, 53),
    "sorted_linear_tree": (44, 60, 112, 140),
    "straggler_exchange": (6, 13, 30, 72),
    "two_tree": (33, 42, 43, 57),
}
PRICES: Mapping[str, Microseconds] = {
    "early_owners": (1, 1, 1, 148),
    "nodes": (88, 291, 1315, 3981),
    "online_nodes": (5, 16, 35, 116),
    "online_owners": (5, 16, 36, 138),
    "prereduced_circulant": (1, 1, 1, 1),
    "prereduced_ring": (2, 3, 10, 30),
    "sorted_linear_tree": (1, 1, 2, 2),
    "straggler_exchange": (37, 148, 657, 2413),
}


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

    def charges(self, ranks: int) -> core.Charges:
        """The seconds for so many ranks."""
        plans = {name: at(ranks, row) for name, row in self.plans.items()}
        prices = {name: at(ranks, row) for name, row in self.prices.items()}
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
