"""The simulate verb: lists of ranks and sizes, its rows, and ends before the end."""

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import latecomer
import pytest
from latecomer.core import registry
from latecomer.core.native_choices import MODELS
from latecomer.lab.results.statistics import COLUMNS
from latecomer.lab.sweep.case import Case
from mpi_helpers import wait_until
from simulate_helpers import LONG, SMALL, refusal, rows_of, simulate

PACKAGE_FOLDER = str(Path(latecomer.__file__).parents[1])


# ---- rows


def test_the_columns_are_those_of_bench(capsys):
    _, out, _ = simulate(capsys, *SMALL, "--format", "csv")
    assert out.splitlines()[0] == ",".join(COLUMNS)


def test_times_are_those_of_the_library_function(capsys):
    network = "alpha=10us,beta=1ns,gamma=0.5ns"
    words = ["--nodes", "5", "--bytes", "8KiB", "--delay", "2ms", "--network", network]
    for row in rows_of(capsys, *words, "--algorithms", "ring,sorted_linear_tree"):
        late = [0, 2e-3, 0, 0, 0]
        right = latecomer.simulate(
            row["algorithm"], ranks=5, count=2048, arrivals=late, network=network
        )
        assert float(row["elapsed_ms"]) == pytest.approx(1e3 * right.mean_elapsed, rel=1e-5)
        assert float(row["after_last_ms"]) == pytest.approx(1e3 * right.after_last, rel=1e-5)
        assert float(row["after_last_ms"]) >= float(row["limit_ms"])


def test_every_combination_has_a_row(capsys):
    words = ["--nodes", "2-4", "--bytes", "4-4KiB", "--arrival", "onelate", "--delay", "0,1ms"]
    rows = rows_of(capsys, *words, "--algorithms", "ring,rabenseifner")
    found = [(r["ranks"], r["bytes"], r["delay_ms"], r["algorithm"]) for r in rows]
    assert len(found) == len(set(found)) == 3 * 11 * 2 * 2


@pytest.mark.parametrize(
    ("text", "ranks"),
    [
        ("8", [8]),
        ("8,16,48", [8, 16, 48]),
        ("48,8,8", [8, 48]),
        ("2-5", [2, 3, 4, 5]),
        ("2-20:7", [2, 9, 16]),
        ("2-20:x3", [2, 6, 18]),
        ("3,6-7", [3, 6, 7]),
    ],
)
def test_lists_of_ranks(capsys, text, ranks):
    words = ["--nodes", text, "--algorithms", "ring", "--bytes", "64"]
    assert [int(row["ranks"]) for row in rows_of(capsys, *words)] == ranks


@pytest.mark.parametrize(
    ("option", "text", "sizes"),
    [
        ("--bytes", "8-64", [8, 16, 32, 64]),
        ("--bytes", "4B-1KiB:x16", [4, 64, 1024]),
        ("--bytes", "1KiB,4,1KB", [4, 1000, 1024]),
        ("--bytes", "8-24:8", [8, 16, 24]),
        ("--count", "1-4", [4, 8, 16]),
    ],
)
def test_lists_of_sizes(capsys, option, text, sizes):
    rows = rows_of(capsys, option, text, "--algorithms", "ring", "--nodes", "2")
    assert [int(row["bytes"]) for row in rows] == sizes


def test_what_is_not_random_is_simulated_once(capsys):
    for arrival, jitter, iterations in [
        ("balanced", 0, 1),
        ("onelate", 0, 1),
        ("randlate", 0, 6),
        ("onelate", 0.2, 6),
    ]:
        network = ["--network", f"jitter={jitter}", "--arrival", arrival, "--iterations", "6"]
        for row in rows_of(capsys, *SMALL, *network):
            assert int(row["iterations"]) == iterations
            assert (row["elapsed_q1_ms"] != row["elapsed_q3_ms"]) is (iterations > 1)


@pytest.mark.parametrize("random", [["--arrival", "gamma"], ["--network", "jitter=0.3"]])
def test_a_seed_repeats_a_result(capsys, random):
    words = [*SMALL, *random, "--iterations", "4", "--format", "csv"]
    once, again, other = (
        simulate(capsys, *words, "--seed", seed)[1].replace(f",{seed}\n", "\n")
        for seed in ("7", "7", "8")
    )
    assert once == again
    assert once != other


def test_a_wrong_estimate_costs_time_but_no_result(capsys):
    words = ["--nodes", "6", "--bytes", "1KiB", "--algorithms", "sorted_linear_tree"]
    words += ["--delay", "2ms", "--late-rank", "0"]
    right, wrong = (
        rows_of(capsys, *words, "--estimate", estimate)[0] for estimate in ("perfect", "reversed")
    )
    assert float(right["after_last_ms"]) < float(wrong["after_last_ms"])
    assert (right["wrong"], wrong["wrong"]) == ("0", "0")


def test_a_thread_receives_before_the_arrival(capsys):
    names = "sorted_linear_tree:segments=4,sorted_linear_tree:segments=4:progress=foreground,ring"
    words = ["--nodes", "8", "--network", "eager=0,handshake=100us", "--delay", "100ms"]
    words += ["--algorithms", names, "--bytes", "1MiB"]
    ahead, told_not_to, ring = rows_of(capsys, *words, "--progress", "thread")
    without, *_ = rows_of(capsys, *words, "--progress", "none")
    assert "progress=background" in ahead["parameters"]
    assert "progress" not in told_not_to["parameters"] + ring["parameters"] + without["parameters"]
    assert without["after_last_ms"] == told_not_to["after_last_ms"]
    assert float(ahead["after_last_ms"]) < 0.95 * float(without["after_last_ms"])
    assert float(ahead["limit_ms"]) <= float(without["limit_ms"])


def test_results_are_computed_where_vectors_are_small_only(capsys):
    for size, wrong in [("1KiB", "0"), ("4MiB", "")]:
        words = ["--nodes", "4", "--bytes", size, "--algorithms", "all", "--arrival", "balanced"]
        assert {row["wrong"] for row in rows_of(capsys, *words)} == {wrong}


def test_a_wrong_result_is_reported(capsys, monkeypatch):
    from latecomer.lab.sweep import sweep

    plan_of = sweep.make_plan

    class Broken:
        def __init__(self, *arguments):
            self.plan = plan_of(*arguments)

        def __getattr__(self, name):
            return getattr(self.plan, name)

        def simulate(self, *arguments, **more):
            return self.plan.simulate(*arguments, **more) | {"wrong": 3}

    monkeypatch.setattr(sweep, "make_plan", Broken)
    code, out, err = simulate(capsys, *SMALL, "--format", "osu")
    assert code == 1
    assert out.count("Fail") == 2
    assert "error: 3 wrong elements: ring, 4 ranks, 1 KiB, onelate, delay 50 ms" in err


def test_operators_that_keep_order_leave_algorithms_out(capsys):
    words = ["--nodes", "5", "--bytes", "1KiB", "--op", "non-commutative", "--algorithms", "all"]
    rows = rows_of(capsys, *words)
    names = {row["algorithm"] for row in rows}
    commuting = {row.name for row in registry.algorithms("allreduce") if row.commutative_only}
    assert names.isdisjoint(commuting)
    assert {"recursive_doubling", *MODELS} <= names
    assert {row["wrong"] for row in rows} == {"0"}


def test_speedups_are_told_of_the_first_model_and_the_ring(capsys):
    words = ["--nodes", "16", "--bytes", "1MiB", "--arrival", "balanced", "--algorithms"]
    rows = rows_of(capsys, *words, "ring,mpich-5.0,openmpi-4.1")
    time = {row["algorithm"]: float(row["elapsed_ms"]) for row in rows}
    for row in rows:
        own = time[row["algorithm"]]
        assert float(row["speedup_native"]) == pytest.approx(time["mpich-5.0"] / own, rel=1e-4)
        assert float(row["speedup_ring"]) == pytest.approx(time["ring"] / own, rel=1e-4)
    alone = rows_of(capsys, *words, "rabenseifner")[0]
    assert (alone["speedup_native"], alone["speedup_ring"]) == ("", "")


def test_a_model_runs_what_it_chooses(capsys):
    words = ["--nodes", "16", "--bytes", "1MiB", "--algorithms", "openmpi-4.1,rabenseifner"]
    model, chosen = rows_of(capsys, *words)
    assert model["parameters"] == "as rabenseifner"
    assert model["elapsed_ms"] == chosen["elapsed_ms"]


def test_arrivals_from_a_file(capsys, tmp_path):
    late = tmp_path / "late.csv"
    late.write_text("0,0,0,1ms\n0,2ms,0,0\n")
    rows = rows_of(capsys, *SMALL, "--arrival", f"file:{late}", "--iterations", "2")
    assert {(row["delay_ms"], row["iterations"]) for row in rows} == {("", "2")}


# ---- what is written and shown


def test_a_table_over_ranks_marks_the_best(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    words = ["--nodes", "2,64", "--bytes", "64", "--algorithms", "ring,recursive_doubling"]
    code, out, err = simulate(capsys, *words)
    assert code == 0
    head = out.splitlines()[1].split()
    assert head == ["ranks", "limit", "ring", "recursive_doubling"]
    assert [line.split()[0] for line in out.splitlines()[2:]] == ["2", "64"]
    assert "2 to 64 ranks" in err


def test_a_narrow_terminal_shows_who_is_fastest(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    words = ["--nodes", "2,64", "--bytes", "64", "--algorithms", "all"]
    code, out, err = simulate(capsys, *words)
    assert code == 0
    assert out.splitlines()[1].split() == ["ranks", "limit", "fastest", "ms"]
    assert "all columns need a terminal of" in err


def test_costs_are_shown_as_they_were_given(capsys):
    row = rows_of(capsys, *SMALL, "--network", "alpha=50us,beta=8ns,gamma=0.1ns")[0]
    assert row["network"].startswith("alpha=5e-05s,beta=8e-09s,gamma=1e-10s,")


def test_json_says_what_was_used(capsys):
    _, out, _ = simulate(capsys, *SMALL, "--json", "--network", "alpha=1us")
    found = json.loads(out)
    assert found["used"]["network"].startswith("alpha=1e-06s,")
    assert found["used"]["mpi"] == "simulated"
    assert [row["algorithm"] for row in found["rows"]] == ["ring", "recursive_doubling"]


@pytest.mark.parametrize(
    "sweep",
    [
        ["--nodes", "2-5", "--bytes", "1KiB"],
        ["--nodes", "4", "--bytes", "8B-4KiB"],
        ["--nodes", "4,6", "--bytes", "8B-4KiB"],
        ["--nodes", "2-9", "--bytes", "64,4KiB", "--delay", "0,1ms"],
        ["--nodes", "4", "--bytes", "1KiB"],
        ["--nodes", "1-3", "--bytes", "64", "--arrival", "balanced"],
    ],
)
def test_plots_and_pages_are_written(capsys, tmp_path, sweep):
    files = [tmp_path / name for name in ("a.svg", "b.png", "c.html", "d.csv")]
    words = [word for file in files[:3] for word in ("--plot", str(file))]
    code, _, err = simulate(capsys, *sweep, *words, "--output", str(files[3]))
    assert code == 0, err
    svg, png, page, table = (file.read_bytes() for file in files)
    assert png.startswith(b"\x89PNG")
    assert table.decode().count("\n") > 5
    for text in (svg.decode(), page.decode()):
        assert "openmpi-4.1" in text
        assert "recursive_doubling" in text


def test_a_page_over_ranks_counts_who_is_fastest(capsys, tmp_path):
    page = tmp_path / "page.html"
    words = ["--nodes", "2-8", "--bytes", "64", "--algorithms", "ring,recursive_doubling"]
    assert simulate(capsys, *words, "--report", str(page), "--arrival", "balanced")[0] == 0
    assert "<b>recursive_doubling</b> is fastest in 7 of 7 cases" in page.read_text()


def test_a_sweep_says_first_how_much_there_is_to_do(capsys):
    words = [
        "--nodes",
        "2-4",
        "--bytes",
        "8-64",
        "--algorithms",
        "ring,fastest",
        "--delay",
        "0,1ms",
    ]
    said = simulate(capsys, *words)[2].splitlines()
    assert said[0] == "latecomer: 12 cases of ranks and size, 48 simulations"
    assert "cases" not in simulate(capsys, *SMALL)[2]


def test_a_model_is_not_called_native(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "160")
    page = tmp_path / "page.html"
    words = ["--nodes", "16", "--arrival", "balanced", "--report", str(page), "--algorithms"]
    code, out, err = simulate(capsys, *words, "mpich-5.0,openmpi-4.1,circulant")
    assert code == 0, err
    assert "x mpich-5.0" in out
    text = page.read_text()
    assert "times as fast as the model mpich-5.0" in text
    assert "<dt>x mpich-5.0, x ring</dt>" in text
    assert "no MPI ran" in text
    assert "native" not in out + text


@pytest.fixture
def simgrid_runs(monkeypatch):
    """Stands for SimGrid, which takes up to 16 ranks."""
    from latecomer.lab import simgrid

    def run(algorithm, *, ranks, count, arrivals, network, **more):
        if ranks > 16:
            remedy = "right would be at most 16, since x.xml has 16 hosts and each gets 1 "
            raise simgrid.SimGridError("ranks", ranks, remedy + "(--per-node)")
        return latecomer.simulate(algorithm, ranks=ranks, count=count, arrivals=arrivals)

    monkeypatch.setattr(simgrid, "simulate", run)


SIMGRID = ["--engine", "simgrid", "--platform", "x.xml", "--algorithms", "ring", "--bytes", "64"]


@pytest.mark.parametrize(
    ("config", "warned"), [([], True), (["--config", "plain"], False), (["--config", "a:b"], False)]
)
def test_the_defaults_of_simgrid_are_warned_of(capsys, simgrid_runs, config, warned):
    code, _, err = simulate(capsys, *SIMGRID, *config)
    assert code == 0, err
    assert ("too pessimistic for segmented algorithms; --config plain" in err) is warned


def test_too_few_hosts_name_an_option_that_there_is(capsys, simgrid_runs):
    said = refusal(capsys, *SIMGRID, "--config", "plain", "--nodes", "17", code=1)
    assert "ranks: 17; right would be at most 16" in said
    assert "each gets 1 (--per-node)" in said


# ---- ends before the end


def test_a_deadline_keeps_what_is_complete(capsys):
    words = ["--nodes", "2,3,1024", *LONG, "--deadline", "1", "--format", "csv"]
    code, out, err = simulate(capsys, *words)
    assert code == 1
    assert [row["ranks"] for row in csv.DictReader(io.StringIO(out))] == ["2", "3"]
    assert "stopped by --deadline after 1 s; these are the first 2 of 3 cases" in err


def test_a_deadline_before_anything_is_complete(capsys):
    said = refusal(capsys, "--nodes", "1024", *LONG, "--deadline", "0.1", code=1)
    assert "error: no case was completed: stopped by --deadline after 0.1 s; ask for less" in said


def test_an_interruption_keeps_what_is_complete(tmp_path):
    table = tmp_path / "rows.csv"
    command = [sys.executable, "-m", "latecomer", "simulate", "--nodes", "2,1024", *LONG]
    poked = subprocess.Popen(
        [*command, "--output", str(table)],
        env=os.environ | {"PYTHONPATH": PACKAGE_FOLDER, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_until(lambda: _busy(poked.pid))
        poked.send_signal(signal.SIGINT)
        _, err = poked.communicate(timeout=600)
    finally:
        poked.kill()
    assert poked.returncode == 130, err
    assert "interrupted; these are the first 1 of 2 cases" in err
    assert "Traceback" not in err
    assert len(table.read_text().splitlines()) == 2


def test_an_interruption_before_the_first_case_says_so(capsys, monkeypatch):
    def interrupted(*_words):
        raise KeyboardInterrupt

    monkeypatch.setattr(Case, "rows", interrupted)
    code, out, err = simulate(capsys, *SMALL)
    assert (code, out) == (130, "")
    assert "latecomer: interrupted before the first case\n" in err


def test_what_cannot_be_written_does_not_lose_the_table(capsys, tmp_path):
    code, out, err = simulate(capsys, *SMALL, "--output", "/dev/full", "--format", "csv")
    assert (code, out.count("\n")) == (1, 3)
    assert "error: cannot write the result (No space left on device): /dev/full; name a" in err


def test_a_full_standard_output_is_an_error_and_files_are_written(tmp_path):
    file = tmp_path / "rows.csv"
    command = [sys.executable, "-m", "latecomer", "simulate", *SMALL, "--output", str(file)]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command,
            env=os.environ | {"PYTHONPATH": PACKAGE_FOLDER},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    said = done.stderr
    assert done.returncode == 1, said
    assert "error: cannot read or write standard output: No space left on device" in said
    assert "Traceback" not in said
    assert file.read_text().count("\n") == 3


def _busy(pid: int) -> bool:
    """Has it taken so much memory that the second case is under way?"""
    line = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return line is not None and int(line[1]) > 200_000


def test_calls_learn_from_each_other_online(capsys):
    words = ["--nodes", "16", "--bytes", "4MiB", "--delay", "0,50ms", "--iterations", "24"]
    names = "openmpi-4.1,fastest,sorted_linear_tree,auto"
    rows = rows_of(capsys, *words, "--algorithms", names, "--estimate", "online")
    late = {row["algorithm"]: row for row in rows if float(row["delay_ms"]) == 50}
    assert all(row["iterations"] == "24" for row in rows)
    assert late["auto"]["parameters"].startswith("as=")
    assert float(late["auto"]["elapsed_ms"]) < 0.9 * float(late["fastest"]["elapsed_ms"])
    assert {row["estimate"] for row in rows} == {"online"}


def test_no_operator_of_the_benchmark_is_exact(capsys):
    """Nor do MPI libraries add integers in any order: some saturate."""
    words = ["--nodes", "3", "--bytes", "8", "--algorithms", "fastest", "--arrival", "balanced"]

    def taken(op, kind):
        return rows_of(capsys, *words, "--op", op, "--type", kind)[0]["elapsed_ms"]

    times = {taken(op, kind) for op in ("max", "sum") for kind in ("float32", "int32")}
    assert len(times) == 1
