"""Output of the command to its user."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console
    from rich.progress import Progress

T = TypeVar("T")

_WIDE = 200  # columns of a table that no terminal shows


def say(text: str) -> None:
    """A word to the user, on stderr."""
    print(f"latecomer: {text}", file=sys.stderr, flush=True)


def print_json(value: Any) -> None:
    """One JSON value, for scripts."""
    import json

    print(json.dumps(value, indent=2))


def console() -> Console:
    """The console of tables: as wide as the terminal, or wide enough for a file."""
    import shutil

    from rich.console import Console

    found = Console(highlight=False)
    if not found.is_terminal:
        found.width = shutil.get_terminal_size((_WIDE, 0)).columns
    return found


class _NoBar:
    """Stands for a bar where the output is no terminal."""

    def __enter__(self) -> _NoBar:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def add_task(self, description: str, total: float) -> int:  # noqa: ARG002
        return 0

    def update(self, task: int, **more: object) -> None:
        pass

    def advance(self, task: int) -> None:
        pass

    def track(self, items: Iterable[T], description: str = "") -> Iterable[T]:  # noqa: ARG002
        return items


def progress_bar() -> Progress | _NoBar:
    """On stderr while something takes long, if that is a terminal; leaves no trace."""
    if not sys.stderr.isatty():
        return _NoBar()
    from rich.console import Console
    from rich.progress import Progress

    return Progress(console=Console(stderr=True), transient=True)
