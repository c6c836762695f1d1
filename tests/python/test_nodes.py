"""Ranks that share nodes, in the tools: options, plans, pictures, SimGrid."""

import csv
import io
import json
import re

import latecomer
import pytest
from latecomer import cli
from latecomer.core import simulation
from latecomer.core.cases import Case
from latecomer.core.compiled import core
from latecomer.core.programs import make_plan, problem
from latecomer.lab.picture.replay import follow
from simgrid_helpers import CROSSBAR, needs_simgrid

NODES = (0, 0, 0, 0, 1, 1, 1, 1)
LATE = [0, 0, 0, 0, 0, 3e-3, 0, 0]
SHOW = ["show", "nodes:among=early_owners", "--ranks", "8", "--count", "16Ki"]
SHOWN = [*SHOW, "--per-node", "4", "--times", "0,0,0,0,0,3ms,0,0", "--network", "alpha=50us"]


def said(capsys, *words, code=0):
    assert cli.run(list(map(str, words))) == code
    captured = capsys.readouterr()
    return captured.out if code == 0 else captured.err


# ---- show


def test_both_options_mean_the_same_nodes(capsys):
    by_number = said(capsys, *SHOWN)
    words = [*SHOW, *SHOWN[SHOWN.index("--times") :]]
    assert said(capsys, *words, "--placement", "0,0,0,0,1,1,1,1") == by_number
    assert said(capsys, *words, "--placement", "7,7,7,7,2,2,2,2") == by_number  # any numbers
    assert "\n# nodes 0 0 0 0 1 1 1 1\n" in by_number
    assert re.search(r"accumulate input\[\S+ to node\[\S+ flag \d", by_number)


def test_one_rank_a_node_changes_nothing(capsys):
    words = ["show", "auto", "--ranks", "4", "--times", "3,0,0,0"]
    alone = said(capsys, *words)
    assert said(capsys, *words, "--per-node", 1) == alone
    placed = said(capsys, *words, "--placement", "0,1,2,3")
    assert placed.replace("# nodes 0 1 2 3\n", "") == alone


def test_auto_takes_nodes_where_ranks_share_them(capsys):
    words = ["show", "auto", "--ranks", "8", "--count", "64Ki", "--network", "alpha=50us"]
    assert "\nalgorithm nodes\n" in said(capsys, *words, "--per-node", 4)
    assert "\nalgorithm nodes\n" not in said(capsys, *words)


def test_json_has_flags_and_the_placement(capsys):
    found = json.loads(said(capsys, *SHOWN, "--json"))
    assert found["placement"] == list(NODES)
    kinds = {op["kind"] for each in found["schedule"]["programs"] for op in each["operations"]}
    assert {"signal", "await", "accumulate", "send", "recv", "copy"} <= kinds
    assert {"flag", "accumulate", "message"} <= {move["kind"] for move in found["trace"]}


@pytest.mark.parametrize("verb", ["show", "verify", "simulate"])
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--placement", "0,0,1"], "placement: '3 ranks' is not usable; .* the 4 ranks"),
        (["--placement", "0,0,1,x"], "node of a rank: 'x' is not usable"),
        (["--placement", "0,0,1,-1"], "node of a rank: '-1' is not usable"),
        (["--placement", ""], "node of a rank: '' is not usable"),
        (["--placement", "0,0,1,1", "--per-node", "2"], "--per-node 2 with --placement"),
        (["--per-node", "0"], "--per-node"),
    ],
)
def test_refusals(capsys, verb, words, message):
    if verb == "simulate" and "the 4 ranks" in message:
        pytest.skip("its placement is the number of ranks")
    call = {
        "show": ["show", "nodes", "--ranks", "4"],
        "verify": ["verify", "--algorithms", "ring", "--ranks", "4"],
        "simulate": ["simulate", "--algorithms", "ring"],
    }[verb]
    assert re.search(message, said(capsys, *call, *words, code=2))


def test_pictures_show_flags_and_work_on_the_memory(capsys, tmp_path):
    files = [tmp_path / name for name in ("call.svg", "call.png", "call.html")]
    said(capsys, *SHOWN, "--svg", files[0], "--html", files[2])
    said(capsys, *SHOWN, "--svg", files[1])
    assert all(file.stat().st_size > 1000 for file in files)
    drawn = files[0].read_text()
    assert {"flag", "local", "transfer", "node"} <= set(re.findall(r'id="([a-z]+)-\d+"', drawn))


def test_steps_are_drawn_too(capsys, tmp_path):
    words = ["show", "nodes", "--ranks", 6, "--placement", "0,1,0,1,2,2", "--times", "0,4,0,0,0,0"]
    said(capsys, *words, "--svg", tmp_path / "call.svg", "--html", tmp_path / "call.html")


def test_results_are_final_in_pictures():
    plan = make_plan(problem(ranks=8, count=3000), "nodes", LATE, "", NODES)
    run = simulation.run(plan, LATE, trace=True)
    schedule = latecomer.program("nodes", ranks=8, count=3000, arrivals=LATE, placement=NODES)
    found = follow(schedule, run, NODES)
    assert {load.final for load in found.loads.values()} == {False, True}
    last = {each.rank: each.elements for each in found.held}
    assert last == dict.fromkeys(range(8), 3000)


# ---- verify


def test_verify_checks_every_placement_asked_for(capsys):
    words = ["verify", "--algorithms", "ring", "--collective", "allreduce", "--arrivals", "2"]
    for more in (["--per-node", "2"], ["--placement", "0,1,0,1"]):
        found = json.loads(said(capsys, *words, "--ranks", "4", *more, "--json"))
        assert found["cases"] > 0
    case = Case("nodes", "allreduce", 4, 9, placement=(0, 1, 0, 1))
    assert "--placement 0,1,0,1" in case.command()
    assert "leave it out" in said(capsys, "verify", "-", "--per-node", "2", code=2)


# ---- simulate


def rows(capsys, *words):
    return list(csv.DictReader(io.StringIO(said(capsys, "simulate", *words, "--format", "csv"))))


def test_simulations_count_messages_of_a_link():
    words = {"ranks": 8, "count": 1 << 16, "network": "alpha=50us,beta=8ns"}
    alone = latecomer.simulate("recursive_doubling", **words)
    shared = latecomer.simulate("recursive_doubling", **words, placement=NODES)
    nodes = latecomer.simulate("nodes", **words, placement=NODES)
    assert shared.after_last > 1.3 * alone.after_last
    assert nodes.after_last < alone.after_last


def test_results_on_nodes_are_checked(capsys):
    words = ["--bytes", "1KiB", "--delay", "0,5ms", "--algorithms", "nodes,auto,ring"]
    for more in (["--nodes", "2,3", "--per-node", "2"], ["--placement", "0,1,0,2,2"]):
        found = rows(capsys, *words, *more)
        assert {row["wrong"] for row in found} == {"0"}
        assert all("as=nodes" in row["parameters"] for row in found if row["algorithm"] == "auto")


def test_no_algorithm_is_faster_than_the_limit(capsys):
    """The limit knows consecutive ranks of a node, and is left out for other placements."""
    words = ["--bytes", "4KiB,1MiB", "--delay", "0,1ms,20ms", "--algorithms", "nodes,auto,ring"]
    for costs in ("", "alpha=3us,beta=0.08ns", "eager=0"):
        for row in rows(capsys, *words, "--nodes", "3", "--per-node", "2", "--network", costs):
            assert float(row["after_last_ms"]) >= 0.9999 * float(row["limit_ms"])
    assert {r["limit_ms"] for r in rows(capsys, *words, "--placement", "0,1,0,1")} == {""}


def test_a_placement_leaves_no_number_of_nodes(capsys):
    words = ["simulate", "--algorithms", "ring", "--placement", "0,0,1", "--nodes", "3"]
    assert "--nodes 3 with --placement" in said(capsys, *words, code=2)
    long = ",".join(["0"] * 4097)
    assert "4097 ranks" in said(capsys, *words[:3], "--placement", long, code=2)


def test_a_series_learns_to_use_nodes():
    late = [[0.0, 0, 0, 20e-3, 0, 0, 0, 0]] * 30
    words = {"count": 1 << 18, "network": "alpha=50us,beta=8ns"}
    calls = latecomer.rehearse("auto", late, **words, placement=NODES)
    assert "nodes" in {call.algorithm for call in calls}
    best = min(call.mean_after_last for call in calls if call.algorithm == "nodes")
    assert best < calls[0].mean_after_last
    alone = latecomer.rehearse("auto", late, **words)
    assert "nodes" not in {call.algorithm for call in alone}


# ---- networks


def test_the_memory_of_a_node_is_a_cost_of_the_network(capsys):
    costs = core.Network("per_node=4,memory=0.05ns")
    assert costs.memory == pytest.approx(0.05e-9)
    assert "memory=5e-11s" in costs.text
    assert core.Network(costs.text) == costs
    assert core.Network().memory == 0
    assert "memory=" not in core.Network().text
    words = {"ranks": 8, "count": 1 << 16, "placement": NODES}
    free = latecomer.simulate("nodes", **words, network="beta=0.1ns")
    loaded = latecomer.simulate("nodes", **words, network="beta=0.1ns,memory=1ns")
    assert loaded.after_last > free.after_last
    assert "local_beta and memory" in " ".join(said(capsys, "simulate", "--help").split())
    with pytest.raises(ValueError, match="memory"):
        core.Network("memory=-1ns")


# ---- SimGrid


@needs_simgrid
@pytest.mark.parametrize("nodes", [(0, 0, 1, 1), (0, 1, 0, 1, 2), (0, 0, 0, 0)])
@pytest.mark.parametrize("late", [0, 5e-3])
def test_nodes_in_simgrid_are_right_and_as_fast(nodes, late):
    from latecomer.lab import simgrid

    call = {"ranks": len(nodes), "placement": nodes, "network": "alpha=100us,beta=8ns"}
    times = [0.0, late, *[0.0] * (len(nodes) - 2)]
    for count in (1, 3000, 200000):
        found = simgrid.simulate(
            "nodes:among=ring", **call, count=count, arrivals=times, check=count < 5000,
            platform=CROSSBAR, config=simgrid.PLAIN,
        )  # fmt: skip
        virtual = latecomer.simulate("nodes:among=ring", **call, count=count, arrivals=times)
        assert found.exits == pytest.approx(virtual.exits, rel=0.02, abs=2e-6), count


@needs_simgrid
def test_simgrid_needs_a_host_for_each_node():
    from latecomer.lab import simgrid

    with pytest.raises(simgrid.SimGridError) as caught:
        simgrid.simulate("ring", ranks=17, platform=CROSSBAR, placement=range(17))
    assert "at most 16" in caught.value.remedy
