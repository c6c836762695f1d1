"""One made-up job, recorded in several ways: the same rank is late, and costs as much."""

import flight_helpers as flight
import inspector_helpers as inspector
import nccl_helpers as nccl
import nsight_helpers as nsight
import numpy as np
import pytest
from latecomer.report.analysis.answer import facts
from latecomer.report.analysis.lateness import analyse
from latecomer.report.trace import read
from trace_helpers import Files, arrivals_and_exits

CALLS, RANKS, LATE = 40, 4, 2


def ours(folder, arrival, leave):
    return Files(RANKS).write(folder, arrival, leave)


def plug_in(folder, arrival, leave):
    """Device clocks of the ranks are apart, and nobody compared them."""
    rng = np.random.default_rng(5)
    assert not nccl.play(
        folder, nccl.looping(1 + arrival, 1 + leave, [nccl.Clock.apart(rng) for _ in range(RANKS)])
    )
    return folder


def table(folder, arrival, leave):
    folder.mkdir()
    rows = ["rank,sequence,operation,arrive,leave"]
    for call, rank in np.ndindex(arrival.shape):
        rows.append(f"{rank},{call},allreduce,{arrival[call, rank]:.9f},{leave[call, rank]:.9f}")
    (folder / "calls.csv").write_text("\n".join(rows))
    return folder


def dumps(write, ending, *, timed=True, host=""):
    def written(folder, arrival, leave):
        flight.store(folder / host, flight.job(arrival, leave, timed=timed), write, ending)
        return folder

    return written


def exports(together):
    return lambda *job: nsight.written(*job, together=together)


# How it is recorded, and seconds by which an arrival may be off another one.
WAYS = {
    "our own trace": (ours, 1e-9),
    "the table": (table, 1e-8),
    "the plug-in of NCCL": (plug_in, 1e-4),
    "Inspector": (inspector.written, 2e-6),
    "flight recorder, JSON": (dumps(flight.as_json, ".json"), 2e-6),
    "flight recorder, pickle": (dumps(flight.as_pickle, ""), 2e-6),
    "flight recorder without timing, of one host": (
        dumps(flight.as_pickle, "", timed=False, host="node0"), 1e-6),
    "Nsight Systems, one file": (exports(True), 1e-6),
}  # fmt: skip
APART = {
    "our own trace": lambda folder, *job: Files(RANKS, skew_ns=[0, 5, 7, -3]).write(folder, *job),
    "flight recorder without timing": dumps(flight.as_json, ".json", timed=False),
    "Nsight Systems, a file a rank": exports(False),
}


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("way", WAYS)
def test_who_is_late_and_what_it_costs(tmp_path, way, seed):
    print("seed", seed)
    arrival, leave = arrivals_and_exits(CALLS, RANKS, late=LATE, seed=seed)
    write, off = WAYS[way]
    found = analyse(read(write(tmp_path / "trace", arrival, leave)))
    # The slow and obvious reference. Exits differ by 50 us, which lengths alone take for waiting.
    if not found.trace.between:
        arrival = leave.max(axis=1, keepdims=True) - (leave - arrival)
    waiting = (arrival.max(axis=1, keepdims=True) - arrival).sum(axis=0)
    np.testing.assert_allclose(found.ranks.waiting, waiting, atol=CALLS * off)
    assert found.ranks.last.tolist() == [CALLS * (rank == LATE) for rank in range(RANKS)]
    assert list(facts(found).late) == [LATE]
    assert found.clock_error <= off
    moving = (leave - arrival).sum(axis=0) - waiting
    share = waiting.sum() / (waiting + moving).sum()
    inside = found.ranks.waiting + found.ranks.moving
    assert found.ranks.waiting.sum() / inside.sum() == pytest.approx(share, abs=1e-3)


@pytest.mark.parametrize("way", APART)
def test_clocks_that_nobody_compared_are_within_the_error_that_is_told(tmp_path, way):
    """A rank that is always late looks like one whose clock is ahead: nobody is named."""
    arrival, leave = arrivals_and_exits(CALLS, RANKS, late=LATE)
    found = analyse(read(APART[way](tmp_path / "trace", arrival, leave)))
    waiting = (arrival.max(axis=1, keepdims=True) - arrival).sum(axis=0)
    # The clock of the waiting rank and that of the last one may be off.
    np.testing.assert_allclose(found.ranks.waiting, waiting, atol=2 * CALLS * found.clock_error)
    assert "clocks are not good enough" in facts(found).unknown


def test_lengths_alone_tell_nothing_of_what_lies_between(tmp_path):
    arrival, leave = arrivals_and_exits(CALLS, RANKS, late=LATE)
    long = arrival + 100 * np.arange(CALLS)[:, None], leave + 100 * np.arange(CALLS)[:, None]
    short, longer = (
        analyse(read(inspector.written(tmp_path / str(at), *job)))
        for at, job in enumerate(((arrival, leave), long))
    )
    np.testing.assert_allclose(short.ranks.waiting, longer.ranks.waiting, atol=CALLS * 1e-6)
    assert short.waiting_share + short.moving_share == pytest.approx(1)
    assert facts(short).whole == "the time in collectives"
