"""Arrival patterns: how late each rank comes to each iteration of a benchmark.

All draws come from one seeded generator, so that every algorithm, and every delay of a sweep, sees
the same iterations: a longer delay stretches the same draw. Times are seconds after the rank that
comes on time.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...base.errors import UserError
from ...base.output import say
from ...base.regular_files import read_text
from .choices import LONGEST_S, PATTERNS

BALANCED_FIRST = 8  # balanced iterations before every sweep, for the absorption time


_FILE, _ATLAS = "file:", "atlas:"

Delays = list[float]  # one value a rank
Draw = Callable[[random.Random], float]  # lateness of one rank in units of the delay


class ArrivalError(UserError, ValueError):
    """An arrival pattern that does not exist or does not fit the ranks."""


@dataclass(frozen=True)
class Iteration:
    """One iteration to run: seconds of lateness a rank, and the delay they were drawn for."""

    delay: float | None  # seconds; None: from a file
    late: Delays


@dataclass(frozen=True)
class Pattern:
    """The arrivals that the command line asks for. Raises ArrivalError for an unknown name."""

    name: str
    late_rank: int = 1

    def __post_init__(self) -> None:
        if not self.recorded and self.name not in PATTERNS[:-2]:
            raise ArrivalError("no such arrival pattern", self.name, f"use {', '.join(PATTERNS)}")

    @property
    def recorded(self) -> bool:
        """Tell whether a file says how late each rank is."""
        return self.name.startswith((_FILE, _ATLAS))

    def iterations(
        self, ranks: int, delays: Sequence[float], count: int, seed: int
    ) -> list[Iteration]:
        """The iterations of one job: balanced ones first, then `count` for each delay above 0.

        `delays` are seconds. The balanced ones are the iterations of delay 0 as well: `count` if it
        is asked for, some fewer if not. Raises ArrivalError.
        """
        first = count if 0 in delays else min(count, BALANCED_FIRST)
        job = [Iteration(0.0, balanced(ranks))] * first
        if self.recorded:
            lines = self._lines(ranks, seed)
            return job + [Iteration(None, lines[i % len(lines)]) for i in range(count)]
        for delay in (d for d in delays if d > 0):
            job += [Iteration(delay, late) for late in self.draw(ranks, delay, count, seed)]
        return job

    def _lines(self, ranks: int, seed: int) -> list[Delays]:
        """The delays that the file has. Raises ArrivalError and AtlasError."""
        kind, _, name = self.name.partition(":")
        if f"{kind}:" == _FILE:
            return read_delays(Path(name), ranks)
        from ...atlas.file import COLLECTIVES
        from ...atlas.resampled import arrivals, resampled

        file, _, which = name.rpartition(":")
        asked = which.isdecimal() or which in COLLECTIVES or Path(file).is_file()
        if not file or not asked or Path(name).is_file():
            file, which = name, ""
        times = arrivals(file, which=which)
        if times.shape[1] != ranks:
            say(f"the arrivals of {times.shape[1]} ranks, resampled for {ranks} with seed {seed}")
        drawn: list[list[float]] = resampled(times, ranks, seed).tolist()
        return drawn

    def draw(self, ranks: int, delay: float, count: int, seed: int) -> list[Delays]:
        """Seconds of lateness, `count` iterations of them. Raises ArrivalError."""
        if self.name == "balanced":
            return [balanced(ranks)] * count
        if self.name == "onelate":
            return [onelate(ranks, delay, self.late_rank)] * count
        source, draw = random.Random(seed), _DRAWS[self.name]
        return [[delay * draw(source) for _ in range(ranks)] for _ in range(count)]


def balanced(ranks: int) -> Delays:
    """All together."""
    return [0.0] * ranks


def onelate(ranks: int, delay: float, late_rank: int) -> Delays:
    """One rank comes `delay` late: mode onelate of Proficz 2018, section 5.1, with rank 1."""
    if not 0 <= late_rank < ranks:
        raise ArrivalError("no such rank to be late", late_rank, f"use 0 to {ranks - 1}")
    return [delay if rank == late_rank else 0.0 for rank in range(ranks)]


def randlate(source: random.Random) -> float:
    """Uniform from 0 to the delay, for every rank: mode randlate of Proficz 2018, section 5.1."""
    return source.random()


def gamma(source: random.Random) -> float:
    """Gamma with k = 2 and theta = delay / 2, hence with mean `delay`.

    A long tail, as of waiting times: Marendic 2012, section 5.6, uses k = 2 and theta = 0.5. The
    sum of two exponential draws of mean theta has this distribution.
    """
    return -0.5 * sum(math.log(1.0 - source.random()) for _ in range(2))


def gaussian(source: random.Random) -> float:
    """Normal with mean `delay` and standard deviation `delay` / 2; values below 0 become 0.

    The Gaussian imbalance of Marendic 2012, section 5.2, which leaves its deviation open.
    """
    from statistics import NormalDist

    uniform = max(source.random(), 2.0**-54)  # 0 has no quantile
    return max(0.0, 1.0 + 0.5 * NormalDist().inv_cdf(uniform))


# All draws are made of uniform ones: only these are equal in every version of Python.
_DRAWS: dict[str, Draw] = {"randlate": randlate, "gamma": gamma, "gaussian": gaussian}


def read_delays(path: Path, ranks: int) -> list[Delays]:
    """Lateness from a CSV file: a line for each iteration, on it a value for each rank.

    Values are seconds, or carry a unit as in 5ms. Blank lines and lines that start with # are
    skipped. Raises ArrivalError that names line and value.
    """
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "no text in UTF-8"
        raise ArrivalError(f"cannot read the arrivals ({why})", path,
                           "name a file of lines such as 0,0.005,0") from None  # fmt: skip
    lines = [
        _read_line(line, f"{path}, line {number}", ranks)
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.startswith("#")
    ]
    if not lines:
        raise ArrivalError("no arrivals in the file", path, "write a line for each iteration")
    return lines


def _read_line(line: str, place: str, ranks: int) -> Delays:
    cells = [cell.strip() for cell in line.split(",")]
    if len(cells) != ranks:
        raise ArrivalError(
            f"{place}: wrong number of values", len(cells), f"give one for each of {ranks} ranks"
        )
    return [_read_seconds(cell, place) for cell in cells]


def _read_seconds(cell: str, place: str) -> float:
    from ...core.compiled import core

    with_unit = cell if cell[-1:].isalpha() else f"{cell}s"
    try:
        found = core.parse_seconds("lateness", with_unit)
    except ValueError:
        remedy = "give seconds from 0 up as in 0.005, or a unit as in 5ms"
        raise ArrivalError(f"{place}: not a lateness", repr(cell), remedy) from None
    if found > LONGEST_S:
        raise ArrivalError(f"{place}: lateness", repr(cell), f"give at most {LONGEST_S} seconds")
    return found
