"""Files of several runs in one folder, and calls whose times contradict the file or each other."""

import json
import shutil
from itertools import combinations, pairwise

import numpy as np
import pytest
from kineto_helpers import NCCL, device_trace, facts, kernel, remark
from latecomer.report.analysis.lateness import analyse
from latecomer.report.trace import native_file, read
from latecomer.report.trace import native_file as native
from latecomer.report.trace.left_out import LeftOut
from latecomer.report.trace.same_run import Span, apart, together
from trace_helpers import ZERO, Files, arrivals_and_exits

CALLS, RANKS, LATE = 12, 4, 1


def run_in(folder, *, seconds=0.0, skew=(), seed=1):
    """The files of a run that began so many seconds later."""
    skew = [each + round(1e9 * seconds) for each in skew or [0] * RANKS]
    files = Files(RANKS, skew_ns=skew)
    return files.write(folder, *arrivals_and_exits(CALLS, RANKS, late=LATE, seed=seed))


def of_one_clock(folder):
    """As on one host."""
    for path in folder.glob("**/rank-*.trace"):
        changed(path, None, "clock", 77)


def changed(path, call, field, value):
    """Write a value into the header, or into one of the calls."""
    raw = bytearray(path.read_bytes())
    records = np.frombuffer(raw, np.uint8, offset=native.HEADER.itemsize).reshape(-1, 64)
    if call is None:
        np.frombuffer(raw, native.HEADER, 1)[field] = value
    else:
        places = np.flatnonzero(records[:, 0] == native.A_CALL)
        at = native.HEADER.itemsize + 64 * int(places[call])
        np.frombuffer(raw, native.CALL, 1, offset=at)[field] = value
    path.write_bytes(raw)


def known(trace):
    """The calls of each rank whose times are known."""
    return np.isfinite(trace.groups[0].arrival).sum(axis=0).tolist()


# ---- files of another run


@pytest.mark.parametrize("seconds", [-1059.0, 1059.0, 5.0])
@pytest.mark.parametrize("one_clock", [True, False])
def test_a_file_of_another_run_is_left_out(tmp_path, seconds, one_clock):
    folder = run_in(tmp_path / "a")
    other = run_in(tmp_path / "b", seconds=seconds if one_clock else 9 * seconds * 3600)
    if not one_clock:  # then the calendar tells
        changed(other / "rank-3.trace", None, "real", round(1e9 * Files.STARTED) - ZERO)
    (other / "rank-3.trace").replace(folder / "rank-3.trace")
    if one_clock:
        of_one_clock(folder)
    trace = read(folder)
    told = remark(trace, "files of another run")
    assert "rank-3.trace" in told
    assert ("begins" if seconds > 0 else "ends") in told
    assert known(trace) == [CALLS, CALLS, CALLS, 0]
    assert not analyse(trace).ranks.cost.any()


def test_runs_that_overlap_are_told_apart_by_their_calls(tmp_path):
    folder = run_in(tmp_path / "a")
    other = run_in(tmp_path / "b", seconds=0.5)
    (other / "rank-3.trace").replace(folder / "rank-3.trace")
    of_one_clock(folder)
    trace = read(folder)
    assert "rank 3" in remark(trace, "left most calls before the others entered them")
    assert known(trace) == [CALLS, CALLS, CALLS, 0]


def test_a_file_that_cannot_be_opened_is_named(tmp_path):
    folder, left = run_in(tmp_path / "a"), LeftOut()
    paths = [folder / "rank-0.trace", folder / "rank-9.trace"]
    assert [file.path for file in native_file.read(paths, left)] == paths[:1]
    assert left.remarks() == [f"left out: files that cannot be used (1), such as {paths[1]}: cannot "
                              "be read: No such file or directory; check the file"]  # fmt: skip


def test_of_two_whole_runs_in_folders_one_is_read(tmp_path):
    """The first file of a rank by name is not always of the run of the others."""
    first = run_in(tmp_path / "a")
    (first / "rank-2.trace").unlink()
    run_in(tmp_path / "b", seconds=100.0, seed=5)
    of_one_clock(tmp_path)
    trace = read(tmp_path)
    assert "(3)" in remark(trace, "files of another run")
    assert known(trace) == [CALLS] * RANKS


def test_calendars_of_two_hosts_may_differ(tmp_path):
    folder = run_in(tmp_path / "a", skew=[0, 0, 10**15, 10**15])
    changed(
        folder / "rank-3.trace", None, "real", round(1e9 * Files.STARTED) - ZERO - 10**15 + 10**12
    )
    trace = read(folder)
    assert trace.remarks == []
    assert known(trace) == [CALLS] * RANKS


@pytest.mark.parametrize("seed", range(20))
def test_files_whose_times_overlap_go_together(seed):
    """On one clock: the largest set without a gap, as a slow reference finds it."""
    print("seed", seed)
    rng = np.random.default_rng(seed)
    spans = {at: Span(0, begin, begin + rng.random()) for at, begin in
             enumerate(np.sort(rng.random(9) * 6))}  # fmt: skip
    sets = [[0]]
    for at in range(1, 9):
        if spans[at].begin <= max(spans[each].end for each in sets[-1]):
            sets[-1].append(at)
        else:
            sets.append([at])
    assert sorted(together(spans, len)) == max(sets, key=len)


@pytest.mark.parametrize(("begin", "end", "said"), [
    (40.0, 50.0, "its times overlap with those of fewer files"),
    (150.0, 160.0, "it begins 50 s after the others end"),
])  # fmt: skip
def test_of_two_runs_on_another_clock_one_is_of_the_same_run(begin, end, said):
    spans = {0: Span("a", 0, 100), 1: Span("a", 0, 100), 2: Span("b", 10, 20),
             3: Span("b", begin, end)}  # fmt: skip
    kept_ones = together(spans, len)
    assert sorted(kept_ones) == [0, 1, 2]
    assert apart(3, [0, 1], spans) == said


def test_of_two_files_of_a_rank_the_first_is_read(tmp_path):
    folder = run_in(tmp_path / "a")
    (tmp_path / "b").mkdir()
    shutil.copy(folder / "rank-2.trace", tmp_path / "b")
    trace = read(tmp_path)
    assert known(trace) == [CALLS] * RANKS
    told = remark(trace, "further files of a rank (1)")
    assert told.endswith(f"{tmp_path}/b/rank-2.trace: rank 2 is in {folder}/rank-2.trace")


# ---- times that contradict the file


@pytest.mark.parametrize(("field", "value"), [
    ("arrival", 1), ("arrival", ZERO - 1), ("exit", ZERO + 10**13), ("arrival", -(10**15)),
])  # fmt: skip
@pytest.mark.parametrize("call", [0, 5, CALLS - 1])
def test_a_call_outside_of_the_time_of_its_file_is_left_out(tmp_path, field, value, call):
    folder = run_in(tmp_path / "a")
    changed(folder / "rank-2.trace", call, field, value)
    trace = read(folder)
    told = remark(trace, "in the time that the file tells")
    assert "(1)" in told
    assert "rank-2.trace, byte" in told
    assert known(trace) == [CALLS, CALLS, CALLS - 1, CALLS]


def test_a_header_that_contradicts_most_calls_is_not_believed(tmp_path):
    folder = run_in(tmp_path / "a")
    changed(folder / "rank-2.trace", None, "end", ZERO + 1000)
    assert known(read(folder)) == [CALLS] * RANKS


def test_a_call_that_begins_before_the_last_one_has_ended_is_left_out(tmp_path):
    folder = run_in(tmp_path / "a")
    changed(folder / "rank-2.trace", 6, "arrival", ZERO)
    trace = read(folder)
    assert "(1)" in remark(trace, "after the exit of the call before")
    assert known(trace) == [CALLS, CALLS, CALLS - 1, CALLS]


@pytest.mark.parametrize("seed", range(30))
def test_as_many_calls_as_can_follow_each_other_are_kept(tmp_path, seed):
    print("seed", seed)
    rng = np.random.default_rng(seed)
    begins = rng.integers(0, 12, 8)
    ends = begins + rng.integers(0, 4, 8)

    def fit(places):
        return all(ends[one] <= begins[other] for one, other in pairwise(places))

    folder = Files(1).write(tmp_path / "a", begins[:, None] / 16, ends[:, None] / 16)
    (file,) = native_file.read([folder / "rank-0.trace"], LeftOut())
    kept = sum(comm.calls for comm in file.comms.values())
    assert any(fit(each) for each in combinations(range(8), kept))
    assert not any(fit(each) for each in combinations(range(8), kept + 1))


def test_a_call_that_another_rank_left_before_is_left_out(tmp_path):
    folder = run_in(tmp_path / "a")
    of_one_clock(folder)
    arrival, leave = arrivals_and_exits(CALLS, RANKS, late=LATE)
    changed(folder / "rank-2.trace", 5, "exit", ZERO + round(1e9 * arrival[5, 2]))
    changed(folder / "rank-2.trace", 5, "arrival", ZERO + round(1e9 * leave[4, 2]))
    trace = read(folder)
    assert "(1)" in remark(trace, "left before another entered")
    assert known(trace) == [CALLS - 1] * RANKS


@pytest.mark.parametrize("seed", range(4))
def test_no_wrong_time_makes_more_waiting_than_the_run_is_long(tmp_path, seed):
    """Each time one value of one record is another one."""
    print("seed", seed)
    rng = np.random.default_rng(seed)
    folder = run_in(tmp_path / "a")
    of_one_clock(folder)
    whole = analyse(read(folder))
    for _ in range(40):
        path = folder / f"rank-{rng.integers(RANKS)}.trace"
        raw = path.read_bytes()
        near = ZERO + int(rng.integers(-(10**9), 2 * 10**9))
        value = int(rng.choice([near, int(rng.integers(-(1 << 62), 1 << 62)), 0, -1]))
        changed(path, int(rng.integers(CALLS)), str(rng.choice(["arrival", "exit"])), value)
        found = analyse(read(folder))
        assert found.ranks.waiting.max() <= whole.run_seconds
        assert found.ranks.last.argmax() == LATE
        assert found.groups[0].complete >= CALLS - 2
        path.write_bytes(raw)


# ---- profiler traces: several files of a rank


def profiled(start=1.0, late=LATE, numbers=range(CALLS), host="h", numbered=True):
    """The traces of four ranks; each call ends 0.1 ms after the late rank has come."""
    traces = []
    for rank in range(RANKS):
        events = []
        for at, number in enumerate(numbers):
            said = facts(number if numbered else None)
            came = start + 0.01 * at + 0.003 * (rank == late)
            events.append(kernel(NCCL, came, start + 0.01 * at + 0.0031 - came, **said))
        traces.append(device_trace(rank, events, host))
    return traces


def kept(folder, runs):
    """Stores the files of the runs; of each run the ranks that are not None."""
    for at, run in enumerate(runs):
        for rank, trace in enumerate(run):
            if trace is not None:
                (folder / f"run{at}_rank{rank}.json").write_text(json.dumps(trace))
    return folder


@pytest.mark.parametrize("numbered", [True, False])
@pytest.mark.parametrize("later", [2.0, 3600.0])
def test_of_several_runs_the_one_of_most_ranks_is_read(tmp_path, numbered, later):
    first = profiled(late=3, numbered=numbered)
    first[3] = None
    second = profiled(1.0 + later, late=1, numbers=range(40, 40 + CALLS), numbered=numbered)
    trace = read(kept(tmp_path, [first, second]))
    assert analyse(trace).ranks.last.tolist() == [0, CALLS, 0, 0]
    told = remark(trace, "keep one file a rank")
    assert "(3)" in told
    assert "run0_rank0.json: rank 0 is in run1_rank0.json" in told


def test_a_rank_that_only_other_runs_have_has_no_file(tmp_path):
    runs = [[profiled(start)[0], None, None, None] for start in (100.0, 200.0)]
    runs += [[None, *profiled(start)[1:]] for start in (1.0, 300.0)]
    trace = read(kept(tmp_path, runs))
    assert known(trace) == [0, CALLS, CALLS, CALLS]
    told = remark(trace, "keep one file a rank (5)")
    assert "run0_rank0.json: of rank 0 there is no other" in told


def test_numbers_tell_the_files_of_hosts_whose_clocks_differ(tmp_path):
    runs = [profiled(1.0 + 2 * at, late=at, numbers=range(40 * at, 40 * at + CALLS))
            for at in range(2)]  # fmt: skip
    for run in runs:
        for rank, trace in enumerate(run):
            trace["host_name"] = f"host{rank // 2}"
            trace["baseTimeNanoseconds"] += 10**12 * (rank // 2)
    runs[0][0] = None
    trace = read(kept(tmp_path, runs))
    assert np.isfinite(trace.groups[0].arrival).all()
    assert trace.groups[0].sequence.tolist() == list(range(40, 40 + CALLS))


# ---- profiler traces: calls without numbers


@pytest.mark.parametrize("short", [False, True])
@pytest.mark.parametrize("lacks", [
    {3: range(3)}, {1: [5]}, {0: range(2), 3: range(9, CALLS)}, {0: [4], 1: [4, 7], 2: [0]},
    {rank: range(rank) for rank in range(RANKS)},
])  # fmt: skip
def test_on_one_clock_the_times_match_the_calls(tmp_path, lacks, short):
    traces = profiled(numbered=False)
    for trace in traces:
        for event in trace["traceEvents"]:
            event["dur"] += 0 if short else 5000
    for rank, those in lacks.items():
        traces[rank]["traceEvents"] = [
            event for at, event in enumerate(traces[rank]["traceEvents"]) if at not in those
        ]
    trace = read(kept(tmp_path, [traces]))
    missing = {at for those in lacks.values() for at in those}
    found = analyse(trace)
    assert found.incomplete == len(missing)
    assert found.ranks.last.tolist() == [0, CALLS - len(missing), 0, 0]
    assert trace.remarks == []


@pytest.mark.parametrize("seed", range(4))
def test_on_several_clocks_irregular_steps_tell_the_shift(tmp_path, seed):
    print("seed", seed)
    rng = np.random.default_rng(seed)
    traces = profiled(numbered=False, numbers=range(40))
    waits = 1e6 * np.cumsum(rng.random(40) * 0.02)
    shift = int(rng.integers(1, 9))
    for rank, trace in enumerate(traces):
        trace["host_name"] = f"host{rank}"
        trace["baseTimeNanoseconds"] += int(rng.integers(10**12))
        for at, event in enumerate(trace["traceEvents"]):
            event["ts"] += waits[at]
    traces[3]["traceEvents"] = traces[3]["traceEvents"][shift:]
    (group,) = read(kept(tmp_path, [traces])).groups
    assert np.isnan(group.arrival[:, 3]).tolist() == [at < shift for at in range(40)]


def test_on_several_clocks_regular_steps_leave_doubt(tmp_path):
    traces = profiled(numbered=False)
    for rank, trace in enumerate(traces):
        trace["host_name"] = f"host{rank}"
    traces[3]["traceEvents"] = traces[3]["traceEvents"][2:]
    trace = read(kept(tmp_path, [traces]))
    assert "in doubt: which calls" in remark(trace, "different numbers of calls")
