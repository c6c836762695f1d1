"""What a trace costs: a program with 1000 calls a second, with and without, in turns.

    .venv/bin/python evidence/trace_overhead.py [--pairs 12] [--mpi openmpi]

Two ranks compute for 1 ms and make an all-reduce of 8 bytes, 4000 times; then as many calls without
computation, for the cost of a call alone. Both with the drop-in library, in turns with and without
LATECOMER_TRACE. Prints medians, and the range of the pairs. Takes two minutes; run nothing else
meanwhile.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from latecomer.launch import mpi, preload

CODE = r"""
#include <mpi.h>
#include <stdio.h>
static void compute(double seconds) {
  const double end = MPI_Wtime() + seconds;
  while (MPI_Wtime() < end) {}
}
static double loop(int calls, double seconds, int count) {
  double mine[1024] = {1}, sum[1024];
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < calls; ++i) {
    compute(seconds);
    MPI_Allreduce(mine, sum, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  return MPI_Wtime() - begin;
}
int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  loop(1000, 0, 1);
  loop(1000, 0, 256);
  const double run = loop(4000, 1e-3, 1), brief = loop(100000, 0, 1), longer = loop(50000, 0, 256);
  if (rank == 0) printf("run %.6f short %.9f long %.9f\n", run, brief / 100000, longer / 50000);
  return MPI_Finalize();
}
"""


def main() -> None:
    """The medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--mpi", default="openmpi")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "loop.c").write_text(CODE)
        family = mpi.family(options.mpi)
        if family.mpicc is None:
            sys.exit(f"no mpicc for {family.describe()}")
        subprocess.run([family.mpicc, "-O2", folder / "loop.c", "-o", folder / "loop"], check=True)
        pairs = [_pair(family, folder, number) for number in range(options.pairs)]
    units = {"run": ("s for 4000 calls, each after 1 ms", 1.0), "short": ("us a call of 8 B", 1e6),
             "long": ("us a call of 2 KiB", 1e6)}  # fmt: skip
    for name, (unit, scale) in units.items():
        off, on = ([pair[kind][name] * scale for pair in pairs] for kind in (False, True))
        changes = sorted(b / a - 1 for a, b in zip(off, on, strict=True))
        more = sorted(b - a for a, b in zip(off, on, strict=True))
        print(f"{name}: without {median(off):.4f}, with {median(on):.4f} {unit}; "
              f"{median(more):+.4f}, {100 * median(changes):+.2f} % "
              f"({100 * changes[0]:+.2f} to {100 * changes[-1]:+.2f})")  # fmt: skip


def _pair(family: mpi.Family, folder: Path, number: int) -> dict[bool, dict[str, float]]:
    order = (False, True) if number % 2 == 0 else (True, False)
    return {traced: _once(family, folder, number, traced) for traced in order}


def _once(family: mpi.Family, folder: Path, number: int, traced: bool) -> dict[str, float]:
    launch = mpi.launch_command(family, 2, [str(folder / "loop")], allow_root=True)
    variables = {"LATECOMER_TRACE": str(folder / f"trace{number}")} if traced else {}
    command = preload.preloading(launch.command, preload.library(), variables)
    env = {**os.environ, **launch.env}
    ended = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=True)
    return {name: float(value) for name, value in re.findall(r"(\w+) ([\d.]+)", ended.stdout)}


if __name__ == "__main__":
    main()
