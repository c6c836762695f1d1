"""Checks before it starts that work fits in memory, from the operations of its programs."""

from __future__ import annotations

import math
from pathlib import Path

from .errors import UserError
from .units import size

_MIB = 1 << 20
_BYTES_PER_RANK = 20 << 10  # of programs, engines and messages under way; measured: 10 to 19 KiB


def about_bytes(operations: int, ranks: int, each: int) -> int:
    """About how much memory is taken by so many operations of `each` so many bytes."""
    return operations * each + ranks * _BYTES_PER_RANK


def check_memory(what: str, needed: float, limit: float) -> None:
    """Raises UserError if `what`, as in "ring on 4 ranks", needs more bytes than the limit."""
    if needed > limit:
        have = f"use fewer ranks or segments; {_shown(limit)} are to be had"
        raise UserError(f"{what}, needs about", f"{_shown(needed)} of memory", have)


def free_bytes() -> float:
    """Three quarters of what is free on this machine; infinite where it does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return math.inf
    kib = next((line.split()[1] for line in lines if line.startswith("MemAvailable:")), None)
    return math.inf if kib is None else 0.75 * int(kib) * 1024


def _shown(amount: float) -> str:
    """Write bytes in whole MiB, or in the unit of smaller amounts."""
    return size(amount) if amount < 100 * _MIB else f"{amount / _MIB:.0f} MiB"
