"""Measures the first table of evidence/results/performance.md.

    .venv/bin/python evidence/performance.py [ITERATIONS]

16 hosts, 200 Mbit/s, 4 MiB float sum, Open MPI. Two runs: with the library's own choice as
`native`, and with its own ring forced by its parameters. Within a run all algorithms are
interleaved iteration by iteration, so the ratios printed hold although the machine is noisy.
Writes results/performance-default.csv and results/performance-ring.csv.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results"
LATE_MS = 700.0  # about twice the balanced time of a ring
FORCED_RING = {
    "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
    "OMPI_MCA_coll_tuned_allreduce_algorithm": "4",
}
ALGORITHMS = "native,ring,segmented_ring,prereduced_ring,sorted_linear_tree:segments=128"


def bench(name: str, iterations: str, variables: dict[str, str]) -> Path:
    """One run of the benchmark; the path of its CSV."""
    path = RESULTS / f"performance-{name}.csv"
    command = [str(ROOT / "latecomer"), "bench", "--nodes", "16", "--rate", "200mbit",
               "--bytes", "4MiB", "--mpi", "openmpi", "--algorithms", ALGORITHMS,
               "--arrivals", "onelate", "--delay", f"0,{LATE_MS:.0f}ms", "--compute", "20ms",
               "--iterations", iterations, "--warmup", "2", "--output", str(path)]  # fmt: skip
    print(f"== native is {name}", flush=True)
    subprocess.run(command, env={**os.environ, **variables}, check=True, timeout=1800)
    return path


def read(path: Path) -> dict[tuple[str, float], dict[str, float]]:
    """(algorithm, delay in ms) -> the row's numbers."""
    numbers = ("elapsed_ms", "after_last_ms", "run_ms", "wrong")
    with path.open(newline="", encoding="utf-8") as file:
        return {
            (row["algorithm"], float(row["delay_ms"])): {name: float(row[name]) for name in numbers}
            for row in csv.DictReader(file)
        }


def ratio(rows, what: str, delay: float, algorithm: str, other: str) -> str:
    """A sentence that compares the algorithm's time with the other's."""
    mine, others = rows[algorithm, delay][what], rows[other, delay][what]
    return f"{mine:.1f} / {others:.1f} ms = {mine / others:.3f}"


def report(default, ring) -> None:
    """The ratios, each beside its goal."""
    goals = [
        ("balanced, ring / Open MPI's forced ring, elapsed (goal 1.05 at most)",
         ratio(ring, "elapsed_ms", 0, "ring", "native")),
        ("balanced, segmented_ring / Open MPI's default, elapsed (goal below 1)",
         ratio(default, "elapsed_ms", 0, "segmented_ring", "native")),
        ("one late, sorted_linear_tree / ring, after the last arrival (goal 0.60 at most)",
         ratio(default, "after_last_ms", LATE_MS, "sorted_linear_tree", "ring")),
        ("one late, prereduced_ring / ring, elapsed (goal below 1)",
         ratio(default, "elapsed_ms", LATE_MS, "prereduced_ring", "ring")),
        ("one late, sorted_linear_tree / Open MPI's default, after the last arrival",
         ratio(default, "after_last_ms", LATE_MS, "sorted_linear_tree", "native")),
    ]  # fmt: skip
    for what, result in goals:
        print(f"{what}: {result}")
    wrong = sum(row["wrong"] for rows in (default, ring) for row in rows.values())
    print(f"wrong elements: {wrong:.0f}")


def main() -> None:
    iterations = sys.argv[1] if len(sys.argv) > 1 else "10"
    RESULTS.mkdir(exist_ok=True)
    default = bench("default", iterations, {})
    report(read(default), read(bench("ring", iterations, FORCED_RING)))


if __name__ == "__main__":
    main()
