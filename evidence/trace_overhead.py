"""Measures in turns the cost of a trace, or of observing: 1000 calls or 10,000 messages a second.

    .venv/bin/python evidence/trace_overhead.py [--observe] [--turns 12] [--mpi openmpi]

Two ranks compute for 1 ms and make an all-reduce of 8 bytes, 4000 times; compute for 0.2 ms and
exchange 64 bytes by MPI_Sendrecv, 10,000 times; then as many calls without computation, for the
cost of a call alone. All with the drop-in library: without LATECOMER_TRACE, without it again (the
control), and with it and the loader for messages, in changing order. With --observe: without any
library, without again, and with LATECOMER=observe. Prints medians, and the range of the turns.
Takes four minutes; run nothing else meanwhile.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from latecomer.launch import mpi, preload

KINDS = ("off", "again", "traced")
CODE = r"""
#include <mpi.h>
#include <stdio.h>
static void compute(double seconds) {
  const double end = MPI_Wtime() + seconds;
  while (MPI_Wtime() < end) {}
}
static int rank;
static double exchange(int calls, double seconds) {
  char mine[64] = {0}, other[64];
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int i = 0; i < calls; ++i) {
    compute(seconds);
    MPI_Sendrecv(mine, 64, MPI_CHAR, 1 - rank, 0, other, 64, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }
  return MPI_Wtime() - begin;
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
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  loop(1000, 0, 1);
  loop(1000, 0, 256);
  const double run = loop(4000, 1e-3, 1), messages = exchange(10000, 2e-4);
  const double message = exchange(100000, 0) / 100000, brief = loop(100000, 0, 1);
  const double longer = loop(50000, 0, 256);
  if (rank == 0) {
    printf("run %.6f messages %.6f message %.9f short %.9f long %.9f\n", run, messages, message,
           brief / 100000, longer / 50000);
  }
  return MPI_Finalize();
}
"""


def main() -> None:
    """The medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=12)
    parser.add_argument("--mpi", default="openmpi")
    parser.add_argument("--observe", action="store_true", help="against no library at all")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "loop.c").write_text(CODE)
        family = mpi.family(options.mpi)
        if family.mpicc is None:
            sys.exit(f"no mpicc for {family.describe()}")
        subprocess.run([family.mpicc, "-O2", folder / "loop.c", "-o", folder / "loop"], check=True)
        turns = [_turn(family, folder, number, options.observe) for number in range(options.turns)]
    units = {"whole": ("s, from the launcher's start to its end", 1.0),
             "run": ("s for 4000 calls, each after 1 ms", 1.0),
             "messages": ("s for 10,000 exchanges, each after 0.2 ms", 1.0),
             "message": ("us an exchange", 1e6), "short": ("us a call of 8 B", 1e6),
             "long": ("us a call of 2 KiB", 1e6)}  # fmt: skip
    for name, (unit, scale) in units.items():
        off, again, on = ([turn[kind][name] * scale for turn in turns] for kind in KINDS)
        print(f"{name}: without {median(off):.4f} {unit}; {_changes(off, on)}; "
              f"control {_changes(off, again)}")  # fmt: skip


def _changes(off: list[float], other: list[float]) -> str:
    changes = sorted(100 * (b / a - 1) for a, b in zip(off, other, strict=True))
    more = median(b - a for a, b in zip(off, other, strict=True))
    middle = f"{median(changes):+.2f} % ({changes[0]:+.2f} to {changes[-1]:+.2f})"
    return f"{median(other):.4f}, {more:+.4f}, {middle}"


def _turn(
    family: mpi.Family, folder: Path, number: int, observe: bool
) -> dict[str, dict[str, float]]:
    launch = mpi.launch_command(family, 2, [str(folder / "loop")], allow_root=True)
    commands = dict.fromkeys(KINDS, launch.command)
    if observe:
        settings = {"LATECOMER": "observe", "LATECOMER_SUMMARY": str(folder / "summary.json")}
        library = preload.library(messages=True)
        commands["traced"] = preload.preloading(launch.command, library, settings)
    else:
        commands = dict.fromkeys(KINDS, preload.preloading(launch.command, preload.library(), {}))
        settings = {"LATECOMER_TRACE": str(folder / f"trace{number}")}
        library = preload.library(messages=True)
        commands["traced"] = preload.preloading(launch.command, library, settings)
    order = [*KINDS[number % 3 :], *KINDS[: number % 3]]
    return {kind: _once(commands[kind], {**os.environ, **launch.env}) for kind in order}


def _once(command: list[str], env: dict[str, str]) -> dict[str, float]:
    begin = time.monotonic()
    ended = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=True)
    found = re.findall(r"(\w+) ([\d.]+)", ended.stdout)
    return {name: float(value) for name, value in found} | {"whole": time.monotonic() - begin}


if __name__ == "__main__":
    main()
