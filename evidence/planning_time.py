"""Measures the time of planning, beside the estimate of planning_cost.

    .venv/bin/python evidence/planning_time.py [--ranks 16,48,...] [--algorithms "bcast chain,..."]
        [--like | --usual]

Processor time, least of several tries: making a plan, pricing it and building one rank's program,
for each row of the registry, on two networks, 1 KiB, 64 KiB and 4 MiB, all ranks together, one
late, or all at random. A table row has, for each number of ranks, the dearest of these cells in
microseconds; behind it how many times as much the estimate is, against the dearest of the arrivals
(the first and the ninth decile over ranks, networks and sizes).
--like: making the plan of `fastest`, and one like it for a vector a tenth longer, in microseconds.
--usual: the mean of the cells with late ranks from 64 KiB on, a plan with its program / its price
for the arrivals where the row is priced for any; in rooted collectives a call of seven that are
priced together. These are the costs that rehearse_job charges
(python/latecomer/core/job.py).
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from statistics import fmean, quantiles
from typing import Any

from latecomer.core.compiled import core

NETWORKS = (
    "handshake=100us",
    "alpha=3us,beta=0.286ns,gamma=0.05ns",
)
SIZES = (1 << 10, 64 << 10, 4 << 20)
RANKS = "2,4,8,16,48,100,128,256,1000,1024,4096"
ARRIVALS = ("together", "one late", "random")
BY_NAME_ONLY = {"early_owners": 128}  # beyond so many ranks seconds, and never chosen


def main() -> None:
    """The table, or that of plans like others."""
    options = _options()
    ranks = [int(number) for number in options.ranks.split(",")]
    if options.like:
        return _like(ranks)
    if options.usual:
        return _usual(ranks)
    print("| row | " + " | ".join(f"P = {number}" for number in ranks) + " | estimate |")
    print("| --- " * (len(ranks) + 2) + "|")
    for row in json.loads(core.registry_json()):
        name = f"{row['collective']} {row['name']}"
        wanted = not options.algorithms or name in options.algorithms.split(",")
        if row["kind"] != "native" and row["name"] != "auto" and wanted:
            _row(row["collective"], row["name"], ranks)
    return None


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", default=RANKS)
    parser.add_argument("--algorithms", default="", help='such as "bcast linear,reduce fastest"')
    parser.add_argument("--like", action="store_true")
    parser.add_argument("--usual", action="store_true")
    return parser.parse_args()


def _row(collective: str, name: str, ranks: list[int]) -> None:
    dearest = []
    ratios = []
    for number in ranks:
        if number > BY_NAME_ONLY.get(name, number):
            dearest.append("-")
            continue
        found = list(_cells(collective, name, number))
        dearest.append(f"{1e6 * max(_total(cell) for cell in found):.0f}")
        ratios += _ratios(found)
    low, *_, high = quantiles(ratios, n=10)
    spread = f"{low:.1f} to {high:.1f}"
    print(f"| {collective} {name} | " + " | ".join(dearest) + f" | {spread} |", flush=True)


def _cells(collective: str, name: str, ranks: int) -> Iterator[dict[str, Any]]:
    for network in NETWORKS:
        for size in SIZES:
            problem = _problem(collective, ranks, size)
            for kind in ARRIVALS:
                taken = core.planning(
                    problem, name, _arrivals(kind, ranks, size), core.Network(network)
                )
                about = {"collective": collective, "name": name, "ranks": ranks, "bytes": size}
                yield {**about, "network": network, "arrivals": kind, **taken}


def _ratios(found: list[dict[str, Any]]) -> list[float]:
    """The estimate by the dearest of the arrivals, for each network and size."""
    dearest: dict[tuple[str, int], float] = {}
    estimates = {}
    for cell in found:
        key = (cell["network"], cell["bytes"])
        dearest[key] = max(dearest.get(key, 0), _total(cell))
        estimates[key] = cell["estimate"]
    return [estimates[key] / dearest[key] for key in dearest]


def _total(cell: dict[str, Any]) -> float:
    return float(cell["plan"] + cell["price"] + cell["program"])


def _problem(collective: str, ranks: int, size: int) -> Any:
    parted = collective in ("allgather", "gather", "scatter")
    count = max(size // 4, ranks) if parted else size // 4
    return core.Problem(collective, ranks=ranks, count=count, element_bytes=4)


def _arrivals(kind: str, ranks: int, size: int) -> list[float]:
    if kind == "together":
        return []
    delay = 2 * (50e-6 + 8e-9 * size)
    if kind == "random":
        source = random.Random(ranks)
        return [delay * source.random() for _ in range(ranks)]
    return [delay if rank == ranks // 3 else 0.0 for rank in range(ranks)]


def _usual(ranks: list[int]) -> None:
    print("| row | " + " | ".join(f"P = {number}" for number in ranks) + " |")
    print("| --- " * (len(ranks) + 1) + "|")
    for row in json.loads(core.registry_json()):
        collective = row["collective"]
        rooted = collective not in ("allreduce", "allgather")
        left_out = row["arrival_aware"] if rooted else collective != "allreduce"
        if left_out or row["kind"] == "native" or row["name"] in ("auto", "nodes"):
            continue
        columns = []
        for number in ranks:
            found = _cells(collective, row["name"], number)
            cells = [c for c in found if c["arrivals"] != ARRIVALS[0] and c["bytes"] > SIZES[0]]
            plan = fmean(cell["plan"] + cell["program"] for cell in cells)
            price = fmean(cell["replay" if rooted else "price"] for cell in cells)
            columns.append(f"{1e6 * plan:.0f} / {1e6 * price:.0f}")
        print(f"| {collective} {row['name']} | " + " | ".join(columns) + " |", flush=True)


def _like(ranks: list[int]) -> None:
    print("| collective | " + " | ".join(f"P = {number}" for number in ranks) + " |")
    print("| --- " * (len(ranks) + 1) + "|")
    for collective in ("allgather", "allreduce", "bcast", "gather", "reduce", "scatter"):
        cells = []
        for number in ranks:
            problem = _problem(collective, number, 4 << 20)
            taken = core.planning(problem, "fastest", [], core.Network(NETWORKS[0]))
            cells.append(f"{1e6 * taken['plan']:.0f} / {1e6 * taken['like']:.0f}")
        print(f"| {collective} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
