"""Errors of a benchmark."""

from __future__ import annotations

from ...base.errors import UserError


class BenchError(UserError):
    """The benchmark could not be run, or not to its end."""


class OptionError(UserError, ValueError):
    """Options that make no sense, or not together."""
