"""How much longer each rank computes in each iteration."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

KINDS = {
    "natural": "the hosts share this machine's cores, and nothing else makes them late",
    "slow": "the host of rank 1 computes DELAY longer in each iteration",
    "random": "each host computes longer in each iteration, gamma-distributed, DELAY in the mean",
}
SLOW = 1  # rank
_SHAPE = 2.0  # of the gamma distribution


def delays(kind: str, delay: float, count: int, ranks: int, seed: Sequence[int]) -> np.ndarray:
    """Seconds [iteration, rank], the same on all ranks."""
    found = np.zeros((count, ranks))
    if kind == "slow":
        found[:, SLOW] = delay
    elif kind == "random":
        draw = np.random.default_rng([*seed, 1])
        found = draw.gamma(_SHAPE, delay / _SHAPE, (count, ranks))
    return found
