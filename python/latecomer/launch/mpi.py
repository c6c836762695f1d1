"""The MPI libraries of this machine, and how each of them starts ranks."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..base.errors import UserError
from ..base.variables import folders
from . import processes

FAMILIES = ("openmpi", "mpich")

_LAUNCHERS = ("mpirun", "mpiexec", "mpirun.openmpi", "mpiexec.mpich", "mpiexec.hydra")
_OTHER_LAUNCHERS = ("srun", "orterun", "prterun", "prun", "aprun", "jsrun", "latecomer")
_OPENMPI_VERSION = re.compile(r"\((?:Open MPI|OpenRTE|PRRTE)\) (\S+)")
_MPICH_VERSION = re.compile(r"HYDRA build details:\s+Version:\s+(\S+)")
_MPICH_DEVICE = re.compile(r"--with-device=ch4:([a-z,]+)")
_LINKED = re.compile(r"libmpi(?:ch)?\.so\.(12|40) => (\S+)")  # Debian's MPICH is libmpich.so.12
_FAMILY_OF_SONAME = {"40": "openmpi", "12": "mpich"}

_SONAMES = {"openmpi": "libmpi.so.40", "mpich": "libmpi.so.12"}
LIBRARY_OF_MPI4PY = "MPI4PY_LIBMPI"  # a variable of mpi4py

# A batch system or an outer mpirun talks to its children through these; a second
# launcher that saw them would take our ranks for its own.
_JOB_VARIABLES = re.compile(
    r"(SLURM|PBS|LSB|PMI|PMI2|PMIX|OMPI_COMM_WORLD|OMPI_UNIVERSE|HYDI|MPI_LOCAL)_"
)

_LIBRARY = re.compile(r"(Open MPI|MPICH)\D*([\w.]+)")  # the library's text about itself


class LaunchError(UserError):
    """No MPI library, or not the one asked for."""


_SPELLED = {"openmpi": "Open MPI", "mpich": "MPICH"}


@dataclass(frozen=True)
class Family:
    """One installed MPI library."""

    name: str  # "openmpi" or "mpich"
    version: str
    mpicc: Path | None  # None: programs can be run but not compiled
    mpirun: Path
    found: str  # where it was found: "LATECOMER_MPI", "PATH" or "python"
    netmods: tuple[str, ...] = ()  # MPICH: the network layers it was built with

    def describe(self) -> str:
        """Name and version, for the `mpi` column."""
        return f"{self.name} {self.version}"

    @property
    def shares_memory(self) -> bool:
        """Tell whether ranks of one host talk through its memory in the lab.

        MPICH without ofi has no memory transport beside UCX, which the lab confines to TCP.
        """
        return self.name != "mpich" or "ofi" in self.netmods


@dataclass(frozen=True)
class Launch:
    """A command with the whole environment to start it in."""

    command: list[str]
    env: dict[str, str] = field(repr=False)
    library: str = ""  # name and version; empty if the command is a launcher of the user's


@dataclass(frozen=True)
class Cluster:
    """The facts that a launcher needs to start ranks on other hosts than its own."""

    agent: str  # stands in for ssh: AGENT HOST COMMAND...
    openmpi_hosts: str  # file of lines "node0 slots=1"
    hydra_hosts: str  # file of lines "node0:1"
    interface: str
    subnet: str
    shares_hosts: bool = False  # several ranks on each host
    crowded: bool = False  # more ranks than the machine has cores

    def environment(self, netmods: Sequence[str] = ()) -> dict[str, str]:
        """The variables that make every launcher and library use this cluster."""
        return self._openmpi() | self._prrte() | self._hydra() | self._mpich(netmods)

    def _openmpi(self) -> dict[str, str]:
        values = {
            "plm_rsh_agent": self.agent,
            "plm_rsh_no_tree_spawn": "1",
            # A daemon that makes itself a session of its own makes a scheduling group of its host,
            # and Linux may starve one group for another (docs/decisions/0004-private-lab.md).
            "orte_leave_session_attached": "1",
            "orte_default_hostfile": self.openmpi_hosts,
            "oob_tcp_if_include": self.subnet,
            "btl_tcp_if_include": self.subnet,
            "pml": "ob1",
            "btl": "tcp,self,vader" if self.shares_hosts else "tcp,self",
            "rmaps_base_oversubscribe": "1",
            "hwloc_base_binding_policy": "none",
            "mpi_yield_when_idle": "1",
        }
        return {f"OMPI_MCA_{name}": value for name, value in values.items()}

    def _prrte(self) -> dict[str, str]:  # the launcher of Open MPI 5
        values = {
            "plm_ssh_agent": self.agent,
            "plm_ssh_no_tree_spawn": "1",
            "prte_leave_session_attached": "1",
            "prte_default_hostfile": self.openmpi_hosts,
            "prte_if_include": self.subnet,
            # Without "slot" all ranks would share the first host.
            "rmaps_default_mapping_policy": "slot:oversubscribe",
            "hwloc_default_binding_policy": "none",
        }
        return {f"PRTE_MCA_{name}": value for name, value in values.items()}

    def _hydra(self) -> dict[str, str]:
        return {
            "HYDRA_LAUNCHER": "ssh",
            "HYDRA_LAUNCHER_EXEC": self.agent,
            "HYDRA_HOST_FILE": self.hydra_hosts,
            "HYDRA_RMK": "user",
        }

    def _mpich(self, netmods: Sequence[str]) -> dict[str, str]:
        network = {
            "FI_PROVIDER": "tcp",
            "FI_TCP_IFACE": self.interface,
            "UCX_TLS": "tcp,self",
            "UCX_NET_DEVICES": self.interface,
        }
        # ofi where both are built in: over UCX's tcp a late rank slows the others down.
        network |= {"MPIR_CVAR_CH4_NETMOD": "ofi"} if "ofi" in netmods else {}
        return network | (self._mpich_sharing_cores() if self.shares_hosts and self.crowded else {})

    def _mpich_sharing_cores(self) -> dict[str, str]:
        # Ranks that share memory poll it without a pause: on shared cores 1 MiB took 12 s. So they
        # sleep a microsecond between polls. Collectives of their own for one host would not.
        collectives = ("ALLREDUCE", "REDUCE", "BCAST", "BARRIER")
        return {
            "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
            "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "1",
        } | {f"MPIR_CVAR_{name}_POSIX_INTRA_ALGORITHM": "mpir" for name in collectives}


def families() -> list[Family]:
    """Every MPI library found, the preferred one first.

    Looked for in $LATECOMER_MPI (launchers, or folders that hold one or have it in bin/, separated
    by colons), then on PATH, then beside this Python (where `pip install mpich` puts it).
    """
    asked: set[Path] = set()
    found: dict[tuple[str, str, Path], Family] = {}
    for launcher, where in _candidates():
        real = launcher.resolve()
        if real in asked:
            continue
        asked.add(real)
        if answer := _ask(launcher, where):
            found.setdefault((answer.name, answer.version, real.parent), answer)
    return list(found.values())


def family(name: str | None = None) -> Family:
    """The preferred library, or the preferred one called `name`. Raises LaunchError."""
    known = families()
    for candidate in known:
        if name in (None, candidate.name):
            return candidate
    raise LaunchError(
        "no such MPI library here",
        name or "any",
        f"found: {', '.join(f.describe() for f in known) or 'none'}; install one with "
        "'apt-get install openmpi-bin libopenmpi-dev' or 'pip install mpich', "
        "or name its folder in LATECOMER_MPI",
    )


def family_of(program: str, known: Sequence[Family] | None = None) -> Family | None:
    """The library that `program` (a path, or a name on PATH) is linked with, None if none."""
    linked = _linked_with(program)
    if not linked:
        return None
    name, library = linked
    same = [f for f in (families() if known is None else known) if f.name == name]
    return max(same, key=lambda f: _shared_depth(f.mpirun, library), default=None)


def refuse_other_family(using: Family, program: str) -> None:
    """Raise LaunchError if `program` is linked with another library than `using`.

    Each of its ranks would be a job of one rank. A script may use any library: it passes.
    """
    linked = _linked_with(program)
    if linked and linked[0] != using.name:
        raise LaunchError(
            f"{using.describe()} cannot start the ranks of a program that is linked with "
            f"{linked[0]}",
            program,
            f"use --mpi {linked[0]}, or compile the program with {using.name}'s mpicc",
        )


def is_openmpi(version_text: str) -> bool:
    """Tell whether a launcher that says this about itself is Open MPI's."""
    return _OPENMPI_VERSION.search(version_text) is not None


def is_launcher(word: str) -> bool:
    """Tell whether this command's first word is a program that starts ranks by itself."""
    name = Path(word).name
    return name.startswith(("mpirun", "mpiexec")) or name in _OTHER_LAUNCHERS


def looks_like_a_program(word: str) -> bool:
    """Tell whether this word, which is no launcher that is known, is rather a program of MPI."""
    name = Path(word).name
    return "/" in word or name.startswith("python") or bool(_linked_with(word))


def library_of(launcher: str) -> str:
    """As in "Open MPI 4.1.4", by what a launcher says of itself; "" for others, as srun."""
    path = shutil.which(launcher)
    found = _ask(Path(path), "PATH") if path else None
    return f"{_SPELLED[found.name]} {found.version}" if found else ""


def launch_command(
    using: Family,
    ranks: int,
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cluster: Cluster | None = None,
    allow_root: bool = False,
) -> Launch:
    """The command that starts `ranks` ranks of `command`: on this machine, or on `cluster`.

    `env` is added to this process' environment. `allow_root` lets Open MPI run as root: for our
    own programs and in a sandbox only, never behind a user's back.
    """
    base = outside_jobs(os.environ)
    if cluster:
        options, settings = [], cluster.environment(using.netmods)
    else:
        options, settings = _local_options(using, ranks), {}
    settings |= root_permission() if allow_root else {}
    settings |= {} if LIBRARY_OF_MPI4PY in base else library_for_python(using)
    start = [str(using.mpirun), *options, "-n", str(ranks), *command]
    return Launch(start, base | settings | dict(env or {}), using.describe())


def library_for_python(using: Family) -> dict[str, str]:
    """The variable that makes mpi4py load this library, not another that it finds before."""
    name = _SONAMES[using.name]
    folders_ = [using.mpirun.parent.parent / lib for lib in ("lib", "lib64")]
    path = next((folder / name for folder in folders_ if (folder / name).exists()), None)
    if path or using.name == "openmpi":
        return {LIBRARY_OF_MPI4PY: str(path or name)}
    return {}  # Debian's MPICH has another name, which mpi4py finds by itself


def outside_jobs(env: Mapping[str, str]) -> dict[str, str]:
    """`env` without the variables that tie a process to a batch system or an outer mpirun."""
    return {name: value for name, value in env.items() if not _JOB_VARIABLES.match(name)}


def root_permission() -> dict[str, str]:
    """The variables without which Open MPI refuses to run as root."""
    names = ("ALLOW_RUN_AS_ROOT", "ALLOW_RUN_AS_ROOT_CONFIRM")
    return {f"{prefix}_{name}": "1" for prefix in ("OMPI", "PRTE") for name in names}


def _local_options(using: Family, ranks: int) -> list[str]:
    if using.name == "mpich":
        return ["-launcher", "fork", "-hosts", "localhost"]
    # More ranks than cores must not fail, nor spin through their time slices.
    placing = ["--host", f"localhost:{ranks}", "--oversubscribe", "--bind-to", "none"]
    return [*placing, "--mca", "mpi_yield_when_idle", "1"]


def _linked_with(program: str) -> tuple[str, str] | None:
    """The family and the library file."""
    path = shutil.which(program)
    linked = _LINKED.search(processes.output_of(["ldd", path])) if path else None
    return (_FAMILY_OF_SONAME[linked[1]], linked[2]) if linked else None


def _candidates() -> Iterator[tuple[Path, str]]:
    for entry in folders("LATECOMER_MPI"):
        yield from ((path, "LATECOMER_MPI") for path in _named(Path(entry)))
    for folder in folders("PATH"):
        yield from ((path, "PATH") for path in _launchers_in(Path(folder)))
    yield from ((path, "python") for path in _launchers_in(Path(sys.executable).parent))


def _named(entry: Path) -> list[Path]:
    return [entry] if entry.is_file() else _launchers_in(entry / "bin") + _launchers_in(entry)


def _launchers_in(folder: Path) -> list[Path]:
    return [folder / name for name in _LAUNCHERS if os.access(folder / name, os.X_OK)]


def _ask(launcher: Path, where: str) -> Family | None:
    text = processes.output_of([str(launcher), "--version"])
    if match := _OPENMPI_VERSION.search(text):
        return Family("openmpi", match[1], _compiler(launcher, "openmpi"), launcher, where)
    if match := _MPICH_VERSION.search(text):
        device = _MPICH_DEVICE.search(text)
        netmods = tuple(device[1].split(",")) if device else ()
        return Family("mpich", match[1], _compiler(launcher, "mpich"), launcher, where, netmods)
    return None


def _compiler(launcher: Path, name: str) -> Path | None:
    # Plain mpicc beside it may be another library's: Debian's alternatives name only one.
    for candidate in (launcher.parent / f"mpicc.{name}", launcher.parent / "mpicc"):
        if candidate.exists():
            return candidate
    return None


def _shared_depth(launcher: Path, library: str) -> int:
    return len(os.path.commonprefix([launcher.parts, Path(library).parts]))


def short_library(text: str) -> str:
    """`openmpi 4.1.4` for an MPI library's text about itself; its first words if unknown."""
    found = _LIBRARY.search(text)
    return f"{found[1].replace(' ', '').lower()} {found[2]}" if found else text[:40]
