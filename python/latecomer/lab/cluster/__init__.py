"""The emulated cluster: N hosts on one switch, with shaped full-duplex links, on one machine.

Every lab lives in namespaces of its own and needs no privilege where users may have them. Labs do
not see each other and leave nothing behind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...base.errors import DeadlineError
from ...base.variables import variable
from ...launch.processes import DEFAULT_DEADLINE_S
from .enter import enter
from .launch import environment, in_lab
from .measure import CheckResult, check
from .privilege import settle
from .slurm import CONFIGURATION, check_installed
from .spec import LabError, LabSpec, SpecError, format_rate, parse_bytes, parse_rate, parse_skew

__all__ = [
    "CheckResult",
    "DeadlineError",
    "LabError",
    "LabSpec",
    "SpecError",
    "check",
    "format_rate",
    "parse_bytes",
    "parse_rate",
    "parse_skew",
    "run",
    "run_with_slurm",
    "settle",
    "shell",
]


def run(
    spec: LabSpec,
    command: Sequence[str],
    *,
    mpi: str | None = None,
    ranks: int | None = None,
    env: Mapping[str, str] | None = None,
    deadline: float | None = None,
    announce: Callable[[str], None] | None = None,
) -> int:
    """Run an MPI program on the cluster, one rank per slot, and return its exit code.

    `mpi` is "openmpi" or "mpich" (None: what the program is linked with), `env` is added to the
    ranks' environment, `deadline` is in seconds (None: DEFAULT_DEADLINE_S). A command that starts
    with mpirun or the like is run as it is. `announce` is told, before the start, what is used, as
    in "lab 4x200mbit burst=128KiB cubic, openmpi 4.1.4". Raises LabError, LaunchError or
    DeadlineError.
    """
    spec = settle(spec)
    limit = DEFAULT_DEADLINE_S if deadline is None else deadline
    if limit <= 0:
        raise SpecError("deadline must be positive", limit, "give seconds, as in 60")
    launch = in_lab(spec, command, family=mpi, ranks=ranks, env=env)
    if announce:
        announce(", ".join(filter(None, (spec.describe(), launch.library))))
    answer = enter(spec, "run", command=launch.command, env=launch.env, deadline=limit)
    return int(answer["exit"])


def run_with_slurm(
    spec: LabSpec,
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    deadline: float | None = None,
    announce: Callable[[str], None] | None = None,
) -> int:
    """Run `command`, such as srun or sbatch with arguments, on a cluster that Slurm manages.

    Returns when it and all jobs are over: its exit code, or 1 if a job did not complete. Raises
    LabError, DeadlineError.
    """
    check_installed()
    if not command:
        raise LabError("no command given", "''", "write it after --, as in: -- srun ./app")
    spec = settle(spec)
    if announce:
        announce(f"{spec.describe()}, Slurm")
    variables = environment(spec, {"SLURM_CONF": str(CONFIGURATION), **(env or {})})
    limit = DEFAULT_DEADLINE_S if deadline is None else deadline
    return int(enter(spec, "slurm", command=command, env=variables, deadline=limit)["exit"])


def shell(spec: LabSpec, *, env: Mapping[str, str] | None = None) -> int:
    """Run the user's shell on node 0 of the cluster and return its exit code. No deadline."""
    spec = settle(spec)
    command = [variable("SHELL") or "/bin/sh"]
    return int(enter(spec, "run", command=command, env=environment(spec, env))["exit"])
