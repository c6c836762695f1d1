"""Whole numbers for C: what does not fit is an error, never cut."""

from __future__ import annotations

from operator import index
from typing import Any

MOST = 2**31 - 1  # of an int
LEAST = -(2**31)


def whole(name: str, value: Any) -> int:
    """The value of an integer of any kind, of Python or NumPy; `name` says what it is.

    Raises TypeError for what is no integer, such as 2.0 or "2".
    """
    try:
        return index(value)
    except TypeError:
        kind = type(value).__name__
        raise TypeError(f"{name}: {value!r} is no integer but a {kind}; give an integer") from None


def c_int(name: str, value: Any) -> int:
    """The same, as an int of C holds it. Raises OverflowError for what it does not hold."""
    number = whole(name, value)
    if not LEAST <= number <= MOST:
        raise OverflowError(f"{name}: {number}; give a number from {LEAST} to {MOST}")
    return number


def count(value: Any) -> int:
    """A count of elements, which may exceed an int of C. Raises TypeError and ValueError."""
    number = whole("count", value)
    if number < 0:
        raise ValueError(f"count: {number}; give a number from 0 on")
    return number
