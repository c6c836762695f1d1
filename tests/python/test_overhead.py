"""The program and the script that compare with the MPI library alone: their output is whole."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from latecomer.base.errors import UserError
from latecomer.launch import mpi, program
from mpi_helpers import FAMILIES, at_once

EVIDENCE = Path(__file__).resolve().parents[2] / "evidence"
PREFIX = "latecomer_overhead_"
TINY = ["--communicators", "2", "--pairs", "2"]
COLUMNS = {"communicator", "plain_us", "ours_us", "plain_sum_us", "ours_sum_us", "handled", "calls",
           "block"}  # fmt: skip


def compare(family: str, *words: str) -> subprocess.CompletedProcess[str]:
    try:
        found, path = mpi.family(family), program.of_family(family, PREFIX)
    except UserError as error:
        pytest.skip(str(error))
    command = [str(path), *words]
    launch = mpi.launch_command(found, 2, command, env=at_once(), allow_root=True)
    return subprocess.run(
        launch.command, env=launch.env, capture_output=True, text=True, timeout=600, check=False
    )


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--collective", "bcast", "--bytes", "70000"],
        ["--sizes", "5"],
        ["--fresh", "9"],
        ["--algorithm", "ring"],
        ["--late", "1e-4"],
    ],
)
def test_a_line_for_each_communicator(family, words):
    done = compare(family, *TINY, *words)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["communicator"] for row in rows] == [0, 1]
    for row in rows:
        assert set(row) == COLUMNS
        assert row["plain_us"] > 0
        assert row["ours_us"] > 0
        assert 0 <= row["handled"] <= row["calls"]
        if "ring" in words:
            assert row["handled"] == row["calls"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--bytes", "4"], "--bytes: '4'"),
        (["--collective", "barrier"], "allreduce or bcast"),
        (["--bytes", "99999999999999999999"], "--bytes: '99999999999999999999'"),
        (["--pairs", "4294967297"], "--pairs: '4294967297'"),
        (["--sizes"], "--sizes"),
        (["--late", "-1"], "--late: '-1'"),
        (["--speed", "1"], "--speed"),
        (["--algorithm", "none_such"], "none_such"),
    ],
)
def test_bad_options_are_named(words, complaint):
    done = compare("openmpi", *words)
    assert done.returncode != 0
    assert complaint in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("words", "head", "columns", "rows"),
    [
        (["--table", "ours"], "| library, us | ours, us | ratio |", 5, 1),
        (["--table", "drop-in", "--size", "8B"], "ns: median | largest |", 6, 2),
        (
            ["--table", "drop-in", "--size", "8B", "--control", "--cores", "2"],
            "with an empty wrapper, ns: median | largest |",
            8,
            2,
        ),
    ],
)
def test_the_table_has_a_row_for_each_collective(words, head, columns, rows):
    pytest.importorskip("numpy")
    try:
        program.of_family("openmpi", PREFIX), mpi.family("openmpi")
    except UserError as error:
        pytest.skip(str(error))
    command = [sys.executable, str(EVIDENCE / "overhead.py"), *words, "--ranks", "2",
               "--mpi", "openmpi", "--communicators", "1"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    lines = done.stdout.strip().splitlines()
    assert lines[0].endswith(head)
    assert lines[2].startswith("| allreduce 8B |")
    assert len(lines) == 2 + rows
    assert all(line.count("|") == columns for line in lines)
