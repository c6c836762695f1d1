"""A program that runs with more rights than its caller takes nothing from the environment."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from dropin_helpers import Job, cases_of, launcher_of, run_command
from latecomer.launch import preload
from mpi_helpers import installed

NOBODY = 65534
RANKS = 2
# The dynamic linker ignores LD_PRELOAD for such a program, so it is linked with the library.
SUM = """
#include <mpi.h>
#include <stdio.h>
#include <sys/auxv.h>
int main(int argc, char** argv) {
  static int in[1000], out[1000];
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 20; ++i) MPI_Allreduce(in, out, 1000, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("more rights: %d\\n", getauxval(AT_SECURE) != 0);
  return MPI_Finalize();
}
"""


@pytest.fixture
def folder():
    """A folder that the other user may read, and write."""
    with tempfile.TemporaryDirectory(prefix="latecomer-rights-") as name:
        Path(name).chmod(0o777)
        yield Path(name)


def made(folder: Path) -> Path:
    """The program, linked with a copy of the library."""
    source, program = folder / "sum.c", folder / "sum"
    source.write_text(SUM)
    for library in preload.library().parent.glob("liblatecomer_preload*.so"):
        shutil.copy(library, folder)
    subprocess.run([installed("mpich").mpicc, "-o", program, source, f"-L{folder}",
                    "-Wl,--no-as-needed", "-llatecomer_preload", f"-Wl,-rpath,{folder}"],
                   check=True)  # fmt: skip
    return program


def run(program: Path, report: Path) -> Job:
    launch = launcher_of("mpich", RANKS, [str(program)])
    variables = {"LATECOMER_LOG": "info", "LATECOMER_STATS": str(report)}
    job = run_command(launch.command, launch.env | variables)
    assert job.code == 0, job.err
    return job


def test_the_environment_is_ignored(folder):
    cases_of("mpich")  # skips where nothing is built
    if os.geteuid() != 0:
        pytest.skip("only root can make a program that runs as another user")
    program = made(folder)
    report = folder / "report.json"
    job = run(program, report)
    assert "more rights: 0" in job.out
    assert "is active on all ranks" in job.err
    assert report.exists()
    report.unlink()
    os.chown(program, NOBODY, -1)
    program.chmod(0o4755)
    job = run(program, report)
    if "more rights: 0" in job.out:
        pytest.skip("this file system gives no program more rights")
    assert "latecomer" not in job.err
    assert not report.exists()
