"""An HTML page that plays a call, beside another one with the same arrivals.

It is one file that loads nothing. Without JavaScript it shows the whole calls.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...base import pages
from .replay import Call, Followed, Labels

MOST_BYTES = 2_000_000
MOST_RANKS = 64

_SPAN = 100_000  # times in the page are whole numbers up to here
_LEFT, _WIDTH, _GAP, _BARS = 58, 800, 22, 110  # columns: names, time, between, results held
_TOP = 22
_PARTIAL, _FINAL, _CONTROL = range(3)  # kinds of moves


def page(calls: Sequence[Call], labels: Labels, vector: float, used: Mapping[str, object]) -> str:
    """The whole page. The calls have the same arrivals; `vector` is the time of the vector on a
    link, or 0. `used` says how to repeat it.
    """
    return _Page(calls, _Unit.of(labels, vector), used).text()


@dataclass(frozen=True)
class _Unit:
    """The unit in which the page shows times after the last arrival."""

    name: str
    scale: float  # how many of it are one second
    meaning: str = ""

    @classmethod
    def of(cls, labels: Labels, vector: float) -> _Unit:
        """M where transfers take time by their length, else that of the labels."""
        if vector <= 0:
            return cls(labels.unit, labels.scale)
        meaning = f"M is the time of the whole vector on a link, {labels.time(vector)}. "
        if labels.steps:
            meaning += "A step is the time of one block or segment, with its start-up. "
        return cls("M", 1 / vector, meaning)

    @property
    def digits(self) -> int:
        return 0 if self.name == "steps" else 2

    def text(self, seconds: float) -> str:
        return f"{seconds * self.scale:.{self.digits}f} {self.name}"


class _Page:
    def __init__(self, calls: Sequence[Call], unit: _Unit, used: Mapping[str, object]) -> None:
        self.calls, self.unit, self.used = calls, unit, used
        arrivals = calls[0].simulation.arrivals
        self.start = min(0.0, float(arrivals.min()))
        self.last = float(arrivals.max())
        self.end = max(float(call.simulation.exits.max()) for call in calls)
        self.ranks = calls[0].schedule.ranks
        self.row = 30 if self.ranks <= 8 else 22 if self.ranks <= 16 else 13

    def text(self) -> str:
        return pages.page(
            __package__,
            ["drawing.js", "page.js"],
            title=self._title(),
            lead=self._lead(),
            said=self._said(),
            span=_SPAN,
            figures=[self._figure(number) for number in range(len(self.calls))],
            left=_LEFT,
            right=_LEFT + _WIDTH,
            bars_at=_LEFT + _WIDTH + _GAP,
            bar=_BARS,
            top=_TOP,
            row=self.row,
            bottom=_TOP + self.row * self.ranks,
            ticks=list(self._ticks()),
            used=pages.told(self.used),
            data=self._data(),
        )

    def _title(self) -> str:
        first = self.calls[0].schedule
        return f"latecomer: {first.algorithm}, {first.collective} on {self.ranks} ranks"

    def _lead(self) -> str:
        imbalance = self.unit.text(self.last - float(self.calls[0].simulation.arrivals.min()))
        return (
            f"{self.unit.meaning}The last rank arrives {imbalance} after the first one. "
            "Time on the virtual network goes to the right, with one row for each rank."
        )

    def _said(self) -> str:
        """The times of the others, and then of the first one."""
        after = {call.schedule.algorithm: call.simulation.after_last for call in self.calls}
        if len(self.calls) == 1:
            ((name, time),) = after.items()
            return f"{name} ends {self.unit.text(time)} after the last arrival"
        own, other = self.calls[0], self.calls[1]
        return (
            f"{_short(other, own)} ends {self.unit.text(other.simulation.after_last)} after the "
            f"last arrival, {_short(own, other)} {self.unit.text(own.simulation.after_last)}"
        )

    # ---- the picture

    def _x(self, time: float) -> float:
        return _LEFT + _WIDTH * self._time(time) / _SPAN

    def _time(self, seconds: float) -> int:
        return round((seconds - self.start) / (self.end - self.start or 1.0) * _SPAN)

    def _figure(self, number: int) -> dict[str, Any]:
        """A call as positions of the template's picture, in its units."""
        call = self.calls[number]
        end = self._x(float(call.simulation.exits.max()))
        ends = {self._x(float(each.simulation.exits.max())) for each in self.calls}
        times = zip(call.simulation.arrivals, call.simulation.exits, strict=True)
        lanes = [
            {"top": _TOP + rank * self.row, "middle": _TOP + (rank + 0.5) * self.row,
             "here": self._x(float(arrival)), "gone": self._x(float(leave)),
             "held": _BARS if self._needed(number, rank) else 0}
            for rank, (arrival, leave) in enumerate(times)
        ]  # fmt: skip
        marks = [("other", x) for x in ends - {end}] + [("late", self._x(self.last)), ("end", end)]
        return {"call": call, "number": number, "lanes": lanes, "bars": self._bars(call),
                "marks": marks, "late": self._x(self.last), "end": end}  # fmt: skip

    def _bars(self, call: Call) -> dict[str, str]:
        """By colour, one path of thick lines for the bars."""
        paths: dict[str, str] = defaultdict(str)
        for number, load in call.followed.loads.items():
            move = call.simulation.trace[number]
            begin, end = self._x(move.begin), self._x(move.end)
            width = max(end - begin - 0.4, 0.4)
            for rank, share in ((move.sender, 0.27), (move.receiver, 0.73)):
                y = _TOP + (rank + share) * self.row
                paths["final" if load.final else "partial"] += f"M{begin:.1f} {y:.1f}h{width:.1f}"
        return paths

    def _ticks(self) -> Iterator[tuple[float, str]]:
        """Positions and words, counted from the last arrival."""
        length = (self.end - self.start) * self.unit.scale
        step = next(s * t for t in (10.0**e for e in range(-3, 9)) for s in (1, 2, 5)
                    if length / (s * t) <= 12)  # fmt: skip
        first = -int((self.last - self.start) * self.unit.scale / step)
        last = int((self.end - self.last) * self.unit.scale / step)
        for tick in range(first, last + 1):
            x = self._x(self.last + tick * step / self.unit.scale)
            yield x, f"{round(tick * step, 6):g}" + (f" {self.unit.name}" if tick == last else "")

    # ---- the data

    def _data(self) -> dict[str, Any]:
        return {
            "span": _SPAN,
            "last": self._time(self.last),
            "scale": (self.end - self.start) * self.unit.scale / _SPAN,
            "unit": self.unit.name,
            "digits": self.unit.digits,
            "ranks": self.ranks,
            "columns": [_LEFT, _WIDTH, _BARS],
            "top": _TOP,
            "row": self.row,
            "calls": [self._call(number) for number in range(len(self.calls))],
        }

    def _call(self, number: int) -> dict[str, Any]:
        call, followed = self.calls[number], self.calls[number].followed
        moves = [
            [move.sender, move.receiver, self._time(move.begin), self._time(move.end), kind]
            for place, move in enumerate(call.simulation.trace)
            if (kind := _kind(followed, place, bool(move.control))) is not None
        ]
        held = [
            [self._time(time), rank, 1000 * elements // self._needed(number, rank)]
            for time, rank, elements in followed.held
            if self._needed(number, rank)
        ]
        return {"name": call.schedule.algorithm, "moves": moves, "held": list(_changes(held))}

    def _needed(self, number: int, rank: int) -> int:
        """The elements of a rank's result."""
        return self.calls[number].schedule.problem.output(rank)[1]


def _kind(followed: Followed, place: int, control: bool) -> int | None:
    if control:
        return _CONTROL
    load = followed.loads.get(place)
    if load is None:
        return None
    return _FINAL if load.final else _PARTIAL


def _changes(held: Iterable[list[int]]) -> Iterator[list[int]]:
    """Without those that repeat the last one of the rank."""
    known: dict[int, int] = {}
    for time, rank, part in held:
        if known.get(rank, 0) != part:
            known[rank] = part
            yield [time, rank, part]


def _short(call: Call, other: Call) -> str:
    """The algorithm's name, with its parameters where the other one has the same name."""
    same = call.schedule.algorithm == other.schedule.algorithm
    return call.name if same else call.schedule.algorithm
