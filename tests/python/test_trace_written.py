"""Traces that programs write: with the drop-in library, on both MPI libraries."""

import os
import re
import resource
import shutil
import stat
import subprocess
import time

import numpy as np
import pytest
from documents_helpers import ROOT
from dropin_helpers import PATIENT, run_command
from latecomer import cli
from latecomer.launch import mpi, preload, program
from latecomer.report.trace import native_file as native
from latecomer.report.trace import read
from mpi_helpers import installed
from scenes_helpers import both_families
from trace_helpers import HOSTILE

CODE = r"""
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static double mine[1 << 16], sum[1 << 16];
static void nap(int ms) { const struct timespec time = {0, ms * 1000000L}; nanosleep(&time, NULL); }
static void all(int count, MPI_Comm comm) { MPI_Allreduce(mine, sum, count, MPI_DOUBLE, MPI_SUM, comm); }
int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc > 1 && strcmp(argv[1], "forever") == 0) {
    for (;;) { all(1, MPI_COMM_WORLD); nap(1); }
  }
  if (argc > 1 && strcmp(argv[1], "refused") == 0) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 5; ++i) {
      if (rank == 1) {
        MPI_Allreduce(mine, sum, 4096, MPI_DOUBLE, MPI_OP_NULL, MPI_COMM_WORLD);
        MPI_Bcast(mine, 4096, MPI_DOUBLE, ranks, MPI_COMM_WORLD);
#ifdef OPEN_MPI /* MPICH of PyPI does not look at these */
        all(-1, MPI_COMM_WORLD);
        MPI_Alltoall(mine, 1, MPI_DATATYPE_NULL, sum, 1, MPI_DATATYPE_NULL, MPI_COMM_WORLD);
#endif
      }
      all(4096 + i, MPI_COMM_WORLD);
    }
    return MPI_Finalize();
  }
  if (argc > 1) {
    for (int i = 0; i < atoi(argv[1]); ++i) all(1, MPI_COMM_WORLD);
    return MPI_Finalize();
  }
  all(1, MPI_COMM_WORLD);                                    /* short: left at once */
  for (int i = 0; i < 5; ++i) { if (rank == 1) nap(20); all(4096, MPI_COMM_WORLD); }
  MPI_Comm twin, odd;
  MPI_Comm_dup(MPI_COMM_WORLD, &twin);
  MPI_Comm_set_name(twin, "</script><script>alert(1)</script>[red]\x1b[2J=1+1");
  MPI_Bcast(mine, 1000, MPI_DOUBLE, 1, twin);
  MPI_Barrier(twin);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &odd);
  MPI_Gather(mine, 512, MPI_DOUBLE, sum, 512, MPI_DOUBLE, 0, odd);
  MPI_Comm_free(&twin);
  MPI_Comm_dup(MPI_COMM_WORLD, &twin);                       /* another one of the same members */
  all(2000, twin);
  MPI_Comm_free(&twin);
  MPI_Comm_free(&odd);
  return MPI_Finalize();
}
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """The program by MPI library."""
    folder, made = tmp_path_factory.mktemp("program"), {}

    def compiled(name):
        if program.find_built(preload.LIBRARY) is None:
            pytest.skip("the drop-in library is not built")
        if name not in made:
            family, made[name] = installed(name), folder / name
            (folder / "code.c").write_text(CODE)
            subprocess.run(
                [family.mpicc, folder / "code.c", "-o", made[name]], check=True, timeout=600
            )
        return str(made[name])

    return compiled


def command_of(name, path, ranks, words, variables):
    launch = mpi.launch_command(
        installed(name), ranks, [path, *words], env=PATIENT, allow_root=True
    )
    return preload.preloading(launch.command, preload.library(), variables), launch.env


def traced(name, programs, folder, ranks=3, words=(), **more):
    variables = {"LATECOMER_TRACE": str(folder), **more}
    return run_command(*command_of(name, programs(name), ranks, words, variables))


@both_families
def test_all_calls_are_in_the_trace(name, programs, tmp_path):
    folder = tmp_path / "trace"
    job = traced(name, programs, folder)
    assert (job.code, job.err) == (0, "")
    trace = read(folder)
    assert trace.ranks == 3
    assert len(trace.groups) == 4  # nothing is recorded of one rank alone
    world, twin = trace.groups[:2]
    (later,) = (group for group in trace.groups[2:] if len(group.members) == 3)
    parts = [group for group in trace.groups if len(group.members) < 3]
    assert (len(world), len(twin), len(later)) == (9, 2, 1)
    assert twin.name == HOSTILE
    assert sorted(group.members.tolist() for group in parts) == [[2, 0]]
    said = [trace.words[i] for i in (*world.collective, *twin.collective)]
    made = ["comm_dup", "comm_split", "comm_dup"]
    assert said == ["allreduce"] * 6 + made + ["bcast", "barrier"]
    assert world.bytes.tolist() == [8] + [32768] * 5 + [-1] * 3
    assert twin.bytes.tolist() == [8000, 0]
    assert max(group.bytes[0] for group in parts) == 2 * 4096
    assert twin.root[0] == 1
    assert world.served.tolist()[0] == 2
    assert {trace.words[i] for i in world.operator[:6]} == {"sum"}
    computed = world.arrival[2:6, 1] - world.exit[1:5, 1]  # it sleeps 20 ms, on a busy machine more
    assert (computed > 0.0199).all()
    for group in trace.groups:
        arrival, leave = group.times()
        assert (leave >= arrival).all()
        assert (np.diff(arrival, axis=0) > 0).all()
    assert (world.exit[1:].min(axis=1) >= world.arrival[1:].max(axis=1) - 1e-6).all()
    assert all(re.match(rf"{name}\+0x", trace.words[i]) for i in world.site)


@both_families
@pytest.mark.parametrize(
    "settings", [{"LATECOMER": "observe"}, {}, {"LATECOMER_ALGORITHM": "ring"}]
)
def test_calls_that_mpi_refuses_on_one_rank_are_none(name, settings, programs, tmp_path):
    job = traced(name, programs, tmp_path / "trace", words=["refused"], **settings)
    assert job.code == 0, job.err
    trace = read(tmp_path / "trace")
    assert trace.remarks == []
    assert trace.groups[0].bytes.tolist() == [8 * (4096 + call) for call in range(5)]


@both_families
def test_handled_calls_name_their_algorithm(name, programs, tmp_path):
    folder = tmp_path / "trace"
    job = traced(name, programs, folder, LATECOMER_ALGORITHM="ring")
    assert job.code == 0, job.err
    world = (trace := read(folder)).groups[0]
    assert {trace.words[i] for i in world.algorithm[2:6]} == {"ring"}
    assert world.served.tolist() == [2, 3] + [0] * 4 + [5] * 3  # the ranks were linked after 3


@both_families
def test_the_report_says_how_long_ranks_slept(name, programs, tmp_path, capsys):
    folder = tmp_path / "trace"
    wait = {"LATECOMER_ALGORITHM": "ring", "LATECOMER_WAIT": "sleep"}
    assert traced(name, programs, folder, **wait).code == 0
    trace = read(folder)
    assert 0 < trace.all_slept < 3 * trace.span()[1].max()
    assert cli.run(["report", str(folder), "--budget", "0"]) == 0
    assert "freed: Ranks that waited slept for " in capsys.readouterr().out


LINKED = r"""
#include <latecomer/latecomer_mpi.h>
static float mine[1 << 14], sum[1 << 14];
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  latecomer_set_algorithm(MPI_COMM_WORLD, "allreduce", "ring");
  for (int i = 0; i < 5; ++i) {
    latecomer_allreduce(mine, sum, 1 << 14, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }
  return MPI_Finalize();
}
"""


@both_families
def test_programs_that_call_latecomer_are_traced(name, tmp_path):
    family, library = installed(name), program.find_library(name)
    if library is None:
        pytest.skip(f"liblatecomer_{name}.so is not built")
    (tmp_path / "code.c").write_text(LINKED)
    subprocess.run(
        [family.mpicc, tmp_path / "code.c", "-I", ROOT / "include", library,
         f"-Wl,-rpath,{library.parent}", "-o", tmp_path / "code"], check=True, timeout=600,
    )  # fmt: skip
    env = {**PATIENT, "LATECOMER_TRACE": str(tmp_path / "trace")}
    launch = mpi.launch_command(family, 2, [str(tmp_path / "code")], env=env, allow_root=True)
    job = run_command(launch.command, launch.env)
    assert job.code == 0, job.err
    (world,) = (trace := read(tmp_path / "trace")).groups
    assert {trace.words[i] for i in world.algorithm} == {"ring"}
    assert (world.arrival.shape, set(world.bytes)) == ((5, 2), {1 << 16})


def test_files_are_private_and_never_overwritten(programs, tmp_path):
    folder = tmp_path / "trace"
    assert traced("openmpi", programs, folder).code == 0
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert sorted(before) == ["rank-0.trace", "rank-1.trace", "rank-2.trace"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    job = traced("openmpi", programs, folder)
    assert job.code == 0
    assert job.err.count("it holds a trace already; name another folder") == 1
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_links_are_not_followed(programs, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    job = traced("openmpi", programs, tmp_path / "link")
    assert job.code == 0
    assert "cannot write a trace" in job.err
    assert not list((tmp_path / "real").iterdir())


def test_a_full_file_says_how_many_calls_it_lacks(programs, tmp_path):
    folder = tmp_path / "trace"
    job = traced("openmpi", programs, folder, 2, ["3000"], LATECOMER_TRACE_BYTES="64KiB")
    assert job.code == 0
    assert "calls are not in the trace" in job.err
    assert all(path.stat().st_size <= 64 << 10 for path in folder.iterdir())
    trace = read(folder)
    assert trace.dropped + trace.calls == 3000
    assert f"the last {trace.dropped} calls are not in the trace" in trace.remarks[0]


def test_a_size_that_cannot_be_read_is_reported(programs, tmp_path):
    job = traced("openmpi", programs, tmp_path / "t", 2, ["10"], LATECOMER_TRACE_BYTES="many")
    assert job.code == 0
    assert "LATECOMER_TRACE_BYTES is not used" in job.err
    assert read(tmp_path / "t").calls == 10


@pytest.mark.parametrize("size", ["10", "4097MiB", "1000TiB"])
def test_a_size_that_nobody_could_write_or_read_is_reported(size, programs, tmp_path):
    job = traced("openmpi", programs, tmp_path / "t", 2, ["10"], LATECOMER_TRACE_BYTES=size)
    assert job.code == 0
    right = "right would be a size from 64KiB to 4GiB"
    said = f"LATECOMER_TRACE_BYTES is not used: bytes: '{size}' is not usable; {right}"
    assert job.err.count(said) == 1
    assert read(tmp_path / "t").calls == 10


def test_a_file_that_cannot_be_made_is_not_left_empty(programs, tmp_path):
    folder = tmp_path / "t"
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, limits[1]))  # a file of that does not fit in
    try:
        job = traced("openmpi", programs, folder, 2, ["10"], LATECOMER_TRACE_BYTES="4GiB")
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
    assert job.code == 0
    assert job.err.count("cannot write a trace") == 1
    assert not list(folder.iterdir())


@both_families
def test_a_killed_job_keeps_what_was_written(name, programs, tmp_path):
    folder = tmp_path / "trace"
    command, env = command_of(
        name, programs(name), 2, ["forever"], {"LATECOMER_TRACE": str(folder)}
    )
    with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          start_new_session=True) as job:  # fmt: skip
        try:
            deadline = time.monotonic() + 600
            while time.monotonic() < deadline and _calls(folder) < 40:
                time.sleep(0.05)
            for path in folder.iterdir():
                pid = int(np.fromfile(path, native.HEADER, 1)["pid"][0])
                os.kill(pid, 9)
        finally:
            job.terminate()
            job.wait(timeout=600)
    trace = read(folder)
    assert trace.calls >= 20
    assert np.isfinite(trace.groups[0].exit[:20]).all()
    assert "2 ranks did not reach MPI_Finalize" in trace.remarks


def _calls(folder):
    paths = list(folder.glob("rank-*.trace")) if folder.is_dir() else []
    if len(paths) < 2:
        return 0
    headers = [np.fromfile(path, native.HEADER, 1) for path in paths]
    return min((int(header["used"][0]) for header in headers if len(header)), default=0)


def test_the_command_traces_and_writes_the_page(programs, tmp_path, capfd):
    if shutil.which("mpirun") is None:
        pytest.skip("no mpirun on the path")
    launch, env = command_of("openmpi", programs("openmpi"), 2, [], {})
    words = [word for word in launch if not word.startswith("LD_PRELOAD=")]
    words = [word for i, word in enumerate(words) if not (word == "-x" and i + 1 < len(words)
                                                         and "=" not in words[i + 1])]  # fmt: skip
    folder, file = tmp_path / "trace", tmp_path / "report.html"
    with pytest.MonkeyPatch.context() as patch:
        for name, value in env.items():
            patch.setenv(name, value)
        options = ["--trace", str(folder), "--report", str(file), "--deadline", "600"]
        assert cli.run(["run", *options, "--", *words]) == 0
        assert "who:   " in capfd.readouterr().err
        assert cli.run(["run", *options, "--", *words]) == 2
        assert "trace holds a trace; name another folder, as in --trace " in capfd.readouterr().err
    assert "who is late" in file.read_text()


@pytest.mark.parametrize(("words", "said"), [
    (["--html", "a.html"], "--html a.html is the page of a trace; it needs --trace FOLDER"),
    (["--report", "a.html"], "it needs --trace FOLDER"),
    (["--trace", "t", "--off"], "--trace needs a run with the library"),
])  # fmt: skip
def test_options_that_do_not_fit(words, said, capsys):
    assert cli.run(["run", *words, "--", "mpirun", "-n", "2", "./a"]) == 2
    assert said in capsys.readouterr().err
