"""The cases in which `latecomer verify` checks an algorithm, all or some for a time."""

from __future__ import annotations

import math
import random
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, SupportsIndex

from ..base.invocation import called
from .checking import Counterexample, verify
from .compiled import core
from .registry import Algorithm, Parameter, collectives, decides_while_it_runs


@dataclass(frozen=True)
class Case:
    """One schedule: an algorithm with its parameters, a problem, and the arrivals planned for."""

    algorithm: str  # with parameters, as in "sorted_linear_tree:segments=3"
    collective: str
    ranks: int
    count: int
    in_place: bool = False
    commutative: bool = True
    arrival: tuple[float, ...] | None = None  # seconds
    root: int = 0
    parts: tuple[int, ...] | None = None  # elements of each rank; None: as equal as can be
    placement: tuple[int, ...] = ()  # the node of each rank; empty: each has its own

    def check(self) -> Counterexample | None:
        """The first rule that it breaks, None if it keeps all."""
        return verify(self.algorithm, **self._arguments())

    def _arguments(self) -> dict[str, Any]:
        """Those of latecomer.verify()."""
        return {
            "ranks": self.ranks,
            "count": self.count,
            "collective": self.collective,
            "commutative": self.commutative,
            "in_place": self.in_place,
            "root": self.root,
            "arrivals": self.arrival,
            "parts": self.parts,
            "placement": self.placement or None,
        }

    def command(self) -> str:
        """The command that checks it again."""
        if decides_while_it_runs(self.collective, self.algorithm):
            given = [f"{name}={value!r}" for name, value in self._arguments().items()
                     if value is not None]  # fmt: skip
            call = ", ".join([repr(self.algorithm), *given])
            code = f"import latecomer; print(latecomer.verify({call}))"
            return shlex.join(["python3", "-c", code])
        words = ["show", self.algorithm, "--collective", self.collective]
        words += ["--ranks", str(self.ranks), "--count", str(self.count)]
        words += ["--network", core.Network().text]
        words += ["--root", str(self.root)] * bool(self.root)
        words += ["--parts", ",".join(map(str, self.parts))] if self.parts else []
        words += ["--placement", ",".join(map(str, self.placement))] if self.placement else []
        if self.arrival:
            words += ["--arrivals", ",".join(f"{time!r}s" for time in self.arrival)]
        words += ["--in-place"] * self.in_place + ["--non-commutative"] * (not self.commutative)
        return f"{called()} {shlex.join(words)} | {called()} verify -"


class Cases(Sequence[Case]):
    """Every parameter variant with every count, operator, root and place, ranks arriving together.
    All with this placement.

    An arrival-aware algorithm, and one that decides while it runs, then meets `arrivals` random
    arrival patterns in every variant, root, place and operator, the counts taking turns. Cases are
    made when they are asked for: there may be hundreds of thousands.
    """

    def __init__(
        self, row: Algorithm, ranks: int, arrivals: int, seed: int, placement: tuple[int, ...] = ()
    ) -> None:
        settings = [_settings(parameter, ranks) for parameter in row.parameters]
        self._choices: list[Sequence[Any]] = [*settings, roots(row, ranks), places(row)]
        self._choices.append(operators(row))
        self._first = Case(row.name, row.collective, ranks, 0, placement=placement)
        self._shapes = math.prod(map(len, self._choices))
        self._counts = counts_for(ranks)
        self._parts: tuple[int, ...] = ()
        if collectives()[row.collective].parted:
            self._parts = tuple(7 * rank % 5 for rank in range(ranks))
        chance = random.Random(f"{seed} {row.name} {ranks}")
        meets = row.arrival_aware or row.kind == "protocol"
        self._patterns = [random_arrival(chance, ranks) for _ in range(arrivals * meets)]

    def __len__(self) -> int:
        return self._shapes * (len(self._counts) + bool(self._parts) + len(self._patterns))

    def __getitem__(self, index: SupportsIndex) -> Case:  # type: ignore[override]  # no slices
        number = range(len(self))[index.__index__()]
        if number < self._shapes * len(self._counts):
            shape, count = divmod(number, len(self._counts))
            return replace(self._shape(shape), count=self._counts[count])
        turn, shape = divmod(number - self._shapes * len(self._counts), self._shapes)
        case = self._shape(shape)
        if self._parts and turn == 0:
            return replace(case, count=sum(self._parts), parts=self._parts)
        turn -= bool(self._parts)
        count = self._counts[turn % len(self._counts)]
        return replace(case, count=count, arrival=self._patterns[turn])

    def _shape(self, number: int) -> Case:
        """The case of one combination of the choices; the last choice changes fastest."""
        chosen: list[Any] = []
        for each in reversed(self._choices):
            number, at = divmod(number, len(each))
            chosen.append(each[at])
        commutative, in_place, root, *settings = chosen
        name = self._first.algorithm + "".join(reversed(settings))
        return replace(self._first, algorithm=name, root=root, in_place=in_place,
                       commutative=commutative)  # fmt: skip


def roots(row: Algorithm, ranks: int) -> list[int]:
    """The first, the last, and one between; 0 where there is none."""
    return sorted({0, ranks // 2, ranks - 1}) if collectives()[row.collective].rooted else [0]


def places(row: Algorithm) -> tuple[bool, ...]:
    """The values of `in_place` that make a difference."""
    return (False,) if row.collective == "bcast" else (False, True)


def counts_for(ranks: int) -> list[int]:
    """Vectors without elements, with one, with about one for each rank, and a longer one."""
    return sorted({0, 1, ranks - 1, ranks, ranks + 1, 8 * ranks + 5})


def operators(row: Algorithm) -> tuple[bool, ...]:
    """The values of `commutative` that the algorithm accepts."""
    reduces = collectives()[row.collective].combines
    return (True,) if row.commutative_only or not reduces else (True, False)


def random_arrival(chance: random.Random, ranks: int) -> tuple[float, ...]:
    """Some ranks at the start, one or more late, by microseconds or by up to 10 ms."""
    scale, share = 10 ** chance.uniform(-6, -2), chance.random()
    late = chance.randrange(ranks)
    times = [chance.uniform(0, scale) for _ in range(ranks)]
    chosen = [rank == late or chance.random() < share for rank in range(ranks)]
    return tuple(round(t, 9) if c else 0.0 for t, c in zip(times, chosen, strict=True))


def _settings(parameter: Parameter, ranks: int) -> list[str]:
    if parameter.name == "random":  # `auto` has no plan with it
        return [""]
    if parameter.name == "progress":
        return ["", ":progress=background"]
    if parameter.choices:
        return [f":{parameter.name}={choice}" for choice in parameter.choices]
    values = sorted({parameter.minimum, parameter.minimum + 2, 2 * ranks + 1})
    return ["", *(f":{parameter.name}={value}" for value in values)]


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
