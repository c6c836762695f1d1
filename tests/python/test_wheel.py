"""The wheel that needs no compiler (packaging/wheel/make.py): what it holds, and what is refused."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from dropin_helpers import launcher_of, run_command
from install_helpers import BUILD, ROOT, run
from latecomer.cli import run as command
from latecomer.launch import program
from latecomer.launch.preload import with_variables
from mpi_helpers import installed

HERE = ROOT / "packaging" / "wheel"


@pytest.fixture(scope="module")
def make():
    sys.path.insert(0, str(HERE))
    try:
        import make
    finally:
        sys.path.remove(str(HERE))
    return make


def built(make, *without):
    """The targets of a build folder with all families, and some that the wheel has no use for."""
    names = {"latecomer_simgrid", "lib/liblatecomer_core.so.0.1", "liblatecomer_preload.so",
             "liblatecomer_preload_messages.so", "liblatecomer_nccl.so"}  # fmt: skip
    for family in make.FAMILIES:
        names |= {f"liblatecomer_preload_{family}.so", f"mpi_tests_{family}"}
    for family in ("mpich", "openmpi"):
        names |= {f"latecomer_{program}_{family}" for program in ("bench", "calibrate", "overhead")}
        names.add(f"lib/liblatecomer_{family}.so.0.1")
    return names - set(without)


def test_it_holds_the_libraries_of_all_families_and_the_programs_that_the_command_starts(make):
    assert make.targets(built(make)) == {
        "latecomer_bench_mpich": "libexec/latecomer",
        "latecomer_bench_openmpi": "libexec/latecomer",
        "latecomer_calibrate_mpich": "libexec/latecomer",
        "latecomer_calibrate_openmpi": "libexec/latecomer",
        "lib/liblatecomer_mpich.so.0.1": "lib",
        "lib/liblatecomer_openmpi.so.0.1": "lib",
        "liblatecomer_nccl.so": "lib",
        "liblatecomer_preload.so": "lib",
        "liblatecomer_preload_abi.so": "lib",
        "liblatecomer_preload_messages.so": "lib",
        "liblatecomer_preload_mpich.so": "lib",
        "liblatecomer_preload_openmpi.so": "lib",
    }


@pytest.mark.parametrize("end", ["", "_messages", "_abi", "_mpich", "_openmpi"])
def test_a_build_without_a_drop_in_library_is_refused(make, end):
    missing = f"liblatecomer_preload{end}.so"
    with pytest.raises(make.UserError) as refused:
        make.targets(built(make, missing))
    assert refused.value.value == missing
    assert "build with the MPI families abi, mpich, openmpi" in refused.value.remedy


def test_other_folders_than_those_of_a_build_are_refused(tmp_path):
    said = subprocess.run(
        [sys.executable, HERE / "make.py", "--build", tmp_path],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert said.returncode == 1
    assert f"no build folder of Ninja: {tmp_path}; name one by --build" in said.stderr


def test_the_wheel_names_the_part_of_nanobind_that_it_needs(make, tmp_path):
    wheel = tmp_path / "a.whl"
    with zipfile.ZipFile(wheel, "w") as opened:
        opened.writestr("a-1.dist-info/METADATA", "Name: a\nRequires-Dist: rich\n\nText\n")
        opened.writestr("a/b.py", "x = 1\n")
    make.add_dependency(wheel)
    with zipfile.ZipFile(wheel) as opened:
        assert opened.namelist() == ["a-1.dist-info/METADATA", "a/b.py"]
        assert opened.read("a/b.py") == b"x = 1\n"
        assert opened.read("a-1.dist-info/METADATA").decode() == (
            f"Name: a\nRequires-Dist: {make.BACKEND}\nRequires-Dist: rich\n\nText\n"
        )


@pytest.mark.parametrize(("name", "kept"), [
    ("latecomer_bench_mpich", ["-lmpi", "-ldl", "-Wl,-rpath,$ORIGIN/../../../../.."]),
    ("liblatecomer_preload_openmpi.so", ["-lmpi", "-ldl"]),
])  # fmt: skip
def test_a_link_is_done_again_without_folders_of_this_machine(make, name, kept):
    said = (
        f": && /usr/bin/c++ -O3 a.o -o {name} -Wl,-rpath -Wl,/opt/lib -Wl,-rpath,:: -lmpi -ldl && :"
    )
    again = make.old_glibc.command_again(said, Path("/b") / name, ["-L/c"])
    assert again == ["/usr/bin/c++", "-O3", "a.o", "-o", f"/b/{name}", *kept,
                     "-static-libstdc++", "-L/c"]  # fmt: skip


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_functions_that_no_library_has_are_found(make, tmp_path):
    source, library = tmp_path / "a.c", tmp_path / "a.so"
    source.write_text(
        "int of_a_later_glibc(void); int MPI_Barrier(int); int PyErr_Occurred(void);\n"
        "int puts(const char*); __attribute__((weak)) int may_be_missing(void);\n"
        'int f(void) { return puts("") + of_a_later_glibc() + MPI_Barrier(0) + PyErr_Occurred()\n'
        "  + (may_be_missing ? may_be_missing() : 0); }\n"
    )
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", library], check=True)
    assert make.old_glibc.undefined(library) == ["of_a_later_glibc"]


@pytest.mark.parametrize(("command", "said"), [
    (["no-such-program"], "cannot start a program: No such file or directory: no-such-program"),
    (["false", "a b"], "a command ended with exit code 1: false 'a b'; what it said is above"),
])  # fmt: skip
def test_a_command_that_fails_is_named(make, command, said):
    with pytest.raises(make.UserError) as refused:
        make.run(*command)
    assert str(refused.value).startswith(said)


SUMS = """
from array import array
from mpi4py import MPI
mine, total = array("d", [1]) * 65536, array("d", [0]) * 65536
for step in range(8):
    MPI.COMM_WORLD.Allreduce(mine, total)
"""


def test_the_library_for_mpich_that_names_no_mpi_library_finds_that_of_mpi4py(make, tmp_path):
    """It is visible to mpi4py alone, before ours needs it."""
    pytest.importorskip("mpi4py")
    family = installed("mpich")
    name = "liblatecomer_preload_mpich.so"
    libmpi = family.mpirun.parents[1] / "lib" / "libmpi.so.12"
    if not ((BUILD / name).exists() and libmpi.exists() and shutil.which("ninja")):
        pytest.skip("no release build for an MPICH of its own folder")
    make.old_glibc.link_again(BUILD, name, tmp_path / name, [])
    assert "[libmpi" not in run("readelf", "-d", tmp_path / name)
    loader = shutil.copy(BUILD / "liblatecomer_preload.so", tmp_path)
    launch = launcher_of("mpich", 2, [sys.executable, "-c", SUMS])
    settings = {"LD_PRELOAD": str(loader), "LATECOMER_STATS": "1", "MPI4PY_LIBMPI": str(libmpi)}
    ended = run_command(with_variables(launch.command, settings), launch.env)
    assert ended.code == 0, ended.err
    assert "calls of rank 0 of 2" in ended.err


def test_the_library_for_mpich_loads_without_the_functions_of_mpi_4():
    """All that it wants, at once or when it calls them, are weak, or the loader has them."""
    library = BUILD / "liblatecomer_preload_mpich.so"
    if not (library.exists() and shutil.which("readelf")):
        pytest.skip("no release build for MPICH")
    wanted = set(
        re.findall(r"(?:GLOB_DAT|JUMP_SLO\w?) +\S+ (P?MPI_\w+_c) ", run("readelf", "-Wr", library))
    )
    weak = set(re.findall(r" w (\w+)$", run("nm", "-D", library), re.MULTILINE))
    there = run("nm", "-D", "--defined-only", BUILD / "liblatecomer_preload.so")
    assert wanted - weak <= set(re.findall(r" \w (\w+)$", there, re.MULTILINE))


def pythons_of(version):
    """Interpreters of that version: on the PATH, or of pyenv."""
    found = [shutil.which(f"python{version}")]
    found += Path.home().glob(f".pyenv/versions/{version}.*/bin/python")
    return [each for each in found if each and
            not subprocess.run([each, "-V"], capture_output=True, check=False).returncode]  # fmt: skip


def test_the_oldest_python_reads_the_declarations_of_all_verbs():
    oldest = re.search(r'requires-python = ">=(.*)"', (ROOT / "pyproject.toml").read_text())[1]
    pythons = pythons_of(oldest)
    if not pythons:
        pytest.skip(f"no Python {oldest}")
    script = """
from latecomer.cli import COMMANDS
from latecomer.command.declare import parameters
for _, verb in COMMANDS.verbs():
    parameters(verb)
"""
    said = subprocess.run(
        [pythons[-1], "-B", "-c", script], env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert said.returncode == 0, said.stderr


@pytest.mark.parametrize("sign", ["lib/liblatecomer_preload.so", "lib/cmake"])
def test_where_is_the_folder_with_the_drop_in_library_or_with_packages(
    monkeypatch, capsys, tmp_path, sign
):
    monkeypatch.setattr(program, "PACKAGE", tmp_path)
    assert command(["where"]) == 1
    assert f"no libraries are installed here: {tmp_path}; run" in capsys.readouterr().err
    (tmp_path / sign).mkdir(parents=True)
    assert command(["where"]) == 0
    assert capsys.readouterr().out == f"{tmp_path}\n"


def test_what_cannot_be_tried_is_refused(tmp_path):
    wheel = tmp_path / "a.whl"
    wheel.touch()
    for words, wrong in (([tmp_path / "no.whl"], tmp_path / "no.whl"), ([wheel, "sid"], "sid")):
        said = subprocess.run(
            [sys.executable, HERE / "try.py", *words], capture_output=True, text=True, check=False
        )
        assert said.returncode == 1
        assert f"cannot try: {wrong}; name a wheel of make.py, and any of bullseye" in said.stderr
