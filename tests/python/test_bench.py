"""The bench verb: its options, and its results after a run's good and bad ends."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import latecomer
import pytest
from bench_helpers import QUICK, TWO, run
from latecomer.core.compiled import core
from latecomer.lab.bench import job, places
from latecomer.lab.cluster import LabError, LabSpec
from latecomer.lab.results.samples import SampleError
from latecomer.lab.results.statistics import COLUMNS, limit_of
from latecomer.launch import program
from latecomer.launch.mpi import short_library
from mpi_helpers import wait_until

PACKAGE_FOLDER = str(Path(latecomer.__file__).parents[1])
RANKS = 3
FAKED = ["--place", "inherit", *TWO, *QUICK]

# Stands in for the benchmark program: every rank's time in the collective is 1 ms after the last
# arrival, half of that for the ring.
FAKE = """#!{python}
import json, os, sys, time
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
with open({log!r}, "a") as log:
    log.write(json.dumps(given) + chr(10))
manner = os.environ.get("FAKE", "")
if os.environ["OMPI_COMM_WORLD_RANK"] != "0":
    sys.exit(7)
if manner == "silent":
    sys.exit(2)
if manner == "stuck":
    time.sleep(3600)
lines = [list(map(float, line.split())) for line in open(given["--delays"])]
names = given["--algorithms"].split(",")
header = {{"version": "0.1.0", "mpi": "Open MPI v9.8.7, package", "ranks": len(lines[0]),
          "algorithms": names, "clock": "apart" if manner == "apart" else "common",
          "hosts": ["here"] * len(lines[0])}}
with open(given["--output"], "w", buffering=1) as out:
    print(json.dumps(header), file=out)
    for i, late in enumerate(lines):
        if (i, manner) in [(10, "crash"), (2, "early")]:
            sys.exit(3)
        if (i, manner) in [(10, "hang"), (2, "slow")]:
            time.sleep(3600)
        for name in names:
            after = 0.0005 if name == "ring" else 0.001
            exits = [max(late) + after] * len(late)
            times = {{"arrival": late, "exit": exits}}
            if manner == "apart":
                times = {{"elapsed": [e - a for e, a in zip(exits, late)]}}
            wrong = 5 if manner == "wrong" and name == "ring" else 0
            print(json.dumps({{"iteration": i, "algorithm": name, "parameters": "",
                              "wrong": wrong, **times}}), file=out)
"""


def refusal(code: int, *words: str) -> str:
    """The error, its last line a single one, of a command line that ends with `code`; no result."""
    result = run(*words)
    assert (result.exit_code, result.stdout) == (code, "")
    assert result.stderr.splitlines()[-1].startswith("latecomer: error: ")
    return result.stderr


def in_process(*words: str) -> list[str]:
    return [sys.executable, "-m", "latecomer", "bench", *words]


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """This process is rank 0 of 3, and the program is a fake one; its input is in a file."""
    log, stand_in = tmp_path / "log", tmp_path / "latecomer_bench_openmpi"
    stand_in.write_text(FAKE.format(python=sys.executable, log=str(log)))
    stand_in.chmod(0o755)
    monkeypatch.setenv("LATECOMER_PROGRAMS", str(tmp_path))
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "0")
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", str(RANKS))
    monkeypatch.setenv("PYTHONPATH", PACKAGE_FOLDER)
    return log


def given(log: Path) -> dict:
    return json.loads(log.read_text().splitlines()[-1])


# Options


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--estimate best", "no such --estimate: best"),
        (
            "--progress none --algorithms ring:progress=background",
            "--progress none with ring:progress=background: progress=background; leave one of",
        ),
        ("--progress all", "no such --progress: all"),
        ("--collective barrier", "no such --collective: barrier; use allgather, allreduce, bcast"),
        ("--uneven rank", "no such --uneven: rank; use phase, data, operator"),
        ("--uneven data", "--uneven data with --op: sum; use over"),
        (
            "--uneven operator --collective bcast",
            "--uneven operator with --collective: bcast; use allreduce or reduce",
        ),
        (
            "--imbalance operator --estimate reversed",
            "--uneven operator with --estimate: reversed; leave one of them out",
        ),
        ("--algorithms rng", "algorithm: 'rng' is not usable"),
        ("--algorithms ring:segments=3", "parameter of ring: 'segments' is not usable"),
        ("--algorithms ring --op non-commutative", "does not go with ring: non-commutative"),
        ("--op prod", "no such --op: prod; use sum, max"),
        ("--type float16", "no such --type: float16"),
        ("--bytes 3", "holds no whole number of float32: 3; use 4 x N"),
        ("--bytes many", "--bytes: 'many' is not usable"),
        ("--count -1", "--count: '-1' is not usable"),
        ("--count 0", "count out of range: 0"),
        ("--count 4Gi", "count out of range: 4294967296"),
        ("--count 4 --bytes 16", "--bytes and --count both given: 16, 4"),
        ("--count 3 --op non-commutative", "works on 2 numbers at once: 3; use 2 x N"),
        ("--compute 5", "--compute: '5' is not usable"),
        ("--delay 5", "--delay: '5' is not usable"),
        ("--delay 5ms,", "--delay: '' is not usable"),
        ("--delay 1e99s", "--delay out of range: 1e99s; use times up to 1000000s"),
        ("--compute 2e6s", "--compute out of range: 2e6s; use times up to 1000000s"),
        ("--algorithms rinng", "did you mean ring"),
        ("--arrival early", "no such arrival pattern: early"),
        ("--arrival balanced --delay 5ms", "--delay given: 5ms"),
        ("--arrival file:late.csv --delay 5ms", "--delay given: 5ms"),
        ("--format xml", "no such --format: xml"),
        ("--output /tmp", "a folder is no file for a result: /tmp"),
        ("--output /nowhere/x.csv", "no such folder for a result: /nowhere/x.csv"),
        ("--output /proc/x.csv", "cannot write a result"),
        ("--samples /proc/x.csv", "cannot write a result"),
        ("--html /proc/x.html", "cannot write a result"),
        ("--plot x.pdf", "no such plot: x.pdf; use a name in .svg, .png, .html"),
        ("--report x.svg", "no such report: x.svg; use a name in .html"),
        ("--arrival gamma --late-rank 2", "--late-rank has no effect on --arrivals gamma: 2"),
        ("--bytes 0", "--bytes out of range: 0; use 4 to 8589934588 bytes"),
        ("--place cloud", "no such --place: cloud; use lab, local, inherit"),
        ("--network cloud", "network: 'cloud' is not usable"),
        ("--place lab --network local", "--place lab with --network: local; use --place alone"),
        ("--mpi lam", "no such --mpi: lam"),
        ("--rate fast", "not a link rate: 'fast'"),
        ("--nodes 201 --place lab", "nodes out of range: 201"),
        ("--place inherit", "outside of an MPI job: no rank"),
        ("--place local --rate 5xyz", "--rate with --place local: 5xyz; leave it out, or use"),
        ("--place local --clock-skew 5s", "--clock-skew with --place local: 5s; use the lab"),
        ("--place inherit --clock-skew 5s", "--clock-skew with --place inherit: 5s"),
        ("--place lab --clock-skew=-5s", "not a time: '-5s'"),
    ],
)
def test_a_wrong_option_is_an_error_before_anything_starts(words, complaint):
    assert complaint in refusal(2, *words.split())


@pytest.mark.parametrize(
    "words", ["--edge 1.5", "--iterations 0", "--warmup -1", "--seed -1", "--nodes 0"]
)
def test_a_number_out_of_range_is_a_usage_error(words):
    assert "See 'latecomer bench --help'." in refusal(2, *words.split())


def test_a_late_rank_outside_the_job_is_an_error(fake):
    assert "no such rank to be late: 3; use 0 to 2" in refusal(2, *FAKED, "--late-rank", "3")


def test_inside_of_a_job_other_networks_are_refused(fake):
    assert "one rank of an MPI job: --place lab" in refusal(2, *TWO)
    assert "--nodes or --per-node given" in refusal(2, *FAKED, "--nodes", "4")


def test_a_program_that_is_not_built_is_an_error(fake, monkeypatch):
    monkeypatch.setenv("LATECOMER_PROGRAMS", "")
    monkeypatch.setattr(program, "CLONE", fake.parent)
    assert "not built: latecomer_bench_openmpi; with an mpicc of openmpi, run" in refusal(1, *FAKED)


def test_the_library_of_a_job_must_be_clear(fake, monkeypatch):
    for name in ("RANK", "SIZE"):
        monkeypatch.setenv(f"PMI_{name}", os.environ.pop(f"OMPI_COMM_WORLD_{name}"))
    (fake.parent / "latecomer_bench_mpich").symlink_to(fake.parent / "latecomer_bench_openmpi")
    assert "both Open MPI and MPICH are built: which one this job uses is not known; name the " \
        "one of this job: --mpi openmpi or --mpi mpich" in refusal(2, *FAKED)  # fmt: skip


def test_all_leaves_out_what_needs_a_commutative_operator(fake):
    result = run(*FAKED, "--algorithms", "all", "--op", "non-commutative")
    assert "left out, since they need a commutative operator" in result.stderr
    used = given(fake)["--algorithms"].split(",")
    assert "native" in used
    assert "ring" not in used


def test_algorithms_keep_their_order_and_come_once(fake):
    run(*FAKED, "--algorithms", "ring, native,ring")
    assert given(fake)["--algorithms"] == "ring,native"


# A run, with a fake program


def test_the_program_is_told_the_costs_to_plan_with(fake):
    found = run(*FAKED, "--network", "alpha=7us")
    assert given(fake)["--network"] == "alpha=7us"
    assert "costs alpha 7 µs, beta 8 ns/B, gamma 0.1 ns/B (as named)" in found.stderr


def test_the_program_is_told_what_was_asked(fake):
    run(*FAKED, "--type", "int64", "--op", "max", "--seed", "9", "--estimate", "reversed")
    told = given(fake)
    assert (told["--count"], told["--type"], told["--op"]) == ("512", "int64", "max")
    assert (told["--seed"], told["--estimate"], told["--compute"]) == ("9", "wrong", "0.001")
    assert (told["--warmup"], told["--edge"]) == ("1", "0.5")
    assert "--network" not in told


def test_the_kind_of_imbalance_is_told_and_said(fake):
    words = ["--collective", "reduce", "--algorithms", "native,binomial", "--op", "over"]
    for kind, arrival in (("phase", "onelate"), ("data", "onelate in data")):
        result = run(*FAKED, *words, "--uneven", kind, "--json")
        found = json.loads(result.stdout)
        assert given(fake)["--imbalance"] == found["used"]["imbalance"] == kind
        assert {row["arrival"] for row in found["rows"]} == {arrival}


def test_rows_of_a_sweep(fake):
    result = run(*FAKED, "--delay", "0,5ms,50ms", "--format", "json")
    found = json.loads(result.stdout)
    rows = found["rows"]
    assert [(r["algorithm"], r["delay_ms"]) for r in rows] == [
        (name, delay) for delay in (0, 5, 50) for name in ("native", "ring")
    ]
    assert rows[3]["elapsed_ms"] == pytest.approx(5 * 2 / 3 + 0.5)
    assert rows[3]["speedup_native"] == pytest.approx((10 / 3 + 1) / (10 / 3 + 0.5))
    assert {r["iterations"] for r in rows} == {3}
    used = found["used"]
    assert (used["mpi"], used["seed"], used["network"]) == ("openmpi 9.8.7", 1, "inherit")
    assert used["mpi_library"] == "Open MPI v9.8.7, package"
    assert "3 ranks, estimate perfect (" in result.stderr
    assert "; version 0.1.0, openmpi 9.8.7, inherit, seed 1; costs built in" in result.stderr


def test_arrivals_from_a_file(fake, tmp_path):
    (tmp_path / "late.csv").write_text("0,3ms,0\n0,0,6ms\n")
    result = run(*FAKED, "--arrival", f"file:{tmp_path / 'late.csv'}", "--json")
    rows = json.loads(result.stdout)["rows"]
    assert [(r["delay_ms"], r["iterations"]) for r in rows] == [(None, 3)] * 2


def test_results_go_to_every_file_named(fake, tmp_path):
    files = {name: tmp_path / f"r.{name}" for name in ("csv", "json", "txt", "svg", "png", "html")}
    outputs = [w for name in ("csv", "json", "txt") for w in ("--output", str(files[name]))]
    plots = [w for name in ("svg", "png") for w in ("--plot", str(files[name]))]
    keep = tmp_path / "samples"
    report = ["--report", str(files["html"]), "--samples", str(keep)]
    result = run(*FAKED, *outputs, *plots, *report)
    assert "onelate, delay 50 ms" in result.stdout
    assert files["csv"].read_text().splitlines()[0] == ",".join(COLUMNS)
    assert len(json.loads(files["json"].read_text())["rows"]) == 2
    assert "onelate, delay 50 ms" in files["txt"].read_text()
    assert "<svg" in files["html"].read_text()
    assert files["svg"].stat().st_size > 1000
    assert files["png"].stat().st_size > 1000
    assert len(keep.read_text().splitlines()) == 1 + 2 * (3 + 3)


@pytest.mark.parametrize("name", ["csv", "osu", "json"])
def test_formats_have_nothing_else_on_standard_output(fake, name):
    text = run(*FAKED, "--format", name).stdout
    starts = {"csv": "collective,", "osu": "# latecomer", "json": "{"}
    assert text.startswith(starts[name])


def test_without_a_common_clock_columns_are_empty(fake, monkeypatch):
    monkeypatch.setenv("FAKE", "apart")
    rows = json.loads(run(*FAKED, "--json").stdout)["rows"]
    assert rows[1]["elapsed_ms"] == pytest.approx(100 / 3 + 0.5)
    assert {rows[1][f"{name}_ms"] for name in ("run", "after_last", "absorption")} == {None}


def test_wrong_results_are_said_and_fail(fake, monkeypatch):
    monkeypatch.setenv("FAKE", "wrong")
    result = run(*FAKED)
    assert result.exit_code == 1
    assert "error: 15 wrong elements: ring, onelate, delay 50 ms" in result.stderr


def test_a_crash_keeps_what_was_measured(fake, monkeypatch):
    monkeypatch.setenv("FAKE", "crash")
    result = run(*FAKED, "--iterations", "9", "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert {row["iterations"] for row in found["rows"]} == {2}  # after 8 balanced ones
    assert found["used"]["complete"] == "the benchmark program ended with exit code 3"
    assert "these are the first 10 of 17 iterations" in result.stderr


def test_a_program_that_measures_nothing_is_an_error(fake, monkeypatch, tmp_path):
    keep = ["--samples", str(tmp_path / "samples")]
    run(*FAKED, *keep)
    monkeypatch.setenv("FAKE", "silent")
    said = refusal(1, *FAKED, *keep)  # and does not take the samples from before
    assert "nothing was measured: the benchmark program ended with exit code 2" in said


def test_a_crash_before_anything_was_complete_is_an_error(fake, monkeypatch):
    monkeypatch.setenv("FAKE", "early")
    said = refusal(1, *FAKED)
    assert "no iteration was completed: the benchmark program ended with exit code 3" in said


def test_a_deadline_keeps_what_was_measured(fake, monkeypatch, tmp_path):
    """Its time begins when ten iterations are measured, however long these took."""
    monkeypatch.setenv("FAKE", "hang")
    keep = tmp_path / "samples"

    class Hanging(subprocess.Popen):
        def wait(self, timeout=None):
            wait_until(lambda: keep.exists() and keep.read_text().count("\n") == 21)
            return super().wait(timeout)

    own = SimpleNamespace(Popen=Hanging, TimeoutExpired=subprocess.TimeoutExpired)
    monkeypatch.setattr(places, "subprocess", own)
    result = run(*FAKED, "--iterations", "9", "--deadline", "1", "--samples", str(keep))
    assert result.exit_code == 1
    assert "first 10 of 17 iterations" in result.stderr
    assert "onelate, delay 50 ms" in result.stdout


def test_an_interrupt_keeps_what_was_measured(fake, monkeypatch, tmp_path):
    monkeypatch.setenv("FAKE", "hang")
    keep = tmp_path / "samples"
    words = [*FAKED, "--iterations", "9", "--samples", str(keep), "--json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(in_process(*words), **pipes) as child:
        wait_until(lambda: keep.exists() and keep.read_text().count("\n") == 21)
        time.sleep(0.1)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=600)
    assert child.returncode == 130
    assert json.loads(out)["used"]["complete"] == "interrupted"
    assert "interrupted; these are the first 10 of 17 iterations" in err


@pytest.mark.parametrize("how", ["stuck", "slow"])
def test_an_interrupt_before_the_first_iteration_is_told_as_one(fake, monkeypatch, tmp_path, how):
    """With a file of samples that was not begun, and with one that has no complete iteration."""
    monkeypatch.setenv("FAKE", how)
    keep = tmp_path / "samples"
    words = [*FAKED, "--iterations", "9", "--samples", str(keep)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(in_process(*words), **pipes) as child:
        if how == "slow":
            wait_until(lambda: keep.exists() and keep.read_text().count("\n") == 5)
        else:
            wait_until(lambda: fake.exists() and fake.read_text().endswith("\n"))
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=600)
    assert (child.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "latecomer: interrupted"


def test_other_ranks_say_nothing_and_need_no_files(fake, monkeypatch):
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "1")
    done = subprocess.run(in_process(*FAKED), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (7, "", "")
    assert given(fake)["--delays"] == "on-rank-0"


def test_children_inherit_open_files(fake, tmp_path, monkeypatch):
    shell = tmp_path / "latecomer_bench_openmpi"
    shell.write_text('#!/bin/sh\necho told >"/dev/fd/$THROUGH"\nexit 4\n')
    read, write = os.pipe()
    os.set_inheritable(write, True)
    monkeypatch.setenv("THROUGH", str(write))
    assert "exit code 4" in refusal(1, *FAKED)
    os.close(write)
    assert os.read(read, 10) == b"told\n"
    os.close(read)


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("Open MPI v4.1.4, package: Debian, ident: 4.1.4", "openmpi 4.1.4"),
        ("MPICH Version:      5.0.2 MPICH Release date:", "mpich 5.0.2"),
        ("Some Other MPI", "Some Other MPI"),
    ],
)
def test_short_names_of_libraries(text, short):
    assert short_library(text) == short


@pytest.mark.parametrize(("hosts", "alpha"), [(2, "100us"), (16, "520us")])
def test_the_labs_plans_count_shared_cores_and_its_limit_does_not(monkeypatch, hosts, alpha):
    monkeypatch.setattr(places.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(places.program, "of_any", lambda *_: Path("latecomer_bench_openmpi"))
    place = places.LabPlace(LabSpec(hosts, 200_000_000), None)
    planned = dict(cost.split("=") for cost in place.costs.split(","))
    asked = SimpleNamespace(collective="allreduce", bytes=1 << 20, background=False, root=0)
    assert planned["alpha"] == alpha
    idle = ",".join(f"{name}={cost}" for name, cost in {**planned, "alpha": "100us"}.items())
    late, network = [0.0] * (hosts - 1) + [1e-3], core.Network(idle)
    assert place.limit(asked)(late) == limit_of(asked, 1 << 20, network)(late)
    assert place.limit(asked)(late) < limit_of(asked, 1 << 20, core.Network("beta=1us"))(late)


def test_a_rate_is_not_dropped_where_there_is_no_lab(monkeypatch, capsys):
    def no_lab(_spec):
        raise LabError("missing: unshare", "", "install it")

    monkeypatch.setattr(places.cluster, "settle", no_lab)
    monkeypatch.setattr(program, "of_any", lambda *_: Path("bench_openmpi"))
    assert places.find_place(None, 4, None, 1, None).name == "local"
    assert "plain local ranks" in capsys.readouterr().err
    with pytest.raises(LabError, match="missing: unshare"):
        places.find_place(None, 4, "200mbit", 1, None)


def test_progress_reads_what_was_added_to_the_samples(tmp_path):
    file = tmp_path / "samples"
    lines = job._Lines(file)
    assert lines() == 0
    file.write_text("a\nb\nc")
    assert lines() == 2
    file.write_text("xxxxx\nd\n")  # what was read is not read again
    assert lines() == 4


def test_many_fast_links_are_warned_of(monkeypatch, capsys):
    monkeypatch.setattr(places.program, "of_any", lambda *_: Path("latecomer_bench_openmpi"))
    monkeypatch.setattr(places.cluster, "run", lambda *_args, **_more: 0)
    for nodes, warned in ((2, False), (200, True)):
        place = places.LabPlace(LabSpec(nodes, 10_000_000 if nodes == 2 else 10**10), None)
        assert place.run([], None) == 0
        assert ("see latecomer lab check" in capsys.readouterr().err) == warned


def test_ranks_that_share_a_link_have_no_bound(monkeypatch):
    monkeypatch.setattr(places.program, "of_any", lambda *_: Path("latecomer_bench_openmpi"))
    place = places.LabPlace(LabSpec(2, 200_000_000, per_node=2), None)
    assert place.limit(SimpleNamespace()) is None


@pytest.mark.parametrize(
    ("name", "per_node", "spread"),
    [("local", 1, "single-node"), ("lab", 1, "one-per-node"), ("lab", 2, "any")],
)
def test_rules_learn_how_the_ranks_lie(monkeypatch, name, per_node, spread):
    found = SimpleNamespace(name=name)
    monkeypatch.setattr(places, "find_place", lambda *_args, **_more: found)
    assert places.place_of(None, 4, None, per_node, None, None, []) == (found, spread)


@pytest.mark.parametrize(
    ("variable", "built", "family"),
    [("OMPI_COMM_WORLD_RANK", "", "openmpi"), ("MPI_LOCALRANKID", "", "mpich"),
     ("", "mpich", "mpich"), ("", "", "openmpi")],
)  # fmt: skip
def test_the_job_tells_its_library(monkeypatch, variable, built, family):
    monkeypatch.setattr(places, "variable", lambda name: "0" if name == variable else None)
    monkeypatch.setattr(places.program, "find", lambda name: name == built)
    assert places._family_of_job() == family


def test_a_vector_that_parts_do_not_divide_is_rounded_up(fake):
    words = ["--collective", "allgather", "--algorithms", "native,ring"]
    result = run("--place", "inherit", *QUICK[:-2], *words, "--count", "10")
    assert "12 numbers in the vector instead of 10: 4 a rank" in result.stderr
    assert given(fake)["--count"] == "12"


def test_a_program_that_ends_well_without_samples_is_an_error(tmp_path):
    with pytest.raises(SampleError):
        job._read(tmp_path / "absent", None)
