"""Draws docs/pictures/scaling-*.svg: every all-reduce against ranks and against size.

    .venv/bin/python evidence/scaling.py [--most-ranks 1024] [FOLDER]

Virtual time on a 1 Gbit/s network, all ranks arriving together. Not every number of ranks is
simulated above 128, nor where an algorithm's programs are long. Takes some minutes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python"))

from latecomer.core.compiled import core  # noqa: E402
from latecomer.options.arrivals import Pattern  # noqa: E402
from latecomer.report import plot  # noqa: E402
from latecomer.results.statistics import Row  # noqa: E402
from latecomer.sweep.case import Case  # noqa: E402
from latecomer.sweep.engines import Virtual  # noqa: E402
from latecomer.sweep.question import Question, choose_algorithms  # noqa: E402

NETWORK = core.Network("alpha=50us,beta=8ns,gamma=0.1ns")
ELEMENT = 4  # bytes, float32
SIZES = (1 << 10, 1 << 16, 1 << 22)  # against ranks
RANKS = (24, 48, 96, 127)  # against size
MOST_BYTES = 1 << 24
ALL = 128  # ranks up to which every number of them is simulated, where that is cheap
CHEAP = 30_000  # operations of a simulation that takes less than a tenth of a second


def main() -> None:
    """Both pictures."""
    options = _options()
    options.folder.mkdir(parents=True, exist_ok=True)
    ranks = range(2, options.most_ranks + 1)
    counts = [size // ELEMENT for size in SIZES]
    _draw(options.folder / "scaling-ranks.svg", _question(ranks, counts))
    sizes = [8 << power for power in range(MOST_BYTES.bit_length() - 3) if 8 << power <= MOST_BYTES]
    _draw(options.folder / "scaling-bytes.svg", _question(RANKS, [s // ELEMENT for s in sizes]))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "docs" / "pictures")
    parser.add_argument("--most-ranks", type=int, default=1024)
    return parser.parse_args()


def _question(ranks, counts) -> Question:
    return Question(
        collective="allreduce",
        algorithms=choose_algorithms("allreduce", "all", "sum"),
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


def _draw(path: Path, question: Question) -> None:
    plot.save(list(_rows(question)), path)
    print(f"wrote {path}")


def _rows(question: Question) -> Iterator[Row]:
    for count in question.counts:
        for ranks in question.ranks:
            names = [n for n in question.algorithms if _worth_it(question, n, ranks, count)]
            if names:
                case = Case(replace(question, algorithms=names), ranks, count, ENGINE)
                yield from case.rows(_nothing)


def _worth_it(question: Question, name: str, ranks: int, count: int) -> bool:
    """All where it is cheap; else where it is likely to be looked at, and enough for a line."""
    if len(question.ranks) == len(RANKS) or _round(ranks):
        return True
    if ranks > ALL and not _sampled(ranks):
        return False
    program = question.program(name, ranks, count)
    return question.plan(program, ranks, count).about_operations() <= CHEAP


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
