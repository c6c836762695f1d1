"""Checks algorithms at numbers of ranks: in all cases, or in as many as fit a budget of time."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from .cases import Case, Cases
from .registry import Algorithm


@dataclass
class Cell:
    """An algorithm at one number of ranks."""

    collective: str
    algorithm: str
    ranks: int
    cases: int  # checked, up to the first counterexample
    of: int  # all that there are
    rule: str | None = None  # of the counterexample; None: there is none
    text: str | None = None
    command: str | None = None  # checks the counterexample again

    @property
    def complete(self) -> bool:
        """Tell whether nothing is left to be checked."""
        return self.cases == self.of or self.rule is not None


class _Checked:
    """A cell with its cases, in an order that the seed makes."""

    def __init__(self, row: Algorithm, ranks: int, cases: Cases, seed: int) -> None:
        self.cell = Cell(row.collective, row.name, ranks, 0, len(cases))
        self._left = _shuffled(cases, random.Random(f"{seed} {row.name} {ranks} order"))

    def check_next(self) -> None:
        """Check one more case."""
        cell, case = self.cell, next(self._left)
        cell.cases += 1
        if found := case.check():
            cell.rule, cell.text, cell.command = found.rule, found.text, case.command()


def check(
    questions: Sequence[tuple[Algorithm, int, tuple[int, ...]]],  # row, ranks, placement
    arrivals: int,
    seed: int,
    budget: float,  # seconds; infinite: check everything
    tell: Callable[[Cell, float], None],
) -> list[Cell]:
    """The cells of all questions, which take turns: at least one case of each is checked.

    `tell` hears of each case, and how much is done: of all, or of the budget.
    """
    made = [(row, ranks, Cases(row, ranks, arrivals, seed, nodes))
            for row, ranks, nodes in questions]  # fmt: skip
    everyone = [_Checked(row, ranks, cases, seed) for row, ranks, cases in made]
    total = sum(each.cell.of for each in everyone)
    began, done = time.monotonic(), 0
    open_ = everyone
    while open_:
        first = open_ is everyone
        for each in open_:
            passed = time.monotonic() - began
            if passed >= budget and not first:
                return [each.cell for each in everyone]
            tell(each.cell, max(done / total, passed / budget if passed < budget else 1.0))
            before = each.cell.cases
            each.check_next()
            done += each.cell.of - before if each.cell.rule else 1
        open_ = [each for each in open_ if not each.cell.complete]
    return [each.cell for each in everyone]


def _shuffled(cases: Cases, chance: random.Random) -> Iterator[Case]:
    """All cases, each once, by steps of one length around the circle of them."""
    count = len(cases)
    at, step = chance.randrange(count), _coprime(chance, count)
    for _ in range(count):
        yield cases[at]
        at = (at + step) % count


def _coprime(chance: random.Random, count: int) -> int:
    """A step that meets all of so many numbers."""
    while math.gcd(step := chance.randrange(1, count + 1), count) != 1:
        pass
    return step
