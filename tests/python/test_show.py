"""`latecomer show`: text that reads back, and pictures with the right things in them."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import latecomer
import pytest
from latecomer import cli
from latecomer.base import memory
from latecomer.core import programs, simulation
from latecomer.lab import picture
from latecomer.lab.picture.replay import follow

STEPS = "alpha=1s,beta=0,gamma=0,eager=0"
LATE = ["--ranks", "4", "--times", "4,0,0,0"]
PROGRAMS = [row for row in latecomer.algorithms() if row.kind == "program"]
each_program = pytest.mark.parametrize(
    "row", PROGRAMS, ids=lambda row: f"{row.collective}-{row.name}"
)

PROTOCOLS = [row for row in latecomer.algorithms() if row.kind == "protocol"]
each_protocol = pytest.mark.parametrize(
    "row", PROTOCOLS, ids=lambda row: f"{row.collective}-{row.name}"
)


def shown(capsys, *words):
    assert cli.run(["show", *map(str, words)]) == 0
    return capsys.readouterr()


def refused(capsys, *words):
    code = cli.run(["show", *map(str, words)])
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("latecomer: error: ")
    return code, captured.err


def ids(file):
    """The number of elements of each kind in a picture."""
    return Counter(re.findall(r'id="([a-z]+)-\d+"', file.read_text()))


# ---- text


@each_program
@pytest.mark.parametrize("ranks", [1, 4, 5])
def test_the_text_reads_back(capsys, row, ranks):
    words = [row.name, "--collective", row.collective, "--ranks", ranks]
    if latecomer.collectives()[row.collective].rooted:
        words += ["--root", ranks - 1]
    assert latecomer.verify_text(shown(capsys, *words).out) is None


def test_parts_reach_the_plan(capsys):
    words = ["ring", "--collective", "allgather", "--ranks", 3, "--parts", "2,0,5"]
    out = shown(capsys, *words).out
    assert "\nparts 2 0 5\n" in out
    assert "\ncount 7\n" in out
    assert latecomer.verify_text(out) is None


def test_the_heading_says_what_was_used(capsys):
    lines = shown(capsys, "sorted_linear_tree", *LATE).out.splitlines()
    version = latecomer.__version__
    assert lines[0] == f"# latecomer {version}: sorted_linear_tree override=ring segments=4"
    assert lines[1].startswith("# network alpha 1 s, beta 0 s/B,")
    assert lines[2:4] == ["# arrivals 4 0 0 0 steps", "# exits    9 10 11 11 steps"]


def test_one_rank_alone(capsys):
    out = shown(capsys, "ring", "--ranks", 4, "--rank", 2).out
    assert re.findall(r"^rank (\d) of 4$", out, re.MULTILINE) == ["2"]


def test_options_reach_the_plan(capsys):
    words = ["--ranks", 3, "--in-place", "--non-commutative"]
    out = shown(capsys, "linear_tree", *words, "--segments", 5).out
    assert shown(capsys, "linear_tree:segments=5", *words).out == out
    for line in ("parameter segments 5", "count 5", "in-place yes", "commutative no"):
        assert f"\n{line}\n" in out
    assert "\ncount 2048\n" in shown(capsys, "ring", "--ranks", 3, "--count", "2Ki").out


def test_json_holds_schedule_and_times(capsys):
    found = json.loads(shown(capsys, "sorted_linear_tree", *LATE, "--json").out)
    assert found["exits"] == [9, 10, 11, 11]
    assert len(found["schedule"]["programs"]) == 4
    assert found["network"].startswith("alpha=1s")
    assert {"sender", "receiver", "begin", "end"} <= set(found["trace"][0])
    one = json.loads(shown(capsys, "ring", "--ranks", 3, "--rank", 1, "--json").out)
    assert [program["rank"] for program in one["schedule"]["programs"]] == [1]


def test_times_on_a_network(capsys):
    words = ["ring", "--ranks", 2, "--times", "4ms,0", "--network", "alpha=1ms,beta=0"]
    lines = shown(capsys, *words).out.splitlines()
    assert lines[2:4] == ["# arrivals 4 0 ms", "# exits    6 6 ms"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["rign", "--ranks", 4], "algorithm: 'rign' is not usable; right would be one of"),
        (["ring"], "Missing option '--ranks'"),
        (["ring", "--ranks", 0], "Invalid value for --ranks"),
        (["ring", "--ranks", 1000000000], "--ranks: .* 4096"),
        (["ring", "--ranks", 4, "--segments", 2], "segments"),
        (["native", "--ranks", 4], "'native' is not usable"),
        (["ring", "--ranks", 4, "--count", "many"], "count: 'many' is not usable"),
        (["ring", "--ranks", 4, "--rank", 4], "'--rank'|--rank: 4; give a rank from 0 to 3"),
        (["ring", "--ranks", 4, "--times", "0,1"], "2 times' is not usable"),
        (["ring", "--ranks", 2, "--times", "0,1ms"], "'1ms'; give steps from 0 up"),
        (["ring", "--ranks", 2, "--times", "0,-1"], "'-1'; give steps from 0 up"),
        (["ring", "--ranks", 2, "--times", "0,4", "--network", ""], "arrival: '4' is not"),
        (["ring", "--ranks", 2, "--network", "gama=1"], "gama=1' is not usable"),
        (["ring", "--ranks", 2, "--non-commutative"], "ring needs a commutative operator"),
        (["ring", "--ranks", 2, "--collective", "allsum"], "allsum"),
        (["ring", "--ranks", 2, "--svg", "a.gif"], "'a.gif' is not usable; .* .svg, .png, .pdf"),
        (["ring", "--ranks", 33, "--svg", "a.svg"], "'33' is not usable; .* at most 32"),
        (["ring", "--ranks", 2, "--html", "a.svg"], "'a.svg' is not usable; .* ends in .html"),
        (["ring", "--ranks", 65, "--html", "a.html"], "'65' is not usable; .* at most 64"),
        (["ring", "--ranks", 2, "--beside", "ring"], "--beside: 'ring'; give --html FILE as well"),
        (
            ["ring", "--ranks", 2, "--html", "a.html", "--beside", "binomial"],
            "--beside: 'binomial'; give an algorithm of allreduce: .*two_tree",
        ),
        (
            ["ring", "--ranks", 2, "--html", "a.html", "--beside", "early_owners:block=3"],
            "early_owners",
        ),
        (["local_redirect", "--ranks", 4], "'local_redirect' is an algorithm of reduce: --coll"),
        (["bruck", "--ranks", 4], "'bruck' is an algorithm of allgather: --collective allgather"),
    ],
)
def test_usage_errors(capsys, words, message):
    code, error = refused(capsys, *words)
    assert code == 2
    assert re.search(message, error), error


def test_what_does_not_fit_in_memory_is_refused_before_it_starts(capsys, monkeypatch):
    monkeypatch.setattr(memory, "free_bytes", lambda: 4 << 30)
    code, said = refused(capsys, "segmented_ring:segments=4096", "--ranks", "4096")
    assert code == 1
    found = re.search(
        r"error: segmented_ring:segments=4096 on 4096 ranks, needs about: (\d+) MiB of memory; "
        r"use fewer ranks or segments; 4096 MiB are to be had",
        said,
    )
    assert int(found[1]) > 10_000


MEMORY = """
import re, sys
from pathlib import Path
from latecomer import cli
from latecomer.base import memory
def taken():
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
cli.run(["show", "ring", "--ranks", "2", *sys.argv[1:]])
check, needed = memory.check_memory, []
memory.check_memory = lambda what, *numbers: (needed.append(numbers[0]), check(what, *numbers))
before = taken()
cli.run(["show", "ring", "--ranks", "100", *sys.argv[1:]])
print(taken() - before, *needed, file=sys.stderr)
"""


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_the_estimate_of_memory_is_no_less_than_what_is_taken(form):
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, *form],
        env=os.environ | {"PYTHONPATH": str(Path(latecomer.__file__).parents[1])},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=True,
    )
    taken, estimated = map(int, done.stderr.split())
    assert taken <= estimated <= 2 * taken


def test_a_folder_that_is_not_there(capsys, tmp_path):
    code = cli.run(["show", "ring", "--ranks", "2", "--svg", str(tmp_path / "no" / "a.svg")])
    error = capsys.readouterr().err
    assert code == 1
    assert "error: cannot write the picture (No such file or directory): " in error
    assert "an existing folder" in error


def test_a_folder_of_a_page_that_is_not_there(capsys, tmp_path):
    code = cli.run(["show", "ring", "--ranks", "2", "--html", str(tmp_path / "no" / "a.html")])
    error = capsys.readouterr().err
    assert code == 1
    assert "error: cannot write the page (No such file or directory): " in error


def test_a_page_that_is_too_large_is_refused(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(picture, "MOST_BYTES", 10_000)
    code = cli.run(["show", "ring", "--ranks", "8", "--html", str(tmp_path / "a.html")])
    assert code == 2
    assert re.search(r"bytes' is not usable; .* at most 10000", capsys.readouterr().err)
    assert not (tmp_path / "a.html").exists()


# ---- algorithms that decide while they run


def test_a_protocol_is_shown_as_its_log_and_moves(capsys):
    words = ["online_owners", "--ranks", 4, "--times", "0,2,9,0"]
    out = shown(capsys, *words).out
    head, _, rest = out.partition("\nend\n")
    assert "\nalgorithm online_owners\n" in head
    log, _, moves = rest.partition("moves: ")
    assert log.splitlines()[:2] == [
        "log: time in steps, rank, round from which on it takes part",
        "0 rank 0 from round 0",
    ]
    assert len(log.splitlines()) == 5
    lines = moves.splitlines()[1:]
    assert sum("partial result of block" in line for line in lines) == 3 * 8
    assert sum("final result of block" in line for line in lines) == 3 * 8
    assert sum(line.endswith("-> 0 here") for line in lines) == 3
    begins = [float(line.split()[0]) for line in lines]
    assert begins == sorted(begins)
    one = shown(capsys, *words, "--rank", 2).out
    assert 10 < len(one.splitlines()) < len(out.splitlines())


@each_protocol
def test_each_protocol_is_shown_and_drawn(capsys, tmp_path, row):
    file = tmp_path / "a.svg"
    words = ["--collective", row.collective, "--ranks", 5, "--times", "0,3,0,1,0", "--svg", file]
    out = shown(capsys, row.name, *words, "--text").out
    logs = row.name in ("online_nodes", "online_owners")  # on nodes of one rank they are one
    assert ("\nlog: " in out) == logs
    found = ids(file)
    assert found["arrival"] == found["exit"] == 5
    assert found["computing"] == 2
    sent = [line for line in out.splitlines() if " -> " in line]
    results = [line for line in sent if " result of " in line]
    assert found["transfer"] == len(results)
    assert found["control"] == len(sent) - len(results)
    assert found["entry"] == (5 if logs else 0)
    assert bool(found["horizon"]) == logs


def test_json_of_a_protocol_has_the_log(capsys):
    words = ["online_owners", "--ranks", 3, "--rank", 1, "--json"]
    found = json.loads(shown(capsys, *words).out)
    assert found["schedule"]["programs"] == []
    assert sorted(entry["rank"] for entry in found["log"]) == [0, 1, 2]
    assert {move["kind"] for move in found["trace"]} == {"message", "control", "combine"}


# ---- what transfers carry


def followed(name, arrival=None, network=STEPS, **problem):
    schedule = latecomer.program(name, arrivals=arrival, network=network, **problem)
    asked = {"arrivals": arrival, "network": network, **problem}
    return follow(schedule, latecomer.simulate(name, **asked, trace=True))


def carried(name, ranks, **more):
    return [load.final for load in followed(name, ranks=ranks, **more).loads.values()]


def test_final_and_partial_results_are_told_apart():
    assert Counter(carried("ring", 4)) == {False: 12, True: 12}
    assert Counter(carried("linear_tree:segments=4", 4)) == {False: 12, True: 12}
    assert Counter(carried("recursive_doubling", 4)) == {False: 8}
    assert Counter(carried("recursive_doubling", 5)) == {False: 9, True: 1}
    assert Counter(carried("ring", 4, in_place=True)) == {False: 12, True: 12}
    assert carried("ring", 1) == []
    assert True not in carried("ring", 3, count=0)


@each_program
@pytest.mark.parametrize("ranks", [2, 7])
def test_every_algorithm_can_be_followed(row, ranks):
    arrival = [3.0] + [0.0] * (ranks - 1)
    for in_place in (False, True):
        asked = {
            "ranks": ranks,
            "arrivals": arrival,
            "in_place": in_place,
            "collective": row.collective,
            "root": 1 if latecomer.collectives()[row.collective].rooted else 0,
        }
        for network in ("", "eager=0", "eager=1MiB,ports=2"):
            schedule = latecomer.program(row.name, network=network, **asked)
            call = latecomer.simulate(row.name, network=network, **asked, trace=True)
            found = follow(schedule, call)
            sends = sum(o.kind == "send" for p in schedule.programs for o in p.operations)
            assert len(found.loads) == sends
            assert_complete(schedule, found)


def assert_complete(schedule, found):
    """In the end all ranks have their results."""
    last = {held.rank: held.elements for held in found.held}
    for rank in range(schedule.ranks):
        assert last[rank] == schedule.problem.output(rank)[1]


@each_protocol
@pytest.mark.parametrize("in_place", [False, True])
def test_every_protocol_can_be_followed(row, in_place):
    asked = {"ranks": 7, "count": 70, "collective": row.collective, "in_place": in_place}
    plan = programs.make_plan(programs.problem(**asked), row.name, None, "")
    assert plan.decides_while_it_runs
    call = simulation.run(plan, [3.0, 0, 1e-4, 0, 0, 2e-4, 0], trace=True)
    schedule = programs.schedule_of_any(plan)
    assert schedule.programs == ()
    assert_complete(schedule, follow(schedule, call))
    assert any(move.control for move in call.trace)
    for move in call.trace:
        assert (move.kind == "control") == (move.control is not None)
        assert move.begin <= move.end <= move.taken
        assert move.control is None or move.control.name


def test_the_log_names_every_rank_once():
    problem = programs.problem(ranks=8, count=1 << 16)
    name = "online_owners:blocks=16:coordinator=2"
    plan = programs.make_plan(problem, name, None, "alpha=3us,beta=8ns")
    arrivals = [1e-3 * time for time in (0.1, 2, 0.5, 0, 1, 0.2, 0.2, 0.3)]
    call = simulation.run(plan, arrivals, trace=True)
    assert sorted(entry.rank for entry in call.log) == list(range(8))
    assert call.log[-1].rank == 1
    rounds = [entry.round for entry in call.log]
    assert rounds == sorted(rounds)
    assert all(arrivals[entry.rank] <= entry.time for entry in call.log)
    horizons = [horizon.round for horizon in call.horizons]
    assert horizons == sorted(set(horizons))
    assert latecomer.simulate("ring", ranks=3, trace=True).log == []
    assert simulation.run(plan, arrivals).log == []


# ---- pictures


@pytest.mark.parametrize(
    ("name", "ranks", "arrows"),
    [
        ("linear_tree", 4, 24),
        ("sorted_linear_tree", 4, 24),
        ("prereduced_ring", 8, 112),
        ("ring", 4, 24),
        ("recursive_doubling", 5, 10),
        ("ring", 1, 0),
    ],
)
def test_a_picture_has_all_arrows_lanes_and_marks(capsys, tmp_path, name, ranks, arrows):
    file = tmp_path / "a.svg"
    late = ",".join(["4"] + ["0"] * (ranks - 1))
    captured = shown(capsys, name, "--ranks", ranks, "--times", late, "--svg", file, "--text")
    assert captured.err == f"latecomer: wrote {file}\n"
    found = ids(file)
    assert found["transfer"] == arrows
    assert found["arrival"] == found["exit"] == ranks
    assert found["computing"] == 1
    words = Counter(captured.out.split())
    assert found["local"] == words["combine"] + words["copy"]


@pytest.mark.parametrize("option", ["--svg", "--html", "--output"])
def test_beside_a_file_only_the_times_are_printed(capsys, tmp_path, option):
    file = tmp_path / f"a.{option[2:]}"
    words = ["ring", *LATE, option, file]
    brief = shown(capsys, *words)
    assert re.fullmatch(r"arrivals 4 0 0 0 steps\nexits    [\d. ]+ steps\n", brief.out)
    assert brief.err == f"latecomer: wrote {file}\n"
    whole = shown(capsys, *words, "--text").out
    assert brief.out.splitlines() == [
        line[2:] for line in whole.splitlines() if line[:5] in ("# arr", "# exi")
    ]
    assert latecomer.verify_text(whole) is None
    assert shown(capsys, *words, "--rank", 2).out.count("\nrank ") == 1
    assert json.loads(shown(capsys, *words, "--json").out)["arrivals"] == [4, 0, 0, 0]


def test_the_text_goes_into_a_file(capsys, tmp_path):
    file = tmp_path / "ring.txt"
    shown(capsys, "ring", *LATE, "--output", file)
    assert file.read_text() == shown(capsys, "ring", *LATE).out
    shown(capsys, "ring", *LATE, "--output", file, "--json")
    assert json.loads(file.read_text())["arrivals"] == [4, 0, 0, 0]


def test_work_that_takes_time_is_drawn_as_a_bar(capsys, tmp_path):
    file = tmp_path / "a.svg"
    network = "alpha=50us,beta=8ns,gamma=4ns"
    shown(capsys, "ring", "--ranks", 3, "--count", "30k", "--network", network, "--picture", file)
    assert ids(file) == {"transfer": 12, "local": 6, "arrival": 3, "exit": 3}


def test_without_elements_there_is_still_a_picture(capsys, tmp_path):
    file = tmp_path / "a.svg"
    shown(capsys, "ring", "--ranks", 3, "--count", 0, "--svg", file)
    assert ids(file)["exit"] == 3


@pytest.mark.parametrize(
    ("suffix", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")]
)
def test_the_name_chooses_the_format_and_the_file_is_reproducible(capsys, tmp_path, suffix, start):
    files = [tmp_path / f"{number}.{suffix}" for number in (1, 2)]
    for file in files:
        shown(capsys, "ring", "--ranks", 2, "--svg", file)
    first, second = (file.read_bytes() for file in files)
    assert first.startswith(start)
    assert len(first) > 1000
    assert first == second
