"""Writes docs/algorithms.md: python tools/document_algorithms.py.

It comes from the registry. A test compares it with the committed one.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
HEAD = """# Algorithms

These are the algorithms for each collective; `./latecomer algorithms NAME` says all about one: its
cost, its memory, its parameters. Its file in `src/algorithms/` begins with the idea.

Three names choose, for every collective: `native` is the MPI library's own collective, `fastest`
the algorithm of least cost on the network when all arrive together ([balanced.md](balanced.md)),
and `auto` the best one for the expected arrivals: it begins with the MPI library's own, and adds
nothing to calls until they have taken long enough to pay for a choice
([decision 16](decisions/0016-selection.md)). `auto:random=SEED` is for tests: each call gets an
algorithm and parameters at random, alike on all ranks.

*Aware* algorithms follow the arrivals that are expected. *Deciding* ones need no estimate: they
follow the ranks that are there while they run. The others are for ranks that arrive together. A
star marks those that need an operator that commutes.

Parameters are given as in `sorted_linear_tree:segments=64`. Every algorithm but `native` and the
deciding ones has `progress`: with `background` a progress thread may run ahead of the arrival, with
`foreground` it may not. Aware algorithms have `background` by default where all ranks have a
progress thread, the others `foreground`.

`early_owners` ([after_last.md](after_last.md)), `online_owners` ([online.md](online.md)),
`prereduced_circulant` ([scale.md](scale.md)) and `late_doubling` are ours; the others are those of
the papers that are named.
"""
CHOOSERS = ("auto", "fastest", "native")  # of every collective: named above the tables


def page() -> str:
    import latecomer

    return HEAD + "".join(map(section, latecomer.collectives()))


def section(collective: str) -> str:
    import latecomer

    rows = [row for row in latecomer.algorithms(collective) if row.name not in CHOOSERS]
    return "\n".join([f"\n## {collective}\n", *map(line, rows), ""])


def line(row) -> str:
    star = "*" if row.commutative_only else ""
    kind = ", decides" if row.kind == "protocol" else ", aware" if row.arrival_aware else ""
    return f"- `{row.name}`{star}{kind}: {row.source}"


if __name__ == "__main__":
    (ROOT / "docs" / "algorithms.md").write_text(page(), encoding="utf-8")
