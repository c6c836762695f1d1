"""The command that a lab runs, and its environment."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...launch import mpi
from . import topology
from .spec import LabError, LabSpec


def in_lab(
    spec: LabSpec,
    command: Sequence[str],
    *,
    family: str | None = None,
    ranks: int | None = None,
    env: Mapping[str, str] | None = None,
) -> mpi.Launch:
    """`command` under the launcher of its MPI library; as it stands if it is a launcher itself.

    Raises LabError for a command that is not there, LaunchError for a library that is not.
    """
    if not command:
        raise LabError("no command given", "''", "write it after --, as in: -- ./app ARGUMENTS")
    if mpi.is_launcher(command[0]):
        return _own_launcher(spec, command, family, env)
    if not shutil.which(command[0]):
        raise LabError("no such program", command[0], "give its path, as in ./app")
    using = mpi.family(family) if family else mpi.family_of(command[0]) or mpi.family()
    mpi.refuse_other_family(using, command[0])
    settings = _settings(spec) | dict(env or {})
    launch = mpi.launch_command(
        using, ranks or spec.ranks, command, env=settings, cluster=_cluster(spec), allow_root=True
    )
    return replace(launch, env=_inside_only(launch.env))


def environment(spec: LabSpec, env: Mapping[str, str] | None = None) -> dict[str, str]:
    """An environment in which a plain `mpirun -n 8 ./app` uses the hosts of the lab."""
    netmods = next((f.netmods for f in mpi.families() if f.name == "mpich"), ())
    base = _inside_only(mpi.outside_jobs(os.environ))
    settings = _cluster(spec).environment(netmods) | mpi.root_permission() | _settings(spec)
    return base | settings | dict(env or {})


def _own_launcher(
    spec: LabSpec, command: Sequence[str], family: str | None, env: Mapping[str, str] | None
) -> mpi.Launch:
    first, *rest = command
    if family and first in ("mpirun", "mpiexec"):
        using = mpi.family(family)
        first = str(using.mpirun)
        for word in rest:
            mpi.refuse_other_family(using, word)
    return mpi.Launch([first, *rest], environment(spec, env))


def _cluster(spec: LabSpec) -> mpi.Cluster:
    crowded = spec.ranks > (os.cpu_count() or 1)
    return replace(topology.CLUSTER, shares_hosts=spec.per_node > 1, crowded=crowded)


def _settings(spec: LabSpec) -> dict[str, str]:
    # The folder is its own: in a shared /tmp another user's session folders hinder Open MPI.
    return {"TMPDIR": str(topology.SCRATCH), "LATECOMER_LAB": spec.describe()}


def _inside_only(env: Mapping[str, str]) -> dict[str, str]:
    """Without the variables that point below the outer /run."""
    return {name: value for name, value in env.items() if name != "XDG_RUNTIME_DIR"}
