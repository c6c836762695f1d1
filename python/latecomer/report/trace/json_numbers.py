"""Numbers in JSON that a stranger wrote: as numbers or as texts, or something else."""

from __future__ import annotations

import math

_LONGEST = 40  # characters of a number


def number(value: object, most: float = 1e18) -> float | None:
    """The number, also where it is written as a text; None where it is none, or too large."""
    if isinstance(value, str) and len(value) < _LONGEST:
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if -most <= value <= most and math.isfinite(value) else None


def whole(value: object, least: int, most: int) -> int | None:
    """The whole number in these bounds; None."""
    if isinstance(value, str) and len(value) < _LONGEST and value.strip().isdecimal():
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if least <= value <= most else None
