"""Prints the tables of docs/simgrid.md: the same algorithms in SimGrid and on the virtual network.

Usage: .venv/bin/python evidence/compare_simgrid.py. Takes about 20 s; nothing is random.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

import latecomer  # noqa: E402
from latecomer.lab import simgrid  # noqa: E402

ALGORITHMS = {  # and their collectives
    "ring": "allreduce",
    "recursive_doubling": "allreduce",
    "rabenseifner": "allreduce",
    "segmented_ring": "allreduce",
    "sorted_linear_tree": "allreduce",
    "local_redirect": "reduce",
}
RANKS = (4, 8, 16)
BYTES = {"64 KiB": 1 << 16, "512 KiB": 1 << 19, "4 MiB": 1 << 22}
NETWORK = "alpha=100us,beta=8ns,gamma=0.1ns,eager=64KiB"  # two links of 50 us, 1 Gbit/s
LATE_S = 0.2


@dataclass(frozen=True)
class Case:
    """One table."""

    title: str
    platform: str
    config: tuple[str, ...]
    late: bool = False


CASES = (
    Case("cluster16, plain, balanced", "cluster16", simgrid.PLAIN),
    Case("cluster16, plain, rank 0 late by 200 ms", "cluster16", simgrid.PLAIN, True),
    Case("fat_tree16, plain, balanced", "fat_tree16", simgrid.PLAIN),
    Case("cluster16, SimGrid's defaults, balanced", "cluster16", ()),
    Case("cluster16, SimGrid's defaults, rank 0 late by 200 ms", "cluster16", (), True),
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


def row(case: Case, algorithm: str, some_ranks: Sequence[int] = RANKS) -> str:
    """A table's row; of its beginning if not all ranks are asked for."""
    cells = (
        f" {ratio(case, algorithm, ranks, size):.2f} |"
        for ranks in some_ranks
        for size in BYTES.values()
    )
    return f"| `{algorithm}` |" + "".join(cells)


def lines() -> Iterator[str]:
    """All tables, as docs/simgrid.md has them."""
    sizes = [f"{ranks}: {size}" for ranks in RANKS for size in BYTES]
    for case in CASES:
        yield f"\n| {case.title} | " + " | ".join(sizes) + " |"
        yield "| --- |" + " --- |" * len(sizes)
        yield from (row(case, algorithm) for algorithm in ALGORITHMS)


if __name__ == "__main__":
    for line in lines():
        print(line, flush=True)
