"""Writes docs/algorithms.md from the registry: python tools/document_algorithms.py.

A test compares the committed page with what this prints, so the page cannot go stale.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
HEAD = """# Algorithms

Made from the registry by `tools/document_algorithms.py`. P ranks, m bytes, S segments in all; alpha
is the start-up of a message, beta the time per byte sent, gamma per byte combined. Each source file
in `src/algorithms/` opens with the idea and when to use it.
"""


def page() -> str:
    import latecomer

    text, collective = HEAD, None
    for row in latecomer.algorithms():
        if row.collective != collective:
            collective = row.collective
            text += f"\n## {collective}\n"
        text += section(row)
    return text


def section(row) -> str:
    operators = "commutative ones only" if row.commutative_only else "any, in rank order"
    combines = row.collective in ("allreduce", "reduce")
    lines = [
        f"- arrival-aware: {'yes' if row.arrival_aware else 'no'}",
        *([f"- operators: {operators}"] if combines else []),
        f"- cost when all arrive together: {row.cost}",
        f"- scratch per rank: at most {row.scratch_messages} times the message",
        *(f"- parameter `{p.name}`{choices(p)}: {p.meaning}" for p in row.parameters),
        f"- source: {row.source}",
    ]
    return f"\n### `{row.name}`\n\n" + "\n".join(lines) + "\n"


def choices(parameter) -> str:
    return f" ({' or '.join(parameter.choices)})" if parameter.choices else ""


if __name__ == "__main__":
    (ROOT / "docs" / "algorithms.md").write_text(page(), encoding="utf-8")
