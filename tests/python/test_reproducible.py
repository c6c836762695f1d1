"""Reproducible mode: the same bits from run to run, whenever ranks come."""

import re
import subprocess

import pytest
from dropin_helpers import PATIENT
from latecomer.launch import mpi, program
from mpi_helpers import installed
from scenes_helpers import both_families

CASE = "same_bits_in_every_reproducible_call"


def digest(name: str, ranks: int, arrivals: int) -> str:
    """Of all that the ranks got in a run; the numbers that ranks combine are the same in each run."""
    tests = program.find_built(f"mpi_tests_{name}")
    if tests is None:
        pytest.skip(f"not built: mpi_tests_{name}")
    variables = {**PATIENT, "TEST_ARRIVALS": str(arrivals)}
    launch = mpi.launch_command(
        installed(name), ranks, [str(tests), CASE, "--quick"], env=variables, allow_root=True
    )
    ended = subprocess.run(
        launch.command, env=launch.env, capture_output=True, text=True, timeout=600, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return re.search(r"^digest (\w+)$", ended.stdout, re.MULTILINE)[1]


@both_families
def test_runs_give_the_same_bits_whenever_ranks_come(name):
    assert digest(name, 3, arrivals=1) == digest(name, 3, arrivals=2)
