"""The compiled core, or an error that says how to get it."""

from __future__ import annotations

from ..base.clone import BUILD

try:
    from .. import _core as core
except ImportError as error:
    raise ImportError(
        f"the compiled core of latecomer cannot be loaded: {error}; {BUILD}"
    ) from error

__all__ = ["Network", "__version__", "core"]

Network = core.Network
__version__: str = core.version
