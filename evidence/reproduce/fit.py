"""The network of a paper: its costs fitted on the paper's own baseline rows, and on nothing else.

The closed form of a baseline is linear in alpha, beta and gamma, so a first fit is linear. Where we
have the baseline's program, what it takes in simulation then replaces the closed form: each form is
scaled to the simulated time and the fit repeated until it stands.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from latecomer.core.compiled import core
from numpy.typing import NDArray

from .closed_forms import COSTS, Terms, terms
from .least_squares import determined, solve
from .paper import Number, Paper, PaperError

PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "tau": 1.0}  # of a unit in one second

CLOSED_FORMS, PROGRAMS = "closed forms", "our programs in simulation"

_PASSES = 6  # at most, of simulations; two or three are usual
_STANDS = 1e-3  # the fit stands when no cost changes by more than this share

# Seconds of a baseline's program in a setting on a network; None: it is not implemented.
Simulated = Callable[[Number, str], float | None]


@dataclass(frozen=True)
class Residual:
    """A fitted row: seconds as published and as fitted."""

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
    on: str = ""  # CLOSED_FORMS or PROGRAMS

    @property
    def text(self) -> str:
        """The network as `simulate` reads it."""
        costs = ",".join(f"{name}={1e9 * self.costs[name]:.6g}ns" for name in COSTS)
        return f"{costs},{self.more}" if self.more else costs

    @property
    def rounded(self) -> str:
        """The network for people: fitted costs to the digits that their standard errors allow."""
        costs = ",".join(f"{name}={self.told(name)}ns" for name in COSTS)
        return f"{costs},{self.more}" if self.more else costs

    def told(self, name: str, scale: float = 1e9) -> str:
        """A cost times `scale`, to the first digit of its standard error if it was fitted."""
        value, error = scale * self.costs[name], scale * self.errors.get(name, 0.0)
        if error == 0:
            return f"{value:.6g}"
        digit = math.floor(math.log10(float(f"{error:.0e}")))
        return f"{round(value, -digit):.{max(0, -digit)}f}"

    @property
    def vector(self) -> NDArray[np.float64]:
        """Alpha, beta, gamma."""
        return np.array([self.costs[name] for name in COSTS])

    @property
    def rms(self) -> float:
        """Root of the mean squared relative residual."""
        return float(np.sqrt(np.mean([row.relative**2 for row in self.residuals])))


def fit_network(paper: Paper, simulated: Simulated = lambda *_: None) -> Fit:
    """Fit the costs that paper.json asks for. Raises PaperError if it names a claim's rows."""
    facts, plan = paper.facts, paper.facts["fit"]
    network = facts["network"]
    given = {name: float(network[name]) for name in COSTS}
    reasons = dict(facts.get("network_why", {}))
    if plan is None:
        return Fit(given, {}, reasons, facts["fit_why"], (), 0, network["more"])
    start = Fit(given, {}, reasons, plan["why"], (), 0, network["more"], CLOSED_FORMS)
    rows = baseline_rows(paper, plan)
    forms = [_terms(paper, row) for row in rows]
    fit = _fitted(start, rows, forms, plan["free"])
    for _ in range(_PASSES):
        scaled = _scaled(fit, rows, forms, simulated)
        if scaled is None:
            return fit
        before, fit = fit.vector, replace(_fitted(start, rows, scaled, plan["free"]), on=PROGRAMS)
        if np.allclose(before, fit.vector, rtol=_STANDS, atol=0):
            break
    return fit


def _fitted(start: Fit, rows: Sequence[Number], forms: Sequence[Terms], free: list[str]) -> Fit:
    times = np.array([row.value / PER_SECOND[row.unit] for row in rows])
    costs, errors = solve(forms, times, start.costs, free)
    fit = replace(start, costs=costs, errors=errors, determined=determined(forms, times))
    residuals = (
        Residual(row, float(time), form.seconds(fit.vector))
        for row, time, form in zip(rows, times, forms, strict=True)
    )
    return replace(fit, residuals=tuple(residuals))


def _scaled(
    fit: Fit, rows: Sequence[Number], forms: Sequence[Terms], simulated: Simulated
) -> list[Terms] | None:
    """The forms such that on this network they take as long as the programs; None: no programs."""
    found = []
    for row, form in zip(rows, forms, strict=True):
        time = simulated(row, fit.text)
        if time is None:
            return None
        found.append(form.scaled((time - form.wait) / (form.seconds(fit.vector) - form.wait)))
    return found


def read_costs(network: str) -> NDArray[np.float64]:
    """Alpha, beta and gamma of a network's text. Raises ValueError."""
    costs = core.Network(network)
    return np.array([getattr(costs, name) for name in COSTS])


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
    """The number of pipeline blocks that the paper uses for a vector."""
    elements = paper.facts.get("block_elements")
    return max(1, -(-number.bytes // (4 * elements))) if elements else 1


def _terms(paper: Paper, number: Number) -> Terms:
    return terms(paper.mappings[number.algorithm].formula, number, blocks(paper, number))
