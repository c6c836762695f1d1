"""Ways out of a call, and of MPI: exceptions and jumps of the program, and what it does in MPI_Finalize."""

import subprocess

import pytest
from dropin_helpers import Job, launcher_of, run_command
from latecomer.launch import preload
from mpi_helpers import installed
from scenes_helpers import both_families

MODES = [
    {},
    {"LATECOMER": "observe"},
    {"LATECOMER_STATS": "1"},
    {"LATECOMER_ALGORITHM": "fastest", "LATECOMER_MIN_BYTES": "0"},
]


def compiled(name, folder, text, ending):
    """The program, by C++'s compiler or by C's."""
    source, program = folder / f"program.{ending}", folder / "program"
    source.write_text(text)
    compiler = str(installed(name).mpicc)
    if ending == "cpp":
        compiler = compiler.replace("mpicc", "mpicxx")
    built = subprocess.run(
        [compiler, source, "-o", program], capture_output=True, text=True, check=False
    )
    if ending == "cpp" and built.returncode != 0:
        pytest.skip(f"no C++ with this MPI: {built.stderr[-200:]}")
    assert built.returncode == 0, built.stderr
    return str(program)


@pytest.fixture(scope="module")
def program_of(tmp_path_factory):
    """As compiled(), each program once."""
    made = {}

    def built(name, text, ending):
        if (name, text) not in made:
            made[name, text] = compiled(name, tmp_path_factory.mktemp(name), text, ending)
        return made[name, text]

    return built


def run_program(name, ranks, command, variables) -> Job:
    launch = launcher_of(name, ranks, command)
    settings = {"LD_PRELOAD": str(preload.library()), **variables}
    return run_command(preload.with_variables(launch.command, settings), launch.env)


# ---- exceptions and jumps

HANDLERS = """
#include <mpi.h>
#include <setjmp.h>
#include <cstdio>
#include <stdexcept>
#include <vector>
static jmp_buf place;
static bool jumps;
static void handle(MPI_Comm*, int*, ...) {
  if (jumps) longjmp(place, 1);
  throw std::runtime_error("from the handler");
}
static bool leaves_by(MPI_Comm comm, std::vector<double>& data) try {
  if (jumps && setjmp(place) != 0) return true;
  MPI_Bcast(data.data(), 4000, MPI_DOUBLE, 77, comm);
  return false;
} catch (const std::runtime_error&) {
  return true;
}
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, mistakes = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(handle, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  std::vector<double> in(4000, 1), out(4000);
  for (int call = 0; call < 60; ++call) {
    jumps = call % 2 == 0;
    if (call % 10 == 5 || call % 10 == 6) mistakes += !leaves_by(MPI_COMM_WORLD, in);
    if ((call + rank) % 3 == 0) {
      PMPI_Allreduce(in.data(), out.data(), 4000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    } else {
      MPI_Allreduce(in.data(), out.data(), 4000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    for (const double each : out) mistakes += each != ranks;
  }
  if (rank == 0) std::printf("leaves: %d\\n", mistakes);
  return MPI_Finalize();
}
"""


@both_families
@pytest.mark.parametrize("algorithm", ["auto", "fastest"])
def test_error_handlers_may_leave_a_call_by_an_exception_or_a_jump(name, algorithm, program_of):
    variables = {"LATECOMER_MIN_BYTES": "0", "LATECOMER_ALGORITHM": algorithm}
    run_program(name, 3, [program_of(name, HANDLERS, "cpp")], variables).check()


OPERATOR = """
#include <mpi.h>
#include <cstdio>
#include <new>
#include <stdexcept>
static int kind;
static void refuse(void*, void*, int*, MPI_Datatype*) {
  if (kind == 0) throw std::runtime_error("from the operator");
  if (kind == 1) throw std::bad_alloc();
  throw 5;
}
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks, caught = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  static long in[2000], out[2000];
  MPI_Op refusing;
  MPI_Op_create(refuse, 1, &refusing);
  for (int call = 0; call < 4; ++call) {
    MPI_Allreduce(in, out, 2000, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  }
  for (kind = 0; kind < 3; ++kind) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    try {
      MPI_Allreduce(in, out, 2000, MPI_LONG, refusing, comm);
    } catch (const std::runtime_error& error) {
      caught += kind == 0;
    } catch (const std::bad_alloc&) {
      caught += kind == 1;
    } catch (int) {
      caught += kind == 2;
    }
    MPI_Allreduce(in, out, 2000, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Reduce(rank == 0 ? MPI_IN_PLACE : &caught, &caught, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) std::printf("not_caught: %d\\n", 3 * ranks - caught);
  return MPI_Finalize();
}
"""


@both_families
@pytest.mark.parametrize("mode", MODES, ids=str)
def test_exceptions_of_an_operator_reach_the_program(name, mode, program_of):
    """MPI promises nothing; with both libraries it works, on two ranks that combine alike."""
    run_program(name, 2, [program_of(name, OPERATOR, "cpp")], mode).check()


# ---- MPI_Finalize

FINALIZE = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
enum { count = 3000 };
static MPI_Comm twin;
static int in[count], out[count], rank, ranks, collectives, mistakes;
static void last_calls(void) {
  for (int call = 0; call < 3; ++call) {
    for (int i = 0; i < count; ++i) in[i] = rank + i + call;
    MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, twin);
    for (int i = 0; i < count; ++i) {
      mistakes += out[i] != ranks * (i + call) + ranks * (ranks - 1) / 2;
    }
    MPI_Barrier(twin);
  }
}
static int at_the_end(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)comm, (void)keyval, (void)value, (void)extra;
  if (collectives) {
    last_calls();
  } else {
    MPI_Send(&rank, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("at_the_end: %d\\n", mistakes);
  return MPI_SUCCESS;
}
int main(int argc, char** argv) {
  int keyval;
  MPI_Init(&argc, &argv);
  collectives = atoi(argv[1]);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_dup(MPI_COMM_WORLD, &twin);
  last_calls();
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_the_end, &keyval, NULL);
  if (rank == 0) {
    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
  } else if (collectives) {
    last_calls();
  } else if (rank == 1) {
    MPI_Recv(&mistakes, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  return MPI_Finalize() != MPI_SUCCESS || mistakes != 0;
}
"""


@both_families
@pytest.mark.parametrize("collectives", [0, 1])
def test_other_ranks_may_wait_for_what_a_rank_does_in_finalize(
    name, collectives, program_of, tmp_path
):
    """The functions of MPI_COMM_SELF's attributes run first in MPI_Finalize, and may use MPI."""
    program = program_of(name, FINALIZE, "c")
    modes = [*MODES, {"LATECOMER_TRACE": str(tmp_path / "trace")}]
    for mode in modes:
        run_program(name, 3, [program, str(collectives)], mode).check()
