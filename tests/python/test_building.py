"""tools/build.sh: in batches, and one by one where that fails; tools/with_progress.sh: how far;
tools/alone.py: each source of a batch by itself."""

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

BUILD = Path(__file__).parents[2] / "tools" / "build.sh"
PROGRESS = BUILD.parent / "with_progress.sh"
sys.path.append(str(BUILD.parent))
import alone  # noqa: E402

# Stands in for CMake: building fails unless it was configured as `passes` says.
FAKE = """#!/bin/sh
echo "$@" >> {log}
case "$*" in --build*) grep -q "BATCHES={passes}" {log};; esac
"""


@pytest.mark.parametrize(
    ("passes", "code", "configured"),
    [("ON", 0, ["ON"]), ("OFF", 0, ["ON", "OFF"]), ("never", 1, ["ON", "OFF"])],
)
def test_what_fails_in_batches_is_built_one_by_one(tmp_path, monkeypatch, passes, code, configured):
    log = tmp_path / "log"
    (tmp_path / "cmake").write_text(FAKE.format(log=log, passes=passes))
    (tmp_path / "cmake").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    done = subprocess.run(
        [BUILD, "asan", "core_tests", "2", "-DX=Y"], capture_output=True, text=True, check=False
    )
    assert done.returncode == code
    calls = log.read_text().splitlines()
    assert calls == [
        line
        for batches in configured
        for line in (
            f"--preset asan -DX=Y -DLATECOMER_BATCHES={batches}",
            "--build --preset asan --target core_tests -j 2",
        )
    ]
    assert ("one by one" in done.stdout) == (len(configured) == 2)


OLD = """#!/bin/sh
case "$*" in
*--fresh*) exit 2;;  # as CMake 3.22 and 3.23
--preset*) [ ! -e build/asan/CMakeCache.txt ] && [ ! -e build/asan/CMakeFiles ];;
esac
"""


def test_a_cache_that_cmake_cannot_use_is_made_anew(tmp_path, monkeypatch):
    clone, cache = tmp_path / "a clone", tmp_path / "a clone" / "build" / "asan"
    (clone / "tools").mkdir(parents=True)
    shutil.copy(BUILD, clone / "tools")
    (cache / "CMakeFiles").mkdir(parents=True)
    (cache / "CMakeCache.txt").touch()
    (cache / "a.o").touch()
    (tmp_path / "cmake").write_text(OLD)
    (tmp_path / "cmake").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    subprocess.run([clone / "tools" / "build.sh", "asan", "core_tests", "2"], check=True)
    assert [each.name for each in cache.iterdir()] == ["a.o"]


# Stands in for a build: it goes on when the test has seen what it waits for.
STEPS = """
echo "-- configured"
echo "[1/3] one"
echo "[2/3] two"
while [ ! -e {go} ]; do sleep 0.1; done
echo "[3/3] three"
exit {code}
"""


def steps(folder, code=0):
    return ["sh", "-c", STEPS.format(go=folder / "go", code=code)]


@pytest.mark.parametrize("code", [0, 3])
def test_how_far_a_build_is_stands_in_lines(tmp_path, code):
    log, go = tmp_path / "log", tmp_path / "go"
    running = subprocess.Popen(
        [PROGRESS, "-i", "1", log, *steps(tmp_path, code)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while not re.fullmatch(r" *\[2/3\] \d+ min \d+ s\n", running.stdout.readline()):
        assert running.poll() is None
    go.touch()
    _, err = running.communicate()
    assert running.returncode == code
    assert log.read_text().splitlines() == [
        "-- configured",
        "[1/3] one",
        "[2/3] two",
        "[3/3] three",
    ]
    assert err == (log.read_text() if code else "")


def test_how_far_a_build_is_stands_in_place_on_a_terminal(tmp_path):
    ours, theirs = pty.openpty()
    command = [PROGRESS, tmp_path / "log", *steps(tmp_path)]
    with subprocess.Popen(command, stdout=theirs) as running:
        os.close(theirs)
        seen = b""
        while b"\r   [2/3] 0 min" not in seen:
            seen += os.read(ours, 1000)
        (tmp_path / "go").touch()
        assert running.wait() == 0
    assert b"\n" not in seen
    os.close(ours)


def test_an_interrupted_build_ends_at_once(tmp_path):
    running = subprocess.Popen(
        [PROGRESS, "-i", "1", tmp_path / "log", *steps(tmp_path)],
        stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    while "[2/3]" not in running.stdout.readline():
        assert running.poll() is None
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does
    running.communicate()
    assert running.returncode != 0


@pytest.mark.skipif(not shutil.which("c++"), reason="no C++ compiler")
def test_a_source_that_lacks_an_include_does_not_compile_alone(tmp_path, monkeypatch, capfd):
    """Neither another one of its batch nor what CMake has read before each file stands in."""
    folder, unit, head = tmp_path / "src", tmp_path / "Unity" / "unit.cxx", tmp_path / "head.hxx"
    for each in (folder, unit.parent):
        each.mkdir()
    (folder / "good.cpp").write_text("#include <vector>\nstd::vector<int> a;\n")
    (folder / "bad.cpp").write_text("std::vector<int> b;\n")
    unit.write_text("".join(f'#include "{folder}/{name}.cpp"\n' for name in ("good", "bad")))
    head.write_text("#include <vector>\n")
    command = f"c++ -std=c++20 -Winvalid-pch -include {head} -o unit.o -c {unit}"
    subprocess.run(command.split(), cwd=tmp_path, check=True)
    (tmp_path / "compile_commands.json").write_text(
        json.dumps([{"file": str(unit), "command": command}])
    )
    monkeypatch.setattr(alone, "ROOT", tmp_path)
    monkeypatch.setattr(alone, "BUILD", tmp_path)
    assert alone.main() == 1
    said = capfd.readouterr()
    assert said.out == "2 sources, 1 do not compile alone\n"
    assert "bad.cpp" in said.err
    assert "good.cpp" not in said.err


@pytest.mark.parametrize(("kind", "wrapper", "launcher"), [
    ("openmpi", "mpicc.openmpi", "mpirun.openmpi"),
    ("openmpi", "/opt/mpicc 5/bin/mpicc", "/opt/mpicc 5/bin/mpirun"),
    ("mpich", "/opt/mpicc/mpicc.mpich", "/opt/mpicc/mpiexec.mpich"),
])  # fmt: skip
def test_the_launcher_of_a_family_lies_beside_its_wrapper(tmp_path, kind, wrapper, launcher):
    text = (BUILD.parents[1] / "tests" / "mpi" / "CMakeLists.txt").read_text()
    (function,) = re.findall(r"(?ms)^function\(latecomer_mpi_launcher .*?^endfunction\(\)\n", text)
    script = tmp_path / "launcher.cmake"
    script.write_text(f'{function}latecomer_mpi_launcher(a found)\nmessage("${{found}}")\n')
    given = [f"-DLATECOMER_MPI_KIND_a={kind}", f"-DLATECOMER_MPI_WRAPPER_a={wrapper}"]
    said = subprocess.run(
        ["cmake", *given, "-P", script], text=True, capture_output=True, check=True
    )
    assert launcher in said.stderr.strip().split(";")
