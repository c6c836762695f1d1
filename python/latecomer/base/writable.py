"""Whether a file can be written: asked before hours are spent on what it is to hold."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from .errors import UserError


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
