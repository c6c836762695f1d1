"""The automatic choice, against the best single algorithm in hindsight: a few worlds.

`evidence/regret.py` is the long form (docs/regret.md). Times are those of the virtual network, so
they are the same on every machine. Each row has what was measured; a change of the choice that
lowers a number lowers it here, too.
"""

import argparse
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "evidence"))

import regret
from regret import Regret, measure
from regret_worlds import IMBALANCES, PATHOLOGIES, pathology, random_world

CALLS = 120
SLACK = 0.02  # that other processors may round otherwise, and the last digit
LIBRARY = 1.01  # at most so many times the library's time, where no more was measured

# Auto over the best single algorithm, and over the library, with the network's built-in costs.
RANDOM = {
    4: (1.001, 1.001),  # 16 ranks
    6: (1.033, 1.002),  # 8 ranks
    9: (1.000, 1.000),  # 8 ranks
    11: (1.022, 0.651),  # 5 ranks
    14: (1.121, 1.000),  # 5 ranks
    16: (1.029, 0.884),  # 12 ranks
    25: (1.009, 0.985),  # 12 ranks
    54: (1.003, 0.662),  # 6 ranks
}
ROOTED = {
    ("reduce", 0): (1.287, 1.001),  # 24 ranks
    ("reduce", 8): (1.083, 1.083),  # 16 ranks
    ("bcast", 1): (1.097, 0.754),  # 8 ranks
    ("bcast", 34): (1.072, 0.798),  # 4 ranks
    ("bcast", 53): (1.082, 1.082),  # 24 ranks
    ("gather", 2): (1.191, 0.861),  # 24 ranks
    ("gather", 33): (1.179, 0.873),  # 32 ranks
    ("scatter", 6): (1.036, 0.928),  # 8 ranks
    ("scatter", 15): (1.022, 1.022),  # 32 ranks
}
PATHOLOGICAL = {
    "disturbed start": (1.023, 1.023),
    "cold first calls": (1.014, 1.014),
    "hiccups": (1.016, 0.953),
    "lengths never repeat": (1.069, 0.995),
    "lengths in turn": (1.098, 0.990),
    "late rank begins": (1.002, 0.952),
    "late rank alternates": (1.013, 0.947),
    "late rank moves": (1.007, 0.948),
    "shared cores": (1.016, 1.016),
    "waits follow each other": (1.066, 0.755),
    "library becomes faster": (1.024, 1.021),
    "spread exits": (1.011, 0.875),
    "wrong exchange": (1.024, 0.835),
    "far apart": (1.000, 0.999),
    "short on one node": (1.113, 0.782),
    "disturbed later": (1.138, 0.764),
    "broadcasts": (1.072, 1.072),
    "first rank often late": (0.934, 0.808),
    "broadcasts overlap": (1.245, 1.245),
    "reduces overlap": (1.205, 1.205),
    "late rank stays": (1.066, 0.840),
}


def judge(found: Regret, over_best: float, over_library: float) -> None:
    """Compares with what was measured."""
    print(found.as_line())
    print({name: f"{time:.4g}" for name, time in found.times.items()}, f"auto {found.auto:.4g}")
    assert found.over_best <= over_best + SLACK
    assert found.over_library <= max(LIBRARY, over_library + SLACK)


@pytest.mark.parametrize("seed", RANDOM)
def test_a_job_in_a_world_at_random_costs_no_more_than_it_did(seed):
    print("seed", seed)
    judge(measure(random_world(seed, CALLS), "default"), *RANDOM[seed])


@pytest.mark.parametrize(("collective", "seed"), ROOTED)
def test_a_job_of_rooted_calls_costs_no_more_than_it_did(collective, seed):
    print("seed", seed)
    found = measure(random_world(seed, CALLS, collective), "default")
    judge(found, *ROOTED[collective, seed])


@pytest.mark.parametrize("name", PATHOLOGIES)
def test_what_once_misled_the_choice_costs_no_more_than_it_did(name):
    seed = 1
    print("seed", seed)
    judge(measure(pathology(name, seed, CALLS), "default"), *PATHOLOGICAL[name])


def test_a_choice_that_takes_longer_than_it_did_fails():
    world = random_world(9, 4)
    usual = Regret(world, {"native": 1.0, "ring": 0.9}, auto=1.0)
    judge(usual, 1.0 / 0.9, 1.0)
    for auto in (1.05, 1.02):
        with pytest.raises(AssertionError):
            judge(Regret(world, usual.times, auto), 1.0 / 0.9, 1.0)


def test_worlds_are_of_all_kinds_and_the_same_for_a_seed():
    worlds = [random_world(seed, 4) for seed in range(200)]
    assert {world.about["imbalance"] for world in worlds} == set(IMBALANCES)
    assert len({world.about["network"] for world in worlds}) == 5
    assert (min(w.ranks for w in worlds), max(w.ranks for w in worlds)) == (4, 32)
    assert all(32 << 10 <= world.bytes <= 16 << 20 for world in worlds)
    again = random_world(7, 4)
    assert again.costs == worlds[7].costs
    assert (again.compute == worlds[7].compute).all()
    assert (again.compute >= 0).all()


def test_a_factor_multiplies_the_times_of_a_network_alone():
    costs = "alpha=50us,beta=8.5ns,gamma=1e-01ns,exchange=1.6"
    assert regret.scaled(costs, 2) == "alpha=100.0us,beta=17.0ns,gamma=0.2ns,exchange=1.6"


@pytest.mark.parametrize("word", ["ture", "", "0", "-2", "inf", "nan"])
def test_other_words_for_the_assumed_costs_are_refused(word):
    with pytest.raises(argparse.ArgumentTypeError, match=f"'{word}'; right would be true"):
        regret._assumed(word)


@pytest.mark.parametrize("word", ["true", "default", "300", "1e-2"])
def test_words_for_the_assumed_costs(word):
    assert regret._assumed(word) == word
