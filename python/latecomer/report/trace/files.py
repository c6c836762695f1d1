"""The files of a folder, and the text in one of them.

Folders come from strangers. Only regular files are opened: another kind could make the reader wait
for ever. Text is read piece by piece, unpacked if it is gzip's, within limits that are stated here.
"""

from __future__ import annotations

import codecs
import contextlib
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from ...base import regular_files
from .left_out import LeftOut
from .model import TraceError

MOST_FILES = 1 << 16
MOST_ENTRIES = 1 << 20  # of all folders at one depth that are looked at
MOST_DEPTH = 2  # folders in the folder
MOST_BYTES = 2 << 30  # of the text of one file, unpacked
MOST_TIMES = 100  # that gzip's text may be as long as its file, once it is longer than ...
FREE_BYTES = 16 << 20  # ... this
_CHUNK = 1 << 20
_CHECKSUM = re.compile("incorrect (data|length) check")  # after all data of a part
_GZIP = b"\x1f\x8b"
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"),
          (codecs.BOM_UTF16_BE, "utf-16"))  # fmt: skip


def levels(folder: Path) -> Iterator[list[Path]]:
    """What is in the folder, then what is in its folders, and so on. Raises TraceError."""
    within = [folder]
    for _ in range(MOST_DEPTH + 1):
        found: list[Path] = []
        for each in within:
            if len(found) < MOST_ENTRIES:
                found += _entries(each, each == folder)
        yield found
        within = [each for each in found[:MOST_FILES] if is_folder(each)]
        if not within:
            return


def _entries(folder: Path, asked: bool) -> list[Path]:
    """What is in a folder; one that nobody asked for may be closed."""
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        if asked:
            raise TraceError(f"{folder}: cannot be read", error.strerror,
                             "name a folder that you may read") from None  # fmt: skip
        return []


def is_folder(path: Path) -> bool:
    """Tell whether it is a folder that may be looked at, or a link to one."""
    try:
        return path.is_dir()
    except OSError:
        return False


def find(folder: Path, fits: Callable[[str], object], left: LeftOut) -> list[Path]:
    """The regular files whose names fit, in the folder or else in its folders.

    Raises TraceError where there are too many.
    """
    for level in levels(folder):
        named = [path for path in level if fits(path.name)]
        found = [path for path in named if is_regular(path)]
        for path in named:
            if not is_regular(path):
                left.add(
                    "what is named as a file of a trace and is no regular file", path, kind(path)
                )
        if len(found) > MOST_FILES:
            raise TraceError(f"{folder}: files of a trace", len(found),
                             f"right would be at most {MOST_FILES}")  # fmt: skip
        if found:
            return found
    return []


def is_regular(path: Path) -> bool:
    """Tell whether it is a regular file, or a link to one."""
    try:
        return path.is_file()
    except OSError:
        return False


def kind(path: Path) -> str:
    """What a path is, for people."""
    try:
        return regular_files.kind(path.stat().st_mode)
    except OSError as error:
        return error.strerror or "cannot be looked at"


def text(
    path: Path, cut: Callable[[str], None], left: LeftOut, most: int = MOST_BYTES
) -> Iterator[str]:
    """The text of a file, piece by piece. Raises TraceError where it is too much.

    `cut` hears why the text ends early, where it does. Bytes that are no UTF-8 are replaced.
    """

    def odd(what: str) -> None:
        left.doubt(f"texts of files with an error: {what}", path)

    decoder = None
    for piece in _bytes(path, cut, odd, most):
        if decoder is None:
            name = next((name for mark, name in _MARKS if piece.startswith(mark)), "utf-8")
            decoder = codecs.getincrementaldecoder(name)("replace")
        yield decoder.decode(piece)
    if decoder is not None and (rest := decoder.decode(b"", final=True)):
        yield rest


def _bytes(
    path: Path, cut: Callable[[str], None], odd: Callable[[str], None], most: int
) -> Iterator[bytes]:
    size = 0
    try:
        with regular_files.opened(path) as file:
            length = path.stat().st_size
            packed = file.peek(2)[:2] == _GZIP
            times = max(FREE_BYTES, MOST_TIMES * length) if packed else most
            for piece in _unpacked(file, cut, odd) if packed else _plain(file):
                size += len(piece)
                if size > most:
                    remedy = f"at most {most >> 20} MiB are read: profile fewer steps"
                    raise TraceError(f"{path}: size", f"more than {most} bytes", remedy)
                if size > times:
                    remedy = f"at most {MOST_TIMES} times as much is read: unpack it if it is right"
                    raise TraceError(f"{path}: text of a file of {length} bytes",
                                     f"more than {times} bytes", remedy)  # fmt: skip
                yield piece
    except OSError as error:
        raise TraceError(f"{path}: cannot be read", error.strerror, "check the file") from None


def _plain(file: BinaryIO) -> Iterator[bytes]:
    while piece := file.read(_CHUNK):
        yield piece


def _unpacked(
    file: BinaryIO, cut: Callable[[str], None], odd: Callable[[str], None]
) -> Iterator[bytes]:
    """Each part of a gzip file; what follows the last part is ignored."""
    inflate = zlib.decompressobj(31)
    packed = b""
    while True:
        packed = packed or file.read(_CHUNK)
        before = inflate.copy()
        try:
            piece = inflate.decompress(packed, _CHUNK) if packed else inflate.flush()
        except zlib.error as error:
            yield from _until_damage(before, packed)
            if _CHECKSUM.search(str(error)):
                odd("gzip checksum wrong")
            else:
                cut(f"damaged gzip data ({error})")
            return
        if piece:
            yield piece
        if inflate.eof:
            packed = (inflate.unused_data or file.read(_CHUNK)).lstrip(b"\0")
            if not packed.startswith(_GZIP):
                return
            inflate = zlib.decompressobj(31)
        elif not packed:
            cut("the gzip data are not whole")
            return
        else:
            packed = inflate.unconsumed_tail


def _until_damage(inflate: zlib._Decompress, packed: bytes) -> Iterator[bytes]:
    """All that can be unpacked before an error, byte by byte."""
    with contextlib.suppress(zlib.error):
        for at in range(len(packed)):
            yield inflate.decompress(packed[at : at + 1])


def lines(pieces: Iterable[str], longest: int, overlong: Callable[[], None]) -> Iterator[str]:
    """The lines of a text, each with its end. One of more characters is told, and empty."""
    rest, skipped = "", False
    for piece in pieces:
        *whole, rest = (rest + piece).split("\n")
        for line in whole:
            long = skipped or len(line) > longest
            if long:
                overlong()
            yield "\n" if long else line + "\n"
            skipped = False
        if len(rest) > longest:
            rest, skipped = "", True
    if skipped:
        overlong()
    elif rest:
        yield rest
