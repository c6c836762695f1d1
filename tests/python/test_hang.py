"""A job of the library's traces that hangs: who has not come, by the status in the files."""

import json
import mmap
import os
import socket
import time

import numpy as np
import pytest
from latecomer import cli
from latecomer.report.trace import native_file as native
from latecomer.report.trace import native_hang, read
from latecomer.report.trace.about import NAME
from latecomer.report.trace.left_out import LeftOut
from latecomer.report.trace.stuck import LONG_S
from trace_helpers import ZERO, Files, append
from watch_helpers import Job, loop, steps

STEP = 150  # from which on the ranks are elsewhere
RECEIVE = {"doing": 2, "doing_what": native.WHAT.index("receive"), "doing_peer": 1,
           "doing_sequence": 7}  # fmt: skip
WAITING = "in a receive from rank 1 of its communicator, tag 7"


def job_of(folder, ranks, absent, seed=1):
    """It ends in step STEP, to which some ranks do not come; the time that this step begins at."""
    job = Job(folder, *loop(steps(np.random.default_rng(seed), 5, ranks)))
    begin = float(job.arrival[STEP].max())
    job.arrival[STEP + 1 :] = job.leave[STEP:] = np.inf
    job.arrival[STEP, list(absent)] = np.inf
    job.at(begin + 0.001)
    return begin


def end(folder, seconds, code=None):
    """The note of `latecomer run` at the end of the job, so long after its begin."""
    (folder / NAME).write_text(json.dumps({"ended": Files.STARTED + seconds, "code": code}))


def patch(folder, rank, **values):
    path = folder / f"rank-{rank}.trace"
    raw = bytearray(path.read_bytes())
    header = np.frombuffer(raw, native.HEADER, 1)
    for name, value in values.items():
        header[name] = value
    path.write_bytes(raw)


def cut(path):
    """Leave the records out that the file does not count."""
    raw = path.read_bytes()
    used = int(np.frombuffer(raw, native.HEADER, 1)["used"][0])
    path.write_bytes(raw[: native.HEADER.itemsize + 64 * used])


def told(folder, capsys):
    """The answer's lines, without their names."""
    assert cli.run(["report", str(folder), "--json"]) == 0
    return json.loads(capsys.readouterr().out)["answer"]


@pytest.mark.parametrize("seed", range(6))
def test_who_has_not_come_is_who_was_left_out(tmp_path, seed):
    print("seed", seed)
    rng = np.random.default_rng(seed)
    ranks = int(rng.integers(2, 7))
    absent = sorted(rng.permutation(ranks)[: rng.integers(1, ranks)].tolist())
    folder = tmp_path / "trace"
    begin = job_of(folder, ranks, absent, seed)
    for after, code, hangs in ((LONG_S + 1, None, True), (LONG_S - 1, None, False),
                               (0.1, 134, True), (0.1, 0, True), (0.1, 143, False), (0.1, 1, False),
                               (LONG_S + 1, 143, True), (LONG_S + 1, 1, True)):  # fmt: skip
        end(folder, begin + after, code)
        found = read(folder)
        assert bool(found.hang and found.hang.certain) is hangs
        if found.hang:
            assert found.hang.absent == absent
            assert sorted([*found.hang.waits, *absent]) == list(range(ranks))
        assert found.failed is (code in (0, 1, 134))


def test_the_answer_names_who_has_not_come(tmp_path, capsys):
    folder = tmp_path / "trace"
    begin = job_of(folder, 3, [2])
    end(folder, begin + 15)
    said = told(folder, capsys)
    assert said["who"] == ("Rank 2 on host node2 has not come to call 150 of MPI_COMM_WORLD, "
                           "allreduce; ranks 0 and 1 wait.")  # fmt: skip
    assert said["cost"] == "The job does not go on."
    assert said["where"].startswith("It was last seen outside of collectives, since ")
    assert said["next"] == "Look at rank 2, by the job's output and a debugger."


def test_a_rank_that_ended_the_job_has_not_come(tmp_path, capsys):
    folder = tmp_path / "trace"
    end(folder, job_of(folder, 3, [0]), 134)
    said = told(folder, capsys)
    assert said["who"].startswith("Rank 0 on host node0 has not come to call 150 of ")
    assert said["cost"] == "The job did not come to its end."


def test_a_job_that_ended_by_itself_is_no_slow_one(tmp_path, capsys):
    """Nobody waits, and a rank was late before."""
    work = steps(np.random.default_rng(1), 5, 3)
    work[:, 1] += 0.02
    folder = tmp_path / "trace"
    job = Job(folder, *loop(work))
    job.at(float(job.leave[STEP].max()))
    said = told(folder, capsys)
    assert said["who"].startswith("Rank 1 on host node1 is late.")
    end(folder, 4.0, 139)
    said = told(folder, capsys)
    assert said["who"] == "The job has not come to its end: no rank reached MPI_Finalize."
    assert "Before that rank 1 was late." in said["where"]
    assert said["next"] == "Find out why the job ended."


@pytest.mark.parametrize("running", [False, True])
def test_without_a_known_end_it_is_not_said_that_the_job_hangs(running, tmp_path, capsys,
                                                               monkeypatch):  # fmt: skip
    folder = tmp_path / "trace"
    begin = job_of(folder, 3, [2])
    if running:
        monkeypatch.setattr(native_hang, "_lives", lambda _: True)
        monkeypatch.setattr(time, "time", lambda: Files.STARTED + begin + 1)
        assert read(folder).hang is None
        monkeypatch.setattr(time, "time", lambda: Files.STARTED + begin + 60)
        assert read(folder).hang.absent == [2]
        return
    assert not read(folder).hang.certain
    assert told(folder, capsys)["who"] == (
        "The job has not come to its end: no rank reached MPI_Finalize; rank 2 has not come to "
        "call 150 of MPI_COMM_WORLD, allreduce; ranks 0 and 1 wait."
    )


def test_what_was_seen_last_is_said_beside_a_late_rank(tmp_path, capsys):
    work = steps(np.random.default_rng(1), 5, 3)
    work[:, 1] += 0.02
    folder = tmp_path / "trace"
    job = Job(folder, *loop(work))
    job.at(float(np.sort(job.arrival[STEP])[1]))
    said = told(folder, capsys)
    assert said["who"].startswith("Rank 1 on host node1 is late.")
    assert "Seen last: rank 1 has not come to call 150 of MPI_COMM_WORLD, allreduce; ranks 0 and " \
        "2 wait." in said["where"]  # fmt: skip


def test_a_rank_that_waits_in_a_message_has_not_come(tmp_path, capsys):
    folder = tmp_path / "trace"
    begin = job_of(folder, 3, [0])
    patch(folder, 0, **RECEIVE)
    end(folder, begin + 15)
    said = told(folder, capsys)
    assert said["who"].startswith("Rank 0 on host node0 has not come to call 150 of ")
    assert said["where"].startswith(f"It was last seen {WAITING}, since ")
    end(folder, begin + 1, 134)  # nobody waits for long, and none is waited for
    assert not read(folder).hang


def test_who_waits_for_a_rank_that_goes_on_is_no_proof_of_a_hang(tmp_path, capsys):
    folder = tmp_path / "trace"
    begin = job_of(folder, 3, [0, 1, 2])
    patch(folder, 0, **RECEIVE)
    end(folder, begin + 15)
    assert not read(folder).hang.certain
    assert told(folder, capsys)["who"].endswith(
        f"no rank reached MPI_Finalize; rank 0 waits {WAITING}."
    )


def test_messages_that_wait_for_each_other_hang(tmp_path, capsys):
    folder = tmp_path / "trace"
    begin = job_of(folder, 2, [0, 1])
    patch(folder, 0, **RECEIVE)
    patch(folder, 1, **RECEIVE | {"doing_peer": 0})
    end(folder, begin + 15)
    said = told(folder, capsys)
    assert said["who"].startswith(f"The job hangs: rank 0 waits {WAITING}; rank 1 waits in a ")
    assert said["where"].startswith(f"Rank 0 was last seen {WAITING}, since ")
    assert said["next"] == "Look at ranks 0 and 1, by the job's output and a debugger."


@pytest.mark.parametrize("other", [True, False])
def test_a_call_to_which_all_came_hangs(other, tmp_path, capsys):
    """It may be a different collective on different ranks."""
    folder = tmp_path / "trace"
    begin = job_of(folder, 3, [])
    if other:
        patch(folder, 0, doing_name=4)  # a text of the file
    end(folder, begin + 15)
    who = told(folder, capsys)["who"]
    call = "call 150 of MPI_COMM_WORLD"
    assert who == (
        f"The job hangs: {call} is a different collective on different ranks, native by rank 0, "
        "allreduce by ranks 1 and 2."
        if other
        else f"The job hangs: ranks 0, 1 and 2 wait in allreduce, {call}, to which all have come."
    )


@pytest.mark.parametrize(("other", "said"), [
    (True, "call 150 of MPI_COMM_WORLD is a different collective on different ranks, native by rank"
           " 0, allreduce by ranks 1 and 2"),
    (False, "ranks 0, 1 and 2 wait in allreduce, call 150 of MPI_COMM_WORLD, to which all have "
            "come"),
])  # fmt: skip
def test_of_a_call_that_a_rank_has_just_entered_it_is_not_said_that_it_hangs(tmp_path, other, said):
    folder = tmp_path / "trace"
    begin = job_of(folder, 3, [])
    patch(folder, 2, since=ZERO + round(1e9 * (begin + 10)))
    if other:
        patch(folder, 0, doing_name=4)  # a text of the file
    end(folder, begin + 15)
    found = read(folder).hang
    assert (found.said, found.certain) == (said, False)


def test_of_several_communicators_that_counts_whose_rank_waits_nowhere(tmp_path):
    """Ranks 0 and 1 wait for rank 2, which waits for rank 3 on another communicator."""
    folder = tmp_path / "trace"
    begin = job_of(folder, 4, [2, 3])
    other = np.zeros(1, native.COMMUNICATOR)
    other["kind"], other["id"], other["key"], other["name"] = native.A_COMMUNICATOR, 1, 77, 3
    other["size"], other["stride"], other["first"] = 2, 1, 2
    for rank in (2, 3):
        other["rank"] = rank - 2
        cut(folder / f"rank-{rank}.trace")
        append(folder / f"rank-{rank}.trace", other)
    patch(folder, 2, doing=1, doing_name=2, doing_communicator=1, doing_sequence=0)
    end(folder, begin + 15)
    found = read(folder).hang
    assert (found.absent, found.waits) == ([3], [2])
    assert found.call.startswith("call 0 of app+0x10")


def test_a_rank_without_a_file_is_not_accused(tmp_path):
    folder = tmp_path / "trace"
    begin = job_of(folder, 3, [2])
    (folder / "rank-2.trace").unlink()
    end(folder, begin + 15)
    found = read(folder).hang
    assert not found.absent


def test_a_process_lives_while_it_has_the_file(tmp_path):
    folder = tmp_path / "trace"
    job_of(folder, 2, [1])
    patch(folder, 0, host=socket.gethostname().encode(), pid=os.getpid())
    patch(folder, 1, pid=os.getpid())
    files = list(native.read([folder / f"rank-{rank}.trace" for rank in (0, 1)], LeftOut()))
    with (folder / "rank-0.trace").open("r+b") as own:
        assert not native_hang._lives(files[0])  # another process may have its number
        with mmap.mmap(own.fileno(), 0):
            assert native_hang._lives(files[0])
            assert not native_hang._lives(files[1])  # of another host
