"""Times of our programs in a paper's settings, on the network fitted to its baselines."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from latecomer.core import registry
from latecomer.core.compiled import core
from latecomer.core.simulation import Simulation, simulate
from latecomer.lab.options.arrivals import Pattern

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


def programs(paper: Paper, number: Number, text: str) -> str:
    """The counterparts of the algorithms of a text `a|b`: programs, or closed forms by name."""
    mappings = [paper.mappings[name] for name in text.split("|") if name]
    return "|".join(
        choice(paper, number, m) if implemented(m) else f"{CLOSED_FORM} {m.formula}"
        for m in mappings
    )


def implemented(mapping: Mapping) -> bool:
    """Tell whether the registry has a program of this collective and name."""
    name = mapping.ours.partition(":")[0]
    rows = registry.algorithms()
    return any(
        (r.collective, r.name) == (mapping.collective, name) and r.kind != "native" for r in rows
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


class Simulator:
    """Times of our programs on the virtual network."""

    def __init__(self, paper: Paper, iterations: int, seed: int) -> None:
        self._paper, self._iterations, self._seed = paper, iterations, seed

    def seconds(self, number: Number, mapping: Mapping, network: str) -> float:
        """The mean over the draws of its arrivals. Raises MissingError."""
        text = choice(self._paper, number, mapping)
        delay = (number.delay_ms or 0.0) / 1e3
        times = self._iterations if number.arrival == "randlate" and delay else 1
        try:
            core.check_choice(number.collective, text)
            pattern = Pattern(number.arrival, number.late_rank)
            draws = pattern.draw(number.ranks, delay, times, self._seed)
            runs = [_run(text, tuple(late), number.bytes, network, number.collective)
                    for late in draws]  # fmt: skip
        except (ValueError, RuntimeError) as error:
            raise MissingError(str(error)) from error
        return sum(measured(number.measure, run) for run in runs) / len(runs)

    def baseline(self, number: Number, network: str) -> float | None:
        """The time for a fit: None where there is no program."""
        mapping = self._paper.mappings[number.algorithm]
        return self.seconds(number, mapping, network) if implemented(mapping) else None


@lru_cache(maxsize=4096)  # a time, a ratio and a difference of one setting share its runs
def _run(
    text: str, late: tuple[float, ...], size: int, network: str, collective: str
) -> Simulation:
    count = -(-size // ELEMENT_BYTES)
    return simulate(text, ranks=len(late), count=count, arrivals=late, network=network,
                    element_bytes=ELEMENT_BYTES, collective=collective)  # fmt: skip


class Predictor:
    """Times of programs where they exist, else by closed forms."""

    def __init__(self, paper: Paper, fit: Fit, simulator: Simulator) -> None:
        self._fit, self._simulator = fit, simulator
        self._formula = formula(paper, fit)

    def __call__(self, number: Number, mapping: Mapping) -> Time:
        """The time of one algorithm in one setting. Raises MissingError."""
        check_setting(number)
        if implemented(mapping):
            network = number.network or self._fit.text
            return Time(self._simulator.seconds(number, mapping, network), SIMULATED)
        if mapping.formula and ":" not in number.measure:
            return self._formula(number, mapping)
        name = mapping.ours.partition(":")[0]
        raise MissingError(f"{NOT_YET}: {name}" if name else mapping.note)


def measured(measure: str, run: Simulation) -> float:
    """Seconds of one of the papers' measures: elapsed, elapsed:RANK, run, root exit."""
    if rank := re.fullmatch(r"elapsed:(\d+)", measure):
        return float((run.exits - run.arrivals)[int(rank[1])])
    if measure == "elapsed":
        return run.mean_elapsed
    last = run.exits[0] if measure == "root exit" else run.exits.max()
    return float(last - run.arrivals.min())
