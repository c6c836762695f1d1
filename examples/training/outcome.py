"""The numbers of the training's runs; times in seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

NAMES = ("gloo", "native", "ring", "sorted_linear_tree", "prereduced_ring", "early_owners", "auto")
# Sums in another order differ in the last bits of float32, and training makes more of it.
LIMIT = 1e-3


@dataclass(frozen=True)
class Row:
    """One algorithm: medians over the counted runs, and the least and the most."""

    algorithm: str
    elapsed: float  # of one all-reduce, from a rank's arrival to its exit, in the mean
    elapsed_range: tuple[float, float]
    elapsed_speedup: float  # the ring's over this
    total: float  # of the training
    total_range: tuple[float, float]
    total_speedup: float  # the ring's over this
    of_native: float  # total over the MPI library's: median of the runs' ratios
    of_gloo: float
    first: float  # total of the first run, which does not count
    difference: float  # of the parameters from Gloo's, relative to the largest


class Results:
    """All runs."""

    def __init__(self, lines: Sequence[dict], delay_ms: float) -> None:
        self.delay_ms = delay_ms
        self.kinds = list(dict.fromkeys(line["imbalance"] for line in lines))
        self._runs = [line for line in lines if "elapsed_s" in line]
        self._lines = lines

    def algorithms(self, kind: str) -> list[str]:
        """Their names, in the order asked for."""
        first = [r["algorithm"] for r in self._runs if (r["imbalance"], r["run"]) == (kind, 0)]
        return list(dict.fromkeys(first))

    def series(self, kind: str, algorithm: str, what: str) -> list[float]:
        """The runs' values that count: of all runs but the first, if there are more."""
        found = self._series(kind, algorithm, what)
        return found[1:] or found

    def rows(self, kind: str) -> list[Row]:
        """The table."""
        return [self._row(kind, name) for name in self.algorithms(kind)]

    def chosen(self, kind: str) -> str:
        """What `auto` chose, and how often."""
        of = next((line["chosen"] for line in self._lines
                   if "chosen" in line and line["imbalance"] == kind), {})  # fmt: skip
        return ", ".join(f"{name} {count}" for name, count in of.get("auto", {}).items())

    def wrong(self) -> list[str]:
        """Algorithms whose networks differ between ranks, or from Gloo's by more than rounding."""
        apart = [run["algorithm"] for run in self._runs if not run["alike"]]
        far = [name for line in self._lines for name, by in line.get("from_gloo", {}).items()
               if not by <= LIMIT]  # fmt: skip
        return sorted({*apart, *far})

    def ratio(self, kind: str, algorithm: str, other: str) -> float:
        """The median of the runs' ratios of total times; nan without the other one."""
        if other not in self.algorithms(kind):
            return float("nan")
        pairs = zip(self.series(kind, algorithm, "total_s"), self.series(kind, other, "total_s"),
                    strict=True)  # fmt: skip
        return median(mine / theirs for mine, theirs in pairs)

    def _series(self, kind: str, algorithm: str, what: str) -> list[float]:
        found = [run for run in self._runs
                 if (run["imbalance"], run["algorithm"]) == (kind, algorithm)]  # fmt: skip
        return [run[what] for run in sorted(found, key=lambda run: run["run"])]

    def _row(self, kind: str, name: str) -> Row:
        elapsed, total = (self.series(kind, name, what) for what in ("elapsed_s", "total_s"))
        ring = self.algorithms(kind).count("ring")
        of_ring = [median(self.series(kind, "ring", what)) if ring else float("nan")
                   for what in ("elapsed_s", "total_s")]  # fmt: skip
        far = [line["from_gloo"][name] for line in self._lines
               if "from_gloo" in line and line["imbalance"] == kind]  # fmt: skip
        return Row(
            name, median(elapsed), (min(elapsed), max(elapsed)), of_ring[0] / median(elapsed),
            median(total), (min(total), max(total)), of_ring[1] / median(total),
            self.ratio(kind, name, "native"), self.ratio(kind, name, "gloo"),
            self._series(kind, name, "total_s")[0], max(far, default=float("nan")),
        )  # fmt: skip
