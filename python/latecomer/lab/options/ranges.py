"""Lists and ranges of numbers as the command line writes them: 8,16,48 or 2-1024:x2."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from ...base.limits import MOST_RANKS
from .choices import OptionError

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
