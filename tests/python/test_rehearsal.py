"""Series of calls on the virtual network: detection, choice and correction, end to end."""

import numpy as np
import pytest
from latecomer import rehearse

RANKS, COUNT = 16, 1 << 20  # elements
DELAY = 0.1  # seconds


def one_late(calls, rank, delay=DELAY):
    arrivals = np.zeros((calls, RANKS))
    arrivals[:, rank] = delay
    return arrivals


def changing(calls, every):
    arrivals = np.zeros((calls, RANKS))
    for call in range(calls):
        arrivals[call, (3 + 5 * (call // every)) % RANKS] = DELAY
    return arrivals


def cost(algorithm, arrivals, **more):
    """Mean over ranks of exit minus last arrival, call by call; the calls."""
    calls = rehearse(algorithm, arrivals, count=more.pop("count", COUNT), **more)
    return np.array([call.mean_after_last for call in calls]), calls


def test_a_persistent_late_rank_is_exploited_from_the_tenth_call_on():
    arrivals = one_late(20, 9)
    online, calls = cost("auto", arrivals)
    perfect, _ = cost("auto", arrivals, estimate="perfect")
    assert online[10:].mean() == pytest.approx(perfect[10:].mean(), rel=0.05)
    aware = {"prereduced_circulant", "early_owners", "sorted_linear_tree", "straggler_exchange"}
    assert {call.algorithm for call in calls[10:]} <= aware
    assert np.argmax(calls[-1].expected) == 9
    assert online[10:].mean() < 0.8 * cost("fastest", arrivals)[0][10:].mean()


@pytest.mark.parametrize("collective", ["allreduce", "bcast", "scatter"])
def test_algorithms_are_drawn_at_random(collective):
    arrivals = one_late(40, 9)
    seeds = {}
    for seed in (1, 2):
        calls = rehearse(f"auto:random={seed}", arrivals, collective=collective, count=1000)
        again = rehearse(f"auto:random={seed}", arrivals, collective=collective, count=1000)
        seeds[seed] = [call.algorithm for call in calls]
        assert seeds[seed] == [call.algorithm for call in again]
        assert {"native"} < set(seeds[seed])
        assert len(set(seeds[seed])) > 4
    assert seeds[1] != seeds[2]


@pytest.mark.parametrize("arrivals", [changing(100, 20), None], ids=["changing", "random"])
def test_lateness_that_changes_costs_no_more_than_the_best_balanced_program(arrivals):
    seed = 11
    print("seed", seed)
    if arrivals is None:
        arrivals = np.random.default_rng(seed).random((100, RANKS)) * DELAY
    online, _ = cost("auto", arrivals)
    assert online.mean() <= 1.03 * cost("fastest", arrivals)[0].mean()


@pytest.mark.parametrize(
    ("arrivals", "gain"),
    [("random", 0.88), ("changing", 0.7)],  # random, online_owners alone: 0.82
)
def test_lateness_that_cannot_be_forecast_is_exploited_from_the_tenth_call_on(arrivals, gain):
    """The candidates are priced for the arrivals of the last calls, whoever was late in them."""
    seeds = range(5, 15) if arrivals == "random" else [None]
    print("seeds", list(seeds))
    gains = []
    for seed in seeds:
        random = np.random.default_rng(seed).random((40, RANKS)) * DELAY
        drawn = changing(40, 1) if seed is None else random
        auto, calls = cost("auto", drawn)
        fastest, _ = cost("fastest", drawn)
        taken = {call.algorithm for call in calls[10:]}
        assert taken & {"online_owners", "prereduced_circulant"}
        gains.append(auto[10:].mean() / fastest[10:].mean())
    assert np.mean(gains) < gain


def test_lateness_below_a_start_up_changes_nothing():
    random = np.random.default_rng(3).random((40, RANKS)) * 50e-6
    auto, calls = cost("auto", random)
    assert sum(call.algorithm == "online_owners" for call in calls) <= 4  # tried
    assert auto[10:].mean() <= 1.04 * cost("fastest", random)[0][10:].mean()


@pytest.mark.parametrize("native", ["openmpi-4.1", "recursive_doubling", "circulant"])
@pytest.mark.parametrize("count", [256, 1 << 14, COUNT])
def test_balanced_it_costs_no_more_than_the_better_of_both(native, count):
    """Once its calls have paid for finding out: another one must be 5 % better to be taken."""
    arrivals = np.zeros((1000 if count == 256 else 200, RANKS))
    online, calls = cost("auto", arrivals, native=native, count=count)
    ours = cost("fastest", arrivals[:20], count=count)[0]
    native_calls = [call.mean_after_last for call in calls if call.algorithm == "native"]
    assert np.median(online[-100:]) <= 1.06 * min(ours.mean(), *native_calls)
    assert online[-100:].mean() <= 1.08 * min(ours.mean(), *native_calls)


def test_wrong_estimates_are_not_believed_for_long():
    arrivals = one_late(60, 9)
    wrong, _ = cost("auto", arrivals, estimate="wrong")
    balanced = cost("fastest", arrivals)[0].mean()
    assert wrong[20:].mean() <= 1.05 * balanced


def test_a_network_that_is_not_as_assumed_is_corrected():
    """The library's collective is faster than the algorithm that the wrong costs favour."""
    arrivals = np.zeros((60, RANKS))
    more = {"network": "alpha=1us,beta=8ns", "assumed": "alpha=1ms,beta=0.1ns", "native": "ring"}
    online, calls = cost("auto", arrivals, **more)
    ours = cost("fastest", arrivals, **more)[0]
    assert {call.algorithm for call in calls[10:40]} == {"native"}
    assert online[10:40].mean() < 0.9 * ours.mean()


def test_one_algorithm_can_be_rehearsed_too():
    _, calls = cost("sorted_linear_tree", one_late(8, 3), count=1000)
    assert np.argmax(calls[-1].expected) == 3
    assert {call.algorithm for call in calls} == {"sorted_linear_tree"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"arrivals": [0.0, 1.0]}, r"shape \(calls, ranks\)"),
        ({"estimate": "hoped"}, "'hoped' is not usable"),
        ({"algorithm": "rinG"}, "rinG"),
        ({"native": "lam"}, "lam"),
        ({"count": -1}, "-1"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, message):
    settled = {"algorithm": "auto", "arrivals": [[0.0, 1.0]], "count": 8} | arguments
    with pytest.raises(ValueError, match=message):
        rehearse(settled.pop("algorithm"), settled.pop("arrivals"), **settled)
