"""Single times that cannot be right, and ranks without a file: the rest of the trace stays."""

import sqlite3
from contextlib import closing
from itertools import combinations, pairwise

import flight_helpers
import nsight_helpers
import numpy as np
import pytest
from kineto_helpers import remark
from latecomer.report.analysis.answer import answer_of, facts
from latecomer.report.analysis.lateness import analyse
from latecomer.report.analysis.page import page
from latecomer.report.trace import TraceError, Words, read
from latecomer.report.trace.about import About
from latecomer.report.trace.contradictions import FEW, contradicting
from table_helpers import rows_of, table, written_as
from trace_helpers import arrivals_and_exits, group_of, trace_of

CALLS, RANKS, LATE = 20, 4, 1
ODD = "contradict the rank's calls before and after them"


def rows(call, rank, **times):
    """A job on one host of which one row has other times."""
    found = [row | {"host": "n0"} for row in rows_of(CALLS, RANKS)]
    found[call * RANKS + rank] |= times
    return found


def check(trace, calls=CALLS - 1):
    found = analyse(trace)
    assert found.ranks.calls.tolist() == [calls] * trace.ranks
    assert found.ranks.last.argmax() == LATE
    assert found.run_seconds < 10


# ---- calls of a rank follow each other


@pytest.mark.parametrize("seed", range(20))
def test_as_few_calls_as_possible_are_left_out(seed):
    print("seed", seed)
    rng = np.random.default_rng(seed)
    arrival = np.arange(20.0)
    leave = arrival + 0.5
    for at in rng.choice(20, 2, replace=False):
        times = (arrival, leave) if rng.random() < 0.5 else (leave,)
        for each in times:
            each[at] += rng.uniform(0, 30)
    odd = contradicting(arrival, leave)

    def follow(places):
        return all(arrival[one] <= arrival[other] and leave[one] <= arrival[other] + 1e-4
                   for one, other in pairwise(places))  # fmt: skip

    assert follow(np.setdiff1d(range(20), odd))
    fewer = (each for count in range(len(odd)) for each in combinations(range(20), count))
    assert not any(follow(np.setdiff1d(range(20), each)) for each in fewer)


def test_where_many_calls_overlap_none_is_left_out():
    arrival = np.arange(40.0)
    leave = arrival + np.where(np.arange(40) % 4, 0.5, 1.5)
    assert not len(contradicting(arrival, leave))
    few = arrival + np.where(np.arange(40) % int(2 / FEW), 0.5, 1.5)
    assert len(contradicting(arrival, few)) == 2
    assert not len(contradicting(arrival[::-1].copy(), leave))


@pytest.mark.parametrize("times", [{"leave": 1e8}, {"arrive": -1e8}, {"arrive": 0.0}])
def test_a_wrong_time_of_a_table_costs_its_call_alone(tmp_path, times):
    trace = read(table(tmp_path, rows(7, 2, **times)))
    assert "(1)" in remark(trace, ODD)
    check(trace)


@pytest.mark.parametrize("change", ["end = end + 1000000000000", "start = 0"])
def test_a_wrong_time_of_an_export_costs_its_call_alone(tmp_path, change):
    """These have no sequence numbers: a call out of order would shift all others."""
    folder = nsight_helpers.written(tmp_path, *arrivals_and_exits(CALLS, RANKS))
    with closing(sqlite3.connect(folder / "report1.sqlite")) as data, data:
        data.execute(f"UPDATE MPI_COLLECTIVES_EVENTS SET {change} WHERE rowid = 35")
    trace = read(folder)
    assert "(1)" in remark(trace, ODD)
    check(trace)


@pytest.mark.parametrize("created", [1 << 61, 17 * 10**17])
def test_a_wrong_time_of_a_flight_recorder_costs_its_call_alone(tmp_path, created):
    dumps = flight_helpers.job(*arrivals_and_exits(CALLS, RANKS), timed=False)
    dumps[2]["entries"][5]["time_created_ns"] = created
    trace = read(flight_helpers.store(tmp_path, dumps))
    assert "entry 5" in remark(trace, ODD)
    check(trace)


def test_an_end_that_was_seen_before_the_begin_is_none(tmp_path):
    dumps = flight_helpers.job(*arrivals_and_exits(CALLS, RANKS), timed=False)
    dumps[2]["entries"][5]["time_discovered_completed_ns"] = flight_helpers.ZERO
    trace = read(flight_helpers.store(tmp_path, dumps))
    assert "(1)" in remark(trace, "ends of calls, which were seen before")
    check(trace)


def test_a_call_that_ranks_left_before_others_came_is_drawn():
    """As where the error of the clocks is large; NumPy's warnings are errors in tests."""
    arrival, leave = arrivals_and_exits(CALLS, RANKS)
    leave[:, 3] -= 10
    words = Words()
    found = analyse(trace_of([group_of(arrival, leave, words)], words, error=20.0))
    known = facts(found)
    assert page(found, known, answer_of(known), About(), None, {})


# ---- requests and rounded times


def test_a_request_after_the_arrival_is_none(tmp_path):
    found = [row | {"requested": row["arrive"] - 0.001} for row in rows(0, 0)]
    found[30]["requested"] += 60
    found[31]["requested"] = found[31]["arrive"] + 1e-7  # by rounding
    trace = read(table(tmp_path, found))
    assert "(1)" in remark(trace, "requested after they arrived")
    launch = trace.groups[0].launch
    assert np.isnan(launch).sum() == 1
    assert np.nanmin(launch) == 0.0


def test_times_of_32_bits_are_told(tmp_path):
    long_ago = [row | {name: float(np.float32(1.7e9 + row[name])) for name in ("arrive", "leave")}
                for row in rows(0, 0)]  # fmt: skip
    trace = read(table(tmp_path, long_ago))
    assert f"({CALLS * RANKS})" in remark(trace, "rows that leave when they arrive")
    assert not any("leave when" in each for each in read(table(tmp_path, rows(0, 0))).remarks)


def test_whole_seconds_are_in_no_doubt_where_the_column_names_another_unit(tmp_path):
    found = [{"rank": row["rank"], "arrive_ns": 10**9 * (3 * row["sequence"] + row["rank"]),
              "leave_ns": 10**9 * (3 * row["sequence"] + 4)} for row in rows(0, 0)]  # fmt: skip
    assert not any("whole numbers" in each for each in read(table(tmp_path, found)).remarks)


# ---- ranks


def test_without_rank_0_the_clocks_of_the_others_are_compared(tmp_path):
    arrival, leave = arrivals_and_exits(CALLS, RANKS)
    found = [row for row in rows_of(CALLS, RANKS) if row["rank"]]
    folder = nsight_helpers.written(tmp_path / "nsight", arrival, leave, together=False)
    (folder / "rank0.sqlite").unlink()
    for trace in (read(table(tmp_path, found)), read(folder)):
        assert np.isfinite(trace.clock_error[1:]).all()
        assert not any("no call tells the clock" in each for each in trace.remarks)


def test_a_rank_of_one_row_far_beyond_the_others_is_none(tmp_path):
    found = rows(0, 0)
    trace = read(written_as(tmp_path / "calls.csv", [*found, found[0] | {"rank": 77}]))
    assert trace.ranks == RANKS
    assert remark(trace, "too great for 4 ranks: right would be 0, 1, 2 and so on (1)")
    check(trace, CALLS)


def test_ranks_that_are_far_apart_are_refused_with_what_would_be_right(tmp_path):
    found = [row | {"rank": 100 * row["rank"]} for row in rows(0, 0)]
    with pytest.raises(TraceError, match="too great for 4 ranks: right would be 0, 1, 2"):
        read(table(tmp_path, found))
