"""The memory that the simulations of a sweep take."""

from __future__ import annotations

from ...base import memory
from .sweep import Sweep

_BYTES_PER_OPERATION = 170  # measured: 152


def check_memory(sweep: Sweep, limit: float) -> None:
    """Raises UserError, which says how much it needs, if the largest cases need more bytes."""
    ranks = sweep.ranks[-1]
    for name in sweep.algorithms:
        for count in sweep.counts:
            needed = about_bytes(sweep, sweep.program(name, ranks, count), ranks, count)
            what = f"{name} on {ranks} ranks, {sweep.bytes(count)} bytes"
            memory.check_memory(what, needed, limit)


def about_bytes(sweep: Sweep, program: str, ranks: int, count: int) -> int:
    """About how much memory one simulation takes."""
    operations = sweep.plan(program, ranks, count).about_operations()
    return memory.about_bytes(operations, ranks, _BYTES_PER_OPERATION)
