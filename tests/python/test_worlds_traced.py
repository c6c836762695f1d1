"""The check of worlds' traces finds what a trace has wrong."""

import json
import subprocess
import sys

import pytest
from install_helpers import ROOT

sys.path.insert(0, str(ROOT / "evidence"))

from worlds_traced import Told, TrueCall, apart, check

WORLDS = ROOT / "build" / "release" / "worlds"
SEED = 7  # ten ranks on nine hosts, whose clocks differ by seconds


PROGRAMS = ["latecomer_worlds", "latecomer_worlds_dropin"]


def play(program, seeds, folder):
    words = [WORLDS / program, *map(str, seeds), "12", "80", f"traces={folder}"]
    subprocess.run(words, check=True)


@pytest.fixture(scope="module", params=PROGRAMS)
def played(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("traces")
    play(request.param, [SEED, SEED], folder)
    return folder


@pytest.fixture
def truth(played):
    """The truth, which a test may change."""
    path = played / f"{SEED}.truth"
    right = path.read_text()
    yield json.loads(right)
    path.write_text(right)


def found(folder, truth):
    (folder / f"{SEED}.truth").write_text(json.dumps(truth))
    return "\n".join(check(folder))


def test_a_right_trace_has_no_faults(played, truth):
    assert found(played, truth) == ""
    assert len(truth["calls"]) > 500


def test_times_that_are_off_by_more_than_is_told_are_found(played, truth):
    call = next(each for each in truth["calls"] if each[0] == 5)
    call[5] -= 100_000_000
    assert "rank 5: " in found(played, truth)
    assert "is off by 0.1 s, and not " in found(played, truth)
    # Where calls may be missing the entries are compared.
    assert "rank 5: " in found(played, truth | {"faulty": True})


@pytest.mark.parametrize("told", [float("nan"), 3.0])
def test_a_time_that_is_not_known_is_no_right_one(told):
    right = TrueCall(0, "bcast", 1, 1.0, 2.0)
    assert not apart(right, Told("bcast", 0, 0, 1.0, told)) <= 0.5
    assert not apart(right, Told("bcast", 0, 0, told, 2.0)) <= 0.5
    assert apart(right, Told("bcast", 0, 0, 1.25, 2.0)) == 0.25


def test_calls_that_are_missing_are_found(played, truth):
    of_rank = [each for each in truth["calls"] if each[0] == 3]
    truth["calls"].remove(of_rank[-1])
    said = found(played, truth)
    assert f"rank 3: {len(of_rank)} calls of {len(of_rank) - 1}" in said


def test_calls_that_are_matched_wrongly_are_found(played, truth):
    next(each for each in truth["calls"] if each[0] == 2)[1] += 1
    assert "calls of several steps are one: [(0, " in found(played, truth)


def test_a_damaged_file_is_found_unless_a_fault_explains_it(played, truth):
    path = played / str(SEED) / "rank-4.trace"
    whole = path.read_bytes()
    path.write_bytes(b"no trace" + whole[8:])
    try:
        assert "remark: " in found(played, truth)
        assert found(played, truth | {"faulty": True}) == ""
    finally:
        path.write_bytes(whole)


def test_a_missing_trace_is_found_unless_a_rank_says_why(played, truth, tmp_path):
    (tmp_path / "7.truth").write_text(json.dumps(truth))
    assert check(tmp_path) == ["seed 7: no trace, and nobody says why"]
    (tmp_path / "7.truth").write_text(json.dumps(truth | {"said": True}))
    assert check(tmp_path) == []


@pytest.mark.parametrize("program", PROGRAMS)
def test_traces_of_worlds_tell_what_happened(program, tmp_path):
    play(program, [1, 80], tmp_path)
    assert check(tmp_path) == []
    assert len(list(tmp_path.glob("*.truth"))) == 80


@pytest.mark.parametrize(
    ("program", "seed"),
    [
        (PROGRAMS[0], 6000909),  # calls fail on some ranks: they bound no clock
        (PROGRAMS[0], 6014846),
        (PROGRAMS[1], 117),  # the summary had other waits in calls that make communicators
        (PROGRAMS[1], 1195),
    ],
)
def test_traces_that_had_faults_are_right(program, seed, tmp_path):
    play(program, [seed, seed], tmp_path)
    assert check(tmp_path) == []


def test_a_summary_that_tells_something_else_is_found(tmp_path):
    play(PROGRAMS[1], [SEED, SEED], tmp_path)
    path = tmp_path / f"{SEED}.json"
    right = json.loads(path.read_text())
    waited = [right["waited_s"][0] + 0.1, *right["waited_s"][1:]]
    path.write_text(json.dumps(right | {"waited_s": waited}))
    assert "waits of the summary are off by 0.1" in "".join(check(tmp_path))
    path.write_text(json.dumps(right | {"told": right["told"] - 1}))
    assert f"the summary tells of {right['told'] - 1} calls" in "".join(check(tmp_path))
