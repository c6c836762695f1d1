"""Environment variables: one that is empty counts as not set."""

from __future__ import annotations

import os


def variable(name: str) -> str | None:
    """The value of an environment variable; None: it is not set, or empty."""
    return os.environ.get(name) or None


def folders(name: str) -> list[str]:
    """The entries of a variable like PATH."""
    return [entry for entry in (variable(name) or "").split(":") if entry]
