"""`latecomer run --observe` names who is late, and not who waited for him before a collective."""

import json
import subprocess

import pytest
from dropin_helpers import PATIENT, run_command
from latecomer.launch import mpi, preload, program
from mpi_helpers import installed
from scenes_helpers import ROOT, both_families

RANKS = 4
SLOW = 1
# Rank 1 computes longer. In `wavefront` each rank waits for the one before, in `probes` by calls
# that test; in `rows` halves of the ranks meet first.
CODE = r"""
#include <mpi.h>
#include <string.h>
#include <time.h>
enum { steps = 6 };
static int rank, ranks;
static double mine = 1, sum;
static void compute(void) {
  const struct timespec usual = {0, 2000000}, slow = {0, 80000000};
  nanosleep(rank == 1 ? &slow : &usual, NULL);
}
static void await_word(int tests) {
  int found = !tests;
  if (rank == 0) return;
  while (!found) MPI_Iprobe(rank - 1, 0, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
  MPI_Recv(NULL, 0, MPI_BYTE, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void pass_word(void) {
  if (rank + 1 < ranks) MPI_Send(NULL, 0, MPI_BYTE, rank + 1, 0, MPI_COMM_WORLD);
}
static void edges(void) {
  MPI_Request request[4];
  const int before = (rank + ranks - 1) % ranks, after = (rank + 1) % ranks;
  MPI_Irecv(NULL, 0, MPI_BYTE, before, 1, MPI_COMM_WORLD, &request[0]);
  MPI_Irecv(NULL, 0, MPI_BYTE, after, 2, MPI_COMM_WORLD, &request[1]);
  MPI_Isend(NULL, 0, MPI_BYTE, after, 1, MPI_COMM_WORLD, &request[2]);
  MPI_Isend(NULL, 0, MPI_BYTE, before, 2, MPI_COMM_WORLD, &request[3]);
  MPI_Waitall(4, request, MPI_STATUSES_IGNORE);
}
int main(int argc, char** argv) {
  MPI_Comm half;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* const what = argv[1];
  const int is_front = !strcmp(what, "wavefront"), probes = !strcmp(what, "probes");
  MPI_Comm_split(MPI_COMM_WORLD, rank < ranks / 2, 0, &half);
  for (int step = 0; step < steps; ++step) {
    if (is_front || probes) await_word(probes);
    compute();
    if (is_front || probes) pass_word();
    if (!strcmp(what, "edges") || !strcmp(what, "alone")) edges();
    if (!strcmp(what, "rows")) MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, half);
    if (strcmp(what, "alone")) MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Comm_free(&half);
  return MPI_Finalize();
}
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The program, by MPI library."""
    folder, made = tmp_path_factory.mktemp("own_waits"), {}

    def compiled(name):
        if program.find_built(preload.LIBRARY) is None:
            pytest.skip("the drop-in library is not built")
        if name not in made:
            (folder / "code.c").write_text(CODE)
            command = [installed(name).mpicc, folder / "code.c", "-o", folder / name]
            subprocess.run(command, check=True, timeout=600)
            made[name] = str(folder / name)
        return made[name]

    return compiled


def observed(name, built, what, *options):
    """The output of `latecomer run --observe --json`."""
    launch = mpi.launch_command(
        installed(name), RANKS, [built(name), what], env=PATIENT, allow_root=True
    )
    verb = [str(ROOT / ".venv/bin/python"), "-m", "latecomer", "run", "--observe", "--json"]
    job = run_command([*verb, *options, "--", *launch.command],
                      launch.env | {"PYTHONPATH": str(ROOT / "python")})  # fmt: skip
    assert job.code == 0, job.err
    return json.loads(job.out)


@both_families
@pytest.mark.parametrize("what", ["wavefront", "probes", "edges", "rows"])
def test_who_waited_before_a_collective_is_not_charged(name, what, built):
    # On a busy machine others than the slow rank may compute long, too.
    for _ in range(5):
        costs = observed(name, built, what)["job"]["cost_s"]
        if 2 * costs[SLOW] > sum(costs):
            break
    assert 2 * costs[SLOW] > sum(costs), costs


@both_families
def test_waits_in_messages_are_told_though_nothing_else_is_known(name, built):
    found = observed(name, built, "alone")
    assert found["job"]["elsewhere_s"] > 0
    assert " in messages between two ranks, windows and files" in found["answer"]["cost"]


@both_families
def test_messages_are_left_alone_where_that_is_asked(name, built):
    found = observed(name, built, "wavefront", "--no-messages")
    assert found["job"]["elsewhere_s"] is None
    assert "not measured: messages between two ranks" in found["answer"]["cost"]


@pytest.mark.parametrize("messages", [False, True])
def test_by_hand_the_loader_decides(messages, built):
    launch = mpi.launch_command(
        installed("openmpi"), RANKS, [built("openmpi"), "edges"], env=PATIENT, allow_root=True
    )
    library = str(preload.library(messages=messages))
    named = {"LATECOMER": "observe", "LD_PRELOAD": library}
    job = run_command(preload.with_variables(launch.command, named), launch.env)
    assert job.code == 0, job.err
    beside = "messages between two ranks, windows and files"
    assert (f"in {beside} (means of" in job.err) is messages, job.err
    assert (f"not measured: {beside}" in job.err) is not messages, job.err
