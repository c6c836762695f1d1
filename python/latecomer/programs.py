"""Plans and programs: what each rank does, as data."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .compiled import core


@dataclass(frozen=True)
class Slice:
    """Elements `begin` to `end` (exclusive) of a rank's "input", "output" or "scratch"."""

    buffer: str
    begin: int
    end: int


@dataclass(frozen=True)
class Operation:
    """One operation of one rank. What does not apply is None."""

    kind: str  # "arrive", "send", "recv", "combine" or "copy"
    text: str
    after: tuple[int, ...]  # the operations of this rank that it waits for
    peer: int | None = None  # send, recv
    source: Slice | None = None  # send: the data; copy: from; combine: the left operand
    target: Slice | None = None  # recv, copy: to; combine: the right operand
    into: str | None = None  # combine: the operand that holds the result, "left" or "right"

    @property
    def result(self) -> Slice | None:
        """The slice that is written."""
        return self.source if self.into == "left" else self.target


@dataclass(frozen=True)
class Program:
    """What one rank does in one call."""

    rank: int
    text: str
    operations: tuple[Operation, ...] = field(repr=False)


@dataclass(frozen=True)
class Schedule:
    """A plan and the programs of all its ranks."""

    algorithm: str
    collective: str
    ranks: int
    count: int
    in_place: bool
    parameters: str  # as in "segments=16 override=ring"
    plan: str  # the plan's text
    order: tuple[int, ...]  # ranks by position in the algorithm's pattern, where it has one
    table: tuple[int, ...]  # numbers that the algorithm derived from the arrivals
    programs: tuple[Program, ...] = field(repr=False)

    @property
    def text(self) -> str:
        """The plan's and all programs' text; verify_text reads it back."""
        return self.plan + "".join(program.text for program in self.programs)


def program(
    algorithm: str,
    *,
    ranks: int,
    count: int | None = None,
    arrival: ArrayLike | None = None,
    network: str = "",
    element_bytes: int = 4,
    commutative: bool = True,
    exact: bool = False,
    in_place: bool = False,
    collective: str = "allreduce",
) -> Schedule:
    """The plan of `algorithm` and the program of every rank.

    `algorithm` is a name of the registry, with parameters if wanted:
    "sorted_linear_tree:segments=16". `count` elements of `element_bytes` bytes are reduced (None:
    one for each rank). `arrival` has shape (ranks,), in seconds: when each rank is expected (None:
    all together). `network` holds the costs to plan for, as in
    "alpha=50us,beta=8ns,gamma=0.1ns,eager=64KiB,ports=1"; what is not named keeps its default.
    `exact`: the operator gives the same bits in whatever order it combines, so that ranks may
    combine in different ones. Raises ValueError.
    """
    plan = make_plan(
        algorithm,
        ranks,
        count,
        arrival,
        network,
        element_bytes,
        commutative,
        in_place,
        collective,
        exact,
    )
    return _schedule(plan)


def make_plan(
    algorithm: str,
    ranks: int,
    count: int | None,
    arrival: ArrayLike | None,
    network: str,
    element_bytes: int,
    commutative: bool,
    in_place: bool,
    collective: str,
    exact: bool = False,
) -> core.Plan:
    """The core's plan for the arguments of `program`.

    `exact`: the operator gives the same bits in whatever order it combines.
    """
    return core.Plan(
        collective,
        algorithm,
        operator.index(ranks),
        operator.index(ranks if count is None else count),
        operator.index(element_bytes),
        commutative,
        in_place,
        seconds(arrival),
        network,
        exact,
    )


def seconds(arrival: ArrayLike | None) -> list[float]:
    """A list of seconds, one for each rank; empty for None."""
    if arrival is None:
        return []
    times = np.asarray(arrival, dtype=float)
    if times.ndim != 1:
        raise ValueError(
            f"arrival: an array of shape {times.shape} is not usable; right would be one time in "
            "seconds for each rank, shape (ranks,)"
        )
    return times.tolist()


def _schedule(plan: core.Plan) -> Schedule:
    return Schedule(
        algorithm=plan.algorithm,
        collective=plan.collective,
        ranks=plan.ranks,
        count=plan.count,
        in_place=plan.in_place,
        parameters=plan.parameters,
        plan=plan.text,
        order=tuple(plan.order),
        table=tuple(plan.table),
        programs=tuple(_program(plan, rank) for rank in range(plan.ranks)),
    )


def _program(plan: core.Plan, rank: int) -> Program:
    operations = tuple(map(_operation, plan.operations(rank)))
    return Program(rank, plan.program_text(rank), operations)


def _operation(row: Mapping[str, Any]) -> Operation:
    slices = {name: Slice(*row[name]) for name in ("source", "target") if name in row}
    return Operation(**{**row, "after": tuple(row["after"]), **slices})
