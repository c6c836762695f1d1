"""What the simulations of a question take of memory."""

from __future__ import annotations

from ..base import memory
from .question import Question

_BYTES_PER_OPERATION = 170  # measured: 152


def check_memory(question: Question, limit: float) -> None:
    """Raises UserError, which says how much it needs, if the largest cases need more bytes."""
    ranks = question.ranks[-1]
    for name in question.algorithms:
        for count in question.counts:
            needed = about_bytes(question, question.program(name, ranks, count), ranks, count)
            what = f"{name} on {ranks} ranks, {question.bytes(count)} bytes"
            memory.check_memory(what, needed, limit)


def about_bytes(question: Question, program: str, ranks: int, count: int) -> int:
    """About how much memory one simulation takes."""
    operations = question.plan(program, ranks, count).about_operations()
    return memory.about_bytes(operations, ranks, _BYTES_PER_OPERATION)
