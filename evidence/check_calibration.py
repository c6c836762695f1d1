"""Compares all-reduces simulated with the calibrated network with those of the emulated cluster.

    ./latecomer calibrate --nodes 8 --rate 200mbit && .venv/bin/python evidence/check_calibration.py

Prints a table of balanced float sums. The two sides use the saved network, for plans too.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

LATECOMER = Path(__file__).resolve().parents[1] / "latecomer"
ALGORITHMS = ("ring", "segmented_ring", "rabenseifner", "recursive_doubling")
SIZES = ("64KiB", "1MiB", "4MiB")
BENCH = "--nodes 8 --rate 200mbit --mpi openmpi --iterations 10 --warmup 2 --compute 20ms"


def rows_of(verb: str, size: str, options: list[str]) -> tuple[dict[str, dict], dict]:
    """Rows by algorithm, and what was used."""
    asked = ["--algorithms", ",".join(ALGORITHMS), "--bytes", size, "--arrivals", "balanced"]
    command = [str(LATECOMER), verb, *asked, *options, "--json"]
    found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return {row["algorithm"]: row for row in found["rows"]}, found["used"]


def main() -> None:
    """Print the table."""
    print("| bytes | algorithm | measured, ms [quartiles] | simulated, ms | simulated / measured |")
    print("| --- | --- | --- | --- | --- |")
    for size in SIZES:
        measured, used = rows_of("bench", size, BENCH.split())
        simulated, _ = rows_of("simulate", size, ["--nodes", "8", "--network", used["costs"]])
        for name, row in measured.items():
            real, virtual = row["elapsed_ms"], simulated[name]["elapsed_ms"]
            label = f"`{name}` {row['parameters']}".strip()
            spread = f"{row['elapsed_q1_ms']:.1f} to {row['elapsed_q3_ms']:.1f}"
            cells = (size, label, f"{real:.1f} [{spread}]", f"{virtual:.1f}")
            print(f"| {' | '.join(cells)} | {virtual / real:.2f} |")
    print(f"\nnetwork: {used['costs']}; {used['costs_from']}")


if __name__ == "__main__":
    main()
