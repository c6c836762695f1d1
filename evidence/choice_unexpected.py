"""Rehearses the automatic choice where lateness cannot be known, on the virtual network.

    .venv/bin/python evidence/choice_unexpected.py [--calls 200]

Reductions to rank 0 of one element of 1 MiB, which nothing cuts. Prints a table: elapsed time (mean
over ranks and calls of exit minus arrival) and, in parentheses, the time from the last arrival
until the root has the result; of the automatic choice, the best balanced program and local
redirect. 1 Gbit/s. Takes about a minute.
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np
from latecomer import rehearse
from latecomer.base.output import progress_bar

NETWORK = "alpha=50us,beta=8ns,gamma=0.1ns"
BYTES = 1 << 20
FIRST = 8  # calls that trials may take
ALGORITHMS = ("auto", "fastest", "local_redirect")
Arrivals = np.ndarray  # shape (calls, ranks)


def _one(calls: int, ranks: int, delay: float) -> Arrivals:
    late = np.random.default_rng(1).integers(ranks, size=calls)
    arrivals = np.zeros((calls, ranks))
    arrivals[np.arange(calls), late] = delay
    return arrivals


def _random(calls: int, ranks: int, delay: float) -> Arrivals:
    return np.random.default_rng(2).random((calls, ranks)) * delay


def _always(calls: int, ranks: int, delay: float) -> Arrivals:
    arrivals = np.zeros((calls, ranks))
    arrivals[:, ranks // 2] = delay
    return arrivals


SCENARIOS = {
    "together": (_one, 0.0),
    "another one late by 30 ms in each call": (_one, 0.03),
    "another one late by 300 ms": (_one, 0.3),
    "all at random within 30 ms": (_random, 0.03),
    "all at random within 300 ms": (_random, 0.3),
    "always the same one late by 300 ms": (_always, 0.3),
}


def _means(algorithm: str, arrivals: Arrivals, commutative: bool) -> tuple[str, Counter[str]]:
    """The two times in milliseconds, and the algorithms that carried out the calls."""
    calls = rehearse(
        algorithm,
        arrivals,
        collective="reduce",
        count=1,
        element_bytes=BYTES,
        commutative=commutative,
        network=NETWORK,
    )
    exits = np.array([call.exits for call in calls])
    elapsed = (exits - arrivals).mean(axis=1)[FIRST:].mean()
    root = (exits[:, 0] - arrivals.max(axis=1))[FIRST:].mean()
    return f"{elapsed * 1e3:.1f} ({root * 1e3:.1f})", Counter(call.algorithm for call in calls)


def _row(ranks: int, commutative: bool, name: str, calls: int) -> str:
    make, delay = SCENARIOS[name]
    arrivals = make(calls, ranks, delay)
    found = [_means(algorithm, arrivals, commutative) for algorithm in ALGORITHMS]
    chosen = ", ".join(f"{what} {times}" for what, times in found[0][1].most_common())
    order = "any" if commutative else "of ranks"
    cells = " | ".join(times for times, _ in found)
    return f"| {ranks} | {order} | {name} | {cells} | {chosen} |"


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=200)
    calls = parser.parse_args().calls
    print("| ranks | order | arrivals | auto, ms | `fastest` | `local_redirect` | chosen |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    cells = [(r, c, n) for r in (8, 48) for c in (True, False) for n in SCENARIOS]
    with progress_bar() as bar:
        task = bar.add_task("rehearsing", total=len(cells))
        for ranks, commutative, name in cells:
            print(_row(ranks, commutative, name, calls), flush=True)
            bar.advance(task)


if __name__ == "__main__":
    main()
