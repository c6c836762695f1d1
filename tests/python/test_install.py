"""The installed libraries, as projects outside of the clone use them."""

import fcntl
import os
import re
import shutil
import subprocess

import pytest
from latecomer.launch import mpi
from scenes_helpers import ROOT

BUILD = ROOT / "build" / "release"
FAMILIES = [name for name in ("openmpi", "mpich") if (BUILD / f"latecomer_bench_{name}").exists()]

PLAN = """
#include <latecomer/latecomer.h>
#include <stdio.h>
int main(void) {
  printf("version %s\\n", latecomer_version());
  return 0;
}
"""
PROGRAM = """
#include <latecomer/latecomer_mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int rank, size, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int one = 1;
  latecomer_allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("sum %d of %d\\n", sum, size);
  MPI_Finalize();
  return sum != size;
}
"""
PROJECT = """
cmake_minimum_required(VERSION 3.22)
project(outside C)
find_package(latecomer REQUIRED)
add_executable(plan plan.c)
target_link_libraries(plan PRIVATE latecomer::core)
add_executable(plan_static plan.c)
target_link_libraries(plan_static PRIVATE latecomer::core_static)
"""


def run(*command, cwd=None, **variables):
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, env={**os.environ, **variables}, timeout=300,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def install(prefix, manifest):
    """Installs, one at a time, since each writes the same list of files; keeps a copy of that."""
    with (BUILD / "install.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        run("cmake", "--install", BUILD, "--prefix", prefix)
        shutil.copy(BUILD / "install_manifest.txt", manifest)


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """An installation that was moved afterwards."""
    folder = tmp_path_factory.mktemp("first")
    first = folder / "installed"
    install(first, folder / "manifest.txt")
    return first.rename(tmp_path_factory.mktemp("moved") / "latecomer")


def library_folder(prefix):
    return next(prefix.glob("lib*/**/liblatecomer_core.so")).parent


def pkg_config(prefix, *words):
    folder = library_folder(prefix) / "pkgconfig"
    return run("pkg-config", *words, PKG_CONFIG_PATH=str(folder)).split()


def start(family, program, **variables):
    names = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
             "MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp"}  # fmt: skip
    options = ["--oversubscribe"] if family.name == "openmpi" else []
    return run(family.mpirun, *options, "-n", 2, program, **names, **variables)


def test_a_cmake_project_finds_the_package(prefix, tmp_path):
    (tmp_path / "plan.c").write_text(PLAN)
    (tmp_path / "CMakeLists.txt").write_text(PROJECT)
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-Dlatecomer_ROOT={prefix}")
    run("cmake", "--build", tmp_path / "build")
    for program in ("plan", "plan_static"):
        assert re.match(r"version \d+\.\d+", run(tmp_path / "build" / program))


@pytest.mark.skipif(shutil.which("pkg-config") is None, reason="no pkg-config")
@pytest.mark.parametrize("family", FAMILIES)
def test_pkg_config_names_what_a_program_needs(prefix, family, tmp_path):
    found = next(each for each in mpi.families() if each.name == family)
    if found.mpicc is None:
        pytest.skip(f"no mpicc of {family}")
    (tmp_path / "app.c").write_text(PROGRAM)
    words = pkg_config(prefix, "--cflags", "--libs", f"latecomer-{family}")
    app = tmp_path / "app"
    run(found.mpicc, tmp_path / "app.c", *words, "-o", app)
    folder = library_folder(prefix)
    assert "sum 2 of 2" in start(found, app, LD_LIBRARY_PATH=str(folder))


def test_libraries_export_the_api_alone(prefix):
    for library in library_folder(prefix).glob("liblatecomer_*.so"):
        if "preload" in library.name:
            continue
        names = run("nm", "-D", "--defined-only", library).split("\n")
        exported = {line.split()[-1].split("@")[0] for line in names if line}
        assert {name for name in exported if not name.lower().startswith("latecomer_")} == set()
        assert "latecomer_version" in exported


def test_files_name_no_folder_of_the_build(prefix):
    for kind in ("*.cmake", "*.pc"):
        for file in prefix.rglob(kind):
            assert str(ROOT) not in file.read_text(), file


def test_the_drop_in_library_lies_beside_those_of_the_families(prefix):
    folder = library_folder(prefix)
    assert (folder / "liblatecomer_preload.so").exists()
    for family in FAMILIES:
        assert (folder / f"liblatecomer_preload_{family}.so").exists()


def test_removing_leaves_nothing(tmp_path):
    manifest = tmp_path / "manifest.txt"
    install(tmp_path / "there", manifest)
    run("cmake", f"-DMANIFEST={manifest}", "-P", ROOT / "cmake" / "uninstall.cmake")
    assert list(tmp_path.iterdir()) == [manifest]
    missing = subprocess.run(
        ["cmake", "-DMANIFEST=none.txt", "-P", ROOT / "cmake" / "uninstall.cmake"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert missing.returncode != 0
    assert "'none.txt' is not usable" in missing.stderr.replace("\n", " ")
