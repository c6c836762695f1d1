"""Traces of PyTorch's profiler: who was late, on which clock, and hostile files."""

import gzip
import json
import re

import numpy as np
import pytest
from kineto_helpers import RANKS, RECORDED, collective, device_trace, entered, kernel, load, store
from latecomer.analysis.lateness import analyse
from latecomer.analysis.parts import lines, split, together
from latecomer.cli import run
from latecomer.trace import TraceError, chrome, read
from trace_helpers import HOSTILE

RECORDED_TRACES = [load(rank) for rank in range(RANKS)]


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


def test_the_report_of_a_recorded_trace(tmp_path, capsys):
    page = tmp_path / "page.html"
    assert run(["report", str(RECORDED), "--html", str(page), "--seconds", "0.3"]) == 0
    told = capsys.readouterr().out
    assert "Rank 1 on host vm is late." in told
    assert re.search(r"Time of the collectives: \d+ % waiting for late ranks", told)
    assert "host or launch delay" in page.read_text(encoding="utf-8")
    assert run(["report", str(RECORDED), "--json", "--seconds", "0"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert {each["collective"] for each in value["parts"]} >= {"allreduce", "allgather", "bcast"}


# ---- a device


def device_job(late=(0.0, 0.003, 0.0, 0.0), launch=(0.0, 0.0, 0.0, 0.0), calls=10, host="gpu0"):
    """Traces of four ranks: compute, then an all-reduce of 1 ms; pairs all-gather between."""
    events = [[] for _ in range(RANKS)]
    now = 1.0
    for seq in range(calls):
        ready = [now + 0.01 + late[rank] + launch[rank] for rank in range(RANKS)]
        for rank in range(RANKS):
            work = 0.01 + late[rank]
            events[rank].append(kernel("gemm", now, work))
            args = ("allreduce", ready[rank], max(ready) + 0.001 - ready[rank])
            events[rank].append(collective(*args, "0", seq, 250_000, [0, 1, 2, 3]))
        now = max(ready) + 0.001
        for pair in ([0, 1], [2, 3]):
            for rank in pair:
                args = ("_allgather_base", now, 0.0005, f"{1 + pair[0] // 2}")
                events[rank].append(collective(*args, seq, 500, pair))
        now += 0.001
    return [device_trace(rank, own, host) for rank, own in enumerate(events)]


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


def test_calls_that_do_not_fit_are_left_out(tmp_path):
    for rank, trace in enumerate(device_job()):
        if rank == 1:
            event = next(e for e in trace["traceEvents"] if "AllReduce" in e["name"])
            event["args"]["Collective name"] = "broadcast"
        store(tmp_path, rank, trace)
    trace = read(tmp_path)
    assert {g.name for g in trace.groups} == {"1", "2"}
    assert any("'0'" in each and "do not fit" in each for each in trace.remarks)


# ---- files that are not what they should be

EVENT = {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum", "ts": 1, "dur": 1,
         "args": {"Collective name": "allreduce"}}  # fmt: skip


def changed(**more):
    return device_trace(0, [{**EVENT, **more}])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "no JSON"),
        ('{"traceEvents": [', "no JSON"),
        ('{"traceEvents": [1]}', "an event is no object"),
        ('{"traceEvents": {}}', "no '\\['"),
        ("[" * 100_000, "no object|too deep|no JSON"),
        ('{"traceEvents": [' + '{"a":' * 100_000, "too deep|no JSON"),
        ('{"traceEvents": [{"ts": ' + "9" * 5000 + "}]}", "no JSON"),
        (json.dumps(changed(ts="soon")), "ts of event"),
        (json.dumps(changed(ts=float("nan"))), "ts of event"),
        (json.dumps(changed(dur=-1)), "dur of event"),
        (json.dumps(changed(dur=True)), "dur of event"),
        (json.dumps(changed(args={"Collective name": "allreduce", "Seq": -5})), "Seq"),
        (json.dumps({**changed(), "distributedInfo": {"rank": -1}}), "rank"),
        (json.dumps({**changed(), "distributedInfo": {"rank": 0, "world_size": 1 << 40}}), "world_size"),
        (json.dumps({**changed(), "baseTimeNanoseconds": "x"}), "baseTimeNanoseconds"),
        (json.dumps(changed(args={"Collective name": "allreduce", "Process Group Name": "0",
                                  "Process Group Ranks": "[0, 0]"})), "members of group"),
        (json.dumps(changed(args={"Collective name": "allreduce", "Process Group Name": "0",
                                  "Process Group Ranks": "[0, 900000]"})), "ranks below 4"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_named(tmp_path, content, said):
    (tmp_path / "rank0.json").write_text(content)
    store(tmp_path, 1, device_trace(1, [EVENT]))
    with pytest.raises(TraceError, match=said) as error:
        read(tmp_path)
    assert "rank0.json" in str(error.value)


def test_files_that_unpack_to_too_much_are_refused(tmp_path):
    bomb = tmp_path / "rank0.json.gz"
    with gzip.open(bomb, "wb") as file:
        for _ in range(8):
            file.write(b" " * (1 << 20))
    with pytest.raises(TraceError, match="more than 4194304 bytes"):
        chrome.read(bomb, lambda event: event, most=4 << 20)
    bomb.write_bytes(bomb.read_bytes()[:-20])
    with pytest.raises(TraceError, match="not a whole gzip file"):
        chrome.read(bomb, lambda event: event)
    bomb.write_bytes(b"no gzip")
    with pytest.raises(TraceError, match="not a whole gzip file"):
        chrome.read(bomb, lambda event: event)


def test_every_cut_of_a_file_is_refused_or_read(tmp_path):
    store(tmp_path, 1, device_job()[1])
    whole = json.dumps(device_job(calls=2)[0])
    for end in range(0, len(whole) - 1, 97):
        (tmp_path / "rank0.json").write_text(whole[:end])
        with pytest.raises(TraceError, match="no JSON"):
            read(tmp_path)


def test_one_rank_alone_says_nothing(tmp_path):
    store(tmp_path, 0, device_trace(0, [EVENT]))
    with pytest.raises(TraceError, match="one file for each rank"):
        read(tmp_path)


def test_two_files_of_a_rank_are_refused(tmp_path):
    store(tmp_path, 0, device_trace(0, [EVENT]))
    store(tmp_path, 1, device_trace(0, [EVENT]))
    with pytest.raises(TraceError, match="one file a rank"):
        read(tmp_path)


def test_names_of_a_program_are_escaped(tmp_path):
    name = HOSTILE
    for rank, trace in enumerate(device_job()):
        trace["host_name"] = name
        for event in trace["traceEvents"]:
            if event["args"].get("Process Group Name") == "0":
                event["args"]["Process Group Name"] = name
        store(tmp_path, rank, trace)
    page = tmp_path / "page.html"
    assert run(["report", str(tmp_path), "--html", str(page), "--seconds", "0"]) == 0
    text = page.read_text(encoding="utf-8")
    assert "<script>alert" not in text
    assert "\x1b" not in text


WRONG = (None, True, -1, 0.5, 1e308, 1 << 70, "", "x", HOSTILE, [], {}, [[1, "2", None]], "9" * 400)


def damaged(value, rng, chance):
    """The value with some of its parts replaced by others, or left out."""
    if rng.random() < chance:
        return WRONG[rng.integers(len(WRONG))]
    if isinstance(value, dict):
        return {(HOSTILE if rng.random() < chance / 4 else key): damaged(each, rng, chance)
                for key, each in value.items() if rng.random() >= chance}  # fmt: skip
    if isinstance(value, list):
        return [damaged(each, rng, chance) for each in value]
    return value


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("of", ["device", "gloo"])
def test_no_damage_leads_to_anything_but_a_named_error(tmp_path, capsys, of, seed):
    rng = np.random.default_rng(seed)
    whole = device_job(calls=4) if of == "device" else RECORDED_TRACES
    hurt, chance = int(rng.integers(RANKS)), float(rng.choice([0.0003, 0.003, 0.03]))
    for rank, trace in enumerate(whole):
        part = {**trace, "traceEvents": trace["traceEvents"][:200]}
        made = {key: damaged(each, rng, chance) for key, each in part.items()}
        store(tmp_path, rank, made if rank == hurt else part)
    page = tmp_path / "page.html"
    code = run(["report", str(tmp_path), "--html", str(page), "--seconds", "0"])
    told = capsys.readouterr()  # pytest shows any error but those that the command names
    assert "\x1b" not in told.out + told.err
    assert code == 0 or "latecomer: error: " in told.err
    assert not page.exists() or "<script>alert" not in page.read_text(encoding="utf-8")
