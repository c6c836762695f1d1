"""Writes docs/algorithms.md: python tools/document_algorithms.py.

It comes from the registry. A test compares it with the committed one.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
HEAD = """# Algorithms

Made from the registry by `tools/document_algorithms.py`. Each source file in `src/algorithms/`
begins with the idea and the case for its use. `./latecomer algorithms NAME` prints the same facts.

## Overview

*Arrival-aware* algorithms follow the arrivals that are expected. *Deciding* ones need no
estimate: they follow the ranks that are there while they run. The others are for ranks that
arrive together.

@TABLE@
`early_owners` ([after_last.md](after_last.md)), `online_owners` ([online.md](online.md)),
`prereduced_circulant` ([scale.md](scale.md)) and `late_doubling` are ours; the others are those of
the papers under *source*. Three names choose, for every collective: `native` is the MPI library's
own collective, `fastest` the algorithm of least cost on the network when all arrive together
([balanced.md](balanced.md)), and `auto` the best one for the expected arrivals. `auto` begins with
the MPI library's own, leaves it once another algorithm was faster in three calls, and adds nothing
to calls until they have taken long enough to pay for a choice.

`auto:random=SEED` (1 to 2^53) is for tests: each call gets an algorithm and parameters at random,
alike on all ranks and with the same seed. It has no plan, so it cannot be shown, verified or
simulated; reproducible mode refuses it.

## How to read the tables

- **Cost** is that of ranks that arrive together: P ranks, m bytes, S segments, K blocks or s steps
  in all; alpha a message's start-up, beta the time per byte sent, gamma per byte combined; h the
  height of a tree.
- **Aware**: with *yes* the plan follows the expected arrivals; with *decides* the algorithm
  follows the ranks that are there while it runs.
- **Operators**: *any* keeps the order of the ranks; *commutative* needs an operator that commutes.
- **Scratch** is the most memory that a rank needs beside its buffers, in messages of m bytes.
"""
PARAMETERS = """
## Parameters

They are given as in `sorted_linear_tree:segments=64`. Every algorithm but `native` and those that
decide also has `progress`: with `background` a progress thread may run ahead of the arrival, with
`foreground` it may not. Aware algorithms have `background` by default where all ranks have a
progress thread, and the others have `foreground`.

"""
SAID_ABOVE = ("progress", "random")


def page() -> str:
    import latecomer

    tables = "".join(map(section, latecomer.collectives()))
    return HEAD.replace("@TABLE@", table()) + tables + PARAMETERS + parameters()


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
    combines = latecomer.collectives()[collective].combines
    operators = ["operators"] if combines else []
    names = ["algorithm", "cost", "aware", *operators, "scratch", "source"]
    lines = [f"| {' | '.join(names)} |", "| --- " * len(names) + "|"]
    lines += [f"| {' | '.join(cells(row, combines))} |" for row in rows]
    return "\n".join([f"\n## {collective}\n", *lines, ""])


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


def parameters() -> str:
    """Each parameter once, behind all algorithms that have it with this meaning."""
    import latecomer

    users: dict[tuple[str, str], dict[str, None]] = {}
    for collective in latecomer.collectives():
        for row in latecomer.algorithms(collective):
            for each in row.parameters:
                if each.name not in SAID_ABOVE:
                    key = (f"`{each.name}`{choices(each)}", each.meaning)
                    users.setdefault(key, {})[f"`{row.name}`"] = None
    return "".join(
        f"- {name} of {', '.join(rows)}: {meaning}\n" for (name, meaning), rows in users.items()
    )


def choices(parameter) -> str:
    """The values, but for `among`, which takes all algorithms of its collective."""
    if not parameter.choices or parameter.name == "among":
        return ""
    return f" ({' or '.join(parameter.choices)})"


if __name__ == "__main__":
    (ROOT / "docs" / "algorithms.md").write_text(page(), encoding="utf-8")
