"""In how many runs does `latecomer watch` name the right rank within 15 s?

Starts a job of steps of 20 ms again and again, looks at it as it runs, and lets one rank, another
one each time, take longer from the tenth second on. Prints a row for each run, and the count. Needs
a build and Open MPI or MPICH. Run from the root of the repository:

    .venv/bin/python evidence/watch_named.py [--runs 20] [--late 60] [--mpi openmpi]
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from latecomer.launch import mpi, preload, processes
from latecomer.report.watch.watcher import Watcher

HEALTHY_S, LIMIT_S, LOOK_S = 10.0, 15.0, 1.0
CODE = r"""
#include <mpi.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>
int main(int argc, char** argv) {
  const int late = argc > 1 ? atoi(argv[1]) : 0;
  const double from = argc > 2 ? atof(argv[2]) : 0, until = argc > 3 ? atof(argv[3]) : 0;
  const int late_us = argc > 4 ? 1000 * atoi(argv[4]) : 0;
  int rank, mine, on = 1;
  struct timeval now;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  while (on) {
    gettimeofday(&now, NULL);
    const double time = now.tv_sec + 1e-6 * now.tv_usec;
    usleep(rank == late && time > from ? late_us : 20000);
    mine = time < until;
    MPI_Allreduce(&mine, &on, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  }
  return MPI_Finalize();
}
"""


def watched(
    app: Path, using: mpi.Family, ranks: int, late: int, late_ms: int
) -> tuple[str, list[int]]:
    """After how many seconds of lateness the rank was named, and who else was, or too early."""
    with tempfile.TemporaryDirectory() as place:
        begin = time.time() + HEALTHY_S
        end = begin + LIMIT_S + 2 * LOOK_S
        words = [str(app), str(late), f"{begin:.3f}", f"{end:.3f}", str(late_ms)]
        launch = mpi.launch_command(using, ranks, words, allow_root=True)
        variables = {"LATECOMER_TRACE": place, "LATECOMER": "observe",
                     "LD_PRELOAD": str(preload.library(messages=True))}  # fmt: skip
        job = processes.start(preload.with_variables(launch.command, variables), env=launch.env)
        named, others = "never", set()
        try:
            with Watcher(Path(place)) as watcher:
                while time.time() < begin + LIMIT_S and named == "never":
                    view = watcher.look()
                    seconds = time.time() - begin
                    others |= {rank for rank in view.late if rank != late or seconds < 0}
                    if view.late == (late,) and seconds > 0:
                        named = f"{seconds:.1f} s"
                    time.sleep(LOOK_S)
        finally:
            processes.stop(job)
    return named, sorted(others)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--late", type=int, default=60, help="ms of a step of the late rank")
    parser.add_argument("--mpi", help="the MPI library, as in openmpi or mpich")
    given = parser.parse_args()
    using, rng, right = mpi.family(given.mpi), random.Random(given.seed), 0
    with tempfile.TemporaryDirectory() as place:
        source, app = Path(place, "job.c"), Path(place, "job")
        source.write_text(CODE)
        subprocess.run([str(using.mpicc), str(source), "-o", str(app)], check=True)
        print("| run | late rank | named after | others named | load |")
        print("| --- | --- | --- | --- | --- |")
        for run in range(given.runs):
            late = rng.randrange(given.ranks)
            named, others = watched(app, using, given.ranks, late, given.late)
            right += named != "never" and not others
            said = ", ".join(map(str, others)) or "nobody"
            print(f"| {run} | {late} | {named} | {said} | {os.getloadavg()[0]:.1f} |", flush=True)
    print(f"\nRight: {right} of {given.runs} runs ({given.ranks} ranks on {os.cpu_count()} cores).")
    return 0


if __name__ == "__main__":
    sys.exit(main())
