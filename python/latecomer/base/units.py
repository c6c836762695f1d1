"""Amounts for people."""

from __future__ import annotations

import math

UNITS = (("s", 1.0), ("ms", 1e3), ("\N{MICRO SIGN}s", 1e6), ("ns", 1e9))  # of a second
_LEAST_S = 1e-12  # what is less is noise of sums


def size(count: float) -> str:
    """Bytes in the largest fitting unit, for people."""
    for unit, scale in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= scale:
            return f"{count / scale:.4g} {unit}"
    return f"{count:g} B"


def seconds(value: float, digits: int = 3) -> str:
    """A time in the largest fitting unit, for people, as in "1.274 s", "40 ms", "0.1 ns"."""
    size = abs(value)
    if not math.isfinite(value):
        return "not known"
    if size < _LEAST_S:
        return "0 s"
    if size >= 9_999.5:  # what is rounded to the next unit is in that one
        return f"{value:,.0f} s"
    nearly = 1 - 0.5 * 10.0**-digits
    unit, scale = next((each for each in UNITS if size * each[1] >= nearly), UNITS[-1])
    return f"{value * scale:.{max(digits, 4) if scale == 1 else digits}g} {unit}"


def span(value: float) -> str:
    """About how long something goes on, as in "14 s", "1.7 min", "2.5 h"."""
    value = max(value, 0.0)
    if value < 99.5:
        return f"{value:.0f} s"
    if value >= 5970:
        return f"{value / 3600:.1f} h"
    return f"{value / 60:.2g} min"
