"""The SimGrid engine: it agrees with the virtual network where both mean the same network, its
results are right, and what it cannot use it says."""

import json
import random
import subprocess
import sys
from dataclasses import replace

import latecomer
import numpy as np
import pytest
from latecomer.base.errors import DeadlineError, UserError
from latecomer.lab import simgrid
from latecomer.lab.bench import checks
from latecomer.launch import program
from simgrid_helpers import (
    CROSSBAR,
    MATCHING,
    PLATFORMS,
    ROOT,
    SAME_S,
    SEED,
    exits_of_both,
    needs_simgrid,
)

ALGORITHMS = [row for row in latecomer.algorithms() if row.kind != "native"]
# Several messages want a port at once: the virtual network serves one after the other, SimGrid all
# of them, each more slowly. Control messages of online_owners pass data in SimGrid.
OUT_OF_STEP = (
    "circulant", "dual_root", "online_nodes", "online_owners", "pipelined_tree", "reduce_bcast", "two_tree",
)  # fmt: skip


@needs_simgrid
@pytest.mark.parametrize(
    "name",
    [
        row.name
        for row in ALGORITHMS
        if row.collective == "allreduce" and row.name not in OUT_OF_STEP
    ],
)
@pytest.mark.parametrize("ranks", [2, 4, 16])
def test_balanced_ranks_leave_as_on_the_virtual_network(name, ranks):
    for count in (ranks, 1000, 1 << 18):
        ours, virtual = exits_of_both(name, ranks, count)
        assert ours == pytest.approx(virtual, rel=0, abs=SAME_S), count


@needs_simgrid
@pytest.mark.parametrize("eager", ["64KiB", "0"])
@pytest.mark.parametrize("name", ["ring", "prereduced_ring", "sorted_linear_tree"])
def test_whoever_is_late_ranks_leave_as_on_the_virtual_network(name, eager):
    draw = random.Random(SEED)
    for _ in range(6):
        ranks, count = draw.randrange(2, 17), draw.choice([300, 5000, 200000])
        arrivals = [draw.uniform(0, 0.02) for _ in range(ranks)]
        case = f"seed {SEED}: {ranks} ranks, {count} elements, {arrivals}"
        ours, virtual = exits_of_both(name, ranks, count, arrivals, f"{MATCHING},eager={eager}")
        assert ours == pytest.approx(virtual, rel=0, abs=SAME_S), case


@needs_simgrid
def test_an_eager_message_does_not_wait_for_its_late_receiver():
    late, count = [0, 0.5], 1000
    transfer = 100e-6 + 4 * count * 8e-9
    waits, _ = exits_of_both("linear_tree:segments=1", 2, count, late, f"{MATCHING},eager=0")
    eager, _ = exits_of_both("linear_tree:segments=1", 2, count, late, MATCHING)
    assert waits.max() - eager.max() == pytest.approx(transfer, abs=SAME_S)


@needs_simgrid
def test_what_runs_in_the_background_is_received_before_the_arrival(tmp_path):
    """Rank 1 of a chain is late: the data from rank 0 are there before, in scratch."""
    count, transfer = 100000, 100e-6 + 4 * 100000 * 8e-9
    text = latecomer.program("linear_tree:segments=1", ranks=3, count=count).text
    (tmp_path / "late").write_text("0 0.5 0")
    after_last = {}
    for progress in ("foreground", "background"):
        file = tmp_path / progress
        file.write_text(text.replace("progress foreground", f"progress {progress}"))
        settings = [f"--cfg={setting}" for setting in simgrid.PLAIN]
        words = ["--schedule", file, "--arrivals", tmp_path / "late", "--network", MATCHING]
        result = result_of(*words, "--check", *settings)
        assert (result["failure"], result["wrong"]) == ("", 0)
        after_last[progress] = max(result["exits"]) - 0.5
    assert after_last["foreground"] - after_last["background"] == pytest.approx(
        transfer, abs=SAME_S
    )


@needs_simgrid
def test_combining_takes_gamma():
    free, _ = exits_of_both("recursive_doubling", 2, 1000, network="alpha=100us,gamma=0")
    slow, _ = exits_of_both("recursive_doubling", 2, 1000, network="alpha=100us,gamma=1us")
    assert slow - free == pytest.approx([4e-3, 4e-3], abs=SAME_S)


@needs_simgrid
@pytest.mark.parametrize("name", OUT_OF_STEP)
@pytest.mark.parametrize("ranks", [2, 4, 16])
def test_ranks_out_of_step_leave_about_when_they_do_on_the_virtual_network(name, ranks):
    for count in (ranks, 1000, 1 << 18):
        ours, virtual = exits_of_both(name, ranks, count)
        assert 0.5 < ours.max() / virtual.max() < 2, count


@needs_simgrid
def test_two_short_flows_share_a_link():
    """Rank 0 is late, so the messages of both steps reach it together; long ones take turns."""
    ours, virtual = exits_of_both("recursive_doubling", 4, 1 << 14, [0.2, 0, 0, 0])
    assert (ours.max() - 0.2) / (virtual.max() - 0.2) == pytest.approx(1.41, abs=0.02)
    ours, virtual = exits_of_both("recursive_doubling", 4, 1 << 20, [0.2, 0, 0, 0])
    assert ours == pytest.approx(virtual, rel=1e-6)


@needs_simgrid
@pytest.mark.parametrize("row", ALGORITHMS, ids=lambda row: f"{row.collective}-{row.name}")
def test_results_are_right(row):
    draw = random.Random(SEED)
    collective = latecomer.collectives()[row.collective]
    for ranks in range(1, 10):
        call = {
            "collective": row.collective,
            "root": draw.randrange(ranks) if collective.rooted else 0,
            "ranks": ranks,
            "count": draw.randrange(200),
            "arrivals": [draw.uniform(0, 1e-3) for _ in range(ranks)],
            "estimate": [draw.uniform(0, 1e-3) for _ in range(ranks)],
            "commutative": row.commutative_only or not collective.combines or draw.random() < 0.5,
            "in_place": draw.random() < 0.5,
            "element_bytes": draw.choice([1, 4, 1000]),
        }
        if collective.parted and draw.random() < 0.5:
            call["parts"] = [draw.randrange(5) for _ in range(ranks)]
            call["count"] = sum(call["parts"])
        found = simgrid.simulate(row.name, **call, platform=CROSSBAR, check=True)
        case = f"seed {SEED}: {call}"
        assert found.arrivals == pytest.approx(call["arrivals"], abs=0), case
        assert (found.exits >= found.arrivals - 1e-9).all(), case
        assert found.trace == []


@needs_simgrid
@pytest.mark.parametrize("config", [simgrid.PLAIN, ()])
@pytest.mark.parametrize("platform", sorted(PLATFORMS.glob("*.xml")), ids=lambda path: path.stem)
def test_the_example_platforms_are_no_faster_than_their_links(platform, config):
    count = 1 << 18
    beta = 0.08e-9 if "12.5GBps" in platform.read_text(encoding="utf-8") else 8e-9
    found = simgrid.simulate("ring", ranks=16, count=count, platform=platform, config=config)
    assert found.exits.max() >= 2 * 15 / 16 * 4 * count * beta


@needs_simgrid
def test_the_documents_table_is_current():
    sys.path.insert(0, str(ROOT / "evidence"))
    import compare_simgrid

    document = (ROOT / "docs" / "simgrid.md").read_text(encoding="utf-8")
    ranks, *_ = compare_simgrid.RANKS
    table = document.partition(f"\n| {ranks} ranks | ")[2].partition("\n\n")[0]
    for name in compare_simgrid.ALGORITHMS:
        assert compare_simgrid.row(name, ranks) in table


# --- The program itself ---


def run(*words, platform=CROSSBAR):
    command = [str(simgrid.find()), "--platform", str(platform), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


def result_of(*words, platform=CROSSBAR):
    done = run(*words, platform=platform)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def schedule(name):
    return "--schedule", ROOT / "tests" / "negative" / f"{name}.txt"


@needs_simgrid
@pytest.mark.parametrize("name", ["once", "order", "delivery"])
def test_the_check_finds_wrong_elements(name):
    assert result_of(*schedule(name), "--check")["wrong"] > 0


@needs_simgrid
def test_ranks_that_are_stuck_are_a_result():
    result = result_of(*schedule("deadlock"))
    assert result["failure"].startswith("rank 0: stuck, waits to receive from rank 1")
    assert result["exits"] == [None, None]


@needs_simgrid
def test_a_network_that_fails_is_a_result(tmp_path):
    (tmp_path / "off.txt").write_text("0.01 0\n")
    result = result_of(*TWO, platform=two_hosts(tmp_path, 'state_file="off.txt"'))
    assert result["failure"].startswith("rank 0: SimGrid says: ")


@needs_simgrid
def test_hosts_are_taken_as_the_platform_lists_them():
    words = ["--algorithm", "ring", "--count", 20]
    assert result_of(*words, "--ranks", 12)["hosts"] == [f"node-{i}" for i in range(12)]
    shared = result_of(*words, "--ranks", 5, "--per-node", 2)["hosts"]
    assert shared == ["node-0", "node-0", "node-1", "node-1", "node-2"]


@needs_simgrid
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "--algorithm: '' is not usable; right would be a name, or --schedule FILE"),
        (["--algorithm", "ring", *schedule("once")], "--algorithm: 'ring' is not usable"),
        (["--algorithm", "ring", "--ranks", "0"], "--ranks: '0' is not usable"),
        (["--algorithm", "ring", "--per-node", "-1"], "--per-node: '-1' is not usable"),
        (["--algorithm", "ring", "--arrivals", "/"], "--arrivals: '/' is not usable"),
        (["--algorithm", "ring", "--ranks"], "--ranks: '' is not usable; right would be a value"),
        (["--speed", "9"], "option: '--speed' is not usable"),
        (["--schedule", "/nowhere"], "--schedule: '/nowhere' is not usable"),
        (["--platform", "/", "--algorithm", "ring"], "--platform: '/' is not usable"),
    ],
)
def test_refused_arguments(words, message):
    done = run(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"latecomer_simgrid: {message}" in done.stderr


@needs_simgrid
@pytest.mark.parametrize("times", ["1 -2", "1", "soon 1"])
def test_refused_times(tmp_path, times):
    (tmp_path / "times").write_text(times)
    done = run("--algorithm", "ring", "--ranks", 2, "--count", 2, "--arrivals", tmp_path / "times")
    assert (done.returncode, "is not usable" in done.stderr) == (2, True)


@needs_simgrid
def test_help_and_version():
    assert "--per-node K" in run("--help").stdout
    assert run("--version").stdout.count(".") == 2


# --- From Python ---

TWO = ["--algorithm", "ring", "--ranks", 2, "--count", 10 << 20]


def two_hosts(folder, more="", route='<route src="a" dst="b"><link_ctn id="l"/></route>'):
    """The file of a platform of two hosts and a link with `more` attributes."""
    file = folder / "two.xml"
    file.write_text(
        "<?xml version='1.0'?>\n"
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
        '<platform version="4.1"><zone id="z" routing="Full">'
        '<host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>'
        f'<link id="l" bandwidth="125MBps" latency="50us" {more}/>{route}</zone></platform>\n'
    )
    return file


def refused(platform=CROSSBAR, ranks=2, **more):
    with pytest.raises(UserError) as caught:
        simgrid.simulate("ring", ranks=ranks, platform=platform, **more)
    return caught.value


@needs_simgrid
def test_fewer_hosts_than_ranks():
    error = refused(ranks=33, per_node=2)
    assert (error.what, error.value) == ("ranks", "33")
    assert "at most 32" in error.remedy
    assert "has 16 hosts and each gets 2 (--per-node)" in error.remedy


@needs_simgrid
def test_platforms_that_cannot_be_used(tmp_path):
    missing = refused(tmp_path / "none.xml")
    assert (missing.what, missing.value) == ("platform", str(tmp_path / "none.xml"))
    (tmp_path / "broken.xml").write_text("<platform>")
    assert "Parse error at" in refused(tmp_path / "broken.xml").remedy
    aborted = refused(two_hosts(tmp_path, route=""))
    assert aborted.what == "SimGrid ended with exit code 134"
    assert aborted.value.startswith("You're trying to send data from a to b but there is no")


@needs_simgrid
def test_settings_that_simgrid_does_not_know():
    assert "Bad config key: nonsense" in refused(config=["nonsense:1"]).value


@needs_simgrid
def test_a_run_ends_at_its_deadline():
    with pytest.raises(DeadlineError, match="still running after 0.01 s and killed"):
        simgrid.simulate(
            "segmented_ring:segments=64", ranks=16, count=1 << 20, platform=CROSSBAR, deadline=0.01
        )


@pytest.mark.parametrize("arrivals", [[0, -1], [0, float("nan")], [0], [0, 0, 0]])
def test_refused_arrivals(arrivals):
    with pytest.raises(ValueError, match="arrival"):
        simgrid.simulate("ring", ranks=2, arrivals=arrivals, estimate=[0, 0], platform=CROSSBAR)


def test_an_unknown_algorithm():
    with pytest.raises(ValueError, match="algorithm: 'rings' is not usable"):
        simgrid.simulate("rings", ranks=2, platform=CROSSBAR)


def test_without_the_program(monkeypatch, tmp_path):
    monkeypatch.setattr(program, "CLONE", tmp_path)
    monkeypatch.delenv("LATECOMER_PROGRAMS", raising=False)
    error = refused()
    assert "apt-get install libsimgrid-dev" in error.remedy
    finding = next(found for found in checks.findings() if found.name == "SimGrid")
    assert (finding.ok, finding.remedy) == (False, simgrid.REMEDY)


@needs_simgrid
def test_the_doctor_finds_it():
    finding = next(found for found in checks.findings() if found.name == "SimGrid")
    assert (finding.ok, str(simgrid.find()) in finding.text) == (True, True)


def pretend(monkeypatch, folder, script):
    """Let a shell script be the program."""
    file = folder / simgrid.PROGRAM
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    monkeypatch.setenv("LATECOMER_PROGRAMS", str(folder))


RESULT = {"arrivals": [0.0, 0.5], "exits": [1.0, 2.0], "failure": "", "wrong": None}


def test_a_stuck_rank_and_wrong_elements_raise(monkeypatch, tmp_path):
    def found(**changed):
        pretend(monkeypatch, tmp_path, f"echo '{json.dumps(RESULT | changed)}'")
        return simgrid.simulate("ring", ranks=2, platform=CROSSBAR)

    with pytest.raises(RuntimeError, match="rank 1: stuck"):
        found(failure="rank 1: stuck, waits")
    with pytest.raises(RuntimeError, match="3 elements of the result are wrong"):
        found(wrong=3)
    assert replace(found(), trace=[]).after_last == 1.5
    assert found().exits.dtype == np.float64


def test_a_program_that_cannot_be_started(monkeypatch, tmp_path):
    pretend(monkeypatch, tmp_path, "")
    (tmp_path / simgrid.PROGRAM).write_text("#!/nowhere/sh\n")
    assert refused().what.startswith("cannot start the SimGrid program")
