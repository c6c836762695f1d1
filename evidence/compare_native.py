"""Compares balanced all-reduces with the MPI libraries' own: evidence/compare_native.py.

For every MPI library that is found (LATECOMER_MPI names folders of further ones), every number of
hosts and every size one run of `latecomer bench`, in which the library's own all-reduce (`native`)
and ours are interleaved iteration by iteration. Prints Markdown tables of ratios ours / native of
the median elapsed time: below 1 ours is faster. Every run's rows go to results/native/*.csv, and
what is there already is not measured again, so that an interrupted run can go on. 15 ms between
calls let the links' token buckets fill up again. Few algorithms at a time: connections that have
just been used are faster, so that one algorithm prepares the way for others with the same peers.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
from pathlib import Path

from latecomer.core.compiled import core
from latecomer.launch import mpi

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results" / "native"
SIZES = ("1KiB", "4KiB", "16KiB", "64KiB", "256KiB", "1MiB", "4MiB")


def iterations(size: str) -> int:
    """More for short vectors, whose times scatter more."""
    count = core.parse_bytes("--sizes", size)
    return 80 if count <= 64 << 10 else 30 if count < 1 << 20 else 12


def environment(library: mpi.Family) -> dict[str, str]:
    """The variables that make a run use this library, also a program built against an older one."""
    folder = library.mpirun.resolve().parent
    if library.found != "LATECOMER_MPI":
        return {**os.environ, "LATECOMER_MPI": ""}
    libraries = f"{folder.parent / 'lib'}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    return {**os.environ, "LATECOMER_MPI": str(folder), "LD_LIBRARY_PATH": libraries}


def measure(library: mpi.Family, ranks: int, size: str, ours: str) -> list[dict[str, str]]:
    """The rows of one run."""
    path = RESULTS / f"{library.name}-{library.version}-{ranks}-{size}-{ours}.csv"
    if not path.exists():
        command = [str(ROOT / "latecomer"), "bench", "--nodes", str(ranks), "--rate", "200mbit",
                   "--bytes", size, "--mpi", library.name, "--arrivals", "balanced",
                   "--algorithms", f"native,{ours}", "--compute", "15ms",
                   "--iterations", str(iterations(size)), "--warmup", "4",
                   "--output", str(path)]  # fmt: skip
        print(f"== {library.describe()}, {ranks} hosts, {size}", file=sys.stderr, flush=True)
        quiet = subprocess.DEVNULL
        subprocess.run(command, env=environment(library), check=True, timeout=900, stdout=quiet)
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def cell(rows: list[dict[str, str]]) -> str:
    """The best of ours over native."""
    native, *ours = rows
    best = min(ours, key=lambda row: float(row["elapsed_ms"]))
    first = best["parameters"].split()[:1]
    name = first[0].removeprefix("as=") if best["algorithm"] == "fastest" else best["algorithm"]
    return f"{float(best['elapsed_ms']) / float(native['elapsed_ms']):.2f} {name}"


def report(library: mpi.Family, ranks: list[int], sizes: list[str], ours: str) -> None:
    """One library's table."""
    print(f"\n| {library.describe()} | " + " | ".join(f"P = {each}" for each in ranks) + " |")
    print("| --- " * (len(ranks) + 1) + "|")
    wrong = 0
    for size in sizes:
        found = [measure(library, each, size, ours) for each in ranks]
        wrong += sum(int(row["wrong"]) for rows in found for row in rows)
        print(f"| {size} | " + " | ".join(cell(rows) for rows in found) + " |", flush=True)
    print(f"\nwrong elements: {wrong}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ranks", default="5,7,12,16", help="numbers of hosts")
    parser.add_argument("--sizes", default=",".join(SIZES), help="of the vector")
    parser.add_argument("--ours", default="fastest", help="algorithms, separated by commas")
    parser.add_argument("--mpi", default="", help="only libraries whose name and version hold this")
    options = parser.parse_args()
    RESULTS.mkdir(parents=True, exist_ok=True)
    ranks = [int(each) for each in options.ranks.split(",")]
    for library in mpi.families():
        if options.mpi in library.describe():
            report(library, ranks, options.sizes.split(","), options.ours)


if __name__ == "__main__":
    main()
