"""Traces of PyTorch's profiler: who was late, on which clock, and hostile files."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from kineto_helpers import (
    CALLS,
    RANKS,
    RECORDED,
    collective,
    device_job,
    device_trace,
    entered,
    job,
    load,
    remark,
    store,
)
from latecomer.cli import run
from latecomer.report.analysis.lateness import analyse
from latecomer.report.analysis.time_parts import lines, split, together
from latecomer.report.trace import Words, read
from trace_helpers import HOSTILE, arrivals_and_exits, group_of, trace_of


def calls_of(trace, group, collective_name):
    found = next(each for each in trace.groups if each.name == group)
    own = [trace.words[each] == collective_name for each in found.collective]
    return found.arrival[own], found.exit[own]


def waiting(arrival):
    return (arrival.max(axis=1, keepdims=True) - arrival).sum(axis=0)


# ---- recorded


def test_waiting_is_attributed_as_the_ranks_say():
    trace = read(RECORDED)
    assert (trace.ranks, trace.format, trace.remarks) == (RANKS, "PyTorch profiler", [])
    for group, name, truth in (("0", "allreduce", "allreduce"), ("0", "allgather", "allgather")):
        arrival, _ = calls_of(trace, group, name)
        said = entered(truth)
        assert arrival.shape == said.shape == (20, RANKS)
        assert waiting(arrival).sum() == pytest.approx(waiting(said).sum(), rel=0.05)
        assert np.mean(arrival.argmax(axis=1) == said.argmax(axis=1)) >= 0.95
    arrival, _ = calls_of(trace, "0", "allreduce")
    # Rank 1 computes 20 ms longer, and is late by that.
    assert np.median(arrival[:, 1] - np.median(arrival, axis=1)) == pytest.approx(0.02, rel=0.15)
    found = analyse(trace)
    assert found.latest == 1


def test_groups_and_sizes_are_known():
    trace = read(RECORDED)
    groups = {group.name: group for group in trace.groups}
    assert {name: group.members.tolist() for name, group in groups.items()} == {
        "0": [0, 1, 2, 3],
        "1": [0, 1],
    }
    sizes = {
        (trace.words[c], int(b))
        for c, b in zip(groups["0"].collective, groups["0"].bytes, strict=True)
    }
    assert sizes == {("allreduce", 4 << 18), ("allgather", 4 * 4 << 14), ("bcast", 4 << 18),
                     ("barrier", -1)}  # fmt: skip
    assert (groups["1"].bytes == 4 * 4096).all()
    assert all((group.launch >= 0).all() for group in groups.values())


@pytest.mark.parametrize("drift", [0.0, 50e-6, -60e-6])
def test_clocks_of_hosts_are_aligned_by_the_calls(tmp_path, drift):
    honest = read(RECORDED)
    offsets = [0.0, 3.5, -120.0, 0.004]
    for rank in range(RANKS):
        trace = load(rank)
        first = min(e["ts"] for e in trace["traceEvents"] if e["ph"] == "X")
        trace["host_name"] = f"host{rank}"
        for event in trace["traceEvents"]:
            event["ts"] += 1e6 * offsets[rank] + rank * drift * (event["ts"] - first)
        store(tmp_path, rank, trace)
    trace = read(tmp_path)
    assert "the collectives themselves" in trace.clock
    assert (trace.clock_error[1:] > 0).all()
    assert (trace.clock_error < 2e-3).all()
    mine, _ = calls_of(trace, "0", "allreduce")
    right, _ = calls_of(honest, "0", "allreduce")
    off = np.abs((mine - mine[:, :1]) - (right - right[:, :1]))
    assert (off.max(axis=0) <= trace.clock_error + 1e-5).all()
    assert waiting(mine).sum() == pytest.approx(waiting(right).sum(), rel=0.05)


def test_clocks_that_contradict_one_host_are_aligned(tmp_path):
    for rank in range(RANKS):
        trace = load(rank)
        for event in trace["traceEvents"]:
            event["ts"] += 5e6 * (rank == 2)
        store(tmp_path, rank, trace)
    trace = read(tmp_path)
    assert any("contradict" in each for each in trace.remarks)
    mine, _ = calls_of(trace, "0", "allreduce")
    assert waiting(mine).sum() == pytest.approx(waiting(entered("allreduce")).sum(), rel=0.05)


def test_bases_of_times_differ_by_what_their_numbers_do(tmp_path):
    """Also on the two sides of a round number of nanoseconds."""
    for rank in range(RANKS):
        trace = load(rank)
        moved = 2_000_000 * (rank % 2)  # nanoseconds
        trace["baseTimeNanoseconds"] = 1765 * 10**15 - 1_000_000 + moved
        for event in trace["traceEvents"]:
            event["ts"] -= moved / 1e3
        store(tmp_path, rank, trace)
    found, right = read(tmp_path), read(RECORDED)
    assert found.ranks == right.ranks
    for one, other in zip(found.groups, right.groups, strict=True):
        np.testing.assert_allclose(one.arrival - one.arrival[0, 0],
                                   other.arrival - other.arrival[0, 0], atol=1e-6)  # fmt: skip


def test_ranks_that_began_to_record_later_are_shifted(tmp_path):
    for rank in range(RANKS):
        trace = load(rank)
        gloo = sorted((e["ts"], e["tid"]) for e in trace["traceEvents"]
                      if e["name"].startswith("gloo:"))  # fmt: skip
        cut = gloo[7][0] if rank == 3 else 0
        trace["traceEvents"] = [e for e in trace["traceEvents"] if e["ts"] >= cut or e["ph"] == "M"]
        store(tmp_path, rank, trace)
    trace = read(tmp_path)
    group = next(each for each in trace.groups if each.name == "0")
    assert np.isnan(group.arrival[:7, 3]).all()
    assert np.isfinite(group.arrival[7:]).all()
    right = read(RECORDED).groups[0]
    assert group.arrival[8, 3] - group.arrival[8, 0] == pytest.approx(
        right.arrival[8, 3] - right.arrival[8, 0], abs=1e-6
    )


def test_the_time_of_each_size_is_that_of_its_calls_alone():
    """Also where nearly each call has its own size, in any order."""
    seed = 7
    print("seed", seed)
    rng, words = np.random.default_rng(seed), Words()
    arrival, leave = arrivals_and_exits(300, 3)
    group = group_of(arrival, leave, words)
    kinds = np.array([words.place("alltoall"), words.place("allreduce")], np.int32)
    group = replace(group, launch=rng.random(arrival.shape) / 100,
                    bytes=rng.integers(0, 200, 300), collective=rng.choice(kinds, 300))  # fmt: skip
    found = split(trace_of([group], words))
    assert sum(each.calls for each in found) == 300
    assert [each.total for each in found] == sorted((each.total for each in found), reverse=True)
    for each in found:
        own = (group.bytes == each.bytes) & (group.collective == words.place(each.collective))
        assert [each] == split(trace_of([group.part(np.flatnonzero(own))], words))


def test_the_report_of_a_recorded_trace(tmp_path, capsys):
    page = tmp_path / "page.html"
    assert run(["report", str(RECORDED), "--html", str(page), "--budget", "0.3"]) == 0
    told = capsys.readouterr().out
    assert "Rank 1 on host vm is late." in told
    assert re.search(r"Time of the collectives: \d+ % waiting for late ranks", told)
    assert "host or launch delay" in page.read_text(encoding="utf-8")
    assert run(["report", str(RECORDED), "--json", "--budget", "0"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert {each["collective"] for each in value["parts"]} >= {"allreduce", "allgather", "bcast"}


# ---- a device


def test_kernels_of_nccl(tmp_path):
    for rank, trace in enumerate(device_job()):
        store(tmp_path, rank, trace)
    trace = read(tmp_path)
    assert {g.name: g.members.tolist() for g in trace.groups} == {
        "0": [0, 1, 2, 3], "1": [0, 1], "2": [2, 3],
    }  # fmt: skip
    whole = next(each for each in split(trace) if each.group == "0")
    assert (whole.collective, whole.bytes, whole.calls) == ("allreduce", 1_000_000, 10)
    assert whole.waiting == pytest.approx(10 * 3 * 0.003, rel=1e-6)
    assert whole.transfer == pytest.approx(10 * 4 * 0.001, rel=1e-6)
    assert (whole.slower, whole.launch) == (pytest.approx(0, abs=1e-9), pytest.approx(0, abs=1e-9))
    assert whole.kinds["waiting"] == 10


def test_a_device_that_waited_for_its_host(tmp_path):
    for rank, trace in enumerate(
        device_job(late=(0, 0, 0, 0), launch=(0.001, 0.006, 0.001, 0.001))
    ):
        store(tmp_path, rank, trace)
    whole = next(each for each in split(read(tmp_path)) if each.group == "0")
    assert whole.launch == pytest.approx(10 * 0.009, rel=1e-6)
    assert whole.waiting == pytest.approx(10 * 3 * 0.005, rel=1e-6)
    assert whole.for_launch == pytest.approx(whole.waiting, rel=1e-6)
    assert any("own host or thread began late" in line for line in lines([whole]))


def test_slow_and_mixed_calls(tmp_path):
    traces = device_job(late=(0, 0.0015, 0, 0))
    for trace in traces:  # the last call moves data four times as long
        last = [e for e in trace["traceEvents"] if "AllReduce" in e["name"]][-1]
        last["dur"] += 3000
    for rank, trace in enumerate(traces):
        store(tmp_path, rank, trace)
    whole = next(each for each in split(read(tmp_path)) if each.group == "0")
    assert whole.slower == pytest.approx(4 * 0.003, rel=1e-6)
    assert whole.kinds["mixed"] == 10


def test_unknown_clocks_make_calls_inconclusive(tmp_path):
    """Calls as short as the lateness tell the offsets of clocks too roughly."""
    for rank, trace in enumerate(device_job(late=(0, 0, 0, 0))):
        trace["host_name"] = f"gpu{rank}"
        store(tmp_path, rank, trace)
    trace = read(tmp_path)
    assert trace.clock_error[1] == pytest.approx(0.0005, rel=0.2)
    assert together(split(trace)).kinds["inconclusive"] > 0
    assert any("inconclusive" in line for line in lines(split(trace)))


def test_a_sequence_number_of_the_programs_call_is_enough(tmp_path):
    for rank, trace in enumerate(device_job(calls=3)):
        for number, event in enumerate(trace["traceEvents"]):
            if "nccl" in event["name"]:
                said = {**event["args"], "External id": number}
                event["args"] = {"External id": number, "stream": 7}
                trace["traceEvents"].append({"ph": "X", "cat": "cpu_op", "pid": 1, "tid": 1,
                    "name": "record_param_comms", "ts": event["ts"] - 5, "dur": 2, "args": said})  # fmt: skip
        store(tmp_path, rank, trace)
    trace = read(tmp_path)
    assert {(g.name, len(g)) for g in trace.groups} == {("0", 3), ("1", 3), ("2", 3)}


# ---- hostile files


def test_names_of_a_program_are_escaped(tmp_path):
    name = HOSTILE
    for rank, trace in enumerate(device_job()):
        trace["host_name"] = name
        for event in trace["traceEvents"]:
            if event["args"].get("Process Group Name") == "0":
                event["args"]["Process Group Name"] = name
        store(tmp_path, rank, trace)
    page = tmp_path / "page.html"
    assert run(["report", str(tmp_path), "--html", str(page), "--budget", "0"]) == 0
    text = page.read_text(encoding="utf-8")
    assert "<script>alert" not in text
    assert "\x1b" not in text


@pytest.mark.parametrize(("name", "told"), [
    ("rank{}.json", True), ("vm_90{}.1694128201557.pt.trace.json", True),
    ("vm_90{}.1694128201557.pt.trace.json", False),
])  # fmt: skip
def test_a_cut_file_has_the_rank_of_its_name_or_the_one_that_is_missing(tmp_path, name, told):
    """The profiler of some versions tells the rank at the end of the file."""
    for rank, trace in enumerate(job()):
        said = {"distributedInfo": trace.pop("distributedInfo")}
        text = json.dumps(trace | said)
        cut = rank == 1 or (rank == 3 and not told)  # of two files without a rank neither is known
        (tmp_path / name.format(rank)).write_text(text[: len(text) * 2 // 3] if cut else text)
    trace = read(tmp_path)
    if told:
        where = f"{name.format(1)}: rank 1"
        assert remark(trace, "ranks that files told at their missing ends").endswith(where)
        assert 0 < analyse(trace).ranks.calls[1] < CALLS
        assert not np.isnan(trace.clock_error).any()
    else:
        assert "(2)" in remark(trace, "files that do not say their rank")


def test_lists_that_several_files_have_tell_the_ranks_of_a_large_job(tmp_path):
    for rank in range(4):
        calls = [collective("allreduce", 1 + at, 0.1, "0", at, 64, [*range(256)])
                 for at in range(5)]  # fmt: skip
        made = device_trace(rank, calls)
        del made["distributedInfo"]
        store(tmp_path, rank, made)
    trace = read(tmp_path)
    assert (trace.ranks, trace.groups[0].size, len(trace.groups[0])) == (256, 256, 5)
