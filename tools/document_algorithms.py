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
For ranks that arrive together, `generalized` is that of Kolmakov and Zhang 2020 for any P and any
number of steps, `circulant` that of Traeff 2024, `dual_root` Traeff 2021, and `two_tree` Sanders,
Speck and Traeff 2009. Arrival-aware and deciding algorithms of papers are SLT
(`sorted_linear_tree`) and PRR (`prereduced_ring`) of Proficz 2018, SLS, SLIN and SBN
(`sorted_linear_sync`, `sorted_linear`, `sorted_binomial`) of Proficz 2020, BDR
(`disseminated_ring`) and BSLB (`sorted_gather_bcast`) of Proficz 2021, StragglAR
(`straggler_exchange`) of Devraj et al. 2025, the reductions of Marendic 2012 and the broadcasts
of Patarasuk and Yuan 2008. `clairvoyant` has the aim of Marendic et al. 2016 and a timetable of
ours ([decision 25](decisions/0025-clairvoyant.md)). `early_owners`
([after_last.md](after_last.md)), `prereduced_circulant` ([scale.md](scale.md)), `late_doubling`
and `online_owners` are ours. `online_owners` is `early_owners` for lateness that nobody can
forecast: it makes its timetable while ranks arrive ([online.md](online.md)).

Three names choose: `native` is the MPI library's own collective, `fastest` the algorithm of least
cost on the network when all arrive together ([balanced.md](balanced.md)), and `auto` the best one
for the expected arrivals. `auto` begins with the MPI library's own, and leaves it once another
algorithm was faster in three calls. Until the calls have taken long enough to pay for a choice it
adds nothing to them.

`auto:random=SEED` is for tests: each call gets an algorithm at random, of all that take it, with
random values of its parameters, alike on all ranks and again with the same seed, a whole number
from 1 to 2^53. There is no plan of it, so it cannot be shown, verified or simulated; in
reproducible mode it is refused.

## How to read the tables

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
SAID_ABOVE = ("progress", "random")


def page() -> str:
    import latecomer

    return HEAD.replace("@TABLE@", table()) + "".join(map(section, latecomer.collectives()))


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
        if parameter.name not in SAID_ABOVE
    ]


def choices(parameter) -> str:
    return f" ({' or '.join(parameter.choices)})" if parameter.choices else ""


if __name__ == "__main__":
    (ROOT / "docs" / "algorithms.md").write_text(page(), encoding="utf-8")
