"""The times that Kolmakov and Zhang state for their all-reduce of any number of ranks.

Source: Kolmakov, Zhang: A generalization of the allreduce operation, arXiv:2004.09362 (2020).
(36) and (44) are re-derived from the counts of the paper's steps. A vector is taken to split into P
equal parts even where its elements do not, which only makes the times shorter. Of (44)'s
combinations there are at least one a step, which matters for two ranks alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from balanced_grid import Network


def forms(ranks: int, size: int, network: Network) -> Iterator[tuple[str, float]]:
    """All forms by name, with seconds for vectors of `size` bytes; ranks at least 2."""
    log = (ranks - 1).bit_length()  # L = ceil(log2 P)
    yield "(15)", straightforward(ranks, size, network)
    yield "(25)", less_steps(0, ranks, size, network)
    for removed in range(1, log):
        yield f"(36) r={removed}", less_steps(removed, ranks, size, network)
    yield "(44)", latency_optimal(ranks, size, network)


def straightforward(ranks: int, size: int, network: Network) -> float:
    """(15): 2(P-1)(alpha + u beta) + (P-1) u gamma with u = m/P."""
    part = size / ranks
    transfer = network.alpha + part * network.beta
    return (ranks - 1) * (2 * transfer + part * network.gamma)


def less_steps(removed: int, ranks: int, size: int, network: Network) -> float:
    """(36), for r = 0 (25), with u = m/P, L = ceil(log2 P), r < L.

    (2L-r) alpha + [2(P-1) + (2^r-1)(L-1)] u beta + [(P-1) + 2(2^r-1)(L-1)] u gamma.
    """
    log, part = (ranks - 1).bit_length(), size / ranks
    more = (2**removed - 1) * (log - 1)
    moved = (2 * (ranks - 1) + more) * part
    combined = (ranks - 1 + 2 * more) * part
    return (2 * log - removed) * network.alpha + moved * network.beta + combined * network.gamma


def latency_optimal(ranks: int, size: int, network: Network) -> float:
    """(44): L alpha + L m beta + 2(L-1) m gamma with L = ceil(log2 P); m gamma for L = 1."""
    log = (ranks - 1).bit_length()
    combined = max(log, 2 * (log - 1)) * size
    return log * (network.alpha + size * network.beta) + combined * network.gamma
