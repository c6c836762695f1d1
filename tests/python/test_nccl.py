"""The profiler plug-in of NCCL, on hosts that are played: the trace that it writes, and who is late."""

import subprocess
from collections import Counter

import numpy as np
import pytest
from latecomer import cli
from latecomer.core.compiled import core
from latecomer.report.analysis.answer import facts
from latecomer.report.analysis.lateness import analyse
from latecomer.report.analysis.what_if import what_if
from latecomer.report.trace import native_file, read
from latecomer.report.trace.left_out import LeftOut
from latecomer.report.watch.watcher import Watcher
from nccl_helpers import (
    CALENDAR,
    HOST,
    PLUGIN,
    Clock,
    Op,
    Process,
    loop,
    looping,
    numbered,
    play,
    run,
    sequences,
    untimed,
    words_of,
)


@pytest.mark.parametrize(("version", "ranks"), [(4, 4), (5, 64), (6, 4)])
def test_a_rank_that_is_always_late_is_named_though_all_clocks_are_apart(tmp_path, version, ranks):
    rng = np.random.default_rng(version)
    late = ranks // 3
    arrival, leave = loop(rng, ranks, 40, late)
    folder = tmp_path / "trace"
    clocks = [Clock.apart(rng) for _ in range(ranks)]
    assert play(folder, looping(arrival, leave, clocks), version=version) == []
    found = analyse(read(folder))
    (group,) = found.trace.groups
    assert group.name == "world"
    assert group.members.tolist() == list(range(ranks))
    assert {found.trace.words[each] for each in group.collective} == {"allreduce"}
    assert {found.trace.words[each] for each in group.algorithm} == {"ring ll128"}
    assert set(group.bytes) == {4096}
    assert not found.trace.remarks
    assert found.clock_error < 2e-5
    waiting = (arrival.max(axis=1, keepdims=True) - arrival).sum(axis=0)
    np.testing.assert_allclose(found.ranks.waiting, waiting, atol=2 * 40 * found.clock_error)
    assert list(facts(found).late) == [late]
    assert not facts(found).run_command  # no other run of MPI's is advised
    asked = what_if(found.trace, found.run_seconds, seconds=0.5).answers
    assert {each.scenario.kind for each in asked} == {"balance", "network", "part"}  # no algorithm


# ---- a job of everything


def everything(rng, ranks, steps, late):
    """The processes of a job: rank `late` computes longer. By step: an all-reduce of all; of halves
    an all-gather, and a reduce-scatter and a broadcast of one group; messages to the next rank.

    Returns the processes, and by (communicator, number) the true arrivals and exits of its members.
    """
    own = [Process(rank, Clock.apart(rng)) for rank in range(ranks)]
    halves = [list(range(ranks // 2)), list(range(ranks // 2, ranks))]
    for each in own:
        half = each.rank // (ranks // 2)
        each.say(0.1, "init w", 4711, "world", ranks, each.rank)
        each.say(0.11, "init h", 100 + half, "-", ranks // 2, halves[half].index(each.rank))
        each.say(0.12, "init s", 4711 << 40, "copy", ranks, each.rank)
    clock = np.full(ranks, 0.5)
    truth = {}

    def collective(comm, key, members, what, number, channels=(0, 1), group="", **more):
        begin = clock[members].copy()
        end = begin.max() + 1e-4 * (1 + 0.1 * rng.random(len(members)))
        truth[key, number] = begin, end
        for rank, *times in zip(members, begin, end, strict=True):
            own[rank].add(Op(comm, what, *times, number, channels=channels, group=group), **more)
        clock[members] = end

    for step in range(steps):
        work = 0.01 * (1 + 0.05 * rng.random(ranks))
        work[late] *= 2
        clock += work
        collective("w", "w", list(range(ranks)), "AllReduce", step, late=0.001 * (step % 3))
        clock += 0.002 * (1 + 0.05 * rng.random(ranks))
        for half, members in enumerate(halves):
            collective(
                "h", half, members, "AllGather", 3 * step, lost=(0,) if step % 4 == 1 else ()
            )
            begin = clock[members].copy()
            # A group: both begin at once, on other channels, and the later one ends first.
            collective(
                "h", half, members, "ReduceScatter", 3 * step + 1, channels=(0,), group=f"h{step}"
            )
            end = clock[members].copy()
            for rank, since, until in zip(members, begin, end, strict=True):
                op = Op("h", "Broadcast", since, until - 1e-5, channels=(1,), group=f"h{step}")
                own[rank].add(op, root=1)
            truth[half, 3 * step + 2] = end, end
        # From a graph that is launched again, by a thread of CUDA's: nobody calls.
        begin, after = clock.copy(), np.roll(clock, 1)
        received = np.maximum(begin, after) + 5e-5
        sent = np.maximum(begin, np.roll(clock, -1)) + 5e-5
        for each in own:
            rank = each.rank
            ahead, behind = (rank + 1) % ranks, (rank - 1) % ranks
            each.add(
                Op("s", "Send", begin[rank], sent[rank], peer=ahead, group=f"s{step}"), thread=2
            )
            each.add(
                Op("s", "Recv", begin[rank], received[rank], peer=behind, group=f"s{step}"),
                thread=2,
            )
            each.add(Op("s", "Send", begin[rank], begin[rank] + 1e-5, peer=rank), thread=2)
        clock = np.maximum(sent, received)
    for each in own:
        each.say(clock.max() + 0.1, "other g", "w", 1 << 8)
        for comm in "whs":
            each.say(clock.max() + 0.2, "finalize", comm)
        each.say(clock.max() + 0.3, "kernel", "x", "e1", "w", 0, 5)
        each.say(clock.max() + 0.3, "done", "e1c0", 5)
    return own, truth, clock


@pytest.mark.parametrize("seed", [1, 2])
def test_a_job_with_all_that_may_happen(tmp_path, seed):
    """The trace against the times that were made up, by the error that it tells."""
    print("seed", seed)
    ranks, steps, late = 8, 20, 5
    own, truth, _ = everything(np.random.default_rng(seed), ranks, steps, late)
    assert play(tmp_path / "trace", own) == []
    found = analyse(read(tmp_path / "trace"))
    trace, off = found.trace, 2 * found.clock_error + 1e-6
    assert not trace.remarks
    assert found.clock_error < 5e-5
    names = [group.name for group in trace.groups]
    assert sorted(names) == ["communicator 64", "communicator 65", "world"]
    zero = trace.groups[0].times()[0][0, 0] - truth["w", 0][0][0]
    for group in trace.groups:
        key = "w" if group.name == "world" else int(group.name[-1]) - 4
        arrival, leave = group.times()
        assert len(group) == (steps if key == "w" else 3 * steps)
        for number, *times in zip(group.sequence.tolist(), arrival, leave, strict=True):
            for measured, true in zip(times, truth[key, number], strict=True):
                np.testing.assert_allclose(measured - zero, true, atol=off)
    messages = trace.messages
    assert len(messages) == ranks * steps
    assert messages.unmatched == messages.lost == 0
    assert set(messages.bytes) == {4096}
    assert (messages.receive.rank == (messages.send.rank + 1) % ranks).all()
    for rank in range(ranks):
        sends = [op for op in own[rank].ops if op.what == "Send" and op.peer != rank]
        side = messages.send.part(messages.send.rank == rank, zero)
        order = np.argsort(side.begin)
        for measured, true in ((side.begin, "begin"), (side.end, "end")):
            np.testing.assert_allclose(measured[order], [getattr(op, true) for op in sends],
                                       atol=off)  # fmt: skip
    assert list(facts(found).late) == [late]


# ---- life and trouble


def test_without_a_folder_nothing_is_recorded_and_the_first_rank_says_so():
    said = [run(words_of(3, rank=rank).script(), None, ranks=2, rank=rank) for rank in range(2)]
    assert [out for out, _ in said] == ["w: mask 0, not recorded\n"] * 2
    assert said[0][1] == ("latecomer: LATECOMER_TRACE names no folder: the calls of NCCL are not "
                          "recorded\n")  # fmt: skip
    assert said[1][1] == ""


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    script = list(words_of(1).script())
    assert run(script, tmp_path / "trace", ranks=2, rank=0)[0] == "w: mask 4167, recorded\n"
    out, said = run(script, tmp_path / "trace", ranks=2, rank=0)
    assert out == "w: mask 0, not recorded\n"
    assert said == (f"latecomer: LATECOMER_TRACE: rank 0 cannot write a trace of NCCL in "
                    f"'{tmp_path}/trace' (it holds a trace already; name another folder)\n")  # fmt: skip
    out, said = run(script, tmp_path / "none" / "trace", ranks=2, rank=0)
    assert out == "w: mask 0, not recorded\n"
    assert "No such file or directory" in said


def test_the_file_is_bounded_and_what_is_missing_is_told(tmp_path):
    script = list(words_of(1500).script())
    _, said = run(script, tmp_path / "%r", ranks=2, rank=0, LATECOMER_TRACE_BYTES="64KiB")
    missing = 1500 - len(sequences(tmp_path / "0")[0])
    assert missing > 400
    assert said == (f"latecomer: not in the trace: {missing} of NCCL's calls, since its file is "
                    "full: set LATECOMER_TRACE_BYTES to more\n")  # fmt: skip
    _, said = run(script, tmp_path / "b", ranks=2, rank=0, LATECOMER_TRACE_BYTES="7")
    assert said == ("latecomer: LATECOMER_TRACE_BYTES is not used: bytes: '7' is not usable; right "
                    "would be a size from 64KiB to 4GiB\n")  # fmt: skip
    assert sequences(tmp_path / "b") == {0: list(range(1500))}


def test_calls_that_the_device_does_not_finish_are_left_out_alone(tmp_path):
    """Those of which one channel is missing stay; others are counted, and hold nobody up for long."""
    own = words_of(300, lost={0, 5, 299})
    own.add(Op("w", "AllReduce", 4.1, 4.2, 300), lost=(0,))
    own.add(Op("w", "Send", 4.3, 4.4, peer=1), lost=(0, 1))
    _, said = run(own.script(), tmp_path / "trace", ranks=2, rank=0)
    assert said == untimed(4)
    assert sequences(tmp_path / "trace") == {0: sorted(set(range(301)) - {0, 5, 299})}


def test_what_is_told_late_or_takes_long_is_kept(tmp_path):
    """A stop that is told behind that of the next kernel; a message beside many others."""
    own = words_of(3, ranks=3)
    own.add(Op("w", "AllReduce", 2.0, 2.1, 3), late=0.3)
    own.add(Op("w", "AllReduce", 2.2, 2.3, 4))
    for peer in [1] + 300 * [2]:
        end = 4.5 if peer == 1 else 3.1
        own.add(Op("w", "Send", 3.0, end, peer=peer, group="all", channels=(0,)))
    own.say(5, "die")
    run(own.script(), tmp_path / "trace", ranks=3, rank=0)
    assert sequences(tmp_path / "trace") == {0: [0, 1, 2, 3, 4]}
    (file,) = native_file.read([tmp_path / "trace" / "rank-0.trace"], LeftOut())
    lengths = Counter(np.round(1e-9 * (file.messages["end"] - file.messages["begin"]), 6))
    assert lengths == {1.5: 1, 0.1: 300}


def test_a_communicator_may_be_made_again_and_the_plug_in_loaded_again(tmp_path):
    own = words_of(3)
    own.say(2, "finalize w")
    own.say(2.1, "finalize w")
    own.say(2.2, "coll late w AllReduce 1 ncclInt8 2 0")
    own.say(2.3, "unload")
    own.say(2.4, "init w 7 all 2 0")
    own.say(2.5, "kernel old e1 w 0 5")  # of the one before, which is long gone
    own.say(2.5, "done e1c0 5")
    own.say(2.5, "stop e1c0")
    for call in range(2):
        own.add(Op("w", "Reduce", 3 + call, 3.1 + call, call))
    own.say(6, "finalize w")
    assert run(own.script(), tmp_path / "trace", ranks=2, rank=0)[1] == ""
    assert sequences(tmp_path / "trace") == {0: [0, 1, 2], 1: [0, 1]}


def test_times_of_the_host_stand_in_for_those_of_the_device(tmp_path):
    own = words_of(3, stateless=(0, 1), late=0.002)
    run(own.script(), tmp_path / "trace", ranks=2, rank=0)
    (file,) = native_file.read([tmp_path / "trace" / "rank-0.trace"], LeftOut())
    calls = core.match_calls([(numbered(file), 0)], False, 0)
    arrival, leave = calls.times(np.arange(3), np.zeros(1, np.int64))
    np.testing.assert_allclose(leave - arrival, 0.003, atol=1e-8)


def test_a_device_that_is_several_ranks_records_one(tmp_path):
    own = words_of(2, ranks=3)
    own.say(0.2, "init v 7 all 3 1")
    own.add(Op("v", "AllReduce", 1.5, 1.6))
    out, said = run(own.script(), tmp_path / "trace")
    assert out == "w: mask 4167, recorded\nv: mask 4167, not recorded\n"
    assert said == ("latecomer: a device is several ranks of a communicator of NCCL: one of them is "
                    "recorded\n")  # fmt: skip
    assert sequences(tmp_path / "trace") == {0: [0, 1]}


def test_each_device_of_a_process_is_a_rank(tmp_path):
    """Their clocks are apart, and one is always late."""
    rng = np.random.default_rng(3)
    arrival, leave = loop(rng, 4, 40, 2)
    clocks = [Clock.apart(rng) for _ in range(4)]
    all_ranks = looping(arrival, leave, [Clock(clocks[0].host, each.device, each.drift)
                                         for each in clocks])  # fmt: skip
    whole = Process(0, clocks[0])
    for own in all_ranks:
        for time, _, thread, line in own.lines:
            words = [f"{word}of{own.rank}" if word[0] in "weg" and word != "world" else word
                     for word in line.split()[1:]]  # fmt: skip
            if line.startswith("init"):
                whole.say(0.01 * own.rank, "device", own.rank)
            when = 0.01 * own.rank if line.startswith("init") else time
            whole.say(when, line.split()[0], *words, thread=thread)
    out, said = run(whole.script(), tmp_path / "trace", rank=0, ranks=1)
    assert said == ""
    assert out.count("mask 4167, recorded") == 4
    found = analyse(read(tmp_path / "trace"))
    assert not found.trace.remarks
    assert list(facts(found).late) == [2]


def test_a_job_that_hangs_and_dies_shows_who_has_not_come(tmp_path):
    """One rank of four does not begin the last call; then all of them are killed."""
    folder = tmp_path / "trace"
    for rank in range(4):
        own = words_of(5, rank=rank, ranks=4)
        if rank != 2:
            own.say(2.0, "coll last w AllReduce 8 ncclInt8 1 0")
            own.say(2.1, "kernel lastk last w 0", own.clock.of_device(2.1))
        own.say(40, "die")
        assert run(own.script(), folder, ranks=4, rank=rank) == ("w: mask 4167, recorded\n", "")
    remarks = read(folder).remarks
    assert "4 ranks did not reach the end of the program" in remarks
    assert any("ranks 0, 1 and 3 were last seen in allreduce, call 5 of all" in each
               for each in remarks)  # fmt: skip
    assert any("rank 2 was last seen outside of calls" in each for each in remarks)
    view = watched(folder, 40)
    assert view.late == (2,)
    assert view.stuck[0].waits == [0, 1, 3]
    assert "in allreduce, call 5 of all" in view.stuck[0].where


def test_the_watch_names_who_is_late_now(tmp_path):
    rng = np.random.default_rng(6)
    arrival, leave = loop(rng, 4, 400, 2)
    own = looping(arrival, leave, [Clock.apart(rng) for _ in range(4)])
    for each in own:
        each.say(leave.max() + 0.05, "die")
    assert play(tmp_path / "trace", own) == []
    view = watched(tmp_path / "trace", leave.max() + 0.05)
    assert view.late == (2,)
    assert not view.stuck
    assert not view.over


def test_clocks_that_only_messages_connect_are_not_compared(tmp_path, capsys):
    """Nobody knows how long the run took by any clock of all ranks: so nothing is simulated."""
    rng, own = np.random.default_rng(7), []
    for rank, what in enumerate(("Send", "Recv")):
        each = words_of(0, rank=rank)
        each.clock = Clock.apart(rng)
        for call in range(20):
            each.add(Op("w", what, 1 + 0.1 * call, 1.05 + 0.1 * call, peer=1 - rank))
        each.say(4, "finalize w")
        own.append(each)
    assert play(tmp_path / "trace", own) == []
    assert cli.run(["report", str(tmp_path / "trace")]) == 0
    said = capsys.readouterr()
    assert "Nobody is named: the clocks of some ranks are not comparable." in said.out
    assert "How long ranks wait for each other cannot be told." in said.out
    assert "% of the time of all ranks" not in said.out
    assert "What if" not in said.out
    assert "no what-if: the clocks of some ranks are not comparable" in said.err


def watched(folder, seconds):
    """A look at a job, so many seconds after its begin."""
    return Watcher(folder, lambda: 1000.0, lambda: 1e-9 * CALENDAR + seconds).look()


def test_many_threads_at_a_time_lose_nothing(tmp_path):
    folder = tmp_path / "trace"
    subprocess.run([HOST, "threads", PLUGIN, "5", "400"], check=True, timeout=600,
                   env={"LATECOMER_TRACE": str(folder)})  # fmt: skip
    path = folder / "rank-0.trace"
    (file,) = native_file.read([path], left := LeftOut())
    # Two threads may end operations of one communicator in another order than they began them.
    assert all("not after the exit of the call before" in each for each in left.remarks())
    used = int(np.fromfile(path, native_file.HEADER, 1)["used"][0])
    calls = np.fromfile(path, native_file.CALL, used, offset=native_file.HEADER.itemsize)
    calls = calls[calls["kind"] == native_file.A_CALL]
    assert np.bincount(calls["communicator"]).tolist() == [700, 700, 700, 700]
    assert len(file.comms) == 4
    assert len(file.messages) == 400


def test_a_folder_of_one_rank_of_a_job_is_read(tmp_path):
    """Members of which no file tells are ranks without one."""
    run(words_of(3, ranks=4, rank=1).script(), tmp_path / "trace", ranks=4, rank=3)
    trace = read(tmp_path / "trace")
    assert trace.remarks[0] == "no file of ranks 0, 1 and 2, of 4 ranks"
    assert trace.groups[0].members.tolist() == [0, 3, 1, 2]


@pytest.mark.parametrize("launcher", [
    {"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4"}, {"PMI_RANK": "2", "PMI_SIZE": "4"},
    {"SLURM_PROCID": "2", "SLURM_NTASKS": "4"},
    {"RANK": "2", "WORLD_SIZE": "4", "SLURM_PROCID": "0", "SLURM_NTASKS": "4"},
    {"RANK": "x", "WORLD_SIZE": "4", "SLURM_PROCID": "2", "SLURM_NTASKS": "4"},
    {"RANK": "0", "WORLD_SIZE": "1"}, {"RANK": "7", "WORLD_SIZE": "4"}, {},
])  # fmt: skip
def test_the_launcher_says_the_rank_else_the_first_communicator(tmp_path, launcher):
    run(words_of(1, ranks=4, rank=2).script(), tmp_path / "trace", **launcher)
    assert [path.name for path in (tmp_path / "trace").iterdir()] == ["rank-2.trace"]
