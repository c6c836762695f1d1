"""Closed forms of the papers' baselines, and of claims where no program can be run.

Each is linear in the costs of the network: so many start-ups, bytes moved and bytes combined after
each other, plus the waiting that no algorithm avoids. Sources stand at each form.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .paper import Number

COSTS = ("alpha", "beta", "gamma")


@dataclass(frozen=True)
class Terms:
    """Start-ups, bytes moved, bytes combined, seconds of waiting: a time without a network."""

    alpha: float
    beta: float
    gamma: float
    wait: float = 0.0

    def seconds(self, costs: NDArray[np.float64]) -> float:
        """On a network of these alpha, beta and gamma."""
        return self.wait + float(self.vector() @ costs)

    def scaled(self, factor: float) -> Terms:
        """The terms with so many times the work, and equal waiting."""
        return Terms(factor * self.alpha, factor * self.beta, factor * self.gamma, self.wait)

    def vector(self) -> NDArray[np.float64]:
        """The coefficients of alpha, beta and gamma."""
        return np.array([self.alpha, self.beta, self.gamma])


Form = Callable[[int, int, int], Terms]  # of ranks, bytes and the blocks of a pipeline


def terms(form: str, number: Number, blocks: int) -> Terms:
    """The form of this name for the setting of a number; `blocks` are those of a pipeline."""
    return replace(_FORMS[form](number.ranks, number.bytes, blocks), wait=_wait(number))


def known(form: str) -> bool:
    """Tell whether there is a form of this name."""
    return form in _FORMS


def _log(ranks: int) -> int:
    return math.ceil(math.log2(ranks))


def _wait(number: Number) -> float:
    """Seconds until the last rank arrives: from the first one's arrival, or the ranks' mean."""
    delay, ranks = (number.delay_ms or 0.0) / 1e3, number.ranks
    if number.measure != "elapsed":
        return delay
    if number.arrival == "randlate":  # of P uniform draws the largest has mean P/(P+1)
        return delay * (ranks / (ranks + 1) - 0.5)
    return delay * (ranks - 1) / ranks


def ring(ranks: int, size: int, _blocks: int) -> Terms:
    """2(P-1)(alpha + beta m/P) + (P-1) gamma m/P; Patarasuk and Yuan 2009."""
    hops, part = ranks - 1, size / ranks
    return Terms(2 * hops, 2 * hops * part, hops * part)


def _allgather_ring(ranks: int, size: int, _blocks: int) -> Terms:
    """(P-1)(alpha + beta m/P): the second half of the ring."""
    hops, part = ranks - 1, size / ranks
    return Terms(hops, hops * part, 0)


def _transfer(_ranks: int, size: int, _blocks: int) -> Terms:
    """alpha + beta m: one message of the whole vector."""
    return Terms(1, size, 0)


def _binomial_reduce(ranks: int, size: int, _blocks: int) -> Terms:
    """ceil(log2 P)(alpha + beta m + gamma m), after the last arrival; Marendic 2012, (2)."""
    rounds = _log(ranks)
    return Terms(rounds, rounds * size, rounds * size)


def _recursive_doubling(ranks: int, size: int, _blocks: int) -> Terms:
    """log2 P (alpha + (beta + gamma) m); for other P two messages and one combination more."""
    rounds, more = int(math.log2(ranks)), ranks & (ranks - 1) != 0
    return Terms(rounds + 2 * more, (rounds + 2 * more) * size, (rounds + more) * size)


def _recursive_halving(ranks: int, size: int, _blocks: int) -> Terms:
    """2 log2 P alpha + (2 beta + gamma) m (P-1)/P; for other P as recursive doubling."""
    rounds, more = int(math.log2(ranks)), ranks & (ranks - 1) != 0
    part = size * (1 - 1 / 2**rounds)
    whole = more * size
    return Terms(2 * (rounds + more), 2 * (part + whole), part + whole)


def less_steps(removed: int) -> Form:
    """2L - r steps, L = ceil(log2 P), r < L; Kolmakov and Zhang 2020, (25) for r = 0 and (36).

    (2L-r) alpha + [2(P-1) + (2^r-1)(L-1)] u beta + [(P-1) + 2(2^r-1)(L-1)] u gamma with u = m/P;
    (36) is re-derived from the counts of the paper's steps.
    """

    def form(ranks: int, size: int, _blocks: int) -> Terms:
        log, hops, part = _log(ranks), ranks - 1, size / ranks
        more = (2**removed - 1) * (log - 1)
        return Terms(2 * log - removed, (2 * hops + more) * part, (hops + 2 * more) * part)

    return form


def latency_optimal(ranks: int, size: int, _blocks: int) -> Terms:
    """L(alpha + beta m) + 2(L-1) gamma m, L = ceil(log2 P); Kolmakov and Zhang 2020, (44).

    Re-derived. There is at least one combination a step, which matters for two ranks alone.
    """
    log = _log(ranks)
    return Terms(log, log * size, max(log, 2 * (log - 1)) * size)


def _pipelined_tree(ranks: int, size: int, blocks: int) -> Terms:
    """2(2h + 2(b-1))(alpha + beta m/b), P+1 = 2^h; Träff 2021, section 1.2. Half of it combines."""
    height = _log(ranks + 1)
    rounds, block = 4 * (height + blocks - 1), size / blocks
    return Terms(rounds, rounds * block, rounds * block / 2)


def _dual_root(ranks: int, size: int, blocks: int) -> Terms:
    """(4h - 3 + 3(b-1))(alpha + beta m/b), P+2 = 2^h; up to 3 combinations in 3 rounds."""
    height = _log(ranks + 2)
    rounds, block = 4 * height - 3 + 3 * (blocks - 1), size / blocks
    return Terms(rounds, rounds * block, rounds * block)


_FORMS: dict[str, Form] = {
    "ring": ring,
    "allgather_ring": _allgather_ring,
    "transfer": _transfer,
    "binomial_reduce": _binomial_reduce,
    "recursive_doubling": _recursive_doubling,
    "recursive_halving": _recursive_halving,
    "kz_bandwidth": less_steps(0),
    "kz_less_1": less_steps(1),
    "kz_less_2": less_steps(2),
    "kz_latency": latency_optimal,
    "pipelined_tree": _pipelined_tree,
    "dual_root": _dual_root,
}
