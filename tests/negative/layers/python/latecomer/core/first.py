"""Rejected by tools/check_layers.py: first and second import each other."""

from .second import TWO  # noqa: F401

ONE = 1
