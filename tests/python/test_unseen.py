"""Time in calls of MPI that are not recorded, or only tested in vain: nobody is accused of it."""

import random
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from latecomer.report.analysis.answer import answer, facts
from latecomer.report.analysis.cut import analysed, between
from latecomer.report.analysis.origin import as_if_idle, origin
from test_origin import SLOW, STEPS, USUAL, wavefront

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "evidence"))

from played import LATENCY, Played

PAUSES = (1e-7, 1e-4, 1e-3)  # seconds between calls that test
HOW = ("probe", "hidden", *PAUSES)


def receive(how, other):
    """The steps of a receive by other ways than MPI_Recv."""
    if how == "probe":
        yield ("probe", other)
        yield ("receive", other)
    elif how == "hidden":
        yield ("hidden receive", other)
    else:
        yield ("poll", other, how)


def wave(rank, ranks, slow, how):
    """Each rank waits for the edge of the one before."""
    for _ in range(STEPS):
        if rank > 0:
            yield from receive(how, rank - 1)
        yield ("compute", SLOW if rank == slow else USUAL)
        if rank < ranks - 1:
            yield ("hidden send" if how == "hidden" else "send", rank + 1)
        yield ("allreduce",)


def ring(rank, ranks, slow, how):
    """Each rank waits for the edge of the one before, that computed at the same time."""
    for _ in range(STEPS):
        yield ("compute", SLOW if rank == slow else USUAL)
        yield ("hidden send" if how == "hidden" else "isend", (rank + 1) % ranks)
        yield from receive(how, (rank - 1) % ranks)
        yield ("compute", USUAL)
        yield ("wait",)
        yield ("allreduce",)


def relay(rank, ranks, slow, how):
    """Rank 0 waits for the slow rank by other ways, and comes last to the collective."""
    for _ in range(STEPS):
        yield ("compute", SLOW if rank == slow else USUAL)
        if rank == slow:
            yield ("hidden send" if how == "hidden" else "send", 0)
        if rank == 0:
            yield from receive(how, slow)
        yield ("allreduce",)


def played(program, ranks, slow, how):
    return Played([program(rank, ranks, slow, how) for rank in range(ranks)]).trace()


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("program", [wave, ring])
@pytest.mark.parametrize("ranks", [4, 5, 8])
def test_the_slow_rank_is_named_or_nobody(program, ranks, how):
    for slow in (None, *range(ranks)):
        found = analysed(played(program, ranks, slow, how))
        late = list(facts(found).late)
        sure = how in ("probe", PAUSES[0]) and slow is not None
        assert late == [slow] if sure else late in ([], [slow]), answer(found).text()


@pytest.mark.parametrize("slow", range(5))
def test_a_probe_waits_for_its_message(slow):
    plain = origin(Played([wavefront(rank, 5, slow) for rank in range(5)]).trace())
    found = origin(played(wave, 5, slow, "probe"))
    np.testing.assert_allclose(found.cost, plain.cost, atol=1e-9)
    np.testing.assert_allclose(found.waiting, plain.waiting, atol=5 * STEPS * LATENCY)
    assert not found.unknown.any()


@pytest.mark.parametrize("pause", PAUSES)
@pytest.mark.parametrize("slow", range(5))
def test_had_ranks_waited_between_tests_they_waited_as_in_a_receive(slow, pause):
    plain = origin(Played([wavefront(rank, 5, slow) for rank in range(5)]).trace())
    found = origin(as_if_idle(played(wave, 5, slow, pause)))
    each = 5 * 5 * STEPS * (pause + 1e-5)
    np.testing.assert_allclose(found.cost, plain.cost, atol=each)
    np.testing.assert_allclose(found.waiting, plain.waiting, atol=each)


def test_what_is_not_known_is_said():
    said = answer(analysed(played(wave, 5, 1, "hidden")))
    assert "Nobody is named: ranks are for" in said.who
    assert "(windows)" in said.who
    assert "not measured: windows (" in said.cost
    said = answer(analysed(played(wave, 5, 1, 1e-3)))
    assert "calls that test in vain" in said.who
    said = answer(analysed(played(wave, 5, 1, "probe")))
    assert "not measured" not in said.cost


@pytest.mark.parametrize("ranks", [6, 8, 12])
def test_waiting_behind_a_rank_in_an_unknown_call_is_nobodys(ranks):
    found = analysed(played(relay, ranks, 1, "hidden"))
    assert 0.05 < found.origin.unknown.sum() / found.ranks.run.sum() < 0.2
    said = answer(found)
    assert "Nobody is named: ranks are for" in said.who
    assert "no rank that computes longer" not in said.where
    assert answer(analysed(played(relay, ranks, 1, "probe"))).who.startswith("Rank 1 on host")


def test_charges_and_order_are_all_waiting_whatever_a_job_does():
    for _ in range(30):
        seed = random.randrange(1 << 30)
        print("seed", seed)
        own = random.Random(seed)
        ranks = own.randint(2, 6)
        programs = [[] for _ in range(ranks)]
        for _ in range(own.randint(1, 40)):
            if own.random() < 0.3:
                programs[own.randrange(ranks)].append(("compute", own.expovariate(1 / USUAL)))
                continue
            how = own.choice(HOW)
            source, to = own.sample(range(ranks), 2)
            programs[source].append(("hidden send" if how == "hidden" else "isend", to))
            programs[to].extend(receive(how, source))
        for program in programs:
            program.extend((("wait",), ("allreduce",)))
        trace = Played(programs).trace()
        for each in (trace, as_if_idle(trace)):
            found = origin(each)
            np.testing.assert_allclose(found.cost.sum() + found.order, found.waiting.sum(),
                                       atol=1e-12)  # fmt: skip
            spent = found.waiting + found.moving + found.unknown
            spent += found.graph.computed.sum(axis=0)
            start = np.fmin(found.graph.events.begin.min(), each.begin)
            np.testing.assert_allclose(spent, found.graph.last - start, rtol=1e-9)


def test_a_trace_is_looked_at_until_messages_are_missing():
    whole = Played([wavefront(rank, 4, 1) for rank in range(4)]).trace()
    end = float(whole.end.max())
    for part in (0.6, 0.05, 0.0):
        trace = replace(whole, messages=replace(whole.messages, until=part * end))
        found = analysed(trace)
        said = answer(found)
        if part < 0.1:
            assert "Nobody is named: messages are known of the first" in said.who
            assert "LATECOMER_TRACE_BYTES" in said.next
            continue
        assert facts(found).late == [1]
        assert "set LATECOMER_TRACE_BYTES to more" in said.where
        first = analysed(between(whole, 0.0, part * end))
        np.testing.assert_array_equal(found.origin.cost, first.origin.cost)
        np.testing.assert_array_equal(found.ranks.run, first.ranks.run)
