"""`latecomer verify`: tables, counterexamples in words, and schedules in files."""

import io
import json
import random
import re
import shlex
import subprocess
import sys
from pathlib import Path

import latecomer
import pytest
from latecomer import cli
from latecomer.core import cases
from latecomer.core.checking import Counterexample

NEGATIVE = Path(__file__).parents[1] / "negative"
TREE, RING = (
    next(row for row in latecomer.algorithms() if row.name == name)
    for name in ("sorted_linear_tree", "ring")
)
PROTOCOLS = [row for row in latecomer.algorithms() if row.kind == "protocol"]


def run(capsys, *words):
    code = cli.run(["verify", *map(str, words)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


# ---- the registry


def test_the_table_names_algorithms_ranks_and_cases(capsys):
    code, out, err = run(
        capsys,
        "--collective",
        "allreduce",
        "--ranks",
        "1-3,5",
        "--arrivals",
        3,
        "--seed",
        7,
        "--budget",
        "0s",
    )
    assert (code, err) == (0, "")
    assert "3 arrival patterns of seed 7" in out
    assert "no counterexamples" in out
    header = next(line for line in out.splitlines() if "ranks" in line)
    assert header.split() == ["ranks", "1", "2", "3", "5", "cases"]
    for row in latecomer.algorithms("allreduce"):
        shown = [line.split() for line in out.splitlines() if line.split()[:1] == [row.name]]
        assert [cells[1:5] for cells in shown] == [["ok"] * 4] * (row.kind != "native")


def test_many_numbers_of_ranks_are_several_tables(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    words = ["--collective", "allreduce", "--algorithms", "recursive_doubling"]
    code, out, _ = run(capsys, *words, "--ranks", "1-20")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert out.count("recursive_doubling") == 2


def test_json(capsys):
    code, out, _ = run(
        capsys,
        "--collective",
        "allreduce",
        "--algorithms",
        "ring,linear_tree",
        "--ranks",
        4,
        "--json",
    )
    found = json.loads(out)
    assert code == 0
    assert found["counterexamples"] == 0
    assert found["cases"] == sum(cell["cases"] for cell in found["checked"])
    assert {cell["algorithm"] for cell in found["checked"]} == {"linear_tree", "ring"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--ranks", "0"], "--ranks is no number of ranks: '0'; use 1 to 4096"),
        (["--ranks", "5-4"], "--ranks is no range: '5-4'; use FROM-TO"),
        (["--ranks", "4,,5"], "--ranks is no list: ''; use 8 or"),
        (["--ranks", "four"], "--ranks is no number of ranks: 'four'; use 1 to"),
        (["--algorithms", "rign"], "--algorithms: 'rign'; give some of arrival_b, "),
        (["--algorithms", "native"], "--algorithms: 'native'; give some of"),
        (["--arrivals", "-1"], "Invalid value for --patterns"),
        (["--arrivals", "x"], "Invalid value for --patterns"),
        (["--frobnicate"], "No such option"),
        (["--budget", "3"], "--budget: '3' is not usable; right would be"),
        (["--budget", "3s", "--all"], "--budget: '3s'; leave it out, or --all"),
    ],
)
def test_usage_errors(capsys, words, message):
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert err.startswith("latecomer: error: ")
    assert message in err


def test_a_budget_that_is_too_short_is_told(capsys):
    words = ["--collective", "bcast", "--algorithms", "linear,arrival_nb", "--ranks", "4-5"]
    code, out, err = run(capsys, *words, "--budget", "0s")
    assert (code, err) == (0, "")
    told = re.search(r": 4 of ([\d,]+) cases, chosen by the seed, no counterexamples; --all", out)
    assert told
    assert "Of arrival_nb, which decide while they run, calls on the virtual" in out
    assert f": {told[1]} cases, no counterexamples\n" in run(capsys, *words, "--all")[1]


def test_the_seed_chooses_the_cases(capsys):
    words = ["--algorithms", "ring", "--ranks", "2-9", "--budget", "0s", "--json"]
    found = json.loads(run(capsys, *words)[1])
    assert (found["complete"], found["cases"], found["of"] > 16) == (False, 16, True)
    assert all(cell["cases"] == 1 for cell in found["checked"])
    all_ = cases.Cases(TREE, 4, 3, 1)
    once, again, other = (list(cases._shuffled(all_, random.Random(seed))) for seed in (1, 1, 2))
    assert once == again != other
    assert set(once) == set(all_)
    assert len(once) == len(set(once))


@pytest.mark.parametrize("row", PROTOCOLS, ids=lambda row: f"{row.collective} {row.name}")
def test_algorithms_that_decide_while_they_run_are_verified(capsys, row):
    code, out, _ = run(
        capsys,
        *("--algorithms", row.name, "--collective", row.collective, "--ranks", "2,5"),
        *("--per-node", "2", "--budget", "0s"),
    )
    assert code == 0
    assert [line.split()[:3] for line in out.splitlines() if row.name in line.split()[:1]] == [
        [row.name, "ok", "ok"]
    ]
    assert (
        latecomer.verify(
            row.name, ranks=5, count=30, collective=row.collective, arrivals=[0, 0, 3e-3, 0, 1e-3]
        )
        is None
    )


# ---- counterexamples


@pytest.fixture
def broken_ring(monkeypatch):
    """The ring, wrong in place from 3 ranks and 4 elements up."""
    real = cases.verify

    def verify(algorithm, **problem):
        if algorithm == "ring" and problem["ranks"] > 2 and problem["count"] > 3:
            return Counterexample("delivery", "rank 1 lacks element 3")
        return real(algorithm, **problem)

    monkeypatch.setattr(cases, "verify", verify)


def test_a_counterexample_is_told_in_words(capsys, broken_ring):
    code, out, _ = run(
        capsys, *("--collective", "allreduce", "--ranks", "2-4", "--algorithms", "ring,linear_tree")
    )
    assert code == 1
    assert "2 counterexamples" in out
    assert "allreduce ring, 3 ranks: counterexample to the rule 'delivery' (in the end every" in out
    assert "rank 1 lacks element 3" in out
    ring = next(line for line in out.splitlines() if line.split()[:1] == ["ring"])
    assert ring.split()[1:4] == ["ok", "no", "no"]


def test_a_counterexample_in_json(capsys, broken_ring):
    code, out, _ = run(
        capsys, *("--collective", "allreduce", "--ranks", "2-3", "--algorithms", "ring", "--json")
    )
    good, bad = json.loads(out)["checked"]
    assert code == 1
    assert good["rule"] is None
    assert (bad["rule"], bad["text"]) == ("delivery", "rank 1 lacks element 3")
    assert bad["command"].startswith("latecomer show ring ")


@pytest.mark.parametrize(
    "case",
    [
        cases.Case("linear_tree:segments=3", "allreduce", 5, 6, True, False),
        cases.Case("sorted_linear_tree", "allreduce", 3, 29, False, True, (1e-05, 0.0, 0.0031)),
    ],
)
def test_the_command_repeats_the_case(capsys, case):
    show, verify = case.command().split(" | ")
    assert verify == "latecomer verify -"
    assert cli.run(shlex.split(show)[1:]) == 0
    expected = latecomer.program(
        case.algorithm,
        ranks=case.ranks,
        count=case.count,
        arrivals=case.arrival,
        commutative=case.commutative,
        in_place=case.in_place,
    )
    assert capsys.readouterr().out.endswith(expected.text)


def test_the_command_repeats_the_case_of_a_protocol():
    case = cases.Case("online_owners:blocks=3", "allreduce", 3, 29, arrival=(1e-05, 0.0, 0.0031))
    words = shlex.split(case.command())
    assert words[0] == "python3"
    ended = subprocess.run([sys.executable, *words[1:]], capture_output=True, text=True, check=True)
    assert ended.stdout == "None\n"


# ---- the cases


def test_every_count_place_and_variant_is_met():
    found = list(cases.Cases(TREE, 4, arrivals=6, seed=1))
    assert {case.count for case in found} == {0, 1, 3, 4, 5, 37}
    assert {case.in_place for case in found} == {False, True}
    assert {case.commutative for case in found} == {True}
    assert {case.algorithm for case in found} >= {
        "sorted_linear_tree:override=ring",
        "sorted_linear_tree:segments=3:override=back",
        "sorted_linear_tree:segments=3:override=back:progress=background",
    }
    assert len({case.arrival for case in found}) == 1 + 6
    assert len(found) == len(set(found))


def test_only_arrival_aware_algorithms_meet_arrivals():
    assert {case.arrival for case in cases.Cases(RING, 4, arrivals=6, seed=1)} == {None}


def test_the_seed_makes_the_arrivals():
    once, again, other = (list(cases.Cases(TREE, 4, 3, seed)) for seed in (1, 1, 2))
    assert once == again != other


# ---- files


def test_a_right_schedule_in_a_file(capsys, tmp_path):
    file = tmp_path / "ring.txt"
    file.write_text(latecomer.program("ring", ranks=3).text)
    rules = len(latecomer.rules())
    assert run(capsys, file) == (0, f"{file}: keeps all {rules} rules\n", "")


def test_standard_input(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(latecomer.program("ring", ranks=3).text))
    assert run(capsys, "-")[0] == 0


@pytest.mark.parametrize("file", sorted(NEGATIVE.glob("*.txt")), ids=lambda file: file.stem)
def test_planted_errors_are_found(capsys, file):
    code, out, _ = run(capsys, file)
    assert code == 1
    assert f"{file}: counterexample to the rule '{file.stem}' (" in out


def test_a_planted_error_in_json(capsys):
    code, out, _ = run(capsys, NEGATIVE / "once.txt", "--json")
    assert code == 1
    assert json.loads(out)["counterexample"]["rule"] == "once"


@pytest.mark.parametrize(
    "option",
    [
        ("--algorithms", "foo"),
        ("--collective", "bcast"),
        ("--ranks", 3),
        ("--patterns", 0),
        ("--seed", 2),
        ("--budget", "1s"),
    ],
)
def test_options_beside_a_file_are_errors(capsys, option):
    code, out, err = run(capsys, NEGATIVE / "once.txt", *option)
    assert (code, out) == (2, "")
    assert f"{option[0]}: '{option[1]}'; leave it out, since the file says" in err


@pytest.mark.parametrize("ranks", ["100000", "4-100000", "0"])
def test_so_many_ranks_are_not_checked(capsys, ranks):
    code, out, err = run(capsys, "--ranks", ranks)
    assert (code, out) == (2, "")
    assert f"--ranks is no number of ranks: '{ranks.split('-')[-1]}'; use 1 to 4096" in err


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        (None, 1, "error: cannot read a schedule (No such file or directory): "),
        (b"\xff\xfe", 1, "error: cannot read a schedule (not a text): "),
        (b"hello\n", 2, "error: line: 'hello' is not usable; right would be 'latecomer-plan 1'"),
        (b"", 2, "error: line: '' is not usable"),
    ],
)
def test_files_that_hold_no_schedule(capsys, tmp_path, content, code, message):
    file = tmp_path / "a.txt"
    if content is not None:
        file.write_bytes(content)
    found, out, err = run(capsys, file)
    assert (found, out) == (code, "")
    assert message in err
