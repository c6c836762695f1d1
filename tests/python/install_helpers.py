"""Installations of the release build, and projects outside the clone that use them."""

import fcntl
import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

from latecomer.launch import mpi

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"
EXAMPLE = ROOT / "examples" / "installed"


def run(*command, env=None, cwd=None) -> str:
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, env={**os.environ, **(env or {})},
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def failure(*command) -> str:
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode != 0, done.stdout
    return " ".join((done.stdout + done.stderr).split())


@contextmanager
def locked_build():
    """Two tests at once would write one manifest."""
    with (BUILD / "install.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def archive(folder: Path) -> Path:
    """The binary archive, unpacked, and then moved to a path with a space."""
    with locked_build():
        run("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", folder / "packed")
    (packed,) = (folder / "packed").glob("*.tar.gz")
    (folder / "unpacked").mkdir()
    run("tar", "-xzf", packed, "-C", folder / "unpacked")
    (unpacked,) = (folder / "unpacked").iterdir()
    shutil.rmtree(folder / "packed")
    return unpacked.rename(folder / "moved")


def copied_example(folder: Path) -> Path:
    return shutil.copytree(EXAMPLE, folder / "project")


def cmake_project(source: Path, build: Path, prefix: Path, *options: str) -> list[str]:
    return ["cmake", "-S", str(source), "-B", str(build), f"-DCMAKE_PREFIX_PATH={prefix}", *options]


def of_family(family: mpi.Family) -> list[str]:
    return [f"-DMPI_C_COMPILER={family.mpicc}", f"-DMPIEXEC_EXECUTABLE={family.mpirun}"]


def ranks_of(family: mpi.Family, program: Path, env=None) -> str:
    started = mpi.launch_command(family, 3, [str(program)], env=env, allow_root=True)
    return run(*started.command, env=started.env)


def files_below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def so_version(version: str) -> str:
    """The version in the names of libraries: before 1.0 each minor version may change them."""
    major, minor, _ = version.split(".")
    return f"{major}.{minor}" if major == "0" else major
