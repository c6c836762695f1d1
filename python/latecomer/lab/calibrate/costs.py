"""The parameters of the cost model that fit the times best; see docs/calibration.md for the model.

Times where all ranks are active count as those of a collective: ranks that share cores or links
wait for them. All values are medians, so that a few disturbed samples do not count.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from ...base.arrays import Floats, Int64s
from .measured import Curve, Measured

SMALL = 512  # bytes; up to here a message is nothing but its start-up
LONG = 1 << 17  # from here only its bytes count
COMBINED = 1 << 16  # bytes; longer vectors give the time of combining

SENT_FIRST, RECEIVED_FIRST = "exchange", "exchange, received first"  # patterns

Costs = dict[str, float]  # by the names of the network's text; seconds, or a factor


def costs(measured: Measured) -> Costs:
    """The costs alpha, beta, gamma, handshake, exchange; local_* on shared hosts."""
    curves, eager = measured.curves, measured.eager
    beta = slope(curves["ring"], eager)
    found = {
        "alpha": start_up(curves["ring"], beta),
        "beta": beta,
        "gamma": per_byte(curves["combine"]),
        "handshake": handshake(curves["rested"], eager),
    }
    orders = (exchange(measured, found, name) for name in (SENT_FIRST, RECEIVED_FIRST))
    found["exchange"] = math.sqrt(math.prod(orders))  # programs do both
    if "local" in curves:
        found["local_beta"] = slope(curves["local"], eager)
        found["local_alpha"] = start_up(curves["local"], found["local_beta"])
    return found


def asides(measured: Measured, found: Costs) -> Costs:
    """Costs that the model leaves out: those without crowding, and the bytes that pass unshaped."""
    curves = measured.curves
    return {
        "alpha alone": start_up(curves["pair"], found["beta"]),
        "gamma alone": per_byte(curves["combine alone"]),
        "handshake in the ring": handshake(curves["ring"], measured.eager),
        f"{SENT_FIRST}, sent first": exchange(measured, found, SENT_FIRST),
        RECEIVED_FIRST: exchange(measured, found, RECEIVED_FIRST),
        "burst": burst(measured, found),
    }


def start_up(curve: Curve, beta: float) -> float:
    """Start-up of a message: the time of small ones."""
    few = curve.sizes <= SMALL
    return max(0.0, float(np.median(curve.medians[few] - beta * curve.sizes[few])))


def slope(curve: Curve, eager: int) -> float:
    """Seconds per byte of long messages: the median slope between two sizes (Theil and Sen)."""
    sizes, times = curve.sizes, curve.medians
    of_one_kind = sizes >= max(LONG, eager + 1)  # a handshake is no part of the slope
    chosen = of_one_kind if of_one_kind.sum() >= 3 else sizes >= LONG
    points = list(zip(sizes[chosen], times[chosen], strict=True))
    slopes = [(b[1] - a[1]) / float(b[0] - a[0]) for a, b in combinations(points, 2)]
    return max(0.0, float(np.median(slopes)))


def per_byte(curve: Curve) -> float:
    """Seconds: the median over the sizes that do not fit into the first cache."""
    large = curve.sizes >= COMBINED
    return float(np.median(curve.medians[large] / curve.sizes[large]))


def handshake(curve: Curve, eager: int) -> float:
    """Extra time of a message that is one byte longer than the eager limit."""
    if eager not in curve.sizes or eager + 1 not in curve.sizes:
        return 0.0  # all messages are of one kind
    return max(0.0, float(np.median(curve.at(eager + 1) - curve.at(eager))))


def exchange(measured: Measured, found: Costs, pattern: str) -> float:
    """Time of long messages between two ranks that exchange them, over that in the ring."""
    ring, both = measured.curves["ring"], measured.curves.get(pattern)
    if measured.header["members"] < 3 or both is None:
        return 1.0  # two ranks always exchange: their ring already is one
    long = np.isin(ring.sizes, both.sizes) & (ring.sizes >= max(LONG, measured.eager + 1))
    if not long.any():
        return 1.0
    sizes, waits = ring.sizes[long], found["handshake"]
    times = both.medians[np.isin(both.sizes, sizes)]
    return max(1.0, float(np.median((times - waits) / (ring.medians[long] - waits))))


def line(found: Costs, eager: int, sizes: Int64s) -> Floats:
    """Seconds that the model gives to a message of each size."""
    return found["alpha"] + found["beta"] * sizes + found["handshake"] * (sizes > eager)


def burst(measured: Measured, found: Costs) -> float:
    """Bytes that an idle link passes at once: long messages are faster after a pause."""
    rested = measured.curves["rested"]
    long = rested.sizes >= 4 * LONG
    if not long.any() or found["beta"] <= 0:
        return 0.0
    base = {**found, "alpha": start_up(measured.curves["pair"], found["beta"])}
    gained = line(base, measured.eager, rested.sizes[long]) - rested.medians[long]
    return max(0.0, float(np.median(gained)) / found["beta"])
