"""Files of rules, and why a rule serves a call (docs/rules.md)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..base import regular_files
from ..base.errors import UserError
from ..base.variables import variable
from ..core import networks
from ..core.compiled import core

MOST_BYTES = 256 << 10  # as the library reads


class RuleError(UserError, ValueError):
    """A file of rules that cannot be read, or a question that makes no sense."""


@dataclass(frozen=True)
class RulesFile:
    """A checked file."""

    path: Path
    text: str
    rules: core.UserRules

    @property
    def collectives(self) -> Mapping[str, Any]:
        """The entries of each collective, as the file has them."""
        found: Mapping[str, Any] = json.loads(self.text)["collectives"]
        return found

    @property
    def rule_count(self) -> int:
        """The rules of all collectives."""
        return sum(self.rules.count(name)[1] for name in self.collectives)


def read(path: Path) -> RulesFile:
    """The file, checked by the library's own reader.

    Raises RuleError if there is none, ValueError naming line, key and value if it has no such form.
    """
    try:
        data = regular_files.read(path, MOST_BYTES + 1)
    except OSError as error:
        remedy = "name a file that `latecomer tune` wrote, or see docs/rules.md"
        raise RuleError(f"cannot read the rules ({error.strerror})", path, remedy) from None
    text = data.decode("utf-8-sig", errors="surrogateescape")
    try:
        return RulesFile(path, text, core.UserRules(data.decode("utf-8-sig"), f"rules file {path}"))
    except UnicodeDecodeError as error:
        raise RuleError("bytes that are no UTF-8 in", path, f"see byte {error.start}") from None


def in_words(rule: Mapping[str, Any]) -> str:
    """The conditions of a rule, as in `64 KiB to 1 MiB, 1 late rank`; `all calls` for none."""
    sizes = _range(rule, "msg_size", _bytes)
    imbalance = _range(rule, "imbalance", lambda factor: f"{factor:g}")
    late = _range(rule, "late_ranks", lambda number: f"{number:g}")
    parts = [sizes, imbalance and f"imbalance {imbalance} transfer times"]
    parts.append(late and f"{late} late ranks")
    return ", ".join(filter(None, parts)) or "all calls"


def _range(rule: Mapping[str, Any], name: str, show: Callable[[Any], str]) -> str:
    low, high = rule.get(f"{name}_min", 0), rule.get(f"{name}_max", "inf")
    most = math.inf if high == "inf" else high
    if low == 0 and most == math.inf:
        return ""
    if low == most:
        return show(low)
    if most == math.inf:
        return f"from {show(low)}"
    return f"up to {show(most)}" if low == 0 else f"{show(low)} to {show(most)}"


def _bytes(size: int) -> str:
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor and size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} B"


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
