"""Who is late in a job that runs, from made-up files as they grow."""

import os
import socket
import subprocess

import numpy as np
import pytest
from latecomer.report.analysis.cut import analysed
from latecomer.report.analysis.facts import facts
from latecomer.report.trace import Words, tail
from latecomer.report.trace import native_file as native
from latecomer.report.trace.model import TraceError
from latecomer.report.watch import late
from latecomer.report.watch.sentences import sentence, stuck_lines, value
from latecomer.report.watch.watcher import Watcher
from trace_helpers import Files, group_of, trace_of
from watch_helpers import Job, loop, steps

SEEDS = range(2)
WITHIN_S = 15.0  # somebody is named after the lateness began
MORE_S = 0.02  # that a late rank computes longer in a step


def late_job(folder, seed, spans, *, seconds=50, ranks=4):
    """A job in which ranks are late in spans of steps: (rank, first, last)."""
    work = steps(np.random.default_rng(seed), seconds, ranks)
    for rank, first, last in spans:
        work[first:last, rank] += MORE_S
    return Job(folder, *loop(work))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("ranks", [2, 4])
def test_a_late_rank_is_named_soon_and_no_other_ever(tmp_path, seed, ranks):
    job = late_job(tmp_path / "trace", seed, [(1, 700, 1100)], ranks=ranks)
    begin, end = job.arrival[700].min(), job.leave[1099].max()
    with job.watcher() as watcher:
        views = {now: job.look(watcher, now) for now in np.arange(1.0, job.leave.max(), 1.0)}
    named = [now for now, view in views.items() if view.late]
    print("seed", seed, "late from", begin, "to", end, "named", named)
    assert {view.late for view in views.values()} == {(), (1,)}
    assert begin < named[0] <= begin + WITHIN_S
    assert named[-1] <= end + late.OVER * late.BLOCK_S + 1
    (time,) = list(views.values())[-1].times
    assert time.begin - Files.STARTED == pytest.approx(begin, abs=1.0)
    assert time.last - Files.STARTED == pytest.approx(end, abs=1.0)
    assert sentence(views[named[-1]]).startswith("Rank 1 on host node1 is late, for ")
    assert "Rank 1 is no longer late" in sentence(views[named[-1] + 1])


def test_it_is_said_that_it_is_too_early(tmp_path):
    job = late_job(tmp_path / "trace", 1, [(1, 0, 400)], seconds=10)
    with job.watcher() as watcher:
        view = job.look(watcher, 1.0)
    assert facts(view.seen.found).late == [1]
    assert not view.late
    assert sentence(view).startswith("Too early to tell who is late: ")


def test_the_same_rank_again_and_another_one(tmp_path):
    spans = [(1, 300, 800), (2, 1200, 1700), (1, 2100, 2600)]
    job = late_job(tmp_path / "trace", 1, spans, seconds=90)
    with job.watcher() as watcher:
        views = [job.look(watcher, now) for now in np.arange(1.0, job.leave.max(), 1.0)]
    who = [view.late for view in views if view.late]
    assert list(dict.fromkeys(who)) == [(1,), (2,)]
    assert [time.late for time in views[-1].times] == [(1,), (2,), (1,)]
    last = [view for view in views if view.late][-1]
    assert len(last.before) == 1
    assert ", and once before, last at " in sentence(last)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["exponential", "spikes"])
@pytest.mark.parametrize("ranks", [2, 4, 16])
def test_nobody_is_named_in_a_healthy_job(kind, ranks, seed):
    """Each second of two minutes. By the report's rule alone somebody would be, with spikes."""
    print("seed", seed)
    rng = np.random.default_rng(seed)
    work = steps(rng, 120, ranks)
    if kind == "spikes":
        work += (rng.random(work.shape) < 0.01) * rng.exponential(0.05, work.shape)
    arrival, leave = loop(work)
    words, by_rule = Words(), 0
    for end in np.arange(10.0, leave.max(), 1.0):
        part = slice(*np.searchsorted(leave[:, 0], [end - 10, end]))
        group = group_of(arrival[part], leave[part], words)
        found = analysed(trace_of([group], words, hosts=["node"] * ranks), skip=0)
        by_rule += bool(facts(found).late)
        seen = late.now(found)
        assert not seen.facts.late
        assert not seen.was
    print("the report's rule alone named somebody", by_rule, "times")
    assert by_rule or kind != "spikes" or ranks == 16


@pytest.mark.parametrize("seed", SEEDS)
def test_many_looks_see_what_a_single_one_does(tmp_path, seed):
    print("seed", seed)
    job = late_job(tmp_path / "trace", seed, [(3, 400, 900)], seconds=30)
    rng = np.random.default_rng(seed)
    with job.watcher() as watcher:
        for now in np.sort(rng.uniform(1.0, job.leave.max(), 6)):
            view = job.look(watcher, now)
            with Watcher(job.folder, lambda: 0.0, lambda: Files.STARTED + job.time) as fresh:
                other = fresh.look()
            assert view.now.caused == other.now.caused
            assert view.now.waits == other.now.waits
            assert view.late == other.late


# ---- calls that do not end


def hanging(tmp_path):
    """Three ranks wait since second 3.02, the first one computes since 3.00; looked at at 20."""
    job = late_job(tmp_path / "trace", 1, [], seconds=10)
    step = int(np.searchsorted(job.arrival.max(axis=1), 3.0))
    job.arrival[step:, 0] = job.arrival[step + 1 :] = job.leave[step:] = 100.0
    return job, step


def test_a_rank_that_does_not_come_is_named(tmp_path):
    job, step = hanging(tmp_path)
    with job.watcher() as watcher:
        assert not job.look(watcher, 5.0).stuck
        view = job.look(watcher, 20.0)
    assert view.late == (0,)
    assert view.now is None
    assert sentence(view) == (
        f"Rank 0 on host node0 has not come: ranks 1, 2 and 3 wait for 17 s, in allreduce, call "
        f"{step} of MPI_COMM_WORLD."
    )
    assert list(stuck_lines(view)) == [
        f"ranks 1, 2 and 3: for 17 s in allreduce, call {step} of MPI_COMM_WORLD",
        "  not come: rank 0 on node0, outside of collectives, for 17 s",
    ]


def test_a_call_that_all_came_to_is_nobodys_lateness(tmp_path):
    job, step = hanging(tmp_path)
    job.arrival[step:, 0] = 3.5
    with job.watcher() as watcher:
        view = job.look(watcher, 20.0)
    assert view.late == ()
    assert sentence(view).endswith(f"call {step} of MPI_COMM_WORLD, to which all have come.")


@pytest.mark.parametrize(("left", "late"), [(399, (0,)), (400, ())])
def test_where_files_are_full_the_status_tells_who_has_left_the_call(left, late, tmp_path):
    job, step = hanging(tmp_path)
    with job.watcher() as watcher:
        job.look(watcher, 20.0)
        for rank in range(4):
            path = job.folder / f"rank-{rank}.trace"
            raw = bytearray(path.read_bytes())
            header = np.frombuffer(raw, native.HEADER, 1)
            header["doing_sequence"] = step + (400 if rank else left)
            path.write_bytes(raw)
        view = watcher.look()
    assert view.late == late
    assert view.stuck[0].all_came is (not late)


def test_a_rank_that_waits_elsewhere_is_not_named(tmp_path):
    job, _ = hanging(tmp_path)
    with job.watcher() as watcher:
        job.look(watcher, 20.0)
        path = job.folder / "rank-0.trace"
        raw = bytearray(path.read_bytes())
        header = np.frombuffer(raw, native.HEADER, 1)
        header["doing"], header["doing_peer"], header["doing_sequence"] = 2, 3, 7
        header["doing_what"] = native.WHAT.index("receive")
        path.write_bytes(raw)
        view = watcher.look()
    assert view.late == ()
    assert len(view.stuck) == 2
    where = "in a receive from rank 3 of its communicator, tag 7"
    assert f"  not come: rank 0 on node0, {where}, for 17 s" in list(stuck_lines(view))


def test_a_wrong_calendar_makes_no_hang_where_the_rank_is_seen_to_move(tmp_path):
    job = late_job(tmp_path / "trace", 1, [], seconds=10)
    with job.watcher() as watcher:
        watcher._calendar = lambda: Files.STARTED + job.time + 3600
        views = [job.look(watcher, now) for now in (4.0, 4.5, 5.0)]
    assert views[0].stuck  # nothing tells yet that it is not so old
    assert not views[1].stuck
    assert not views[2].stuck


def test_a_hang_is_seen_as_long_as_it_is_watched_whatever_calendars_say(tmp_path):
    job, _ = hanging(tmp_path)
    with job.watcher() as watcher:
        watcher._calendar = lambda: Files.STARTED + job.time - 3600
        views = [job.look(watcher, now) for now in (4.0, 9.0, 14.0, 15.0)]
    assert [bool(view.stuck) for view in views] == [False, False, True, True]
    assert [view.stuck[0].seconds for view in views[2:]] == [10.0, 11.0]


# ---- files


def test_files_may_come_late_and_end(tmp_path):
    job = late_job(tmp_path / "trace", 1, [], seconds=10)
    for path in job.whole:
        path.unlink()
    with Watcher(tmp_path / "nowhere") as watcher:
        assert sentence(watcher.look()) == "No rank has begun to write its trace."
    with job.watcher() as watcher:
        assert watcher.look().seen.ranks == 0
        for rank in (0, 2):
            job.show(rank, list(job.whole)[rank], 1.0)
        assert sentence(watcher.look()) == (
            "The files of 2 of 4 ranks are there; not yet: ranks 1 and 3."
        )
        assert job.look(watcher, 5.0).now
        view = job.look(watcher, 6.0, ended=True)
    assert view.over
    assert sentence(view) == "All 4 ranks have ended."


@pytest.mark.parametrize(("removed", "ranks"), [(True, 4), (True, 2), (False, 3)])
def test_a_new_run_in_the_same_folder_begins_anew(tmp_path, removed, ranks):
    """It may be of fewer ranks, and the other files of the old one may stay."""
    job = late_job(tmp_path / "trace", 1, [(1, 0, 400)], seconds=10)
    with job.watcher() as watcher:
        for now in (6.0, 8.0):
            view = job.look(watcher, now)
        assert view.times
        if removed:
            for path in job.whole:
                path.unlink()
            assert watcher.look().seen.ranks == 0
        other = late_job(tmp_path / "other", 2, [], seconds=10, ranks=ranks)
        other.at(4.0)
        for path in other.whole:
            path.rename(job.folder / path.name)
        view = watcher.look()
    assert view.now
    assert not view.times
    assert value(view)["ranks"] == view.seen.ranks == ranks == len(view.now.waits)


@pytest.mark.parametrize("ranks", [3, 4])
def test_of_several_runs_in_folders_the_last_one_is_watched(tmp_path, ranks):
    """Its folder has not the last name, and its files may not all be there."""
    old = late_job(tmp_path / "without-1", 1, [], seconds=10)
    old.at(8.0, ended=True)
    job = late_job(tmp_path / "control-1", 2, [(1, 0, 400)], seconds=10, ranks=ranks)
    for path in job.whole:
        raw = bytearray(job.whole[path])
        np.frombuffer(raw, native.HEADER, 1)["real"] += 60 * 10**9
        job.whole[path] = bytes(raw)
        path.unlink()
    with Watcher(tmp_path, lambda: 70.0, lambda: Files.STARTED + 68) as watcher:
        assert watcher.look().over
        job.show(0, next(iter(job.whole)), 8.0)
        view = watcher.look()
        assert not view.over
        assert (view.seen.there, view.seen.ranks) == ([0], ranks)
        job.at(8.0)
        view = watcher.look()
    assert (view.seen.ranks, view.over, view.late) == (ranks, False, (1,))


def test_files_of_a_run_lie_in_one_folder_a_node(tmp_path):
    job = late_job(tmp_path / "trace", 1, [(1, 0, 400)], seconds=10)
    job.at(8.0)
    for rank, path in enumerate(job.whole):
        folder = tmp_path / "nodes" / f"node{rank // 2}"
        folder.mkdir(parents=True, exist_ok=True)
        path.rename(folder / path.name)
    with Watcher(tmp_path / "nodes", lambda: 10.0, lambda: Files.STARTED + 8) as watcher:
        assert watcher.look().late == (1,)


@pytest.mark.parametrize("keep", [0, 100, 256, 4096])
def test_a_file_that_is_cut_is_read_as_far_as_it_goes(tmp_path, keep):
    job = late_job(tmp_path / "trace", 1, [], seconds=10)
    with job.watcher() as watcher:
        job.look(watcher, 8.0)
        path = job.folder / "rank-1.trace"
        path.write_bytes(path.read_bytes()[:keep])
        for _ in range(3):
            view = watcher.look()
        assert not view.late
        if keep < native.HEADER.itemsize:
            assert view.seen.missing == [1]
        assert job.look(watcher, 9.0).seen.missing == []
        assert watcher.look().now


def test_memory_is_bounded(tmp_path, monkeypatch):
    from latecomer.report.watch import window

    monkeypatch.setattr(window, "MOST_RECORDS", 400)
    monkeypatch.setattr(window, "LEAST_RECORDS", 8)
    job = late_job(tmp_path / "trace", 1, [(2, 0, 2000)], seconds=30)
    with job.watcher() as watcher:
        for now in range(1, 30, 3):
            view = job.look(watcher, now)
            assert all(len(each.recent) <= 100 for each in view.seen.tails.values())
    assert view.late == (2,)


def test_clocks_that_nothing_compares_name_nobody(tmp_path):
    """It is not known when ranks leave a call that is not known to synchronise."""
    work = steps(np.random.default_rng(1), 20, 3)
    work[:, 1] += MORE_S
    job = Job(tmp_path / "trace", *loop(work), skew_ns=(0, 5 * 10**9, -(10**9)))
    job.whole = {path: raw.replace(b"allreduce", b"allreducx") for path, raw in job.whole.items()}
    with job.watcher() as watcher:
        view = job.look(watcher, 15.0)
    assert view.late == ()
    assert sentence(view) == ("Nobody is named: the clocks of some ranks are not comparable.")


def test_clocks_are_compared_by_the_collectives(tmp_path):
    work = steps(np.random.default_rng(1), 20, 3)
    work[:, 1] += MORE_S
    job = Job(tmp_path / "trace", *loop(work), skew_ns=(0, 5 * 10**9, -(10**9)))
    with job.watcher() as watcher:
        assert job.look(watcher, 15.0).late == (1,)


def test_a_folder_that_cannot_be_read_is_an_error(tmp_path, monkeypatch):
    def refused(folder):
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr(type(tmp_path), "iterdir", refused)
    with Watcher(tmp_path) as watcher, pytest.raises(TraceError, match="folder that you may read"):
        watcher.look()


def of_this_host(job, ranks, pid):
    """These ranks are processes of this host."""
    for rank, path in enumerate(job.whole):
        raw = bytearray(job.whole[path])
        header = np.frombuffer(raw, native.HEADER, 1)
        if rank in ranks:
            header["host"], header["pid"] = socket.gethostname().encode(), pid
        job.whole[path] = bytes(raw)


def ended_process():
    child = subprocess.Popen(["true"])
    child.wait()
    return child.pid


def test_the_watch_ends_with_a_job_that_was_killed(tmp_path):
    job, _ = hanging(tmp_path)
    of_this_host(job, range(4), ended_process())
    with job.watcher() as watcher:
        assert not job.look(watcher, 5.0).over
        view = job.look(watcher, 20.0)
    assert view.over
    assert sentence(view) == ("The processes of ranks 0, 1, 2 and 3 are gone, before the end of the "
                              "program; no other rank goes on.")  # fmt: skip


@pytest.mark.parametrize(("pid", "gone"), [
    (ended_process, True), (os.getpid, False), (lambda: 1 << 40, False),
])  # fmt: skip
def test_a_rank_that_is_gone_is_said_to_be(tmp_path, pid, gone):
    job, _ = hanging(tmp_path)
    of_this_host(job, [0], pid())
    with job.watcher() as watcher:
        view = job.look(watcher, 20.0)
    assert view.late == (0,)
    (absent,) = view.stuck[0].absent
    assert absent.gone is gone
    assert (
        any("its process is gone, last seen outside" in each for each in stuck_lines(view)) == gone
    )


def of_late_host(folder):
    """A job of two hosts, whose second one's ranks are late by turns."""
    work = steps(np.random.default_rng(1), 20, 12)
    slow = np.random.default_rng(2).permuted(np.tile([0.02, 0.018, 0.016, 0.014, 0.012, 0.01],
                                                     (len(work), 1)), axis=1)  # fmt: skip
    work[:, 6:] += slow
    job = Job(folder, *loop(work))
    for rank, path in enumerate(job.whole):
        name = f"node{rank}".encode().ljust(64, b"\0")
        host = f"host{rank // 6}".encode().ljust(64, b"\0")
        job.whole[path] = job.whole[path].replace(name, host)
    return job


def test_a_late_host_is_named_as_one(tmp_path):
    job = of_late_host(tmp_path / "trace")
    with job.watcher() as watcher:
        view = job.look(watcher, 15.0)
    assert view.late == tuple(range(6, 12))
    assert sentence(view).startswith("The 6 ranks on host host1 are late, for more than ")


def test_a_full_file_tells_nothing_of_now(tmp_path):
    job = late_job(tmp_path / "trace", 1, [(1, 0, 900)], seconds=18)
    path = job.folder / "rank-2.trace"
    raw = bytearray(job.whole[path])
    np.frombuffer(raw, native.HEADER, 1)["dropped"] = 5
    job.whole[path] = bytes(raw)
    with job.watcher() as watcher:
        view = job.look(watcher, 15.0)
    assert view.late == ()
    assert sentence(view).startswith("Nobody is named: the files of rank 2 are full")


@pytest.mark.parametrize("junk", [b"junk" * 200, b"x", native.MAGIC + b"\xff" * 600])
def test_a_file_that_is_no_trace_is_named_with_what_is_wrong(tmp_path, junk):
    job = late_job(tmp_path / "trace", 1, [], seconds=5)
    with job.watcher() as watcher:
        path = job.folder / "rank-1.trace"
        del job.whole[path]
        path.write_bytes(junk)
        view = job.look(watcher, 3.0)
        told = sentence(view)
        assert "3 of 4 ranks are there; the file of rank 1 cannot be read, " in told
        assert f"{path}: it" in told
        path.write_bytes(native.MAGIC + bytes(100))  # one that is being written
        assert sentence(job.look(watcher, 3.5)).endswith("not yet: rank 1.")


def test_files_of_another_version_name_nobody_and_say_why(tmp_path):
    job = late_job(tmp_path / "trace", 1, [(1, 0, 900)], seconds=18)
    for path in job.whole:
        raw = bytearray(job.whole[path])
        np.frombuffer(raw, native.HEADER, 1)["version"] = 99
        job.whole[path] = bytes(raw)
    with job.watcher() as watcher:
        view = job.look(watcher, 15.0)
    assert view.late == ()
    assert "Nobody is named: the files cannot be used: " in sentence(view)
    assert "none of 4 (" in sentence(view)


def test_a_status_that_is_being_written_is_no_hang(tmp_path):
    job, _ = hanging(tmp_path)
    with job.watcher() as watcher:
        assert job.look(watcher, 20.0).stuck
        for path in job.whole:
            raw = bytearray(path.read_bytes())
            np.frombuffer(raw, native.HEADER, 1)["turn"] += 1
            path.write_bytes(raw)
        assert not watcher.look().stuck


def test_the_first_look_at_a_long_trace_keeps_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(tail, "_CHUNK", 64)
    job = late_job(tmp_path / "trace", 1, [(2, 0, 2000)], seconds=30)
    with job.watcher() as watcher:
        view = job.look(watcher, 28.0)
        assert all(each.cut and len(each.recent) <= 256 for each in view.seen.tails.values())
    assert view.late == (2,)


def test_of_very_many_communicators_those_in_use_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(tail, "_COMMUNICATORS", 3)
    job = late_job(tmp_path / "trace", 1, [(2, 0, 900)], seconds=18)
    for rank, path in enumerate(job.whole):
        job.whole[path] = with_communicators(job.whole[path], job.files, rank, range(1, 9))
    with job.watcher() as watcher:
        view = job.look(watcher, 15.0)
        for each in view.seen.tails.values():
            assert sorted(each.places()) == [0, 6, 7, 8]
    assert view.late == (2,)


def with_communicators(raw, files, rank, numbers):
    """A file that has records of these communicators, too, before its calls."""
    header = np.frombuffer(raw, native.HEADER, 1).copy()
    more = []
    for number in numbers:
        record = files.communicator(rank)
        record["id"], record["key"] = number, 100 + number
        more.append(record.tobytes())
    header["used"] += len(more)
    return header.tobytes() + b"".join(more) + raw[native.HEADER.itemsize :]
