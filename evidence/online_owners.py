"""All-reduces whose ranks are late at random, with the arrivals known beforehand and without.

    .venv/bin/python evidence/online_owners.py [--draws 20] [--start-ups 3us,50us] [--ranks 5,8,16]

Times after the last arrival in units of M, the time of the whole vector on a link (16 MiB,
1 Gbit/s): of each pattern the average and the worst last exit of all draws, and the mean exit.
Takes about ten minutes. evidence/results/online.md shows its averages.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from after_last import BETA, Draw, row
from latecomer import simulate
from latecomer.base.output import progress_bar

SIZE = 16 << 20  # bytes
VECTOR = SIZE * BETA  # seconds
ELEMENT = 4  # bytes
BLOCKS = {5: 60, 8: 64, 16: 64, 31: 124, 48: 96, 64: 128}  # by ranks
START_UPS = {"3us": (5, 8, 16, 31, 48, 64), "50us": (16, 48)}  # with numbers of ranks
Arrivals = np.ndarray  # shape (ranks,), in M


def together(_: np.random.Generator, ranks: int) -> Arrivals:
    return np.zeros(ranks)


def uniform(width: float) -> Draw:
    return lambda random, ranks: random.uniform(0, width, ranks)


def gamma(random: np.random.Generator, ranks: int) -> Arrivals:
    return random.gamma(2, 0.25, ranks)


def some(late: int, delay: float) -> Draw:
    """So many ranks are late, any of them."""

    def draw(random: np.random.Generator, ranks: int) -> Arrivals:
        arrival = np.zeros(ranks)
        arrival[random.permutation(ranks)[: min(late, ranks - 1)]] = delay
        return arrival

    return draw


def half(delay: float) -> Draw:
    return lambda random, ranks: some(ranks // 2, delay)(random, ranks)


def node(random: np.random.Generator, ranks: int) -> Arrivals:
    arrival = np.zeros(ranks)
    first = 4 * random.integers((ranks + 3) // 4)
    arrival[first : first + 4] = 2
    return arrival


def slow(random: np.random.Generator, ranks: int) -> Arrivals:
    arrival = random.uniform(0, 0.05, ranks)
    arrival[3::8] += 0.5
    return arrival


def in_turn(random: np.random.Generator, ranks: int) -> Arrivals:
    return random.permutation(ranks) * 2 / BLOCKS[ranks]


def waves(random: np.random.Generator, ranks: int) -> Arrivals:
    return random.integers(0, 4, ranks) * 0.25


PATTERNS: dict[str, Draw] = {
    "together": together,
    **{f"uniform over {width:g} M": uniform(width) for width in (0.1, 0.25, 0.5, 1, 2, 4, 8)},
    "gamma, shape 2, mean 0.5 M": gamma,
    "one late by 0.25 M": some(1, 0.25),
    "one late by 1 M": some(1, 1),
    "4 late by 2 M": some(4, 2),
    "half late by 0.25 M": half(0.25),
    "half late by 0.5 M": half(0.5),
    "half late by 2 M": half(2),
    "one node of 4 late by 2 M": node,
    "1 in 8 late by 0.5 M, the rest within 0.05 M": slow,
    "one every 2 rounds": in_turn,
    "4 waves, 0.25 M apart": waves,
}


@dataclass(frozen=True)
class Column:
    """An algorithm, and the times of its calls."""

    title: str
    algorithm: str  # `{blocks}` stands for their number
    known: bool = False  # the arrivals, beforehand


COLUMNS = (
    Column("`ring`", "ring"),
    Column("`early_owners`, arrivals known", "early_owners:blocks={blocks}", known=True),
    Column("`online_owners`, threads", "online_owners:blocks={blocks}:progress=background"),
    Column("`online_owners`", "online_owners:blocks={blocks}"),
)


def after_last(column: Column, arrival: Arrivals, start_up: str) -> tuple[float, float]:
    """Last and mean exit after the last arrival, in M."""
    seconds = arrival * VECTOR
    found = simulate(
        column.algorithm.format(blocks=BLOCKS[len(arrival)]),
        ranks=len(arrival),
        count=SIZE // ELEMENT,
        element_bytes=ELEMENT,
        arrivals=seconds,
        estimate=seconds if column.known else np.zeros(len(arrival)),
        network=f"alpha={start_up},beta={BETA}s,gamma=0.1ns",
    )
    late = (found.exits - seconds.max()) / VECTOR
    return float(late.max()), float(late.mean())


def draws(pattern: str, ranks: int, number: int) -> list[Arrivals]:
    """Seeded by ranks and number; the first rank comes at 0. One, where all are equal."""
    draw = PATTERNS[pattern]
    found = [draw(np.random.default_rng([ranks, each]), ranks) for each in range(number)]
    same = all(np.array_equal(each, found[0]) for each in found)
    return [each - each.min() for each in (found[:1] if same else found)]


def times(pattern: str, ranks: int, start_up: str, number: int) -> np.ndarray:
    """Last and mean exit, of each column and draw: shape (columns, draws, 2)."""
    arrivals = draws(pattern, ranks, number)
    return np.array([[after_last(c, each, start_up) for each in arrivals] for c in COLUMNS])


Case = tuple[int, str]  # ranks, start-up


def table(title: str, found: dict[str, dict[Case, np.ndarray]]) -> None:
    """A row for each pattern; `found` has a number for each column, by pattern and case."""
    print(f"\n### {title}\n")
    cases = list(next(iter(found.values())))
    row("arrivals", *(f"P={ranks}, K={BLOCKS[ranks]}, {start_up}" for ranks, start_up in cases))
    row(*["---"] * (1 + len(cases)))
    for pattern, cells in found.items():
        row(pattern, *(" / ".join(f"{x:.2f}" for x in cells[case]) for case in cases))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=20, help="of each pattern")
    parser.add_argument("--start-ups", default=",".join(START_UPS))
    parser.add_argument("--ranks", help="only these")
    asked = parser.parse_args()
    wanted = [int(each) for each in asked.ranks.split(",")] if asked.ranks else None
    cases = [
        (ranks, start_up)
        for start_up in asked.start_ups.split(",")
        for ranks in START_UPS[start_up]
        if wanted is None or ranks in wanted
    ]
    found: dict[str, dict[Case, np.ndarray]] = {pattern: {} for pattern in PATTERNS}
    with progress_bar() as progress:
        for case in progress.track(cases):
            for pattern in PATTERNS:
                found[pattern][case] = times(pattern, *case, asked.draws)
    views = {
        "Last exit, average": lambda all_: all_[:, :, 0].mean(axis=1),
        "Last exit, worst draw": lambda all_: all_[:, :, 0].max(axis=1),
        "Mean exit, average": lambda all_: all_[:, :, 1].mean(axis=1),
    }
    print(f"Of K blocks on P ranks: {' / '.join(column.title for column in COLUMNS)}")
    for title, view in views.items():
        table(title, {p: {c: view(x) for c, x in cells.items()} for p, cells in found.items()})


if __name__ == "__main__":
    main()
