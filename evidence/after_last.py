"""Prints how soon all-reduces end after the last arrival, on the virtual network.

    .venv/bin/python evidence/after_last.py [--patterns 20]

Times in units of M, the time of the whole vector on a link (1 Gbit/s, combining 80 times as fast);
start-ups of 50 and 3 us. Takes less than a minute. evidence/results/after_last.md has what it
prints.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np
from latecomer import least_after_last, simulate
from latecomer.base.output import progress_bar

BETA = 8e-9  # seconds a byte
MIB = 1 << 20
RANKS = (5, 8, 16, 31, 48, 64)
ALPHAS = (50e-6, 3e-6)
OURS = "early_owners"
Arrivals = np.ndarray  # seconds, shape (ranks,)


def network(alpha: float) -> str:
    """Its text form."""
    return f"alpha={alpha * 1e6:g}us,beta=8ns,gamma=0.1ns"


def after(
    name: str, size: int, arrival: Arrivals, alpha: float, estimate: Arrivals | None = None
) -> tuple[float, float]:
    """Last and mean exit after the last arrival, in M."""
    found = simulate(
        name,
        ranks=len(arrival),
        count=size // 4,
        arrivals=arrival,
        estimate=estimate,
        network=network(alpha),
    )
    vector = size * BETA
    late = found.exits - arrival.max()
    return float(late.max() / vector), float(late.mean() / vector)


def one_late(ranks: int, delay: float) -> Arrivals:
    """A rank in the middle."""
    arrival = np.zeros(ranks)
    arrival[ranks // 3] = delay
    return arrival


def blocks_bound(ranks: int, size: int, alpha: float) -> float:
    """The least that schedules of equal blocks can take after one late rank, in M."""
    vector = size * BETA
    fill = (math.ceil(math.log2(ranks)) - 1) * alpha
    return (vector + fill + 2 * math.sqrt(fill * vector)) / vector


def limit(size: int, arrival: Arrivals, alpha: float) -> float:
    """The lower bound of all algorithms that receive nothing before the arrival, in M."""
    least = least_after_last(
        ranks=len(arrival), bytes=size, arrivals=arrival, network=network(alpha) + ",eager=0"
    )
    return least / (size * BETA)


def row(*cells: object) -> None:
    """One line of a table."""
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def head(title: str, *cells: object) -> None:
    """A title and the first lines of a table."""
    print(f"\n### {title}\n")
    row(*cells)
    row(*["---"] * len(cells))


def table_of_one_late() -> None:
    """Last exit over the bound of blocks."""
    head(
        "One late rank: last exit over the least that blocks allow",
        *("start-up", "delay", "vector", *(f"P={ranks}" for ranks in RANKS)),
    )
    for alpha in ALPHAS:
        for delay in (1.0, 4.0):
            for size in (MIB // 16, MIB // 4, MIB, 4 * MIB, 16 * MIB):
                vector = size * BETA
                ratios = [
                    after(OURS, size, one_late(ranks, delay * vector), alpha)[0]
                    / blocks_bound(ranks, size, alpha)
                    for ranks in RANKS
                ]
                name = f"{size // 1024} KiB" if size < MIB else f"{size // MIB} MiB"
                row(f"{alpha * 1e6:g} us", f"{delay:g} M", name, *(f"{r:.2f}" for r in ratios))


def table_of_short_delays() -> None:
    """Ours, auto's choice, and the best balanced program, over the larger of the bounds."""
    head(
        "One late rank, shorter delays: `early_owners` / `auto` / `fastest` over the larger bound",
        *("start-up", "delay", "vector", *(f"P={ranks}" for ranks in RANKS)),
    )
    for alpha in ALPHAS:
        for delay in (0.0, 0.1, 0.25, 0.5, 0.75):
            for size in (MIB, 16 * MIB):
                cells = []
                for ranks in RANKS:
                    arrival = one_late(ranks, delay * size * BETA)
                    least = limit(size, arrival, alpha)
                    if delay > 0:
                        least = max(least, blocks_bound(ranks, size, alpha))
                    times = [after(n, size, arrival, alpha)[0] for n in (OURS, "auto", "fastest")]
                    cells.append(" / ".join(f"{time / least:.2f}" for time in times))
                row(f"{alpha * 1e6:g} us", f"{delay:g} M", f"{size // MIB} MiB", *cells)


def table_of_many_late() -> None:
    """k ranks late together by 4 M, 16 MiB."""
    size = 16 * MIB
    head(
        "k ranks late together by 4 M, 16 MiB: last exit (mean), in M",
        *("P", "k", "50 us", "3 us", "limit at 3 us", "`ring` at 3 us"),
    )
    for ranks, late in ((16, 1), (16, 2), (16, 4), (48, 1), (48, 2), (48, 4), (48, 8), (48, 24)):
        arrival = np.zeros(ranks)
        arrival[ranks - late :] = 4 * size * BETA
        times = ["{:.3f} ({:.3f})".format(*after(OURS, size, arrival, alpha)) for alpha in ALPHAS]
        ring = after("ring", size, arrival, ALPHAS[1])[0]
        row(ranks, late, *times, f"{limit(size, arrival, ALPHAS[1]):.3f}", f"{ring:.3f}")


Draw = Callable[[np.random.Generator, int], Arrivals]  # for so many ranks, in M


def uniform(width: float) -> Draw:
    """Each rank on its own."""
    return lambda random, ranks: random.random(ranks) * width


def gamma(random: np.random.Generator, ranks: int) -> Arrivals:
    """Each rank on its own; a few are late by several M."""
    return random.gamma(2, 0.5, ranks)


def node(random: np.random.Generator, ranks: int) -> Arrivals:
    """Four neighbours late, all others at about the same time."""
    arrival = random.random(ranks) * 0.05
    first = 4 * random.integers(ranks // 4)
    arrival[first : first + 4] += 2
    return arrival


KINDS: list[tuple[str, Draw]] = [
    *((f"uniform over {width} M", uniform(width)) for width in (1, 2, 4, 8)),
    ("gamma, shape 2, mean M", gamma),
    ("one node of 4 ranks by 2 M", node),
]


def draws(ranks: int, patterns: int, draw: Draw) -> list[Arrivals]:
    """Seeded by the number of the pattern."""
    return [draw(np.random.default_rng([ranks, number]), ranks) for number in range(patterns)]


def means(name: str, size: int, arrivals: list[Arrivals], alpha: float) -> np.ndarray:
    """Last and mean exit of every pattern, in M."""
    return np.array([after(name, size, each, alpha) for each in arrivals])


def table_of_patterns(patterns: int) -> None:
    """Random lateness, and other kinds of it."""
    size = 16 * MIB
    head(
        f"Random lateness, 16 MiB, {patterns} patterns each: last exit (mean over ranks), in M",
        *("P", "lateness", "start-up", f"`{OURS}`", "`prereduced_ring`", "`ring`"),
        *("limit", "worst pattern against the better of both"),
    )
    for ranks in (16, 48):
        for title, draw in KINDS:
            arrivals = [size * BETA * each for each in draws(ranks, patterns, draw)]
            for alpha in ALPHAS:
                found = {
                    name: means(name, size, arrivals, alpha)
                    for name in (OURS, "prereduced_ring", "ring")
                }
                rivals = np.minimum(found["prereduced_ring"][:, 0], found["ring"][:, 0])
                worst = (found[OURS][:, 0] / rivals).max()
                cells = [
                    "{:.2f} ({:.2f})".format(*found[name].mean(axis=0))
                    for name in (OURS, "prereduced_ring", "ring")
                ]
                least = np.mean([limit(size, each, alpha) for each in arrivals])
                start = f"{alpha * 1e6:g} us"
                row(ranks, title, start, *cells, f"{least:.2f}", f"{worst:.2f}")


def table_of_wrong() -> None:
    """Plans for one rank late by 2 M, with other arrivals."""
    size = 16 * MIB
    delay = 2 * size * BETA
    head(
        "Planned for one rank late by 2 M, 16 MiB, start-up 50 us: last exit over `ring`",
        *("what comes", *(f"P={ranks}" for ranks in RANKS)),
    )

    def first(ranks: int) -> Arrivals:
        return delay - one_late(ranks, delay)

    def another(ranks: int) -> Arrivals:
        return np.roll(one_late(ranks, delay), 1)

    cases = {
        "that rank is first, by 2 M": first,
        "all together": np.zeros,
        "another rank late by 2 M": another,
    }
    for title, arrivals in cases.items():
        cells = []
        for ranks in RANKS:
            arrival = arrivals(ranks)
            ours = after(OURS, size, arrival, 50e-6, one_late(ranks, delay))[0]
            cells.append(f"{ours / after('ring', size, arrival, 50e-6)[0]:.2f}")
        row(title, *cells)


def main() -> None:
    """All tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--patterns", type=int, default=20, help="of each kind of lateness")
    patterns = parser.parse_args().patterns
    tables = (
        table_of_one_late,
        table_of_short_delays,
        table_of_many_late,
        lambda: table_of_patterns(patterns),
        table_of_wrong,
    )
    with progress_bar() as progress:
        for table in progress.track(tables):
            table()


if __name__ == "__main__":
    main()
