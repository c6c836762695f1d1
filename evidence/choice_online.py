"""Rehearses the automatic choice with online estimates on the virtual network.

    .venv/bin/python evidence/choice_online.py [--ranks 48] [--bytes 64KiB,1MiB,4MiB] [--calls 200]

Prints a table: for each scenario the mean over the calls of (mean exit minus last arrival) of the
automatic choice, online, beside the same with known arrivals, the best balanced program, and a
model of the MPI library's collective; the medians of the calls' ratios with their 95 % intervals.
1 Gbit/s, 10 % jitter. Takes some minutes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from latecomer import rehearse
from latecomer.base.output import progress_bar
from latecomer.core.compiled import core
from ratios import median_interval

NETWORK = "alpha=50us,beta=8ns,gamma=0.1ns,jitter=0.1"
DELAY = 0.1  # seconds
FIRST = 5  # calls that an estimate may take
Arrivals = np.ndarray  # shape (calls, ranks)


def _balanced(calls: int, ranks: int) -> Arrivals:
    return np.random.default_rng(1).random((calls, ranks)) * 1e-4


def _persistent(calls: int, ranks: int) -> Arrivals:
    arrivals = _balanced(calls, ranks)
    arrivals[:, ranks // 3] += DELAY
    return arrivals


def _changing(calls: int, ranks: int) -> Arrivals:
    arrivals = _balanced(calls, ranks)
    late = (7 + 13 * (np.arange(calls) // 20)) % ranks
    arrivals[np.arange(calls), late] += DELAY
    return arrivals


def _random(calls: int, ranks: int) -> Arrivals:
    return np.random.default_rng(2).random((calls, ranks)) * DELAY


SCENARIOS: dict[str, tuple[Callable[[int, int], Arrivals], str]] = {
    "balanced": (_balanced, "online"),
    "one late rank": (_persistent, "online"),
    "another one every 20 calls": (_changing, "online"),
    "random, no memory": (_random, "online"),
    "one late rank, estimate reversed": (_persistent, "wrong"),
}


def main() -> None:
    """The table."""
    options = _options()
    print("| bytes | arrivals | auto, ms | known | balanced | library | auto / balanced | chosen |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    cells = [(size, name) for size in options.bytes.split(",") for name in SCENARIOS]
    with progress_bar() as bar:
        task = bar.add_task("rehearsing", total=len(cells))
        for size, name in cells:
            print(_row(size, name, options), flush=True)
            bar.advance(task)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=48)
    parser.add_argument("--bytes", default="64KiB,1MiB,4MiB")
    parser.add_argument("--calls", type=int, default=200)
    return parser.parse_args()


def _row(size: str, name: str, options: argparse.Namespace) -> str:
    count = core.parse_bytes("--bytes", size) // 4
    make, estimate = SCENARIOS[name]
    arrivals = make(options.calls, options.ranks)

    def taken(algorithm: str, estimate: str) -> tuple[np.ndarray, list[str]]:
        calls = rehearse(algorithm, arrivals, count=count, estimate=estimate, network=NETWORK)
        return np.array([call.mean_after_last for call in calls]), [c.algorithm for c in calls]

    auto, used = taken("auto", estimate)
    balanced, _ = taken("fastest", "online")
    library = rehearse_library(arrivals, count)
    known, _ = taken("auto", "perfect")
    columns = [auto, known, balanced, library]
    means = " | ".join(f"{1e3 * column[FIRST:].mean():.2f}" for column in columns)
    ratio = median_interval(auto[FIRST:] / balanced[FIRST:])
    return f"| {size} | {name} | {means} | {ratio} | {_share(used)} |"


def rehearse_library(arrivals: Arrivals, count: int) -> np.ndarray:
    """The calls with the algorithms that Open MPI would choose by its model."""
    from latecomer.core.native_choices import MODELS, Call

    ranks = arrivals.shape[1]
    program = MODELS["openmpi-4.1"](Call(ranks, count, 4 * count, True, True))
    calls = rehearse(program, arrivals, count=count, network=NETWORK)
    return np.array([call.mean_after_last for call in calls])


def _share(used: list[str]) -> str:
    names = sorted(set(used), key=used.count, reverse=True)
    return ", ".join(f"{name} {used.count(name)}" for name in names[:3])


if __name__ == "__main__":
    main()
