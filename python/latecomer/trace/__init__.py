"""Traces: when each rank entered and left each collective call, from whatever wrote them."""

from __future__ import annotations

from .model import UNKNOWN, Group, Trace, TraceError, Words

__all__ = ["UNKNOWN", "Group", "Trace", "TraceError", "Words", "read"]


def read(folder):
    """The trace in a folder that the library wrote with LATECOMER_TRACE: see `native.read`."""
    from .native import read as read_native

    return read_native(folder)
