"""Amounts for people."""

from __future__ import annotations


def size(count: float) -> str:
    """Bytes in the largest fitting unit, for people."""
    for unit, scale in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= scale:
            return f"{count / scale:.4g} {unit}"
    return f"{count:g} B"
