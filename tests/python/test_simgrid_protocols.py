"""Protocols on the SimGrid engine: their words take the time of short messages and delay no rank,
and ranks leave as they do on the virtual network, or nearly."""

import random

import pytest
from latecomer.lab import simgrid
from simgrid_helpers import CROSSBAR, MATCHING, SAME_S, SEED, exits_of_both, needs_simgrid

WORD_S = 100e-6 + 8 * 8e-9


def reduction(arrivals, **more):
    """The exits in SimGrid, of a local redirect that keeps rank order."""
    call = {"collective": "reduce", "root": len(arrivals) - 1, "commutative": False, **more}
    return simgrid.simulate(
        "local_redirect",
        ranks=len(arrivals),
        arrivals=arrivals,
        platform=CROSSBAR,
        config=simgrid.PLAIN,
        check=True,
        **call,
    ).exits


@needs_simgrid
@pytest.mark.parametrize(("late", "words"), [(0, 3), (1, 2)])
def test_words_take_the_time_of_short_messages(late, words):
    """Rank 0 offers, rank 1 asks, rank 0 gives; the offer is there before a late rank 1."""
    arrivals, count = [0.0, 0.0], 1000
    arrivals[late] = 0.1
    exits = reduction(arrivals, count=count, network=f"{MATCHING},eager=0")
    message = 100e-6 + 4 * count * (8e-9 + 0.1e-9)
    assert exits[1] - 0.1 == pytest.approx(words * WORD_S + message, abs=SAME_S)


@needs_simgrid
def test_two_ranks_of_a_protocol_leave_as_on_the_virtual_network():
    """No message meets a word at a port, if it waits for its receiver."""
    draw = random.Random(SEED)
    for _ in range(10):
        arrivals = [draw.choice([0, draw.uniform(0, 1e-3)]) for _ in range(2)]
        more = {"collective": "reduce", "root": 1, "commutative": draw.random() < 0.5}
        count = draw.choice([1, 300, 200000])
        case = f"seed {SEED}: {count} elements, {arrivals}, {more}"
        ours, virtual = exits_of_both(
            "local_redirect", 2, count, arrivals, f"{MATCHING},eager=0", **more
        )
        assert ours == pytest.approx(virtual, rel=0, abs=SAME_S), case


@needs_simgrid
@pytest.mark.parametrize("eager", ["64KiB", "0"])
def test_protocols_leave_about_when_they_do_on_the_virtual_network(eager):
    """There a word and the next message pay alpha one after the other, here their latencies pass
    side by side; messages may share a link here."""
    draw = random.Random(SEED)
    for _ in range(15):
        ranks, count = draw.randrange(2, 17), draw.choice([1, 300, 5000, 200000])
        spread = draw.choice([0, 1e-4, 1e-3, 0.1])
        arrivals = [draw.uniform(0, spread) for _ in range(ranks)]
        more = {
            "collective": "reduce",
            "root": draw.randrange(ranks),
            "commutative": draw.random() < 0.5,
        }
        case = f"seed {SEED}: {ranks} ranks, {count} elements, {arrivals}, {more}"
        network = f"{MATCHING},eager={eager}"
        ours, virtual = exits_of_both("local_redirect", ranks, count, arrivals, network, **more)
        last = max(arrivals)
        assert 0.4 < (ours.max() - last) / (virtual.max() - last) < 1.1, case


@needs_simgrid
def test_a_word_that_comes_too_late_holds_nobody_up():
    """Rank 1 gives to rank 2 when it is asked, after two words, and leaves; the redirection to
    rank 0 takes a third one. Rank 0 arrives before that and offers to rank 1, which has left when
    the offer is there."""
    late = 2.5 * WORD_S
    exits = reduction([late, 0, 0], count=1, network=f"{MATCHING},eager=64KiB")
    assert exits[1] < late + WORD_S
    assert 4 * WORD_S < exits[2] < 0.01


@needs_simgrid
@pytest.mark.parametrize("late", range(5))
def test_a_late_rank_leaves_one_partial_result_on_each_side(late):
    """All others are gone before it comes: they hear of each other whatever they wait for."""
    arrivals = [0.0] * 5
    arrivals[late] = 1.0
    exits = reduction(arrivals, count=100, network=MATCHING)
    assert sum(exits < 0.01) == max(late - 1, 0) + max(3 - late, 0)
