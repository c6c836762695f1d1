"""`latecomer run --observe`, and what a run says at its end."""

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from dropin_helpers import PATIENT, run_command, shared_library
from lab_helpers import call
from latecomer.launch import mpi, preload, program
from latecomer.report.trace import read
from mpi_helpers import installed
from scenes_helpers import ROOT, both_families

# Rank 1 comes last: the others send it a word right before each call, and it takes some time after
# the last of these words.
CODE = r"""
#include <mpi.h>
#include <string.h>
#include <time.h>
enum { count = 1000 };
static double mine[8 * count], all[8 * count];
static int counts[8], places[8], rank, ranks;
static void come(void) {
  const struct timespec while_others_enter = {0, 60000000};
  if (rank != 1) {
    MPI_Send(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    return;
  }
  for (int i = 0; i < ranks; ++i) {
    if (i != 1) MPI_Recv(NULL, 0, MPI_BYTE, i, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  nanosleep(&while_others_enter, NULL);
}
static void call(const char* what) {
  MPI_Comm world = MPI_COMM_WORLD, twin;
  MPI_Request request;
  if (!strcmp(what, "barrier")) MPI_Barrier(world);
  if (!strcmp(what, "allreduce")) MPI_Allreduce(mine, all, count, MPI_DOUBLE, MPI_SUM, world);
  if (!strcmp(what, "short")) MPI_Allreduce(mine, all, 1, MPI_DOUBLE, MPI_SUM, world);
  if (!strcmp(what, "bcast")) MPI_Bcast(mine, count, MPI_DOUBLE, 1, world);
  if (!strcmp(what, "alltoall")) MPI_Alltoall(mine, count, MPI_DOUBLE, all, count, MPI_DOUBLE, world);
  if (!strcmp(what, "alltoallv")) {
    MPI_Alltoallv(mine, counts, places, MPI_DOUBLE, all, counts, places, MPI_DOUBLE, world);
  }
  if (!strcmp(what, "sparse")) { /* nothing to or from rank 1; rank 2 comes in between */
    const struct timespec half = {0, 30000000};
    int few[8];
    if (rank == 2) nanosleep(&half, NULL);
    for (int i = 0; i < ranks; ++i) few[i] = rank == 1 || i == 1 ? 0 : counts[i];
    MPI_Alltoallv(mine, few, places, MPI_DOUBLE, all, few, places, MPI_DOUBLE, world);
  }
  if (!strcmp(what, "reduce_scatter")) {
    MPI_Reduce_scatter(mine, all, counts, MPI_DOUBLE, MPI_SUM, world);
  }
  if (!strcmp(what, "reduce_scatter_block")) {
    MPI_Reduce_scatter_block(mine, all, count, MPI_DOUBLE, MPI_SUM, world);
  }
  if (!strcmp(what, "scatterv")) {
    MPI_Scatterv(mine, counts, places, MPI_DOUBLE, all, count, MPI_DOUBLE, 1, world);
  }
  if (!strcmp(what, "alone")) {
    MPI_Comm_split(world, rank, 0, &twin);
    MPI_Allreduce(mine, all, count, MPI_DOUBLE, MPI_SUM, twin);
    MPI_Allreduce(mine, all, 1, MPI_DOUBLE, MPI_SUM, twin);
    MPI_Barrier(twin);
    MPI_Comm_free(&twin);
  }
  if (!strcmp(what, "comm_dup")) { MPI_Comm_dup(world, &twin); MPI_Comm_free(&twin); }
  if (!strcmp(what, "ibarrier")) { MPI_Ibarrier(world, &request); MPI_Wait(&request, MPI_STATUS_IGNORE); }
  if (!strcmp(what, "iallreduce")) {
    MPI_Iallreduce(mine, all, count, MPI_DOUBLE, MPI_SUM, world, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 0; i < ranks; ++i) { counts[i] = count; places[i] = i * count; }
  MPI_Pcontrol(1);
  for (int i = 1; i < argc; ++i) {
    for (int turn = 0; turn < 4; ++turn) { come(); call(argv[i]); }
  }
  MPI_Pcontrol(0);
  return MPI_Finalize();
}
"""

# Counts what anybody calls between the two MPI_Pcontrol; the drop-in library calls PMPI functions.
COUNTS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
static int on, calls;
int MPI_Pcontrol(const int level, ...) {
  on = level;
  if (!level) fprintf(stderr, "calls beside the program's: %d\n", calls);
  return MPI_SUCCESS;
}
#define COUNTED(name, types, values) \
  int PMPI_##name types { \
    static int (*next) types; \
    if (!next) *(void**)&next = dlsym(RTLD_NEXT, "PMPI_" #name); \
    calls += on; \
    return next values; \
  }
COUNTED(Isend, (const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request* r), (b, n, t, to, tag, c, r))
COUNTED(Issend, (const void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request* r), (b, n, t, to, tag, c, r))
COUNTED(Irecv, (void* b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request* r), (b, n, t, to, tag, c, r))
COUNTED(Iprobe, (int from, int tag, MPI_Comm c, int* f, MPI_Status* s), (from, tag, c, f, s))
COUNTED(Comm_create, (MPI_Comm c, MPI_Group g, MPI_Comm* n), (c, g, n))
COUNTED(Allgather, (const void* b, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u, MPI_Comm c), (b, n, t, r, m, u, c))
"""

LOOKED_AT = ["barrier", "alltoall", "alltoallv", "reduce_scatter", "reduce_scatter_block", "scatterv",
             "comm_dup", "bcast"]  # fmt: skip


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """The program, by MPI library."""
    folder, made = tmp_path_factory.mktemp("observed"), {}

    def compiled(name):
        if program.find_built(preload.LIBRARY) is None:
            pytest.skip("the drop-in library is not built")
        if name not in made:
            (folder / "code.c").write_text(CODE)
            compiler, made[name] = installed(name).mpicc, folder / name
            command = [compiler, "-g", "-O0", folder / "code.c", "-o", made[name]]
            subprocess.run(command, check=True, timeout=600)
        return str(made[name])

    return compiled


def launch_of(name, programs, words, ranks=3):
    return mpi.launch_command(
        installed(name), ranks, [programs(name), *words], env=PATIENT, allow_root=True
    )


def with_library(name, programs, words, variables, behind=()):
    launch = launch_of(name, programs, words)
    preloaded = " ".join(map(str, [preload.library(), *behind]))
    command = preload.with_variables(launch.command, {**variables, "LD_PRELOAD": preloaded})
    job = run_command(command, launch.env)
    assert job.code == 0, job.err
    return job


def run_verb(name, programs, options, words):
    launch = launch_of(name, programs, words)
    verb = [str(ROOT / ".venv/bin/python"), "-m", "latecomer", "run", *options, "--"]
    return run_command([*verb, *launch.command], launch.env | {"PYTHONPATH": str(ROOT / "python")})


def run_until_named(name, programs, options_of, words):
    """`options_of`: by the turn. On a busy machine others than rank 1 may come late, too: then the
    job is run again, up to five times."""
    for turn in range(5):
        job = run_verb(name, programs, options_of(turn), words)
        assert job.code == 0, job.err
        if "Rank 1 on host" in job.err:
            break
    return job


@both_families
@pytest.mark.parametrize("mode", ["observe", "on"])
def test_every_collective_that_makes_ranks_wait_is_counted(name, mode, programs, tmp_path):
    file = tmp_path / "job.json"
    variables = {"LATECOMER": mode, "LATECOMER_SUMMARY": str(file)}
    for _ in range(5):  # on a busy machine others than rank 1 may come late, too
        with_library(name, programs, LOOKED_AT, variables)
        job = json.loads(file.read_text())
        if all(each["last"] == each["calls"] for each in job["places"]):
            break
    assert job["observes"] is (mode == "observe")
    assert (job["told"], job["unmatched"]) == (4 * len(LOOKED_AT), 0)
    assert job["last_rank"] == 1
    assert job["cost_s"][1] >= 0.9 * sum(job["cost_s"])
    found = {each["collective"]: each for each in job["places"]}
    assert set(found) == set(LOOKED_AT)
    for what, each in found.items():
        assert each["last"] == each["calls"] == 4, what
        assert each["cost_s"] >= 4 * 2 * 0.04, what  # two ranks wait for 60 ms, less what they take


LINKED = r"""
#include <latecomer/latecomer_mpi.h>
#include <mpi.h>
#include <string.h>
#include <time.h>
enum { count = 50000 };
static double mine[count], all[count];
int main(int argc, char** argv) {
  int rank;
  latecomer_request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  latecomer_set_algorithm(MPI_COMM_WORLD, "allreduce", argv[1]);
  latecomer_allreduce_init(mine, all, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                           &request);
  for (int i = 0; i < 6; ++i) {
    const struct timespec late = {0, 80000000};
    if (rank == 1) nanosleep(&late, NULL);
    if (i < 4) {
      latecomer_allreduce(mine, all, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    } else {
      latecomer_start(&request);
      latecomer_wait(&request);
    }
  }
  latecomer_request_free(&request);
  return MPI_Finalize();
}
"""


@both_families
@pytest.mark.parametrize("kind", ["so", "a"])
@pytest.mark.parametrize("algorithm", ["native", "ring"])
def test_calls_of_a_program_that_is_linked_with_latecomer_are_recorded(
    name, kind, algorithm, tmp_path
):
    library = ROOT / "build/release/lib" / f"liblatecomer_{name}.{kind}"
    if not library.exists() or program.find_built(preload.LIBRARY) is None:
        pytest.skip("the libraries are not built")
    (tmp_path / "linked.c").write_text(LINKED)
    built = tmp_path / "linked"
    command = [installed(name).mpicc, tmp_path / "linked.c", "-I", ROOT / "include", library,
               f"-Wl,-rpath,{library.parent}", "-lstdc++", "-lm", "-ldl", "-o", built]  # fmt: skip
    subprocess.run(command, check=True, timeout=600)
    trace, file = tmp_path / "trace", tmp_path / "job.json"
    variables = {"LATECOMER": "observe", "LATECOMER_SUMMARY": str(file),
                 "LATECOMER_TRACE": str(trace)}  # fmt: skip
    job = with_library(name, lambda _name: str(built), [algorithm], variables)
    assert "trace" not in job.err, job.err
    places = json.loads(file.read_text())["places"]
    assert {(each["collective"], each["bytes"]) for each in places} == {("allreduce", 400000)}
    assert sorted(each["calls"] for each in places) == [2, 4]
    (group,) = read(trace).groups
    assert np.isfinite(group.arrival).all()
    assert group.arrival.shape == (6, 3)
    assert set(group.bytes) == {400000}


@both_families
def test_short_calls_and_longer_ones_are_known(name, programs, tmp_path):
    file = tmp_path / "job.json"
    with_library(name, programs, ["short", "allreduce"],
                 {"LATECOMER": "observe", "LATECOMER_SUMMARY": str(file)})  # fmt: skip
    places = json.loads(file.read_text())["places"]
    assert sorted(each["bytes"] for each in places) == [8, 8000]
    assert {(each["calls"], each["last"]) for each in places} == {(4, 4)}


@both_families
@pytest.mark.parametrize("mode", ["observe", "on"])
def test_calls_on_communicators_of_one_rank_are_not_looked_at(name, mode, programs, tmp_path):
    file = tmp_path / "job.json"
    with_library(name, programs, ["alone"], {"LATECOMER": mode, "LATECOMER_SUMMARY": str(file)})
    job = json.loads(file.read_text())
    assert (job["told"], job["unmatched"], job["short_calls"]) == (4, 0, 0)
    assert [each["collective"] for each in job["places"]] == ["comm_split"]
    assert set(job["calls"].values()) == {0}


@both_families
def test_observing_adds_nothing_to_what_the_program_does(name, programs, tmp_path):
    (tmp_path / "counts.c").write_text(COUNTS)
    tool = shared_library(installed(name).mpicc, tmp_path / "counts.c", tmp_path / "counts.so")

    def counted(variables):
        found = with_library(name, programs, ["allreduce", "barrier", "bcast", "allreduce"],
                             variables, [tool]).err  # fmt: skip
        return sorted(map(int, re.findall(r"beside the program's: (\d+)", found)))

    assert counted({"LATECOMER": "observe"}) == counted({"LATECOMER": "off"})
    assert sum(counted({"LATECOMER_ALGORITHM": "ring"})) > 0  # they would be seen


@both_families
def test_the_variable_alone_is_enough(name, programs):
    said = with_library(name, programs, ["barrier"], {"LATECOMER": "observe"}).err
    assert re.search(r"latecomer: Of .* Rank 1 on host \S+ cost the others most: .* it came last in "
                     r"100 % of 4 calls\. latecomer only observed: ", said)  # fmt: skip
    assert "called from" not in said  # no tables


@both_families
def test_settings_that_choose_are_not_used(name, programs):
    said = with_library(name, programs, ["allreduce"],
                        {"LATECOMER": "observe", "LATECOMER_ALGORITHM": "ring"}).err  # fmt: skip
    assert said.count("LATECOMER_ALGORITHM is not used: LATECOMER=observe changes no") == 1


@both_families
def test_ranks_that_observe_and_ranks_that_do_not_are_named(name, programs):
    launch = launch_of(name, programs, ["allreduce"], ranks=1)
    parts = [
        preload.preloading(launch.command, preload.library(), {"LATECOMER": word})
        for word in ("observe", "on")
    ]
    from test_dropin_begin import local

    one, other = map(local, parts)
    job = run_command([*one, ":", *other[1:]], launch.env)
    assert job.code == 0, job.err
    assert "settings differ between ranks: LATECOMER" in job.err


@both_families
def test_four_lines_at_the_end(name, programs):
    job = run_verb(name, programs, ["--observe"], ["barrier", "iallreduce"])
    assert job.code == 0, job.err
    lines = [line for line in job.err.splitlines() if line.startswith("latecomer: ")]
    assert [line.split()[1] for line in lines] == ["who:", "cost:", "where:", "next:"]
    assert "Rank 1 on host" in lines[0]
    assert " % in 12 non-blocking collectives, messages between two ranks, windows" in lines[1]
    assert re.search(
        r"in the barrier at call \(code\.c:\d+\), where it comes last in 100 %", lines[2]
    )
    assert "latecomer run --compare -- " in lines[3]
    assert "called from" not in job.err


@both_families
def test_nothing_that_was_looked_at(name, programs):
    job = run_verb(name, programs, ["--observe"], ["ibarrier"])
    assert job.code == 0, job.err
    assert (
        "who:   Nobody is named: all its collectives are non-blocking, which are not timed."
        in job.err
    )
    assert "12 non-blocking collectives, messages between two ranks, windows and files" in job.err
    assert "next:  See for whom they wait there; then: " in job.err
    assert "run --trace" in job.err


@both_families
def test_a_trace_has_non_blocking_collectives(name, programs, tmp_path):
    folders = [str(tmp_path / f"trace-{turn}") for turn in range(5)]
    job = run_until_named(name, programs, lambda turn: ["--trace", folders[turn]], ["ibarrier"])
    assert "Rank 1 on host" in job.err


@both_families
def test_one_answer_with_a_trace_and_a_page(name, programs, tmp_path):
    page = tmp_path / "page.html"

    def options_of(turn):
        return ["--observe", "--trace", str(tmp_path / f"trace-{turn}"), "--html", str(page)]

    job = run_until_named(name, programs, options_of, ["allreduce", "barrier", "allreduce"])
    said = job.err + job.out
    for word in ("who:", "cost:", "where:", "next:"):
        assert said.count(f"latecomer: {word}") == 1
    assert "messages between two ranks" not in said  # they are in the trace
    assert "Rank 1 on host" in said
    assert "Rank 1 on host" in page.read_text()
    assert "from MPI_Init" not in said
    assert "What if" not in said


@both_families
def test_tables_where_they_are_asked_for(name, programs, tmp_path):
    options = ["--algorithm", "native", "--verbose"]
    said = run_verb(name, programs, options, ["allreduce"]).err
    assert "active on all 3 ranks" in said
    assert "called from" in said
    assert "native: by the MPI library, which was asked for" in said
    assert "found best" not in said
    file = tmp_path / "tables"
    said = run_verb(name, programs, ["-o", str(file)], ["allreduce"]).err
    assert "called from" not in said
    assert "called from" in file.read_text()
    assert "native: by the MPI library, which was chosen" in file.read_text()


def test_nobody_waits_for_a_rank_that_sends_him_nothing(programs, tmp_path):
    """With MPICH: Open MPI sends messages without data, too."""
    file = tmp_path / "job.json"
    variables = {"LATECOMER": "observe", "LATECOMER_SUMMARY": str(file)}
    with_library("mpich", programs, ["sparse"], variables)
    job = json.loads(file.read_text())
    assert (job["told"], job["last_rank"]) == (4, 2)
    assert job["cost_s"][1] < 0.25 * job["cost_s"][2]


@both_families
def test_hosts_whose_clocks_differ(name, programs, tmp_path, namespaces):
    """By hours, compared when MPI begins and when it ends, for a trace, too."""
    if not Path("/proc/self/timens_offsets").exists():
        pytest.skip("no time namespaces in this kernel")
    file = tmp_path / "job.json"
    variables = [
        "LATECOMER=observe",
        f"LATECOMER_SUMMARY={file}",
        f"LATECOMER_TRACE={tmp_path}/trace",
        f"LD_PRELOAD={preload.library()}",
    ]
    options = ["--nodes", "3", "--per-node", "2", "--rate", "200mbit", "--clock-skew", "9999s"]
    words = [programs(name), "barrier", "allreduce"]
    done = call("run", *options, "--mpi", name, "--quiet", "--", "env", *variables, *words)
    assert max(read(tmp_path / "trace").clock_error) < 0.5
    assert done.returncode == 0, done.stderr
    job = json.loads(file.read_text())
    assert 0 < job["clock_error_s"] < 100
    assert job["last_rank"] == 1
    assert {(each["calls"], each["last"]) for each in job["places"]} == {(4, 4)}
    assert job["waiting_s"] < job["elapsed_s"]


@both_families
def test_hosts_whose_clocks_no_call_tells(name, programs, tmp_path, namespaces):
    """Nobody waits for ranks in a broadcast but its root: the trace has the comparisons."""
    if not Path("/proc/self/timens_offsets").exists():
        pytest.skip("no time namespaces in this kernel")
    variables = [
        "LATECOMER=observe",
        f"LATECOMER_TRACE={tmp_path}/trace",
        f"LD_PRELOAD={preload.library()}",
    ]
    options = ["--nodes", "3", "--per-node", "2", "--rate", "200mbit", "--clock-skew", "9999s"]
    words = [programs(name), "bcast"]
    done = call("run", *options, "--mpi", name, "--quiet", "--", "env", *variables, *words)
    assert done.returncode == 0, done.stderr
    found = read(tmp_path / "trace")
    assert 0 <= max(found.clock_error) < 100
    assert max(found.begin) - min(found.begin) < 100 + max(found.clock_error)


@both_families
def test_these_variables_work_behind_any_launcher(name, programs):
    """As `LAUNCHER -n 3 env $(latecomer run --observe --preload-only) ./app` does."""
    told = subprocess.run(
        [str(ROOT / ".venv/bin/python"), "-m", "latecomer", "run", "--observe", "--preload-only"],
        env=launch_of(name, programs, []).env | {"PYTHONPATH": str(ROOT / "python")},
        capture_output=True, text=True, timeout=600, check=True,
    ).stdout.split()  # fmt: skip
    launch = launch_of(name, programs, ["barrier"])
    at = launch.command.index(programs(name))
    job = run_command([*launch.command[:at], "env", *told, *launch.command[at:]], launch.env)
    assert job.code == 0, job.err
    assert "Rank 1 on host" in job.err


def test_a_rank_alone_is_the_reason(programs):
    name = "openmpi"
    launch = launch_of(name, programs, [], ranks=1)
    verb = [str(ROOT / ".venv/bin/python"), "-m", "latecomer", "run", "--"]
    job = run_command([*verb, *launch.command], launch.env | {"PYTHONPATH": str(ROOT / "python")})
    assert job.code == 0, job.err
    assert "the program has one rank, which waits for nobody" in job.err
    assert Path(programs(name)).exists()
