"""Output of the command to its user."""

from __future__ import annotations

import os
import sys
import time
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rich.console import Console
    from rich.progress import Progress

T = TypeVar("T")

_MINUTE_S = 60.0
_STEP_S = 0.3  # of a bar
_NARROW, _USUAL = 40, 80  # columns
_WIDE = 200  # columns of a table that no terminal shows


def say(text: str, *, hang: int | None = None) -> None:
    """A word to the user, on stderr; with `hang` it is folded below so many of its characters."""
    from .printable import plain

    shown = "latecomer: " + "\n".join(map(plain, text.split("\n")))
    if hang is not None:
        shown = folded(shown, sys.stderr, len("latecomer: ") + hang)
    print(shown, file=sys.stderr, flush=True)


def folded(line: str, stream: TextIO, indent: int) -> str:
    """A line for a terminal, in lines of its width that are indented after the first one."""
    if not _is_screen(stream):
        return line
    from textwrap import fill

    return fill(line, _width(stream), subsequent_indent=" " * indent, break_long_words=False,
                break_on_hyphens=False)  # fmt: skip


def _is_screen(stream: TextIO) -> bool:
    """Tell a terminal that shows something from one that a launcher gives its ranks."""
    if not stream.isatty():
        return False
    try:
        return os.get_terminal_size(stream.fileno()).columns > 0 or "COLUMNS" in os.environ
    except OSError:
        return True


def _width(terminal: TextIO) -> int:
    told = os.environ.get("COLUMNS", "")
    if told.isdecimal() and len(told) < 6 and int(told):
        return max(int(told), _NARROW)
    try:
        return max(os.get_terminal_size(terminal.fileno()).columns, _NARROW)
    except OSError:
        return _USUAL


def json_text(value: Any) -> str:
    """One JSON value, for scripts."""
    import json

    return json.dumps(value, indent=2)


def print_json(value: Any) -> None:
    """One JSON value, for scripts."""
    print(json_text(value))


def console() -> Console:
    """The console of tables: as wide as the terminal, or wide enough for a file."""
    import shutil

    from rich.console import Console

    class Tables(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # the command handles it alike wherever it prints

    screen = None if _is_screen(sys.stdout) else False
    found = Tables(highlight=False, force_terminal=screen)
    if not found.is_terminal:
        found.width = shutil.get_terminal_size((_WIDE, 0)).columns
    return found


class Lines:
    """Stands for a bar where the output is no terminal: a line a minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._told = clock, clock()
        self._tasks: list[_Task] = []

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def add_task(self, description: str, total: float | None) -> Any:  # a number, as rich's are
        """The number of a task that has so much to do."""
        self._tasks.append(_Task(description, total or 0.0))
        return len(self._tasks) - 1

    def update(
        self, task: int, completed: float | None = None, description: str | None = None
    ) -> None:
        """So much of a task is done now; `description`: it is about this now."""
        known = self._tasks[task]
        if completed is not None:
            known.completed = completed
        known.description = description or known.description
        now = self._clock()
        if now - self._told >= _MINUTE_S:
            self._told = now
            say(known.text())

    def advance(self, task: int) -> None:
        self.update(task, self._tasks[task].completed + 1)

    def track(self, items: Iterable[T], description: str = "") -> Iterable[T]:
        """The items, each done when the next one is asked for."""
        every = list(items)
        task = self.add_task(description, len(every))
        for item in every:
            yield item
            self.advance(task)


@dataclass
class _Task:
    description: str
    total: float
    completed: float = 0.0

    def text(self) -> str:
        """As in `measuring: 40 %`."""
        if self.total <= 1 or not self.completed:  # only its description changes
            return self.description
        return f"{self.description}: {100 * min(self.completed / self.total, 1):.0f} %"


@contextmanager
def watched(description: str, total: float, done: Callable[[], float]) -> Iterator[None]:
    """A bar while something runs: `done`, which is asked often, tells how much of the total is."""
    with progress_bar() as bar:
        task, over = bar.add_task(description, total=total), Event()

        def watch() -> None:
            while not over.wait(_STEP_S):
                bar.update(task, completed=done())

        watcher = Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()


def elapsing(description: str, seconds: float) -> AbstractContextManager[None]:
    """A bar for work that takes about so long, and does not tell how far it is."""
    begin = time.monotonic()
    return watched(description, seconds, lambda: min(time.monotonic() - begin, 0.99 * seconds))


def progress_bar() -> Progress | Lines:
    """On stderr while something takes long: on a terminal a bar that leaves no trace."""
    if not sys.stderr.isatty():
        return Lines()
    from rich.console import Console
    from rich.progress import Progress

    return Progress(console=Console(stderr=True), transient=True)
