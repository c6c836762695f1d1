"""Pictures of the ray tracer's frames: the image, and the times of the ranks."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from film import Film
from matplotlib.ticker import MaxNLocator

_DRAWING, _BEFORE, _AFTER = "#b8bec6", "#c8553d", "#2a7f8e"


def save_image(folder: Path, frame: int) -> None:
    """One frame as image.png."""
    plt.imsave(folder / "image.png", plt.imread(folder / f"frame-{frame:03d}.ppm"))


def save_chart(film: Film, path: Path, where: str) -> None:
    """One frame rank by rank, before and after, and all frames."""
    before, after = film.algorithms[0], _best(film)
    figure, axes = plt.subplots(2, 2, figsize=(11, 7.5), layout="constrained")
    figure.suptitle(f"Ray tracing, images composited by a reduction: {where}")
    for side, (name, colour) in enumerate(((before, _BEFORE), (after, _AFTER))):
        _frame(axes[0, side], film, name, colour)
    longest = max(film.exit(name)[film.typical].max() for name in (before, after))
    for panel in axes[0]:
        panel.set_xlim(0, 1e3 * longest * 1.03)
    for panel in axes[1]:
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    _lateness(axes[1, 0], film, before)
    _all_frames(axes[1, 1], film)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _best(film: Film) -> str:
    """The algorithm with the least time after the last arrival, except the first."""
    others = film.algorithms[1:] or film.algorithms
    return min(others, key=lambda name: film.row(name).after_last)


def _frame(panel: plt.Axes, film: Film, name: str, colour: str) -> None:
    arrival, leave = (1e3 * times[film.typical] for times in (film.arrival(name), film.exit(name)))
    ranks = np.arange(len(arrival))
    panel.barh(ranks, arrival, color=_DRAWING, label="draws")
    panel.barh(ranks, leave - arrival, left=arrival, color=colour, label="is in the reduction")
    last = {"color": "black", "linewidth": 0.9, "linestyle": ":", "label": "last arrival"}
    panel.axvline(arrival.max(), **last)
    panel.set(title=f"{name}, frame {film.typical}", xlabel="ms since the frame began")
    panel.set_yticks(ranks, [f"rank {rank}" for rank in ranks])
    panel.invert_yaxis()
    panel.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=3, fontsize=8)


def _lateness(panel: plt.Axes, film: Film, name: str) -> None:
    drawn = panel.imshow(1e3 * film.arrival(name).T, aspect="auto", cmap="magma_r")
    panel.set(title=f"how long ranks draw, ms ({name})", xlabel="frame", ylabel="rank")
    panel.get_figure().colorbar(drawn, ax=panel)


def _all_frames(panel: plt.Axes, film: Film) -> None:
    for name in film.algorithms:
        times = 1e3 * film.after_last(name)
        panel.plot(film.counted_frames, times[film.counted_frames.start :], marker=".", label=name)
    panel.set(title="last exit after the last arrival, ms", xlabel="frame")
    panel.set_ylim(bottom=0)
    panel.legend(fontsize=8)
