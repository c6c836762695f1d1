"""The doctor: each of its findings, and what it says to do."""

import json
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from latecomer import cli
from latecomer.lab.bench import checks
from latecomer.lab.cluster import LabError, privilege
from latecomer.launch import mpi, program
from latecomer.verbs import doctor

FAMILY = mpi.Family("mpich", "9.9", Path("/x/mpicc"), Path("/x/mpirun"), "PATH")


def built_in(folder: Path) -> Path:
    folder.mkdir(parents=True)
    program_file = folder / "latecomer_bench_mpich"
    program_file.touch(mode=0o755)
    return program_file


def line(found, name):
    return next(finding for finding in found if finding.name == name)


def test_doctor_agrees_with_its_exit_code(capsys):
    code = cli.run(["doctor", "--json"])
    out = capsys.readouterr().out
    found = json.loads(out)
    assert code == (0 if found["ready"] else 1)
    names = [finding["name"] for finding in found["findings"]]
    assert {"compiled core", "emulated cluster", "CMake", "cores", "memory"} <= set(names)
    assert all(finding["ok"] or finding["remedy"] for finding in found["findings"])


@pytest.mark.parametrize("built", [True, False])
def test_doctor_says_whether_programs_can_run(monkeypatch, built):
    def library():
        if not built:
            raise mpi.LaunchError("the drop-in library is not built", "x.so", "build it")
        return Path("/x.so")

    monkeypatch.setattr(checks.preload, "library", library)
    monkeypatch.setattr(checks, "_loads", lambda path: True)
    monkeypatch.setattr(mpi, "families", lambda: [FAMILY])
    found = checks.findings()
    assert checks.can_run(found) == ["mpich"] * built
    said = doctor._text(found, ready=True).splitlines()[-2]
    yes = "ready: `latecomer run -- mpirun ...` can run here, for programs of mpich"
    assert said == (yes if built else "not ready for `latecomer run -- mpirun ...`: it needs an MPI "
                    "library and the drop-in library")  # fmt: skip


def test_doctor_tries_the_library(monkeypatch, tmp_path):
    broken = tmp_path / "library.so"
    broken.write_text("no library")
    monkeypatch.setattr(checks.preload, "library", lambda: broken)
    found = checks._dropin()
    assert not found.ok
    assert found.text == f"{broken} cannot be loaded"


def test_doctor_looks_at_memory_clock_and_packages(monkeypatch, tmp_path):
    monkeypatch.setattr(checks, "_SHM", str(tmp_path / "absent"))
    assert not checks._shared_memory().ok
    monkeypatch.setattr(checks, "_SHM", str(tmp_path))
    monkeypatch.setattr(checks, "_ROOM", 0)
    assert checks._shared_memory().ok
    source = tmp_path / "source"
    monkeypatch.setattr(checks, "_CLOCK", source)
    assert checks._clock().ok
    source.write_text("hpet\n")
    assert "boot with clocksource=tsc" in checks._clock().remedy
    assert not checks._clock().ok
    source.write_text("kvm-clock\n")
    assert checks._clock().text == "CLOCK_MONOTONIC from kvm-clock"
    assert checks._clock().ok
    assert checks._package("numpy").ok
    monkeypatch.setitem(checks._NEEDED_BY, "latecomer-absent", "for nothing")
    found = checks._package("latecomer-absent")
    assert (found.ok, found.remedy) == (
        False, f"for nothing: {sys.executable} -m pip install latecomer-absent")  # fmt: skip


def test_doctor_says_what_to_do(capsys, monkeypatch):
    def refuse():
        raise LabError("no private namespaces here", "denied", "run as root")

    monkeypatch.setattr(mpi, "families", list)
    monkeypatch.setattr(privilege, "sandbox", refuse)
    monkeypatch.setattr(checks.shutil, "which", lambda name, path=None: None)
    code = cli.run(["doctor"])
    out = capsys.readouterr().out
    assert code == 1
    for text in (
        "ok       compiled core",
        "missing  MPI library openmpi     not found\n         -> apt-get install openmpi-bin",
        "missing  emulated cluster        no private namespaces here: denied\n         -> run as",
        "missing  CMake                   not found\n         -> apt-get install cmake",
        "not ready for a benchmark",
    ):
        assert text in out


def words_of(found):
    return {each.name: doctor._lines(each)[0].split()[0] for each in found}


def test_doctor_tells_what_is_optional_from_what_is_missing(monkeypatch):
    """One of the MPI libraries is enough."""

    def absent(_):
        raise PackageNotFoundError

    monkeypatch.setattr(checks, "version", absent)
    monkeypatch.setattr(checks.simgrid, "find", lambda: None)
    monkeypatch.setattr(checks.slurm, "missing", lambda: ["slurmd"])
    monkeypatch.setattr(mpi, "families", lambda: [FAMILY])
    found = checks.findings()
    words = words_of(found)
    optional = {name for name, word in words.items() if word == "optional"}
    assert optional == {"MPI library openmpi", "SimGrid", "Slurm in the lab", "mpi4py", "torch",
                        "pyarrow"}  # fmt: skip
    assert words["numpy"] == "missing"
    assert words["MPI library mpich"] == "ok"
    assert all(each.remedy for each in found if each.optional)
    monkeypatch.setattr(mpi, "families", list)
    words = words_of(checks.findings())
    assert words["MPI library openmpi"] == words["MPI library mpich"] == "missing"


def test_doctor_wants_a_benchmark_for_an_installed_library(monkeypatch, tmp_path):
    monkeypatch.setattr(program, "CLONE", tmp_path)
    monkeypatch.setattr(mpi, "families", lambda: [FAMILY])
    monkeypatch.delenv("LATECOMER_PROGRAMS", raising=False)
    other = built_in(tmp_path / "build" / "other")  # a developer's own, not looked for
    found = checks.findings()
    assert (
        line(found, "benchmark for mpich").remedy == "run ./demo or ./test at the root of the clone"
    )
    assert not checks.can_bench(found)
    release = built_in(tmp_path / "build" / "release")
    assert line(checks.findings(), "benchmark for mpich").text == str(release)
    assert checks.can_bench(checks.findings())
    monkeypatch.setenv("LATECOMER_PROGRAMS", str(other.parent))
    assert line(checks.findings(), "benchmark for mpich").text == str(other)


def test_doctor_without_a_core(monkeypatch):
    monkeypatch.setitem(sys.modules, "latecomer.core.compiled", None)
    found = checks.findings()
    assert not line(found, "compiled core").ok
    assert not checks.can_bench(found)


@pytest.mark.parametrize(("answer", "ok"), [("yes", True), ("no", False)])
def test_doctor_asks_open_mpi_for_its_threads(monkeypatch, tmp_path, answer, ok):
    info = tmp_path / "ompi_info"
    info.write_text(
        f"#!/bin/sh\necho 'option:threads:\"posix (MPI_THREAD_MULTIPLE: {answer}, more)\"'\n"
    )
    info.chmod(0o755)
    family = mpi.Family("openmpi", "9.9", None, tmp_path / "mpirun", "PATH")
    monkeypatch.setattr(mpi, "families", lambda: [family])
    found = checks.findings()
    assert line(found, "threads of openmpi").ok is ok
    assert "no compiler wrapper" in line(found, "MPI library openmpi").text


@pytest.mark.parametrize(
    ("version", "user", "cores", "given", "wanted"),
    [
        ("4.1.4", 0, 8, [], ["OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"]),
        ("4.1.4", 1, 2, [], ["OMPI_MCA_rmaps_base_oversubscribe=1"]),
        ("5.0.11", 1, 2, [], ["PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe"]),
        ("4.1.4", 1, 2, ["OMPI_MCA_rmaps_base_oversubscribe"], []),
        ("4.1.4", 1, 4, [], []),
    ],
)
def test_doctor_says_what_open_mpi_wants_for_four_ranks(
    version, user, cores, given, wanted, monkeypatch
):
    names = [word.partition("=")[0] for word in (*checks._AS_ROOT, *checks._MORE_RANKS.values())]
    for name in names:
        monkeypatch.delenv(name, raising=False)
    for name in given:
        monkeypatch.setenv(name, "1")
    monkeypatch.setattr(checks.os, "geteuid", lambda: user)
    monkeypatch.setattr(checks.os, "sched_getaffinity", lambda _: set(range(cores)))
    family = mpi.Family("openmpi", version, None, Path("/x/mpirun"), "PATH")
    (found,) = checks._four_ranks([FAMILY, family])
    assert found.ok is not bool(wanted)
    assert found.remedy == f"export {' '.join(wanted)}"


def test_doctor_tells_of_a_missing_cubic(monkeypatch):
    monkeypatch.setattr(privilege, "sandbox", lambda: privilege.Sandbox(("--user",), ("reno",)))
    found = checks.findings()
    assert "in a user namespace" in line(found, "emulated cluster").text
    assert line(found, "congestion control").remedy == "as root: modprobe tcp_cubic"
