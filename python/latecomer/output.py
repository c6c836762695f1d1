"""How the command speaks to its user."""

from __future__ import annotations

import json
import shutil
import sys
from typing import Any

import typer
from rich.console import Console
from rich.progress import Progress

_WIDE = 200  # columns of a table that no terminal shows


def say(text: str) -> None:
    """A word to the user, on stderr."""
    typer.echo(f"latecomer: {text}", err=True)


def print_json(value: Any) -> None:
    """One JSON value, for scripts."""
    typer.echo(json.dumps(value, indent=2))


def console() -> Console:
    """Where tables go: as wide as the terminal, or wide enough for a file."""
    found = Console(highlight=False)
    if not found.is_terminal:
        found.width = shutil.get_terminal_size((_WIDE, 0)).columns
    return found


def progress_bar() -> Progress:
    """On stderr while something takes long, if that is a terminal; leaves no trace."""
    return Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
