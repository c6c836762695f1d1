"""Common functions of the tests of MPI launches."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from latecomer.launch import mpi

FAMILIES = ("openmpi", "mpich")
HELLO = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  int rank, size, length;
  char host[MPI_MAX_PROCESSOR_NAME];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Get_processor_name(host, &length);
  printf("rank %d of %d on %s\\n", rank, size, host);
  MPI_Finalize();
  return argc > 1 ? atoi(argv[1]) : 0;
}
"""


# Open MPI's launcher sleeps so long, in seconds, before it ends the ranks of a job that failed, and
# once more before it kills them.
SLEEPS = "OMPI_MCA_odls_base_sigkill_timeout"
AS_USERS = (SLEEPS, "1")  # its default: for one test of each way to fail


def at_once() -> dict[str, str]:
    """The variable with which a failed job ends at once, unless the test has set it."""
    return {SLEEPS: os.environ.get(SLEEPS, "0")}


def installed(name: str) -> mpi.Family:
    try:
        family = mpi.family(name)
    except mpi.LaunchError as error:
        pytest.skip(str(error))
    if family.mpicc is None:
        pytest.skip(f"no mpicc for {family.describe()}")
    return family


def compiled(family: mpi.Family, folder: Path) -> str:
    source, program = folder / "hello.c", folder / f"hello.{family.name}"
    source.write_text(HELLO)
    subprocess.run([family.mpicc, "-o", program, source], check=True)
    return str(program)


def fake_launcher(folder: Path, name: str, version_text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    launcher = folder / name
    launcher.write_text(f"#!/bin/sh\ncat <<'END'\n{version_text}\nEND\n")
    launcher.chmod(0o755)
    return launcher


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except OSError:
        return ""


def wait_until(condition: Callable[[], object], seconds: float = 600) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)
