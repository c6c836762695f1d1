"""Predictions of other computation, against the same jobs played with that computation."""

import random
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from latecomer.report.analysis.graph import graph_of

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "evidence"))

from played import Played


def random_step(own, ranks):
    """What each rank does in turn; computation is a number."""
    everybody = tuple(range(ranks))
    cut, root, reach = own.randint(1, ranks - 1), own.randrange(ranks), own.choice((1, ranks - 1))
    one_way = own.random() < 0.5
    parts = [everybody[:cut] if rank < cut else everybody[cut:] for rank in everybody]

    def messages(rank):
        there = {(rank + step) % ranks for step in range(1, reach + 1)}
        back = {(rank - step) % ranks for step in range(1, reach + 1)}
        to, of = (there, back) if one_way else 2 * (there | back,)
        return [*(("ireceive", peer) for peer in of), *(("isend", peer) for peer in to), ("wait",)]

    def line(rank):
        return [*([("receive", rank - 1)] if rank > 0 else []), own.expovariate(100),
                *([("send", rank + 1)] if rank < ranks - 1 else [])]  # fmt: skip

    what = own.choice((
        lambda _: [("allreduce",)],
        lambda rank: [("allreduce", parts[rank])],
        lambda _: [("bcast", everybody, root)],
        lambda _: [("reduce", everybody, root)],
        lambda _: [("iallreduce",), own.expovariate(100), ("finish",)],
        messages,
        line,
    ))  # fmt: skip
    return [[own.expovariate(100), *what(rank)] for rank in everybody]


def clock_off(trace, rank, off):
    """The trace of a rank whose clock is late by so many seconds."""

    def shifted(side):
        mine = np.where(side.rank == rank, off, 0.0)
        return replace(side, **{name: getattr(side, name) - mine
                                for name in ("posted", "begin", "end", "idle")})  # fmt: skip

    def of_group(group):
        mine = np.where(group.members == rank, off, 0.0)
        completed = None if group.completed is None else group.completed - mine
        return replace(group, arrival=group.arrival - mine, exit=group.exit - mine,
                       completed=completed)  # fmt: skip

    messages = trace.messages
    return replace(
        trace,
        groups=[of_group(group) for group in trace.groups],
        overlapping=[of_group(group) for group in trace.overlapping],
        messages=replace(messages, send=shifted(messages.send), receive=shifted(messages.receive)),
        clock_error=np.where(np.arange(trace.ranks) == rank, off, 0.0),
    )


@pytest.mark.parametrize("off", [0.0, 3e-5])
@pytest.mark.parametrize("rendezvous", [False, True])
def test_with_other_computation_it_is_what_the_job_does_then(monkeypatch, rendezvous, off):
    """Another rank may come last: all that a call waits for counts, not what it waited for."""
    monkeypatch.setattr("played.LATENCY", 1e-9)

    def play(programs, factor):
        def doing(rank):
            for each in programs[rank]:
                yield each if isinstance(each, tuple) else ("compute", each * factor[rank])

        return Played(map(doing, range(len(programs))), rendezvous=rendezvous).trace()

    for seed in range(60):  # with a clock that is off some would be wrong, if few
        print("seed", seed)
        own = random.Random(seed)
        ranks = own.randint(2, 7)
        steps = [random_step(own, ranks) for _ in range(own.randint(1, 25))]
        # By the first message the trace tells if the library takes messages before the receive.
        first = [[("send", 1)], [0.01, ("receive", 0)], *([] for _ in range(2, ranks))]
        programs = [[*first[rank], *(each for step in steps for each in step[rank]), ("allreduce",)]
                    for rank in range(ranks)]  # fmt: skip
        factor = [own.choice((0.0, 0.5, 1.0, 2.0)) for _ in programs]
        was = play(programs, [1.0] * ranks)
        graph = graph_of(clock_off(was, own.randrange(ranks), off))
        less = 1 - np.array(factor)[graph.events.rank]
        now = was.end.max() - play(programs, factor).end.max()
        assert graph.saved(less) == pytest.approx(now, abs=1e-6 + 2 * off * (len(steps) + 1))
