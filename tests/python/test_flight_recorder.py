"""PyTorch's flight recorder: who has not come to which call, who is late, and what is refused."""

import json
import pickle

import flight_helpers as made
import numpy as np
import pytest
from flight_helpers import ZERO, as_json, as_pickle, dump, entry, store
from kineto_helpers import remark
from latecomer.cli import run
from latecomer.report.analysis.lateness import analyse
from latecomer.report.trace import TraceError, flight_dump, flight_recorder, read
from trace_helpers import arrivals_and_exits

CALLS, RANKS, LATE = 12, 4, 2
WRITERS = {"pickle": (as_pickle, ""), "JSON": (as_json, ".json")}


def job(**about):
    return made.job(*arrivals_and_exits(CALLS, RANKS, late=LATE), **about)


def check(trace, calls=CALLS):
    found = analyse(trace)
    assert found.ranks.calls.tolist() == [calls] * RANKS
    assert found.ranks.last.tolist() == [calls * (rank == LATE) for rank in range(RANKS)]


def elsewhere(line):
    """Frames of another place in the program."""
    return [made.FRAMES[0], {"name": "load", "filename": "/home/user/data.py", "line": line}]


# ---- a job that hangs


@pytest.mark.parametrize("of", WRITERS)
def test_the_rank_that_has_not_come_and_where_it_was_last(tmp_path, of):
    dumps = job(timed=False)
    for rank, each in enumerate(dumps):
        if rank != 1:
            each["entries"].append(entry(CALLS, 9 + rank))
    trace = read(store(tmp_path, dumps, *WRITERS[of]))
    assert trace.remarks[:2] == [
        f"call {CALLS} of group '0' (default_pg), allreduce, is not complete: ranks 0, 2 and 3 "
        "have come, rank 1 has not",
        f"rank 1 was last seen after call {CALLS - 1} of group '0', allreduce"
        + (", at step (train.py:31)" if of == "pickle" else ""),
    ]


def test_a_rank_that_itself_waits_in_a_call_of_another_group(tmp_path):
    groups = {"0": [0, 1, 2, 3], "1": [1, 2]}
    dumps = job(timed=False)
    for rank, each in enumerate(dumps):
        each |= {"pg_config": dump([], groups={name: own for name, own in groups.items()
                                               if rank in own})["pg_config"]}  # fmt: skip
        each["entries"].append(
            entry(5, 8.0, order=99, group="1", name="_allgather_base", frames=elsewhere(7))
            if rank == 1
            else entry(CALLS, 9.0, order=99)
        )
    told = read(store(tmp_path, dumps)).remarks
    assert (
        f"call {CALLS} of group '0' (default_pg), allreduce, is not complete: ranks 0, 2 and "
        "3 have come, rank 1 has not" in told
    )
    assert (
        "call 5 of group '1' (a part), allgather, is not complete: rank 1 has come, rank 2 has "
        "not" in told
    )
    assert "rank 1 was last seen in call 5 of group '1', allgather, at load (data.py:7)" in told
    assert (
        f"rank 2 was last seen in call {CALLS} of group '0', allreduce, at step (train.py:31)"
        in told
    )


def test_all_ranks_have_come(tmp_path):
    dumps = job(timed=False)
    for rank, each in enumerate(dumps):
        begun = {"time_discovered_started_ns": ZERO + 10**10, "state": "started"}
        each["entries"].append(entry(CALLS, 9.0, **(begun if rank == 3 else {})))
    assert read(store(tmp_path, dumps)).remarks[0] == (
        f"call {CALLS} of group '0' (default_pg), allreduce, is not complete: all ranks have come, "
        "and the device of rank 3 had begun"
    )


def test_ranks_that_call_different_collectives(tmp_path):
    dumps = job(timed=False)
    for rank, each in enumerate(dumps):
        name = "broadcast" if rank == 1 else "all_reduce"
        each["entries"].append(entry(CALLS, 9.0, name=name))
    assert (
        read(store(tmp_path, dumps))
        .remarks[0]
        .endswith(
            "the ranks call different collectives, allreduce by ranks 0, 2 and 3, bcast by rank 1"
        )
    )


@pytest.mark.parametrize("ended", [False, True])
def test_a_page_without_times_has_no_empty_pictures(tmp_path, capsys, ended):
    """Calls that all ranks entered, and of which no end is known."""
    kind = {"state": "completed", "retired": True, "profiling_name": "gloo:all_reduce"}
    leave = 9.0 if ended else None
    complete = [[entry(call, call + 0.1 * rank, leave, **kind) for call in range(3)]
                for rank in range(3)]  # fmt: skip
    dumps = [dump([*own, *([entry(3, 5.0)] * (rank != 1))], 3) for rank, own in enumerate(complete)]
    page = tmp_path / "a.html"
    folder = store(tmp_path / "dumps", dumps)
    assert run(["report", str(folder), "--budget", "0", "--html", str(page)]) == 0
    told, text = capsys.readouterr().err, page.read_text()
    left = "3 calls are left out: all ranks tell when they entered, but not all when they left"
    assert (left in told) is not ended
    assert "1 call is not known on all ranks, and left out" in told
    assert "Not known" not in text
    assert '<p class="large">It was last seen after call 2' in text.replace("\xa0", " ")
    for part in ("<h2>Arrivals", "<h2>Lateness over time", "<h2>Who is late", "<h2>Where<",
                 "<h2>One call", 'class="bars"', 'class="shares"'):  # fmt: skip
        assert (part in text) is ended, part


@pytest.mark.parametrize("backend", ["nccl", "gloo"])
def test_what_a_device_took_is_asked_for_where_there_is_one(tmp_path, backend):
    calls = [entry(0, 1.0, 2.0, profiling_name=f"{backend}:all_reduce")]
    told = " ".join(read(store(tmp_path, [dump(calls, 2)] * 2)).remarks)
    assert "times are those at which the program asked for a call" in told
    assert ("TORCH_NCCL_ENABLE_TIMING" in told) is (backend == "nccl")


def test_a_job_that_hangs_in_its_first_call(tmp_path, capsys):
    dumps = [dump([entry(0, 1.0)] if rank == 0 else [], 2) for rank in range(2)]
    folder = store(tmp_path, dumps)
    with pytest.raises(TraceError, match="rank 0 has come, rank 1 has not; rank 1 has no call"):
        read(folder)
    dumps = [dump([entry(0, 1.0)] if rank != 1 else []) for rank in range(RANKS)]
    assert run(["report", str(store(tmp_path, dumps)), "--budget", "0"]) == 0
    told = capsys.readouterr()
    assert "ranks 0, 2 and 3 have come, rank 1 has not" in told.err
    assert "1 call is not known on all ranks, and left out" in told.err
    assert told.out.splitlines()[:4] == [
        "who:   Rank 1 has not come to call 0 of default_pg, allreduce; ranks 0, 2 and 3 wait.",
        "cost:  The job does not go on.",
        "where: It has no call in its dump.",
        "next:  Look at rank 1, by the job's output and a debugger.",
    ]


def test_the_answer_names_who_has_not_come_however_many_calls_are_complete(tmp_path, capsys):
    dumps = job(timed=False)
    for rank in (0, 2, 3):
        dumps[rank]["entries"].append(entry(CALLS, 9.0))
    store(tmp_path / "all" / "vm", dumps)
    page = tmp_path / "a.html"
    assert run(["report", str(tmp_path / "all"), "--html", str(page)]) == 0
    said = capsys.readouterr().out
    assert f"who:   Rank 1 on host vm has not come to call {CALLS} of default_pg, allre" in said
    assert f"where: It was last seen after call {CALLS - 1} of group '0', allreduce, at " in said
    assert "What if" not in said
    assert "Rank 1 on host vm has not come to call" in page.read_text()
    del dumps[2]["entries"][-1]
    store(tmp_path / "all" / "vm", dumps)
    assert run(["report", str(tmp_path / "all"), "--html", str(page)]) == 0
    said = capsys.readouterr().out
    assert "who:   Ranks 1 and 2 on host vm have not come to call" in said
    assert "(train.py:31); rank 2 was last seen after call" in said
    assert "next:  Look at ranks 1 and 2, by the job's output" in said


def test_of_several_calls_the_one_counts_whose_ranks_wait_in_no_other(tmp_path):
    """Rank 1 waits for rank 2 in a group of its own; rank 2 waits in no call."""
    groups = {"0": [0, 1, 2], "1": [1, 2]}
    entries = [[entry(1, 2.0)], [entry(0, 1.0, group="1")], []]
    dumps = [dump([entry(0, 0.5, 0.6), *own], groups=groups) for own in entries]
    hang = read(store(tmp_path, dumps)).hang
    assert (hang.call, list(hang.absent)) == ("call 0 of a part, allreduce", [2])


@pytest.mark.parametrize(("path", "own"), [
    ("/home/user/torch/train.py", True),
    ("/home/user/torch/models/net.py", True),
    ("/opt/lib/torch/distributed/distributed_c10d.py", False),
    ("/usr/lib/python3/dist-packages/torch/functional.py", False),
    ("torch/nn/modules/module.py", False),
    ("/src/pytorch/torch/_ops.py", False),
])  # fmt: skip
def test_a_folder_of_the_program_may_be_called_torch(tmp_path, path, own):
    frames = [{"name": "step", "filename": path, "line": 3},
              {"name": "main", "filename": "/home/user/main.py", "line": 9}]  # fmt: skip
    dumps = [dump([entry(0, 1.0, 2.0, frames=frames)], 2) for _ in range(2)]
    group = (trace := read(store(tmp_path, dumps))).groups[0]
    place = trace.words[int(group.site[0])]
    assert place == (f"step ({path.rpartition('/')[2]}:3)" if own else "main (main.py:9)")


def test_a_message_that_a_rank_waits_in(tmp_path):
    dumps = job(timed=False)
    for rank, each in enumerate(dumps):
        each["entries"].append(
            entry(0, 9.0, order=99, name="recv 1<-3", is_p2p=True, p2p_seq_id=4)
            if rank == 1
            else entry(CALLS, 9.0)
        )
    told = read(store(tmp_path, dumps)).remarks
    assert "rank 1 was last seen in message 4 of group '0', recv 1<-3, at step (train.py:31)" \
        in told  # fmt: skip
    assert any("messages between two ranks (1)" in each for each in told)


def test_of_many_sentences_the_first_are_told(tmp_path):
    groups = {str(at): [0, 1] for at in range(20)}
    dumps = [dump([entry(3, 1.0 + at, group=str(at), order=at) for at in range(20)]
                  if rank == 0 else [], groups=groups) for rank in range(2)]  # fmt: skip
    dumps[1]["entries"] = [entry(2, 1.0, 2.0, group="0")]
    told = read(store(tmp_path, dumps)).remarks
    assert "13 sentences more about calls that are not complete" in told


# ---- who is late


@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize("of", WRITERS)
def test_buffers_that_begin_at_different_calls_are_matched_by_number(tmp_path, of, timed):
    dumps = job(timed=timed, first=5)
    write, ending = WRITERS[of]
    check(read(store(tmp_path / "node0", dumps, write, ending).parent), CALLS - 5)


def test_two_groups_of_one_name(tmp_path):
    arrival, leave = arrivals_and_exits(CALLS, 2, late=0)
    some = [*made.job(arrival, leave), *made.job(arrival, leave)]
    for rank, each in enumerate(some):
        each["pg_config"]["0"]["ranks"] = "[0, 1]" if rank < 2 else "[2, 3]"
    trace = read(store(tmp_path, some))
    assert [group.members.tolist() for group in trace.groups] == [[0, 1], [2, 3]]
    assert analyse(trace).ranks.last.tolist() == [CALLS, 0, CALLS, 0]


def test_two_groups_of_one_name_whose_first_members_are_the_same(tmp_path):
    arrival, leave = arrivals_and_exits(CALLS, 10)
    dumps = made.job(arrival, leave)
    for rank, each in enumerate(dumps):
        each["pg_config"]["0"]["ranks"] = str([*range(8), 8 if rank == 8 else 9])
    (group,) = read(store(tmp_path, dumps)).groups
    assert group.members.tolist() == [*range(8), 9]
    assert len(group) == CALLS


def test_the_older_version_of_the_format(tmp_path):
    dumps = job()
    for each in dumps:
        for call in each["entries"]:
            call["seq_id"] = call.pop("collective_seq_id")
            del call["process_group"], call["input_dtypes"], call["output_dtypes"]
    check(read(store(tmp_path, dumps)))


def test_some_lengths_do_not_make_all(tmp_path):
    dumps = job()
    del dumps[1]["entries"][3]["duration_ms"]
    check(read(store(tmp_path / "a", dumps)), CALLS - 1)
    for call in dumps[1]["entries"]:
        call.pop("duration_ms", None)
    trace = read(store(tmp_path / "b", dumps))
    assert trace.between
    assert remark(trace, "times are those at which the program asked")


@pytest.mark.parametrize(("change", "left"), [
    ({"collective_seq_id": None}, "entries that tell no call"),
    ({"collective_seq_id": -1}, "entries that tell no call"),
    ({"profiling_name": 7}, "entries that tell no call"),
    ({"process_group": {}, "pg_id": None}, "entries that tell no call"),
    ({"profiling_name": "nccl:magic"}, "calls of no known collective"),
    ({"profiling_name": "nccl:send 0->1", "is_p2p": True}, "messages between two ranks"),
    ({"profiling_name": "nccl:broadcast"}, "need not leave together"),
    ({"duration_ms": "x"}, ""),
    ({"duration_ms": float("nan")}, ""),
    ({"duration_ms": -1}, ""),
    ({"duration_ms": 1e300}, ""),
])  # fmt: skip
def test_an_odd_entry_is_left_out_and_counted(tmp_path, change, left):
    dumps = job()
    dumps[1]["entries"][7] |= change
    trace = read(store(tmp_path, dumps))
    check(trace, CALLS - 1)
    if left:
        assert "(1)" in remark(trace, left)


@pytest.mark.parametrize("change", [
    {"frames": None}, {"frames": [7, {"filename": 3}]}, {"frames": [made.FRAMES[0]] * 999},
    {"input_sizes": [["x"]]}, {"input_sizes": 7}, {"input_dtypes": [None]}, {"record_id": None},
    {"time_created_ns": "soon"}, {"time_discovered_completed_ns": []}, {"state": 4},
    {"input_sizes": [[1 << 40, 1 << 40]]},
])  # fmt: skip
def test_what_an_entry_says_wrongly_beside_does_not_matter(tmp_path, change):
    dumps = job()
    dumps[1]["entries"][7] |= change
    check(read(store(tmp_path, dumps)))


@pytest.mark.parametrize("odd", [None, 7, "ranks", [0, 1]])
def test_a_group_of_which_nothing_is_listed_does_not_matter(tmp_path, odd):
    dumps = job()
    for each in dumps:
        each["pg_config"] = {"odd": odd, **each["pg_config"]}
    check(read(store(tmp_path, dumps)))


def test_a_file_without_its_end_does_not_tell_who_has_not_come(tmp_path):
    dumps = job(timed=False)
    for each in dumps:
        each["entries"].append(entry(CALLS, 9.0))
    folder = store(tmp_path, dumps)
    path = folder / "nccl_trace_rank_1"
    path.write_bytes(path.read_bytes()[:-900])
    told = read(folder).remarks
    assert "ranks 0, 2 and 3 have come" in told[0]
    assert not any("not come" in each or "has not" in each for each in told)
    assert any("ends of files, which are missing" in each for each in told)


def test_an_entry_in_which_the_file_ends_is_no_call_that_hangs(tmp_path):
    """It may tell already who asked for the call, and not yet that it is complete."""
    path = store(tmp_path, job(timed=False)) / "nccl_trace_rank_2"
    raw = path.read_bytes()
    end = raw.index(b"collective_seq_id")
    for at in range(end, end + 1500, 7):
        path.write_bytes(raw[:at])
        told = read(tmp_path).remarks
        assert not any("is not complete" in each for each in told), at
        assert any("ends of files, which are missing" in each for each in told), at


@pytest.mark.parametrize("ranks", ["[0, 0]", "[0, 99999999]", 7, None, [0, -1], "[]", "[0, 1, 2"])
def test_members_that_one_file_lists_wrongly(tmp_path, ranks):
    dumps = job()
    dumps[1]["pg_config"]["0"]["ranks"] = ranks
    trace = read(store(tmp_path, dumps))
    assert analyse(trace).ranks.calls[0] == CALLS


# ---- files


@pytest.mark.parametrize("of", WRITERS)
def test_every_cut_of_a_file_leaves_what_is_before_it_or_is_told(tmp_path, of):
    write, ending = WRITERS[of]
    folder = store(tmp_path, job(), write, ending)
    path = folder / f"nccl_trace_rank_1{ending}"
    raw = path.read_bytes()
    for end in range(1, len(raw), len(raw) // 60):
        path.write_bytes(raw[:end])
        trace = read(folder)
        assert any("nccl_trace_rank_1" in each for each in trace.remarks)
        assert analyse(trace).ranks.calls[0] <= CALLS
    path.write_bytes(raw[: len(raw) * 3 // 4])
    assert analyse(read(folder)).ranks.calls[1] > 0


def test_the_newest_of_several_dumps_of_a_rank(tmp_path):
    store(tmp_path / "old", made.job(*arrivals_and_exits(3, RANKS, late=0)))
    store(tmp_path / "new", job())
    trace = read(tmp_path)
    check(trace)
    assert f"({RANKS})" in remark(trace, "older files of a rank")


@pytest.mark.parametrize(("raw", "found"), [
    (b"", "neither a pickle nor JSON"),
    (b"\x80", "not enough data"),
    (b"\x80\x02N.", "no dump of the flight recorder"),
    (b"[]", "no dump of the flight recorder"),
    (b'{"entries": 7}', "no dump of the flight recorder"),
    (b"[" * 100_000, "nested too deep"),
    (b'{"entries": [1,', "no collective"),
    (b"\x7fELF", "neither a pickle nor JSON"),
])  # fmt: skip
def test_refusals_say_what_was_found(tmp_path, raw, found):
    (tmp_path / "nccl_trace_rank_0").write_bytes(raw)
    with pytest.raises(TraceError) as raised:
        read(tmp_path)
    assert found in str(raised.value)
    assert str(tmp_path) in str(raised.value)


def test_a_file_that_is_too_large(tmp_path, monkeypatch):
    folder = store(tmp_path, job())
    monkeypatch.setattr(flight_recorder, "MOST_ENTRIES", 40)
    with pytest.raises(TraceError, match="calls of all dumps: more than 40"):
        read(folder)
    monkeypatch.setattr(flight_dump, "MOST_BYTES", 1000)
    with pytest.raises(TraceError, match="more than 1000 bytes"):
        read(folder)


def test_json_in_another_order_of_keys(tmp_path):
    folder = store(tmp_path, job(), lambda each: json.dumps(each, indent=1).encode(), ".json")
    check(read(folder))


def test_sizes_of_calls(tmp_path):
    trace = read(store(tmp_path, job()))
    assert set(trace.groups[0].bytes) == {4 * 512 * 512}
    assert np.isfinite(trace.clock_error).all()


@pytest.mark.parametrize("rank", [64, 9_999_999, 12_345_678])
def test_a_rank_far_beyond_the_files_is_left_out(tmp_path, rank):
    store(tmp_path, job())
    (tmp_path / "nccl_trace_rank_0").rename(tmp_path / f"nccl_trace_rank_{rank}")
    trace = read(tmp_path)
    assert trace.ranks == RANKS
    assert remark(trace, "files whose rank is too great for so many files")


@pytest.mark.parametrize("listed", [[0.0, 1.0, 2.0, 3.0], ["0", "1", "2", "3"]])
def test_ranks_of_a_group_are_numbers_however_they_are_written(tmp_path, listed):
    dumps = job()
    for each in dumps:
        each["pg_config"]["0"]["ranks"] = listed
    store(tmp_path, dumps)
    (tmp_path / "nccl_trace_rank_3").unlink()
    assert read(tmp_path).ranks == RANKS


# ---- dumps of one host of a large job


def of_one_host(folder, host, *, timed, members=range(256)):
    """The dumps of 8 ranks of a job, that list all its ranks."""
    dumps = made.job(*arrivals_and_exits(CALLS, 8, late=LATE), timed=timed)
    for rank, each in enumerate(dumps, 8 * host):
        each |= {"pg_config": dump([], groups={"0": list(members)})["pg_config"]}
        folder.mkdir(exist_ok=True)
        (folder / f"nccl_trace_rank_{rank}").write_bytes(as_pickle(each))
    return folder, [*range(8 * host, 8 * host + 8)]


@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize("host", [0, 15, 31])
def test_dumps_of_one_host_of_a_large_job(tmp_path, timed, host):
    folder, own = of_one_host(tmp_path / "dumps", host, timed=timed)
    trace = read(folder)
    (group,) = trace.groups
    assert (trace.ranks, group.size, len(group)) == (256, 256, CALLS)
    known = np.isfinite(group.arrival).all(axis=0)
    assert np.flatnonzero(known).tolist() == own
    assert analyse(trace).incomplete == CALLS
    assert not any("calls in groups of which" in each for each in trace.remarks)


@pytest.mark.parametrize("timed", [True, False])
def test_a_list_that_one_dump_alone_has_adds_no_ranks(tmp_path, timed):
    folder, _ = of_one_host(tmp_path / "dumps", 0, timed=timed)
    path = folder / "nccl_trace_rank_3"
    odd = dump([], groups={"0": list(range(256)), "1": [3, 5000], "2": [3, 251]})["pg_config"]
    value = pickle.loads(path.read_bytes()) | {"pg_config": odd}
    value["entries"] += [entry(0, 90.0, 91.0, order=50 + at, group=group,
                               length=1.0 if timed else None)
                         for at, group in enumerate("12")]  # fmt: skip
    path.write_bytes(as_pickle(value))
    trace = read(folder)
    assert trace.ranks == 256
    assert "group '1' has rank 5000" in remark(trace, "no other dump has such ranks")


@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize("last", [9_000, 1_000_000])
def test_sparse_lists_of_several_dumps_do_not_fill_the_memory(tmp_path, timed, last):
    folder, _ = of_one_host(tmp_path / "dumps", 0, timed=timed, members=[*range(255), last])
    with pytest.raises(TraceError, match="no other dump has such ranks"):
        read(folder)
