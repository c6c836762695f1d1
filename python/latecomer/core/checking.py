"""The symbolic check of schedules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .compiled import core
from .programs import make_plan, problem, renamed

if TYPE_CHECKING:
    from collections.abc import Sequence

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


@renamed(arrival="arrivals")
def verify(
    algorithm: str,
    *,
    ranks: int,
    count: int | None = None,
    collective: str = "allreduce",
    element_bytes: int = 4,
    root: int = 0,
    commutative: bool = True,
    exact: bool = False,
    in_place: bool = False,
    parts: Sequence[int] | None = None,
    arrivals: ArrayLike | None = None,
    network: str | core.Network = "",
    placement: Sequence[int] | None = None,
) -> Counterexample | None:
    """Check the programs of all ranks without running them.

    Of an algorithm that decides while it runs, what its ranks do in a call on the virtual network
    is checked, with these arrivals.

    Parameters
    ----------
    algorithm, ranks, count, collective, element_bytes, root, commutative, exact, in_place, parts
        As in `program`; so are network and placement.
    arrivals : array of shape (ranks,), optional
        When each rank is expected, in seconds. The default is all together.

    Returns
    -------
    Counterexample or None
        The first rule that is broken; None: all are kept.

    Raises
    ------
    ValueError
        For what makes no sense.
    """
    asked = problem(
        ranks, count, collective, element_bytes, root, commutative, exact, in_place, parts
    )
    plan = make_plan(asked, algorithm, arrivals, network, placement)
    return _counterexample(plan.counterexample())


def verify_text(text: str) -> Counterexample | None:
    """Check a schedule in its text form: a plan, then the programs of ranks 0, 1 and so on.

    Raises ValueError, naming the line that cannot be read.
    """
    return _counterexample(core.verify_text(text))


def _counterexample(found: tuple[str, str] | None) -> Counterexample | None:
    return Counterexample(*found) if found else None
