"""Ranks that are stopped inside MPI look as if they moved data: the report says so."""

import numpy as np
import pytest
from latecomer.report.analysis.answer import answer
from latecomer.report.analysis.cut import analysed
from latecomer.report.analysis.graph import graph_of
from latecomer.report.analysis.stopped import stopped
from latecomer.report.trace import Words
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
    assert "6 calls that take 10 times as long as others like them, most of it by rank 2: stopped " \
        "inside MPI, it seems." in " ".join(said.split())  # fmt: skip
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
