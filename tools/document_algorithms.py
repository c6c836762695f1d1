"""Writes docs/algorithms.md and the table of README.md: python tools/document_algorithms.py.

Both come from the registry. A test compares them with the committed ones.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
HEAD = """# Algorithms

Made from the registry by `tools/document_algorithms.py`. Each source file in `src/algorithms/`
begins with the idea and the case for its use. `./latecomer algorithms` prints the same facts.

- **Cost** is that of ranks that arrive together. P ranks, m bytes, S segments, K blocks or s steps
  in all; alpha is the start-up of a message, beta the time per byte sent, gamma per byte combined;
  h is the height of a tree.
- **Aware**: with *yes* the plan follows the arrivals that are expected; with *decides* the
  algorithm needs no estimate, and follows the ranks that are there while it runs.
- **Operators**: *any* keeps the order of the ranks; *commutative* needs an operator that commutes.
- **Scratch** is the most memory that a rank needs beside its buffers, in messages of m bytes.
- **Parameters** are given as in `sorted_linear_tree:segments=64`. Every algorithm but `native` and
  those that decide also has `progress`: with `background` a progress thread may run ahead of the
  arrival, with `foreground` it may not. Aware algorithms have `background` by default where all
  ranks have a progress thread, and the others have `foreground`.
"""
PROGRESS = "progress"  # said once, above


def page() -> str:
    import latecomer

    return HEAD + "".join(map(section, latecomer.collectives()))


CHOOSERS = ("auto", "fastest", "native")  # of every collective: named below the table
TABLE_HEAD = """| collective | arrive together | arrival-aware | deciding |
| --- | --- | --- | --- |
"""


def table() -> str:
    """That of README.md: each collective's algorithms by kind."""
    import latecomer

    return TABLE_HEAD + "".join(map(table_row, latecomer.collectives()))


def table_row(collective: str) -> str:
    import latecomer

    kinds: dict[str, list[str]] = {"": [], "yes": [], "decides": []}
    for row in latecomer.algorithms(collective):
        if row.name not in CHOOSERS:
            kinds[aware(row)].append(f"`{row.name}`")
    return f"| {collective} | {' | '.join(map(', '.join, kinds.values()))} |\n"


def with_table(readme: str) -> str:
    """The README with the table as it is now."""
    head = TABLE_HEAD.splitlines()[0]
    before, _, after = readme.partition(head)
    _, _, rest = after.partition("\n\n")
    return f"{before}{table()}\n{rest}"


def section(collective: str) -> str:
    import latecomer

    rows = latecomer.algorithms(collective)
    combines = latecomer.collectives()[collective].combines
    operators = ["operators"] if combines else []
    names = ["algorithm", "cost", "aware", *operators, "scratch", "source"]
    lines = [f"| {' | '.join(names)} |", "| --- " * len(names) + "|"]
    lines += [f"| {' | '.join(cells(row, combines))} |" for row in rows]
    own = [parameter for row in rows for parameter in parameters(row)]
    return "\n".join([f"\n## {collective}\n", *lines, *(["", *own] if own else []), ""])


def cells(row, combines: bool) -> list[str]:
    operators = ["commutative" if row.commutative_only else "any"] if combines else []
    return [
        f"`{row.name}`",
        row.cost,
        aware(row),
        *operators,
        f"{row.scratch_messages}",
        row.source,
    ]


def aware(row) -> str:
    return "decides" if row.kind == "protocol" else "yes" if row.arrival_aware else ""


def parameters(row) -> list[str]:
    return [
        f"- `{row.name}`, `{parameter.name}`{choices(parameter)}: {parameter.meaning}"
        for parameter in row.parameters
        if parameter.name != PROGRESS
    ]


def choices(parameter) -> str:
    return f" ({' or '.join(parameter.choices)})" if parameter.choices else ""


if __name__ == "__main__":
    (ROOT / "docs" / "algorithms.md").write_text(page(), encoding="utf-8")
    readme = ROOT / "README.md"
    readme.write_text(with_table(readme.read_text(encoding="utf-8")), encoding="utf-8")
