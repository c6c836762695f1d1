"""Checks, before a sweep is simulated, that a picture can hold it."""

from __future__ import annotations

from ..options.errors import OptionError
from .sweep import Sweep

_MOST = 12


def check_panels(sweep: Sweep) -> None:
    """Raises OptionError if ranks, sizes and delays need too many panels."""
    fewer = min(len(sweep.ranks), len(sweep.counts))
    if len(sweep.ranks) == len(sweep.counts) == 1:
        return  # one picture over the delay
    panels = fewer * max(1, len(sweep.delays))
    if panels > _MOST:
        remedy = f"use {_MOST} at most: fewer ranks, sizes or delays, or --output FILE.csv"
        raise OptionError("--plot would have too many panels", panels, remedy)
