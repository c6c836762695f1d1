"""Programs that know nothing of latecomer, with the drop-in library put into their ranks."""

import re
import subprocess

import pytest
from latecomer.launch import mpi, preload, program
from mpi_helpers import installed
from scenes_helpers import both_families

DEADLINE_S = 120
RANKS = 3


def run(name, ranks, cases=(), variables=None):
    """The ended job, and rank 0's mistakes by case."""
    family = installed(name)
    cases_program = program.find_built(f"dropin_cases_{name}")
    if cases_program is None or program.find_built(preload.LIBRARY) is None:
        pytest.skip("the drop-in library is not built")
    launch = mpi.launch_command(family, ranks, [str(cases_program), *cases], allow_root=True)
    command = preload.preloading(launch.command, preload.library(), variables or {})
    ended = subprocess.run(
        command, env=launch.env, capture_output=True, text=True, timeout=DEADLINE_S, check=False
    )
    mistakes = {case: int(n) for case, n in re.findall(r"^(\w+): (\d+)$", ended.stdout, re.M)}
    return ended, mistakes


@both_families
@pytest.mark.parametrize("algorithm", ["auto", "fastest", "native"])
def test_results_are_those_of_the_mpi_library(name, algorithm):
    ended, mistakes = run(name, RANKS, variables={"LATECOMER_ALGORITHM": algorithm})
    assert ended.returncode == 0, ended.stderr
    assert mistakes
    assert not any(mistakes.values()), ended.stderr


@both_families
def test_the_library_executes_calls_of_a_program_that_does_not_know_it(name):
    ended, _ = run(
        name, RANKS, ["reductions"], {"LATECOMER_ALGORITHM": "ring:", "LATECOMER_STATS": "1"}
    )
    assert "LATECOMER_ALGORITHM is not used" in ended.stderr
    ended, _ = run(
        name,
        RANKS,
        ["reductions"],
        {"LATECOMER_ALGORITHM": "allreduce:ring", "LATECOMER_STATS": "1"},
    )
    assert re.search(r"\d+ handled.*ring", ended.stderr), ended.stderr
