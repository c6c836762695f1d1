"""Compares the model's choice of steps and segments with the best found by trying all.

    .venv/bin/python evidence/choice_quality.py [--algorithms generalized,segmented_ring]
        [--factor 8] [--above 0.05]

Virtual time on two networks, all ranks arriving together. Plans whose cost is more than
1.3 times that of the default are not simulated. Takes some minutes.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from balanced_grid import Cell, cells, seconds
from latecomer.base.output import progress_bar

RANKS = [*range(2, 18), 24, 31, 48, 64, 96, 127, 128]
HOPELESS = 1.3  # times the default's time, both by the cost
SAME_ROUNDING = "generalized:rounding=same"
PIPELINES = ("linear_tree", "pipelined_tree", "dual_root", "two_tree")
ALGORITHMS = ("generalized", SAME_ROUNDING, "segmented_ring", *PIPELINES)


@dataclass(frozen=True)
class Excess:
    """The extra time of the default over the best found, as a fraction, and its place."""

    cell: Cell
    fraction: float
    default: str
    best: str

    def __str__(self) -> str:
        return f"{self.fraction:.2%} at {self.cell}: {self.default}; best {self.best}"


def main() -> None:
    """One table row for each algorithm, and the cells above the limit."""
    options = _options()
    print("| algorithm | cells | median | 95 % of cells below | most | where |")
    print("| --- | --- | --- | --- | --- | --- |")
    for algorithm in options.algorithms.split(","):
        found = _sweep(algorithm, options.factor)
        print(_row(algorithm, found), flush=True)
        for excess in found:
            if excess.fraction > options.above:
                print(f"    {excess}", flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--algorithms", default=",".join(ALGORITHMS))
    parser.add_argument("--factor", type=int, default=8, help="from one size to the next")
    parser.add_argument("--above", type=float, default=math.inf, help="lists cells with more")
    return parser.parse_args()


def _sweep(algorithm: str, factor: int) -> list[Excess]:
    grid = list(cells(RANKS, factor))
    with progress_bar() as bar:
        return [_excess(algorithm, cell) for cell in bar.track(grid, description=algorithm)]


def _excess(algorithm: str, cell: Cell) -> Excess:
    default = cell.plan(algorithm)
    taken = seconds(default)
    best, least = default, taken
    for other in _others(algorithm, cell):
        plan = cell.plan(other)
        if plan.time() > HOPELESS * default.time():
            continue
        time = seconds(plan)
        if time < least:
            best, least = plan, time
    return Excess(cell, taken / least - 1, default.parameters, best.parameters)


def _others(algorithm: str, cell: Cell) -> Iterator[str]:
    """The parameters that are tried."""
    if algorithm.startswith("generalized"):
        yield from _designs(algorithm, cell)
    else:
        yield from (f"{algorithm}:segments={number}" for number in _segments(cell))


def _designs(algorithm: str, cell: Cell) -> Iterator[str]:
    log = math.ceil(math.log2(cell.ranks))
    most = 2 * (cell.ranks - 1)
    steps = {*range(log, 2 * log + 1), 2 * log + 2, 3 * log, 4 * log, most}
    for number in sorted(n for n in steps if n <= most):
        for group in ("best", "cyclic", "prime"):
            yield f"{algorithm}:group={group}:steps={number}"
            for piece in _pieces(cell):
                yield f"{algorithm}:group={group}:steps={number}:piece={piece}"


def _pieces(cell: Cell) -> Iterator[int]:
    """Elements of a message: 0 for no limit, and fractions of the vector."""
    yield 0
    yield from (cell.count >> power for power in range(2, 9, 2) if cell.count >> power >= 512)


def _segments(cell: Cell) -> list[int]:
    """Powers of the square root of two, and multiples of the ranks."""
    most = min(cell.count, 64 * cell.ranks, 4096)
    powers = {round(2 ** (n / 2)) for n in range(2 * most.bit_length())}
    multiples = {n * cell.ranks for n in (1, 2, 3, 4, 6, 8)}
    return sorted(n for n in powers | multiples if n <= max(most, cell.ranks))


def _row(algorithm: str, found: list[Excess]) -> str:
    fractions = sorted(excess.fraction for excess in found)
    worst = max(found, key=lambda excess: excess.fraction)
    high = fractions[math.ceil(0.95 * len(fractions)) - 1]
    numbers = f"{len(found)} | {median(fractions):.2%} | {high:.2%} | {worst.fraction:.2%}"
    return f"| `{algorithm}` | {numbers} | {worst.cell}: {worst.default}; best {worst.best} |"


if __name__ == "__main__":
    main()
