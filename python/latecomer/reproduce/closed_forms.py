"""Closed forms of the papers' baselines, and of claims where no program can be run.

Each is linear in the costs of the network: so many start-ups, bytes moved and bytes combined after
each other, plus the waiting that no algorithm avoids. Sources stand at each form.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .paper import Number

COSTS = ("alpha", "beta", "gamma")


@dataclass(frozen=True)
class Terms:
    """Seconds of waiting, start-ups, bytes moved, bytes combined: a time without a network."""

    wait: float
    alpha: float
    beta: float
    gamma: float

    def seconds(self, costs: NDArray[np.float64]) -> float:
        """On a network of these alpha, beta and gamma."""
        return self.wait + float(self.vector() @ costs)

    def scaled(self, factor: float) -> Terms:
        """The same waiting, and so many times the work."""
        return Terms(self.wait, factor * self.alpha, factor * self.beta, factor * self.gamma)

    def vector(self) -> NDArray[np.float64]:
        """The coefficients of alpha, beta and gamma."""
        return np.array([self.alpha, self.beta, self.gamma])


def terms(form: str, number: Number, blocks: int) -> Terms:
    """The form of this name for the setting of a number; `blocks` are those of a pipeline."""
    return _FORMS[form](number, blocks)


def known(form: str) -> bool:
    """Whether there is a form of this name."""
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


def _ring(number: Number, _blocks: int) -> Terms:
    """2(P-1)(alpha + beta m/P) + (P-1) gamma m/P; Patarasuk and Yuan 2009."""
    hops, part = number.ranks - 1, number.bytes / number.ranks
    return Terms(_wait(number), 2 * hops, 2 * hops * part, hops * part)


def _allgather_ring(number: Number, _blocks: int) -> Terms:
    """(P-1)(alpha + beta m/P): the second half of the ring."""
    hops, part = number.ranks - 1, number.bytes / number.ranks
    return Terms(_wait(number), hops, hops * part, 0)


def _transfer(number: Number, _blocks: int) -> Terms:
    """alpha + beta m: one message of the whole vector."""
    return Terms(_wait(number), 1, number.bytes, 0)


def _binomial_reduce(number: Number, _blocks: int) -> Terms:
    """ceil(log2 P)(alpha + beta m + gamma m), after the last arrival; Marendic 2012, (2)."""
    rounds = _log(number.ranks)
    moved = rounds * number.bytes
    return Terms(_wait(number), rounds, moved, moved)


def _recursive_doubling(number: Number, _blocks: int) -> Terms:
    """log2 P (alpha + (beta + gamma) m); for other P two messages and one combination more."""
    rounds, more = int(math.log2(number.ranks)), number.ranks & (number.ranks - 1) != 0
    size = number.bytes
    return Terms(
        _wait(number), rounds + 2 * more, (rounds + 2 * more) * size, (rounds + more) * size
    )


def _recursive_halving(number: Number, _blocks: int) -> Terms:
    """2 log2 P alpha + (2 beta + gamma) m (P-1)/P; for other P as recursive doubling."""
    rounds, more = int(math.log2(number.ranks)), number.ranks & (number.ranks - 1) != 0
    part = number.bytes * (1 - 1 / 2**rounds)
    size = more * number.bytes
    return Terms(_wait(number), 2 * (rounds + more), 2 * (part + size), part + size)


def _generalized(removed: int) -> Callable[[Number, int], Terms]:
    """2 ceil(log2 P) - r steps; Kolmakov and Zhang 2020, (25) for r = 0 and (36), re-derived."""

    def form(number: Number, _blocks: int) -> Terms:
        log, hops, part = _log(number.ranks), number.ranks - 1, number.bytes / number.ranks
        more = (2**removed - 1) * (log - 1)
        return Terms(
            _wait(number), 2 * log - removed, (2 * hops + more) * part, (hops + 2 * more) * part
        )

    return form


def _latency_optimal(number: Number, _blocks: int) -> Terms:
    """ceil(log2 P)(alpha + beta m) + 2(ceil(log2 P) - 1) gamma m; (44), re-derived."""
    log = _log(number.ranks)
    return Terms(_wait(number), log, log * number.bytes, 2 * (log - 1) * number.bytes)


def _pipelined_tree(number: Number, blocks: int) -> Terms:
    """2(2h + 2(b-1))(alpha + beta m/b), P+1 = 2^h; Träff 2021, section 1.2. Half of it combines."""
    height = _log(number.ranks + 1)
    rounds, block = 4 * (height + blocks - 1), number.bytes / blocks
    return Terms(_wait(number), rounds, rounds * block, rounds * block / 2)


def _dual_root(number: Number, blocks: int) -> Terms:
    """(4h - 3 + 3(b-1))(alpha + beta m/b), P+2 = 2^h; up to 3 combinations in 3 rounds."""
    height = _log(number.ranks + 2)
    rounds, block = 4 * height - 3 + 3 * (blocks - 1), number.bytes / blocks
    return Terms(_wait(number), rounds, rounds * block, rounds * block)


_FORMS: dict[str, Callable[[Number, int], Terms]] = {
    "ring": _ring,
    "allgather_ring": _allgather_ring,
    "transfer": _transfer,
    "binomial_reduce": _binomial_reduce,
    "recursive_doubling": _recursive_doubling,
    "recursive_halving": _recursive_halving,
    "kz_bandwidth": _generalized(0),
    "kz_less_1": _generalized(1),
    "kz_less_2": _generalized(2),
    "kz_latency": _latency_optimal,
    "pipelined_tree": _pipelined_tree,
    "dual_root": _dual_root,
}
