"""The words that options of the benchmark choose from."""

from __future__ import annotations

from collections.abc import Sequence

from .errors import OptionError

TYPE_BYTES = {"float32": 4, "float64": 8, "int32": 4, "int64": 8}
OPERATORS = ("sum", "max", "slow-sum", "non-commutative")
ESTIMATES = ("perfect", "online", "wrong")
PROGRESS = ("declared", "none", "thread")
NETWORKS = ("lab", "local", "inherit")
FORMATS = ("table", "csv", "json", "osu")
PLOTS = (".svg", ".png", ".html")


def one_of(option: str, value: str, choices: Sequence[str]) -> str:
    """`value`, if it is one of the choices. Raises OptionError."""
    if value not in choices:
        raise OptionError(f"no such {option}", value, f"use {', '.join(choices)}")
    return value
