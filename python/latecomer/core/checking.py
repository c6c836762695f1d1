"""The symbolic check of schedules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .compiled import core
from .programs import ProblemWords, make_plan, problem

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Rule:
    """A rule of every schedule."""

    name: str
    meaning: str


@dataclass(frozen=True)
class Counterexample:
    """The first rule that a schedule breaks."""

    rule: str
    text: str  # the fault, its place, and the operations that show it


def rules() -> list[Rule]:
    """All rules, in the order in which they are checked."""
    return [Rule(*rule) for rule in core.rules()]


def verify(
    algorithm: str,
    *,
    arrival: ArrayLike | None = None,
    network: str | core.Network = "",
    placement: Sequence[int] | None = None,
    **asked: Unpack[ProblemWords],
) -> Counterexample | None:
    """Check the programs of all ranks without running them. None: they keep every rule.

    The arguments are those of `program`. Raises ValueError.
    """
    plan = make_plan(problem(**asked), algorithm, arrival, network, placement)
    return _counterexample(plan.counterexample())


def verify_text(text: str) -> Counterexample | None:
    """Check a schedule in its text form: a plan, then the programs of ranks 0, 1 and so on.

    Raises ValueError, naming the line that cannot be read.
    """
    return _counterexample(core.verify_text(text))


def _counterexample(found: tuple[str, str] | None) -> Counterexample | None:
    return Counterexample(*found) if found else None
