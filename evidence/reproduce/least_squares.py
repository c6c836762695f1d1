"""Linear least squares on relative errors, for costs that are never negative.

Times are linear in the costs, with coefficients that `Terms` hold. Singular values tell how many
costs the rows can tell apart at all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .closed_forms import COSTS, Terms

# A direction of the costs that moves the times this much less than another is not determined:
# rounding to three digits hides it.
_BLIND = 1e-3


def _relative(forms: Sequence[Terms], times: NDArray[np.float64]) -> NDArray[np.float64]:
    """The share that one second (a byte) of each cost adds to each row."""
    return np.array([form.vector() for form in forms]) / times[:, None]


def solve(
    forms: Sequence[Terms], times: NDArray[np.float64], given: dict[str, float], free: Sequence[str]
) -> tuple[dict[str, float], dict[str, float]]:
    """The costs, the free ones fitted to `times`, the others as given; and standard errors."""
    costs, left = dict(given), list(free)
    matrix = _relative(forms, times)
    wait = np.array([form.wait for form in forms]) / times
    while left:
        columns = [COSTS.index(name) for name in left]
        held = [index for index in range(len(COSTS)) if index not in columns]
        fixed = np.array([costs[COSTS[index]] for index in held])
        target = 1 - wait - matrix[:, held] @ fixed
        found, *_ = np.linalg.lstsq(matrix[:, columns], target, rcond=None)
        costs.update(zip(left, map(float, found), strict=True))
        negative = [name for name in left if costs[name] < 0]
        if not negative:
            return costs, _errors(matrix[:, columns], target, found, left)
        costs.update(dict.fromkeys(negative, 0.0))
        left = [name for name in left if name not in negative]
    return costs, {}


def _errors(
    matrix: NDArray[np.float64],
    target: NDArray[np.float64],
    found: NDArray[np.float64],
    names: list[str],
) -> dict[str, float]:
    spare = len(target) - len(names)
    if spare <= 0:
        return {}
    variance = float(np.sum((matrix @ found - target) ** 2)) / spare
    spread = np.sqrt(np.diag(np.linalg.inv(matrix.T @ matrix)) * variance)
    return dict(zip(names, map(float, spread), strict=True))


def determined(forms: Sequence[Terms], times: NDArray[np.float64]) -> int:
    """The number of combinations of costs that move the rows, each scaled to its largest share."""
    matrix = _relative(forms, times)
    largest = np.abs(matrix).max(axis=0)
    scaled = matrix[:, largest > 0] / largest[largest > 0]
    values = np.linalg.svd(scaled, compute_uv=False)
    return int(np.sum(values > _BLIND * values[0]))
