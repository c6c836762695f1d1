"""Places in a program as function and line, by its debugging information.

A place is `module+0x12f9`, perhaps with a symbol behind it: an address to return to. Lines are told
only by a binary that is the one that ran: by its size and time of change, or because it was not
changed since. Whatever fails leaves a place as it is. Places of a Python program's calls lie in
mpi4py's module, and tell nothing of the program.
"""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

from ..trace.about import About

_SITE = re.compile(r"([^+/]{1,200})\+0x([0-9a-f]{1,16})(?: \((.+)\+0x[0-9a-f]+\))?")
# mpi4py's module, as in MPI.openmpi.cpython-311-x86_64-linux-gnu.so.
_MPI4PY = re.compile(r"MPI(\.[\w-]+)*\.(so|pyd)")
PYTHON = "Python (all its calls count as one place)"
_TOOLS = (
    ("llvm-symbolizer", ["--output-style=GNU", "--functions", "--demangle", "--no-inlines"]),
    ("addr2line", ["-f", "-C"]),
)
_MOST = 2000  # places
_LONGEST = 60  # characters of a function's name
_SECONDS = 10.0  # for all binaries together


def lines_of(sites: Iterable[str], about: About, seconds: float = _SECONDS) -> dict[str, str]:
    """Those that are known, as "main (app.c:42)" or, by the symbol alone, "main (app+0x12f9)"."""
    found: dict[str, str] = {}
    modules: dict[str, dict[str, int]] = {}
    for site in list(dict.fromkeys(sites))[:_MOST]:
        match = _SITE.fullmatch(site)
        if not match:
            continue
        module, offset, symbol = match[1], int(match[2], 16), match[3]
        if _MPI4PY.fullmatch(module):
            found[site] = PYTHON
            continue
        modules.setdefault(module, {})[site] = offset
        if symbol:
            found[site] = f"{_short(symbol)} ({module}+0x{offset:x})"
    until = time.monotonic() + seconds
    for module, offsets in modules.items():
        binary = _binary(module, about)
        if binary:
            found |= _asked(binary, offsets, until)
    return found


def _binary(module: str, about: About) -> Path | None:
    """The file of a module as it was when the program ran; None: not found, or changed since."""
    program, folders = about.program, [Path.cwd()]
    if program and program.name == module:
        return program if _unchanged(program, about, named=True) else None
    if program:
        folders.append(program.parent)
    folders += [Path(each) for each in os.environ.get("LD_LIBRARY_PATH", "").split(":") if each]
    places = (folder / module for folder in folders)
    return next((path for path in places if _unchanged(path, about, named=False)), None)


def _unchanged(path: Path, about: About, *, named: bool) -> bool:
    try:
        is_file, found = path.is_file(), path.stat()
    except (OSError, ValueError):
        return False
    if named and about.changed:
        return is_file and (found.st_size, found.st_mtime_ns) == (about.bytes, about.changed)
    return is_file and 0 < found.st_mtime < about.started


def _asked(binary: Path, offsets: dict[str, int], until: float) -> dict[str, str]:
    base = _first_address(binary)
    if base is None:
        return {}
    # The call is before the address to which it returns.
    addresses = [hex(max(base + offset - 1, 0)) for offset in offsets.values()]
    for name, options in _TOOLS:
        left = until - time.monotonic()
        if left <= 0:
            return {}
        tool = shutil.which(name)
        if not tool:
            continue
        try:
            ended = subprocess.run(
                [tool, *options, "-e", str(binary), *addresses],
                check=False, capture_output=True, timeout=left, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError):
            continue
        told = ended.stdout.decode("utf-8", "replace").splitlines()
        if len(told) == 2 * len(addresses):
            named = zip(offsets, told[::2], told[1::2], strict=True)
            return {site: _place(function, line) for site, function, line in named
                    if _known(function, line)}  # fmt: skip
    return {}


def _known(function: str, line: str) -> bool:
    return "??" not in function and not line.startswith("??") and not line.endswith((":0", ":?"))


def _place(function: str, line: str) -> str:
    return f"{_short(function)} ({line.rpartition('/')[2].split(' ')[0]})"


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else name[: _LONGEST - 3] + "..."


def _first_address(binary: Path) -> int | None:
    """Where the file's first page lies before it is moved: 0, or 0x400000. None: no ELF file."""
    try:
        with binary.open("rb") as file:
            head = file.read(64)
            if len(head) < 64 or head[:6] != b"\x7fELF\x02\x01":
                return None
            at, size, count = (struct.unpack_from(kind, head, where)[0]
                               for kind, where in (("<Q", 32), ("<H", 54), ("<H", 56)))  # fmt: skip
            file.seek(at)
            table = file.read(size * count)
        segments = [struct.unpack_from("<IIQQ", table, size * i) for i in range(count)]
    except (OSError, ValueError, OverflowError, struct.error):
        return None
    loaded = [address for kind, _, _, address in segments if kind == 1]
    return min(loaded) & ~0xFFF if loaded else None
