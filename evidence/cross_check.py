"""Compares the lab, the virtual network and SimGrid: .venv/bin/python evidence/cross_check.py.

Prints a Markdown table of times after the last arrival: measured in the lab, and what the virtual
network and SimGrid say, as ratios to that. Both are given the lab's costs as the benchmark plans
with them; nothing is fitted. Measured rows stay in results/cross/*.csv and are not measured again.
"""

from __future__ import annotations

import csv
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import latecomer
from latecomer.core.compiled import core
from latecomer.lab import simgrid
from latecomer.lab.bench.places import lab_costs
from latecomer.lab.cluster import LabSpec
from latecomer.launch import mpi

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results" / "cross"
ALGORITHMS = ("ring", "segmented_ring", "generalized", "rabenseifner", "recursive_doubling",
              "two_tree", "sorted_linear_tree", "prereduced_ring")  # fmt: skip
RANKS, SIZES, DELAYS_MS = (4, 8), ("64KiB", "4MiB"), (0, 400)
RATE = 200_000_000
PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="lab" prefix="node-" suffix="" radical="0-15" speed="1Gf" bw="{bw:.0f}Bps" lat="50us"
           sharing_policy="SPLITDUPLEX"/>
</platform>
"""


@dataclass(frozen=True)
class Case:
    """One row of the benchmark."""

    ranks: int
    size: str
    delay_ms: int
    algorithm: str
    parameters: str
    after_last_ms: float


def measured(ranks: int, size: str) -> list[Case]:
    """Rows of all algorithms, for each of the two delays."""
    version = mpi.family("openmpi").version
    path = RESULTS / f"openmpi-{version}-{ranks}-{size}-{','.join(ALGORITHMS)}.csv"
    if not path.exists():
        command = [str(ROOT / "latecomer"), "bench", "--nodes", str(ranks), "--rate", "200mbit",
                   "--bytes", size, "--mpi", "openmpi", "--arrivals", "onelate", "--late-rank", "1",
                   "--delay", ",".join(f"{each}ms" for each in DELAYS_MS), "--compute", "5ms",
                   "--algorithms", ",".join(ALGORITHMS), "--iterations", "5", "--warmup", "2",
                   "--output", str(path)]  # fmt: skip
        print(f"== {ranks} hosts, {size}", file=sys.stderr, flush=True)
        subprocess.run(command, check=True, timeout=900, stdout=subprocess.DEVNULL)
    with path.open(newline="", encoding="utf-8") as file:
        return [
            Case(ranks, size, round(float(row["delay_ms"])), row["algorithm"], row["parameters"],
                 float(row["after_last_ms"]))
            for row in csv.DictReader(file)
        ]  # fmt: skip


def arguments(case: Case, network: str) -> dict:
    """Arguments of latecomer.simulate."""
    late = [0.0] * case.ranks
    late[1] = case.delay_ms / 1e3
    count = core.parse_bytes("size", case.size) // 4
    return {"ranks": case.ranks, "count": count, "network": network, "late": late}


def virtual_ms(case: Case, network: str) -> float:
    """After the last arrival."""
    what = arguments(case, network)
    late = what.pop("late")
    return 1e3 * latecomer.simulate(case.algorithm, **what, arrivals=late).after_last


def simgrid_ms(case: Case, network: str, platform: Path) -> float:
    """After the last arrival; settings closest to alpha and beta."""
    what = arguments(case, network)
    late = what.pop("late")
    found = simgrid.simulate(
        case.algorithm, **what, arrivals=late, platform=platform, config=simgrid.PLAIN
    )
    return 1e3 * found.after_last


def main() -> None:
    RESULTS.mkdir(parents=True, exist_ok=True)
    platform = RESULTS / "lab.xml"
    print("| ranks | vector | late by | algorithm | lab, ms | virtual / lab | SimGrid / lab |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for ranks in RANKS:
        spec = LabSpec(nodes=ranks, rate_bits_per_s=RATE)
        network = lab_costs(spec)
        speed = 1 / spec.beta_seconds_per_byte
        platform.write_text(PLATFORM.format(bw=speed), encoding="utf-8")
        for size in SIZES:
            for case in measured(ranks, size):
                lab = case.after_last_ms
                others = [virtual_ms(case, network), simgrid_ms(case, network, platform)]
                ratios = " | ".join(f"{each / lab:.2f}" for each in others)
                print(f"| {ranks} | {size} | {case.delay_ms} ms | `{case.algorithm}` | {lab:.1f} | "
                      f"{ratios} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
