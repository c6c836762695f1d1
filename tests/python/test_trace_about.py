"""What the report knows beside the calls: the run's command, and places as function and line."""

import json
import os
import shutil
import stat
import subprocess
import sys
import time

import pytest
from latecomer import cli
from latecomer.launch import mpi
from latecomer.report.analysis import code
from latecomer.report.analysis.code import lines_of
from latecomer.report.trace.about import NAME, About, about, note, program_of
from trace_helpers import Files, arrivals_and_exits

CC = shutil.which("cc") or shutil.which("gcc")
TOOL = shutil.which("llvm-symbolizer") or shutil.which("addr2line")
needs_lines = pytest.mark.skipif(not (CC and TOOL), reason="no C compiler, or no addr2line")

SOURCE = """#include <stdio.h>
__attribute__((noinline)) void *here(void) { return __builtin_return_address(0); }
__attribute__((noinline)) void *step(void) {
  void *back = here();
  __asm__ volatile("" ::: "memory");
  return back;
}
extern char __executable_start;
int main(void) {
  printf("%lx", (unsigned long)((char *)step() - &__executable_start));
  return 0;
}
"""


@pytest.fixture(params=["-pie", "-no-pie"])
def program(request, tmp_path):
    """A program, and a place in it: line 4, in `step`."""
    (tmp_path / "app.c").write_text(SOURCE)
    flags = ["-g", "-O0", "-fPIE" if request.param == "-pie" else "-fno-pie", request.param]
    subprocess.run([CC, *flags, "app.c", "-o", "app"], cwd=tmp_path, check=True, timeout=600)
    offset = subprocess.run([tmp_path / "app"], capture_output=True, text=True, check=True,
                            timeout=600).stdout  # fmt: skip
    return tmp_path / "app", f"app+0x{offset}"


def noted(path, **changes):
    found = path.stat()
    return About(
        **{"program": path, "bytes": found.st_size, "changed": found.st_mtime_ns} | changes
    )


# ---- places


@needs_lines
def test_a_place_is_a_function_and_a_line(program):
    path, site = program
    assert lines_of([site], noted(path)) == {site: "step (app.c:4)"}
    symbol = f"{site} (step+0xd)"
    assert lines_of([symbol], noted(path)) == {symbol: "step (app.c:4)"}


@needs_lines
@pytest.mark.parametrize("tool", ["llvm-symbolizer", "addr2line"])
def test_either_tool_will_do(program, tool, monkeypatch):
    if not shutil.which(tool):
        pytest.skip(f"no {tool}")
    monkeypatch.setattr(code, "_TOOLS", [each for each in code._TOOLS if each[0] == tool])
    path, site = program
    assert lines_of([site], noted(path)) == {site: "step (app.c:4)"}


@needs_lines
def test_a_tool_that_does_not_run_leaves_it_to_the_next_one(program, tmp_path, monkeypatch):
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF")
    broken.chmod(0o755)
    monkeypatch.setattr(code, "_TOOLS", [("no-such-tool", []), (str(broken), []), *code._TOOLS])
    path, site = program
    assert lines_of([site], noted(path)) == {site: "step (app.c:4)"}


@needs_lines
def test_a_program_that_was_changed_since_tells_no_line(program):
    path, site = program
    for wrong in ({"bytes": 1}, {"changed": 1}, {"program": path.parent / "other"}):
        assert lines_of([site], noted(path, **wrong)) == {}
    symbol = f"{site} (step+0xd)"
    assert lines_of([symbol], noted(path, bytes=1)) == {symbol: f"step ({site})"}


@needs_lines
def test_a_program_in_this_folder_is_used_if_it_is_older_than_the_run(program, monkeypatch):
    path, site = program
    monkeypatch.chdir(path.parent)
    now = time.time()
    os.utime(path, (now - 100, now - 100))
    assert lines_of([site], About(started=now)) == {site: "step (app.c:4)"}
    assert lines_of([site], About(started=now - 200)) == {}
    assert lines_of([site], About()) == {}


@pytest.mark.parametrize("site", ["", "app", "app+0x", "app+0xzz", "../app+0x10", "0x7f00", "+0x1",
                                  "app+0x" + "f" * 17, "further places"])  # fmt: skip
def test_other_texts_stay_as_they_are(site, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert lines_of([site], About(started=time.time())) == {}


@pytest.mark.parametrize(
    "content", [b"", b"\x7fELF", b"\x7fELF\x02\x01" + b"\xff" * 90, b"#!/bin/sh"]
)
def test_files_that_are_no_programs_tell_nothing(content, tmp_path):
    path = tmp_path / "app"
    path.write_bytes(content)
    assert lines_of(["app+0x10"], noted(path)) == {}


@needs_lines
@pytest.mark.parametrize("script", ["exit 1", "echo one line", "kill -9 $$"])
def test_a_tool_that_fails_tells_nothing(program, script, monkeypatch, tmp_path):
    path, site = program
    tool = tmp_path / "broken"
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    monkeypatch.setattr(code, "_TOOLS", [(str(tool), [])])
    assert lines_of([site], noted(path)) == {}


@needs_lines
def test_no_time_means_no_lines(program):
    path, site = program
    assert lines_of([site], noted(path), seconds=0.0) == {}


# ---- the command


def test_what_is_noted_is_read(tmp_path):
    words = [sys.executable, "a b.py"]
    note(tmp_path, ["mpirun", "-n", "2", *words], words, "Open MPI 4.1.4")
    found = about(tmp_path, 5.0)
    assert found.command_line.startswith("mpirun -n 2 ")
    assert found.command_line.endswith(" 'a b.py'")
    assert (found.mpi, found.started) == ("Open MPI 4.1.4", 5.0)
    assert found.program == program_of(words)
    assert found.bytes == found.program.stat().st_size
    assert stat.S_IMODE((tmp_path / NAME).stat().st_mode) == 0o600


def test_what_cannot_be_noted_is_not(tmp_path):
    note(tmp_path / "missing", ["mpirun", "a"], ["a"])
    note(tmp_path, ["mpirun", "\udc80"], ["\udc80"])
    assert about(tmp_path / "missing") == About()


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 100_000, '{"command": "a"}', '{"command": [1]}',
                                  '{"program": "relative"}', '{"program": "/a\\u0000b"}',
                                  '{"bytes": -1, "changed_ns": 1e9, "mpi": 3}'])  # fmt: skip
def test_a_note_that_is_wrong_is_not_used(text, tmp_path):
    (tmp_path / NAME).write_text(text)
    assert about(tmp_path) == About()


def test_a_long_note_is_not_read(tmp_path):
    (tmp_path / NAME).write_text(json.dumps({"mpi": "x", "more": "y" * (1 << 20)}))
    assert about(tmp_path) == About()


def test_scripts_and_options_are_no_programs(tmp_path):
    script = tmp_path / "run.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    assert program_of(["--oversubscribe", str(script)]) is None
    python = program_of(["env", str(script), sys.executable])
    assert python is not None
    assert python.samefile(sys.executable)


def test_a_launcher_says_its_library(tmp_path):
    launcher = tmp_path / "mpirun"
    launcher.write_text("#!/bin/sh\necho 'mpirun (Open MPI) 4.1.4'\n")
    launcher.chmod(0o755)
    assert mpi.library_of(str(launcher)) == "Open MPI 4.1.4"
    launcher.write_text("#!/bin/sh\necho 'slurm 22.05'\n")
    assert mpi.library_of(str(launcher)) == ""
    assert mpi.library_of(str(tmp_path / "missing")) == ""


# ---- the page


@needs_lines
def test_the_report_names_program_command_date_and_line(program, tmp_path, capsys):
    path, site = program
    files = Files(3, site=site)
    folder = files.write(tmp_path / "trace", *arrivals_and_exits(30, 3))
    note(folder, ["mpirun", "-n", "3", str(path)], [str(path)], "Open MPI 4.1.4")
    assert cli.run(["report", str(folder), "--budget", "30"]) == 0
    told = capsys.readouterr().out
    assert "in the allreduce of 1 MiB at step (app.c:4), where it comes last in 100 % of 30" in told
    assert f"latecomer run --observe -- mpirun -n 3 {path}" in told
    assert "against this run, with Open MPI 4.1.4, " in told
    page = (folder / "report.html").read_text()
    date = time.strftime("%d %b %Y, %H:%M UTC", time.gmtime(Files.STARTED))
    assert f"<title>app, 3 ranks, {date}</title>" in page
    assert "3 ranks on 3 hosts (node0, node1, node2); 30 collectives on 1 communicator in " in page
    assert f"<code>mpirun -n 3 {path}</code>" in page
    assert (
        "step (app.c:4)</button> <small>allreduce of 1 MiB on MPI_COMM_WORLD (3 ranks); native</small>"
        in page
    )
    assert cli.run(["report", str(folder), "--budget", "0", "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert value["command"] == ["mpirun", "-n", "3", str(path)]
    assert (value["mpi"], value["started"]) == ("Open MPI 4.1.4", pytest.approx(Files.STARTED))
    assert value["by_site"][0]["code"] == "step (app.c:4)"
    assert value["answer"]["who"] == "Rank 1 on host node1 is late."


@pytest.mark.parametrize("module", [
    "MPI.openmpi.cpython-311-x86_64-linux-gnu.so", "MPI.mpich.cpython-39-aarch64-linux-gnu.so",
    "MPI.cpython-312-x86_64-linux-gnu.so", "MPI.abi3.so", "MPI.mpi_abi.abi3.so",
])  # fmt: skip
def test_calls_of_python_have_no_offset_in_a_library(module):
    """One offset stands for all lines of the program that call the same function of mpi4py."""
    site = f"{module}+0x1290ef"
    found = lines_of([site, f"{site} (__pyx_pw_Allreduce+0x10)", "libMPI.so+0x1"], About())
    assert set(found) == {site, f"{site} (__pyx_pw_Allreduce+0x10)"}
    assert set(found.values()) == {"Python (all its calls count as one place)"}
