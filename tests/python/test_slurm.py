"""Slurm on the hosts of the emulated cluster: programs get the drop-in library by srun."""

import os
import re

import pytest
from dropin_helpers import cases_of
from lab_helpers import call
from latecomer.lab import cluster
from latecomer.lab.bench import checks
from latecomer.lab.cluster import slurm
from latecomer.launch import processes
from mpi_helpers import installed
from scenes_helpers import ROOT

PMI = {"openmpi": "pmix", "mpich": "pmi2"}
RUN = [str(ROOT / ".venv/bin/python"), "-m", "latecomer", "run", "--algorithm", "fastest",
       "--verbose", "--"]  # fmt: skip


@pytest.fixture
def with_slurm():
    if absent := slurm.missing():
        pytest.skip(f"not installed: {', '.join(absent)} ({slurm.REMEDY})")
    if os.geteuid() != 0:
        pytest.skip("Slurm's daemons need root")


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_srun_puts_the_library_into_every_rank(name, with_slurm):
    installed(name)
    srun = ["srun", f"--mpi={PMI[name]}", "-n", "3", cases_of(name), "reductions"]
    job = call("slurm", "--nodes", "3", "--", *RUN, *srun)
    if f"mpi/{PMI[name]}" in job.stderr and "not found" in job.stderr:
        pytest.skip(f"Slurm has no plugin {PMI[name]} here")
    assert job.returncode == 0, job.stderr
    assert "reductions: 0" in job.stdout
    assert "active on all 3 ranks" in job.stderr
    assert re.search(r"[1-9]\d* handled", job.stderr)


def test_jobs_of_sbatch_are_waited_for_and_nothing_is_left(with_slurm, tmp_path):
    before = set(processes.all_pids())
    out = tmp_path / "out"
    words = ["sbatch", "-n", "2", "-o", str(out), "--wrap", "sleep 1; srun hostname"]
    job = call("slurm", "--nodes", "2", "--", *words)
    assert job.returncode == 0, job.stderr
    assert sorted(out.read_text().split()) == ["node0", "node1"]
    left = {pid for pid in processes.all_pids() if pid not in before}
    daemons = {"slurmctld", "slurmd", "slurmstepd", "munged"}
    assert not daemons & {processes.name_of(pid) for pid in left}
    assert not slurm.CONFIGURATION.exists()


def test_a_job_that_fails_shows_in_the_exit_code(with_slurm, tmp_path):
    words = ["sbatch", "-o", str(tmp_path / "out"), "--wrap", "exit 3"]
    assert call("slurm", "--nodes", "1", "--quiet", "--", *words).returncode == 1
    assert (
        call("slurm", "--nodes", "1", "--quiet", "--", "srun", "sh", "-c", "exit 3").returncode == 3
    )


def test_a_job_that_does_not_end_is_named(with_slurm):
    words = ["sbatch", "-o", "/dev/null", "--job-name", "endless", "--wrap", "sleep 1000"]
    job = call("slurm", "--nodes", "1", "--deadline", "2", "--", *words)
    assert job.returncode == 1
    assert "jobs are not over after 2 s: 1 endless " in job.stderr


def test_a_missing_slurm_is_named_with_its_package(monkeypatch):
    monkeypatch.setattr(slurm.shutil, "which", lambda *_args, **_more: None)
    with pytest.raises(
        cluster.LabError, match=r"not installed here: munged, .*apt-get install slurm-wlm"
    ):
        cluster.run_with_slurm(cluster.LabSpec(2, 10**9), ["srun", "true"])
    finding = checks._slurm()
    assert not finding.ok
    assert "apt-get install slurm-wlm" in finding.remedy


def test_a_command_is_needed(with_slurm):
    with pytest.raises(cluster.LabError, match="no command given"):
        cluster.run_with_slurm(cluster.LabSpec(2, 10**9), [])


def test_a_daemon_that_does_not_start_is_named_with_its_log(monkeypatch, tmp_path):
    monkeypatch.setattr(slurm, "_FOLDER", tmp_path)
    (tmp_path / "slurmd-node0.log").write_text("one\ntwo\nfatal: three\n")
    with pytest.raises(cluster.LabError, match=r"slurmd-node0: said \| one \| two \| fatal: three"):
        slurm._run("slurmd-node0", ["sh", "-c", "echo said >&2; exit 1"])
