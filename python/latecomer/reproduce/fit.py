"""The network of a paper: its costs fitted on the paper's own baseline rows, and on nothing else.

The closed form of a baseline is linear in alpha, beta and gamma, so the fit is linear least squares
on relative errors, with costs that would come out negative held at 0. Singular values tell how many
costs the rows can tell apart at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiled import core
from .closed_forms import COSTS, Terms, terms
from .paper import Number, Paper, PaperError

PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "tau": 1.0}  # of a unit in one second

# A direction of the costs that moves the times this much less than another is not determined:
# rounding to three digits hides it.
_BLIND = 1e-3


@dataclass(frozen=True)
class Residual:
    """A fitted row: seconds as published and by the fitted closed form."""

    number: Number
    paper: float
    fitted: float

    @property
    def relative(self) -> float:
        """Fitted over published, less 1."""
        return self.fitted / self.paper - 1


@dataclass(frozen=True)
class Fit:
    """The costs of a network in seconds (a byte), and how they were found."""

    costs: dict[str, float]
    errors: dict[str, float]  # standard errors of the fitted ones
    reasons: dict[str, str]  # of those that were not fitted
    why: str
    residuals: tuple[Residual, ...]  # empty: nothing was fitted
    determined: int  # how many of alpha, beta and gamma the rows can tell apart
    more: str  # of the network's text, not a cost

    @property
    def text(self) -> str:
        """The network as `simulate` reads it."""
        costs = ",".join(f"{name}={1e9 * self.costs[name]:.6g}ns" for name in COSTS)
        return f"{costs},{self.more}" if self.more else costs

    @property
    def vector(self) -> NDArray[np.float64]:
        """Alpha, beta, gamma."""
        return np.array([self.costs[name] for name in COSTS])

    @property
    def rms(self) -> float:
        """Root of the mean squared relative residual."""
        return float(np.sqrt(np.mean([row.relative**2 for row in self.residuals])))


def fit_network(paper: Paper) -> Fit:
    """Fit what paper.json says is to be fitted. Raises PaperError if it names a claim's rows."""
    facts, plan = paper.facts, paper.facts["fit"]
    network = facts["network"]
    given = {name: float(network[name]) for name in COSTS}
    reasons = dict(facts.get("network_why", {}))
    if plan is None:
        return Fit(given, {}, reasons, facts["fit_why"], (), 0, network["more"])
    rows = baseline_rows(paper, plan)
    forms = [_terms(paper, row) for row in rows]
    times = np.array([row.value / PER_SECOND[row.unit] for row in rows])
    costs, errors = _solve(forms, times, given, plan["free"])
    vector = np.array([costs[name] for name in COSTS])
    residuals = [
        Residual(row, float(time), form.seconds(vector))
        for row, time, form in zip(rows, times, forms, strict=True)
    ]
    determined = _determined(_relative(forms, times))
    return Fit(costs, errors, reasons, plan["why"], tuple(residuals), determined, network["more"])


def read_costs(network: str) -> NDArray[np.float64]:
    """Alpha, beta and gamma of a network's text. Raises ValueError."""
    parts = dict(part.split("=") for part in core.network_text(network).split(","))
    return np.array([core.parse_seconds(name, parts[name]) for name in COSTS])


def baseline_rows(paper: Paper, plan: Mapping[str, Any]) -> list[Number]:
    """The rows that a fit may use. Raises PaperError for an algorithm that is a claim."""
    for name in plan["algorithms"]:
        if paper.mappings[name].role != "baseline":
            raise PaperError(f"{paper.name}: a claim is to be fitted", name, "fit baselines only")
    return [
        number
        for number in paper.numbers
        if number.table in plan["tables"]
        and number.algorithm in plan["algorithms"]
        and number.metric == plan["metric"]
        and number.value
        and number.bytes > 0
    ]


def blocks(paper: Paper, number: Number) -> int:
    """How many pipeline blocks the paper uses for a vector."""
    elements = paper.facts.get("block_elements")
    return max(1, -(-number.bytes // (4 * elements))) if elements else 1


def _terms(paper: Paper, number: Number) -> Terms:
    return terms(paper.mappings[number.algorithm].formula, number, blocks(paper, number))


def _relative(forms: list[Terms], times: NDArray[np.float64]) -> NDArray[np.float64]:
    """How much one second (a byte) of each cost adds to each row, relative to it."""
    return np.array([form.vector() for form in forms]) / times[:, None]


def _solve(
    forms: list[Terms], times: NDArray[np.float64], given: dict[str, float], free: list[str]
) -> tuple[dict[str, float], dict[str, float]]:
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


def _determined(matrix: NDArray[np.float64]) -> int:
    """How many combinations of the costs move the rows, each cost scaled to its largest share."""
    largest = np.abs(matrix).max(axis=0)
    scaled = matrix[:, largest > 0] / largest[largest > 0]
    values = np.linalg.svd(scaled, compute_uv=False)
    return int(np.sum(values > _BLIND * values[0]))
