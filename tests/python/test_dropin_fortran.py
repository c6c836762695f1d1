"""Programs that a Fortran compiler made, by each of Fortran's ways to MPI."""

import subprocess
from pathlib import Path

import pytest
from dropin_helpers import calls_of, cases_of, launcher_of, run_command
from latecomer.launch import preload
from mpi_helpers import installed
from scenes_helpers import ROOT, both_families

SOURCE = ROOT / "tests" / "dropin" / "fortran" / "collectives.F90"
BINDINGS = {"mpif_h": 1, "use_mpi": 2, "mpi_f08": 3}
RANKS = 3
HANDLED = 8 * 20 - 1  # the ranks are linked after the first call


def compiled(name: str, binding: int, folder: Path) -> str:
    mpicc = installed(name).mpicc
    compiler = mpicc.with_name(mpicc.name.replace("mpicc", "mpifort"))
    if not compiler.exists():
        pytest.skip(f"no Fortran compiler: {compiler}")
    made = folder / "collectives"
    # GCC 10 and later refuse what mpif.h has always meant.
    words = ["-cpp", "-w", "-fallow-argument-mismatch", f"-DBINDING={binding}", "-o", made, SOURCE]
    subprocess.run([compiler, *words], check=True)
    return str(made)


@both_families
@pytest.mark.parametrize("binding", BINDINGS)
def test_a_fortran_program(name, binding, tmp_path):
    cases_of(name)  # skips where nothing is built
    launch = launcher_of(name, RANKS, [compiled(name, BINDINGS[binding], tmp_path)])
    variables = {
        "LD_PRELOAD": str(preload.library()),
        "LATECOMER_ALGORITHM": "fastest",
        "LATECOMER_STATS": str(tmp_path / "%r.json"),
    }
    job = run_command(preload.with_variables(launch.command, variables), launch.env)
    assert (job.code, job.err) == (0, "")
    assert "mistakes: 0" in job.out
    assert all(calls["handled"] >= HANDLED for calls in calls_of(tmp_path, RANKS))
