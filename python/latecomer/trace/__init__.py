"""Traces: when each rank entered and left each collective call, from whatever wrote them."""

from __future__ import annotations

from pathlib import Path

from .model import UNKNOWN, Group, Trace, TraceError, Words

__all__ = ["UNKNOWN", "Group", "Trace", "TraceError", "Words", "read"]


def read(folder: str | Path) -> Trace:
    """The trace in a folder, whichever program wrote it. Raises TraceError.

    Read are files of LATECOMER_TRACE, of PyTorch's profiler, and OTF2 archives.
    """
    from . import kineto, native, otf2_archive

    folder = Path(folder)
    if not native.is_folder_of_trace(folder):
        if otf2_archive.is_archive(folder):
            return otf2_archive.read(folder)
        if kineto.is_folder_of_traces(folder):
            return kineto.read(folder)
    return native.read(folder)
