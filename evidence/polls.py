"""The what-if of programs that sleep or compute between calls that test for messages.

    .venv/bin/python evidence/polls.py [--steps 12]

Three ranks pass messages in a ring; rank 1 works eight times as long as the others. They work in
pieces with a test after each (chunks), go on with pieces until the message has come (tasks), or
test and sleep until it has come (naps). They work by the processor, by that of a helper thread, or
by sleeping, as if a device worked. Prints who is named, and the run time without rank 1's excess
beside that of the same program whose ranks all work alike. Takes a minute; run nothing else
meanwhile.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import dropin_jobs as jobs
from latecomer.report.analysis.facts import facts
from latecomer.report.analysis.lateness import Lateness

CODE = r"""
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static const char* how;
static void nap(double seconds) {
  const struct timespec time = {0, (long)(seconds * 1e9)};
  nanosleep(&time, NULL);
}
static double used(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}
static void* compute(void* seconds) {
  const double until = used() + *(double*)seconds;
  while (used() < until) {}
  return NULL;
}
static void work(double seconds) {
  pthread_t helper;
  if (strcmp(how, "sleep") == 0) nap(seconds);
  if (strcmp(how, "processor") == 0) compute(&seconds);
  if (strcmp(how, "thread") != 0) return;
  pthread_create(&helper, NULL, compute, &seconds);
  pthread_join(helper, NULL);
}
int main(int argc, char** argv) {
  static double in[512], out[512];
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const double piece = 1e-6 * atof(argv[2]);
  const int tasks = strcmp(argv[1], "tasks") == 0, naps = strcmp(argv[1], "naps") == 0;
  how = argv[3];
  MPI_Barrier(MPI_COMM_WORLD);
  for (int step = 0; step < atoi(argv[4]); ++step) {
    const double seconds = rank == atoi(argv[5]) ? 48e-3 : 6e-3;
    MPI_Request request;
    int done = 0;
    MPI_Irecv(in, 512, MPI_DOUBLE, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, &request);
    if (naps) work(seconds);
    for (double did = 0; !naps && did < seconds; did += piece) {
      work(piece);
      if (!done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    MPI_Send(out, 512, MPI_DOUBLE, (rank + 1) % ranks, 0, MPI_COMM_WORLD);
    while ((tasks || naps) && !done) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (!done) tasks ? work(piece) : nap(piece);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (step % 4 == 3) MPI_Allreduce(in, out, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  return MPI_Finalize();
}
"""
CASES = [
    *((form, piece, how) for form in ("chunks", "tasks")
      for how in ("sleep", "processor", "thread") for piece in (500, 2000)),
    *(("naps", piece, "sleep") for piece in (200, 1000, 5000)),
]  # fmt: skip
RANKS, NOBODY = 3, -1


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=12)
    steps = parser.parse_args().steps
    using = jobs.library("openmpi")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = jobs.built(using, CODE, folder / "polls")
        print("| program | named | run | predicted without | measured without | error |")
        print("| --- | --- | --- | --- | --- | --- |")
        for case in CASES:
            words = [program, *map(str, case), str(steps)]
            slow, usual = (jobs.traced(using, RANKS, [*words, str(who)], folder / f"{who}{case}")
                           for who in (1, NOBODY))  # fmt: skip
            print(_row(case, slow, usual), flush=True)


def _row(case: tuple[str, int, str], slow: Lateness, usual: Lateness) -> str:
    graph = slow.graph
    told = slow.run_seconds - graph.saved(graph.without([1]))
    late = ", ".join(map(str, facts(slow).late)) or "nobody"
    form, piece, how = case
    return (f"| {form}, {piece} us, {how} | {late} | {slow.run_seconds:.2f} s | {told:.2f} s "
            f"| {usual.run_seconds:.2f} s "
            f"| {(told - usual.run_seconds) / slow.run_seconds:+.0%} of the run |")  # fmt: skip


if __name__ == "__main__":
    main()
