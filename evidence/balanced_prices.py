"""Compares the price of each row for ranks that arrive together with its simulated time.

    .venv/bin/python evidence/balanced_prices.py [--ranks 2,3,...] [--factor 8]

The price is the time of the plan's cost (`Plan.time`); the other time is the last exit on the
virtual network. A table row has the mean and the worst difference as parts of the simulated time,
over the two networks of evidence/balanced_grid.py, the numbers of ranks, and vectors of 8 B to
16 MiB with at least one element for each rank. The last column is the worst of shorter vectors,
whose empty parts are priced as messages. Takes less than a minute.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass

from balanced_grid import ELEMENT, NETWORKS, bytes_text, core, seconds, sizes

RANKS = "2,3,4,5,7,8,13,16,30,33,48,64"
CLOSE = 0.02


@dataclass(frozen=True)
class Difference:
    """The price of one cell against its simulated time."""

    part: float  # of the simulated time
    short: bool  # fewer elements than ranks
    where: str


def main() -> None:
    """One table row for each row of the registry, and how many are close."""
    options = _options()
    ranks = [int(number) for number in options.ranks.split(",")]
    print("| row | mean | worst | where | worst with fewer elements than ranks |")
    print("| --- | --- | --- | --- | --- |")
    means = []
    for row in json.loads(core.registry_json()):
        if row["kind"] == "native":
            continue
        found = list(_differences(row["collective"], row["name"], ranks, options.factor))
        usual = [each for each in found if not each.short]
        means.append(sum(each.part for each in usual) / len(usual))
        worst = max(usual, key=lambda each: each.part)
        short = max((each.part for each in found if each.short), default=0)
        cells = (f"{means[-1]:.1%}", f"{worst.part:.1%}", worst.where, f"{short:.1%}")
        print(f"| {row['collective']} {row['name']} | " + " | ".join(cells) + " |", flush=True)
    close = sum(mean <= CLOSE for mean in means)
    print(f"\n{close} of {len(means)} rows within {CLOSE:.0%} on average")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", default=RANKS)
    parser.add_argument("--factor", type=int, default=8, help="from one size to the next")
    return parser.parse_args()


def _differences(collective: str, name: str, ranks: list[int], factor: int) -> Iterator[Difference]:
    for network in NETWORKS:
        for number in ranks:
            for size in sizes(factor):
                problem = core.Problem(
                    collective, ranks=number, count=size // ELEMENT, element_bytes=ELEMENT
                )
                plan = core.Plan(problem, name, network=core.Network(network.text))
                simulated = seconds(plan)
                if simulated == 0:  # the root has the only element
                    continue
                part = abs(plan.time() / simulated - 1)
                where = f"P={number}, {bytes_text(size)}, {network.title}"
                yield Difference(part, size // ELEMENT < number, where)


if __name__ == "__main__":
    main()
