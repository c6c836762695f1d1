"""Draws docs/pictures/scaling-*.svg: the times of all-reduces against ranks and against size.

    .venv/bin/python evidence/scaling.py [--algorithms all] [--most-ranks 1024] [FOLDER]

Virtual time on a 1 Gbit/s network, all ranks arriving together. Every number of ranks is simulated
up to 128; above, and for algorithms with long programs, only some are. Takes two minutes, with
all algorithms some minutes.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from latecomer.core.compiled import core
from latecomer.lab.options.arrivals import Pattern
from latecomer.lab.results.statistics import Row
from latecomer.lab.sweep.case import Case
from latecomer.lab.sweep.engines import Virtual
from latecomer.lab.sweep.sweep import Sweep, choose_algorithms
from latecomer.lab.views import plot

ROOT = Path(__file__).resolve().parents[1]
NETWORK = core.Network("alpha=50us,beta=8ns,gamma=0.1ns")
ALGORITHMS = "ring,recursive_doubling,rabenseifner,two_tree,fastest,openmpi-4.1,mpich-5.0"
ELEMENT = 4  # bytes, float32
SIZES = (1 << 10, 1 << 16, 1 << 22)  # against ranks
RANKS = (24, 48, 96, 127)  # against size
MOST_BYTES = 1 << 24
ALL = 128  # ranks up to which every number of them is simulated, where that is cheap
CHEAP = 30_000  # operations of a simulation that takes less than a tenth of a second


def main() -> None:
    """Draw the pictures."""
    options = _options()
    options.folder.mkdir(parents=True, exist_ok=True)
    ranks = range(2, options.most_ranks + 1)
    counts = [size // ELEMENT for size in SIZES]
    names = choose_algorithms("allreduce", options.algorithms, "sum")
    _draw(options.folder / "scaling-ranks.svg", _sweep(names, ranks, counts))
    sizes = [8 << power for power in range(MOST_BYTES.bit_length() - 3) if 8 << power <= MOST_BYTES]
    _draw(options.folder / "scaling-bytes.svg", _sweep(names, RANKS, [s // ELEMENT for s in sizes]))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "docs" / "pictures")
    parser.add_argument("--algorithms", default=ALGORITHMS)
    parser.add_argument("--most-ranks", type=int, default=1024)
    return parser.parse_args()


def _sweep(algorithms, ranks, counts) -> Sweep:
    return Sweep(
        collective="allreduce",
        algorithms=algorithms,
        ranks=list(ranks),
        counts=list(counts),
        type="float32",
        op="sum",
        pattern=Pattern("balanced"),
        delays=[0.0],
        iterations=1,
        seed=1,
        estimate="perfect",
        network=NETWORK,
    )


ENGINE = Virtual(NETWORK)


def _draw(path: Path, sweep: Sweep) -> None:
    plot.save(list(_rows(sweep)), path)
    print(f"wrote {path}")


def _rows(sweep: Sweep) -> Iterator[Row]:
    for count in sweep.counts:
        for ranks in sweep.ranks:
            names = [n for n in sweep.algorithms if _worth_it(sweep, n, ranks, count)]
            if names:
                case = Case(replace(sweep, algorithms=names), ranks, count, ENGINE)
                yield from case.rows(_nothing)


def _worth_it(sweep: Sweep, name: str, ranks: int, count: int) -> bool:
    """Tell whether to simulate: all cheap cases, round numbers of ranks, and enough for a line."""
    if len(sweep.ranks) == len(RANKS) or _round(ranks):
        return True
    if ranks > ALL and not _sampled(ranks):
        return False
    program = sweep.program(name, ranks, count)
    return sweep.plan(program, ranks, count).about_operations() <= CHEAP


def _round(ranks: int) -> bool:
    """A power of two, or three times one."""
    odd = ranks // (ranks & -ranks)
    return odd in (1, 3)


def _sampled(ranks: int) -> bool:
    """Every sixteenth, and the neighbours of powers of two."""
    return ranks % 16 == 0 or _round(ranks - 1) or _round(ranks + 1)


def _nothing() -> None:
    pass


if __name__ == "__main__":
    main()
