"""The times that the calibration program measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from ...base.arrays import Floats, Int64s
from ..results import samples

_FIELDS = ("version", "mpi", "ranks", "members", "cores", "eager", "buffer", "largest", "hosts")


@dataclass(frozen=True)
class Curve:
    """The times of one pattern: seconds of one message, shape (rounds, sizes)."""

    sizes: Int64s  # bytes, ascending
    times: Floats

    def at(self, size: int) -> Floats:
        """The times of one size, shape (rounds,)."""
        return self.times[:, int(np.searchsorted(self.sizes, size))]

    @cached_property
    def medians(self) -> Floats:
        """Over the rounds, shape (sizes,)."""
        return np.median(self.times, axis=0)


@dataclass(frozen=True)
class Measured:
    """All complete rounds."""

    header: Mapping[str, Any]
    curves: Mapping[str, Curve]  # by pattern

    @property
    def rounds(self) -> int:
        return len(next(iter(self.curves.values())).times)

    @property
    def eager(self) -> int:
        """Bytes of the longest eager message."""
        return int(self.header["eager"])

    def drawn(self, rounds: Int64s) -> Measured:
        """The times of these rounds, some perhaps twice."""
        curves = {name: Curve(c.sizes, c.times[rounds]) for name, c in self.curves.items()}
        return Measured(self.header, curves)

    @property
    def per_node(self) -> int | None:
        """Ranks of each host, if they are consecutive and equally many; else None."""
        runs = [(name, len(list(same))) for name, same in groupby(self.header["hosts"])]
        lengths = {length for _, length in runs}
        distinct = len({name for name, _ in runs})
        if distinct == 1:
            return 1  # all ranks are the ends of the network
        return lengths.pop() if len(lengths) == 1 and distinct == len(runs) else None


def read(path: Path) -> Measured:
    """The samples in a file. Raises SampleError."""
    header, *found = samples.objects(path, "the calibration program")
    for name in _FIELDS:
        if name not in header:
            raise samples.damaged(1, f"no {name!r}", f"a header with {', '.join(_FIELDS)}")
    times: dict[tuple[str, int], dict[int, float]] = {}
    for number, sample in enumerate(found, 2):
        pattern, size, round_, seconds = _sample(sample, number)
        times.setdefault((pattern, size), {})[round_] = seconds
    complete = set.intersection(*(set(cell) for cell in times.values())) if times else set()
    if not complete:
        remedy = "allow more time by --deadline"
        raise samples.SampleError("no round was completed", f"{len(found)} samples", remedy)
    patterns = dict.fromkeys(pattern for pattern, _ in times)
    return Measured(header, {name: _curve(name, times, sorted(complete)) for name in patterns})


def _sample(sample: Mapping[str, Any], number: int) -> tuple[str, int, int, float]:
    try:
        seconds = float(sample["seconds"])
        found = str(sample["pattern"]), int(sample["bytes"]), int(sample["round"]), seconds
    except (KeyError, *samples.NO_NUMBER) as error:
        raise samples.damaged(number, repr(error), "pattern, bytes, round and seconds") from None
    if not 0 <= seconds < np.inf:
        raise samples.damaged(number, repr(seconds), "a time in seconds")
    return found


def _curve(
    pattern: str, times: Mapping[tuple[str, int], Mapping[int, float]], rounds: Iterable[int]
) -> Curve:
    sizes = sorted(size for name, size in times if name == pattern)
    cells = [[times[pattern, size][number] for size in sizes] for number in rounds]
    return Curve(np.array(sizes), np.array(cells))
