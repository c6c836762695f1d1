"""Jobs with the drop-in library in their ranks."""

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from latecomer.launch import mpi, preload, program
from mpi_helpers import at_once, installed

DEADLINE_S = 600  # of a job that hangs: others end in seconds
LATE = 124  # the code of timeout(1)
# Ranks of MPICH that share memory poll it without a pause: on shared cores calls take milliseconds.
PATIENT = {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp", "MPIR_CVAR_NOLOCAL": "1"}

LAUNCHERS = {"abi": "mpich"}  # MPI 5's standard ABI is offered by MPICH's package


@dataclass(frozen=True)
class Job:
    """An ended job."""

    code: int
    out: str
    err: str

    @property
    def mistakes(self) -> dict[str, int]:
        """The mistakes of all ranks by case, as rank 0 told them."""
        return {case: int(n) for case, n in re.findall(r"^(\w+): (\d+)$", self.out, re.M)}

    def check(self) -> "Job":
        """Fails the test if a case made a mistake, or none ran."""
        assert self.code == 0, self.err
        assert self.mistakes, self.out
        assert not any(self.mistakes.values()), self.err
        return self


def cases_of(name: str) -> str:
    """The program with the cases."""
    found = program.find_built(f"dropin_cases_{name}")
    if found is None or program.find_built(preload.LIBRARY) is None:
        pytest.skip("the drop-in library is not built")
    return str(found)


def launcher_of(name: str, ranks: int, command: Sequence[str]) -> mpi.Launch:
    """The command and environment that start the ranks, without the library."""
    library = installed(LAUNCHERS.get(name, name))
    env = PATIENT | at_once()
    return mpi.launch_command(library, ranks, command, env=env, allow_root=True)


def run_command(command: Sequence[str], env: Mapping[str, str]) -> Job:
    """A command to its end."""
    ended = subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=DEADLINE_S, check=False
    )
    return Job(ended.returncode, ended.stdout, ended.stderr)


def run_cases(
    name: str,
    ranks: int,
    cases: Sequence[str] = (),
    variables: Mapping[str, str] | None = None,
    behind: Sequence[Path] = (),
    within_s: int | None = None,
) -> Job:
    """The cases of these names, else all, with the library, and other tools behind it.

    A job that takes longer than `within_s` is ended, and has the code LATE.
    """
    launch = launcher_of(name, ranks, [cases_of(name), *cases])
    before = " ".join(map(str, (preload.library(), *behind)))
    command = preload.with_variables(launch.command, {**(variables or {}), "LD_PRELOAD": before})
    if within_s is not None:
        command = ["timeout", str(within_s), *command]
    return run_command(command, launch.env)


def calls_of(folder: Path, ranks: int) -> list[dict[str, int]]:
    """The calls of each rank by counter, of all communicators, from reports named RANK.json."""
    totals: list[dict[str, int]] = []
    for rank in range(ranks):
        sums: dict[str, int] = {}
        for each in json.loads((folder / f"{rank}.json").read_text())["communicators"]:
            for counter, calls in each["calls"].items():
                sums[counter] = sums.get(counter, 0) + calls
        totals.append(sums)
    return totals


def compiled_fortran(name: str, source: Path, made: Path, *words: str) -> Path:
    """The program, by the compiler of that MPI library; skips the test where there is none."""
    mpicc = installed(name).mpicc
    compiler = mpicc.with_name(mpicc.name.replace("mpicc", "mpifort"))
    if not compiler.exists():
        pytest.skip(f"no Fortran compiler: {compiler}")
    # GCC 10 and later refuse what mpif.h has always meant.
    always = ["-cpp", "-w", "-fallow-argument-mismatch"]
    subprocess.run([compiler, *always, *words, "-o", made, source], check=True)
    return made


def shared_library(compiler: Path | str, source: Path, to: Path, *words: str) -> Path:
    """Compiles a C file, with these options."""
    subprocess.run([compiler, "-shared", "-fPIC", *words, "-o", to, source, "-ldl"], check=True)
    return to
