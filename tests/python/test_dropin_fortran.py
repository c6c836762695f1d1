"""Programs that a Fortran compiler made, by each of Fortran's ways to MPI."""

import json
import subprocess
from pathlib import Path

import pytest
from dropin_helpers import (
    calls_of,
    cases_of,
    compiled_fortran,
    launcher_of,
    run_command,
    shared_library,
)
from latecomer.launch import preload
from mpi_helpers import installed
from scenes_helpers import ROOT, both_families

SOURCE = ROOT / "tests" / "dropin" / "fortran" / "collectives.F90"
BINDINGS = {"mpif_h": 1, "use_mpi": 2, "mpi_f08": 3}
RANKS = 3
HANDLED = 8 * 20 - 1  # the ranks are linked after the first call


# Opens what argv names as an interpreter does, whose own code has no MPI.
HOST = """
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char** argv) {
  void* const library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  int (*const run)(int, char**) = library ? (int (*)(int, char**))dlsym(library, "main") : NULL;
  if (run == NULL) return fprintf(stderr, "%s\\n", dlerror()), 1;
  return run(argc, argv);
}
"""

# As tools wrap a function of MPI for both languages.
TOOL = """
#include <mpi.h>
extern MPI_Fint mpi_fortran_in_place_;
int MPI_Allreduce(const void* in, void* out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return PMPI_Allreduce(in, out, n, type, op, comm);
}
void mpi_allreduce_(void* in, void* out, MPI_Fint* n, MPI_Fint* type, MPI_Fint* op, MPI_Fint* comm,
                    MPI_Fint* error) {
  *error = PMPI_Allreduce(in == &mpi_fortran_in_place_ ? MPI_IN_PLACE : in, out, *n,
                          PMPI_Type_f2c(*type), PMPI_Op_f2c(*op), PMPI_Comm_f2c(*comm));
}
"""


def compiled(name: str, binding: int, folder: Path, *more: str) -> str:
    made = folder / "collectives"
    return str(compiled_fortran(name, SOURCE, made, f"-DBINDING={binding}", *more))


def all_handled(launch, folder: Path, *behind: Path) -> None:
    """Runs the program with `fastest`, and with tools behind: no mistakes, and calls are handled."""
    variables = {
        "LD_PRELOAD": " ".join(map(str, (preload.library(), *behind))),
        "LATECOMER_ALGORITHM": "fastest",
        "LATECOMER_STATS": str(folder / "%r.json"),
    }
    job = run_command(preload.with_variables(launch.command, variables), launch.env)
    assert (job.code, job.err) == (0, "")
    assert "mistakes: 0" in job.out
    assert all(calls["handled"] >= HANDLED for calls in calls_of(folder, RANKS))


@both_families
@pytest.mark.parametrize("binding", BINDINGS)
def test_a_fortran_program(name, binding, tmp_path):
    cases_of(name)  # skips where nothing is built
    launch = launcher_of(name, RANKS, [compiled(name, BINDINGS[binding], tmp_path)])
    all_handled(launch, tmp_path)


@both_families
@pytest.mark.parametrize("mode", ["off", "observe", "on"])
@pytest.mark.parametrize("binding", BINDINGS)
def test_a_fortran_library_that_only_its_opener_sees(name, binding, mode, tmp_path):
    cases_of(name)
    library = compiled(name, BINDINGS[binding], tmp_path, "-shared", "-fPIC")
    host = tmp_path / "host"
    host.with_suffix(".c").write_text(HOST)
    subprocess.run(["cc", host.with_suffix(".c"), "-o", host, "-ldl"], check=True)
    launch = launcher_of(name, RANKS, [str(host), library])
    variables = {
        "LD_PRELOAD": str(preload.library()),
        "LATECOMER": mode,
        "LATECOMER_STATS": str(tmp_path / "%r.json"),
    }
    if mode == "on":
        variables["LATECOMER_ALGORITHM"] = "fastest"
    job = run_command(preload.with_variables(launch.command, variables), launch.env)
    assert (job.code, job.err) == (0, "")
    assert "mistakes: 0" in job.out
    if mode == "on":
        assert all(calls["handled"] >= HANDLED for calls in calls_of(tmp_path, RANKS))


PLACES = """
program places
  use mpi
  implicit none
  integer :: error, rank, i
  integer, parameter :: n = 5000
  integer :: mine(n), sum(n), counts(3)
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  mine = rank
  counts = 1000
  do i = 1, 3
    call MPI_Scan(mine, sum, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call MPI_Reduce_scatter(mine, sum, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  end do
  call MPI_Finalize(error)
end program
"""


@both_families
def test_the_place_in_the_program_is_told(name, tmp_path, monkeypatch):
    """Of calls that the library only looks at, too."""
    source = tmp_path / "places.F90"
    source.write_text(PLACES)
    monkeypatch.setitem(globals(), "SOURCE", source)
    launch = launcher_of(name, RANKS, [compiled(name, BINDINGS["use_mpi"], tmp_path)])
    variables = {
        "LD_PRELOAD": str(preload.library()),
        "LATECOMER": "observe",
        "LATECOMER_SUMMARY": str(tmp_path / "job.json"),
    }
    job = run_command(preload.with_variables(launch.command, variables), launch.env)
    assert job.code == 0, job.err
    places = json.loads((tmp_path / "job.json").read_text())["places"]
    assert {each["collective"] for each in places} == {"scan", "reduce_scatter"}
    assert all(each["site"].startswith("collectives+") for each in places), places


def test_a_tool_behind_that_wraps_fortran_calls_for_the_program(tmp_path):
    program = compiled("openmpi", BINDINGS["mpif_h"], tmp_path)
    source = tmp_path / "tool.c"
    source.write_text(TOOL)
    tool = shared_library(installed("openmpi").mpicc, source, tmp_path / "tool.so")
    launch = launcher_of("openmpi", RANKS, [program])
    all_handled(launch, tmp_path, tool)
