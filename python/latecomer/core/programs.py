"""Plans and programs: the operations of each rank, as data."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from .compiled import core

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Slice:
    """Elements `begin` to `end` (exclusive) of a rank's "input", "output" or "scratch", or of
    "node", which the ranks of a node share.
    """

    buffer: str
    begin: int
    end: int


@dataclass(frozen=True)
class Operation:
    """One operation of one rank. Fields that do not apply are None."""

    kind: str  # "arrive", "send", "recv", "combine", "copy", "signal", "await" or "accumulate"
    text: str
    after: tuple[int, ...]  # the operations of this rank that it waits for
    peer: int | None = None  # send, recv
    source: Slice | None = None  # send, signal: the data; copy, accumulate: from; combine: left
    target: Slice | None = None  # recv, copy, accumulate: to; await: the data; combine: right
    into: str | None = None  # combine: the operand that holds the result, "left" or "right"
    flag: int | None = None  # signal, await, accumulate
    count: int | None = None  # await: the number up to which the flag must have counted

    @property
    def result(self) -> Slice | None:
        """The slice that is written."""
        return self.source if self.into == "left" else self.target


@dataclass(frozen=True)
class Program:
    """The program of one rank in one call."""

    rank: int
    text: str
    operations: tuple[Operation, ...] = field(repr=False)


@dataclass(frozen=True)
class Schedule:
    """A plan and the programs of all its ranks."""

    algorithm: str
    collective: str
    ranks: int
    count: int  # elements of the whole vector
    root: int  # 0 where there is none
    parts: tuple[int, ...]  # elements of each rank's part; empty: as equal as can be
    in_place: bool  # do input and output alias (at the root, where there is one)?
    parameters: str  # as in "segments=16 override=ring"
    plan: str  # the plan's text
    order: tuple[int, ...]  # ranks by position in the algorithm's pattern, where it has one
    table: tuple[int, ...]  # numbers that the algorithm derived from the arrivals
    programs: tuple[Program, ...] = field(repr=False)  # empty for a protocol, which decides itself

    @property
    def problem(self) -> core.Problem:
        """The problem of the programs, for the core."""
        return problem(
            collective=self.collective,
            ranks=self.ranks,
            count=self.count,
            root=self.root,
            in_place=self.in_place,
            parts=self.parts,
        )

    @property
    def text(self) -> str:
        """The plan's and all programs' text; verify_text reads it back."""
        return self.plan + "".join(program.text for program in self.programs)


Result = TypeVar("Result")


def renamed(**old: str) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Let a function take arguments by their old names: `@renamed(arrival="arrivals")`."""

    def decorate(function: Callable[..., Result]) -> Callable[..., Result]:
        @wraps(function)
        def call(*values: Any, **named: Any) -> Result:
            for before, now in old.items():
                if before not in named:
                    continue
                if now in named:
                    raise TypeError(f"{function.__name__}: both {now} and {before}, its old name")
                message = f"{function.__name__}({before}=...) is deprecated; use {now}=..."
                warnings.warn(message, DeprecationWarning, stacklevel=2)
                named[now] = named.pop(before)
            return function(*values, **named)

        return call

    return decorate


@renamed(arrival="arrivals")
def program(
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
) -> Schedule:
    """The plan of `algorithm` and the program of every rank.

    Parameters
    ----------
    algorithm : str
        A name of the registry, with parameters if wanted: "sorted_linear_tree:segments=16".
    ranks : int
        The number of ranks.
    count : int, optional
        Elements of the whole vector. The default is one for each rank.
    collective : str
        "allreduce", "allgather", "reduce", "bcast", "gather" or "scatter".
    element_bytes, root : int
        The size of an element, and the root, in collectives that have one.
    commutative, exact : bool
        The operator commutes; it gives the same bits in whatever order it combines.
    in_place : bool
        Input and output are one buffer (at the root, where there is one).
    parts : sequence of int, optional
        Elements of each rank's part. The default is as equal as can be.
    arrivals : array of shape (ranks,), optional
        When each rank is expected, in seconds. The default is all together.
    network : str or Network
        Costs, as in "alpha=50us,beta=8ns,gamma=0.1ns,eager=64KiB,ports=1"; what is not named is as
        built in.
    placement : sequence of int, optional
        The node of each rank: ranks of a node share its link and memory. The default is a node of
        its own for each.

    Returns
    -------
    Schedule

    Raises
    ------
    ValueError
        For what makes no sense, and for algorithms that decide while they run: they have none.
    """
    asked = problem(
        ranks, count, collective, element_bytes, root, commutative, exact, in_place, parts
    )
    return schedule(make_plan(asked, algorithm, arrivals, network, placement))


def problem(
    ranks: int,
    count: int | None = None,
    collective: str = "allreduce",
    element_bytes: int = 4,
    root: int = 0,
    commutative: bool = True,
    exact: bool = False,
    in_place: bool = False,
    parts: Sequence[int] | None = None,
) -> core.Problem:
    """The core's problem for the arguments of `program`. Raises ValueError."""
    return core.Problem(
        collective,
        ranks=operator.index(ranks),
        count=operator.index(ranks if count is None else count),
        element_bytes=operator.index(element_bytes),
        root=operator.index(root),
        commutative=commutative,
        in_place=in_place,
        exact=exact,
        parts=[operator.index(part) for part in parts or ()],
    )


def make_plan(
    problem: core.Problem,
    algorithm: str,
    arrivals: ArrayLike | None,
    network: str | core.Network,
    placement: Sequence[int] | None = None,
) -> core.Plan:
    """The core's plan for the arguments of `program`. Raises ValueError."""
    nodes = [operator.index(node) for node in placement or ()]
    return core.Plan(problem, algorithm, seconds(arrivals), costs(network), nodes)


def costs(network: str | core.Network) -> core.Network:
    """The costs of a network's text; others keep their defaults. Raises ValueError."""
    return core.Network(network) if isinstance(network, str) else network


def seconds(arrivals: ArrayLike | None) -> list[float]:
    """A list of seconds, one for each rank; empty for None."""
    if arrivals is None:
        return []
    if isinstance(arrivals, list) and all(isinstance(time, float) for time in arrivals):
        return arrivals
    import numpy as np

    given = np.asarray(arrivals, dtype=float)
    if given.ndim != 1:
        raise ValueError(
            f"arrivals: an array of shape {given.shape} is not usable; right would be one time in "
            "seconds for each rank, shape (ranks,)"
        )
    times: list[float] = given.tolist()
    return times


def schedule(plan: core.Plan) -> Schedule:
    """The plan and its programs as Python values. Raises ValueError for a protocol."""
    return _schedule(plan, tuple(
        Program(rank, plan.program_text(rank), tuple(map(_operation, plan.operations(rank))))
        for rank in range(plan.ranks)
    ))  # fmt: skip


def schedule_of_any(plan: core.Plan) -> Schedule:
    """Like `schedule`, but for a protocol without programs."""
    return _schedule(plan, ()) if plan.decides_while_it_runs else schedule(plan)


def _schedule(plan: core.Plan, programs: tuple[Program, ...]) -> Schedule:
    return Schedule(
        algorithm=plan.algorithm,
        collective=plan.problem.collective,
        ranks=plan.ranks,
        count=plan.count,
        root=plan.problem.root,
        parts=tuple(plan.problem.parts),
        in_place=plan.problem.in_place,
        parameters=plan.parameters,
        plan=plan.text,
        order=tuple(plan.order),
        table=tuple(plan.table),
        programs=programs,
    )


def _operation(row: Mapping[str, Any]) -> Operation:
    slices = {name: Slice(*row[name]) for name in ("source", "target") if name in row}
    return Operation(**{**row, "after": tuple(row["after"]), **slices})
