"""Pictures of a paper beside ours: points are the paper's, lines are ours.

paper.json names the axes and curves: `pictures` has tables, metric, x, series, panels.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

from latecomer.base.units import size
from latecomer.lab.views import style
from latecomer.lab.views.curves import scale_delays
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from .comparison import PAPER, Comparison
from .predict import NOT_YET, SIMULATED
from .report import Report
from .sentences import grouped

_ACROSS = 3  # panels beside each other
_AXES = {
    "delay_ms": "delay, ms",
    "bytes": "vector, bytes",
    "ranks": "processes",
}
_METRICS = {
    "elapsed": "mean elapsed time",
    "elapsed difference": "mean elapsed time less baseline's",
    "elapsed speedup": "mean elapsed time, baseline / algorithm",
    "run": "first arrival to last exit",
    "run speedup": "baseline / algorithm",
    "root exit": "common start to the root's exit",
}
_LINES = {"-": "lines: our programs on the virtual network", "--": "dashed: closed forms"}
_CHARACTERS = 14  # of the footer, in an inch


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    spec: Mapping[str, Any]  # an entry of paper.json
    rows: list[Comparison]
    looks: Mapping[Any, tuple[str, str]]  # of the series
    xs: Sequence[float]  # of all panels of the same kind


def save(report: Report, path: Path) -> None:
    """Write the pictures as SVG or PNG, by the name's end."""
    with style.styled():
        figure = _figure(report)
        metadata = style.ANONYMOUS if path.suffix == ".svg" else None
        figure.savefig(path, facecolor=style.PAPER, metadata=metadata, dpi=130)


def inline_svg(report: Report) -> str:
    """The pictures as an element for an HTML page, with its colours."""
    return style.as_element(lambda: _figure(report))


def _figure(report: Report) -> Figure:
    panels = list(_panels(report))
    across = min(_ACROSS, max(1, len(panels)))
    down = max(1, -(-len(panels) // across))
    figure = Figure(figsize=(max(8.0, 5.2 * across), 1.2 + 4.0 * down), layout="constrained")
    FigureCanvasAgg(figure)
    places = list(figure.subplots(down, across, squeeze=False).flat)
    for axes, panel in zip(places, panels, strict=False):
        _draw(axes, panel)
    for axes in places[len(panels) :]:
        axes.set_axis_off()
    facts = report.paper.facts
    title = f"{facts['authors'].split(',')[0]} {facts['year']}: {facts['title']}\n"
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold", wrap=True)
    used = (_key(panels), f"{facts['machine']}; {report.fit.rounded}")
    columns = round(_CHARACTERS * figure.get_figwidth())
    figure.supxlabel(
        "\n".join(textwrap.fill(line, columns) for line in used), x=0.01, ha="left", fontsize=8
    )
    return figure


def _key(panels: Sequence[Panel]) -> str:
    """The legend of the marks in the picture."""
    rows = [row for panel in panels for row in panel.rows]
    sources = dict.fromkeys("the paper" if r.source == PAPER else r.source for r in rows)
    drawn = {
        _line(part)
        for panel in panels
        for part in grouped(
            panel.rows, lambda row, at=panel.spec["series"]: _value(row, at)
        ).values()
        if any(row.ours is not None for row in part)
    }
    parts = [f"points: {', '.join(sources)}", *(_LINES[style_] for style_ in sorted(drawn))]
    missing = any(row.reason.startswith(NOT_YET) for row in rows)
    return "; ".join([*parts, f"without a line: {NOT_YET}"] if missing else parts)


def _line(rows: Sequence[Comparison]) -> str:
    """The line of a series: solid only where all of it is simulated."""
    return "-" if all(row.how in (SIMULATED, "") for row in rows) else "--"


def _panels(report: Report) -> Iterator[Panel]:
    for spec in report.paper.facts["pictures"]:
        rows = [row for row in report.rows if _belongs(row, spec)]
        looks = _looks(rows, spec["series"])
        xs = sorted({_value(row, spec["x"]) for row in rows})
        for value, part in grouped(rows, lambda row, at=spec["panels"]: _value(row, at)).items():
            if len({_value(row, spec["x"]) for row in part}) > 1:
                yield Panel(_title(spec, value), spec, part, looks, xs)


def _looks(rows: Sequence[Comparison], series: str) -> dict[Any, tuple[str, str]]:
    """A colour and a marker for each series, the same in all panels."""
    values = list(dict.fromkeys(_value(row, series) for row in rows))
    if series != "algorithm":
        values.sort()
    return dict(zip(values, cycle(zip(style.COLOURS, style.MARKERS, strict=True)), strict=False))


def _belongs(row: Comparison, spec: Mapping[str, Any]) -> bool:
    number = row.number
    known = row.paper is not None and _value(row, spec["x"]) is not None and number.bytes > 0
    return known and number.table in spec["tables"] and number.metric == spec["metric"]


def _value(row: Comparison, name: str) -> Any:
    return getattr(row.number, name) if name else ""


def _title(spec: Mapping[str, Any], value: object) -> str:
    where = ", ".join(spec["tables"])
    parts = [where if len(spec["tables"]) == 1 else "", _label(spec["panels"], value)]
    return ", ".join(part for part in parts if part)


def _label(name: str, value: Any) -> str:
    if name == "bytes":
        return size(value)
    if name == "ranks":
        return f"{value} processes"
    return str(value).replace("|", " or ")


def _draw(axes: Axes, panel: Panel) -> None:
    spec = panel.spec
    for value, rows in grouped(panel.rows, lambda row: _value(row, spec["series"])).items():
        _series(axes, spec, rows, _label(spec["series"], value), *panel.looks[value])
    axes.set_title(panel.title, loc="left", fontsize=10, fontweight="bold")
    _scale(axes, panel)
    if all(row.ours is None for row in panel.rows):
        missing = any(row.reason.startswith(NOT_YET) for row in panel.rows)
        axes.text(1.0, 1.0, f"ours: {NOT_YET if missing else 'nothing'}", va="bottom", ha="right",
                  fontsize=8, transform=axes.transAxes)  # fmt: skip
    axes.legend(frameon=False, fontsize=8, handlelength=1.2, labelspacing=0.3)


def _series(
    axes: Axes,
    spec: Mapping[str, Any],
    rows: Sequence[Comparison],
    label: str,
    colour: str,
    marker: str,
) -> None:
    ordered = sorted(rows, key=lambda row: _value(row, spec["x"]))
    xs = [_value(row, spec["x"]) for row in ordered]
    paper = [_shown(row, row.paper, spec) for row in ordered]
    axes.plot(xs, paper, marker, color=colour, markersize=5, clip_on=False, label=label, zorder=3)
    own = [(x, _shown(row, row.ours, spec)) for x, row in zip(xs, ordered, strict=True)
           if row.ours is not None]  # fmt: skip
    if own:
        axes.plot(*zip(*own, strict=True), _line(ordered), color=colour, linewidth=1.5)


def _shown(row: Comparison, value: float, spec: Mapping[str, Any]) -> float:
    """The value; where asked for, less the mean wait for the one late rank."""
    if not spec.get("less_wait"):
        return value
    number = row.number
    return value - (number.delay_ms or 0) * (number.ranks - 1) / number.ranks


def _scale(axes: Axes, panel: Panel) -> None:
    spec, unit = panel.spec, panel.rows[0].number.unit
    text = _METRICS.get(spec["metric"], spec["metric"])
    if spec.get("less_wait"):
        text += " less the mean wait"
    axes.set_ylabel(text + (f", {unit}" if unit not in ("", "ratio") else ""), fontsize=9)
    axes.set_xlabel(_AXES[spec["x"]])
    _scale_x(axes, spec["x"], panel.xs)
    if spec.get("logarithmic"):
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(_plain)
        axes.yaxis.set_minor_formatter("")
    elif spec["metric"].endswith("speedup"):
        axes.axhline(1, color=style.INK, linewidth=0.8)
    elif spec["metric"].endswith("difference"):
        axes.axhline(0, color=style.INK, linewidth=0.8)
    else:
        axes.set_ylim(bottom=0)


def _plain(value: float, _position: int | None = None) -> str:
    return f"{value:g}" if value < 1e5 else f"{value:.0e}".replace("e+0", "e")


def _scale_x(axes: Axes, x: str, values: Sequence[float]) -> None:
    if x == "delay_ms":
        scale_delays(axes, values)
        axes.tick_params(axis="x", labelsize=8)
        return
    axes.set_xscale("log", base=2)
    ticks = list(values) if x == "ranks" else _powers(values)
    names = [_plain(tick) if x == "ranks" else size(round(tick)) for tick in ticks]
    axes.set_xticks(ticks, names)
    axes.minorticks_off()
    axes.tick_params(axis="x", labelsize=8)


def _powers(values: Sequence[float]) -> list[float]:
    """Powers of 32 bytes over the range."""
    return [32.0**k for k in range(1, 8) if min(values) / 2 <= 32.0**k <= 2 * max(values)]
