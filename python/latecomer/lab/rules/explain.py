"""The rule that serves a call, and why the others do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...base.variables import variable
from ...core import networks
from ...core.compiled import core
from .file import RuleError, RulesFile


@dataclass(frozen=True)
class Question:
    """A call. Raises RuleError for late ranks that cannot be."""

    collective: str
    ranks: int
    bytes: int
    imbalance: float = 0.0  # seconds from the first to the last expected arrival
    late_ranks: int = 1  # ranks that come last, if there is an imbalance
    placement: Sequence[int] | None = None  # the node of each rank; None: not known

    def __post_init__(self) -> None:
        if self.imbalance > 0 and not 1 <= self.late_ranks < self.ranks:
            most = f"use 1 to {self.ranks - 1}: one rank at least comes first"
            raise RuleError("late ranks", self.late_ranks, most)

    @property
    def arrivals(self) -> list[float]:
        """Seconds after the first, for each rank; empty: all together."""
        if not self.imbalance > 0:
            return []
        return [0.0] * (self.ranks - self.late_ranks) + [self.imbalance] * self.late_ranks


@dataclass(frozen=True)
class Step:
    """An entry or a rule that was looked at."""

    line: int
    algorithm: str | None  # None: an entry
    obstacle: str  # why it does not hold; empty: it holds


@dataclass(frozen=True)
class Explained:
    """The answer."""

    steps: Sequence[Step]
    line: int  # of the rule that serves the call; 0: none
    algorithm: str
    transfer: float  # seconds that the message takes between two ranks
    costs: str  # of the network, and where they come from


def explain(file: RulesFile, question: Question, costs: str | None = None) -> Explained:
    """Ask the file. `costs` replace those that it states. Raises ValueError."""
    network, source = _network(file, costs)
    problem = core.Problem(
        question.collective, ranks=question.ranks, count=question.bytes, element_bytes=1
    )
    placement = None if question.placement is None else list(question.placement)
    asked = (problem, question.arrivals, network, placement)
    steps = [
        Step(line, algorithm if is_rule else None, obstacle)
        for line, is_rule, obstacle, algorithm in file.rules.consider(*asked)
    ]
    line = file.rules.find(*asked)
    algorithm = next((s.algorithm for s in steps if s.line == line and s.algorithm), "auto")
    transfer = network.alpha + network.beta * question.bytes
    return Explained(steps, line, algorithm, transfer, source)


def _network(file: RulesFile, costs: str | None) -> tuple[core.Network, str]:
    """As the library chooses: named, from the environment, from the file, built in."""
    if named := costs or variable(networks.VARIABLE):
        found = networks.chosen(named)
        return found.costs, found.source if costs else networks.VARIABLE
    if file.rules.network is not None:
        return file.rules.network, "the file"
    return networks.UNNAMED.costs, networks.UNNAMED.source
