"""Runs MPI programs with the drop-in library, and compares them with themselves without it."""

from __future__ import annotations

from .compare import KINDS, Comparison, compare, folder_of
from .job import Ended, Wishes, preload_variables, run_once

__all__ = [
    "KINDS", "Comparison", "Ended", "Wishes", "compare", "folder_of", "preload_variables",
    "run_once",
]  # fmt: skip
