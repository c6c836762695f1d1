"""Runs MPI programs with the drop-in library, and compares them with themselves without it."""

from __future__ import annotations

from .compare import Comparison, compare
from .job import Ended, Wishes, preload_variables, run_once

__all__ = ["Comparison", "Ended", "Wishes", "compare", "preload_variables", "run_once"]
