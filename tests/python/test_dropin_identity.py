"""Which MPI library a process uses, and however its functions are called."""

import subprocess
from pathlib import Path

import pytest
from dropin_helpers import cases_of, launcher_of, run_cases, run_command, shared_library
from latecomer.launch import preload
from mpi_helpers import installed
from scenes_helpers import both_families

PLUGIN = """
#include <mpi.h>
#include <stdio.h>
int go(void) {
  int rank, one = 1, sum = 0;
  static double in[4000], out[4000];
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < 4000; ++i) in[i] = i;
  for (int i = 0; i < 20; ++i) {
    MPI_Allreduce(in, out, 4000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("sum %d of %g\\n", sum, out[7]);
  return MPI_Finalize();
}
"""
HOST = """
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char** argv) {
  for (int i = 1; i < argc - 1; ++i) {
    if (dlopen(argv[i], RTLD_NOW | RTLD_LOCAL) == NULL) return printf("%s\\n", dlerror()), 1;
  }
  void* const plugin = dlopen(argv[argc - 1], RTLD_NOW | RTLD_LOCAL);
  if (plugin == NULL) return printf("%s\\n", dlerror()), 1;
  return ((int (*)(void))dlsym(plugin, "go"))();
}
"""
# In the manner of MPItrampoline: all of MPI in a library of another name.
LAYER = """
#include <dlfcn.h>
#include <stdlib.h>
#include <mpi.h>
static void* library;
__attribute__((constructor)) static void open_library(void) {
  if ((library = dlopen(getenv("BEHIND"), RTLD_NOW | RTLD_LOCAL)) == NULL) abort();
}
#define BOTH(ret, name, types, words)                           \\
  ret PMPI_##name types {                                       \\
    return ((ret (*) types)dlsym(library, "PMPI_" #name))words; \\
  }                                                             \\
  ret MPI_##name types { return PMPI_##name words; }
BOTH(int, Get_version, (int* a, int* b), (a, b))
BOTH(int, Init, (int* a, char*** b), (a, b))
BOTH(int, Finalize, (void), ())
BOTH(int, Comm_rank, (MPI_Comm a, int* b), (a, b))
BOTH(int, Allreduce, (const void* a, void* b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f),
     (a, b, c, d, e, f))
"""


def compiled(name, folder, stem, source, *options):
    (folder / f"{stem}.c").write_text(source)
    to = folder / stem
    compiler = installed(name).mpicc
    subprocess.run([compiler, folder / f"{stem}.c", "-o", to, *options, "-ldl"], check=True)
    return to


def library_of(name):
    """The file of the MPI library that programs of the family are linked with."""
    listing = subprocess.run(["ldd", cases_of(name)], capture_output=True, text=True, check=True)
    lines = [line.split() for line in listing.stdout.splitlines()]
    return next(words[2] for words in lines if words[0].startswith(("libmpi.so", "libmpich.so")))


def run_host(name, host, *libraries, **variables):
    launch = launcher_of(name, 3, [str(host), *map(str, libraries)])
    settings = {"LD_PRELOAD": str(preload.library()), "LATECOMER_STATS": "1", **variables}
    return run_command(preload.with_variables(launch.command, settings), launch.env)


@both_families
@pytest.mark.parametrize("off", [False, True])
def test_an_mpi_library_is_known_whatever_its_files_name(name, off, tmp_path):
    """The program opens it under another name, and calls it from a plugin."""
    other_name = tmp_path / "libsomething.so"
    library = Path(library_of(name))
    other_name.symlink_to(library)
    (tmp_path / "mpich").symlink_to(library.parent / "mpich")  # what a wheel's library needs
    plugin = compiled(name, tmp_path, "plugin.so", PLUGIN, "-shared", "-fPIC")
    host = compiled(name, tmp_path, "host", HOST)
    variables = {"LATECOMER": "off"} if off else {}
    job = run_host(name, host, other_name, plugin, **variables)
    assert (job.code, job.out) == (0, "sum 3 of 21\n"), job.err
    assert ("latecomer: Of " in job.err) != off


def test_an_mpi_library_that_is_not_known_is_left_alone(tmp_path):
    """It is what the program calls, though the process holds one that is known behind it."""
    layer = compiled("openmpi", tmp_path, "liblayer.so.5", LAYER, "-shared", "-fPIC")
    main = PLUGIN + "int main(void) { return go(); }"
    program = tmp_path / "program"
    (tmp_path / "program.c").write_text(main)
    include = subprocess.run([installed("openmpi").mpicc, "-showme:incdirs"], capture_output=True,
                             text=True, check=True).stdout.split()  # fmt: skip
    # The data that Open MPI's header names for MPI_COMM_WORLD and its kin.
    data = f"-Wl,--no-as-needed,{library_of('openmpi')},-rpath,{tmp_path}"
    subprocess.run(["cc", tmp_path / "program.c", "-o", program, *[f"-I{at}" for at in include],
                    layer, data], check=True)  # fmt: skip
    launch = launcher_of("openmpi", 3, [str(program)])
    settings = {"LD_PRELOAD": str(preload.library()), "BEHIND": library_of("openmpi")}
    job = run_command(preload.with_variables(launch.command, settings), launch.env)
    assert (job.code, job.out) == (0, "sum 3 of 21\n"), job.err
    assert job.err.count("latecomer: inactive, the MPI library carries out all calls: ") == 1
    assert "several MPI libraries" in job.err


@both_families
@pytest.mark.parametrize("algorithm", ["auto", "fastest"])
@pytest.mark.parametrize("spelling", ["rank", "call", "both"])
def test_a_call_may_be_spelled_in_two_ways(name, algorithm, spelling):
    """By PMPI_ on some ranks, in some calls, or on other ranks in each call."""
    variables = {"LATECOMER_ALGORITHM": algorithm, "LATECOMER_MIN_BYTES": "0"}
    run_cases(name, 3, [f"spelled_by_{spelling}"], variables).check()


@pytest.mark.parametrize(
    ("name", "case", "algorithm", "ranks"),
    [
        ("openmpi", "on_a_rank", "fastest", 3),
        ("openmpi", "at_first", "auto", 2),
        ("mpich", "on_a_rank", "auto", 3),
        ("mpich", "in_turn", "fastest", 3),
    ],
)
def test_a_rank_may_pass_the_library_by(name, case, algorithm, ranks):
    """It is noticed before data move, and the calls are left to the MPI library.

    Each job waits it out: for a rank 5 s, for rank 0 15 to 20 s. How ranks wait does not depend on
    the MPI library.
    """
    variables = {"LATECOMER_ALGORITHM": algorithm, "LATECOMER_MIN_BYTES": "0"}
    job = run_cases(name, ranks, [f"past_all_{case}"], variables).check()
    assert "did not come to link ranks" in job.err


def test_jobs_that_tolerate_the_death_of_ranks_are_left_alone(tmp_path):
    """A library stands for Open MPI 5's variable, which says so."""
    (tmp_path / "tolerant.c").write_text("_Bool ompi_ftmpi_enabled = 1;\n")
    tolerant = shared_library(
        installed("openmpi").mpicc, tmp_path / "tolerant.c", tmp_path / "tolerant.so"
    )
    job = run_cases("openmpi", 3, ["reductions"], {"LATECOMER_STATS": "1"}, behind=[tolerant])
    assert job.check().err.count("\n") == 1
    assert job.err.startswith(
        "latecomer: inactive, the MPI library carries out all calls: the job tolerates failures"
    )
