"""Puts the drop-in library into the ranks of a job, and not into its launcher."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from . import mpi, processes, program
from .mpi import LaunchError

LIBRARY = "liblatecomer_preload.so"
VARIABLE = "LD_PRELOAD"

_SLURM = ("srun",)
_HYDRA_SIGNS = ("HYDRA", "Intel(R) MPI")


def library() -> Path:
    """The drop-in library. Raises LaunchError if it is not there."""
    if path := program.find_built(LIBRARY):
        return path.resolve()
    raise LaunchError(
        "the drop-in library is not built",
        LIBRARY,
        "build it with ./demo at the root of the clone, or name its folder in LATECOMER_PROGRAMS",
    )


def preloading(command: Sequence[str], path: Path, variables: Mapping[str, str]) -> list[str]:
    """`command`, which starts with a launcher, with the library and variables for its ranks."""
    before = os.environ.get(VARIABLE, "")
    return with_variables(command, {**variables, VARIABLE: f"{path} {before}".strip()})


def with_variables(command: Sequence[str], settings: Mapping[str, str]) -> list[str]:
    """`command`, which starts with a launcher, with environment variables for its ranks.

    Programs that are separated by ":" all get them. srun's ranks get the variables from its own
    environment. Raises LaunchError for a launcher that is not known.
    """
    words, of_each_program = _words_for(command[0], settings)
    rest: list[str] = []
    for word in command[1:]:
        rest += [word, *words] if word == ":" and of_each_program else [word]
    return [command[0], *words, *rest]


def _words_for(launcher: str, settings: Mapping[str, str]) -> tuple[list[str], bool]:
    """The launcher's options, and whether each program of a command needs them."""
    if Path(launcher).name in _SLURM:
        # srun separates variables by commas, which a value may hold: they come by its environment.
        return [f"--export=ALL,{VARIABLE}={settings[VARIABLE]}"], False
    version = processes.output_of([launcher, "--version"])
    if any(sign in version for sign in _HYDRA_SIGNS):
        return [word for name, value in settings.items() for word in ("-genv", name, value)], False
    if mpi.is_openmpi(version):
        return [
            word for name, value in settings.items() for word in ("-x", f"{name}={value}")
        ], True
    raise LaunchError(
        "unknown launcher", launcher, "mpirun or mpiexec of Open MPI, MPICH or Intel MPI, or srun"
    )
