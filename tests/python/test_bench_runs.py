"""The bench verb with the real benchmark program, on this machine as it is and in the lab."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import latecomer
import pytest
from bench_helpers import QUICK, TWO, run
from dropin_helpers import PATIENT
from latecomer.base.errors import UserError
from latecomer.lab import cluster
from latecomer.launch import mpi, program
from mpi_helpers import FAMILIES, wait_until

PACKAGE_FOLDER = str(Path(latecomer.__file__).parents[1])


@pytest.fixture(autouse=True)
def _ranks_that_wait_take_little(monkeypatch):
    """With threads in ranks on shared cores, or images, it is a quarter of the time."""
    for name, value in PATIENT.items():
        monkeypatch.setenv(name, value)


def built(name: str) -> None:
    try:
        mpi.family(name)
        program.of_family(name)
    except UserError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", FAMILIES)
def test_three_local_ranks(name):
    built(name)
    words = ["--place", "local", "--nodes", "3", "--mpi", name, "--delay", "5ms", "--json"]
    result = run(*words, *QUICK, "--algorithms", "native,ring,prereduced_ring:segments=6")
    assert result.exit_code == 0
    rows = json.loads(result.stdout)["rows"]
    assert [row["parameters"] for row in rows] == ["", "", "segments=6"]
    assert all(row["elapsed_ms"] > 0 and row["delay_ms"] == 5 for row in rows)
    assert {(row["ranks"], row["wrong"], row["limit_ms"]) for row in rows} == {(3, 0, None)}
    assert rows[0]["mpi"].startswith(f"{name} ")


@pytest.mark.parametrize("name", FAMILIES)
def test_calls_that_the_library_carries_out_are_told_as_such(name, tmp_path):
    built(name)
    samples = tmp_path / "samples"
    words = ["--place", "local", "--nodes", "3", "--mpi", name, "--estimate", "online"]
    words += ["--json", "--samples", str(samples), "--bytes", "64", "--delay", "0"]
    words += ["--compute", "1ms", "--iterations", "9", "--warmup", "0"]
    result = run(*words, "--algorithms", "native,auto")
    assert result.exit_code == 0, result.stderr
    calls = [json.loads(line) for line in samples.read_text().splitlines()[1:]]
    assert {call["parameters"] for call in calls if call["algorithm"] == "native"} == {""}
    by_library = [call for call in calls if call["algorithm"] == "auto" and call["by"] == "mpi"]
    assert by_library  # too short for anything else
    assert {call["parameters"] for call in by_library} == {"as=native"}


@pytest.mark.parametrize("name", FAMILIES)
def test_a_progress_thread_runs_ahead_where_it_is_asked_for(name):
    built(name)
    words = ["--place", "local", "--nodes", "3", "--mpi", name, "--delay", "20ms", "--json"]
    words += [*QUICK, "--algorithms", "native,ring,sorted_linear_tree:segments=4"]
    for progress, told in (("thread", " progress=background"), ("none", "")):
        result = run(*words, "--bytes", "4MiB", "--progress", progress)
        assert result.exit_code == 0, result.stderr
        found = json.loads(result.stdout)
        assert found["used"]["progress"] == progress
        parameters = [row["parameters"] for row in found["rows"]]
        assert parameters == ["", "", "override=ring segments=4" + told]
        assert {row["wrong"] for row in found["rows"]} == {0}


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("op", ["sum", "over"])
def test_combining_takes_the_delay_where_that_is_the_imbalance(name, op):
    built(name)
    words = ["--place", "local", "--nodes", "3", "--mpi", name, "--delay", "40ms", "--json"]
    asked = ["--collective", "reduce", "--algorithms", "native,binomial", "--op", op]
    slow_root = [*asked, "--late-rank", "0", "--uneven", "operator"]
    result = run(*words, *QUICK, *slow_root)
    assert result.exit_code == 0, result.stderr
    native, binomial = json.loads(result.stdout)["rows"]
    # The root of the tree combines two vectors after all have arrived. (No such bound holds for a
    # library's own algorithm, which may combine elsewhere.)
    assert binomial["after_last_ms"] >= 0.9 * 2 * 40
    assert (native["wrong"], binomial["wrong"]) == (0, 0)


@pytest.mark.parametrize("name", FAMILIES)
def test_images_that_are_full_differently_give_exact_results(name):
    built(name)
    words = ["--place", "local", "--nodes", "4", "--mpi", name, "--delay", "0,40ms", "--json"]
    asked = ["--algorithms", "all", "--op", "over", "--arrival", "gamma", "--uneven", "data"]
    for collective in ("reduce", "allreduce"):
        result = run(*words, *QUICK, *asked, "--collective", collective)
        assert result.exit_code == 0, result.stderr
        rows = json.loads(result.stdout)["rows"]
        assert {row["wrong"] for row in rows} == {0}
        assert {row["arrival"] for row in rows} == {"gamma in data"}


def test_the_program_refuses_what_makes_no_sense(tmp_path):
    built("openmpi")
    (tmp_path / "delays").write_text("0\n")
    words = [
        str(program.of_family("openmpi")),
        "--delays",
        str(tmp_path / "delays"),
        "--count",
        "8",
    ]
    for asked, complaint in (
        ("--algorithms native --collective bcast --root 1", "--root: '1' is not usable; right "
         "would be one of the 1 ranks"),
        ("--algorithms native --root 4294967296", "a whole number from 0 to 2147483647"),
        ("--algorithms native --seed 99999999999999999999", "--seed: '99999999999999999999'"),
        ("--algorithms native --imbalance data", "--imbalance: 'data' is not usable; right would "
         "be with --op over"),
        ("--algorithms native --collective bcast --imbalance operator", "'operator' is not usable; "
         "right would be phase for bcast"),
        ("--algorithms native --imbalance x", "right would be one of phase, data, operator"),
    ):  # fmt: skip
        done = subprocess.run(
            [*words, *asked.split()], capture_output=True, text=True, check=False, timeout=600
        )
        assert (done.returncode, complaint in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(("op", "count"), [("over", 4), ("non-commutative", 6)])
def test_the_program_refuses_parts_of_elements(op, count, tmp_path):
    built("openmpi")
    (tmp_path / "delays").write_text("0 0\n")
    command = [str(program.of_family("openmpi")), "--delays", str(tmp_path / "delays")]
    words = ["--algorithms", "native", "--collective", "allgather", "--op", op]
    launch = mpi.launch_command(
        mpi.family("openmpi"), 2, [*command, *words, "--count", str(count)], allow_root=True
    )
    done = subprocess.run(
        launch.command, env=launch.env, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode != 0
    assert f"--count: '{count}' is not usable; right would be one that gives" in done.stderr


def needs_lab() -> None:
    built("openmpi")
    try:
        cluster.settle(cluster.LabSpec(4, 10**8))
    except cluster.LabError as error:
        pytest.skip(str(error))


def test_what_needs_a_common_clock_is_empty_where_hosts_clocks_differ():
    needs_lab()
    if not Path("/proc/self/timens_offsets").exists():
        pytest.skip("no time namespaces in this kernel")
    words = ["--place", "lab", "--nodes", "3", "--rate", "100mbit", "--mpi", "openmpi"]
    asked = ["--algorithms", "ring", "--bytes", "4KiB", "--delay", "30ms", "--clock-skew", "9999s"]
    result = run(*words, *QUICK, *asked, "--json")
    assert result.exit_code == 0, result.stderr
    (row,) = json.loads(result.stdout)["rows"]
    assert (row["after_last_ms"], row["wrong"]) == (None, 0)
    assert 0 < row["elapsed_ms"] < 1e6  # not the hours by which clocks differ


@pytest.mark.parametrize(("estimate", "times"), [("perfect", "3"), ("wrong", "1")])
def test_every_algorithm_is_right_in_the_lab_with_one_late_rank(estimate, times):
    needs_lab()
    words = ["--place", "lab", "--nodes", "4", "--rate", "100mbit", "--mpi", "openmpi"]
    asked = ["--algorithms", "all", "--estimate", estimate, "--bytes", "200KiB", "--delay", "30ms"]
    result = run(*words, *QUICK, *asked, "--iterations", times, "--json")
    assert result.exit_code == 0, result.stderr
    rows = json.loads(result.stdout)["rows"]
    assert [row["algorithm"] for row in rows] == [
        row.name for row in latecomer.algorithms("allreduce")
    ]
    assert [row["wrong"] for row in rows] == [0] * len(rows)


def test_a_lab_run_knows_the_limit(tmp_path):
    needs_lab()
    words = ["--place", "lab", "--nodes", "4", "--rate", "100mbit", "--mpi", "openmpi"]
    result = run(*words, *QUICK, *TWO, "--bytes", "1MiB", "--delay", "20ms", "--json")
    for row in json.loads(result.stdout)["rows"]:
        assert row["network"].startswith("lab 4x100mbit burst=")
        assert 0.5 * 88 < row["limit_ms"] < row["after_last_ms"]
        assert row["run_ms"] > row["after_last_ms"] + 15


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_run_that_is_ended_prints_what_it_has_and_leaves_nothing(number, tmp_path):
    built("openmpi")
    words = ["bench", "--place", "local", "--nodes", "2", "--mpi", "openmpi", *TWO, *QUICK]
    many = ["--iterations", "20000", "--delay", "1ms"]
    # Also where the tests themselves run under nohup, which has SIGHUP ignored.
    heeding = ["env", "--default-signal"]
    running = subprocess.Popen(
        [*heeding, sys.executable, "-m", "latecomer", *words, *many],
        env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": PACKAGE_FOLDER},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    samples = "latecomer-*/samples*"
    wait_until(lambda: sum(path.stat().st_size for path in tmp_path.glob(samples)) > 5000)
    running.send_signal(number)
    out, err = running.communicate(timeout=600)
    assert (running.returncode, "interrupted" in err) == (130, True)
    assert "ring" in out
    assert list(tmp_path.glob("latecomer-*")) == []


def test_a_real_run_ends_at_its_deadline():
    built("openmpi")
    words = ["--place", "local", "--nodes", "2", "--mpi", "openmpi", "--delay", "1ms"]
    result = run(*words, *TWO, *QUICK, "--iterations", "5000", "--deadline", "3")
    assert result.exit_code == 1
    assert "still running after 3 s and killed: mpirun" in result.stderr
