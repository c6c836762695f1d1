"""Jobs with the drop-in library in their ranks."""

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest
from latecomer.launch import mpi, preload, program
from mpi_helpers import installed

DEADLINE_S = 110
# Ranks of MPICH that share memory poll it without a pause: on shared cores calls take milliseconds.
PATIENT = {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp", "MPIR_CVAR_NOLOCAL": "1"}


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
    return mpi.launch_command(installed(name), ranks, command, env=PATIENT, allow_root=True)


def run_command(command: Sequence[str], env: Mapping[str, str]) -> Job:
    """A command to its end."""
    ended = subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=DEADLINE_S, check=False
    )
    return Job(ended.returncode, ended.stdout, ended.stderr)


def run_cases(
    name: str, ranks: int, cases: Sequence[str] = (), variables: Mapping[str, str] | None = None
) -> Job:
    """The cases of these names, else all, with the library."""
    launch = launcher_of(name, ranks, [cases_of(name), *cases])
    command = preload.preloading(launch.command, preload.library(), variables or {})
    return run_command(command, launch.env)
