"""Reading of files that a user or a stranger names: regular ones, so that nothing waits."""

from __future__ import annotations

import errno
import io
import os
import stat
from pathlib import Path

_KINDS = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))


def opened(path: Path) -> io.BufferedReader:
    """The file, to be read. Raises OSError, also where it is no regular file.

    Files of the kernel's own, such as /proc/kmsg, say that they are regular and empty, and would
    wait: they are taken as empty. Reading others does not wait either.
    """
    handle = os.open(os.fspath(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    found = os.fstat(handle)
    if stat.S_ISREG(found.st_mode) and found.st_size:
        return os.fdopen(handle, "rb")
    os.close(handle)
    if stat.S_ISREG(found.st_mode):
        return io.BufferedReader(io.BytesIO())
    raise OSError(errno.EINVAL, f"{kind(found.st_mode)} and no regular file", str(path))


def read(path: Path, most: int = -1) -> bytes:
    """The first bytes of a regular file, or all. Raises OSError."""
    with opened(path) as file:
        found = file.read(most)
    if found is None:
        raise BlockingIOError(errno.EAGAIN, "no content for now: no regular file", str(path))
    return found


def read_text(path: Path, most: int = -1) -> str:
    """As UTF-8, without the mark that some editors begin a file with. Raises OSError and
    UnicodeDecodeError."""
    return read(path, most).decode("utf-8-sig")


def kind(mode: int) -> str:
    """The kind of file that has this mode, for people."""
    return next((name for test, name in _KINDS if test(mode)), "a device")
