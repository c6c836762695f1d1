"""The cases in which `latecomer verify` checks an algorithm."""

from __future__ import annotations

import random
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from .checking import Counterexample, verify
from .compiled import core
from .registry import Algorithm, Parameter, collectives


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
            arrival=self.arrival,
            commutative=self.commutative,
            in_place=self.in_place,
            collective=self.collective,
            root=self.root,
            parts=self.parts,
            placement=self.placement,
        )

    def command(self) -> str:
        """The command that checks it again."""
        words = ["latecomer", "show", self.algorithm, "--collective", self.collective]
        words += ["--ranks", str(self.ranks), "--count", str(self.count)]
        words += ["--network", core.Network().text]
        words += ["--root", str(self.root)] * bool(self.root)
        words += ["--parts", ",".join(map(str, self.parts))] if self.parts else []
        words += ["--placement", ",".join(map(str, self.placement))] if self.placement else []
        if self.arrival:
            words += ["--times", ",".join(f"{time!r}s" for time in self.arrival)]
        words += ["--in-place"] * self.in_place + ["--non-commutative"] * (not self.commutative)
        return f"{shlex.join(words)} | latecomer verify -"


def cases(
    row: Algorithm, ranks: int, arrivals: int, seed: int, placement: tuple[int, ...] = ()
) -> Iterator[Case]:
    """Every parameter variant with every count, operator, root and place, ranks arriving together.
    All with this placement.

    An arrival-aware algorithm then meets `arrivals` random arrival patterns in every variant, root,
    place and operator, the counts taking turns.
    """
    counts = counts_for(ranks)
    shapes = [
        Case(name, row.collective, ranks, 0, in_place, commutative, root=root, placement=placement)
        for name, root, in_place, commutative in product(
            variants(row, ranks), roots(row, ranks), places(row), operators(row)
        )
    ]
    for shape, count in product(shapes, counts):
        yield replace(shape, count=count)
    if collectives()[row.collective].parted:
        lengths = tuple(7 * rank % 5 for rank in range(ranks))
        for shape in shapes:
            yield replace(shape, count=sum(lengths), parts=lengths)
    chance = random.Random(f"{seed} {row.name} {ranks}")
    for turn in range(arrivals if row.arrival_aware else 0):
        pattern, count = random_arrival(chance, ranks), counts[turn % len(counts)]
        for shape in shapes:
            yield replace(shape, count=count, arrival=pattern)


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


def variants(row: Algorithm, ranks: int) -> list[str]:
    """The algorithm's name with each combination of a few values of its parameters."""
    choices = [_settings(parameter, ranks) for parameter in row.parameters]
    return [row.name + "".join(chosen) for chosen in product(*choices)]


def random_arrival(chance: random.Random, ranks: int) -> tuple[float, ...]:
    """Some ranks at the start, one or more late, by microseconds or by up to 10 ms."""
    scale, share = 10 ** chance.uniform(-6, -2), chance.random()
    late = chance.randrange(ranks)
    times = [chance.uniform(0, scale) for _ in range(ranks)]
    chosen = [rank == late or chance.random() < share for rank in range(ranks)]
    return tuple(round(t, 9) if c else 0.0 for t, c in zip(times, chosen, strict=True))


def _settings(parameter: Parameter, ranks: int) -> list[str]:
    if parameter.name == "progress":
        return ["", ":progress=background"]
    if parameter.choices:
        return [f":{parameter.name}={choice}" for choice in parameter.choices]
    values = sorted({parameter.minimum, parameter.minimum + 2, 2 * ranks + 1})
    return ["", *(f":{parameter.name}={value}" for value in values)]
