"""Writes docs/algorithms.md: python tools/document_algorithms.py.

It comes from the registry. A test compares it with the committed one.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
HEAD = """# Algorithms

These are the algorithms for each collective, and what they cost; `./latecomer algorithms NAME` says
all about one, its parameters too, and its file in `src/algorithms/` begins with the idea.

*Arrival-aware* algorithms follow the arrivals that are expected. *Deciding* ones need no
estimate: they follow the ranks that are there while they run. The others are for ranks that
arrive together.

@TABLE@
Three names choose, for every collective: `native` is the MPI library's own collective, `fastest`
the algorithm of least cost on the network when all arrive together ([balanced.md](balanced.md)),
and `auto` the best one for the expected arrivals: it begins with the MPI library's own, and adds
nothing to calls until they have taken long enough to pay for a choice
([decision 16](decisions/0016-selection.md)). `auto:random=SEED` is for tests: each call gets an
algorithm and parameters at random, alike on all ranks.

`early_owners` ([after_last.md](after_last.md)), `online_owners` ([online.md](online.md)),
`prereduced_circulant` ([scale.md](scale.md)) and `late_doubling` are ours; the others are those of
the papers under *source*.

Parameters are given as in `sorted_linear_tree:segments=64`. Every algorithm but
`native` and the deciding ones has `progress`: with `background` a progress thread may run ahead of
the arrival, with `foreground` it may not. Aware algorithms have `background` by default where all
ranks have a progress thread, the others `foreground`.

*Cost* is that of ranks that arrive together: P ranks, m bytes, S segments, K blocks or s steps in
all; alpha a message's start-up, beta the time per byte sent, gamma per byte combined; h the height
of a tree. A star marks an algorithm that needs an operator that commutes.
"""


def page() -> str:
    import latecomer

    tables = "".join(map(section, latecomer.collectives()))
    return HEAD.replace("@TABLE@", table()) + tables


CHOOSERS = ("auto", "fastest", "native")  # of every collective: named below the table
TABLE_HEAD = """| collective | arrive together | arrival-aware | deciding |
| --- | --- | --- | --- |
"""


def table() -> str:
    """Each collective's algorithms by kind."""
    import latecomer

    return TABLE_HEAD + "".join(map(table_row, latecomer.collectives()))


def table_row(collective: str) -> str:
    import latecomer

    kinds: dict[str, list[str]] = {"": [], "yes": [], "decides": []}
    for row in latecomer.algorithms(collective):
        if row.name not in CHOOSERS:
            kinds[aware(row)].append(f"`{row.name}`")
    return f"| {collective} | {' | '.join(map(', '.join, kinds.values()))} |\n"


def section(collective: str) -> str:
    import latecomer

    rows = [row for row in latecomer.algorithms(collective) if row.name not in CHOOSERS]
    lines = ["| algorithm | cost | source |", "| --- | --- | --- |", *map(cells, rows)]
    return "\n".join([f"\n## {collective}\n", *lines, ""])


def cells(row) -> str:
    star = "*" if row.commutative_only else ""
    return f"| `{row.name}`{star} | {row.cost} | {row.source} |"


def aware(row) -> str:
    return "decides" if row.kind == "protocol" else "yes" if row.arrival_aware else ""


if __name__ == "__main__":
    (ROOT / "docs" / "algorithms.md").write_text(page(), encoding="utf-8")
