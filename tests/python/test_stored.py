"""Times that stay in files, and large traces by some of their stretches."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from latecomer.base.errors import UserError
from latecomer.report.analysis import sample
from latecomer.report.analysis.cut import analysed
from latecomer.report.analysis.facts import facts
from latecomer.report.analysis.graph import graph_of
from latecomer.report.analysis.origin import origin
from latecomer.report.trace import UNKNOWN, Words, read
from latecomer.report.trace import native_file as native
from latecomer.report.trace.model import Messages, Others, Probes, Side
from trace_helpers import Files, arrivals_and_exits, group_of, trace_of

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "evidence"))

from played import Played


def interleaved(folder, rng, calls, ranks):
    """Files with messages among the calls, in any order; some calls are missing. The times."""
    arrival, leave = (np.round(each, 9) for each in arrivals_and_exits(calls, ranks))
    files = Files(ranks)
    files.write(folder, arrival, leave)
    for rank in range(ranks):
        path = folder / f"rank-{rank}.trace"
        raw = path.read_bytes()
        records = np.frombuffer(raw, np.uint8, offset=native.HEADER.itemsize).reshape(-1, 64)
        others = records[records[:, 0] != native.A_CALL]
        made = records[records[:, 0] == native.A_CALL]
        missing = rng.random(calls) < rng.choice([0.0, 0.3])
        arrival[missing, rank] = leave[missing, rank] = np.nan
        made = made[~missing]
        messages = [np.frombuffer(files.message(rank, at).tobytes(), np.uint8)
                    for at in range(int(rng.integers(0, 3 * calls)))]  # fmt: skip
        mixed = np.concatenate([made, np.array(messages, np.uint8).reshape(-1, 64)])
        if rng.random() < 0.5:  # as a program writes them they are in the order of their ends
            mixed = rng.permutation(mixed)
        whole = np.concatenate([others, mixed])
        header = np.frombuffer(raw, native.HEADER, 1).copy()
        header["used"] = len(whole)
        path.write_bytes(header.tobytes() + whole.tobytes())
    return arrival, leave


@pytest.mark.parametrize("seed", range(12))
def test_any_calls_of_any_ranks_are_read_as_they_were_written(tmp_path, seed):
    print("seed", seed)
    rng = np.random.default_rng(seed)
    calls, ranks = int(rng.integers(2, 300)), int(rng.integers(2, 20))
    arrival, leave = interleaved(tmp_path / "t", rng, calls, ranks)
    (group,) = read(tmp_path / "t").groups
    known = np.flatnonzero(np.isfinite(arrival).any(axis=1))
    arrival, leave = arrival[known], leave[known]
    assert group.sequence.tolist() == known.tolist()
    assert group.whole().tolist() == np.isfinite(arrival).all(axis=1).tolist()
    for _ in range(20):
        rows = rng.integers(0, len(known), int(rng.integers(0, 9)))
        members = rng.integers(0, ranks, int(rng.integers(0, 5)))
        for found, right in zip(group.times(rows, members), (arrival, leave), strict=True):
            np.testing.assert_allclose(found, right[np.ix_(rows, members)], atol=2e-9)
        part = group.part(rows)
        np.testing.assert_allclose(part.arrival, arrival[rows], atol=2e-9)
        np.testing.assert_allclose(part.exit[:, ranks - 1], leave[rows, ranks - 1], atol=2e-9)
    last = len(known) - 1
    np.testing.assert_allclose(group.arrival[-1], arrival[last], atol=2e-9)
    np.testing.assert_allclose(group.exit[last, 0], leave[last, 0], atol=2e-9)


def test_a_file_that_is_cut_while_it_is_read_is_said(tmp_path):
    folder = Files(2).write(tmp_path / "t", *arrivals_and_exits(20, 2))
    (group,) = read(folder).groups
    path = folder / "rank-1.trace"
    path.write_bytes(path.read_bytes()[:-64])
    with pytest.raises(UserError, match="rank-1.trace.*cut"):
        group.times()


def loop(calls, ranks, seed):
    """A trace of a loop in which rank 1 computes three times as long as the others."""
    arrival, leave = arrivals_and_exits(calls, ranks, seed=seed)
    words = Words()
    trace = trace_of([group_of(arrival, leave, words)], words)
    trace.begin[:], trace.end[:] = 0.0, leave[-1]
    return trace


@pytest.mark.parametrize("seed", range(4))
def test_stretches_of_a_loop_stand_for_the_rest(monkeypatch, seed):
    """Its steps are alike: within some of them the figures are those of all."""
    print("seed", seed)
    trace = loop(2000, 4, seed)
    whole = origin(trace)
    monkeypatch.setattr(sample, "MOST", 4000)
    monkeypatch.setattr(sample, "SOME", 1600)
    begun, graph = origin(trace), graph_of(trace)
    assert graph.times == pytest.approx(5.0, rel=0.05)
    assert len(graph.events.rank) <= 1600 + 16 * 4
    for name in ("waiting", "moving", "cost", "excess"):
        one, other = getattr(whole, name), getattr(begun, name)
        np.testing.assert_allclose(other, one, atol=0.05 * one.sum())
    saved = [each.saved(each.without([1])) for each in (graph, whole.graph)]
    assert saved[0] == pytest.approx(saved[1], rel=0.1)


def test_of_a_large_trace_it_is_said_that_stretches_stand_for_the_rest(monkeypatch):
    """Those in which a time is not known are left out."""
    trace = loop(2000, 4, 1)
    came = trace.groups[0].exit[:, :2] + 0.001
    pair = group_of(came, came.max(axis=1, keepdims=True) + np.full((2000, 2), 0.0005), trace.words,
                    name="pair", members=[0, 1])  # fmt: skip
    trace.groups[0].exit[900:1100, 3] = np.nan
    trace = replace(trace, groups=[*trace.groups, pair])
    told = [each for each in facts(analysed(trace, skip=0)).remarks if "The trace is large" in each]
    assert told == []
    monkeypatch.setattr(sample, "MOST", 4000)
    monkeypatch.setattr(sample, "SOME", 1600)
    found = facts(analysed(trace, skip=0))
    (told,) = [each for each in found.remarks if "The trace is large" in each]
    assert re.fullmatch(r"The trace is large: stretches of it stand for the rest, 1\d % of the run\.",
                        told)  # fmt: skip
    assert found.late == [1]


@pytest.mark.parametrize("collectives", [0, 2])
def test_programs_of_messages_are_represented_by_equal_times(collectives, monkeypatch):
    def program(rank):
        for step in range(2000):
            yield ("compute", 0.003 if rank == 1 else 0.001)
            yield ("send", (rank + 1) % 3)
            yield ("receive", (rank + 2) % 3)
            if step % 1999 == 0 and collectives:
                yield ("allreduce",)

    trace = Played([list(program(rank)) for rank in range(3)]).trace()
    assert sum(map(len, trace.groups)) == collectives
    whole = origin(trace)
    monkeypatch.setattr(sample, "MOST", 4000)
    monkeypatch.setattr(sample, "SOME", 2400)
    begun, graph = origin(trace), graph_of(trace)
    assert graph.times == pytest.approx(5.0, rel=0.1)
    for name in ("waiting", "cost", "excess"):
        one, other = getattr(whole, name), getattr(begun, name)
        np.testing.assert_allclose(other, one, atol=0.1 * one.sum())


def test_a_trace_that_is_not_large_is_taken_whole():
    trace = loop(50, 3, 1)
    assert sample.represented(trace) == (trace, 1.0)
    assert analysed(trace).run_seconds > 0


def test_probes_and_other_waits_are_represented_too(monkeypatch):
    """There may be more of them than of all else."""
    count, ranks = 2000, 2
    begin = np.linspace(0, 10, count)
    rank, site = np.arange(count, dtype=np.int32) % ranks, np.zeros(count, np.int32)
    side = Side(rank, begin, begin, begin + 1e-3, site)
    nothing = side.part(slice(0))
    messages = Messages(nothing, nothing, np.zeros(0, np.int64),
                        probes=Probes(side, np.full(count, UNKNOWN)))  # fmt: skip
    others = Others(rank, begin, begin + 1e-3, begin, np.zeros(count, np.uint8))
    monkeypatch.setattr(sample, "MOST", 1500)
    monkeypatch.setattr(sample, "SOME", 400)
    none = trace_of([], Words([""]), ranks=ranks)
    for more in ({"others": others}, {"messages": messages}):
        found, times = sample.represented(replace(none, **more))
        assert times == pytest.approx(count / 400, rel=0.01)
        left = len(found.others) if found.others else len(found.messages.probes.message)
        assert 0.7 * 400 < left <= 400


def test_messages_of_the_stretches_keep_their_calls(tmp_path, monkeypatch):
    """Both sides of a message are in one stretch, and their times move with it."""
    ranks, calls = 2, 400
    arrival, leave = arrivals_and_exits(calls, ranks)
    files = Files(ranks)
    folder = files.write(tmp_path / "t", arrival, leave)
    for rank in range(ranks):
        path = folder / f"rank-{rank}.trace"
        raw = bytearray(path.read_bytes())
        for at in range(1, calls):
            begin = float(leave[at - 1].max()) + 0.001
            message = files.message(rank, at, what=4 * rank, peer=1 - rank, begin=begin, took=0.001)
            raw += message.tobytes()
        header = np.frombuffer(raw, native.HEADER, 1)
        header["used"] += calls - 1
        header["messages"] = 1
        del header
        path.write_bytes(raw)
    trace = read(folder)
    assert len(trace.messages) == calls - 1
    monkeypatch.setattr(sample, "MOST", 100)
    monkeypatch.setattr(sample, "SOME", 640)
    found, times = sample.represented(trace)
    (group,) = found.groups
    assert 0 < len(found.messages) < calls / 2
    assert times > 2
    assert (np.diff(group.arrival, axis=0) > 0).all()
    assert found.end.max() < trace.end.max() / 2
    for side in (found.messages.send, found.messages.receive):
        before = np.searchsorted(group.exit.max(axis=1), side.posted)
        assert (side.end <= group.arrival[before].min(axis=1) + 1e-9).all()
