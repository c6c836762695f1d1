"""The registry of algorithms."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..base.spelling import guess
from .compiled import core


@dataclass(frozen=True)
class Parameter:
    """A parameter of an algorithm, as in `sorted_linear_tree:segments=16`."""

    name: str
    meaning: str  # with its default
    minimum: int
    choices: tuple[str, ...]  # the values to choose from; empty: a number from `minimum` up


@dataclass(frozen=True)
class Algorithm:
    """One row of the registry."""

    name: str
    collective: str
    kind: str  # "program", "protocol": decides while it runs, or "native": the MPI library's own
    arrival_aware: bool  # plans by the arrival times
    commutative_only: bool  # takes no operator that is not commutative
    scratch_messages: int  # scratch per rank is at most this many times the message
    parameters: tuple[Parameter, ...]
    cost: str  # in alpha, beta, gamma, m bytes, P ranks
    source: str


@dataclass(frozen=True)
class Collective:
    """Properties of a collective."""

    name: str
    combines: bool  # an operator combines the ranks' contributions
    rooted: bool  # one rank has a part of its own
    parted: bool  # the vector consists of parts, one a rank


@cache
def collectives() -> Mapping[str, Collective]:
    """All, by name."""
    return {found[0]: Collective(*found) for found in core.collectives()}


def algorithms(collective: str | None = None) -> list[Algorithm]:
    """All algorithms, or those of one collective ("allreduce"), by collective and name.

    Raises ValueError for a collective that has none.
    """
    rows = _all()
    known = sorted({row.collective for row in rows})
    if collective not in (None, *known):
        raise ValueError(
            f"collective: {collective!r} is not usable; right would be one of {', '.join(known)}"
        )
    return [row for row in rows if collective in (None, row.collective)]


def check_choice(collective: str, text: str) -> None:
    """Check an algorithm with its parameters. Raises ValueError, which guesses what was meant."""
    try:
        core.check_choice(collective, text)
    except ValueError as error:
        name, names = text.partition(":")[0], _names(collective)
        if name in names:
            raise
        if other := elsewhere(collective, name):
            raise ValueError(f"algorithm: {other}") from None
        raise ValueError(f"{error}{guess(name, names)}") from None


def elsewhere(collective: str, name: str) -> str:
    """As in "'direct' is an algorithm of allgather: --collective allgather"; "" for this one's."""
    having = [row.collective for row in _all() if row.name == name]
    if not having or collective in having or collective not in collectives():
        return ""
    return f"'{name}' is an algorithm of {' and '.join(having)}: --collective {having[0]}"


def check_choices(text: str) -> None:
    """Check what LATECOMER_ALGORITHM takes: a name for all collectives that have it, or a list as
    in `allreduce:ring;bcast:binomial`. Raises ValueError.
    """
    for entry in text.split(";"):
        collective, colon, choice = entry.partition(":")
        if colon and collective in collectives():
            core.check_choice(collective, choice)
        else:
            _check_for_all(entry)


def _check_for_all(text: str) -> None:
    """Check that a collective takes this choice. Raises ValueError."""
    name = text.partition(":")[0]
    having = [each for each in collectives() if name in _names(each)]
    if not having:
        every = sorted({row.name for row in _all()})
        raise ValueError(
            f"algorithm: '{name}' is not usable; right would be a name that `latecomer algorithms` "
            f"lists, or a list as in 'allreduce:ring;bcast:binomial'{guess(name, every)}"
        )
    if not any(_takes(each, text) for each in having):
        core.check_choice(having[-1], text)  # which says why


def _takes(collective: str, text: str) -> bool:
    try:
        core.check_choice(collective, text)
    except ValueError:
        return False
    return True


def _names(collective: str) -> list[str]:
    return [row.name for row in _all() if row.collective == collective]


def is_arrival_aware(collective: str, algorithm: str) -> bool:
    """Tell whether this algorithm, with or without parameters, plans by the arrival times."""
    found = row_of(collective, algorithm)
    return found is not None and found.arrival_aware


def decides_while_it_runs(collective: str, algorithm: str) -> bool:
    """Tell whether this algorithm, with or without parameters, is a protocol."""
    found = row_of(collective, algorithm)
    return found is not None and found.kind == "protocol"


def row_of(collective: str, algorithm: str) -> Algorithm | None:
    """The row of an algorithm with or without parameters; None: there is none."""
    return _by_name().get((collective, algorithm.partition(":")[0]))


@cache
def _all() -> tuple[Algorithm, ...]:
    """The registry does not change: it is read once."""
    return tuple(_algorithm(row) for row in json.loads(core.registry_json()))


@cache
def _by_name() -> Mapping[tuple[str, str], Algorithm]:
    return {(row.collective, row.name): row for row in _all()}


def _algorithm(row: dict[str, Any]) -> Algorithm:
    some = (Parameter(**each | {"choices": tuple(each["choices"])}) for each in row["parameters"])
    return Algorithm(**row | {"parameters": tuple(some)})
