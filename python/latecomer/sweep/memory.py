"""Will a simulation fit in memory? Told before it starts, from the operations of its programs."""

from __future__ import annotations

import math
from pathlib import Path

from ..bench.errors import BenchError
from ..table import size
from .question import Question

# Of programs, engines and messages under way; measured: 152 a operation, 22 KiB a rank.
_BYTES_PER_OPERATION = 170
_BYTES_PER_RANK = 30 << 10
_MIB = 1 << 20


def check_memory(question: Question, limit: float) -> None:
    """Raises BenchError, which says how much it needs, if the largest cases need more bytes."""
    ranks = question.ranks[-1]
    for name in question.algorithms:
        for count in question.counts:
            needed = about_bytes(question, question.program(name, ranks, count), ranks, count)
            if needed > limit:
                what = f"{name} on {ranks} ranks, {question.bytes(count)} bytes, needs about"
                have = f"use fewer ranks or segments; {_shown(limit)} are to be had"
                raise BenchError(what, f"{_shown(needed)} of memory", have)


def about_bytes(question: Question, program: str, ranks: int, count: int) -> int:
    """About how much memory one simulation takes."""
    operations = question.plan(program, ranks, count).about_operations()
    return operations * _BYTES_PER_OPERATION + ranks * _BYTES_PER_RANK


def _shown(amount: float) -> str:
    """In whole MiB, or in the unit of smaller amounts."""
    return size(amount) if amount < 100 * _MIB else f"{amount / _MIB:.0f} MiB"


def free_bytes() -> float:
    """Three quarters of what is free on this machine; infinite where it does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return math.inf
    kib = next((line.split()[1] for line in lines if line.startswith("MemAvailable:")), None)
    return math.inf if kib is None else 0.75 * int(kib) * 1024
