"""The picture of a calibration: time of a message by size, measured and as the model has it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from ...base.units import seconds, size
from ..views import style
from .costs import line
from .fit import Fit, findings
from .result import Result

_LOOKS = {
    "ring": ("all ranks in a ring", 0),
    "exchange": ("all ranks, pairwise both ways", 1),
    "exchange, received first": ("the same, receive posted first", 4),
    "pair": ("one pair, back and forth", 2),
    "rested": ("one pair, after a pause", 3),
    "local": ("ranks of one host", 5),
}


def save(result: Result, path: Path) -> None:
    """Write the picture as SVG or PNG, by the name's end."""
    with style.styled():
        figure = Figure(figsize=(12.5, 5.4), layout="constrained")
        FigureCanvasAgg(figure)
        left, right = figure.subplots(1, 2)
        _times(left, result.fit)
        _ratios(right, result.fit)
        used = result.used
        title = f"Time of a message on {used['ranks']} ranks, {used['place']}, {used['mpi']}"
        figure.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold")
        said = "\n".join([result.fit.text, *findings(result.fit)])
        figure.supxlabel(said, x=0.01, ha="left", fontsize=7.5)
        style.write(figure, path)


def _times(axes: Axes, fit: Fit) -> None:
    axes.set_title("time: medians and quartiles; dashed: the model", loc="left", fontsize=10)
    for name, (words, place) in _LOOKS.items():
        if curve := fit.measured.curves.get(name):
            q1, median, q3 = 1e6 * np.percentile(curve.times, (25, 50, 75), axis=0)
            _draw(axes, curve.sizes, median, place, words)
            colour = style.COLOURS[place]
            axes.fill_between(curve.sizes, q1, q3, color=colour, alpha=0.2, linewidth=0)
    sizes = fit.measured.curves["ring"].sizes
    model = 1e6 * line(fit.costs, fit.measured.eager, sizes)
    axes.plot(sizes, model, color=style.INK, linestyle="--", linewidth=1.6, label="model")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: seconds(1e-6 * value)))
    axes.legend(frameon=False, fontsize=8.5, loc="upper left")
    _over_sizes(axes, fit)


def _ratios(axes: Axes, fit: Fit) -> None:
    axes.set_title("measured over the model", loc="left", fontsize=10)
    for name, (words, place) in _LOOKS.items():
        curve = fit.measured.curves.get(name)
        if curve and name != "local":
            model = line(fit.costs, fit.measured.eager, curve.sizes)
            _draw(axes, curve.sizes, curve.medians / model, place, words)
    axes.axhline(1, color=style.INK, linestyle="--", linewidth=1.6)
    axes.set_ylim(bottom=0)
    _over_sizes(axes, fit)


def _draw(axes: Axes, sizes: np.ndarray, values: np.ndarray, place: int, words: str) -> None:
    axes.plot(sizes, values, linewidth=1.4, label=words, color=style.COLOURS[place],
              marker=style.MARKERS[place], markersize=4)  # fmt: skip


def _over_sizes(axes: Axes, fit: Fit) -> None:
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: size(value)))
    eager = fit.measured.eager
    if 0 < eager < fit.measured.header["largest"]:
        axes.axvline(eager, color=style.INK, linewidth=1, linestyle=":")
        axes.annotate(
            f"eager up to {size(eager)}",
            (eager, 0),
            (4, 4),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            fontsize=8.5,
        )
