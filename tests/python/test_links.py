"""The links between hosts while a job is gone through again: calls find what was left of them."""

from dataclasses import replace

import numpy as np
import pytest
from latecomer.core.compiled import core
from latecomer.core.programs import problem
from latecomer.report.analysis.lateness import analyse
from latecomer.report.analysis.links import Links, Moves
from latecomer.report.analysis.what_if import what_if
from latecomer.report.trace import Words
from latecomer.report.trace.model import Messages, Side
from trace_helpers import group_of, trace_of

RANKS, COUNT, BYTES = 4, 1 << 15, 1 << 17
COSTS = "alpha=50us,beta=40ns,eager=64KiB"
NETWORK = core.Network(f"{COSTS},burst=128KiB")


def played(calls, algorithm, *, exchange):
    """A loop of 1 ms of computation and an all-reduce, in virtual time; `exchange`: each rank sends
    so many bytes to the next one before each call, and computes on meanwhile."""
    plan = core.Plan(problem(ranks=RANKS, count=COUNT), algorithm, network=NETWORK)
    links, clock, arrival, leave, sent = core.LinkBuckets(RANKS), np.zeros(RANKS), [], [], []
    ranks = np.arange(RANKS)
    for _ in range(calls):
        if exchange:
            sent.append(clock)
            links.pass_messages(NETWORK, ranks, (ranks + 1) % RANKS, clock,
                                np.full(RANKS, float(exchange)))  # fmt: skip
        came = clock + 0.001
        call = plan.simulate((came - came.min()).tolist(), links=links, nodes=ranks.tolist(),
                             on_links=came.min())  # fmt: skip
        clock = came.min() + np.array(call["exits"])
        arrival.append(came)
        leave.append(clock)
    words = Words()
    trace = trace_of([group_of(np.array(arrival), np.array(leave), words, size=4 * COUNT,
                               served=1, name="native")], words)  # fmt: skip
    if sent:
        trace = replace(trace, messages=messages_of(np.array(sent), exchange))
    return trace, analyse(trace).run_seconds


def messages_of(sent, size):
    """From each rank to the next, received at once."""
    ranks = np.tile(np.arange(RANKS, dtype=np.int32), len(sent))
    at = sent.reshape(-1)
    site = np.full(len(at), -1, np.int32)
    return Messages(Side(ranks, at, at, at, site),
                    Side((ranks + 1) % RANKS, at, at, at, site),
                    np.full(len(at), size, np.int64))  # fmt: skip


@pytest.mark.parametrize("exchange", [0, 1 << 16])
def test_other_algorithms_find_the_links_that_calls_and_messages_left(exchange):
    runs = {name: played(40, name, exchange=exchange)
            for name in ("ring", "recursive_doubling")}  # fmt: skip
    trace, run = runs["ring"]
    found = what_if(trace, run, network=f"{COSTS},burst=128KiB", known=True, native="ring",
                    seconds=4, only=tuple(runs))  # fmt: skip
    answers = {each.scenario.name: each.replayed.seconds for each in found.answers}
    assert found.simulator_error == pytest.approx(0, abs=0.03)  # the first call is faster
    for name, (_, real) in runs.items():
        assert answers[name] == pytest.approx(real, rel=0.03)
    # At rest before each call, these networks give other times.
    plan = core.Plan(problem(ranks=RANKS, count=COUNT), "ring", network=NETWORK)
    assert 40 * (0.001 + max(plan.simulate()["exits"])) < 0.85 * run


def test_calls_of_two_sizes_in_turn_find_what_each_other_left():
    """Back to back: links are never at rest, so that fits must know the calls before."""
    counts, links, clock = (COUNT, COUNT // 4), core.LinkBuckets(RANKS), np.zeros(RANKS)
    plans = [core.Plan(problem(ranks=RANKS, count=count), "ring", network=NETWORK)
             for count in counts]  # fmt: skip
    arrival, leave = ([], []), ([], [])
    for call in range(60):
        exits = plans[call % 2].simulate((clock - clock.min()).tolist(), links=links,
                                         nodes=list(range(RANKS)), on_links=clock.min())["exits"]  # fmt: skip
        arrival[call % 2].append(clock)
        clock = clock.min() + np.array(exits)
        leave[call % 2].append(clock)
    words = Words()
    trace = trace_of([group_of(np.array(came), np.array(left), words, size=4 * count, served=1,
                               name="native")
                      for came, left, count in zip(arrival, leave, counts, strict=True)], words)  # fmt: skip
    found = what_if(trace, analyse(trace).run_seconds, network=f"{COSTS},burst=128KiB", known=True,
                    native="ring", seconds=4, only=("ring",))  # fmt: skip
    assert found.simulator_error == pytest.approx(0, abs=0.05)


def some_moves(nodes=(0, 1, 2, 3), costs="eager=100,burst=1KiB", size=(100, 101, 101)):
    """A short message, a long one whose receiver comes later, and one whose sender does."""
    site = np.full(3, -1, np.int32)
    send, receive = np.array([1.0, 2.0, 6.0]), np.array([4.0, 5.0, 3.0])
    words = Words()
    trace = trace_of([group_of(np.zeros((1, 4)), np.ones((1, 4)), words)], words)
    messages = Messages(Side(np.array([0, 1, 2], np.int32), send, send, send, site),
                        Side(np.array([3, 2, 0], np.int32), receive, receive, receive, site),
                        np.array(size))  # fmt: skip
    return Moves(replace(trace, messages=messages), list(nodes), core.Network(costs),
                 np.array([1.5, 5.5, 7.0]))  # fmt: skip


def test_long_messages_move_when_both_ranks_have_posted_them():
    moves = some_moves()
    assert moves.at.tolist() == [1.0, 5.0, 6.0]
    assert moves.mover.tolist() == [0, 2, 2]
    assert moves.bounds.tolist() == [0, 1, 2, 3]


def test_messages_within_a_host_and_on_links_without_a_burst_use_nothing_up():
    assert some_moves(nodes=(0, 1, 1, 0)).at.tolist() == [6.0]
    assert some_moves(costs="eager=100").at.tolist() == []


class Recorded:
    """In the place of the core's buckets."""

    def __init__(self):
        self.passed = []

    def pass_messages(self, network, sender, receiver, at, size):
        """As the core's."""
        self.passed += zip(sender.tolist(), receiver.tolist(), at.tolist(), strict=True)


def recorded(**words_of):
    """Links whose clock is that of the trace, and what is passed on them."""
    links = Links(some_moves(**words_of), [0, 1, 2, 3], NETWORK)
    links.began(0.0)
    links.buckets = Recorded()
    return links, links.buckets.passed


def test_each_message_is_passed_once_and_as_much_earlier_as_its_rank():
    links, passed = recorded()
    links.ahead[:] = [0.5, 0.0, 2.0, 0.0]
    links.before(0, 1.0)
    links.before(0, 1.0)
    assert passed == [(0, 3, 0.5)]
    links.before(2, 6.5)
    assert passed[1:] == [(1, 2, 3.0), (2, 0, 4.0)]
    links.before(1, 5.0)
    assert len(passed) == 3


@pytest.mark.parametrize(("passed", "now", "takes"), [(False, 1.0, 0), (True, 1.0, 0.1),
                                                      (True, 1.02, 0.08), (True, 2.0, 0)])  # fmt: skip
def test_messages_before_the_first_call_use_the_burst_up(passed, now, takes):
    """The first message, of 100 bytes, moves from the first to the last host when 1 s is over."""
    network = core.Network("alpha=0us,beta=1ms,eager=1KiB,burst=100")
    plan = core.Plan(problem(ranks=2, count=25, collective="bcast"), "binomial", network=network)
    links = Links(some_moves(), [0, 1, 2, 3], network)
    if passed:
        links.before(0, now)
    call = plan.simulate(on_links=links.began(now), links=links.buckets, nodes=[0, 3])
    assert max(call["exits"]) == pytest.approx(takes)


def test_a_call_that_ended_later_leaves_its_links_later():
    links, _ = recorded()
    assert links.began(5.0) == 5
    links.ended(0.5)
    assert links.began(5.0) == 4.5


def test_a_stretch_begins_at_rest_and_without_the_messages_before_it():
    links, _ = recorded()
    before = links.buckets
    links.ahead[:] = 1.0
    links.rest(0)
    assert links.buckets is before
    links.rest(2)
    assert not links.ahead.any()
    links.began(0.0)
    assert links.buckets is not before
    links.buckets = Recorded()
    links.before(2, 6.5)
    assert links.buckets.passed == [(2, 0, 6.0)]


def test_messages_with_wrong_times_are_left_out():
    links, passed = recorded()
    links.moves.at[0] = -1.7e9
    links.before(2, 6.5)
    assert [each[2] for each in passed] == [5.0, 6.0]


def test_odd_sizes_end_nothing():
    assert some_moves().bytes.tolist() == [100, 101, 101]
    odd = some_moves(size=[1 << 53, -1, 101])
    assert sorted(odd.bytes)[:2] == [0, 101]
    Links(odd, [0, 1, 2, 3], NETWORK).before(2, 6.5)


def test_the_clock_begins_anew_before_it_counts_too_far():
    links, _ = recorded()
    assert links.began(1.7e9) == 0
    before = links.buckets
    assert links.began(1.7e9 + 5) == 5
    assert links.buckets is before
    assert links.began(1.8e9) == 0
    assert links.buckets is not before


def test_columns_and_nodes_that_do_not_fit_are_refused():
    links, one, node = core.LinkBuckets(2), np.ones(1), np.zeros(1, np.int64)
    links.pass_messages(NETWORK, node, node + 1, one, one)
    with pytest.raises(ValueError, match="column of messages"):
        links.pass_messages(NETWORK, node, np.zeros(0, np.int64), one, one)
    for wrong in (-1, 2, 1 << 32):
        with pytest.raises(ValueError, match=f"node.*{wrong}"):
            links.pass_messages(NETWORK, node, node + wrong, one, one)
    with pytest.raises(ValueError, match="nodes"):
        core.LinkBuckets(-1)
    plan = core.Plan(problem(ranks=RANKS, count=COUNT), "ring", network=NETWORK)
    for nodes in ([0], [0, 1, 2, 0], []):
        with pytest.raises(ValueError, match="node"):
            plan.simulate(links=links, nodes=nodes)
