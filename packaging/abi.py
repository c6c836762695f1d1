"""Compares the C interface with the last release's, by abidiff (Debian: abigail-tools).

Usage: abi.py check|save      `save` makes today's interface the one to compare with.

Programs see the public headers and the symbols of the libraries. A small library is compiled from
the headers, with debug information, that has a pointer to each function: libabigail reads from it
the functions' types and the structures that they name. MPI's own types are left open, so that the
result is the same with every MPI library. Symbols come from the built libraries: each must have
just the functions of its headers.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADERS = ROOT / "include" / "latecomer"
STORED = ROOT / "packaging" / "abi" / "latecomer.abi"
LIBRARIES = ROOT / "build" / "release" / "lib"
MPI_H = "".join(
    f"typedef struct mpi_{name} *MPI_{name};\n" for name in ("Comm", "Datatype", "Op", "Info")
)
COMPATIBLE = ("--no-added-syms",)  # new functions are no fault


def functions(header: str) -> list[str]:
    """The functions that a header declares."""
    text = re.sub(r"/\*.*?\*/", "", (HEADERS / header).read_text(encoding="utf-8"), flags=re.S)
    return sorted(set(re.findall(r"LATECOMER_API[^;(]*?\b(latecomer_\w+)\(", text)))


def probe(folder: Path) -> Path:
    """The description of the interface, as abidw writes it."""
    (folder / "mpi.h").write_text(MPI_H)
    every = sorted({*functions("latecomer.h"), *functions("latecomer_mpi.h")})
    pointers = "".join(f"__typeof__({name}) *probe_{name};\n" for name in every)
    (folder / "probe.c").write_text(f"#include <latecomer/latecomer_mpi.h>\n{pointers}")
    library = folder / "liblatecomer.so"
    options = ["-g", "-fno-common", "-fno-eliminate-unused-debug-types", "-shared", "-fPIC"]
    _run(["cc", *options, "-I.", f"-I{HEADERS.parent}", "probe.c", "-o", library.name], folder)
    found = folder / "latecomer.abi"
    quiet = ["--no-corpus-path", "--no-comp-dir-path", "--no-show-locs"]
    _run(["abidw", *quiet, "--out-file", found.name, library.name], folder)
    return found


def strangers() -> list[str]:
    """Symbols that a built library has beside its headers, or lacks."""
    core, all_ = set(functions("latecomer.h")), set(functions("latecomer_mpi.h"))
    faults = []
    for path in sorted(LIBRARIES.glob("liblatecomer_*.so")):
        right = core if path.name == "liblatecomer_core.so" else core | all_
        listed = _run(["nm", "-D", "--defined-only", str(path)], ROOT)
        found = set(re.findall(r" T (latecomer_\w+)", listed))
        faults += [f"{path.name}: {name}" for name in sorted(found ^ right)]
    return faults


def _run(command: list[str], folder: Path) -> str:
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise SystemExit(f"{' '.join(command)}: {ended.stderr.strip()}")
    return ended.stdout


def check(found: Path, stored: Path = STORED) -> str:
    """Return names that an old program would miss; empty: none."""
    command = ["abidiff", *COMPATIBLE, str(stored), str(found)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    return ended.stdout + ended.stderr if ended.returncode else ""


def main(word: str) -> int:
    """The exit code: 1 for an interface that breaks old programs."""
    if missing := [name for name in ("abidw", "abidiff", "cc") if not shutil.which(name)]:
        raise SystemExit(f"no {', '.join(missing)}; apt-get install abigail-tools gcc")
    if faults := strangers():
        print("symbols that are not those of the headers:", *faults, sep="\n  ")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        found = probe(Path(folder))
        if word == "save":
            shutil.copy(found, STORED)
            print(f"wrote {STORED.relative_to(ROOT)}")
            return 0
        said = check(found)
    print(said or "the C interface serves programs of the last release")
    return bool(said)


if __name__ == "__main__":
    if sys.argv[1:] not in (["check"], ["save"]):
        raise SystemExit(__doc__)
    sys.exit(main(sys.argv[1]))
