"""Measures which algorithms beat the MPI library's own collectives, and writes rules of it."""

from __future__ import annotations

from .grid import Cell, Grid
from .journal import Journal, JournalError
from .measuring import Measured, measure
from .places import place_of
from .write import rules_of, write

__all__ = [
    "Cell",
    "Grid",
    "Journal",
    "JournalError",
    "Measured",
    "measure",
    "place_of",
    "rules_of",
    "write",
]
