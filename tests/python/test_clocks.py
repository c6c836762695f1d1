"""Clocks of recordings: whatever tells their offsets, the error that is stated is a bound."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from latecomer.report.analysis.lateness import analyse
from latecomer.report.trace import Words, align, counting, matching, native, read
from latecomer.report.trace import native_file as files
from latecomer.report.trace.calls import Call
from latecomer.report.trace.left_out import LeftOut
from latecomer.report.trace.model import SERVED
from trace_helpers import ZERO, Files, append, arrivals_and_exits, group_of, trace_of

# ---- calls that a rank may leave early


def _sparse(seed, *, kind="alltoallv", size=1 << 20, first=0, served="library"):
    """Calls of three ranks, of which rank 0 leaves some of this kind long before rank 1 comes."""
    rng = np.random.default_rng(seed)
    arrival, leave = arrivals_and_exits(40, 3, seed=seed)
    early = (np.arange(40) % 4 == seed % 4) & (np.arange(40) >= first)
    leave[early, 0] = arrival[early, 0] + 1e-4 * rng.random(early.sum())
    words = Words()
    group = group_of(arrival, leave, words)
    group.collective[early] = words.place(kind)
    group.bytes[early] = size
    group.served[early] = SERVED.index(served)
    return group, words, early


SPARSE = [{}, {"kind": "allreduce", "size": 0}, {"kind": "allgatherv"}, {"kind": "reduce_scatter"},
          {"kind": "allreduce", "served": "failed"}]  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sparse", SPARSE)
def test_calls_that_a_rank_can_leave_early_bound_no_clock(seed, sparse):
    print("seed", seed)
    group, words, early = _sparse(seed, **sparse)
    skew = np.random.default_rng(seed).normal(0, 100, 3)
    moved = replace(group, arrival=group.arrival + skew, exit=group.exit + skew)
    found = align.align([moved], words, [0, 1, 2], {})
    right = align.align([moved.part(np.flatnonzero(~early))], words, [0, 1, 2], {})
    for rank in range(3):
        assert found[rank].offsets == pytest.approx(right[rank].offsets)
        apart = found[rank].apply(moved.arrival[:, rank]) - skew[0] - group.arrival[:, rank]
        assert np.abs(apart).max() <= found[rank].error + 1e-9


@pytest.mark.parametrize("kind", ["alltoallv", "allgatherv", "reduce_scatter"])
def test_such_calls_bound_clocks_that_no_others_connect(kind):
    words = Words()
    arrival, leave = arrivals_and_exits(20, 2)
    skew = np.array([0.0, 5.0])
    dense = group_of(arrival + skew, leave + skew, words, collective=kind)
    found = align.align([dense], words, [0, 1], {})[1]
    assert found.offsets[0] == pytest.approx(-5.0, abs=found.error)
    assert found.error < 0.1


@pytest.mark.parametrize("sparse", SPARSE)
def test_such_calls_contradict_no_clock_and_are_kept(sparse):
    group, words, early = _sparse(0, **sparse)
    left, remarks = LeftOut(), []
    _, said = matching.offsets_of([group], words, [0, 0, 0], range(3), remarks, left)
    assert (said, remarks, left.remarks()) == ("all ranks read the clock of one host", [], [])
    assert np.isfinite(group.arrival[early]).all()


@pytest.mark.parametrize("sparse", SPARSE)
def test_who_leaves_before_the_last_one_comes_has_not_waited_for_it(sparse):
    group, words, early = _sparse(1, **sparse)
    found = analyse(trace_of([group.part(np.flatnonzero(early))], words))
    arrival, leave = group.arrival[early], group.exit[early]
    assert (leave[:, 0] < arrival[:, 1]).all()
    there = arrival[:, 2] <= leave[:, 0]
    before = np.clip(arrival[:, 2] - arrival[:, 0], 0, None)[there].sum()
    assert found.ranks.waiting[0] == pytest.approx(before)
    second = np.clip(arrival[:, 1] - arrival[:, 2], 0, None).sum()
    assert found.ranks.cost[1] == pytest.approx(second, rel=0.05)


def test_within_the_error_of_clocks_nobody_has_left_such_a_call_early():
    words, wrong = Words(), 0.008
    arrival, leave = arrivals_and_exits(20, 3)
    arrival[:, 1] += wrong  # its clock is fast: the others seem to leave before it comes
    group = group_of(arrival, leave, words, collective="alltoallv")
    assert (leave[:, 0] < arrival[:, 1]).all()
    waiting = analyse(trace_of([group], words, error=wrong)).ranks.waiting
    assert waiting[0] == pytest.approx((leave - arrival)[:, 0].sum())
    assert analyse(trace_of([group], words)).ranks.waiting[0] < waiting[0] / 10


def test_such_calls_without_numbers_are_matched():
    group, words, _ = _sparse(0, first=28)
    calls = {
        rank: [Call("g", -1, words[kind], int(size), float(came), float(left))
               for kind, size, came, left in zip(group.collective, group.bytes,
                                                 group.arrival[:, rank], group.exit[:, rank],
                                                 strict=True)]
        for rank in range(3)
    }  # fmt: skip
    found = counting.counted("g", calls, dict.fromkeys(range(3), "node"), LeftOut())
    for rank, own in calls.items():
        assert [found[rank][place, 0] for place in range(40)] == own


# ---- clocks that the library compared


def _compared(rng, clock, times, *, error, sharp):
    """Records of comparisons with a clock that `clock` gives by the own one, at these times."""
    return [
        files.Clock(
            communicator=0,
            origin=ZERO + round(1e9 * time),
            offset=clock(time) - time + error * rng.uniform(-1, 1),
            error=error,
            drift=(clock(time + 1) - clock(time) - 1) + sharp * rng.uniform(-1, 1),
            drift_error=sharp,
        )
        for time in times
    ]


def _file(records):
    """What is needed of a file of a rank in communicators whose first rank is rank 0."""
    comms = {each.communicator: SimpleNamespace(members=[0, 1]) for each in records}
    return SimpleNamespace(clocks=records, comms=comms)


@pytest.mark.parametrize("seed", range(12))
def test_the_error_of_compared_clocks_holds_at_all_times(seed):
    print("seed", seed)
    rng = np.random.default_rng(seed)
    rate, ahead = 1 + rng.uniform(-2e-5, 2e-5), rng.uniform(-50, 50)
    begin, end = 0.0, rng.uniform(100, 4000)
    setup = _compared(rng, lambda t: rate * t + ahead, [rng.uniform(0, 2)], error=1e-5, sharp=2e-5)
    times = np.sort(rng.uniform(*np.sort(rng.uniform(begin, end, 2)), rng.integers(1, 40)))
    later = [replace(each, communicator=1) for each in
             _compared(rng, lambda t: rate * t + ahead, times, error=1e-5, sharp=1e-6)]  # fmt: skip
    known = native._known({0: _file([]), 1: _file(setup + later)}, [0, 1], ZERO,
                          {0: (begin, end), 1: (begin, end)})  # fmt: skip
    when = np.linspace(begin, end, 1000)
    off = np.abs(known[1].apply(when) - (rate * when + ahead))
    assert off.max() <= known[1].error
    away = max(times[0] - begin, end - times[-1])
    assert known[1].error < 2e-5 + 2e-6 * away + 1e-6 * np.diff(times).max(initial=0)


def test_a_clock_is_told_by_those_between_with_the_least_error():
    rng = np.random.default_rng(5)
    good, bad = {"error": 1e-6, "sharp": 1e-8}, {"error": 1e-3, "sharp": 2e-5}
    direct = _compared(rng, lambda t: t + 7, [1.0], **bad)
    there = [replace(each, communicator=1) for each in
             _compared(rng, lambda t: t + 2, [1.0], **good)]  # fmt: skip
    between = _compared(rng, lambda t: t + 5, [1.0], **good)
    last = SimpleNamespace(clocks=direct + there, comms={
        0: SimpleNamespace(members=[0, 2]), 1: SimpleNamespace(members=[1, 2])})  # fmt: skip
    known = native._known({0: _file([]), 1: _file(between), 2: last}, [0, 1, 2], ZERO,
                          dict.fromkeys(range(3), (0.0, 100.0)))  # fmt: skip
    assert known[2].offsets == pytest.approx(7.0, abs=5e-6)
    assert known[2].error < 1e-5


def test_the_drift_that_a_file_tells_is_followed_to_the_last_call(tmp_path):
    arrival, leave = (each * 1000 for each in arrivals_and_exits(60, 2))  # over an hour
    rate = 1 + 8e-6
    own = [np.stack([times[:, 0], times[:, 1] * rate], axis=1) for times in (arrival, leave)]
    folder = Files(2, skew_ns=[0, 1]).write(tmp_path / "t", *own)
    record = np.zeros(1, files.CLOCK)
    record["kind"], record["origin"], record["error"] = files.A_CLOCK, ZERO + 10**9, 1e-6
    record["offset"], record["drift"], record["drift_error"] = 1 / rate - 1, 1 / rate - 1, 1e-8
    append(folder / "rank-1.trace", record)
    trace = read(folder)
    off = np.abs(trace.groups[0].arrival - arrival).max()
    assert off <= trace.clock_error[1] < 1e-4


@pytest.mark.parametrize("field", ["drift", "drift_error"])
@pytest.mark.parametrize("value", [-1.0, 0.5, 1e300, np.nan])
def test_a_drift_that_no_clock_has_is_left_out(tmp_path, field, value):
    folder = Files(2, skew_ns=[0, 1]).write(tmp_path / "t", *arrivals_and_exits(12, 2))
    record = np.zeros(1, files.CLOCK)
    record["kind"], record["origin"], record[field] = files.A_CLOCK, ZERO, value
    append(folder / "rank-1.trace", record)
    trace = read(folder)
    assert trace.clock == "clocks were aligned by the collectives themselves"
    assert any("comparisons of clocks that are wrong" in each for each in trace.remarks)


# ---- clocks that calls tell


@pytest.mark.parametrize("seed", range(6))
def test_the_error_holds_long_after_the_calls_that_tell(seed):
    print("seed", seed)
    rng = np.random.default_rng(seed)
    words = Words()
    rates, hours = 1 + rng.uniform(-5e-5, 5e-5, 3), 7200.0
    start = group_of(rng.random((1, 3)) / 100, np.full((1, 3), 0.02), words, collective="barrier")
    came = np.arange(36.0, hours, 36.0)[:, None] + rng.random((199, 2)) / 1000
    left = came.max(axis=1, keepdims=True) + 5e-4 * (1 + rng.random((199, 2)))
    pair = group_of(came, left, words, name="pair", members=[1, 2])
    whole = group_of(np.full((1, 3), hours), np.full((1, 3), hours + 1), words, collective="bcast")
    true = [start, pair, whole]
    groups = [replace(group, arrival=group.arrival * rates[group.members],
                      exit=group.exit * rates[group.members]) for group in true]  # fmt: skip
    offsets = align.align(groups, words, [0, 1, 2], {})
    found = [align.apply(group, offsets) for group in groups]
    for rank in (1, 2):
        for own, right in zip(found, true, strict=True):
            off = own.arrival[:, own.members == rank] - right.arrival[:, own.members == rank]
            assert np.abs(off + right.arrival[:, own.members == rank] * (1 - rates[0])).max() < (
                offsets[rank].error
            )
    apart = np.diff(found[1].arrival, axis=1) - np.diff(came, axis=1)
    assert np.abs(apart).max() < 0.08  # 1e-4 seconds a second, over two windows at most


@pytest.mark.parametrize("seed", range(6))
def test_errors_add_up_along_clocks(seed):
    print("seed", seed)
    rng = np.random.default_rng(seed)
    words = Words()
    came, left = arrivals_and_exits(20, 2, late=1, seed=seed)
    first = group_of(came, left, words, members=[0, 1])
    came = np.arange(20.0)[:, None] + rng.random((20, 2)) / 1000
    left = np.repeat(came.max(axis=1, keepdims=True) + 1e-4, 2, axis=1)
    second = group_of(came, left, words, members=[1, 2])
    offsets = align.align([first, second], words, [0, 1, 2], {})
    for rank in (1, 2):
        assert np.abs(offsets[rank].offsets).max() <= offsets[rank].error


def test_a_clock_that_is_known_roughly_is_told_by_calls():
    words = Words()
    group = group_of(*arrivals_and_exits(20, 2), words)
    rough = {0: align.constant(0.0), 1: align.constant(0.5, 0.7)}
    found = align.align([group], words, [0, 1], rough)[1]
    assert np.abs(found.offsets).max() <= found.error < 0.1
    well = rough | {1: align.constant(1e-5, 2e-5)}
    assert align.align([group], words, [0, 1], well)[1] is well[1]


class FailsOnRank1(Files):
    """A call has failed on rank 1, and is a watched one on the others."""

    def call(self, rank, sequence, arrival, leave, size):
        record = super().call(rank, sequence, arrival, leave, size)
        if sequence == 7:
            record["served"] = SERVED.index("failed" if rank == 1 else "not handled")
        return record


def test_a_call_that_failed_on_some_rank_bounds_no_clock(tmp_path):
    arrival, leave = arrivals_and_exits(20, 3)
    leave[7, 1] = arrival[7, 1] + 1e-6  # it has waited for nobody
    skews = [0, 5_000_000_000, -3_000_000_000]
    trace = read(FailsOnRank1(3, skew_ns=skews).write(tmp_path / "trace", arrival, leave))
    (group,) = trace.groups
    assert SERVED[group.served[7]] == "failed"
    found, _ = group.times()
    apart = (found - found[:, :1]) - (arrival - arrival[:, :1])
    assert np.abs(apart).max() <= max(trace.clock_error) + 1e-9
    assert trace.remarks == []
