"""Where ranks of a job are that does not end, by the status in their files."""

import os
import signal
import subprocess
import time

import numpy as np
import pytest
from dropin_helpers import DEADLINE_S, compiled_fortran, launcher_of
from latecomer import cli
from latecomer.launch import dropin, preload, program
from latecomer.report.trace import native_file as native
from latecomer.report.trace import read
from latecomer.report.trace.model import TraceError
from latecomer.verbs.run import _answer_of_trace
from mpi_helpers import installed
from scenes_helpers import both_families
from trace_helpers import ZERO, Files, arrivals_and_exits

HANGS = r"""
#include <mpi.h>
#include <unistd.h>
static int rank, x, y;
static double many[4096], sums[4096];
static void together(void) { MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); }
int main(int argc, char** argv) {
  MPI_Request request;
  MPI_Comm half, between[2];
  MPI_Win window;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 3; ++i) together();
  MPI_Comm_split(MPI_COMM_WORLD, rank == 5, rank, &half);
  for (int i = 0; i < 2; ++i) {
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank == 5 ? 0 : 5, i, &between[i]);
  }
  MPI_Win_create(&x, sizeof x, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  if (rank == 1) MPI_Recv(&x, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 2) {
    MPI_Irecv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  if (rank == 3) MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 4) for (;;) sleep(1);
  if (rank == 5) MPI_Barrier(between[0]);
  if (rank == 6) MPI_Allreduce(many, sums, 4096, MPI_DOUBLE, MPI_SUM, between[1]);
  if (rank == 7) MPI_Win_fence(0, window);
  together();
  return MPI_Finalize();
}
"""
EXPECTED = (
    "rank 0 was last seen in allreduce, call 5 of MPI_COMM_WORLD, at ",
    "rank 1 was last seen in a receive from rank 0 of its communicator, tag 7, at ",
    "rank 2 was last seen in a call that completes messages or collectives, at ",
    "rank 3 was last seen in a probe from any rank, any tag, at ",
    "rank 4 was last seen outside of calls that may wait (tests are not counted), since ",
    "rank 5 was last seen in a call of MPI (making communicators and calls between groups), at ",
    "rank 6 was last seen in a call of MPI (making communicators and calls between groups), at ",
    "rank 7 was last seen in win_fence, call 0 of window 1 of MPI_COMM_WORLD, at ",
)


def remarks_of(folder):
    try:
        return read(folder).remarks
    except TraceError:  # not there yet
        return []


IN_FORTRAN = """
program hangs
  use mpi
  implicit none
  integer :: rank, error, window, file, half, between, ring, x(1), y(4)
  integer(kind=MPI_ADDRESS_KIND) :: bytes = 4
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_split(MPI_COMM_WORLD, min(rank, 1), rank, half, error)
  call MPI_Win_create(x, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, window, error)
  call MPI_Cart_create(MPI_COMM_WORLD, 1, [5], [.true.], .false., ring, error)
  if (rank == 0) call MPI_Win_fence(0, window, error)
  if (rank == 1) call MPI_File_open(MPI_COMM_WORLD, 'none', MPI_MODE_CREATE + MPI_MODE_RDWR, &
                                    MPI_INFO_NULL, file, error)
  if (rank == 2) call MPI_Neighbor_allgather(x, 1, MPI_INTEGER, y, 1, MPI_INTEGER, ring, error)
  if (rank == 3) call MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 0, 7, between, error)
  do
    call sleep(1)
  end do
end program
"""
EXPECTED_IN_FORTRAN = (
    "rank 0 was last seen in win_fence, call 0 of window 1 of MPI_COMM_WORLD, at hangs",
    "rank 1 was last seen in file_open, call 3 of MPI_COMM_WORLD, at hangs",
    "rank 2 was last seen in a call of MPI (collectives among neighbours), at hangs",
    "rank 3 was last seen in a call of MPI (making communicators and calls between groups), "
    "at hangs",
    "rank 4 was last seen outside of calls that may wait (tests are not counted), since ",
)


def run_until_seen(name, ranks, path, folder, expected):
    launch = launcher_of(name, ranks, [str(path)])
    if program.find_built(preload.WITH_MESSAGES) is None:
        pytest.skip("the drop-in library is not built")
    library = preload.library(messages=True)
    variables = {"LATECOMER_TRACE": str(folder), "LD_PRELOAD": str(library)}
    command = preload.with_variables(launch.command, variables)
    job = subprocess.Popen(command, env=launch.env, start_new_session=True, cwd=path.parent)
    try:
        until, found = time.monotonic() + DEADLINE_S, []
        while time.monotonic() < until and job.poll() is None:
            found = remarks_of(folder)
            if all(any(each.startswith(said) for each in found) for said in expected):
                break
            time.sleep(0.2)
        else:
            pytest.fail(f"the ranks were not seen there, but: {found}")
        assert found[0] == f"{ranks} ranks did not reach MPI_Finalize"
    finally:
        os.killpg(job.pid, signal.SIGTERM)
        job.wait()


@both_families
def test_where_the_ranks_of_a_job_are_that_hangs(name, tmp_path):
    source = tmp_path / "hangs.c"
    source.write_text(HANGS)
    subprocess.run([installed(name).mpicc, "-g", source, "-o", tmp_path / "hangs"], check=True)
    run_until_seen(name, 8, tmp_path / "hangs", tmp_path / "trace", EXPECTED)


@both_families
def test_where_the_ranks_of_a_fortran_program_are_that_hangs(name, tmp_path):
    """In the program, not in the MPI library's code for Fortran."""
    source = tmp_path / "hangs.f90"
    source.write_text(IN_FORTRAN)
    path = compiled_fortran(name, source, tmp_path / "hangs")
    run_until_seen(name, 5, path, tmp_path / "trace", EXPECTED_IN_FORTRAN)


@pytest.fixture
def folder(tmp_path):
    return Files(3).write(tmp_path / "trace", *arrivals_and_exits(12, 3))


def patch(folder, rank, **values):
    path = folder / f"rank-{rank}.trace"
    raw = bytearray(path.read_bytes())
    header = np.frombuffer(raw, native.HEADER, 1)
    for name, value in ({"end": 0, "turn": 2, "since": ZERO + 10**9} | values).items():
        header[name] = value
    path.write_bytes(raw)


def seen(folder):
    return [each for each in read(folder).remarks if "last seen" in each]


@pytest.mark.parametrize(("ended", "who", "why"), [
    ([1], "rank 1 did not reach MPI_Finalize", "rank 1"),
    ([0, 1, 2], "no rank reached MPI_Finalize", "the job"),
])  # fmt: skip
def test_a_job_that_ended_early_is_no_slow_one(tmp_path, capsys, ended, who, why):
    together = np.repeat(np.arange(1, 13)[:, None] * 0.01, 3, axis=1)
    folder = Files(3).write(tmp_path / "trace", together, together + 0.005)
    for rank in ended:
        patch(folder, rank, doing=0)
    assert cli.run(["report", str(folder)]) == 0
    said = capsys.readouterr().out
    first = f"The job has not come to its end: {who}; nobody in particular is late."
    assert said.splitlines()[0] == f"who:   {first}"
    assert f"next:  Find out why {why} ended.\n" in said
    assert "What if" not in said
    assert "Find out why" in (folder / "report.html").read_text()
    of_run = _answer_of_trace(folder, None, dropin.Ended(139, 1.0))
    assert (of_run.who, of_run.next) == (first, f"Find out why {why} ended.")


def test_a_late_rank_of_a_job_that_ended_early_is_named(tmp_path, capsys):
    folder = Files(3).write(tmp_path / "trace", *arrivals_and_exits(12, 3, late=2))
    patch(folder, 1, doing=0)
    assert cli.run(["report", str(folder)]) == 0
    said = capsys.readouterr().out
    assert "Rank 2 on host node2 is late." in said
    assert "Rank 1 did not reach MPI_Finalize: this is about the time before." in said


def test_ranks_in_the_same_call_are_told_together(folder):
    for rank, since in enumerate((1, 2, 3)):
        patch(folder, rank, doing=1, doing_sequence=12, doing_name=2, since=ZERO + since * 10**9)
    assert seen(folder) == ["ranks 0, 1 and 2 were last seen in allreduce, call 12 of "
                            "MPI_COMM_WORLD, since 1.000 s to 3.000 s after the begin"]  # fmt: skip


def test_ranks_that_have_ended_or_are_being_written_are_not_told(folder):
    patch(folder, 0, end=ZERO + 10**12)
    patch(folder, 1, turn=3)
    patch(folder, 2, turn=0)  # written by a version without
    assert seen(folder) == []


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"doing": 1, "doing_name": 99, "doing_communicator": 99}, "in a collective, call 0,"),
        ({"doing": 2, "doing_what": 0, "doing_peer": 2, "doing_sequence": 5},
         "in a send to rank 2 of its communicator, tag 5,"),
        ({"doing": 2, "doing_what": 99, "doing_peer": -9, "doing_sequence": -1},
         "in a message from any rank, any tag,"),
        ({"doing": 4, "doing_site": 3}, "in a call that completes messages or collectives, at app"),
        ({"doing": 5, "doing_what": 6, "doing_site": 3},
         "in a call of MPI (windows, files), at app"),
        ({"doing": 5, "doing_what": 192}, "in a call of MPI,"),
        ({"doing": 77, "messages": 1}, "outside of calls that may wait (tests are not counted),"),
        ({"since": -(1 << 63)}, "outside of collectives,"),
    ],
)  # fmt: skip
def test_a_status_is_not_trusted(folder, values, said):
    patch(folder, 1, **values)
    (told,) = seen(folder)
    assert told.startswith(f"rank 1 was last seen {said}")
