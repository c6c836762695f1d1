"""Reading of strangers' traces: facts before names, and one odd thing ends nothing."""

import gzip
import json
import os
import stat

import numpy as np
import pytest
from kineto_helpers import RANKS, device_job, device_trace, kernel, load, store
from latecomer.analysis.lateness import analyse
from latecomer.cli import run
from latecomer.trace import TraceError, chrome, files, read
from latecomer.trace.about import NAME, About, about
from latecomer.trace.dtypes import collective_of, communicates, in_kernel
from latecomer.trace.left_out import LeftOut

CALLS, LATE, DELAY, MOVE = 20, 2, 0.003, 0.001
NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def facts(number=None, name="allreduce", group="0", members=(0, 1, 2, 3), **more):
    said = {"Collective name": name, "In msg nelems": 1000, "Out msg nelems": 1000,
            "Group size": len(members), "dtype": "Float", "Process Group Name": group,
            "Process Group Ranks": str(list(members)), **more}  # fmt: skip
    return said if number is None else {**said, "Seq": number}


def job(name=NCCL, late=LATE, numbered=True, ranks=RANKS, args=facts):
    """Rank `late` begins 3 ms after the others, and each call ends 1 ms after that."""
    return [
        device_trace(rank, [
            kernel(name, 1.0 + 0.01 * call + DELAY * (rank == late),
                   MOVE + DELAY * (rank != late), **args(call if numbered else None))
            for call in range(CALLS)
        ], world=ranks)
        for rank in range(ranks)
    ]  # fmt: skip


def stored(folder, traces):
    folder.mkdir(parents=True, exist_ok=True)
    for rank, trace in enumerate(traces):
        store(folder, rank, trace)
    return folder


def check(trace, calls=CALLS, late=LATE, collective="allreduce"):
    """The job's figures, for the calls that are known on all ranks."""
    found = analyse(trace)
    assert {trace.words[each] for group in trace.groups for each in group.collective} == {
        collective
    }
    assert found.ranks.calls.tolist() == [calls] * trace.ranks
    assert found.ranks.last.tolist() == [calls * (rank == late) for rank in range(trace.ranks)]
    waiting = [calls * DELAY * (rank != late) for rank in range(trace.ranks)]
    np.testing.assert_allclose(found.ranks.waiting, waiting, atol=1e-6)


def remark(trace, words):
    """The one remark with these words."""
    (found,) = [each for each in trace.remarks if words in each]
    return found


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


def test_groups_whose_calls_do_not_fit_are_left_out(tmp_path):
    traces = device_job()
    for event in traces[1]["traceEvents"]:
        if "AllReduce" in event["name"]:
            event["args"]["Collective name"] = "broadcast"
    trace = read(stored(tmp_path, traces))
    assert {group.name for group in trace.groups} == {"1", "2"}
    assert "'0'" in remark(trace, "do not fit")


# ---- damaged text

GOOD = json.dumps(job()[1], indent=1)


def between(text, inserted):
    """The text with something between two of its events."""
    at = text.index('"ph"', len(text) // 2)
    at = text.rindex("{", 0, at)
    return text[:at] + inserted + text[at:]


@pytest.mark.parametrize("inserted", [
    '{"ph": "X", "name": "a \x01 b\n c\ttab", "ts": 1, "dur": 1},',
    '{"ph": "X", "name": "C:\\Users\\x"},',
    '{"ph": "X", "name": "an "unescaped" quote"},',
    '{"ph": "X", "name": "x", "ts": nan, "dur": -inf},',
    '{"ph": "X", "name": "x", "ts": 1.#INF},',
    '{"ph": "X", "name": "x" "ts": 1},',
    '{"ph": "X", "name": "x", "args": {"a": 1,}},',
    '{"ph": "X", "ts": ' + "9" * 5000 + "},",
    '{"ph": "X", "args": ' + "[" * 100_000 + "]" * 100_000 + "},",
    '{"ph": "X", "args": ' + '{"ph":' * 2_000,
    '{"ph": "X", "name": "\\ud800 half"},',
    '{"ph": "X", "name": "\\udcff"},',
    "null, 1, [], {}, \"x\",", ",,", "{", "}", "]]", "\x00\x00",
])  # fmt: skip
def test_damage_between_events_is_passed_over(tmp_path, inserted):
    folder = stored(tmp_path, job())
    (folder / "rank1.json").write_text(between(GOOD, inserted))
    # A bracket too many ends the list; what follows is found again, or is missing.
    assert analyse(read(folder)).ranks.last[LATE] >= (CALLS // 2 if "]]" in inserted else CALLS)


def test_a_damaged_event_is_counted_with_its_place(tmp_path):
    folder = stored(tmp_path, job())
    (folder / "rank1.json").write_text(between(GOOD, '{"ph": "X", "name": "C:\\Users"},'))
    told = remark(read(folder), "events that are no JSON")
    assert "(1)" in told
    assert "rank1.json, character " in told


def test_values_beside_the_events_that_are_damaged(tmp_path):
    folder = stored(tmp_path, job())
    for wrong in ('"deviceProperties": [{"name": "a "b""}],', '"x": nan,', '"y": ,', '"z" 3,'):
        (folder / "rank1.json").write_text("{" + wrong + GOOD[1:])
        trace = read(folder)
        check(trace)
        assert "rank1.json" in remark(trace, "beside the events")


@pytest.mark.parametrize("change", [
    lambda raw: b"\xef\xbb\xbf" + raw,
    lambda raw: raw.replace(b"\n", b"\r\n"),
    lambda raw: raw.decode().encode("utf-16"),
    lambda raw: raw.replace(b'"name": "nccl', b'"x": "\xff\xfe\xed\xa0\x80", "name": "nccl'),
    lambda raw: b"\n \t" + raw + b"\n\0garbage",
    gzip.compress,
    lambda raw: gzip.compress(raw) + b"\0" * 100,
    lambda raw: gzip.compress(raw) + b"garbage",
    lambda raw: gzip.compress(raw[:5000]) + gzip.compress(raw[5000:]),
])  # fmt: skip
def test_encodings_of_a_file(tmp_path, change):
    folder = stored(tmp_path, job())
    (folder / "rank1.json").write_bytes(change(GOOD.encode()))
    check(read(folder))


def test_a_file_that_is_called_gz_and_is_none(tmp_path):
    folder = stored(tmp_path, job())
    (folder / "rank1.json").rename(folder / "rank1.json.gz")
    check(read(folder))


def test_every_cut_of_a_file_leaves_the_calls_before_it(tmp_path):
    folder = stored(tmp_path, job())
    for end in range(1, len(GOOD) - 3, 211):
        (folder / "rank1.json").write_text(GOOD[:end])
        whole = GOOD[:end].count('"Process Group Ranks"')
        try:
            trace = read(folder)
        except TraceError as error:
            # Nothing is known of rank 1, and where the file does not say its rank its name does.
            told, calls = str(error), 0
        else:
            told, calls = remark(trace, "ends of files"), analyse(trace).ranks.calls[1]
        assert "rank1.json" in told
        assert whole - 1 <= calls <= whole


@pytest.mark.parametrize("keep", [0.7, 0.9])
def test_a_gzip_file_that_was_cut(tmp_path, keep):
    folder = stored(tmp_path, job())
    raw = gzip.compress(GOOD.encode())
    (folder / "rank1.json").write_bytes(raw[: int(keep * len(raw))])
    trace = read(folder)
    assert 0 < analyse(trace).ranks.calls[1] < CALLS
    assert remark(trace, "ends of files")


def test_calls_that_are_counted_need_whole_files(tmp_path):
    """The host's threads are written one after the other, so a cut takes away every second call."""
    for rank in range(RANKS):
        store(tmp_path, rank, load(rank))
    text = (tmp_path / "rank1.json").read_text()
    (tmp_path / "rank1.json").write_text(text[: text.index('"gloo:', len(text) // 3)])
    trace = read(tmp_path)
    assert remark(trace, "without sequence numbers, in files of which a part is missing")
    assert all(np.isnan(group.arrival[:, 1]).all() for group in trace.groups)


# ---- files, names and folders


@pytest.mark.parametrize("name", [
    "worker{0}.169412820155{0}.pt.trace.json", "worker{0}_step_12.169412820155{0}.pt.trace.json",
    "rank{0}.json.gz", "Rank-{0}.pt.trace.json", "trace_{0}.json", "{0}.json", "r{0}.json",
    "job17-2024-01-03-rank_{0}.json", "rank{0}/trace.json", "{0}/host_4711.17671893121{0}.pt.trace.json",
    "node/rank{0}/step_100.json", "host_{0}.rank{0}.17671893121.json",
])  # fmt: skip
def test_ranks_are_known_from_names(tmp_path, name):
    for rank, trace in enumerate(job()):
        del trace["distributedInfo"]
        path = tmp_path / name.format(rank)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(trace))
    check(read(tmp_path))


@pytest.mark.parametrize("name", [
    "node1_471{0}.176718931212345678{0}.pt.trace.json", "node_471{0}.json",
    "trace-2024010{0}.json", "{0}0000.json",
])  # fmt: skip
def test_where_no_rank_is_known_the_error_says_what_to_call_the_files(tmp_path, name):
    for rank, trace in enumerate(job()):
        del trace["distributedInfo"]
        (tmp_path / name.format(rank + 1)).write_text(json.dumps(trace))
    with pytest.raises(TraceError, match=r"name them as in rank0.json \(4\)"):
        read(tmp_path)


def test_one_folder_a_rank(tmp_path):
    for rank, trace in enumerate(job()):
        stored(tmp_path / f"node{rank}", [trace])
    check(read(tmp_path))


def test_a_rank_with_two_files_has_the_first(tmp_path):
    traces = job()
    for rank, trace in enumerate(traces):
        store(tmp_path, rank, trace)
    late = json.loads(json.dumps(traces[0]))
    late["traceEvents"] = late["traceEvents"][:3]
    (tmp_path / "rank9.json").write_text(json.dumps(late))
    trace = read(tmp_path)
    check(trace)
    told = remark(trace, "keep one file a rank")
    assert "rank9.json" in told
    assert "rank 0 is in rank0.json" in told


def test_a_missing_rank_is_said(tmp_path):
    folder = stored(tmp_path, job())
    (folder / "rank3.json").unlink()
    trace = read(folder)
    assert trace.remarks == ["no file of 1 of 4 ranks, such as 3"]
    assert analyse(trace).ranks.calls.tolist() == [0] * RANKS


def odd_things(folder):
    """What may lie beside traces, and must be neither waited for nor opened."""
    os.mkfifo(folder / "rank4.json")
    (folder / "rank5.json").mkdir()
    (folder / "rank6.json").symlink_to("/dev/zero")
    (folder / "rank7.json").symlink_to(folder / "nowhere")
    (folder / "empty.json").write_text("")
    (folder / "settings.json").write_text('{"a": [1, 2]}')
    (folder / "numbers.json.gz").write_bytes(b"\x1f\x8b no gzip")
    (folder / "notes.txt").write_text("notes")


def test_what_is_no_trace_is_passed_over(tmp_path):
    folder = stored(tmp_path, job())
    odd_things(folder)
    trace = read(folder)
    check(trace)
    assert "(4)" in remark(trace, "no regular file")
    assert "empty.json, character 0" in remark(trace, "cannot be used")
    assert remark(trace, "without a rank's collectives")


def test_a_folder_of_odd_things_alone_is_refused_with_what_was_found(tmp_path):
    odd_things(tmp_path)
    with pytest.raises(TraceError, match="none of 3 files") as error:
        read(tmp_path)
    assert "a pipe" in str(error.value)
    assert "right would be one file for each rank" in str(error.value)


def test_a_link_to_a_trace_is_one(tmp_path):
    folder = stored(tmp_path / "there", job())
    (tmp_path / "here").mkdir()
    for rank in range(RANKS):
        (tmp_path / "here" / f"rank{rank}.json").symlink_to(folder / f"rank{rank}.json")
    check(read(tmp_path / "here"))


def test_a_file_that_may_not_be_read_is_named(tmp_path, monkeypatch):
    folder = stored(tmp_path, job())
    opened = type(folder).open

    def closed(path, *args, **more):
        if path.name == "rank3.json":
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *args, **more)

    monkeypatch.setattr(type(folder), "open", closed)
    trace = read(folder)
    assert "rank3.json: cannot be read: Permission denied" in remark(trace, "cannot be used")
    assert analyse(trace).incomplete == CALLS


def test_a_folder_without_traces_says_what_is_in_it(tmp_path):
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(TraceError, match=r"holds 1 other files, such as notes.txt.*rank-0.trace"):
        read(tmp_path)
    with pytest.raises(TraceError, match="no folder of a trace"):
        read(tmp_path / "none")


@pytest.mark.parametrize("key", ["rank", "world_size", "baseTimeNanoseconds", "host_name"])
@pytest.mark.parametrize("value", [-1, 1 << 40, "x", None, [], 0.5, float("nan")])
def test_a_wrong_value_beside_the_events_is_passed_over(tmp_path, key, value):
    traces = job()
    into = traces[1] if key in traces[1] else traces[1]["distributedInfo"]
    into[key] = value
    trace = read(stored(tmp_path, traces))
    assert analyse(trace).ranks.last[LATE] == CALLS
    if key != "host_name" and (key, value) != ("baseTimeNanoseconds", 1 << 40):
        assert "rank1.json" in remark(trace, f"values of {key}")


def test_a_file_that_lacks_its_base_of_times_has_that_of_the_others(tmp_path):
    traces = job()
    for trace in traces:
        trace["baseTimeNanoseconds"] += 123_456_789_000
    del traces[1]["baseTimeNanoseconds"]
    trace = read(stored(tmp_path, traces))
    check(trace)
    assert remark(trace, "bases of times")


# ---- hostile sizes


def test_text_is_unpacked_up_to_a_multiple_of_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "FREE_BYTES", 1 << 20)
    folder = stored(tmp_path, job())
    with gzip.open(folder / "rank1.json.gz", "wb") as file:
        file.write(b'{"traceEvents":[')
        for _ in range(8):
            file.write(b" " * (1 << 20))
    trace = read(folder)
    check(trace)
    told = remark(trace, "cannot be used")
    assert "rank1.json.gz" in told
    assert "100 times" in told


EVENTS = '{"traceEvents": [' + "{}, " * 300 + "{}]}"
DAMAGED = '{"traceEvents": [' + '{"ph": }, ' * 5 + "{}]}"
BESIDE = "{" + '"a": 1, ' * 20 + '"traceEvents": []}'


@pytest.mark.parametrize(("text", "limits", "words"), [
    (EVENTS, {"MOST_EVENTS": 7}, "number of events: more than 7"),
    (EVENTS, {"MOST_DAMAGED": 3}, ""),
    (DAMAGED, {"MOST_DAMAGED": 3}, "damaged events: 4"),
    (BESIDE, {"MOST_BESIDE": 19}, "values beside the events: more than 19"),
    (DAMAGED + " " * 1000, {"FREE_EVENTS": 1, "most": 1000}, "more than 1000 bytes"),
])  # fmt: skip
def test_limits_of_a_file_are_named(tmp_path, monkeypatch, text, limits, words):
    most = limits.pop("most", files.MOST_BYTES) if "most" in limits else files.MOST_BYTES
    for name, value in limits.items():
        monkeypatch.setattr(chrome, name, value)
    path = tmp_path / "a.json"
    path.write_text(text)
    if not words:
        assert chrome.read(path, lambda event: None, LeftOut()).events == 301
        return
    with pytest.raises(TraceError, match=words) as error:
        chrome.read(path, lambda event: None, LeftOut(), most=most)
    assert "a.json" in str(error.value)


def test_packed_events_are_as_many_as_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(chrome, "FREE_EVENTS", 100)
    (tmp_path / "a.json").write_text(EVENTS)
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(EVENTS.encode()))
    assert chrome.read(tmp_path / "a.json", lambda event: None, LeftOut()).events == 301
    with pytest.raises(
        TraceError, match=r"a.json.gz, character \d+: number of events: more than 100"
    ):
        chrome.read(tmp_path / "a.json.gz", lambda event: None, LeftOut())


def test_a_file_of_many_collectives_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("latecomer.trace.events.MOST_CALLS", CALLS - 1)
    with pytest.raises(TraceError, match=f"collectives: more than {CALLS - 1}"):
        read(stored(tmp_path, job()))


def test_the_window_moves_over_long_files(tmp_path, monkeypatch):
    """The same events, whatever part of the text is held."""
    monkeypatch.setattr(files, "_CHUNK", 501)
    for longest in (1500, 4001):
        monkeypatch.setattr(chrome, "LONGEST", longest)
        folder = stored(tmp_path, job())
        (folder / "rank1.json").write_text(
            between(GOOD, '{"ph": "X", "bad": "a "b" c"},' + " " * 9999)
        )
        check(read(folder))


def test_a_small_file_does_not_make_many_ranks(tmp_path):
    traces = [trace | {"distributedInfo": {"rank": rank}} for rank, trace in enumerate(job())]
    for trace in traces:
        trace["traceEvents"][3]["args"]["Process Group Ranks"] = "[0, 1, 2, 3, 900000]"
        trace["traceEvents"][3]["args"]["Group size"] = 5
    trace = read(stored(tmp_path, traces))
    assert trace.ranks == RANKS
    check(trace)


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
