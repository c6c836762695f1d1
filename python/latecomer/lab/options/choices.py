"""The words that options of the benchmark choose from, and the errors of those that do not fit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...base.errors import UserError
from ...base.output import say
from ...base.spelling import listed


class BenchError(UserError):
    """The benchmark could not be run, or not to its end."""


class OptionError(UserError, ValueError):
    """Options that make no sense, or not together."""


@dataclass(frozen=True)
class Operator:
    """An operator of the benchmark."""

    commutes: bool = True
    numbers: int = 1  # of the type, that make an element


TYPE_BYTES = {"float32": 4, "float64": 8, "int32": 4, "int64": 8}
OPERATORS = {
    "sum": Operator(),
    "max": Operator(),
    "slow-sum": Operator(),
    "non-commutative": Operator(commutes=False, numbers=2),
    "over": Operator(commutes=False, numbers=4),
}
NO_OPERATOR = "none"  # in the column of collectives that combine nothing
IMBALANCES = ("phase", "data", "operator")
PATTERNS = ("balanced", "onelate", "randlate", "gamma", "gaussian", "file:CSV",
            "atlas:FILE[:WHICH]")  # fmt: skip
ESTIMATES = ("perfect", "online", "reversed")
PROGRESS = ("as-configured", "none", "thread")
PLACES = ("lab", "local", "inherit")
RENAMED = {"--estimate": {"wrong": "reversed"}, "--progress": {"declared": "as-configured"}}
FORMATS = ("table", "csv", "json", "osu")
PLOTS = (".svg", ".png", ".html")
LONGEST_S = 1_000_000  # a time: as in the simulator


def one_of(option: str, value: str, choices: Iterable[str]) -> str:
    """`value`, if it is one of the choices, or its new name. Raises OptionError."""
    if new := RENAMED.get(option, {}).get(value):
        deprecated(f"{option} {value}", f"{option} {new}")
        return new
    if value not in choices:
        raise OptionError(f"no such {option}", value, f"use {listed(value, choices)}")
    return value


def deprecated(old: str, new: str) -> None:
    """Tell that an old form still works, and the form that replaces it."""
    say(f"note: {old} is deprecated; use {new}")
