"""Draws docs/pictures/balanced-map.svg: our fastest all-reduce against the best of others.

    .venv/bin/python evidence/balanced_map.py [--ranks 128] [--factor 2] [--inexact] [--json FILE]
        [PICTURE]

Every number of ranks from 2 and sizes from 8 B to 16 MiB on two virtual networks, all ranks
arriving together, for an operator that is exact. Others: ring, recursive_doubling and rabenseifner
on the same network, and the closed forms of Kolmakov and Zhang. Plans whose cost is
more than 1.5 times our time are not simulated. Prints the tables of evidence/results/balanced.md.
Takes about a minute.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean

import matplotlib
import numpy as np
from balanced_grid import ELEMENT, NETWORKS, ROOT, Cell, Network, bytes_text, cells, seconds, sizes
from kolmakov_zhang import forms
from latecomer.base.output import progress_bar

matplotlib.use("Agg")
matplotlib.rcParams["svg.hashsalt"] = "latecomer"
from matplotlib import pyplot  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.colors import LogNorm  # noqa: E402

OTHERS = ("ring", "recursive_doubling", "rabenseifner")
HOPELESS = 1.5  # times our time, both by the cost
TABLE_RANKS = (24, 48, 96, 127)
TABLE_BYTES = tuple(1 << power for power in range(10, 21, 2))
COLOURS = "PuOr"  # told apart by the colour-blind; light at 1
WIDEST = 1.2  # ratio at the ends of the colours
SAME = 1e-6  # the virtual clock counts picoseconds, and a start-up takes 3 us
DPI = 110


@dataclass(frozen=True)
class Answer:
    """Ours and the best of the others in one cell; seconds."""

    cell: Cell
    ours: float
    program: str
    least: float
    other: str

    @property
    def behind(self) -> float:
        """By how many elements moved and combined ours is slower."""
        network = self.cell.network
        return (self.ours - self.least) / (ELEMENT * (network.beta + network.gamma))

    @property
    def ratio(self) -> float:
        """Above 1 ours is faster."""
        return self.least / self.ours

    def __str__(self) -> str:
        names = f"{self.program} against {self.other}"
        return f"{self.ratio:.7f} at {self.cell}: {names}"

    def fields(self) -> dict[str, object]:
        """An object for JSON."""
        where = {"network": self.cell.network.text, "ranks": self.cell.ranks}
        times = {"bytes": self.cell.bytes, "ours": self.ours, "program": self.program}
        return {**where, **times, "least": self.least, "other": self.other, "ratio": self.ratio}


def main() -> None:
    """All cells, the picture, the tables."""
    options = _options()
    grid = list(cells(list(range(2, options.ranks + 1)), options.factor))
    with progress_bar() as bar:
        answers = [
            _answer(cell, not options.inexact) for cell in bar.track(grid, description="simulating")
        ]
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps([answer.fields() for answer in answers], indent=0))
    _draw(answers, options.ranks, sizes(options.factor), options.picture)
    _summary(answers)
    for network in NETWORKS:
        _table(network, [answer for answer in answers if answer.cell.network == network])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    picture = ROOT / "docs" / "pictures" / "balanced-map.svg"
    parser.add_argument("picture", nargs="?", type=Path, default=picture)
    parser.add_argument("--ranks", type=int, default=128, help="the most")
    parser.add_argument("--factor", type=int, default=2, help="from one size to the next")
    parser.add_argument("--inexact", action="store_true", help="ours combines alike everywhere")
    parser.add_argument("--json", type=Path, help="all cells")
    return parser.parse_args()


def _answer(cell: Cell, exact: bool) -> Answer:
    plan = cell.plan("fastest", exact)
    found = dict(forms(cell.ranks, cell.bytes, cell.network))
    for name in OTHERS:
        other = cell.plan(name)
        if other.time() <= HOPELESS * plan.time():
            found[name] = seconds(other)
    best = min(found, key=found.__getitem__)
    return Answer(cell, seconds(plan), f"{plan.algorithm} {plan.parameters}", found[best], best)


def _summary(answers: Sequence[Answer]) -> None:
    by_ratio = sorted(answers, key=lambda answer: answer.ratio)
    below = [answer for answer in by_ratio if answer.ratio < 1 - SAME]
    mean = geometric_mean(answer.ratio for answer in answers)
    print(f"{len(answers)} cells, {len(below)} where ours is slower; mean ratio {mean:.3f}")
    for answer in below[:12]:
        print(f"    slower by {answer.behind:.1f} elements: {answer}")
    print(f"least: {by_ratio[0]}\nmost: {by_ratio[-1]}")


def _table(network: Network, answers: Sequence[Answer]) -> None:
    found = {(answer.cell.ranks, answer.cell.bytes): answer for answer in answers}
    print(f"\n| {network.title}: ranks | " + " | ".join(map(bytes_text, TABLE_BYTES)) + " |")
    print("| --- |" + " --- |" * len(TABLE_BYTES))
    for ranks in TABLE_RANKS:
        row = [found.get((ranks, size)) for size in TABLE_BYTES]
        print(f"| {ranks} | " + " | ".join(f"{a.ratio:.2f}" if a else "-" for a in row) + " |")


def _draw(answers: Sequence[Answer], most: int, all_sizes: Sequence[int], path: Path) -> None:
    figure, panels = pyplot.subplots(1, 2, figsize=(11, 4.6), sharey=True, layout="constrained")
    shape = (len(all_sizes), most - 1)
    for network, axes in zip(NETWORKS, panels, strict=True):
        ratios = [answer.ratio for answer in answers if answer.cell.network == network]
        mesh = _panel(axes, np.array(ratios).reshape(shape[::-1]).T, all_sizes)
        axes.set_title(f"{network.title}, {network.alpha * 1e6:g} µs a message")
    panels[0].set_ylabel("size of the vector")
    ticks = [0.85, 0.9, 0.95, 1, 1.05, 1.1, 1.15]
    bar = figure.colorbar(mesh, ax=panels, extend="both", ticks=ticks)
    bar.minorticks_off()
    bar.ax.set_yticklabels([f"{tick:g}" for tick in ticks])
    bar.set_label("best of the others / ours (above 1: ours is faster)")
    figure.savefig(path, dpi=DPI, metadata={"Date": None})
    print(f"wrote {path}")


def _panel(axes: Axes, ratios: np.ndarray, all_sizes: Sequence[int]):
    ranks = np.arange(2, 2 + ratios.shape[1] + 1) - 0.5
    mesh = axes.pcolormesh(
        ranks,
        np.arange(len(all_sizes) + 1) - 0.5,
        ratios,
        norm=LogNorm(1 / WIDEST, WIDEST),
        cmap=COLOURS,
        rasterized=True,
    )
    powers = [1 << n for n in range(2, 11) if 1 << n < ranks[-1]]
    axes.set_xticks(powers)
    axes.set_xlabel("ranks")
    shown = range(0, len(all_sizes), max(1, len(all_sizes) // 8))
    axes.set_yticks(shown, [bytes_text(all_sizes[n]) for n in shown])
    return mesh


if __name__ == "__main__":
    main()
