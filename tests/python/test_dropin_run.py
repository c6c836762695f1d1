"""`latecomer run` with the drop-in library."""

import json
import re

import pytest
from dropin_helpers import cases_of, launcher_of, run_command
from latecomer import cli
from latecomer.launch import preload
from scenes_helpers import ROOT, both_families

DATA = ["reductions", "moves", "in_place", "nothing", "nothing_waits_for_nobody", "parts",
        "derived_types", "user_operators", "same_everywhere", "aliased_parts", "large_counts"]  # fmt: skip
LIFE = ["communicators", "freed_in_any_order", "attributes", "handles_again", "intercommunicators",
        "topologies", "errors", "children", "pipeline", "nonblocking", "persistent", "lacking_functions"]  # fmt: skip
EVERYTHING = {"LATECOMER_MIN_BYTES": "0"}


# ---- latecomer run


def latecomer_run(name, options, cases):
    launch = launcher_of(name, 2, [cases_of(name), *cases])
    words = [str(ROOT / ".venv/bin/python"), "-m", "latecomer", "run", *options, "--"]
    env = launch.env | {"PYTHONPATH": str(ROOT / "python")}
    return run_command([*words, *launch.command], env)


@both_families
def test_run_says_that_it_was_active(name):
    job = latecomer_run(name, ["--algorithm", "fastest", "--verbose"], ["reductions"]).check()
    assert "active on all 2 ranks" in job.err
    assert "handled" in job.err
    assert "calls of rank 0 of 2" in job.err
    assert re.search(
        r"freed: Ranks that waited slept for [\d.]+ \w?s; their cores were free", job.err
    )


@both_families
def test_run_says_how_long_ranks_slept_if_that_was_asked_for(name):
    job = latecomer_run(name, ["--wait", "sleep", "--algorithm", "ring"], ["reductions"]).check()
    assert "freed: Ranks that waited slept for " in job.err
    assert "freed:" not in latecomer_run(name, [], ["reductions"]).check().err


@both_families
def test_run_gives_the_exit_code_and_json(name, tmp_path):
    report = tmp_path / "report.json"
    job = latecomer_run(name, ["--json", "--report", str(report)], ["reductions"])
    told = json.loads(job.out[job.out.index("{") :])
    assert (job.code, told["code"], told["job"]["ranks"]) == (0, 0, 2)
    assert json.loads(report.read_text())["job"]["active"] is True
    launch = launcher_of(name, 2, ["/bin/false"])
    words = [str(ROOT / ".venv/bin/python"), "-m", "latecomer", "run", "--", *launch.command]
    failed = run_command(words, launch.env | {"PYTHONPATH": str(ROOT / "python")})
    # MPICH's launcher ends by a broken pipe in 3 of 300 jobs whose ranks end at once, here and alone.
    assert failed.code in ((1, 141) if name == "mpich" else (1,))
    assert "before any rank began MPI; see above" in failed.err


def test_run_without_it():
    job = latecomer_run("openmpi", ["--off"], ["reductions"]).check()
    assert "latecomer" not in job.err


def test_run_compares():
    job = latecomer_run("openmpi", ["--compare", "--turns", "2"], ["reductions"])
    assert job.code == 0, job.err
    lines = job.out[job.out.index("without   ") :].splitlines()  # a busy machine has one more
    assert [line.split()[0] for line in lines[:3]] == ["without", "control", "with"]
    assert lines[3].startswith("too few turns to tell")
    assert "who:   " in job.err
    following = job.err[job.err.index("next:") :]
    assert "--compare" not in following
    assert "then: latecomer run --trace traces -- " in following


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--", "./app"], "right would be a launcher before it, mpirun, mpiexec or srun"),
        (["--off", "--compare", "--", "mpirun", "x"], "--off and --compare exclude each other"),
    ],
)
def test_run_refuses(capsys, words, message):
    assert cli.run(["run", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("name", ["mpirun", "mpiexec", "aprun", "jsrun"])
def test_a_launcher_that_is_not_known_is_refused_with_what_works(name, tmp_path, capsys):
    if preload.program.find_built(preload.LIBRARY) is None:
        pytest.skip("the drop-in library is not built")
    fake = tmp_path / name
    fake.write_text("#!/bin/sh\necho PALS 1.0\n")
    fake.chmod(0o755)
    assert cli.run(["run", "--", str(fake), "-n", "1", "./app"]) == 1
    said = capsys.readouterr().err
    assert f"unknown launcher: {fake}; known are mpirun and mpiexec of Open MPI, MPICH" in said
    assert f"with any other: {fake} ... env $(latecomer run --preload-only) ./app" in said


def test_srun_gets_variables_by_its_environment():
    words = preload.with_variables(["srun", "-n", "2", "app"], {"LD_PRELOAD": "/x.so", "A": "b,c"})
    assert words == ["srun", "--export=ALL,LD_PRELOAD=/x.so", "-n", "2", "app"]
