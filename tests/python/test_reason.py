"""Why a rank is late: it computes, others have its processor, or it waits outside of MPI."""

import json
import re
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from answer_helpers import JOB, loop_of, work_of
from dropin_helpers import PATIENT, run_command
from latecomer.launch import mpi, preload, program
from latecomer.report.analysis.answer import answer_of
from latecomer.report.analysis.facts import Facts, facts
from latecomer.report.analysis.job import facts_of_job
from latecomer.report.analysis.lateness import analyse
from latecomer.report.analysis.reason import BLOCKED, BUSY, PREEMPTED, Reason, reason_of
from latecomer.report.analysis.remedies import REMEDIES
from latecomer.report.trace import read
from mpi_helpers import installed
from scenes_helpers import ROOT, both_families
from trace_helpers import Files, append, arrivals_and_exits


def times(*ranks):
    """Seconds outside of MPI of each rank, preempted, and blocked."""
    return np.array(ranks, float)


USUAL = (10.0, 0.1, 0.0)


@pytest.mark.parametrize(("of_late", "longer"), [
    ((20.0, 0.1, 0.0), [(BUSY, 10.0)]),  # more work
    ((20.0, 10.1, 0.0), [(PREEMPTED, 10.0)]),
    ((20.0, 0.1, 10.0), [(BLOCKED, 10.0)]),
    ((20.0, 6.1, 2.0), [(PREEMPTED, 6.0)]),  # most of what it takes longer
    ((20.0, 0.1, 4.0), [(BUSY, 6.0), (BLOCKED, 4.0)]),
    ((20.0, 3.1, 3.0), [(BUSY, 4.0), (PREEMPTED, 3.0), (BLOCKED, 3.0)]),
    ((10.0, 4.0, 0.0), None),  # it is not longer outside of MPI than others
    ((0.0, 0.0, 0.0), None),  # not known
])  # fmt: skip
def test_the_reason_is_most_of_what_a_late_rank_takes_longer(of_late, longer):
    found = reason_of([1], times(USUAL, of_late, USUAL), 10.0, 40.0)
    assert (found is None) is (longer is None)
    if longer:
        assert dict(found.longer) == pytest.approx(dict(longer))
        assert found.why == longer[0][0]


def test_what_all_ranks_do_is_no_reason():
    """All sleep for half of the time: the late one computes longer."""
    assert reason_of([0], times((16, 0, 5), (10, 0, 5), (10, 0, 5)), 10.0, 40.0).why == BUSY


@pytest.mark.parametrize(("lateness", "says"), [(0.0, True), (12.0, True), (15.0, False)])
def test_time_outside_of_mpi_is_no_reason_where_it_is_not_why_a_rank_is_late(lateness, says):
    found = reason_of([1], times(USUAL, (17.0, 0.1, 7.0), USUAL), 10.0, 40.0, lateness)
    assert (found is not None) is says


def test_several_late_ranks_have_the_reason_of_their_mean():
    found = reason_of([0, 1], times((20, 0, 10), (30, 0, 20), USUAL, USUAL), 10.0, 70.0)
    assert dict(found.longer) == pytest.approx({BLOCKED: 15.0})


@pytest.mark.parametrize(("late", "preempted", "blocked", "waiting", "says"), [
    ([], 1.0, 0.0, 11.0, True),  # it explains half of the waiting
    ([], 1.0, 0.0, 13.0, False),
    ([], 1.0, 3.0, 11.0, False),  # so may what ranks slept
    ([], 0.1, 0.0, 3.0, False),  # too little of the time
    ([], 0.0, 0.0, 3.0, False),
    ([], 1.0, 0.0, 1.0, False),  # little waiting
    ([], 5.0, 3.0, 1.0, True),  # but all are slow
    ([0], 5.0, 3.0, 1.0, True),
    ([0, 3], 5.0, 3.0, 20.0, True),  # nothing explains why these are late
    ([0, 3], 1.0, 3.0, 11.0, False),
])  # fmt: skip
def test_all_ranks_are_slow_where_processors_are_shared(late, preempted, blocked, waiting, says):
    shared = times(*[(10.0, preempted, blocked)] * 2, *[(10.0, 0.0, blocked)] * 2)
    found = reason_of(late, shared, waiting, 50.0)
    assert (found is not None) is says
    assert found in (None, Reason(preempted=preempted / 20))


@pytest.mark.parametrize("outside", [None, np.full((2, 3), np.nan), times(USUAL, (np.nan,) * 3),
                                     np.empty((0, 3))])  # fmt: skip
def test_without_measurements_there_is_no_reason(outside):
    assert reason_of([1], outside, 1.0, 2.0) is None


def test_all_ranks_late_have_nobody_to_compare_with():
    assert reason_of([0, 1], times(USUAL, USUAL), 1.0, 2.0) is None


LATE = Facts(ranks=4, run=10.0, waiting=4.0, moving=1.0, late=[1], hosts=["a"])


@pytest.mark.parametrize(("changes", "says", "remedy"), [
    ({"reason": Reason([(BUSY, 1.5)])},
     "Rank 1 on host a is late. It ran 1.5 s longer than other ranks: more work, or a slower "
     "processor.", "rank"),
    ({"reason": Reason([(PREEMPTED, 0.4)])},
     "Rank 1 on host a is late. It was ready to run, while others had the processor, 400 ms longer "
     "than other ranks.", "preempted"),
    ({"reason": Reason([(BUSY, 1.5), (BLOCKED, 1.0)])},
     "Rank 1 on host a is late. It ran 1.5 s longer than other ranks, and slept, or waited for a "
     "disk, a device or another process, 1 s longer.", "rank"),
    ({"reason": Reason([(BLOCKED, 2.0), (PREEMPTED, 1.0)]), "late": [1, 2], "hosts": ["a", "a"]},
     "Ranks 1 and 2 on host a are late. They slept, or waited for a disk, a device or another "
     "process, 2 s longer than other ranks, in the mean, and were ready to run, while others had "
     "the processor, 1 s longer.", "blocked"),
    ({"reason": Reason(preempted=0.4), "late": [], "hosts": []},
     "Nobody in particular is late. Ranks were ready to run, while others had the processor, for "
     "40 % of their time outside MPI.", "preempted"),
])  # fmt: skip
def test_the_answer_says_why(changes, says, remedy):
    said = answer_of(replace(LATE, **changes))
    assert said.who == says
    assert said.next.lower().startswith(REMEDIES[remedy].do)


def test_shared_processors_are_told_where_little_is_waited():
    little = replace(LATE, waiting=0.1, moving=0.1)
    assert answer_of(little).next.startswith("Use a profiler")
    said = answer_of(replace(little, reason=Reason(preempted=0.4)))
    assert " is late. Ranks were ready to run, while others had" in said.who
    assert said.next.startswith("Give each rank a core of its own")


def test_why_is_not_told_where_the_job_has_no_end():
    known = replace(LATE, reason=Reason([(BLOCKED, 0.4)]))
    early = answer_of(replace(known, late=(), ended=[1],
                              early="rank 1 did not reach MPI_Finalize"))  # fmt: skip
    assert "slept" not in early.who


def outside_record(*nanoseconds):
    """A record of the format, as src/trace/records.hpp has it."""
    record = np.zeros(64, np.uint8)
    record[0] = 9
    record[8:32] = np.array(nanoseconds, "<i8").view(np.uint8)
    return record


@pytest.mark.parametrize(("raw", "known"), [
    ((10**9, 3 * 10**8, 10**8), (1.0, 0.3, 0.1)),
    ((10**9, 9 * 10**8, 2 * 10**8), None),  # the parts are more than the whole
    ((10**9, -1, 0), None),
    ((-1, 0, 0), None),
    ((1 << 62, 0, 0), None),
    ((3 * 10**9, 0, 0), None),  # of a run of a second
    ((0, 0, 0), None),
])  # fmt: skip
def test_a_trace_tells_the_time_outside_of_mpi(tmp_path, raw, known):
    Files(2).write(tmp_path, *arrivals_and_exits(5, 2))
    append(tmp_path / "rank-1.trace", outside_record(*raw))
    trace = read(tmp_path)
    outside = trace.outside
    assert np.isnan(outside[0]).all()
    left = [said for said in trace.remarks if "times outside of MPI that cannot be (1)" in said]
    assert len(left) == (known is None)
    assert outside[1] == pytest.approx(known or (np.nan,) * 3, nan_ok=True)


def sleeper():
    """A trace whose rank 2 sleeps longer in each step, and its ranks' time outside of MPI."""
    trace = loop_of(work_of(30, 4, late=[2]))
    ranks = analyse(trace).ranks
    outside = np.zeros((4, 3))
    outside[:, 0] = ranks.run - ranks.waited - ranks.moved
    outside[2, 2] = outside[2, 0] - outside[0, 0]
    return trace, outside


@pytest.mark.parametrize(("longer", "known"), [(1.0, True), (1.8, True), (2.2, False)])
def test_of_a_part_of_the_run_a_part_of_the_sample_is_told(longer, known):
    """The whole run has as much more time outside of MPI, of the same kinds."""
    trace, outside = sleeper()
    found = facts(analyse(replace(trace, outside=longer * outside)), run_command="./app")
    assert found.measured is known
    assert (found.reason is not None) is known
    if known:
        ((kind, told),) = found.reason.longer
        assert (kind, told) == (BLOCKED, pytest.approx(outside[2, 2], rel=1e-6))
    assert answer_of(found).next.startswith("Find out what" if known else "See which of these")


def test_the_reason_comes_from_a_trace_and_from_a_summary():
    trace, outside = sleeper()
    assert facts(analyse(replace(trace, outside=outside))).reason.why == BLOCKED
    names = "time_s", "preempted_s", "blocked_s"
    job = JOB | {
        "ranks": 4, "told": 30, "sampled_from": 30, "cost_s": [0, 0, 0.4, 0], "waiting_s": 0.1,
        "waited_s": [0.1, 0.1, 0, 0.1], "equal_calls": [1, 1, 30, 1], "hosts": ["a"] * 4,
        "places": [], "clock_error_s": 0.0,
        "outside": [dict(zip(names, rank, strict=True)) for rank in outside.tolist()],
    }  # fmt: skip
    assert facts_of_job(job).reason.why == BLOCKED


# Rank 1 computes longer, or shares its core with a thread, or sleeps. It prints how long it took,
# how long it used its processor, and how long it slept.
CODE = r"""
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
enum { steps = 25 };
static volatile int ends = 0;
static volatile double sink;
static double seconds_of(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec + 1e-9 * now.tv_nsec;
}
static void compute(double seconds) {
  const double end = seconds_of(CLOCK_THREAD_CPUTIME_ID) + seconds;
  while (seconds_of(CLOCK_THREAD_CPUTIME_ID) < end) sink += 1;
}
static void* spin(void* none) {
  while (!ends) sink += 1;
  return none;
}
static void bind(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  sched_setaffinity(0, sizeof cores, &cores);
}
int main(int argc, char** argv) {
  int rank;
  double mine = 1, sum, took = 0, used = 0, slept = 0;
  pthread_t other;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int busy = rank == 1 && !strcmp(argv[1], "busy");
  const int shares = rank == 1 && !strcmp(argv[1], "preempted");
  const int sleeps = rank == 1 && !strcmp(argv[1], "blocked");
  bind(rank);
  if (shares) pthread_create(&other, NULL, spin, NULL);
  for (int step = 0; step < steps; ++step) {
    const double begin = seconds_of(CLOCK_MONOTONIC);
    const double before = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    compute(busy ? 0.05 : shares ? 0.04 : 0.01);
    const double computed = seconds_of(CLOCK_MONOTONIC);
    if (sleeps) usleep(60000);
    const double end = seconds_of(CLOCK_MONOTONIC);
    used += seconds_of(CLOCK_THREAD_CPUTIME_ID) - before;
    took += end - begin;
    slept += end - computed;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  ends = 1;
  if (shares) pthread_join(other, NULL);
  if (rank == 1) fprintf(stderr, "rank 1: %.6f %.6f %.6f\n", took, used, slept);
  return MPI_Finalize();
}
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The program, by MPI library."""
    folder, made = tmp_path_factory.mktemp("reason"), {}

    def compiled(name):
        if program.find_built(preload.LIBRARY) is None:
            pytest.skip("the drop-in library is not built")
        if name not in made:
            (folder / "code.c").write_text(CODE)
            command = [installed(name).mpicc, folder / "code.c", "-o", folder / name, "-pthread"]
            subprocess.run(command, check=True, timeout=600)
            made[name] = str(folder / name)
        return made[name]

    return compiled


def shares_of(name, binary, what, *options):
    """The parts of rank 1's time outside of MPI preempted and blocked: by us, and by itself; and
    what `latecomer run --json` says."""
    launch = mpi.launch_command(installed(name), 2, [binary, what], env=PATIENT, allow_root=True)
    verb = [str(ROOT / ".venv/bin/python"), "-m", "latecomer", "run", "--json"]
    job = run_command([*verb, *options, "--", *launch.command],
                      launch.env | {"PYTHONPATH": str(ROOT / "python")})  # fmt: skip
    assert job.code == 0, job.err
    told = re.search(r"rank 1: (\S+) (\S+) (\S+)", job.err)
    took, used, slept = map(float, told.groups())
    found = json.loads(job.out)
    if options[0] == "--observe":
        time, preempted, blocked = found["job"]["outside"][1].values()
    else:
        time, preempted, blocked = read(options[1]).outside[1]
    return (preempted / time, blocked / time), ((took - used - slept) / took, slept / took), found


@both_families
@pytest.mark.parametrize("what", [BUSY, PREEMPTED, BLOCKED])
def test_a_program_knows_as_much_of_its_time(name, what, built, tmp_path):
    way = ["--observe"] if name == "openmpi" else ["--trace", str(tmp_path / "trace")]
    ours, own, found = shares_of(name, built(name), what, *way)
    # A sample, and a thread that wakes up is ready before it runs.
    assert ours == pytest.approx(own, abs=0.25), found
    assert found["answer"]["who"].startswith("Rank 1 on host")
