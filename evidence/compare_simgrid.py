"""Prints the table of docs/simgrid.md: the same algorithms in SimGrid and on the virtual network.

Usage: .venv/bin/python evidence/compare_simgrid.py. The same for 4 and 8 ranks comes after
it. Takes about 20 s; nothing is random.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import latecomer
from latecomer.lab import simgrid

ROOT = Path(__file__).resolve().parent.parent
ALGORITHMS = {  # and their collectives
    "ring": "allreduce",
    "recursive_doubling": "allreduce",
    "rabenseifner": "allreduce",
    "segmented_ring": "allreduce",
    "sorted_linear_tree": "allreduce",
    "local_redirect": "reduce",
}
RANKS = (16, 4, 8)
SIZES = (64 << 10, 512 << 10, 4 << 20)  # bytes
NETWORK = "alpha=100us,beta=8ns,gamma=0.1ns,eager=64KiB"  # two links of 50 us, 1 Gbit/s
LATE_S = 0.2


@dataclass(frozen=True)
class Case:
    """One column."""

    title: str
    platform: str
    config: tuple[str, ...]
    late: bool = False


CASES = (
    Case("one switch, plain", "cluster16", simgrid.PLAIN),
    Case("rank 0 late by 200 ms", "cluster16", simgrid.PLAIN, True),
    Case("fat tree, plain", "fat_tree16", simgrid.PLAIN),
    Case("one switch, SimGrid's defaults", "cluster16", ()),
)


def ratio(case: Case, algorithm: str, ranks: int, size: int) -> float:
    """SimGrid's time after the last arrival over the virtual network's."""
    arrivals = [LATE_S if case.late else 0.0] + [0.0] * (ranks - 1)
    call = {
        "collective": ALGORITHMS[algorithm],
        "ranks": ranks,
        "count": size // 4,
        "network": NETWORK,
    }
    platform = ROOT / "examples" / "platforms" / f"{case.platform}.xml"
    found = simgrid.simulate(
        algorithm, **call, arrivals=arrivals, platform=platform, config=case.config
    )
    return found.after_last / latecomer.simulate(algorithm, **call, arrivals=arrivals).after_last


def row(algorithm: str, ranks: int) -> str:
    """A table's row: for each case the ratios of all sizes."""
    cells = (
        ", ".join(f"{ratio(case, algorithm, ranks, size):.2f}" for size in SIZES) for case in CASES
    )
    return f"| `{algorithm}` | " + " | ".join(cells) + " |"


def lines() -> Iterator[str]:
    """A table for each number of ranks; docs/simgrid.md has the first."""
    for ranks in RANKS:
        yield f"\n| {ranks} ranks | " + " | ".join(case.title for case in CASES) + " |"
        yield "| --- |" + " --- |" * len(CASES)
        yield from (row(algorithm, ranks) for algorithm in ALGORITHMS)


if __name__ == "__main__":
    for line in lines():
        print(line, flush=True)
