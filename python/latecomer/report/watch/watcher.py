"""Looks at a running job again and again, and remembers who was late."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..trace.stuck import LONG_S, Stuck, age, is_gone, stuck
from .late import Now, now
from .window import WINDOW_S, Seen, Window

_REMEMBERED = 256  # times


@dataclass(frozen=True)
class Time:
    """A time during which the same ranks were late; seconds since 1970."""

    late: tuple[int, ...]
    begin: float
    last: float  # when they were seen to be
    before: bool = False  # it may have begun before `begin`


@dataclass(frozen=True)
class View:
    """One look."""

    real: float  # seconds since 1970
    seen: Seen
    now: Now | None  # None: nothing is known of the last seconds
    stuck: Sequence[Stuck]
    times: Sequence[Time]  # of lateness so far; the last one may go on
    over: bool  # no rank goes on

    @property
    def _absent(self) -> set[int]:
        return {rank for each in self.stuck for rank in each.late}

    @property
    def late(self) -> tuple[int, ...]:
        """Who is late, or has not come to a call in which others wait for long."""
        if self._absent:
            return tuple(sorted(self._absent))
        return tuple(self.now.facts.late) if self.now else ()

    @property
    def since(self) -> float | None:
        """Since when, in seconds since 1970; None: nobody is late."""
        if self._absent:
            return self.real - max(each.seconds for each in self.stuck if each.late)
        return self.now.since if self.now and self.now.facts.late else None

    @property
    def earlier(self) -> bool:
        """True if it may have begun before `since`: nothing is known of that time."""
        return not self._absent and bool(self.now and self.now.facts.late and self.now.before)

    @property
    def before(self) -> list[Time]:
        """The earlier times of the ranks that are late now."""
        past = self.times[:-1] if self.now and self.now.facts.late else self.times
        return [each for each in past if self.late and each.late == self.late]


class Watcher:
    """Looks at one folder. The clocks can be others, for tests."""

    def __init__(
        self,
        folder: Path,
        clock: Callable[[], float] | None = None,
        calendar: Callable[[], float] | None = None,
    ) -> None:
        self.window = Window(folder)
        self._clock, self._calendar = clock or time.monotonic, calendar or time.time
        self._times: deque[Time] = deque(maxlen=_REMEMBERED)

    def __enter__(self) -> Watcher:
        return self

    def __exit__(self, *error: object) -> None:
        self.window.close()

    def look(self) -> View:
        """Read what is new, and judge. Raises TraceError for a folder that cannot be read."""
        clock, real = self._clock(), self._calendar()
        seen = self.window.look(clock)
        if seen.fresh:
            self._times.clear()
        waits = stuck(seen.files, seen.tails, clock, real)
        ends = [tail.ended or (age(tail, clock, real) >= LONG_S and is_gone(tail))
                for tail in seen.tails.values()]  # fmt: skip
        over = 0 < seen.ranks == sum(ends)
        moves = any(age(tail, clock, real) < LONG_S for tail in seen.tails.values())
        found = None
        if seen.found and moves and not over:
            found = now(seen.found, whole=not any(tail.cut for tail in seen.tails.values()))
        if found and (found.facts.late or found.was):
            found = self._remember(found)
        return View(real, seen, found, waits, list(self._times), over)

    def _remember(self, found: Now) -> Now:
        """With the begin of what goes on already. A pause of a window at most is none."""
        late = found.was or tuple(found.facts.late)
        last = self._times[-1] if self._times else None
        if last and last.late == late and found.since <= last.last + WINDOW_S:
            self._times[-1] = replace(last, last=found.until)
            return replace(found, since=last.begin, before=last.before)
        self._times.append(Time(late, found.since, found.until, found.before))
        return found
