"""Slurm on the hosts of the emulated cluster: programs get the drop-in library by srun."""

import importlib
import os
import re
import subprocess
from types import SimpleNamespace

import pytest
from dropin_helpers import cases_of
from lab_helpers import call
from latecomer.lab import cluster
from latecomer.lab.bench import checks
from latecomer.lab.cluster import inside, slurm
from latecomer.launch import processes
from mpi_helpers import installed
from scenes_helpers import ROOT

enter = importlib.import_module("latecomer.lab.cluster.enter")  # the package has a function so
PMI = {"openmpi": "pmix", "mpich": "pmi2"}
RUN = [str(ROOT / ".venv/bin/python"), "-m", "latecomer", "run", "--algorithm", "fastest",
       "--verbose", "--"]  # fmt: skip

# Each rank says the setting, and if the library is there.
APP = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const char* mode = getenv("LATECOMER");
  const char* files = getenv("LD_PRELOAD");
  int is_there = files && strstr(files, "liblatecomer_preload.so");
  printf("%s %s\\n", mode ? mode : "-", is_there ? "yes" : "-");
  return MPI_Finalize();
}
"""


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


STEPS = """
srun -n 2 --mpi=pmix {app}; echo plain
srun -n 2 --mpi=pmix --latecomer {app}; echo bare
LATECOMER=observe srun -n 2 --mpi=pmix --latecomer=off {app}; echo off
LATECOMER=observe srun -n 2 --mpi=pmix {app}; echo variable
LATECOMER=off srun -n 2 --mpi=pmix --latecomer=observe {app}; echo option
LATECOMER=auto srun -n 2 --mpi=pmix {app}; echo automatic
LATECOMER=always srun -n 2 --mpi=pmix {app}; echo misspelt
LD_PRELOAD=libm.so.6 srun -n 2 --latecomer=observe sh -c 'echo $LATECOMER $LD_PRELOAD'
srun -n 2 --mpi=pmix --latecomer=often {app}; echo wrong
"""
BATCH = """#!/bin/sh
srun --mpi=pmix {app}; echo job
srun --mpi=pmix --latecomer=off {app}; echo step
{command} run --off -- srun --mpi=pmix {app}; echo asked
"""


def test_the_plug_in_switches_jobs_and_steps(with_slurm, tmp_path):
    plugin = slurm.program.find_built(slurm.PLUGIN)
    if not plugin:
        pytest.skip("the plug-in is not built (apt-get install libslurm-dev)")
    installed("openmpi")
    (tmp_path / "app.c").write_text(APP)
    app, out = tmp_path / "app", tmp_path / "out"
    subprocess.run(["mpicc.openmpi", tmp_path / "app.c", "-o", app], check=True)
    (tmp_path / "batch").write_text(BATCH.format(app=app, command=ROOT / "latecomer"))
    words = STEPS.format(app=app) + f"sbatch -n 2 --latecomer=observe -o {out} {tmp_path}/batch"
    job = call("slurm", "--nodes", "2", "--", "sh", "-c", words)
    if "mpi/pmix" in job.stderr and "not found" in job.stderr:
        pytest.skip("Slurm has no plugin pmix here")
    assert job.returncode == 0, job.stderr
    lines = job.stdout.splitlines()
    before = str(plugin.resolve().parent / "liblatecomer_preload.so:libm.so.6")
    assert lines[:-1] == [
        "- -", "- -", "plain", "on yes", "on yes", "bare", "off -", "off -", "off",
        "observe yes", "observe yes", "variable", "observe yes", "observe yes", "option",
        "on yes", "on yes", "automatic", "always -", "always -", "misspelt",
        f"observe {before}", f"observe {before}", "off -", "off -", "wrong",
    ]  # fmt: skip
    assert "--latecomer: 'often' is not usable; right would be observe, auto or off" in job.stderr
    assert job.stderr.count("'often'") == 1
    assert "LATECOMER: 'always' is not usable; right would be on, observe or off" in job.stderr
    steps = [line for line in out.read_text().splitlines() if not line.startswith("latecomer: ")]
    assert steps[:6] == ["observe yes", "observe yes", "job", "off -", "off -", "step"]
    assert "the library was active in a run without it" in " ".join(out.read_text().split())


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


def test_no_job_is_soon_forgotten(with_slurm):
    job = call("slurm", "--nodes", "1", "--quiet", "--", "scontrol", "show", "config")
    assert re.search(r"^MinJobAge += 604800 sec$", job.stdout, re.M), job.stderr


def test_a_job_that_does_not_end_is_named(with_slurm):
    words = ["sbatch", "-o", "/dev/null", "--job-name", "endless", "--wrap", "sleep 1000"]
    job = call("slurm", "--nodes", "1", "--deadline", "2", "--", *words)
    assert job.returncode == 1
    assert "jobs are not over after 2 s: 1 endless " in job.stderr


def test_a_deadline_is_of_the_command_and_of_its_jobs(monkeypatch):
    """By a clock of the test's own: the command takes 8 s, its job does not end."""
    now = [0.0]
    clock = SimpleNamespace(monotonic=lambda: now[0], sleep=lambda _s: now.append(now.pop() + 1))
    for module in (inside, slurm):
        monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(inside.topology, "build", lambda _spec: None)
    monkeypatch.setattr(slurm, "start", lambda _spec: clock.sleep(1))
    monkeypatch.setattr(inside, "_run", lambda *_: [clock.sleep(1) for _ in range(8)] and 0)
    monkeypatch.setattr(slurm, "_ask", lambda *_: "1 endless RUNNING")
    spec = vars(cluster.LabSpec(2, 10**9))
    answer = inside._serve(
        {"spec": spec, "action": "slurm", "command": ["x"], "env": {}, "deadline": 10.0}
    )
    assert answer["kind"] == "DeadlineError"
    assert answer["error"][0] == "jobs are not over after 10 s"
    assert now == [1.0 + 11.0]


@pytest.mark.parametrize(("action", "limit"), [("run", 40.0), ("slurm", 100.0)])
def test_slurm_has_time_to_start_before_the_lab_is_killed(action, limit, monkeypatch):
    limits = []
    monkeypatch.setattr(enter, "_start", lambda *_: None)
    monkeypatch.setattr(enter, "_wait", lambda _inside, most: limits.append(most) or 0)
    monkeypatch.setattr(enter, "_read_answer", lambda _text, _code: {})
    enter.enter(cluster.LabSpec(2, 10**9), action, deadline=10.0)
    assert limits == [limit]


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


def test_a_command_of_slurm_that_hangs_is_named_with_the_log(monkeypatch, tmp_path):
    monkeypatch.setattr(slurm, "_FOLDER", tmp_path)
    (tmp_path / "slurmctld.log").write_text("error: three\n")
    monkeypatch.setattr(slurm, "tool", lambda _name: "sleep")
    monkeypatch.setattr(slurm, "_ASK_S", 0.1)
    said = r"Slurm hangs in the lab: slurmctld: squeue has no answer within 0.1 s \| error: three; "
    with pytest.raises(cluster.LabError, match=said):
        slurm._ask("squeue", "100")


def test_a_daemon_that_hangs_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(slurm, "_FOLDER", tmp_path)
    monkeypatch.setattr(slurm, "START_S", 0.1)
    with pytest.raises(cluster.LabError, match=r"in the lab: munged: no answer within 0.1 s; "):
        slurm._run("munged", ["sleep", "100"])


@pytest.mark.parametrize(
    ("states", "said"), [("1 idle\n1 down", "1 idle; 1 down"), ("", "no answer")]
)
def test_hosts_that_stay_busy_are_told_of(monkeypatch, tmp_path, states, said):
    monkeypatch.setattr(slurm, "_FOLDER", tmp_path)
    monkeypatch.setattr(slurm, "START_S", -1.0)
    monkeypatch.setattr(slurm, "_ask", lambda *_: states)
    with pytest.raises(cluster.LabError, match=f"hosts are not idle after -1 s: {said}; "):
        slurm._wait_until_idle(2)


def test_users_are_told_to_run_slurm_as_root(monkeypatch):
    monkeypatch.setattr(slurm, "Path", lambda _: SimpleNamespace(read_text=lambda: "deny\n"))
    assert "run the lab as root" in slurm._remedy()
