"""Files are written whole or not at all: what was there before stays until the new one is ready.

`check_file` asks whether one can be written, before hours are spent on its content.
"""

from __future__ import annotations

import gzip
import io
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from .errors import UserError

_PART = ".latecomer-"  # begins the names of files that are not whole yet


@contextmanager
def fresh(path: Path, suffix: str = "") -> Iterator[Path]:
    """A file beside `path`, which takes its place when the block has ended without an error.

    Its name ends otherwise, for programs that read all files of one end: in `suffix`, if that is
    given. A pipe, a device, or a file in a folder that may not be written is written itself. Errors
    of the system name `path`.
    """
    part = None
    try:
        part = _beside(path, suffix)
        yield part or path
        if part:
            part.replace(path.resolve())
    except OSError as error:
        if error.filename is None or _PART in str(error.filename):
            error.filename = str(path)
        raise
    finally:
        if part:
            with suppress(OSError):
                part.unlink(missing_ok=True)


def _beside(path: Path, suffix: str) -> Path | None:
    if path.exists() and not path.is_file():  # also one without a name, as /dev/stdout of a pipe
        return None
    there = path.resolve()  # what a link names is replaced, not the link
    try:
        handle, name = tempfile.mkstemp(suffix, _PART, there.parent)
    except PermissionError:
        if there.exists():
            return None
        raise
    os.close(handle)
    part = Path(name)
    part.chmod(there.stat().st_mode & 0o777 if there.exists() else 0o666 & ~_umask())
    return part


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


@contextmanager
def fresh_text(path: Path, newline: str | None = None) -> Iterator[TextIO]:
    """As `fresh`, opened for text as UTF-8: packed by gzip where the name ends in .gz."""
    with fresh(path) as part, part.open("wb") as file:
        to: gzip.GzipFile | io.BufferedWriter = file
        if path.name.lower().endswith(".gz"):
            to = gzip.GzipFile("", "wb", 6, file, mtime=0)  # without a name and a date
        with io.TextIOWrapper(to, "utf-8", newline=newline) as out:
            yield out


def write_text(path: Path, text: str) -> None:
    """Write a text as UTF-8. Raises OSError, which names the file."""
    with fresh(path) as part:
        part.write_text(text, encoding="utf-8")


def check_apart(outputs: Sequence[Path], inputs: Sequence[Path] = ()) -> None:
    """Refuse files that would be written twice, or over what is read. Raises UserError."""
    seen: set[object] = set()
    read = {_identity(each) for each in inputs}
    for path in outputs:
        own = _identity(path)
        if own in seen:
            raise UserError("two results in one file", path, "give each a name of its own")
        if own in read:
            raise UserError("a result over a file that is read", path, "name another file")
        seen.add(own)


def _identity(path: Path) -> object:
    """Equal for all names of one file; devices may be written several times."""
    try:
        found = path.stat()
    except OSError:
        return str(path.resolve())
    return (found.st_dev, found.st_ino) if path.is_file() else object()


class WriteError(UserError, ValueError):
    """A file that an option names cannot be written."""


def check_file(what: str, path: Path) -> None:
    """Check that the file can be written; `what` is it for. Changes nothing. Raises WriteError."""
    if path.is_dir():
        raise WriteError(f"a folder is no file for {what}", path, "name a file in it")
    if not path.exists():
        check_folder(what, path.absolute().parent, path)
    elif not os.access(path, os.W_OK):
        raise WriteError(f"cannot write {what}", path, "name a file that can be written")


def check_folder(what: str, folder: Path, path: Path) -> None:
    """Check that `path` can be made in the folder. Raises WriteError."""
    if not folder.is_dir():
        raise WriteError(f"no such folder for {what}", path, "make it first, with mkdir")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        why = error.strerror or error
        remedy = "name one in a folder that can be written to"
        raise WriteError(f"cannot write {what} ({why})", path, remedy) from None
