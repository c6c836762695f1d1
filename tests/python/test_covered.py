"""A rank in two calls at once, as on two streams of a device: that time counts once."""

import numpy as np
import pytest
from latecomer.report.analysis.cut import analysed
from latecomer.report.analysis.facts import facts
from latecomer.report.analysis.lateness import analyse
from latecomer.report.trace import Words
from trace_helpers import arrivals_and_exits, group_of, trace_of


def _both(shift, *, first=0):
    """A group's calls, and the same ones in another group so many seconds later."""
    words = Words()
    arrival, leave = arrivals_and_exits(40, 4)
    groups = [group_of(arrival, leave, words),
              group_of(arrival[first:] + shift, leave[first:] + shift, words, name="two")]  # fmt: skip
    return trace_of(groups[:1], words), trace_of(groups, words)


def test_the_same_calls_twice_are_the_same_shares():
    one, two = (analyse(trace) for trace in _both(0.0))
    assert two.waiting_share == pytest.approx(one.waiting_share)
    assert two.moving_share == pytest.approx(one.moving_share)
    assert facts(two).waiting == pytest.approx(facts(one).waiting)
    assert facts(two).cost == pytest.approx(facts(one).cost)


@pytest.mark.parametrize("shift", [0.002, 0.01, 0.03])
def test_shares_of_calls_that_overlap_are_those_of_a_fine_clock(shift):
    _, trace = _both(shift)
    found = analyse(trace)
    first, last = trace.span()
    for rank in range(trace.ranks):
        now = np.arange(first[rank], last[rank], 1e-5)
        inside, moves = (np.zeros(len(now), bool) for _ in range(2))
        for group in trace.groups:
            for call in range(len(group)):
                came, left = group.arrival[call], group.exit[call, rank]
                inside |= (now >= came[rank]) & (now < left)
                moves |= (now >= came.max()) & (now < left)
        assert found.ranks.moved[rank] == pytest.approx(1e-5 * moves.sum(), rel=0.01)
        assert found.ranks.waited[rank] == pytest.approx(1e-5 * (inside & ~moves).sum(), rel=0.01)
    assert found.waiting_share + found.moving_share <= 1


def test_without_overlap_the_sums_stay():
    _, trace = _both(100.0)
    ranks = analysed(trace).ranks
    assert ranks.waited is ranks.waiting
    assert ranks.moved is ranks.moving
    assert ranks.charged is ranks.cost
