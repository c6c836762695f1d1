"""Checks of this machine, with the remedy for each that fails."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ...base.clone import BUILD
from ...base.errors import UserError
from ...launch import mpi, preload, processes, program
from .. import simgrid
from ..cluster import privilege, slurm

_PIP = f"{sys.executable} -m pip"
_INSTALL = {
    "openmpi": "apt-get install openmpi-bin libopenmpi-dev",
    "mpich": f"{_PIP} install mpich, or apt-get install mpich libmpich-dev",
}
_SHM = "/dev/shm"  # noqa: S108 - it is looked at
_ROOM = 64 << 20  # the least that containers have by default
_CLOCK = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
_SLOW_CLOCKS = ("hpet", "acpi_pm", "jiffies", "refined-jiffies")  # of devices, or ticks
_NEEDED_BY = {"numpy": "needed", "mpi4py": "for latecomer.Communicator",
              "torch": "for latecomer.torch", "pyarrow": "for tables in Parquet"}  # fmt: skip
_RANKS = 4  # of the pages' examples
_AS_ROOT = ("OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
_MORE_RANKS = {  # by version
    "4": "OMPI_MCA_rmaps_base_oversubscribe=1",
    "5": "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe",
}
_THREADS = re.compile(r"^option:threads:.*MPI_THREAD_MULTIPLE:\s*(\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Finding:
    """One line of `latecomer doctor`."""

    name: str
    ok: bool
    text: str
    remedy: str = ""  # if not ok
    optional: bool = False  # latecomer works without it, but for what the remedy names


def findings() -> list[Finding]:
    """All findings, in the order in which they are shown."""
    families = mpi.families()
    return [
        _core(),
        *(_family(name, families) for name in _INSTALL),
        *_thread_levels(families),
        *_four_ranks(families),
        *(_bench(family.name) for family in families),
        _dropin(),
        _shared_memory(),
        _clock(),
        *_namespaces(),
        _simgrid(),
        _slurm(),
        _tool("C++ compiler", ("c++", "g++", "clang++"), "apt-get install g++"),
        _tool("CMake", ("cmake",), "apt-get install cmake"),
        *map(_package, ("numpy", "mpi4py", "torch", "pyarrow")),
        Finding("cores", True, str(len(os.sched_getaffinity(0)))),
        Finding("memory", True, _memory()),
    ]


def can_bench(found: Sequence[Finding]) -> bool:
    """Tell whether there are the core, and an MPI library with the benchmark program for it."""
    good = {finding.name for finding in found if finding.ok}
    families = [name for name in _INSTALL if {_mpi_line(name), _bench_line(name)} <= good]
    return _CORE in good and bool(families)


def can_run(found: Sequence[Finding]) -> list[str]:
    """The MPI libraries whose programs can run with the drop-in library."""
    good = {finding.name for finding in found if finding.ok}
    return [name for name in _INSTALL if {_mpi_line(name), _DROPIN} <= good]


_CORE, _DROPIN = "compiled core", "drop-in library"


def _mpi_line(family: str) -> str:
    return f"MPI library {family}"


def _bench_line(family: str) -> str:
    return f"benchmark for {family}"


def _core() -> Finding:
    try:
        from ...core.compiled import __version__
    except ImportError as error:
        return Finding(_CORE, False, str(error), BUILD)
    return Finding(_CORE, True, f"latecomer {__version__}")


def _family(name: str, families: Sequence[mpi.Family]) -> Finding:
    own = [family for family in families if family.name == name]
    if not own:
        built = program.find(name)
        remedy = _INSTALL[name] if built else f"{_INSTALL[name]}; then {BUILD}"
        return Finding(_mpi_line(name), False, "not found", remedy, optional=bool(families))
    return Finding(_mpi_line(name), True, "; ".join(map(_describe, own)))


def _describe(family: mpi.Family) -> str:
    compiler = "" if family.mpicc else ", no compiler wrapper"
    return f"{family.version} ({family.mpirun}{compiler})"


def _thread_levels(families: Sequence[mpi.Family]) -> Iterator[Finding]:
    """Only Open MPI tells without starting a job."""
    for family in families:
        info = family.mpirun.with_name("ompi_info")
        if family.name == "openmpi" and info.exists():
            answer = _THREADS.search(processes.output_of([str(info), "--parsable", "--config"]))
            if answer:
                ok = answer[1] == "yes"
                text = "MPI_THREAD_MULTIPLE" if ok else "no MPI_THREAD_MULTIPLE"
                remedy = "background progress needs a library configured with it"
                yield Finding(f"threads of {family.name}", ok, text, remedy)


def _four_ranks(families: Sequence[mpi.Family]) -> Iterator[Finding]:
    """Open MPI refuses root, and more ranks than cores, unless variables tell it otherwise."""
    cores = len(os.sched_getaffinity(0))
    for family in families:
        if family.name != "openmpi":
            continue
        needed = list(_AS_ROOT if os.geteuid() == 0 else ())
        if cores < _RANKS:
            needed.append(_MORE_RANKS["4" if family.version.startswith("4.") else "5"])
        absent = [each for each in needed if each.partition("=")[0] not in os.environ]
        text = f"starts with Open MPI {family.version}"
        if absent:
            text = f"Open MPI {family.version} wants variables, as root or with few cores"
        yield Finding(f"mpirun -n {_RANKS} ./app", not absent, text, f"export {' '.join(absent)}")


def _bench(family: str) -> Finding:
    if path := program.find(family):
        return Finding(_bench_line(family), True, str(path))
    return Finding(_bench_line(family), False, "not built", BUILD)


def _dropin() -> Finding:
    try:
        path = preload.library()
    except UserError as error:
        return Finding(_DROPIN, False, f"{error.what}: {error.value}", error.remedy)
    if not _loads(path):
        return Finding(_DROPIN, False, f"{path} cannot be loaded", "install it for this system")
    return Finding(_DROPIN, True, f"{path}, which a process loads")


def _loads(path: Path) -> bool:
    """Try it in a process: the dynamic linker warns where it cannot load a library, and goes on."""
    env = {**os.environ, "LD_PRELOAD": str(path)}
    tried = subprocess.run([sys.executable, "-c", ""], env=env, capture_output=True, check=False)
    refused = [line for line in tried.stderr.split(b"\n") if b"cannot be preloaded" in line]
    return tried.returncode == 0 and not any(os.fsencode(path) in line for line in refused)


def _shared_memory() -> Finding:
    """Ranks of a node, and the MPI libraries, talk through files there."""
    try:
        room = shutil.disk_usage(_SHM).free
    except OSError:
        room = 0
    ok = os.access(_SHM, os.W_OK) and room >= _ROOM
    remedy = "in a container: --shm-size=1g; else mount -o remount,size=1g /dev/shm"
    return Finding(_SHM, ok, f"{room / (1 << 20):.0f} MiB free", remedy)


def _clock() -> Finding:
    """The source that a rank's clock is read from: through the kernel each look costs more."""
    try:
        name = _CLOCK.read_text(encoding="ascii").strip()
    except OSError:
        return Finding("clock", True, "its source is not told")
    remedy = "traces cost more time; boot with clocksource=tsc if the processor's is stable"
    return Finding("clock", name not in _SLOW_CLOCKS, f"CLOCK_MONOTONIC from {name}", remedy)


def _package(name: str) -> Finding:
    """A package of Python, which is not imported: that may take seconds, or start MPI."""
    try:
        return Finding(name, True, version(name))
    except PackageNotFoundError:
        remedy = f"{_NEEDED_BY[name]}: {_PIP} install {name}"
        return Finding(name, False, "not installed", remedy, optional=name != "numpy")


def _namespaces() -> Iterator[Finding]:
    try:
        sandbox = privilege.sandbox()
    except UserError as error:
        yield Finding("emulated cluster", False, f"{error.what}: {error.value}", error.remedy)
        return
    how = "in a user namespace" if "--user" in sandbox.flags else "as root"
    yield Finding("emulated cluster", True, f"namespaces and shaped links, {how}")
    names = ", ".join(sandbox.congestion)
    remedy = "as root: modprobe tcp_cubic"
    yield Finding("congestion control", "cubic" in sandbox.congestion, names or "none", remedy)


def _simgrid() -> Finding:
    if path := simgrid.find():
        version = processes.output_of([str(path), "--version"]).strip()
        return Finding("SimGrid", True, f"{version or 'version unknown'} ({path})")
    return Finding("SimGrid", False, "not built", simgrid.REMEDY, optional=True)


def _slurm() -> Finding:
    if absent := slurm.missing():
        text = f"no {', '.join(absent)}"
        return Finding("Slurm in the lab", False, text, slurm.REMEDY, optional=True)
    version = processes.output_of([slurm.tool("slurmd"), "-V"]).strip()
    return Finding("Slurm in the lab", True, version or "version unknown")


def _tool(name: str, programs: Sequence[str], remedy: str) -> Finding:
    for path in filter(None, map(shutil.which, programs)):
        lines = processes.output_of([path, "--version"]).splitlines()
        return Finding(name, True, f"{lines[0] if lines else 'version unknown'} ({path})")
    return Finding(name, False, "not found", remedy)


def _memory() -> str:
    lines = Path("/proc/meminfo").read_text().splitlines()
    size = {line.split(":")[0]: int(line.split()[1]) for line in lines}
    total, free = (size[name] / (1 << 20) for name in ("MemTotal", "MemAvailable"))
    return f"{total:.1f} GiB, {free:.1f} GiB of it available"
