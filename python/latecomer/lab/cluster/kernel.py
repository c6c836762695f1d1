"""The few Linux calls behind namespaces that Python before 3.12 does not offer."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

NEW_NETWORK = 0x40000000  # CLONE_NEWNET
NEW_HOST_NAME = 0x04000000  # CLONE_NEWUTS
NEW_TIME = 0x00000080  # CLONE_NEWTIME
_MS_BIND = 4096

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mount.argtypes = [ctypes.c_char_p] * 3 + [ctypes.c_ulong, ctypes.c_void_p]


def unshare(kinds: int) -> None:
    """Give this process new namespaces of these kinds. Raises OSError."""
    _check(_LIBC.unshare(kinds), "unshare")


def join(namespace: Path, kind: int) -> None:
    """Move this process into the namespace that a file stands for. Raises OSError."""
    handle = os.open(namespace, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _check(_LIBC.setns(handle, kind), namespace)
    finally:
        os.close(handle)


def bind(source: str, target: Path) -> None:
    """Make the existing `target` show `source`. Raises OSError."""
    _check(_LIBC.mount(source.encode(), bytes(target), None, _MS_BIND, None), target)


def mount(kind: str, target: Path) -> None:
    """Cover `target` with a new file system such as tmpfs or sysfs. Raises OSError."""
    _check(_LIBC.mount(kind.encode(), bytes(target), kind.encode(), 0, None), target)


def _check(result: int, subject: object) -> None:
    if result:
        error = ctypes.get_errno()
        raise OSError(error, f"{os.strerror(error)} ({subject})")
