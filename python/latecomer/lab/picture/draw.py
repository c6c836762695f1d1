"""Draws a schedule: one lane for each rank, time to the right, an arrow for each transfer."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, Patch, Rectangle
from matplotlib.ticker import MaxNLocator

from ...core.simulation import Move
from .replay import Call, Labels, Load, segments

Look = dict[str, Any]  # keywords of matplotlib

# Colours that colour-blind readers can tell apart, and that differ in print without colour.
_PARTIAL, _FINAL, _COMBINE, _COPY = "#D98200", "#0060A8", "#2B2B2B", "#9A9A9A"
_ADD = "#7A5195"
_COMPUTING, _INSIDE, _CONTROL = "#DCDCDC", "#8FA3B0", "#6B7078"
_STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 9,
    "pdf.fonttype": 42,  # text stays text
    "svg.fonttype": "path",
    "svg.hashsalt": "latecomer",  # the same file each time
}
_TICK: Look = {"linewidth": 2.0, "solid_capstyle": "butt", "zorder": 5}
_ARRIVAL_KEY: Look = {"marker": "|", "markersize": 10, "markeredgewidth": 2.0, "label": "arrival"}
_NUMBER_KEY: Look = {"color": _PARTIAL, "markersize": 5}
_HORIZON_KEY: Look = {"linestyle": "none", "marker": "$7$", "color": _CONTROL, "markersize": 5}
_SHORT: Look = {"linewidth": 3.0, "solid_capstyle": "butt", "zorder": 4}
_EXIT: Look = {
    "marker": "o",
    "markersize": 5,
    "markerfacecolor": "white",
    "markeredgecolor": "black",
    "linestyle": "none",
    "zorder": 6,
}
_ARROW: Look = {
    "arrowstyle": "-|>",
    "mutation_scale": 8,
    "linewidth": 1.1,
    "shrinkA": 0,
    "shrinkB": 0,
    "zorder": 3,
}
_DOTTED: Look = {"color": _CONTROL, "linewidth": 0.8, "linestyle": (0, (1, 1.4))}
_LEGEND: Look = {"frameon": False, "fontsize": 8, "handlelength": 1.4, "columnspacing": 1.4}
_DATE = {".svg": "Date", ".pdf": "CreationDate"}
_MOST_NUMBERS = 160  # arrows; more numbers would hide them


def draw(file: Path, call: Call, labels: Labels) -> None:
    """Write the picture. Raises OSError."""
    with matplotlib.rc_context(_STYLE):
        figure = _Picture(call, labels).figure()
        # No date, so that the same schedule makes the same file.
        stamp = {} if file.suffix.lower() == ".png" else {_DATE[file.suffix.lower()]: None}
        figure.savefig(file, dpi=200, bbox_inches="tight", metadata=stamp)


class _Picture:
    def __init__(self, call: Call, labels: Labels) -> None:
        schedule, simulation, nodes = call.schedule, call.simulation, call.nodes
        self.schedule = schedule
        self.nodes = nodes
        self.simulation = simulation
        self.labels = labels
        loads, moves = call.followed.loads, enumerate(simulation.trace)
        self.transfers = [(move, loads[i]) for i, move in moves if move.kind == "message"]
        self.control = [move for move in simulation.trace if move.control]
        self.locals = [move for move in simulation.trace if move.local]
        self.flags = [move for move in simulation.trace if move.kind == "flag"]
        order: Iterable[int] = range(schedule.ranks)
        if len(schedule.order) == schedule.ranks:  # the algorithm has a pattern
            order = schedule.order
        if nodes:  # node by node
            order = sorted(order, key=lambda rank: nodes[rank])
        self.lanes = {rank: lane for lane, rank in enumerate(order)}
        self.start = min(0.0, float(simulation.arrivals.min()))
        self.end = float(simulation.exits.max())
        self.step = self._step()
        self.width = min(max(1.5 + 0.42 * (self.end - self.start) / self.step, 5.0), 18.0)
        self.segments = segments(load for _, load in self.transfers)
        self.numbered = len(self.segments) > 1 and len(self.transfers) <= _MOST_NUMBERS

    def figure(self) -> Figure:
        height = 1.4 + 0.52 * self.schedule.ranks
        figure = Figure(figsize=(self.width, height), layout="constrained")
        axes = figure.add_subplot()
        for rank in range(self.schedule.ranks):
            self._lane(axes, rank)
        for number, move in enumerate(self.control):
            self._dotted(axes, f"control-{number}", move)
        for number, move in enumerate(self.flags):  # from who raised it to whose wait it ended
            if move.sender != move.receiver:
                self._dotted(axes, f"flag-{number}", move)
        for number, (move, load) in enumerate(self.transfers):
            self._arrow(axes, number, move, load)
        for number, move in enumerate(self.locals):
            self._work(axes, number, move)
        self._log(axes)
        self._frame(axes)
        self._between_nodes(axes)
        columns = 9 if self.width > 7 else 4
        figure.legend(handles=self._legend(), loc="outside lower left", ncols=columns, **_LEGEND)
        return figure

    def _step(self) -> float:
        """The time of a typical transfer; with none of them, of the whole picture."""
        times = sorted(move.end - move.begin for move, _ in self.transfers)
        found = times[len(times) // 2] if times else self.end - self.start
        return found or 1.0

    def _lane(self, axes: Axes, rank: int) -> None:
        lane, scale = self.lanes[rank], self.labels.scale
        arrival = float(self.simulation.arrivals[rank]) * scale
        leave = float(self.simulation.exits[rank]) * scale
        axes.plot([arrival, leave], [lane, lane], color=_INSIDE, linewidth=1.6, zorder=1)
        if arrival > self.start * scale:
            begin = self.start * scale
            bar = Rectangle(
                (begin, lane - 0.17), arrival - begin, 0.34, facecolor=_COMPUTING, zorder=1
            )
            _named(axes.add_patch(bar), f"computing-{rank}")
        tick = axes.plot([arrival, arrival], [lane - 0.26, lane + 0.26], color="black", **_TICK)
        _named(tick[0], f"arrival-{rank}")
        leaving = axes.plot([leave], [lane], **_EXIT)
        _named(leaving[0], f"exit-{rank}")

    def _dotted(self, axes: Axes, name: str, move: Move) -> None:
        times = [move.begin * self.labels.scale, move.end * self.labels.scale]
        lanes = [self.lanes[move.sender], self.lanes[move.receiver]]
        _named(axes.plot(times, lanes, zorder=2, **_DOTTED)[0], name)

    def _between_nodes(self, axes: Axes) -> None:
        """A line between the lanes of different nodes."""
        order = sorted(self.lanes, key=lambda rank: self.lanes[rank])
        for number, (above, below) in enumerate(pairwise(order)):
            if self.nodes and self.nodes[above] != self.nodes[below]:
                line = axes.axhline(number + 0.5, color=_COPY, linewidth=0.8, zorder=0.5)
                _named(line, f"node-{self.nodes[below]}")

    def _log(self, axes: Axes) -> None:
        """The round from which on each rank takes part, and above the ranks the horizon."""
        scale, apart = self.labels.scale, 0.028 * self.width * self.step
        for rank, round_, time in self.simulation.log:
            where = (time * scale, self.lanes[rank] - 0.3)
            text = axes.annotate(f"from round {round_}", where, fontsize=6.5, va="bottom", zorder=7)
            text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.4, "alpha": 0.85})
            _named(text, f"entry-{rank}")
        last = -float("inf")
        for number, (time, round_) in enumerate(self.simulation.horizons):
            if time < last + apart:
                continue  # it would cover the one before
            last = time
            where = (time * scale, -0.75)
            text = axes.annotate(f"{round_}", where, fontsize=6.5, color=_CONTROL, ha="center")
            _named(text, f"horizon-{number}")

    def _arrow(self, axes: Axes, number: int, move: Move, load: Load) -> None:
        scale = self.labels.scale
        tail = (move.begin * scale, self.lanes[move.sender])
        head = (move.end * scale, self.lanes[move.receiver])
        colour = _FINAL if load.final else _PARTIAL
        arrow = FancyArrowPatch(tail, head, color=colour, **_ARROW)
        _named(axes.add_patch(arrow), f"transfer-{number}")
        if self.numbered:
            segment = str(self.segments.index((load.first, load.end)))
            _number(axes, tail, head, segment, colour)

    def _work(self, axes: Axes, number: int, move: Move) -> None:
        lane, scale = self.lanes[move.sender], self.labels.scale
        colour = {"combine": _COMBINE, "copy": _COPY, "accumulate": _ADD}[move.kind]
        if move.flag is not None:  # the first one copies
            colour = _ADD
        begin, width = move.begin * scale, (move.end - move.begin) * scale
        if move.end - move.begin < 0.05 * self.step:  # too short to be seen: a tick
            middle = begin + width / 2
            lanes = [lane - 0.12, lane + 0.12]
            bar: Artist = axes.plot([middle, middle], lanes, color=colour, **_SHORT)[0]
        else:
            whole = Rectangle((begin, lane - 0.12), width, 0.24, facecolor=colour, zorder=4)
            bar = axes.add_patch(whole)
        _named(bar, f"local-{number}")

    def _frame(self, axes: Axes) -> None:
        scale = self.labels.scale
        margin = 0.03 * (self.end - self.start) * scale or 0.5
        axes.set_xlim(self.start * scale - margin, self.end * scale + margin)
        axes.set_ylim(self.schedule.ranks - 0.5, -1.1 if self.simulation.horizons else -0.6)
        axes.set_yticks(list(self.lanes.values()), [f"rank {rank}" for rank in self.lanes])
        axes.set_xlabel(f"time ({self.labels.unit})")
        ticks = int(self.width * (2.2 if self.labels.steps else 1.3))
        axes.xaxis.set_major_locator(MaxNLocator(nbins=ticks, integer=self.labels.steps))
        axes.grid(axis="x", color="#EBEBEB", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.tick_params(length=0)
        axes.spines[["left", "right", "top"]].set_visible(False)
        axes.set_title(self._title(), loc="left", fontsize=9)

    def _title(self) -> str:
        schedule, time = self.schedule, self.labels.time
        words = [f"{schedule.ranks} ranks", schedule.parameters.replace(" ", ", ")]
        last = time(self.end - self.start)
        after = time(self.simulation.after_last)
        return (
            f"{schedule.algorithm}: {', '.join(filter(None, words))}\n"
            f"total time {last}, after the last arrival {after}"
        )

    def _legend(self) -> list[Artist]:
        finals = [load.final for _, load in self.transfers]
        kinds = {"accumulate" if m.flag is not None else m.kind for m in self.locals}
        late = self.simulation.arrivals.max() > self.start
        piece = "block" if "blocks=" in self.schedule.parameters else "segment"
        entries = [
            (late, Patch(color=_COMPUTING, label="still computing")),
            (True, Line2D([], [], linestyle="none", color="black", **_ARRIVAL_KEY)),
            (True, Line2D([], [], label="exit", **_EXIT)),
            (False in finals, Line2D([], [], color=_PARTIAL, label="partial result")),
            (True in finals, Line2D([], [], color=_FINAL, label="final result")),
            (
                self.numbered,
                Line2D([], [], linestyle="none", marker="$2$", label=piece, **_NUMBER_KEY),
            ),
            (bool(self.control), Line2D([], [], label="control message", **_DOTTED)),
            (bool(self.simulation.horizons), Line2D([], [], label="horizon", **_HORIZON_KEY)),
            (bool(self.flags), Line2D([], [], label="flag of a node", **_DOTTED)),
            ("accumulate" in kinds, Patch(color=_ADD, label="add to the node's buffer")),
            ("combine" in kinds, Patch(color=_COMBINE, label="combine")),
            ("copy" in kinds, Patch(color=_COPY, label="copy")),
        ]
        return [artist for shown, artist in entries if shown]


def _number(
    axes: Axes, tail: tuple[float, float], head: tuple[float, float], text: str, colour: str
) -> None:
    share = 0.35 / abs(head[1] - tail[1])  # between the sender's lane and the next
    x = tail[0] + share * (head[0] - tail[0])
    y = tail[1] + share * (head[1] - tail[1])
    box = {"boxstyle": "circle,pad=0.12", "facecolor": "white", "edgecolor": "none"}
    axes.text(
        x, y, text, color=colour, fontsize=6.5, ha="center", va="center", bbox=box, zorder=3.5
    )


def _named(artist: Artist, name: str) -> None:
    """The name is the element's id in an SVG."""
    artist.set_gid(name)
