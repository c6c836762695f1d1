"""A picture of the training's times."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
from outcome import Results

_TOTAL, _ELAPSED = "#b8bec6", "#2a7f8e"


def save(results: Results, path: Path, where: str) -> None:
    """For each kind of imbalance the time of an all-reduce and of the training, with all runs."""
    kinds = results.kinds
    if len(kinds) == 1:  # side by side, for the width of a page
        figure, axes = plt.subplots(1, 2, figsize=(9.2, 3.5), layout="constrained", squeeze=False)
        axes = axes.T
    else:
        size = (4.6 * len(kinds), 6.5)
        figure, axes = plt.subplots(2, len(kinds), figsize=size, layout="constrained")
    figure.suptitle(f"Training a convolutional network, 145578 parameters: {where}")
    for column, kind in enumerate(kinds):
        _bars(axes[0, column], results, kind, "elapsed_s", 1e3, _ELAPSED)
        _bars(axes[1, column], results, kind, "total_s", 1, _TOTAL)
        axes[0, column].set(title=kind, xlabel="all-reduce, ms from arrival to exit")
        axes[1, column].set(xlabel="training, s")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _bars(
    panel: plt.Axes, results: Results, kind: str, what: str, scale: float, colour: str
) -> None:
    names = results.algorithms(kind)
    series = [[scale * each for each in results.series(kind, name, what)] for name in names]
    middles = [sorted(each)[len(each) // 2] for each in series]
    panel.barh(names, middles, color=colour)
    for place, each in enumerate(series):
        panel.plot(each, [place] * len(each), ".", color="black", markersize=4)
    panel.invert_yaxis()
