"""Jobs on the virtual network: a rank enters a call when it has left the last one and computed."""

import numpy as np
import pytest
from latecomer import JobCosts, rehearse_job, simulate

NETWORK = "alpha=50us,beta=8ns,gamma=0.1ns"
SEEDS = range(1, 9)


def some_job(seed):
    """Seconds of computation, and lengths that change."""
    print("seed", seed)
    random = np.random.default_rng(seed)
    calls, ranks = 25, int(random.integers(2, 10))
    compute = random.exponential(10 ** random.uniform(-4, -2), (calls, ranks))
    counts = [int(count) for count in random.integers(1, 1 << 16, 3)]
    return compute, [counts[call // 9] for call in range(calls)]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("algorithm", ["auto", "native", "ring", "prereduced_circulant"])
def test_a_rank_enters_a_call_when_it_left_the_last_one_and_computed(algorithm, seed):
    compute, counts = some_job(seed)
    calls = rehearse_job(algorithm, compute, count=counts, network=NETWORK)
    left = np.zeros(compute.shape[1])
    for call, row in zip(calls, compute, strict=True):
        assert call.arrivals == pytest.approx(left + row, abs=1e-12)
        assert (call.exits >= call.arrivals - 1e-11).all()
        assert call.finding_out >= -1e-11
        left = call.exits


@pytest.mark.parametrize("seed", SEEDS)
def test_the_library_alone_is_its_model_and_costs_nothing(seed):
    compute, counts = some_job(seed)
    calls = rehearse_job("native", compute, count=counts, network=NETWORK, native="ring")
    for call, count in zip(calls, counts, strict=True):
        arrivals = call.arrivals - call.arrivals.min()
        own = simulate("ring", arrivals=arrivals, ranks=len(arrivals), count=count, network=NETWORK)
        assert call.exits - call.arrivals.min() == pytest.approx(np.array(own.exits), abs=1e-10)
        assert (call.algorithm, call.finding_out) == ("native", 0)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("algorithm", ["auto", "fastest"])
def test_what_finding_out_costs_is_charged(algorithm, seed):
    """Ten times the costs take longer; without them only stamps and exchanges do."""
    compute, counts = some_job(seed)
    counts = [1 << 18] * len(counts)  # long enough for a choice

    def finding_out(costs):
        calls = rehearse_job(algorithm, compute, count=counts, network=NETWORK, finding_out=costs)
        return sum(call.finding_out for call in calls)

    usual, dear = finding_out(JobCosts()), finding_out(JobCosts(connect=4e-3))
    assert dear > usual + 3e-3
    assert usual > finding_out(None)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_job_on_a_slower_machine_takes_as_much_longer(seed):
    compute, _ = some_job(seed)
    usual = rehearse_job("ring", compute, count=1000, network=NETWORK, finding_out=None)
    pace = [3.0] * len(compute)
    slow = rehearse_job(
        "ring", 3 * compute, count=1000, network=NETWORK, finding_out=None, slowdown=pace
    )
    assert slow[-1].exits == pytest.approx(3 * usual[-1].exits, rel=1e-6)


def test_no_rank_is_worse_to_be_often_late_than_another():
    """Late ranks cannot be forecast here; what all wait for is done by a rank that is mostly there."""

    def seconds(often_late):
        rng = np.random.default_rng(1)
        compute = rng.uniform(0.010, 0.012, (60, 8))
        late = np.where(rng.random(60) < 0.5, often_late, rng.integers(0, 8, 60))
        compute[np.arange(60), late] += 0.5
        calls = rehearse_job("auto", compute, count=1 << 20, network="alpha=100us,beta=42ns")
        return max(calls[-1].exits)

    assert seconds(0) == pytest.approx(seconds(3), rel=0.03)  # 0.11 where it is always rank 0


def test_only_the_library_becomes_slower_and_cold_calls_are_the_first_ones():
    compute = np.full((6, 4), 1e-3)

    def inside(algorithm, **more):
        calls = rehearse_job(algorithm, compute, count=1000, finding_out=None, **more)
        return np.array([call.mean_after_last for call in calls])

    pace = [1.0, 1.0, 5.0, 1.0, 1.0, 1.0]
    assert inside("native", library_slowdown=pace) == pytest.approx(inside("native") * pace)
    assert inside("ring", library_slowdown=pace) == pytest.approx(inside("ring"))
    assert inside("ring", cold=7.0) == pytest.approx(inside("ring") * [7, 1, 1, 1, 1, 1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"compute": [0.0, 1.0]}, r"shape \(calls, ranks\)"),
        ({"compute": [[0.0, -1.0]]}, "from 0 on"),
        ({"count": [8, 8]}, "count: 2 numbers"),
        ({"slowdown": [1.0, 1.0]}, "slowdown"),
        ({"slowdown": [0.0]}, "slowdown"),
        ({"library_slowdown": [float("nan")]}, "library_slowdown"),
        ({"cold": 0.0}, "cold"),
        ({"algorithm": "rinG"}, "rinG"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, message):
    settled = {"algorithm": "auto", "compute": [[0.0, 1.0]], "count": 8} | arguments
    with pytest.raises(ValueError, match=message):
        rehearse_job(settled.pop("algorithm"), settled.pop("compute"), **settled)
