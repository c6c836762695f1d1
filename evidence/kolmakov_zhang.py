"""The times that Kolmakov and Zhang state for their all-reduce of any number of ranks.

Source: Kolmakov, Zhang: A generalization of the allreduce operation, arXiv:2004.09362 (2020). A
vector is taken to split into P equal parts even where its elements do not, which only makes the
times shorter.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from balanced_grid import Network
from evidence.reproduce.closed_forms import Terms, latency_optimal, less_steps, ring


def forms(ranks: int, size: int, network: Network) -> Iterator[tuple[str, float]]:
    """All forms by name, with seconds for vectors of `size` bytes; ranks at least 2."""
    costs = np.array([network.alpha, network.beta, network.gamma])
    for name, form in _terms(ranks, size):
        yield name, form.seconds(costs)


def _terms(ranks: int, size: int) -> Iterator[tuple[str, Terms]]:
    setting = ranks, size, 1  # no pipeline: one block
    yield "(15)", ring(*setting)
    yield "(25)", less_steps(0)(*setting)
    for removed in range(1, (ranks - 1).bit_length()):  # up to ceil(log2 P) - 1
        yield f"(36) r={removed}", less_steps(removed)(*setting)
    yield "(44)", latency_optimal(*setting)
