"""Times of a machine that other programs use are told as such."""

import json
import os

import pytest
from bench_helpers import QUICK, TWO, run
from latecomer.base.busy import busy, crowded
from latecomer.cli import run as command
from latecomer.launch.dropin import Comparison, Ended
from latecomer.launch.program import CALIBRATE
from mpi_helpers import FAMILIES, installed
from test_calibrate_fit import drawn

LOAD = "other programs used this machine (load 12 on 2 cores): do not trust these times"
POLLING = ("3 ranks on 2 cores: ranks of MPICH poll without a pause, so times are not those of a "
           "cluster")  # fmt: skip


@pytest.fixture
def machine(monkeypatch):
    """Two cores that twelve programs want."""
    monkeypatch.setattr(os, "getloadavg", lambda: (12.4, 1.0, 1.0))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)


@pytest.mark.usefixtures("machine")
def test_a_load_above_the_cores_is_told():
    assert busy() == [LOAD]
    assert busy(own=11) == []


def test_a_load_of_all_cores_is_none(monkeypatch):
    monkeypatch.setattr(os, "getloadavg", lambda: (2.0, 99.0, 99.0))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert busy() == []


@pytest.mark.usefixtures("machine")
def test_ranks_of_mpich_that_share_cores_are_told():
    assert crowded(3, "MPICH Version: 5.0.1") == [POLLING]
    assert crowded(2, "MPICH Version: 5.0.1") == crowded(3, "Open MPI v4.1.4") == []


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("name", FAMILIES)
def test_the_benchmark_tells_it_in_table_page_and_file(name, tmp_path):
    page, file = tmp_path / "a.html", tmp_path / "a.json"
    words = ["--place", "local", "--nodes", "3", "--mpi", name, "--html", str(page), "--output"]
    done = run(*words, str(file), *QUICK, *TWO)
    assert done.exit_code == 0, done.stderr
    used = json.loads(file.read_text())["used"]
    for remark in (LOAD, POLLING):
        told = remark == LOAD or name == "mpich"
        assert (f"latecomer: {remark}\n" in done.stderr) is told
        assert (f'<p class="alarm">{remark}.</p>' in page.read_text()) is told
        assert (remark in used["remarks"]) is told


def test_a_comparison_tells_it():
    found = Comparison([1.0], [1.0], [1.0], Ended(0, 1.0), [LOAD])
    assert found.text().endswith(f"\n{LOAD}")
    assert Comparison([1.0], [1.0], [1.0], Ended(0, 1.0)).text().count("\n") == 3
    assert "(median of 1 turn)" in found.text()


# Stands in for the calibration program: rank 0 writes times that were measured long ago.
CALIBRATES = """#!/bin/sh
[ "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" != 0 ] || cp {samples} "$4"
"""


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize("name", FAMILIES)
def test_a_calibration_tells_it(name, tmp_path, monkeypatch, capsys):
    installed(name)
    samples, program = tmp_path / "long-ago", tmp_path / f"{CALIBRATE}{name}"
    library = {"openmpi": "Open MPI v4.1.4", "mpich": "MPICH Version: 5.0.1"}[name]
    samples.write_text("".join(json.dumps(line) + "\n" for line in drawn(1, mpi=library)))
    program.write_text(CALIBRATES.format(samples=samples))
    program.chmod(0o755)
    monkeypatch.setenv("LATECOMER_PROGRAMS", str(tmp_path))
    assert (
        command(["calibrate", "--mpi", name, "--place", "local", "--nodes", "3", "--no-save"]) == 0
    )
    told = capsys.readouterr().out
    assert f"- {LOAD}\n" in told
    assert (f"- {POLLING}\n" in told) is (name == "mpich")
