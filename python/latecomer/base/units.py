"""Amounts for people."""

from __future__ import annotations


def size(count: float) -> str:
    """Bytes in the largest fitting unit, for people."""
    for unit, scale in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= scale:
            return f"{count / scale:.4g} {unit}"
    return f"{count:g} B"


def seconds(value: float) -> str:
    """A time in the largest fitting unit, for people: 50 us, 0.1 ns."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= scale:
            return f"{value / scale:.4g} {unit}"
    return f"{value / 1e-9:.4g} ns" if value else "0 s"
