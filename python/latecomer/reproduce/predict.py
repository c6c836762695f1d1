"""What our programs take in a paper's settings, on the network fitted to the paper's baselines."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from .. import registry
from ..arrivals import Pattern
from ..compiled import core
from ..simulation import Simulation, simulate
from .closed_forms import known, terms
from .fit import Fit, blocks, read_costs
from .paper import ELEMENT_BYTES, Mapping, Number, Paper

SIMULATED, CLOSED_FORM, MEASURED = "simulated", "closed form", "measured"
NOT_YET = "not implemented yet"


class MissingError(Exception):
    """There is no such value, and why."""


@dataclass(frozen=True)
class Time:
    """Seconds, and how they were found."""

    seconds: float
    how: str


TimeOf = Callable[[Number, Mapping], Time]  # raises MissingError


def choice(paper: Paper, number: Number, mapping: Mapping) -> str:
    """Our algorithm with its parameters for a setting, as the registry reads it."""
    log = (number.ranks - 1).bit_length()
    return mapping.ours.format(
        ranks=number.ranks,
        blocks=blocks(paper, number),
        log=log,
        two_log=2 * log,
        two_log_less_1=2 * log - 1,
        two_log_less_2=2 * log - 2,
    )


def implemented(mapping: Mapping) -> bool:
    """Whether the registry has a program of this collective and name."""
    name = mapping.ours.partition(":")[0]
    rows = registry.algorithms()
    return any(
        (r.collective, r.name, r.kind) == (mapping.collective, name, "program") for r in rows
    )


def check_setting(number: Number) -> None:
    """Raises MissingError if the paper does not say enough to repeat it."""
    if number.arrival == "unpublished":
        raise MissingError("the arrivals are not published")
    if number.delay_ms is None or number.bytes < 0:
        raise MissingError(number.doubt or "the setting is not published")
    if number.bytes == 0:
        raise MissingError("no data to move")


def formula(paper: Paper, fit: Fit) -> TimeOf:
    """Times by closed forms alone."""

    def time(number: Number, mapping: Mapping) -> Time:
        check_setting(number)
        if not known(mapping.formula):
            raise MissingError(mapping.note or "no closed form")
        if ":" in number.measure:
            raise MissingError("a closed form says nothing of one rank")
        form = terms(mapping.formula, number, blocks(paper, number))
        costs = read_costs(number.network) if number.network else fit.vector
        return Time(form.seconds(costs), CLOSED_FORM)

    return time


class Predictor:
    """Times on the virtual network: of programs where they exist, else by closed forms."""

    def __init__(self, paper: Paper, fit: Fit, iterations: int, seed: int) -> None:
        self._paper, self._fit = paper, fit
        self._iterations, self._seed = iterations, seed
        self._runs: dict[tuple[object, ...], list[Simulation]] = {}
        self._formula = formula(paper, fit)

    def __call__(self, number: Number, mapping: Mapping) -> Time:
        """The time of one algorithm in one setting. Raises MissingError."""
        check_setting(number)
        if mapping.ours and implemented(mapping):
            return Time(self._simulated(number, mapping), SIMULATED)
        name = mapping.ours.partition(":")[0]
        if mapping.formula and ":" not in number.measure:
            return self._formula(number, mapping)
        raise MissingError(f"{NOT_YET}: {name}" if name else mapping.note)

    def _simulated(self, number: Number, mapping: Mapping) -> float:
        text = choice(self._paper, number, mapping)
        key = (mapping.collective, text, number.ranks, number.bytes, number.arrival,
               number.late_rank, number.delay_ms, number.network)  # fmt: skip
        if key not in self._runs:
            self._runs[key] = self._run(text, number)
        runs = self._runs[key]
        return sum(measured(number.measure, run) for run in runs) / len(runs)

    def _run(self, text: str, number: Number) -> list[Simulation]:
        delay = (number.delay_ms or 0.0) / 1e3
        times = self._iterations if number.arrival == "randlate" and delay else 1
        pattern = Pattern(number.arrival, number.late_rank)
        network = number.network or self._fit.text
        try:
            core.check_choice(number.collective, text)
            return [
                simulate(text, ranks=number.ranks, count=-(-number.bytes // ELEMENT_BYTES),
                         arrival=late, network=network, element_bytes=ELEMENT_BYTES,
                         collective=number.collective)
                for late in pattern.draw(number.ranks, delay, times, self._seed)
            ]  # fmt: skip
        except (ValueError, RuntimeError) as error:
            raise MissingError(str(error)) from error


def measured(measure: str, run: Simulation) -> float:
    """Seconds of one of the papers' measures: elapsed, elapsed:RANK, run, root exit."""
    if rank := re.fullmatch(r"elapsed:(\d+)", measure):
        return float((run.exits - run.arrivals)[int(rank[1])])
    if measure == "elapsed":
        return run.mean_elapsed
    last = run.exits[0] if measure == "root exit" else run.exits.max()
    return float(last - run.arrivals.min())
