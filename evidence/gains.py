"""The what-if beside the truth, for many ways in which ranks wait for each other.

    .venv/bin/python evidence/gains.py [--mpi mpich] [--ranks 4] [--steps 100] [KIND ...]

Ranks sleep as if they computed, for times drawn by a fixed seed; one takes twice as long. Prints
who is named, and the run time predicted for that rank no slower than the median of the ranks,
beside that of the same program whose rank is that fast, run twice. Takes three minutes; run nothing
else meanwhile.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

import dropin_jobs as jobs
from latecomer.report.analysis.facts import facts
from latecomer.report.analysis.lateness import Lateness

KINDS = {
    "allreduce": "work(); MPI_Allreduce(a, b, 100, MPI_DOUBLE, MPI_SUM, all);",
    "all-to-all": "work(); MPI_Alltoall(a, 9, MPI_DOUBLE, b, 9, MPI_DOUBLE, all);",
    "scan": "work(); MPI_Scan(a, b, 9, MPI_DOUBLE, MPI_SUM, all);",
    "broadcast": "work(); MPI_Bcast(a, 100, MPI_DOUBLE, 0, all);",
    "broadcast, roots in turn": "work(); MPI_Bcast(a, 100, MPI_DOUBLE, step % ranks, all);",
    "reduce": "work(); MPI_Reduce(a, b, 100, MPI_DOUBLE, MPI_SUM, 0, all);",
    "reduce, roots in turn":
        "work(); MPI_Reduce(a, b, 100, MPI_DOUBLE, MPI_SUM, step % ranks, all);",
    "gather, 320 kB": "work(); MPI_Gather(a, 40000, MPI_DOUBLE, c, 40000, MPI_DOUBLE, 0, all);",
    "groups": "work(); MPI_Allreduce(a, b, 9, MPI_DOUBLE, MPI_SUM, step % 2 ? left : right);",
    "non-blocking allreduce": "work(); MPI_Iallreduce(a, b, 100, MPI_DOUBLE, MPI_SUM, all, q);"
        "work(); MPI_Wait(q, MPI_STATUS_IGNORE);",
    "non-blocking broadcast": "work(); MPI_Ibcast(a, 100, MPI_DOUBLE, step % ranks, all, q);"
        "work(); MPI_Wait(q, MPI_STATUS_IGNORE);",
    "halo": "receive(50); work(); send(50); MPI_Waitall(4, q, MPI_STATUSES_IGNORE);",
    "halo, 320 kB": "receive(40000); work(); send(40000); MPI_Waitall(4, q, MPI_STATUSES_IGNORE);",
    "halo, allreduce at times":
        "receive(50); work(); send(50); MPI_Waitall(4, q, MPI_STATUSES_IGNORE);"
        "if (step % 20 == 19) MPI_Allreduce(a, b, 1, MPI_DOUBLE, MPI_SUM, all);",
    "sendrecv":
        "work(); MPI_Sendrecv(a, 9, MPI_DOUBLE, next, 0, b, 9, MPI_DOUBLE, before, 0, all, &s);",
    "wavefront": "if (rank > 0) MPI_Recv(b, 9, MPI_DOUBLE, before, 0, all, &s); work();"
        "if (rank < ranks - 1) MPI_Send(a, 9, MPI_DOUBLE, next, 0, all);",
    "wavefront, 320 kB": "if (rank > 0) MPI_Recv(c, 40000, MPI_DOUBLE, before, 0, all, &s); work();"
        "if (rank < ranks - 1) MPI_Send(a, 40000, MPI_DOUBLE, next, 0, all);",
    "probe": "work(); MPI_Isend(a, 9, MPI_DOUBLE, next, 0, all, q);"
        "MPI_Probe(before, 0, all, &s); MPI_Recv(b, 9, MPI_DOUBLE, before, 0, all, &s);"
        "MPI_Wait(q, &s);",
    "another line for the slow rank":
        "if (rank == slow) { work(); MPI_Sendrecv(a, 9, MPI_DOUBLE, next, 0, b, 9, MPI_DOUBLE,"
        " before, 0, all, &s); } else { work(); MPI_Sendrecv(a, 9, MPI_DOUBLE, next, 0, b, 9,"
        " MPI_DOUBLE, before, 0, all, &s); }",
    "tasks from a root": "if (rank > 0) { MPI_Recv(b, 1, MPI_DOUBLE, 0, 0, all, &s); work();"
        " MPI_Send(a, 1, MPI_DOUBLE, 0, 1, all); } else { for (int to = 1; to < ranks; ++to)"
        " MPI_Send(a, 1, MPI_DOUBLE, to, 0, all); for (int to = 1; to < ranks; ++to)"
        " MPI_Recv(b, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 1, all, &s); }",
    "neighbourhood all-to-all":
        "work(); MPI_Neighbor_alltoall(a, 50, MPI_DOUBLE, c, 50, MPI_DOUBLE, ring);",
    "non-blocking neighbourhood all-gather":
        "work(); MPI_Ineighbor_allgather(a, 50, MPI_DOUBLE, c, 50, MPI_DOUBLE, ring, q);"
        "work(); MPI_Wait(q, MPI_STATUS_IGNORE);",
    "fences": "work(); MPI_Win_fence(0, win);"
        "MPI_Put(a, 9, MPI_DOUBLE, next, 0, 9, MPI_DOUBLE, win);"
        "MPI_Win_fence(MPI_MODE_NOSUCCEED, win);",
    "wavefront by epochs":
        "if (rank > 0) { MPI_Win_post(low, 0, win); MPI_Win_wait(win); } work();"
        "if (rank < ranks - 1) { MPI_Win_start(high, 0, win);"
        " MPI_Put(a, 9, MPI_DOUBLE, next, 0, 9, MPI_DOUBLE, win); MPI_Win_complete(win); }",
    "collective writing": "work(); MPI_File_write_at_all(file, 8 * rank, a, 1, MPI_DOUBLE, &s);",
}  # fmt: skip
CODE = r"""
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#define all MPI_COMM_WORLD
static int rank, ranks, slow, even, computed, before, next;
static double a[40000], b[40000], c[64 * 40000];
static MPI_Request q[4];
static MPI_Comm ring;
static MPI_Win win;
static MPI_File file;
static MPI_Group low, high;
static double drawn(int of) {
  srand48(1000003 * (long)of + computed);
  drand48();
  return (of == slow ? 2 : 1) * (0.85 + 0.3 * drand48());
}
static int by_size(const void* one, const void* two) {
  const double x = *(const double*)one, y = *(const double*)two;
  return (x > y) - (x < y);
}
/* 5 ms, more or less. Even: the slow rank is no slower than the lower median rank. */
static void work(void) {
  double times[64], mine = drawn(rank);
  for (int of = 0; of < ranks; ++of) times[of] = drawn(of);
  qsort(times, (size_t)ranks, sizeof *times, by_size);
  const double typical = times[(ranks - 1) / 2];
  if (even && rank == slow && mine > typical) mine = typical;
  const struct timespec time = {0, (long)(5e6 * mine)};
  nanosleep(&time, NULL);
  ++computed;
}
static void receive(int count) {
  MPI_Irecv(b, count, MPI_DOUBLE, before, 0, all, &q[0]);
  MPI_Irecv(c, count, MPI_DOUBLE, next, 1, all, &q[1]);
}
static void send(int count) {
  MPI_Isend(a, count, MPI_DOUBLE, next, 0, all, &q[2]);
  MPI_Isend(a, count, MPI_DOUBLE, before, 1, all, &q[3]);
}
static void prepare(const char* name) {
  const int periodic = 1;
  MPI_Group group;
  MPI_Cart_create(all, 1, &ranks, &periodic, 0, &ring);
  MPI_Win_create(c, sizeof c, sizeof *c, MPI_INFO_NULL, all, &win);
  MPI_File_open(all, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  MPI_Comm_group(all, &group);
  MPI_Group_incl(group, 1, &before, &low);
  MPI_Group_incl(group, 1, &next, &high);
}
int main(int argc, char** argv) {
  MPI_Comm left, right;
  MPI_Status s;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &ranks);
  slow = ranks / 2;
  even = strcmp(argv[2], "even") == 0;
  before = (rank + ranks - 1) % ranks;
  next = (rank + 1) % ranks;
  MPI_Comm_split(all, rank < ranks / 2, rank, &left);
  MPI_Comm_split(all, rank % 2, rank, &right);
  prepare(argv[3]);
  MPI_Barrier(all);
  for (int step = 0; step < atoi(argv[1]); ++step) { BODY }
  MPI_Win_free(&win);
  MPI_File_close(&file);
  (void)s, (void)receive, (void)send;
  return MPI_Finalize();
}
"""


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--mpi", choices=("openmpi", "mpich"), default="openmpi")
    parser.add_argument("kinds", nargs="*", metavar="KIND", help="(default: all)")
    words = parser.parse_args()
    if not 2 <= words.ranks <= 64:
        parser.error(f"--ranks: '{words.ranks}' is not usable; right would be 2 to 64")
    if unknown := set(words.kinds) - set(KINDS):
        parser.error(f"KIND: {sorted(unknown)[0]!r} is none; right would be: {', '.join(KINDS)}")
    using = jobs.library(words.mpi)
    ratios = []
    print("| program | named | run | predicted | really | predicted gain / real |")
    print("| --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as name:
        for kind in words.kinds or KINDS:
            folder = Path(name, kind.replace(" ", "-"))
            folder.mkdir()
            code = CODE.replace("BODY", KINDS[kind].replace("} else {", "}\nelse {"))
            program = jobs.built(using, code, folder / "program")
            run, *even = (
                jobs.traced(using, words.ranks, [program, str(words.steps), how, f"{program}.out"],
                            Path(tempfile.mkdtemp(dir=folder)))
                for how in ("slow", "even", "even"))  # fmt: skip
            ratios.append(_print_row(kind, run, even, words.ranks // 2))
    print(f"\nPredicted gain by the real one: mean {statistics.mean(ratios):.2f}, "
          f"{min(ratios):.2f} to {max(ratios):.2f}")  # fmt: skip


def _print_row(kind: str, run: Lateness, even: list[Lateness], slow: int) -> float:
    graph = run.graph
    gain = graph.saved(graph.without([slow]))
    really = [each.run_seconds for each in even]
    ratio = gain / (run.run_seconds - statistics.mean(really))
    late = ", ".join(map(str, facts(run).late)) or "nobody"
    print(f"| {kind} | {late} | {run.run_seconds:.2f} s | {run.run_seconds - gain:.2f} s "
          f"| {really[0]:.2f}, {really[1]:.2f} s | {ratio:.2f} |", flush=True)  # fmt: skip
    return ratio


if __name__ == "__main__":
    main()
