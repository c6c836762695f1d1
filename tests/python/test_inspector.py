"""NCCL Inspector's lines: what they tell, what is left out, and what is refused."""

import gzip
import json

import inspector_helpers as made
import numpy as np
import pytest
from inspector_helpers import line, store
from kineto_helpers import remark
from latecomer.cli import run
from latecomer.report.analysis.lateness import analyse
from latecomer.report.trace import TraceError, files, inspector, read

CALLS, RANKS, LATE = 12, 4, 2


def lengths(late=LATE, ranks=RANKS):
    """Seconds, of shape (calls, ranks): the late rank is inside for 1 ms, the others for 4."""
    took = np.full((CALLS, ranks), 0.004)
    took[:, late] = 0.001
    return took


def job(took=None, **about):
    """The lines of each rank."""
    took = lengths() if took is None else took
    return [[line(rank, at, float(each), ranks=took.shape[1], **about)
             for at, each in enumerate(took[:, rank])] for rank in range(took.shape[1])]  # fmt: skip


def stored(folder, lines, **about):
    for rank, own in enumerate(lines):
        store(folder, own, rank, **about)
    return folder


def check(trace, calls=CALLS):
    found = analyse(trace)
    assert found.ranks.calls.tolist() == [calls] * RANKS
    assert found.ranks.last.tolist() == [calls * (rank == LATE) for rank in range(RANKS)]
    waiting = [calls * 0.003 * (rank != LATE) for rank in range(RANKS)]
    np.testing.assert_allclose(found.ranks.waiting, waiting, atol=1e-9)


def test_a_rank_waited_as_much_longer_as_it_was_inside(tmp_path):
    trace = read(stored(tmp_path, job()))
    check(trace)
    assert not trace.between
    assert len(trace.remarks) == 1
    assert "only the lengths of calls are known" in trace.remarks[0]
    (group,) = trace.groups
    assert group.sequence.tolist() == list(range(CALLS))
    assert set(group.bytes) == {1 << 20}


@pytest.mark.parametrize("seed", range(3))
def test_lengths_of_several_communicators_and_collectives_against_a_plain_sum(tmp_path, seed):
    print("seed", seed)
    rng = np.random.default_rng(seed)
    pairs, lines, expected = [(0, 1), (2, 3)], [[] for _ in range(RANKS)], np.zeros(RANKS)
    for number in range(CALLS):
        for name, words in (("world", "AllReduce"), ("world", "ReduceScatter"),
                            ("0x1", "AllGather"), ("0x2", "AllGather")):  # fmt: skip
            members = range(RANKS) if name == "world" else pairs[int(name == "0x2")]
            us = rng.integers(1, 5000, len(members))
            for place, rank in enumerate(members):
                lines[rank].append(
                    line(
                        place,
                        number,
                        us[place] / 1e6 + 1e-7,
                        name=words,
                        ranks=len(members),
                        communicator=name,
                        pid=100 + rank,
                    )
                )
                expected[rank] += (us[place] - us.min()) / 1e6
    trace = read(stored(tmp_path, lines))
    np.testing.assert_allclose(analyse(trace).ranks.waiting, expected, atol=1e-9)
    assert [group.members.tolist() for group in trace.groups] == [[0, 1, 2, 3], [0, 1], [2, 3]]
    # Bytes of all-gathers and reduce-scatters are those of one rank.
    assert set(trace.groups[1].bytes) == {2 << 20}


def test_missing_numbers_are_counted_and_the_others_stay_matched(tmp_path):
    lines = job()
    del lines[1][3:5], lines[3][7]
    trace = read(stored(tmp_path, lines))
    check(trace, CALLS - 3)
    told = remark(trace, "numbers of calls that a rank lacks between others")
    assert "(3)" in told
    assert "NCCL_INSPECTOR_DUMP_MIN_SIZE_BYTES" in told


def test_files_that_begin_and_end_at_different_calls(tmp_path):
    lines = job()
    lines[0], lines[3] = lines[0][2:], lines[3][:-1]
    trace = read(stored(tmp_path, lines))
    check(trace, CALLS - 3)
    assert all((np.diff(group.sequence) > 0).all() for group in trace.groups)


@pytest.mark.parametrize(("change", "words"), [
    ('{"header": {"id": "x"', "lines that tell no call"),
    ("[1, 2]", "lines that tell no call"),
    ("null", "lines that tell no call"),
    ("[" * 100_000, "lines that tell no call"),
    ('{"a": ' + "9" * 5000 + "}", "lines that tell no call"),
    ("x" * (2 << 20), "lines of more than 1048576 characters"),
    ({"rank": 4}, "lines that tell no call"),
    ({"rank": -1}, "lines that tell no call"),
    ({"rank": [0]}, "lines that tell no call"),
    ({"n_ranks": 1 << 30}, "lines that tell no call"),
    ({"id": None}, "lines that tell no call"),
    ({"pid": "x"}, "lines that tell no call"),
    ({"hostname": {}}, "lines that tell no call"),
    ({"coll_sn": "7"}, "lines that tell no call"),
    ({"coll_sn": -7}, "lines that tell no call"),
    ({"coll_exec_time_us": 0}, "lines that tell no call"),
    ({"coll_exec_time_us": -5}, "lines that tell no call"),
    ({"coll_exec_time_us": "5"}, "lines that tell no call"),
    ({"coll_exec_time_us": 1e300}, "lines that tell no call"),
    ({"coll_exec_time_us": float("nan")}, "lines that tell no call"),
    ({"coll_timing_source": "collective_cpu"}, "the host timed"),
    ({"coll": "Broadcast"}, "need not leave together"),
    ({"coll": "Invalid"}, "need not leave together"),
    ({"coll_sn": 3}, "of a number that the rank had before"),
    ({"n_ranks": 5}, "of another size than most"),
    ({"pid": 9999}, "of a rank that another process has"),
])  # fmt: skip
def test_an_odd_line_is_left_out_and_counted(tmp_path, change, words):
    lines = job()
    odd = change
    if isinstance(change, dict):
        odd = json.loads(lines[1][7])
        for part in odd.values():
            part |= {key: value for key, value in change.items() if key in part}
        odd = json.dumps(odd)
    lines[1][7] = odd
    trace = read(stored(tmp_path, lines))
    check(trace, CALLS - 1)
    assert "(1)" in remark(trace, words)


@pytest.mark.parametrize("value", [None, "many", -1, 1 << 60, [], True])
def test_a_size_that_is_wrong_does_not_matter(tmp_path, value):
    lines = job()
    record = json.loads(lines[1][7])
    record["coll_perf"]["coll_msg_size_bytes"] = value
    lines[1][7] = json.dumps(record)
    check(read(stored(tmp_path, lines)))


def test_messages_and_verbose_lines(tmp_path):
    trace_of = {"event_trace_ts": {"coll_start_ts": 1, "kernel_events": [{"channel_id": 0}]}}
    lines = job(**trace_of)
    message = json.loads(lines[0][0])
    message["p2p_perf"] = message.pop("coll_perf")
    lines[0].append(json.dumps(message))
    trace = read(stored(tmp_path, lines))
    check(trace)
    assert "(1)" in remark(trace, "messages between two ranks")


def test_every_cut_of_a_file_leaves_the_lines_before_it(tmp_path):
    folder = stored(tmp_path, job())
    path = folder / "gpu0-pid101.log"
    raw = path.read_bytes()
    for end in range(1, len(raw), 97):
        path.write_bytes(raw[:end])
        trace = read(folder)
        whole = raw[:end].count(b"}}\n") + raw[:end].endswith(b"}}")
        assert analyse(trace).ranks.calls[1] == whole


def test_packed_files_in_folders_and_other_files_beside_them(tmp_path):
    for rank, own in enumerate(job()):
        path = store(tmp_path / f"node{rank}", own, rank)
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
        (path.parent / "train.log").write_text("step 1\n")
    check(read(tmp_path))


def test_hosts_and_several_runs(tmp_path):
    stored(tmp_path, job(host="node7"), host="node7")
    for rank, own in enumerate(job(lengths(ranks=2, late=1), communicator="0x2", host="old")[:2]):
        store(
            tmp_path, [each.replace('"pid":1', '"pid":2') for each in own], 100 + rank, host="old"
        )
    trace = read(tmp_path)
    check(trace)
    assert set(trace.hosts) == {"node7"}
    assert f"({2 * CALLS})" in remark(trace, "share no communicator")


def test_one_process_of_several_ranks(tmp_path):
    lines = [each for own in job(pid=100) for each in own]
    store(tmp_path, lines, 0)
    check(read(tmp_path))


def test_a_rank_without_a_file_is_told_and_nobody_is_named(tmp_path, capsys):
    folder = stored(tmp_path, job())
    (folder / "gpu0-pid103.log").unlink()
    assert run(["report", str(folder), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert "no file of rank 3, of 4 ranks" in said["remarks"]
    assert said["late_ranks"] == []
    assert said["run_s"] is None
    assert "the file of rank 3 is missing" in said["sentence"]


def test_the_report_says_shares_of_the_time_in_collectives(tmp_path, capsys):
    folder = stored(tmp_path, job())
    assert run(["report", str(folder)]) == 0
    told = capsys.readouterr()
    assert f"Rank {LATE} on host gpu0 is late." in told.out
    assert "of the time in collectives is waiting" in told.out
    assert "What if" not in told.out
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "without what is between" in page
    assert "outside of collectives, 0" not in page


@pytest.mark.parametrize(("lines", "found"), [
    ([[]] * 2, "0 calls in 2 files"),
    ([[line(0, 1, 1e-3)]], "1 calls in 1 files"),
    ([["no JSON"] * 3] * 2, "lines that tell no call of a rank"),
    ([[line(0, 1, 1e-3, name="Broadcast")], [line(1, 1, 1e-3, name="Broadcast")]],
     "need not leave together"),
])  # fmt: skip
def test_refusals_say_what_was_found(tmp_path, lines, found):
    with pytest.raises(TraceError) as raised:
        read(stored(tmp_path, lines))
    assert str(tmp_path) in str(raised.value)
    assert found in str(raised.value)
    assert "NCCL_INSPECTOR_ENABLE=1" in str(raised.value)


def test_a_group_of_more_ranks_than_memory(tmp_path):
    lines = [[line(rank, 1, 1e-3, ranks=1 << 20)] for rank in range(2)]
    many = [[line(rank, at, 1e-3, ranks=1 << 20) for at in range(65)] for rank in range(2)]
    assert read(stored(tmp_path / "few", lines)).ranks == 1 << 20
    with pytest.raises(TraceError, match="calls by members"):
        read(stored(tmp_path / "many", many))


@pytest.mark.parametrize(("own", "words"), [
    ([(0, {"pid": 100})], "communicators of which the files of some ranks are missing (1)"),
    ([(0, {"pid": 100}), (1, {"pid": 100})], "communicators of processes that are several ranks"),
])  # fmt: skip
def test_a_communicator_whose_processes_are_not_known_is_left_out(tmp_path, own, words):
    lines = job()
    for rank, more in own:
        lines[0] += [line(rank, at, 1e-3, ranks=2, communicator="0x1", **more) for at in range(3)]
    trace = read(stored(tmp_path, lines))
    check(trace)
    assert "0x1" in remark(trace, words)


def test_ranks_that_are_in_no_large_communicator_come_behind_it(tmp_path):
    lines = [*job(), []]
    for place, rank in enumerate((3, 4)):
        lines[rank] += [line(place, at, 1e-3 * (1 + place), ranks=2, communicator="0x1",
                             pid=100 + rank) for at in range(3)]  # fmt: skip
    trace = read(stored(tmp_path, lines))
    assert [group.members.tolist() for group in trace.groups] == [[0, 1, 2, 3], [3, 4]]
    assert analyse(trace).ranks.last.tolist() == [0, 0, CALLS, 3, 0]


def test_text_is_unpacked_up_to_a_multiple_of_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "FREE_BYTES", 1 << 20)
    folder = stored(tmp_path, job())
    with gzip.open(folder / "gpu9-pid9.log.gz", "wb") as file:
        for _ in range(8):
            file.write(b" " * (1 << 20))
    trace = read(folder)
    check(trace)
    assert "100 times" in remark(trace, "ends of files, which cannot be read (1)")


@pytest.mark.parametrize(("limit", "value"), [("MOST_CALLS", 3), ("MOST_KINDS", 0)])
def test_limits(tmp_path, monkeypatch, limit, value):
    monkeypatch.setattr(inspector, limit, value)
    with pytest.raises(TraceError):
        read(stored(tmp_path, job()))


def test_names_of_files():
    assert inspector.fits("node1-pid4711.log")
    assert inspector.fits("node-pid1.jsonl.gz")
    assert not inspector.fits("train.log")
    assert not inspector.fits("rank0.jsonl")
    assert made.ID.startswith("0x")


def test_a_line_that_is_left_out_is_not_lost_by_the_plug_in(tmp_path):
    """One line is no JSON, one has an odd length, one was timed by the host; one is missing."""
    calls = [line(0, number, 0.001, ranks=2) for number in range(20)]
    calls[3] = calls[3][:50]
    calls[6] = calls[6].replace('"coll_exec_time_us":1000', '"coll_exec_time_us":-5')
    calls[9] = line(0, 9, 0.001, ranks=2, source="collective_cpu")
    store(tmp_path, [*calls[:12], *calls[13:]], 0)
    store(tmp_path, [line(1, number, 0.002, ranks=2) for number in range(20)], 1)
    trace = read(tmp_path)
    told = " ".join(trace.remarks)
    assert "LL_RING_SIZE sets its size (1), such as rank 0" in told
    assert (
        "lines that tell no call of a rank: right would be header, metadata and coll_perf (2)"
        in told
    )
    store(tmp_path, calls, 0)
    assert not any("lacks between" in each for each in read(tmp_path).remarks)


def test_lines_of_another_format_version_are_told(tmp_path):
    for rank in range(2):
        lines = [line(rank, number, 0.001 * (rank + 1), ranks=2) for number in range(9)]
        store(tmp_path, [each.replace("v4.0", "v5.1") for each in lines], rank)
    (told,) = (each for each in read(tmp_path).remarks if "v5.1" in each)
    assert told.startswith("in doubt: lines of another format than v4.0 (18), such as ")
