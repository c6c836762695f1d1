"""The refusals of the simulate verb, and their errors."""

import math
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import latecomer
import pytest
from latecomer.base import memory
from latecomer.core import registry
from latecomer.core.native_choices import MODELS
from simulate_helpers import refusal, rows_of

PACKAGE_FOLDER = str(Path(latecomer.__file__).parents[1])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--algorithms", "native"], "native; use openmpi-4.1 or mpich-5.0, models of"),
        (["--algorithms", "rinG"], "no such algorithm to simulate: 'rinG'; use all, openmpi-4.1, "),
        (["--algorithms", "auto:random=7"], "right would be one that has a plan of its own"),
        (["--algorithms", "ring:segments=3"], "parameter of ring: 'segments' is not usable"),
        (
            ["--algorithms", "ring", "--op", "non-commutative"],
            "--op does not go with ring: non-commutative; use all, or of auto, dual_root, fastest, ",
        ),
        (["--nodes", "4097"], "--nodes out of range: 4097; use 1 to 4096, since"),
        (["--nodes", "1", "--per-node", "5000"], "--per-node: 5000; give a number from 1 to 4096"),
        (["--nodes", "0-4"], "--nodes out of range: 0; use 1 to 4096, since"),
        (["--nodes", "8-2"], "--nodes is no range: '8-2'; use FROM-TO"),
        (["--nodes", "2-8:x1"], "--nodes is no range: '2-8:x1'"),
        (["--nodes", "2-8:0"], "--nodes is no range: '2-8:0'"),
        (["--nodes", "2-4-8"], "--nodes is no list: '2-4-8'; use 8 or 8,16 or 2-64"),
        (["--nodes", ""], "--nodes is no list: ''"),
        (["--nodes", "four"], "--nodes is no number of nodes: 'four'; use 1 to 4096"),
        (["--nodes", "nan"], "--nodes is no number of nodes: 'nan'; use 1 to 4096"),
        (["--bytes", "1TiB"], "--bytes out of range: 1099511627776; use 4 to 8589934588 bytes"),
        (["--bytes", "8-4MiB"], "--bytes leaves open what 8 is: '8-4MiB'; each number has its own"),
        (["--count", "8-4Ki"], "--count leaves open what 8 is: '8-4Ki'"),
        (
            ["--nodes", "4", "--delay", "5"],
            "--delay: '5' is not usable; right would be 0, or a time",
        ),
        (["--nodes", "4", "--delay", "5h"], "with its unit (s, ms, us or ns) such as 8ns"),
        (
            ["--nodes", "4", "--algorithms", "ring", "--delay", "100000000s"],
            "--delay out of range: 100000000s; use times up to 1000000s",
        ),
        (
            ["--nodes", "4", "--algorithms", "ring", "--network", "alpha=1e9s"],
            "time of a message (alpha + bytes x beta): '1000000000",
        ),
        (
            ["--network", "ports=1e9"],
            "network ports: '1000000000' is not usable; right would be 1 to",
        ),
        (
            ["--network", "alpha=1us,alpha=2us"],
            "network alpha: '2us' is not usable; right would be",
        ),
        (
            ["--algorithms", "ring:progress=background:progress=foreground"],
            "parameter progress: 'ring:progress=background:progress=foreground' is not usable",
        ),
        (
            ["--algorithms", "segmented_ring:segments=-1"],
            "segments: '-1' is not usable; right would be a whole number from 1 up",
        ),
        (["--bytes", "0-8"], "--bytes is no range: '0-8'"),
        (["--bytes", "4B-1GiB:4"], "--bytes has too many numbers: 4B-1GiB:4; use 65536 at most"),
        (["--bytes", "0"], "--bytes out of range: 0; use 4 to 8589934588 bytes"),
        (["--bytes", "16GiB"], "--bytes out of range: 17179869184; use 4 to 8589934588 bytes"),
        (["--bytes", "7"], "--bytes holds no whole number of float32: 7"),
        (["--bytes", "8", "--count", "2"], "--bytes and --count both given: 8, 2"),
        (["--network", "lab"], "network: 'lab' is not usable"),
        (
            ["--estimate", "online", "--engine", "simgrid", "--platform", "p.xml"],
            "--estimate without memory in SimGrid: online; use --engine virtual",
        ),
        (["--op", "mean"], "no such --op: mean"),
        (["--progress", "always"], "no such --progress: always; use as-configured, none, thread"),
        (
            ["--progress", "none", "--algorithms", "ring:progress=background"],
            "--progress none with ring:progress=background: progress=background; leave one of",
        ),
        (["--report", "r.pdf"], "no such report: r.pdf; use a name in .html"),
        (["--report", "r.svg"], "no such report: r.svg; use a name in .html"),
        (
            ["--nodes", "1-8"],
            "rank 1 late, and there is only: 1 rank; use more --nodes, --late-rank 0",
        ),
        (
            ["--late-rank", "3", "--arrival", "gamma"],
            "--late-rank has no effect on --arrivals gamma: 3; leave it out, or use --arrivals onelate",
        ),
        (["--engine", "grid"], "no such --engine: grid; use virtual or simgrid"),
        (["--platform", "p.xml"], "--platform without SimGrid: p.xml; add --engine simgrid"),
        (["--config", "plain"], "--config without SimGrid: plain; add --engine simgrid"),
        (["--engine", "simgrid"], "--engine simgrid without --platform: none; name a platform's"),
        (
            ["--collective", "bcast", "--op", "sum"],
            "--op with bcast: sum; leave it out: it combines nothing",
        ),
        (["--root", "1"], "--root with allreduce: 1; leave it out: it has none"),
        (
            ["--collective", "bcast", "--nodes", "4", "--root", "9"],
            "--root out of range: 9; use 0 to 3",
        ),
        (
            ["--collective", "bcast", "--algorithms", "linear_tree"],
            "no such algorithm to simulate: 'linear_tree' is an algorithm of allreduce and reduce: "
            "--collective allreduce; or take another one",
        ),
        (["--memory", "much"], "--memory: 'much' is not usable"),
        (["--nodes", "4", "--late-rank", "4"], "no such rank to be late: 4; use 0 to 3"),
        (
            ["--nodes", "2-99", "--bytes", "4-64KiB", "--plot", "x.svg"],
            "--plot would have too many panels: 15; use 12 at most",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(capsys, words, message):
    assert message in refusal(capsys, *words)


@pytest.mark.parametrize("algorithm", ["segmented_ring", "prereduced_ring", "linear_tree"])
def test_segments_are_shown_as_they_are_used(capsys, algorithm):
    words = ["--nodes", "4", "--count", "10", "--algorithms", f"{algorithm}:segments=1e9"]
    (row,) = rows_of(capsys, *words)
    assert "segments=10" in row["parameters"].split()


def test_an_unknown_algorithm_is_told_all_that_can_be_simulated(capsys):
    said = refusal(capsys, "--algorithms", "ring,mpich-5")
    named = set(said.partition("; use ")[2].partition(";")[0].split(", "))
    programs = {row.name for row in registry.algorithms("allreduce")} - {"native"}
    assert named == {"all", *MODELS, *programs}


def test_an_operator_that_does_not_fit_names_what_accepts_it(capsys):
    said = refusal(capsys, "--algorithms", "ring", "--op", "non-commutative")
    named = said.partition(" or of ")[2].strip()
    words = ["--op", "non-commutative", "--nodes", "4", "--count", "8"]
    rows = rows_of(capsys, *words, "--algorithms", named.replace(" ", ""))
    every = {row["algorithm"] for row in rows_of(capsys, *words, "--algorithms", "all")}
    assert {row["algorithm"] for row in rows} == every - set(MODELS)


def test_one_rank_alone_can_be_late(capsys):
    words = ["--nodes", "1", "--algorithms", "ring", "--bytes", "64"]
    assert len(rows_of(capsys, *words, "--late-rank", "0")) == 1


def test_little_memory_is_told_in_its_own_unit(capsys):
    said = refusal(capsys, "--memory", "1KiB", code=1)
    found = re.search(r"needs about: ([\d.]+) KiB of memory; .*; 1 KiB are to be had", said)
    assert float(found[1]) > 1


def test_memory_that_the_machine_does_not_tell_has_no_limit(monkeypatch):
    def absent(path):
        raise FileNotFoundError(path)

    monkeypatch.setattr(memory.Path, "read_text", absent)
    assert memory.free_bytes() == math.inf


def test_what_does_not_fit_in_memory_is_refused_before_it_starts(capsys):
    words = ["--algorithms", "segmented_ring:segments=4096", "--nodes", "4096", "--bytes", "16MiB"]
    begin = time.process_time()
    said = refusal(capsys, *words, "--memory", "4GiB", code=1)
    found = re.search(r"segmented_ring.* on 4096 ranks, .* needs about: (\d+) MiB of memory", said)
    assert int(found[1]) > 10_000
    assert "4096 MiB are to be had" in said
    print("seconds:", time.process_time() - begin)


MEMORY = """
import re, sys
from pathlib import Path
from latecomer.core.compiled import core
from latecomer.lab.options.arrivals import Pattern
from latecomer.lab.sweep.run import about_bytes
from latecomer.lab.sweep.sweep import Sweep
def taken():
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
name, ranks, count = sys.argv[1], int(sys.argv[2]), 1 << 20
asked = Sweep(collective="allreduce", algorithms=[name], ranks=[ranks], counts=[count],
              type="float32", op="sum", pattern=Pattern("balanced"), delays=[0.0], iterations=1,
              seed=1, estimate="perfect", network=core.Network())
asked.plan(name, 2, count).simulate()
before = taken()
asked.plan(name, ranks, count).simulate()
print(taken() - before, about_bytes(asked, name, ranks, count))
"""


@pytest.mark.parametrize(
    ("algorithm", "ranks"), [("segmented_ring:segments=512", 512), ("rabenseifner", 4096)]
)
def test_the_estimate_of_memory_is_no_less_than_what_is_taken(algorithm, ranks):
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, algorithm, str(ranks)],
        env=os.environ | {"PYTHONPATH": PACKAGE_FOLDER},
        capture_output=True,
        text=True,
        check=True,
    )
    taken, estimated = map(int, done.stdout.split())
    assert taken <= estimated <= 2 * taken


def test_a_word_that_is_no_text_is_named(capsys):
    said = refusal(capsys, "--algorithms", "ring:\udc80=1", code=1)
    assert "a word is no text in UTF-8; give another one" in said
