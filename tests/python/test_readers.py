"""Reading of strangers' traces: facts before names, and one odd thing ends nothing."""

import json
import os
import stat

import numpy as np
import pytest
from kineto_helpers import (
    CALLS,
    DELAY,
    LATE,
    MOVE,
    NCCL,
    RANKS,
    check,
    device_job,
    device_trace,
    facts,
    job,
    kernel,
    load,
    remark,
    store,
    stored,
)
from latecomer.cli import run
from latecomer.report.analysis.lateness import analyse
from latecomer.report.trace import TraceError, model, read
from latecomer.report.trace.about import NAME, About, about
from latecomer.report.trace.dtypes import collective_of, communicates, in_kernel

# ---- what an event says comes before what its kernel is called


@pytest.mark.parametrize("name", [
    "void rcclGenericKernel<1, false>(ncclDevKernelArgsStorage<4096ul>)",
    "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)",
    "mscclKernel_Sum_half_Simple_false(ncclDevComm*, mscclAlgo*, mscclWork*)",
    "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
    "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "a kernel that nobody knows",
    "",
])  # fmt: skip
def test_a_devices_event_is_the_collective_that_it_names(tmp_path, name):
    trace = read(stored(tmp_path, job(name)))
    check(trace)
    assert trace.remarks == []


@pytest.mark.parametrize(("said", "collective"), [
    ("all_to_allv", "alltoallv"), ("all_to_all", "alltoall"), ("_allgather_base", "allgather"),
    ("allgather_into_tensor_coalesced", "allgather"), ("_reduce_scatter_base", "reduce_scatter"),
    ("reduce_scatter_tensor_coalesced", "reduce_scatter"), ("allreduce_coalesced", "allreduce"),
    ("_broadcast_oop", "bcast"), ("_reduce_oop", "reduce"), ("all_gather_single", "allgather"),
    ("AllReduce", "allreduce"), ("ALLTOALL_BASE", "alltoall"), ("barrier", "barrier"),
    ("allreduce_sparse", "allreduce"), ("coalesced", ""), ("send", ""), ("", ""), ("wait", ""),
])  # fmt: skip
def test_names_of_collectives(said, collective):
    assert collective_of(said) == collective


@pytest.mark.parametrize(("name", "collective"), [
    ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long)", "allreduce"),
    ("ncclAllReduceRingLLKernel_sum_f32(ncclColl)", "allreduce"),
    ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevComm*)", "reduce_scatter"),
    ("ncclDevKernel_Reduce_Sum_f32_RING_LL(ncclDevComm*)", "reduce"),
    ("ncclDevKernel_AllGather_RING_LL(ncclDevComm*)", "allgather"),
    ("ncclSymkDevKernel_AllReduce_RSxLD_AGxST_sum_f32(ncclSymDevArgs)", "allreduce"),
    ("ncclDevKernel_Broadcast_RING_LL(ncclDevComm*)", "bcast"),
    ("oneccl_allreduce_kernel", "allreduce"),
    ("hcom_allReduce__123_0", "allreduce"),
    ("void vllm::cross_device_reduce_1stage<__half, 4>(vllm::RankData*)", "allreduce"),
    ("two_shot_all_reduce_kernel<float, 16, 8>", "allreduce"),
    ("ncclDevKernel_SendRecv(ncclDevComm*)", ""),
    ("ncclDevKernel_Generic(ncclDevComm*)", ""),
])  # fmt: skip
def test_names_of_kernels_come_last(name, collective):
    assert communicates(name)
    assert in_kernel(name)[0] == collective


@pytest.mark.parametrize("name", [
    "void at::native::reduce_kernel<512, 1>()", "triton_poi_fused_all_reduce_nccl_3", "Memset",
    "void gather_scatter_kernel()", "", "cudnn::bn_fw_tr",
])  # fmt: skip
def test_other_kernels_are_work(name):
    assert not communicates(name)


def of_program(name, start, length, thread=9, **args):
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 9, "tid": thread,
            "ts": 1e6 * start, "dur": 1e6 * length, "args": args}  # fmt: skip


def launched(traces, word, message=False):
    """Kernels that say nothing, launched by the program's calls `word`: PyTorch 2.0 and 2.1."""
    for trace in traces:
        events = trace["traceEvents"]
        for at, each in enumerate(list(events)):
            start = 1e-6 * each["ts"]
            # As in these traces, the kernel's own number stands where that of the call should.
            each["args"] = {"External id": at + 2, "correlation": at + 2, "stream": 7}
            events += [
                of_program(f"c10d::{word}_base_" if not message else word, start - 5e-4, 9e-5),
                of_program("record_param_comms", start - 4.9e-4, 7e-5, **{"External id": at + 3}),
                {**of_program(f"nccl:{word}", start - 4.8e-4, 6e-5, **{"External id": 900 + at,
                 "Input Dims": [[4096]], "Input type": ["float"]}), "cat": "user_annotation"},
                {**of_program("cudaLaunchKernel", start - 4.7e-4, 2e-5, correlation=at + 2),
                 "cat": "cuda_runtime"},
            ]  # fmt: skip
    return traces


def test_the_programs_call_tells_what_a_kernel_is(tmp_path):
    traces = launched(job("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)"), "all_to_all")
    trace = read(stored(tmp_path, traces))
    check(trace, collective="alltoall")
    assert set(trace.groups[0].bytes) == {4 * 4096}
    assert trace.remarks == []


@pytest.mark.parametrize("change", [{"args": {}}, {"args": {"correlation": "x"}}, {"ts": None}])
def test_a_launch_that_tells_nothing_does_not_matter(tmp_path, change):
    traces = launched(job("ncclKernel_SendRecv"), "all_to_all")
    for trace in traces:
        last = trace["traceEvents"][-1]
        trace["traceEvents"].append({**last, "ts": last["ts"] + 1e5, **change})
    check(read(stored(tmp_path, traces)), collective="alltoall")


def test_a_call_of_the_program_around_a_kernel_of_another_collective_does_not_matter(tmp_path):
    traces = launched(job(), "all_reduce")
    for trace in traces:
        for each in trace["traceEvents"]:
            if each["name"] == "nccl:all_reduce":
                each["name"] = "nccl:all_gather"
            if each["cat"] == "kernel":
                each["args"]["Collective name"] = "allreduce"
    check(read(stored(tmp_path, traces)))


def test_messages_between_two_ranks_are_counted(tmp_path):
    some = launched(job("ncclDevKernel_SendRecv(ncclDevComm*)"), "send 0->1", message=True)
    for trace, other in zip(some, job(), strict=True):
        trace["traceEvents"] += other["traceEvents"]
    trace = read(stored(tmp_path, some))
    check(trace)
    assert remark(trace, "messages between two ranks").startswith(
        f"left out: messages between two ranks ({CALLS * RANKS})"
    )


@pytest.mark.parametrize("name", ["ncclDevKernel_SendRecv(ncclDevComm*)", "rcclGenericKernel<1>"])
def test_kernels_of_which_nothing_tells_are_counted_and_named(tmp_path, name):
    traces = job()
    for trace in traces:
        trace["traceEvents"] += [kernel(name, 2.0 + at, 0.1) for at in range(5)]
    trace = read(stored(tmp_path, traces))
    check(trace)
    told = remark(trace, "nothing says the collective")
    assert f"({5 * RANKS})" in told
    assert name in told


def test_files_without_kernels_say_what_was_called(tmp_path):
    traces = launched(job(), "all_reduce")
    for trace in traces:
        trace["traceEvents"] = [e for e in trace["traceEvents"] if e["cat"] != "kernel"]
    with pytest.raises(TraceError, match=f"without a device's kernels \\({CALLS * RANKS}\\)"):
        read(stored(tmp_path, traces))


def test_all_to_alls_of_uneven_sizes_are_matched(tmp_path):
    """Without numbers: sizes differ from rank to rank, and PyTorch names even ones otherwise."""
    traces = job(numbered=False)
    for rank, trace in enumerate(traces):
        for at, each in enumerate(trace["traceEvents"]):
            each["args"]["Collective name"] = "all_to_all" if rank == at % RANKS else "all_to_allv"
            each["args"]["In msg nelems"] = 100 * rank + at
    trace = read(stored(tmp_path, traces))
    assert analyse(trace).ranks.last.tolist() == [0, 0, CALLS, 0]
    assert trace.remarks == []


def test_collectives_of_mpi_are_read_as_those_of_gloo(tmp_path):
    for rank in range(RANKS):
        trace = load(rank)
        text = json.dumps(trace).replace('"gloo:', '"mpi:')
        trace = json.loads(text)
        trace["distributedInfo"]["pg_config"] = [{"pg_name": "0", "ranks": [0, 1, 2, 3]}]
        trace["traceEvents"] = [e for e in trace["traceEvents"] if e.get("name", "")[:4] != "mpi:"
                                or e["args"].get("Input Dims") != [[4096]]]  # fmt: skip
        store(tmp_path, rank, trace)
    trace = read(tmp_path)
    assert len(trace.groups) == 1
    assert analyse(trace).latest == 1


def test_of_several_groups_whose_calls_mpi_carried_out_none_is_told(tmp_path):
    for rank in range(RANKS):
        trace = json.loads(json.dumps(load(rank)).replace('"gloo:', '"mpi:'))
        store(tmp_path, rank, trace)
    told = remark(read(tmp_path), "group is not known, since their threads do not fit the groups (")
    assert told.endswith("rank0.json: 4 threads for 2 groups")


# ---- groups


@pytest.mark.parametrize("numbered", [True, False])
def test_groups_of_one_name_are_told_apart_by_their_members(tmp_path, numbered):
    traces = []
    for rank in range(RANKS):
        mine = (0, 1) if rank < 2 else (2, 3)

        def args(number, mine=mine):
            return facts(number, group="1", members=mine)

        traces.append(job(late=mine[0], numbered=numbered, args=args)[rank])
    trace = read(stored(tmp_path, traces))
    assert [group.members.tolist() for group in trace.groups] == [[0, 1], [2, 3]]
    assert [len(group) for group in trace.groups] == [CALLS, CALLS]
    assert len({group.name for group in trace.groups}) == 2
    assert analyse(trace).ranks.last.tolist() == [CALLS, 0, CALLS, 0]


def test_a_rank_in_two_groups_of_one_name(tmp_path):
    """Names from a counter of each rank: rank 0 gives the same one twice."""
    traces = [trace | {"traceEvents": []} for trace in job()]
    for pair, start in (((0, 1), 1.0), ((0, 2), 1.5)):
        for call in range(CALLS):
            for rank in pair:
                own = kernel(NCCL, start + 0.01 * call + DELAY * (rank == 0), MOVE,
                             **facts(call, group="1", members=pair))  # fmt: skip
                traces[rank]["traceEvents"].append(own)
    trace = read(stored(tmp_path, traces))
    assert sorted(group.members.tolist() for group in trace.groups) == [[0, 1], [0, 2]]
    assert all(len(group) == CALLS for group in trace.groups)


def test_members_that_one_event_names_wrongly_are_known_from_the_others(tmp_path):
    for wrong in ("[0, 0]", "[0, 900000]", "[1, 2]", "[0, 1, 2", "", 7, None, [0, -1], "[...]"):
        traces = job()
        traces[0]["traceEvents"][3]["args"]["Process Group Ranks"] = wrong
        check(read(stored(tmp_path, traces)))


# ---- odd events

ODD_TIMES = ("soon", None, True, [], {}, float("nan"), float("inf"), 1e308, "9" * 50, 10**30)
ODD_LENGTHS = ("long", None, False, [], float("nan"), float("-inf"), -5, -1e-9, 1e17)


@pytest.mark.parametrize("numbered", [True, False])
@pytest.mark.parametrize(("key", "value"), [*(("ts", each) for each in ODD_TIMES),
                                            *(("dur", each) for each in ODD_LENGTHS)])  # fmt: skip
def test_a_call_whose_time_is_wrong_is_left_out_and_the_rest_stays(tmp_path, key, value, numbered):
    traces = job(numbered=numbered)
    traces[1]["traceEvents"][7][key] = value
    trace = read(stored(tmp_path, traces))
    check(trace, CALLS - 1)
    told = remark(trace, f"{key} is no number")
    assert "(1)" in told
    assert "rank1.json" in told


def odd_number(event):
    event["args"]["Seq"] = "x"


def odd_kind(event):
    event["args"]["Collective name"] = "broadcast"


def odd_hour(event):
    event["ts"] += 3.6e9


def odd_zero(event):
    event["ts"] = 0


def odd_group(event):
    event["args"]["Process Group Name"] = "another"


@pytest.mark.parametrize(("change", "words"), [
    (odd_number, "without a sequence number"),
    (odd_kind, "another collective on another rank"),
    (odd_hour, "left before another entered"),
    (odd_zero, "left before another entered"),
    (odd_group, "one rank alone recorded"),
])  # fmt: skip
def test_a_call_that_contradicts_the_others_is_left_out(tmp_path, change, words):
    traces = job()
    change(traces[1]["traceEvents"][7])
    trace = read(stored(tmp_path, traces))
    check(trace, CALLS - 1)
    assert "(1)" in remark(trace, words)


@pytest.mark.parametrize("change", [
    {"name": None}, {"name": 7}, {"pid": None}, {"tid": {}}, {"cat": None}, {"id": [[]]},
    {"args": {**facts(7), "In msg nelems": "9" * 400}}, {"args": {**facts(7), "dtype": None}},
    {"args": {**facts(7), "Out msg nelems": -1}}, {"args": {**facts(7), "Group size": "many"}},
    {"args": {**facts(7), "Seq": "7"}}, {"args": {**facts(7), "Process Group Description": 3}},
    {"ts": "1070000.0"},
])  # fmt: skip
def test_what_a_call_says_wrongly_beside_its_time_does_not_matter(tmp_path, change):
    traces = job()
    traces[1]["traceEvents"][7] |= change
    check(read(stored(tmp_path, traces)))


def of_another_group(traces, members, **change):
    """With as many calls more, of a group of these members."""
    for trace in traces:
        calls = [kernel(NCCL, 1.006 + 0.01 * call, 1e-4, **facts(call, group="1", members=members))
                 for call in range(CALLS)]  # fmt: skip
        trace["traceEvents"] += [each | change for each in calls]
    return traces


def test_calls_of_a_group_of_too_many_ranks_without_files_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(model, "MOST_SPARSE", 1000)
    traces = of_another_group(job(ranks=1000)[:RANKS], range(1000))
    trace = read(stored(tmp_path, traces))
    assert [group.name for group in trace.groups] == ["0"]
    told = remark(trace, f"calls of groups that are too large ({CALLS * RANKS})")
    assert "group '1': calls by members: 20 x 1000; the files hold 80 of them: bring tog" in told


def test_calls_of_a_group_whose_times_are_all_wrong_are_left_out(tmp_path):
    trace = read(stored(tmp_path, of_another_group(job(), range(RANKS), ts="soon")))
    check(trace)
    assert f"({CALLS * RANKS})" in remark(trace, "calls of groups without any known time")


def test_groups_whose_calls_do_not_fit_are_left_out(tmp_path):
    traces = device_job()
    for event in traces[1]["traceEvents"]:
        if "AllReduce" in event["name"]:
            event["args"]["Collective name"] = "broadcast"
    trace = read(stored(tmp_path, traces))
    assert {group.name for group in trace.groups} == {"1", "2"}
    assert "'0'" in remark(trace, "do not fit")


# ---- the report


def test_halves_of_characters_are_shown_as_replaced(tmp_path, capsys):
    traces = job()
    for trace in traces:
        trace["host_name"] = "host\ud800"
        for event in trace["traceEvents"]:
            event["args"]["Process Group Name"] = "\udfff group"
            event["args"]["Process Group Description"] = "\ud800"
    folder = stored(tmp_path / os.fsdecode(b"f\xff"), traces)
    page = tmp_path / "page.html"
    words = ["report", str(folder), "--html", str(page), "--csv", str(tmp_path / "a.csv"),
             "--budget", "0"]  # fmt: skip
    assert run(words) == 0
    assert "\N{REPLACEMENT CHARACTER} group" in page.read_text(encoding="utf-8")
    told = capsys.readouterr()
    (told.out + told.err).encode("utf-8")


def test_below_the_error_of_the_clocks_nobody_is_named(tmp_path, capsys):
    traces = job(ranks=2, late=None, args=lambda number: facts(number, members=(0, 1)))
    for rank, trace in enumerate(traces):
        trace["host_name"] = ""
        for at, event in enumerate(trace["traceEvents"]):
            event["ts"] += 30 * (rank == 1 and at % 3 == 0)
    folder = stored(tmp_path, traces)
    assert run(["report", str(folder), "--json", "--budget", "0"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["clock_error_s"] > 5 * 30e-6
    assert "the clocks are not good enough to tell who is late" in said["sentence"]
    assert said["last_rank"] is None
    assert "rank " not in said["sentence"].lower().partition("ranks")[0]


def test_above_the_error_of_the_clocks_the_rank_is_named(tmp_path, capsys):
    traces = job()
    for rank, trace in enumerate(traces):
        trace["host_name"] = f"host{rank}"
        for event in trace["traceEvents"][::4]:  # where nobody is late, clocks are told
            event["ts"] += 1e6 * DELAY * (rank != LATE)
            event["dur"] = 1e6 * MOVE
    folder = stored(tmp_path, traces)
    assert run(["report", str(folder), "--json", "--budget", "0"]) == 0
    assert f"Rank {LATE} on host" in json.loads(capsys.readouterr().out)["sentence"]


def test_remarks_are_in_the_report(tmp_path, capsys):
    traces = job()
    traces[1]["traceEvents"][7]["dur"] = -5
    folder = stored(tmp_path, traces)
    assert run(["report", str(folder), "--budget", "0"]) == 0
    assert "dur is no number" in capsys.readouterr().err
    assert stat.S_ISREG((folder / "report.html").stat().st_mode)
    assert "dur is no number" in (folder / "report.html").read_text(encoding="utf-8")


def test_the_note_beside_a_trace_is_not_trusted_either(tmp_path):
    os.mkfifo(tmp_path / NAME)
    assert about(tmp_path) == About()
    (tmp_path / NAME).unlink()
    (tmp_path / NAME).write_text('{"command": ["mpirun", "\\ud800"], "mpi": "\\udfff"}')
    found = about(tmp_path)
    (found.command_line + found.mpi).encode("utf-8")


def test_what_each_rank_waited_is_over_the_ranks_that_met_the_late_one(tmp_path, capsys):
    """Four of eight ranks have a file."""
    for rank, trace in enumerate(job()):
        trace["distributedInfo"]["world_size"] = 8
        store(tmp_path, rank, trace)
    assert run(["report", str(tmp_path), "--budget", "0"]) == 0
    assert "(60 ms each)" in capsys.readouterr().out


def test_where_no_clock_was_compared_nothing_is_said_of_its_error(tmp_path):
    folder = stored(tmp_path, job())
    (folder / "rank3.json").unlink()
    trace = read(folder)
    assert trace.clock == "all ranks read the clock of one host"


def test_a_file_of_another_job_changes_nothing(tmp_path, capsys):
    folder = stored(tmp_path, job())
    stray = device_trace(77, job()[1]["traceEvents"], host="elsewhere", world=78)
    (folder / "old.json").write_text(json.dumps(stray))
    trace = read(folder)
    check(trace)
    assert trace.clock == "all ranks read the clock of one host"
    assert "world_size: 78; right would be 4" in remark(trace, "another number of ranks")
    del stray["distributedInfo"]["world_size"]
    (folder / "old.json").write_text(json.dumps(stray))
    assert run(["report", str(folder), "--json", "--budget", "0"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["late_ranks"] == [LATE]
    assert said["clock_error_s"] == 0


def test_a_rank_above_the_number_of_ranks_is_not_believed(tmp_path):
    traces = job()
    traces[1]["distributedInfo"]["rank"] = 77
    trace = read(stored(tmp_path, traces))
    check(trace)
    assert "rank1.json: 77" in remark(trace, "values of rank that are no whole numbers from 0 to 3")


def test_several_kernels_of_one_number_are_one_call(tmp_path):
    """As the broadcasts of an uneven all-gather."""
    traces = job()
    for trace in traces:
        events = trace["traceEvents"]
        trace["traceEvents"] = [
            part for event in events for part in
            ({**event, "dur": event["dur"] / 2},
             {**event, "ts": event["ts"] + event["dur"] / 2, "dur": event["dur"] / 2})
        ]  # fmt: skip
    check(read(stored(tmp_path, traces)))


def test_numbers_that_no_other_rank_has_are_said(tmp_path, capsys):
    traces = job()
    for event in traces[1]["traceEvents"]:
        event["args"]["Seq"] += 100
    folder = stored(tmp_path, traces)
    assert run(["report", str(folder), "--budget", "0"]) == 0
    told = capsys.readouterr()
    assert "which no other rank has (1), such as group '0', rank 1, calls 100 to 119" in told.err
    assert "of all ranks" not in told.out
    assert "next:  Read the remarks" in told.out


@pytest.mark.parametrize("odd", [None, 0, 1, 3])
@pytest.mark.parametrize("first", [1, 3, 5])
def test_on_one_clock_a_rank_that_recorded_earlier_calls_is_matched_by_time(tmp_path, first, odd):
    """Calls without numbers; the ranks that recorded most of them lack the first ones. The time of
    one rank's eighth call is not known."""
    traces = job(numbered=False)
    if odd is not None:
        traces[odd]["traceEvents"][8]["ts"] = None
    for rank, trace in enumerate(traces):
        own = trace["traceEvents"]
        trace["traceEvents"] = own[: CALLS // 2 + first] if rank == 1 else own[first:]
    trace = read(stored(tmp_path, traces))
    (group,) = trace.groups
    known = np.array([CALLS - first, CALLS // 2 + first, CALLS - first, CALLS - first])
    known -= np.arange(RANKS) == (-1 if odd is None else odd)
    assert np.isfinite(group.arrival).sum(axis=0).tolist() == known.tolist()
    assert np.isfinite(group.arrival).all(axis=1).tolist() == [
        first <= call < CALLS // 2 + first and (odd is None or call != 8) for call in range(CALLS)
    ]
    assert len(trace.remarks) == (odd is not None)


def test_without_other_work_nothing_is_said_of_launches(tmp_path, capsys):
    folder = stored(tmp_path, job())
    assert run(["report", str(folder), "--budget", "0"]) == 0
    told = capsys.readouterr().out
    assert "waiting for late ranks" in told
    assert "host or launch" not in told
    assert "began late" not in told


@pytest.mark.parametrize("name", ["void tensorrt_llm::kernels::oneShotAllReduceKernel<half>",
                                  "allreduce_fusion_kernel_oneshot_lamport<Pattern>"])  # fmt: skip
def test_kernels_of_other_libraries_are_known_by_their_names(tmp_path, name):
    traces = job(name)
    for trace in traces:
        for event in trace["traceEvents"]:
            event["args"] = {}
    trace = read(stored(tmp_path, traces))
    check(trace)
    assert trace.remarks == []


def test_kernels_that_are_only_named_as_a_collective_are_counted(tmp_path):
    traces = job()
    for trace in traces:
        trace["traceEvents"] += [kernel("my_allreduce_of_blocks", 3.0 + at, 0.1) for at in range(5)]
    trace = read(stored(tmp_path, traces))
    check(trace)
    assert f"({5 * RANKS})" in remark(trace, "kernels named as a collective")


def test_two_lists_of_events_in_one_file_are_said(tmp_path):
    traces = job()
    folder = stored(tmp_path, traces)
    text = json.dumps(traces[1])
    again = json.dumps(traces[1]["traceEvents"])
    (folder / "rank1.json").write_text(f'{text[:-1]}, "traceEvents": {again}}}')
    trace = read(folder)
    check(trace)
    assert "rank1.json, character" in remark(trace, "several lists of events")


def test_where_all_lengths_are_wrong_nothing_is_said_beside_the_remarks(tmp_path, capsys):
    """On one rank, or on all of them; NumPy's warnings are errors in tests."""
    for ranks in (range(1), range(RANKS)):
        folder = tmp_path / str(len(ranks))
        folder.mkdir()
        for rank in range(RANKS):
            trace = load(rank)
            for event in trace["traceEvents"] if rank in ranks else ():
                if event.get("ph") == "X":
                    event["dur"] = -5
            store(folder, rank, trace)
        assert run(["report", str(folder)]) == 0
        told = capsys.readouterr()
        assert "Nobody is named: none of the" in told.out
        assert "Warning" not in told.err
