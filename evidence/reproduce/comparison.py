"""A published number and ours, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from .fit import PER_SECOND
from .paper import Number, Paper
from .predict import CLOSED_FORM, MissingError, TimeOf

ZERO = 0.05  # a difference that would be printed as 0.0
FORMULA = "formula"  # the statistic of a number whose place a closed form takes
PAPER, RE_DERIVED = "paper", "re-derived"  # sources of the numbers beside ours


@dataclass(frozen=True)
class Value:
    """A value in a number's unit; or the name of the fastest algorithm."""

    value: float | None
    name: str
    how: str


@dataclass(frozen=True)
class Comparison:
    """One published number beside ours. Values are in the number's unit."""

    number: Number
    paper: float | None  # None: a name, or lost
    ours: float | None
    name: str  # of our fastest algorithm, where the paper publishes one
    how: str  # simulated, closed form; empty: nothing to compare
    reason: str  # why there is nothing to compare, or empty
    lab: float | None = None

    @property
    def source(self) -> str:
        """Whose the value beside ours is."""
        return RE_DERIVED if self.number.statistic == FORMULA else PAPER

    @property
    def ratio(self) -> float | None:
        """Ours over the paper's; None where that makes no sense."""
        if self.ours is None or not self.paper or self.number.comparison == "difference":
            return None
        return self.ours / self.paper

    @property
    def agrees(self) -> bool | None:
        """Tell whether names or signs of differences are equal; None for others, and for 0."""
        if self.number.comparison == "fastest":
            return self.name == self.number.algorithm if self.name else None
        if self.number.comparison == "difference" and self.ours is not None and self.paper:
            return None if abs(self.ours) < ZERO else (self.ours < 0) == (self.paper < 0)
        return None


def compare(
    paper: Paper, forms: TimeOf, ours: TimeOf, done: Callable[[], None] = lambda: None
) -> list[Comparison]:
    """Every number of the paper beside ours; `done` is told of each."""
    found = []
    for number in paper.numbers:
        found.append(_compare(paper, number, forms, ours))
        done()
    return found


def with_lab(paper: Paper, rows: Iterable[Comparison], lab: TimeOf) -> list[Comparison]:
    """The comparison with measured values, where there are any."""
    return [replace(row, lab=_measured(paper, row.number, lab)) for row in rows]


def _measured(paper: Paper, number: Number, lab: TimeOf) -> float | None:
    try:
        return evaluate(paper, number, lab).value
    except MissingError:
        return None


def _compare(paper: Paper, number: Number, forms: TimeOf, ours: TimeOf) -> Comparison:
    published = number.value
    if number.statistic == FORMULA:
        published = evaluate(paper, number, forms).value
    try:
        found = evaluate(paper, number, ours)
    except MissingError as why:
        return Comparison(number, published, None, "", "", str(why))
    if number.statistic == FORMULA and found.how == CLOSED_FORM:  # no news beside itself
        return Comparison(number, published, None, "", "", _unbuilt(paper, number))
    return Comparison(number, published, found.value, found.name, found.how, "")


def _unbuilt(paper: Paper, number: Number) -> str:
    from .predict import NOT_YET, implemented

    mappings = [paper.mappings[name] for name in names(number)]
    missing = [m.ours.partition(":")[0] for m in mappings if not implemented(m)]
    return f"{NOT_YET}: {', '.join(dict.fromkeys(missing))}"


def names(number: Number) -> list[str]:
    """All algorithms that a number is about, by the paper's names."""
    return [
        name for text in (number.algorithm, number.baseline) if text for name in text.split("|")
    ]


def evaluate(paper: Paper, number: Number, time_of: TimeOf) -> Value:
    """A number's value, by times from any source. Raises MissingError."""
    if number.comparison == "fastest":
        times = {name: time_of(number, paper.mappings[name]) for name in number.baseline.split("|")}
        winner = min(times, key=lambda name: times[name].seconds)
        return Value(None, winner, times[winner].how)
    own, how = _least(paper, number, number.algorithm, time_of)
    if number.comparison == "":
        return Value(own * PER_SECOND[number.unit], "", how)
    other, others_how = _least(paper, number, number.baseline, time_of)
    both = how if how == others_how else CLOSED_FORM
    if number.comparison == "speedup":
        return Value(other / own, "", both)
    return Value((own - other) * PER_SECOND[number.unit], "", both)


def _least(paper: Paper, number: Number, text: str, time_of: TimeOf) -> tuple[float, str]:
    times = [time_of(number, paper.mappings[name]) for name in text.split("|")]
    best = min(times, key=lambda time: time.seconds)
    how = best.how if all(time.how == best.how for time in times) else CLOSED_FORM
    return best.seconds, how
