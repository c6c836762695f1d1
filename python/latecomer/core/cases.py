"""The cases in which `latecomer verify` checks an algorithm."""

from __future__ import annotations

import math
import random
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..base.invocation import called
from .checking import Counterexample, verify
from .compiled import core
from .registry import Algorithm, Parameter, collectives, decides_while_it_runs

if TYPE_CHECKING:
    from typing import SupportsIndex


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
        return verify(
            self.algorithm,
            ranks=self.ranks,
            count=self.count,
            arrivals=self.arrival,
            commutative=self.commutative,
            in_place=self.in_place,
            collective=self.collective,
            root=self.root,
            parts=self.parts,
            placement=self.placement,
        )

    def _words(self) -> str:
        """The arguments of latecomer.verify()."""
        given = {
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
        words = [f"{name}={value!r}" for name, value in given.items() if value is not None]
        return ", ".join([repr(self.algorithm), *words])

    def command(self) -> str:
        """The command that checks it again."""
        if decides_while_it_runs(self.collective, self.algorithm):
            code = f"import latecomer; print(latecomer.verify({self._words()}))"
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
        self,
        row: Algorithm,
        ranks: int,
        arrivals: int,
        seed: int,
        placement: tuple[int, ...] = (),
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
