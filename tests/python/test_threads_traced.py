"""Threads that use and make communicators, each rank's in another order."""

import json
import subprocess

import numpy as np
import pytest
from dropin_helpers import launcher_of, run_command
from latecomer.launch import preload, program
from latecomer.report.trace import read
from mpi_helpers import installed
from scenes_helpers import both_families

# Each thread has a communicator of all ranks and makes two more of it. Which thread comes first
# differs between ranks, and each makes calls of another kind.
CODE = r"""
#include <mpi.h>
#include <pthread.h>
#include <time.h>
enum { kinds = 4, turns = 5 };
static MPI_Comm comms[kinds];
static int rank, ranks;
static void call(int kind, MPI_Comm comm) {
  int in[8] = {1}, out[8];
  if (kind == 0) MPI_Barrier(comm);
  if (kind == 1) MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, comm);
  if (kind == 2) MPI_Alltoall(in, 1, MPI_INT, out, 1, MPI_INT, comm);
  if (kind == 3) MPI_Allgather(in, 1, MPI_INT, out, 1, MPI_INT, comm);
}
static void* use(void* mine) {
  const int kind = (int)((MPI_Comm*)mine - comms);
  MPI_Comm made[2];
  for (int i = 0; i < turns; ++i) call(kind, comms[kind]);
  MPI_Comm_dup(comms[kind], made);
  MPI_Comm_split(comms[kind], 0, -rank, made + 1);
  for (int i = 0; i < 2 * turns; ++i) call(kind, made[i % 2]);
  MPI_Comm_free(made);
  MPI_Comm_free(made + 1);
  return NULL;
}
int main(int argc, char** argv) {
  int provided;
  pthread_t threads[kinds];
  const struct timespec a_while = {0, 50000000};
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 0; i < kinds; ++i) MPI_Comm_dup(MPI_COMM_WORLD, comms + i);
  for (int i = 0; i < kinds; ++i) {
    pthread_create(threads + i, NULL, use, comms + (i + rank) % kinds);
    nanosleep(&a_while, NULL);
  }
  for (int i = 0; i < kinds; ++i) pthread_join(threads[i], NULL);
  return MPI_Finalize();
}
"""
KINDS = ["barrier", "allreduce", "alltoall", "allgather"]


@both_families
def test_all_calls_are_known_whichever_thread_comes_first(name, tmp_path):
    if program.find_built(preload.LIBRARY) is None:
        pytest.skip("the drop-in library is not built")
    (tmp_path / "code.c").write_text(CODE)
    subprocess.run([installed(name).mpicc, "-g", tmp_path / "code.c", "-o", tmp_path / "code",
                    "-lpthread"], check=True)  # fmt: skip
    variables = {
        "LATECOMER": "observe",
        "LATECOMER_SUMMARY": str(tmp_path / "job.json"),
        "LATECOMER_TRACE": str(tmp_path / "trace"),
        "LD_PRELOAD": str(preload.library(messages=True)),
    }
    launch = launcher_of(name, 3, [str(tmp_path / "code")])
    job = run_command(preload.with_variables(launch.command, variables), launch.env)
    assert (job.code, job.err) == (0, "")
    wanted = dict.fromkeys(KINDS, 15) | {"comm_dup": 8, "comm_split": 4}

    told = json.loads((tmp_path / "job.json").read_text())
    assert told["unmatched"] == 0
    found = dict.fromkeys(wanted, 0)
    for each in told["places"]:
        found[each["collective"]] += each["calls"]
    assert found == wanted

    trace = read(tmp_path / "trace")
    assert trace.remarks == []
    found = dict.fromkeys(wanted, 0)
    for group in trace.groups:
        for number in range(len(group)):
            found[trace.words[group.collective[number]]] += 1
        arrival, leave = group.times()
        assert np.isfinite(arrival).all()
        assert np.isfinite(leave).all()
    assert found == wanted
