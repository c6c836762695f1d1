"""The drop-in library beside what else there is in a job: other tools, memory, ranks that die."""

import functools
import itertools
import json
import re
import subprocess
from pathlib import Path

import pytest
from dropin_helpers import (
    LATE,
    Job,
    calls_of,
    cases_of,
    launcher_of,
    run_cases,
    run_command,
    shared_library,
)
from latecomer.launch import preload
from mpi_helpers import AS_USERS, installed
from scenes_helpers import both_families

# In the manner of mpiP: times calls, and calls PMPI functions.
TIMES = """
#include <mpi.h>
#include <stdio.h>
static int calls;
static double inside;
int MPI_Allreduce(const void* in, void* out, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c) {
  const double entered = MPI_Wtime();
  const int code = PMPI_Allreduce(in, out, n, t, op, c);
  inside += MPI_Wtime() - entered;
  ++calls;
  return code;
}
int MPI_Comm_dup(MPI_Comm c, MPI_Comm* d) { return PMPI_Comm_dup(c, d); }
int MPI_Barrier(MPI_Comm c) { return PMPI_Barrier(c); }
int MPI_Init(int* argc, char*** argv) { return PMPI_Init(argc, argv); }
int MPI_Finalize(void) {
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("tool saw some: %d\\n", calls > 0 && inside > 0);
  fflush(stdout);
  return PMPI_Finalize();
}
"""

# In the manner of Caliper: calls the function that the program would have called without it.
WRAPS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
static int calls;
int MPI_Allreduce(const void* in, void* out, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c) {
  int (*next)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
  *(void**)&next = dlsym(RTLD_NEXT, "MPI_Allreduce");
  ++calls;
  return next(in, out, n, t, op, c);
}
int MPI_Finalize(void) {
  int (*next)(void), rank;
  *(void**)&next = dlsym(RTLD_NEXT, "MPI_Finalize");
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("tool saw some: %d\\n", calls > 0);
  fflush(stdout);
  return next();
}
"""


# As Intel MPI, which has datatypes that it computes nothing on, and says so by the error handler.
REFUSES = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
int PMPI_Reduce_local(const void* in, void* out, int n, MPI_Datatype t, MPI_Op op) {
  int (*next)(const void*, void*, int, MPI_Datatype, MPI_Op);
  *(void**)&next = dlsym(RTLD_NEXT, "PMPI_Reduce_local");
  if (t != MPI_OFFSET) return next(in, out, n, t, op);
  printf("refused\\n");
  fflush(stdout);
  PMPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OP);
  return MPI_ERR_OP;
}
"""

# Rank 0 prints the counts and datatypes of the calls that reach it.
SEES = """
#include <mpi.h>
#include <stdio.h>
static void see(const char* what, int n, MPI_Datatype t) {
  char name[MPI_MAX_OBJECT_NAME];
  int rank, length;
  PMPI_Type_get_name(t, name, &length);
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("seen %s %d %s\\n", what, n, name);
  fflush(stdout);
}
int MPI_Allreduce(const void* in, void* out, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c) {
  see("allreduce", n, t);
  return PMPI_Allreduce(in, out, n, t, op, c);
}
int MPI_Reduce(const void* in, void* out, int n, MPI_Datatype t, MPI_Op op, int r, MPI_Comm c) {
  see("reduce", n, t);
  return PMPI_Reduce(in, out, n, t, op, r, c);
}
int MPI_Bcast(void* b, int n, MPI_Datatype t, int r, MPI_Comm c) {
  see("bcast", n, t);
  return PMPI_Bcast(b, n, t, r, c);
}
"""


@pytest.fixture(scope="module")
def seeing(tmp_path_factory):
    """The library that sees calls, by MPI library."""
    return functools.cache(lambda name: tool_of(name, SEES, tmp_path_factory.mktemp(name)))


def tool_of(name, source, folder):
    """A library for LD_PRELOAD."""
    (folder / "tool.c").write_text(source)
    return shared_library(installed(name).mpicc, folder / "tool.c", folder / "tool.so")


def run_with_tool(name, source, first, folder):
    """The calls of each rank that latecomer counted; none if it was inactive."""
    tool = tool_of(name, source, folder)
    launch = launcher_of(name, 2, [cases_of(name), "reductions", "nonblocking"])
    both = [str(tool), str(preload.library())]
    variables = {
        "LD_PRELOAD": " ".join(both if first else reversed(both)),
        "LATECOMER_ALGORITHM": "fastest",
        "LATECOMER_STATS": str(folder / "%r.json"),
    }
    job = run_command(preload.with_variables(launch.command, variables), launch.env).check()
    assert "tool saw some: 1" in job.out
    return calls_of(folder, 2) if (folder / "0.json").exists() else []


@both_families
@pytest.mark.parametrize(
    ("source", "first"), list(itertools.product([TIMES, WRAPS], [True, False]))
)
def test_other_tools_keep_working_and_calls_are_handled(name, source, first, tmp_path):
    calls = run_with_tool(name, source, first, tmp_path)
    assert all(each["handled"] > 0 for each in calls)
    assert len(calls) == 2


@both_families
@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("limit", [0, 1, 100, 1024])
def test_calls_below_the_limit_and_no_others_go_to_the_mpi_library(
    name, counted, limit, seeing, tmp_path
):
    """By the loader, or by the library itself where calls are counted: it makes no difference."""
    settings = {"LATECOMER_ALGORITHM": "fastest", "LATECOMER_MIN_BYTES": str(limit)}
    if counted:
        settings["LATECOMER_STATS"] = str(tmp_path / "%r.json")
    job = run_cases(name, 2, ["limits"], settings, behind=[seeing(name)]).check()
    assert seen_in(job.out) == limits_below(limit)


@both_families
@pytest.mark.parametrize(("ranks", "settings"), [(2, {"LATECOMER": "off"}), (1, {})])
def test_a_tool_behind_sees_all_calls_of_an_inactive_library(name, ranks, settings, seeing):
    job = run_cases(name, ranks, ["limits"], settings, behind=[seeing(name)]).check()
    assert seen_in(job.out) == limits_below(2000)


def seen_in(output):
    """The calls that the tool saw: name, elements and type. Longer ones may be in pieces."""
    seen = re.findall(r"^seen (\w+) (\d+) MPI_(\w+)$", output, re.MULTILINE)
    return {(what, int(count), name) for what, count, name in seen if int(count) <= 1040}


def limits_below(limit):
    """The calls of the case `limits` whose vectors have fewer bytes."""
    sizes = {"SIGNED_CHAR": 1, "SHORT": 2, "INT": 4, "FLOAT": 4, "DOUBLE": 8}
    return {
        (what, count, name)
        for what in ("allreduce", "reduce", "bcast")
        for name, size in sizes.items()
        for count in range(1, 1040 // size + 1)
        if (count * size <= 16 or abs(count * size - 100) <= 10 or count * size >= 1010)
        and count * size < limit
    }


@both_families
def test_what_is_never_looked_at_is_counted(name, tmp_path):
    report = tmp_path / "job.json"
    cases = ["nonblocking", "persistent"]
    run_cases(name, 2, cases, {"LATECOMER_SUMMARY": str(report)}).check()
    job = json.loads(report.read_text())
    assert job["nonblocking"] == 2 * 30
    # Open MPI has persistent collectives from version 5 on.
    assert job["persistent"] in ((2,) if name == "mpich" else (0, 2))


@both_families
def test_an_estimate_is_about_calls_that_were_handled(name, tmp_path):
    """Whether `auto` handles calls of this program is a matter of times; then it has tried both."""
    program, report = tmp_path / "late", tmp_path / "job.json"
    source = Path(__file__).parents[2] / "examples" / "late" / "late.c"
    subprocess.run([installed(name).mpicc, "-o", program, source], check=True)
    launch = launcher_of(name, 3, [str(program), "20"])
    settings = {"LATECOMER_SUMMARY": str(report), "LD_PRELOAD": str(preload.library())}
    ended = run_command(preload.with_variables(launch.command, settings), launch.env)
    assert ended.code == 0, ended.err
    job = json.loads(report.read_text())
    assert 0 <= job["estimated_calls"] <= job["calls"]["handled"]
    assert (job["saved_s"] is None) == (job["estimated_calls"] == 0)
    assert abs(job["saved_s"] or 0) <= job["elapsed_s"]
    assert (job["saved_range_s"] is None) == (job["saved_s"] is None)


def test_a_datatype_that_the_mpi_library_refuses_does_not_end_the_program(tmp_path):
    """MPICH is not asked, since its errors would end the program."""
    name = "openmpi"
    tool = tool_of(name, REFUSES, tmp_path)
    settings = {"LATECOMER_ALGORITHM": "fastest", "LATECOMER_STATS": str(tmp_path / "%r.json")}
    job = run_cases(name, 2, ["reductions"], settings, behind=[tool]).check()
    assert job.out.count("refused") == 2
    assert all(calls["handled"] > 0 for calls in calls_of(tmp_path, 2))


# ---- memory


@both_families
def test_a_communicator_costs_little_memory_whatever_its_ranks(name):
    """While its calls are only watched; the case counts the bytes that are allocated.

    The MPI library's own lists grow, too, where messages come before they are expected: the least
    of some jobs counts.
    """
    found = {2: [], 5: []}
    for _ in range(5):
        for ranks, bytes_of in found.items():
            job = run_cases(name, ranks, ["memory"]).check()
            bytes_of.append(int(re.findall(r"bytes of a communicator: (\d+)", job.out)[0]))
        few, many = map(min, found.values())
        assert few > 1000, "none was watched"
        if many - few < 3 * 64:
            return
    pytest.fail(f"bytes: {found}")


# ---- failure


def job_with_a_death(name: str, how: str, variables: dict[str, str]) -> Job:
    """A job in which a rank ends during a call.

    MPICH's launcher misses such an end in 4 of 100 jobs without the library, too, and waits on:
    it gets another try after many times what a job takes.
    """
    for _ in range(4 if name == "mpich" else 1):
        told = {"TEST_DEATH": how, **variables}
        job = run_cases(name, 3, ["dies"], told, within_s=20 if name == "mpich" else 600)
        if job.code != LATE:
            break
    return job


@both_families
@pytest.mark.parametrize("how", ["kill", "exit"])
def test_a_rank_that_dies_in_a_call_ends_the_job_as_without_the_library(name, how, monkeypatch):
    """Not in a time of its own: the library has not yet said that it waits."""
    monkeypatch.setenv(*AS_USERS)
    without = job_with_a_death(name, how, {"LATECOMER": "off"})
    job = job_with_a_death(name, how, {"LATECOMER_ALGORITHM": "allreduce:ring"})
    assert job.code not in (0, LATE)
    assert without.code not in (0, LATE)
    if how == "kill":  # after an exit MPICH gives the code of that rank, or of those that it ends
        assert job.code == without.code
    assert "waiting for" not in job.err
