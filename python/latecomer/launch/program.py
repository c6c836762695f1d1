"""Finds the MPI programs: one of each kind for each MPI library, built by CMake."""

from __future__ import annotations

import os
from pathlib import Path

from ..base.clone import BUILD, CLONE
from ..base.variables import folders
from . import mpi
from .mpi import LaunchError

PACKAGE = Path(__file__).resolve().parents[1]  # where `pip install` puts libraries and programs
PREFIX = "latecomer_bench_"  # and the family
CALIBRATE = "latecomer_calibrate_"  # and the family


def find(family: str, prefix: str = PREFIX) -> Path | None:
    """The program of a family."""
    return find_built(f"{prefix}{family}")


def find_built(name: str) -> Path | None:
    """A program or library by name: of $LATECOMER_PROGRAMS, installed, or of the clone."""
    named = [Path(folder) for folder in folders("LATECOMER_PROGRAMS")]
    installed = [PACKAGE / "libexec" / "latecomer", PACKAGE / "lib"]
    paths = (folder / name for folder in (*named, *installed, CLONE / "build" / "release"))
    needed = os.R_OK if name.endswith(".so") else os.X_OK
    return next((path for path in paths if os.access(path, needed)), None)


def find_library(family: str) -> Path | None:
    """The C library of a family, under the name that programs load: installed, or of the clone.

    Installed packages hold a script of the linker under its short name.
    """
    named = [Path(folder) for folder in folders("LATECOMER_PROGRAMS")]
    places = (*named, *(folder / "lib" for folder in named), PACKAGE / "lib",
              CLONE / "build" / "release" / "lib")  # fmt: skip
    pattern = f"liblatecomer_{family}.so.*"
    found = (path for folder in places for path in sorted(folder.glob(pattern), reverse=True))
    return next(found, None)


def of_family(family: str, prefix: str = PREFIX) -> Path:
    """The program of a family. Raises LaunchError."""
    if path := find(family, prefix):
        return path
    kind = {PREFIX: "benchmark", CALIBRATE: "calibration"}.get(prefix, "example")
    raise LaunchError(
        f"the {kind} program is not built",
        f"{prefix}{family}",
        f"with an mpicc of {family}, {BUILD}; or name its folder in LATECOMER_PROGRAMS",
    )


def family_of(path: Path) -> str:
    """The family in a program's name."""
    return path.name.rpartition("_")[2]


def of_any(family: str | None, prefix: str = PREFIX) -> Path:
    """The program of a family; of the preferred one that it is built for, if none is named."""
    if family:
        return of_family(family, prefix)
    known = dict.fromkeys(found.name for found in mpi.families())
    built = [path for path in (find(name, prefix) for name in known) if path]
    return built[0] if built else of_family(next(iter(known), "openmpi"), prefix)
