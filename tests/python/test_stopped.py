"""Ranks that are stopped inside MPI look as if they moved data: the report says so."""

from dataclasses import replace

import numpy as np
import pytest
from latecomer.report.analysis.answer import answer
from latecomer.report.analysis.cut import analysed
from latecomer.report.analysis.graph import graph_of
from latecomer.report.analysis.stopped_ranks import stopped
from latecomer.report.trace import Words
from latecomer.report.trace.model import Messages, Side
from trace_helpers import group_of, trace_of

CALLS, RANKS, STOP = 60, 4, 0.5


def stopping(ranks):
    """A loop in which these ranks leave each tenth call so much later than others."""
    words, clock = Words(), np.zeros(RANKS)
    arrival, leave = np.empty((CALLS, RANKS)), np.empty((CALLS, RANKS))
    for call in range(CALLS):
        arrival[call] = clock + 0.02
        leave[call] = arrival[call].max() + 0.005
        if call % 10 == 9:
            leave[call, list(ranks)] += STOP
        clock = leave[call]
    return trace_of([group_of(arrival, leave, words)], words)


@pytest.mark.parametrize("ranks", [(), (2,), (0, 1, 2, 3)])
def test_the_time_of_stopped_ranks_is_found(ranks):
    found = stopped(graph_of(stopping(ranks)))
    expected = np.zeros(RANKS)
    expected[list(ranks)] = STOP * CALLS / 10
    np.testing.assert_allclose(found.time, expected, atol=1e-9)
    assert found.calls == len(ranks) * CALLS / 10


def test_a_stopped_rank_is_told_and_not_accused():
    said = answer(analysed(stopping([2]))).text()
    assert "6 calls that take 10 times as long as others like them, 100 % of it by rank 2: stopped " \
        "inside them, it seems." in " ".join(said.split())  # fmt: skip
    said = answer(analysed(stopping(range(RANKS)))).text()
    assert "the trace cannot tell which" in " ".join(said.split())
    assert "stopped" not in answer(analysed(stopping([]))).text()


def test_calls_of_other_sizes_are_no_stops():
    words = Words()
    arrival = np.cumsum(np.full((CALLS, RANKS), 1.0), axis=0)
    took = np.where(np.arange(CALLS) % 10 == 9, STOP, 0.005)
    group = group_of(arrival, arrival + took[:, None], words)
    group.bytes[9::10] *= 100
    assert not stopped(graph_of(trace_of([group], words))).time.any()


def test_a_root_that_always_takes_longer_is_not_stopped():
    words = Words()
    arrival = np.cumsum(np.full((CALLS, RANKS), 1.0), axis=0)
    leave = arrival + 0.001
    leave[:, 0] += STOP
    group = group_of(arrival, leave, words, collective="gather", root=0)
    assert not stopped(graph_of(trace_of([group], words))).time.any()


def test_calls_of_which_every_second_is_long_are_no_stops():
    words = Words()
    arrival = np.cumsum(np.full((CALLS, RANKS), 1.0), axis=0)
    leave = arrival + np.where(np.arange(CALLS) % 2 == 1, STOP, 0.005)[:, None]
    assert not stopped(graph_of(trace_of([group_of(arrival, leave, words)], words))).time.any()


def test_calls_of_more_ranks_are_no_stops():
    """All of them at one place: a pair's calls, and few of all ranks."""
    words, groups = Words(), []
    for members, took, calls in (([0, 1], 0.001, CALLS), (range(RANKS), STOP, CALLS // 10)):
        arrival = np.cumsum(np.full((calls, len(members)), CALLS / calls), axis=0)
        groups.append(group_of(arrival + 0.1 * len(members), arrival + 0.1 * len(members) + took,
                               words, members=members))  # fmt: skip
    assert not stopped(graph_of(trace_of(groups, words))).time.any()


@pytest.mark.parametrize("large", [True, False])
def test_long_messages_are_stops_unless_they_are_large(large):
    """One of ten from rank 0 to rank 1 takes long."""
    words = Words()
    begin = np.arange(CALLS, dtype=float)
    long = np.arange(CALLS) % 10 == 9
    sides = [Side(np.full(CALLS, rank, np.int32), begin, begin,
                  begin + np.where(long, STOP, 0.001), np.full(CALLS, words.place("here"), np.int32))
             for rank in (0, 1)]  # fmt: skip
    bytes_of = np.where(long & large, 1 << 30, 1 << 10)
    group = group_of(np.zeros((1, RANKS)), np.zeros((1, RANKS)), words)
    trace = replace(trace_of([group], words), messages=Messages(*sides, bytes_of))
    found = stopped(graph_of(trace))
    assert found.calls == (0 if large else 2 * CALLS / 10)
