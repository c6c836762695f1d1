"""The calibrate verb: its options, the saved network, and real runs."""

import json
import sys
from pathlib import Path

import pytest
from bench_helpers import run_verb
from latecomer.base.errors import UserError
from latecomer.core import networks
from latecomer.core.compiled import core
from latecomer.lab import cluster
from latecomer.launch import mpi, program
from mpi_helpers import FAMILIES, at_once
from test_calibrate_fit import PATTERNS, TRUE, drawn

FAKED = ["--place", "inherit"]

# Stands in for the calibration program: rank 0 writes times that were measured long ago.
FAKE = """#!{python}
import os, shutil, sys
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
if os.environ["OMPI_COMM_WORLD_RANK"] != "0":
    sys.exit(7)
if os.environ.get("FAKE") == "crash":
    sys.exit(3)
shutil.copyfile({samples!r}, given["--output"])
"""


def run(*words: str):
    return run_verb("calibrate", *words)


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """This process is rank 0 of 8, and the program is a fake one."""
    samples, stand_in = tmp_path / "long-ago", tmp_path / "latecomer_calibrate_openmpi"
    samples.write_text("".join(json.dumps(line) + "\n" for line in drawn(1, noise=0.001)))
    stand_in.write_text(FAKE.format(python=sys.executable, samples=str(samples)))
    stand_in.chmod(0o755)
    monkeypatch.setenv("LATECOMER_PROGRAMS", str(tmp_path))
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "0")
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "8")
    return tmp_path


def test_the_result_is_shown_and_saved_as_the_default(fake):
    result = run(*FAKED)
    assert result.exit_code == 0, result.stderr
    for name in ("alpha", "beta", "gamma", "eager", "handshake", "exchange"):
        assert f"{name} " in result.stdout
    saved = networks.load(networks.default_path())
    assert saved.text in result.stdout
    assert (saved.facts["place"], saved.facts["ranks"]) == ("inherit", "8")
    assert saved.facts["mpi"] == "openmpi 9.8.7"
    assert " to " in saved.facts["alpha"]
    costs = core.Network(saved.text)
    assert costs.alpha == pytest.approx(TRUE["alpha"], rel=0.02)
    assert f"saved as {networks.default_path()}" in result.stderr


def test_nothing_is_saved_when_that_is_wanted(fake):
    assert run(*FAKED, "--no-save").exit_code == 0
    assert not networks.default_path().exists()


def test_it_can_be_saved_elsewhere(fake):
    assert run(*FAKED, "--save", str(fake / "mine")).exit_code == 0
    assert networks.load(fake / "mine").facts["place"] == "inherit"
    assert not networks.default_path().exists()


def test_json_and_files_hold_everything(fake):
    paths = [fake / name for name in ("a.json", "b.txt", "c.svg", "d.png", "e.jsonl")]
    files = ["--output", str(paths[0]), "--output", str(paths[1]), "--plot", str(paths[2])]
    files += ["--plot", str(paths[3]), "--samples", str(paths[4])]
    result = run(*FAKED, "--json", *files)
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found == json.loads(paths[0].read_text())
    assert {"used", "network", "parameters", "findings", "points"} == set(found)
    assert found["used"]["rounds"] == 15
    assert found["network"] in paths[1].read_text()
    picture = paths[2].read_text()
    assert "all ranks in a ring" in picture
    assert "eager up to 63.96 KiB" in picture
    assert paths[3].read_bytes().startswith(b"\x89PNG")
    assert paths[4].read_text().count("\n") > 1000


def test_other_ranks_only_take_part(fake, monkeypatch):
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "3")
    result = run(*FAKED)
    assert (result.exit_code, result.stdout) == (7, "")
    assert not networks.default_path().exists()


def test_a_program_that_fails_is_an_error(fake, monkeypatch):
    monkeypatch.setenv("FAKE", "crash")
    result = run(*FAKED)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "the calibration program failed: exit code 3" in result.stderr


def test_a_program_that_is_not_built_is_an_error(fake, monkeypatch):
    monkeypatch.setenv("LATECOMER_PROGRAMS", "")
    monkeypatch.setattr(program, "CLONE", fake / "nowhere")
    assert "not built: latecomer_calibrate_openmpi" in run(*FAKED).stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--place", "moon"], "no such --place: moon"),
        (
            ["--network", "alpha=1us"],
            "--network with calibrate: alpha=1us; leave it out: costs are",
        ),
        (["--mpi", "lam"], "no such --mpi: lam"),
        (["--place", "local", "--nodes", "1"], "too few ranks to send messages: 1"),
        (["--seconds", "soon"], "soon"),
        (["--seconds", "0"], "--budget out of range: 0; use 1s to 86400s"),
        (["--seconds", "1ms"], "--budget out of range: 1ms; use 1s to 86400s"),
        (["--seconds", "86401s"], "--budget out of range: 86401s; use 1s to 86400s"),
        (["--plot", "a.html"], "no such plot: a.html; use a name in .svg, .png"),
        (["--output", "/nowhere/at/all"], "no such folder for a result: /nowhere/at/all"),
        (["--save", "a", "--no-save"], "--save and --no-save both given: a"),
        (["--nodes", "4", "--place", "lab", "--rate", "fast"], "not a link rate: 'fast'"),
    ],
)
def test_options_that_make_no_sense_are_errors(words, said):
    result = run(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr


def built(name: str) -> Path:
    try:
        mpi.family(name)
        return program.of_family(name, program.CALIBRATE)
    except UserError as error:
        pytest.skip(str(error))


LEAST_ROUNDS = {"openmpi": 7, "mpich": 3}  # the program's own, and fewer


def with_few_rounds(name, folder, monkeypatch):
    """The program, which takes a second a round, measures three rounds at least instead of seven."""
    stand_in = folder / f"{program.CALIBRATE}{name}"
    stand_in.write_text(f'#!/bin/sh\nexec {built(name)} "$@" --rounds 3\n')
    stand_in.chmod(0o755)
    monkeypatch.setenv("LATECOMER_PROGRAMS", str(folder))


@pytest.mark.parametrize("name", FAMILIES)
def test_a_real_run_on_this_machine(name, tmp_path, monkeypatch):
    built(name)
    if LEAST_ROUNDS[name] < 7:
        with_few_rounds(name, tmp_path, monkeypatch)
    words = ["--place", "local", "--nodes", "2", "--mpi", name, "--seconds", "1s", "--json"]
    result = run(*words)
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    values = {each["name"]: each for each in found["parameters"]}
    assert found["used"]["rounds"] >= LEAST_ROUNDS[name]
    for each in ("alpha", "beta", "gamma"):
        assert 0 <= values[each]["low"] <= values[each]["value"] <= values[each]["high"], each
    assert values["alpha"]["value"] > 0  # the others may drown in the noise of a loaded machine
    assert values["eager"]["value"] > 0
    assert values["exchange"]["value"] >= 1
    patterns = {point["pattern"] for point in found["points"]}
    assert patterns == set(PATTERNS)
    saved = networks.load(networks.default_path())
    assert (saved.facts["place"], saved.facts["ranks"]) == ("local", "2")
    assert saved.facts["mpi"].startswith(f"{name} ")
    bench = ["bench", "--place", "local", "--mpi", name, "--algorithms", "ring"]
    quick = ["--bytes", "4KiB", "--iterations", "1", "--warmup", "0", "--compute", "1ms"]
    used = json.loads(run_verb(*bench, *quick, "--nodes", "2", "--json").stdout)["used"]
    assert (used["costs"], used["costs_from"]) == (saved.text, saved.source)
    used = json.loads(run_verb(*bench, *quick, "--nodes", "3", "--json").stdout)["used"]
    assert "is not of this place" in used["costs_from"]


def test_a_real_run_in_the_lab_finds_its_links(tmp_path, monkeypatch):
    with_few_rounds("openmpi", tmp_path, monkeypatch)
    try:
        cluster.settle(cluster.LabSpec(4, 10**9, per_node=2))
    except cluster.LabError as error:
        pytest.skip(str(error))
    words = ["--place", "lab", "--nodes", "2", "--per-node", "2", "--rate", "1gbit"]
    result = run(*words, "--seconds", "1s", "--json", "--mpi", "openmpi")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert "per_node=2" in found["network"]
    assert {each["name"] for each in found["parameters"]} >= {"local_alpha", "local_beta"}
    beta = next(each for each in found["parameters"] if each["name"] == "beta")
    assert beta["value"] > 0.8 * 8 / 0.956  # no link is faster than it is


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--seconds", "-1"], "--seconds: '-1' is not usable"),
        (["--rounds", "0"], "--rounds: '0' is not usable"),
        (["--largest", "7"], "--largest: '7' is not usable"),
        (["--rounds", "4294967297"], "a whole number from 1 to 2147483647"),
        (["--largest", "9999999999"], "a whole number from 262144 to 1073741824"),
        (["--fast", "1"], "option: '--fast' is not usable"),
        (["--seconds"], "--seconds: '' is not usable"),
        ([], "ranks: '1' is not usable; right would be 2 or more"),
    ],
)
def test_the_programs_own_errors(words, said, capfd):
    command, family = [str(built("openmpi")), *words], mpi.family("openmpi")
    launch = mpi.launch_command(family, 1, command, env=at_once(), allow_root=True)
    from latecomer.launch import processes

    assert processes.run(launch.command, env=launch.env, deadline=600) == 2
    assert said in capfd.readouterr().err


def test_the_programs_output_must_be_writable(capfd):
    path = built("openmpi")
    words = [str(path), "--output", "/nowhere/at/all"]
    launch = mpi.launch_command(mpi.family("openmpi"), 2, words, allow_root=True)
    from latecomer.launch import processes

    assert processes.run(launch.command, env=launch.env, deadline=600) == 2
    assert "--output: '/nowhere/at/all' is not usable" in capfd.readouterr().err
