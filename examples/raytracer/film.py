"""The ray tracer's record of its frames, and the numbers of a table; times in seconds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

# `over` is associative but for rounding: images that are composited in another order may differ in
# the last bits. A pixel in the wrong order differs by far more.
LIMIT = 1e-5


@dataclass(frozen=True)
class Row:
    """One algorithm: medians over the frames."""

    drawing: float  # mean over the ranks
    last: float  # the rank that draws longest
    inside: float  # in the call, mean over the ranks
    after_last: float  # from the last arrival to the last exit
    speedup: float  # the first algorithm's over that: median of the frames' ratios
    whole: float  # until the last rank is done
    image: str  # is it the first algorithm's?


class Film:
    """The frames of all algorithms; arrays are [frame, rank]."""

    def __init__(self, lines: list[dict]) -> None:
        self.algorithms = list(dict.fromkeys(line["algorithm"] for line in lines))
        self._lines = {
            name: [line for line in lines if line["algorithm"] == name] for name in self.algorithms
        }
        # In the first frame connections are made; where it is all there is, it counts.
        self._skipped = 1 if len(self._lines[self.algorithms[0]]) > 1 else 0

    def arrival(self, name: str) -> np.ndarray:
        """The times at which ranks had drawn their parts."""
        return self._times(name, "arrival")

    def exit(self, name: str) -> np.ndarray:
        """The times at which ranks were done."""
        return self._times(name, "exit")

    def after_last(self, name: str) -> np.ndarray:
        """The time from the last arrival to the last exit, by frame."""
        return self.exit(name).max(axis=1) - self.arrival(name).max(axis=1)

    @property
    def counted(self) -> int:
        """The number of frames that count in medians."""
        return len(self.counted_frames)

    @property
    def counted_frames(self) -> range:
        """Their numbers."""
        return range(self._skipped, len(self._lines[self.algorithms[0]]))

    @cached_property
    def typical(self) -> int:
        """The frame in which the first algorithm took its median time after the last arrival."""
        times = self.after_last(self.algorithms[0])[self._skipped :]
        return int(np.argsort(times)[len(times) // 2]) + self._skipped

    def row(self, name: str) -> Row:
        """The table's row of an algorithm."""
        arrival, leave = (times[self._skipped :] for times in (self.arrival(name), self.exit(name)))
        after = self.after_last(name)[self._skipped :]
        return Row(
            drawing=float(np.median(arrival.mean(axis=1))),
            last=float(np.median(arrival.max(axis=1))),
            inside=float(np.median((leave - arrival).mean(axis=1))),
            after_last=float(np.median(after)),
            speedup=float(np.median(self.after_last(self.algorithms[0])[self._skipped :] / after)),
            whole=float(np.median(leave.max(axis=1))),
            image=self._image(name),
        )

    def wrong(self) -> list[str]:
        """Algorithms whose images differ by more than rounding does."""
        return [name for name in self.algorithms if max(self._differences(name)) > LIMIT]

    def _image(self, name: str) -> str:
        if name in self.wrong():
            return f"wrong: off by {max(self._differences(name)):.2g}"
        if name == self.algorithms[0]:
            return "others are compared with it"
        largest = max(line["from_first"] for line in self._lines[name])
        return "the same bits" if largest == 0 else f"equal to {largest:.1g}"

    def _differences(self, name: str) -> list[float]:
        ways = ("from_first", "from_alone")
        return [line[way] for line in self._lines[name] for way in ways if line[way] is not None]

    def _times(self, name: str, what: str) -> np.ndarray:
        return np.array([line[what] for line in self._lines[name]])


def read(path: Path) -> Film:
    """The film of a file of times."""
    return Film([json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()])
