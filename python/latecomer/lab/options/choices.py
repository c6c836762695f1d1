"""The words and numbers that options of the benchmark choose from, and the errors of others."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ...base.errors import UserError
from ...base.limits import MOST_RANKS
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


# ---- lists and ranges of numbers: 8,16,48 or 2-1024:x2

_RANGE = re.compile(r"([^-:]+)(?:-([^-:]+)(?::(x?)([^-:]+))?)?")
_LEADING = re.compile(r"\d+(\.\d+)?")
_MOST = 1 << 16  # numbers of one option
_LONGEST = 20  # digits of a number; Python's int has a limit, too

Read = Callable[[str, str], int]  # of what, text


def parse_numbers(option: str, text: str, read: Read, doubling: bool) -> list[int]:
    """Ascending numbers from a list of numbers and ranges.

    `2-9` is every number, or if `doubling` 2, 4 and 8; `2-9:3` is every third number, 2-9:x2 always
    doubles, :x10 multiplies by ten. Each number has its own unit. `read` reads a single one. Raises
    ValueError.
    """
    found: set[int] = set()
    for part in text.split(","):
        found.update(_expand(option, part.strip(), read, doubling))
        if len(found) > _MOST:
            raise OptionError(f"{option} has too many numbers", text, f"use {_MOST} at most")
    return sorted(found)


def read_whole(option: str, text: str) -> int:
    """A number of ranks. Raises OptionError."""
    if not (text.isdecimal() and len(text) < _LONGEST and 1 <= int(text) <= MOST_RANKS):
        raise OptionError(f"{option} is no number of ranks", repr(text), f"use 1 to {MOST_RANKS}")
    return int(text)


def _expand(option: str, part: str, read: Read, doubling: bool) -> Iterator[int]:
    match = _RANGE.fullmatch(part)
    if not match:
        raise OptionError(f"{option} is no list", repr(part), "use 8 or 8,16 or 2-64 or 2-64:x2")
    first = read(option, match[1])
    if not match[2]:
        return iter((first,))
    _check_units(option, part, match[1], match[2])
    last = read(option, match[2])
    step = read(option, match[4]) if match[4] else (2 if doubling else 1)
    factor = bool(match[3]) if match[4] else doubling
    if first > last or step < (2 if factor else 1) or (factor and first == 0):
        remedy = "use FROM-TO, FROM-TO:STEP or FROM-TO:xFACTOR, FROM at most TO"
        raise OptionError(f"{option} is no range", repr(part), remedy)
    return _numbers(first, last, step, factor)


def _check_units(option: str, part: str, first: str, last: str) -> None:
    """8-16MiB is from 8 bytes, but 8-4MiB may as well be meant as a range downwards."""
    high = _LEADING.match(last)
    if first.isdecimal() and high and not last.isdecimal() and float(first) > float(high[0]):
        remedy = "each number has its own unit: name it for both, or write both without"
        raise OptionError(f"{option} leaves open what {first} is", repr(part), remedy)


def _numbers(first: int, last: int, step: int, factor: bool) -> Iterator[int]:
    number, left = first, _MOST + 1
    while number <= last and left:
        yield number
        number, left = (number * step if factor else number + step), left - 1
