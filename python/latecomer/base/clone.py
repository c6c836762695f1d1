"""The clone of the repository that this package lies in, and what builds it; an installed package
lies in none, and its user has no file of a clone."""

from __future__ import annotations

from pathlib import Path

CLONE = Path(__file__).resolve().parents[3]  # of an installed package: a folder like any other

# The remedy for what is not built.
BUILD = (
    "run ./demo or ./test at the root of the clone"
    if (CLONE / "demo").is_file()
    else "run `pip install .` in a clone of the repository (docs/install.md)"
)
