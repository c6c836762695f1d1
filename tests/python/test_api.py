"""The Python functions: right shapes, units and values, and errors that help."""

import inspect
import re
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import latecomer
import numpy as np
import pytest
from latecomer.core.compiled import core

STEPS = "alpha=1s,beta=0,gamma=0,eager=0"
BROKEN = Path(__file__).parents[1] / "negative" / "order.txt"


# ---- the registry


def test_algorithms_are_listed_with_what_they_need():
    rows = {row.name: row for row in latecomer.algorithms("allreduce")}
    assert rows["native"].kind == "native"
    tree = rows["sorted_linear_tree"]
    assert tree.arrival_aware
    assert tree.commutative_only
    assert {p.name: p.choices for p in tree.parameters}["override"] == ("ring", "back")
    everything = latecomer.algorithms()
    assert [row for row in everything if row.collective == "allreduce"] == [*rows.values()]
    assert {row.collective for row in everything} == set(latecomer.collectives())


def test_an_unknown_collective_is_refused():
    with pytest.raises(ValueError, match=r"'allsum' is not usable.*allreduce"):
        latecomer.algorithms("allsum")


# ---- programs


def test_a_schedule_holds_plan_and_programs():
    schedule = latecomer.program(
        "sorted_linear_tree:segments=2", ranks=4, count=10, arrivals=np.array([4e-3, 0, 0, 0])
    )
    assert schedule.order == (1, 2, 3, 0)
    assert schedule.parameters == "override=ring segments=2"
    assert [program.rank for program in schedule.programs] == [0, 1, 2, 3]
    assert schedule.text.startswith("latecomer-plan 1\nalgorithm sorted_linear_tree\n")
    assert latecomer.verify_text(schedule.text) is None


def test_operations_are_those_of_the_text():
    program = latecomer.program("ring", ranks=3, count=7).programs[1]
    for index, operation in enumerate(program.operations):
        line = f"\n{index} {operation.text}"
        waits = "".join(f" {other}" for other in operation.after)
        assert f"{line} after{waits}\n" in program.text or (not waits and line in program.text)
    combine = next(o for o in program.operations if o.kind == "combine")
    assert combine.text == (
        f"combine {_slice(combine.source)} {_slice(combine.target)} into {combine.into}"
    )
    assert combine.result == (combine.source if combine.into == "left" else combine.target)
    send = next(o for o in program.operations if o.kind == "send")
    assert send.text == f"send {_slice(send.source)} to {send.peer}"
    assert send.target is None


def _slice(where):
    return f"{where.buffer}[{where.begin}:{where.end}]"


def test_one_element_for_each_rank_is_the_default():
    assert latecomer.program("ring", ranks=np.int64(5)).count == 5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"algorithm": "rign"}, "'rign' is not usable.*ring"),
        ({"algorithm": "ring:segments=3"}, "segments"),
        ({"algorithm": "native"}, "native"),
        ({"ranks": 0}, "ranks: '0'"),
        ({"count": -1}, "count: '-1'"),
        ({"arrivals": [0.0, 1.0]}, "2 times.*one time for each of 4 ranks"),
        ({"arrivals": [[0.0] * 4]}, r"shape \(1, 4\).*shape \(ranks,\)"),
        ({"arrivals": [np.nan] * 4}, "nan.*finite"),
        ({"network": "speed=3"}, "speed=3.*alpha, beta"),
        ({"commutative": False}, "not commutative"),
        ({"collective": "allsum"}, "allsum"),
    ],
)
@pytest.mark.parametrize("function", [latecomer.program, latecomer.verify, latecomer.simulate])
def test_values_that_make_no_sense_are_refused(function, changes, message):
    arguments = {"algorithm": "ring", "ranks": 4, "count": 8} | changes
    with pytest.raises(ValueError, match=message):
        function(**arguments)


def test_a_rank_count_is_a_whole_number():
    with pytest.raises(TypeError):
        latecomer.program("ring", ranks=4.5)


# ---- the check


@pytest.mark.parametrize("row", [r for r in latecomer.algorithms() if r.kind == "program"])
def test_algorithms_are_right(row):
    problem = {"collective": row.collective, "ranks": 6, "count": 13, "in_place": True}
    root = 4 if latecomer.collectives()[row.collective].rooted else 0
    assert latecomer.verify(row.name, **problem, root=root) is None


def test_a_counterexample_names_its_rule():
    found = latecomer.verify_text(BROKEN.read_text())
    assert found.rule == "order"
    assert found.rule in [rule.name for rule in latecomer.rules()]
    assert "rank" in found.text
    assert set(asdict(found)) == {"rule", "text"}


def test_programs_follow_the_plan_that_they_stand_under():
    text = latecomer.program("ring", ranks=4, count=10).text
    found = latecomer.verify_text(text.replace("element-bytes 4", "element-bytes 8"))
    assert found.rule == "plan"
    assert "the plan hash is" in found.text


@pytest.mark.parametrize("text", ["", "latecomer-plan 2", "latecomer-plan 1\nalgorithm x\nfoo\n"])
def test_a_text_that_is_no_schedule_is_refused(text):
    with pytest.raises(ValueError, match="is not usable; right would be"):
        latecomer.verify_text(text)


# ---- the virtual network


def test_simulated_times_are_those_of_the_cost_model():
    found = latecomer.simulate("ring", ranks=4, network=STEPS)
    assert found.exits.shape == found.arrivals.shape == (4,)
    assert found.exits.dtype == np.float64
    np.testing.assert_allclose(found.exits, 6)  # 2 (P-1) rounds
    assert found.trace == []


def test_the_trace_holds_transfers_and_local_work():
    found = latecomer.simulate("linear_tree:segments=4", ranks=4, network=STEPS, trace=True)
    transfers = [move for move in found.trace if not move.local]
    assert len(transfers) == 4 * 3 * 2  # segments x links x up and down
    assert {move.text.split()[0] for move in transfers} == {"send"}
    assert {move.text.split()[0] for move in found.trace if move.local} == {"combine"}
    assert all(move.end - move.begin == 1 for move in transfers)
    program = latecomer.program("linear_tree:segments=4", ranks=4, network=STEPS).programs
    assert all(m.text == program[m.sender].operations[m.operation].text for m in found.trace)


def test_sorting_by_arrival_pays_for_a_late_rank():
    late = {"ranks": 4, "arrivals": [4, 0, 0, 0], "network": STEPS}
    plain = latecomer.simulate("linear_tree:segments=4", **late)
    aware = latecomer.simulate("sorted_linear_tree:segments=4", **late)
    assert (plain.after_last, aware.after_last) == (9, 7)
    assert plain.mean_elapsed == pytest.approx((12 + 13 + 13 + 11 - 4) / 4)


def test_an_estimate_may_be_wrong():
    name, arrival = "sorted_linear_tree:segments=4", [4.0, 0, 0, 0]
    wrong = latecomer.simulate(
        name, ranks=4, arrivals=arrival, estimate=[0, 0, 0, 4], network=STEPS
    )
    right = latecomer.simulate(name, ranks=4, arrivals=arrival, network=STEPS)
    assert wrong.arrivals.tolist() == arrival
    assert wrong.after_last > right.after_last


def test_no_schedule_beats_the_bound():
    shape = {"ranks": 4, "arrivals": [4e-3, 0, 0, 0], "network": "alpha=50us,beta=8ns"}
    bound = latecomer.least_after_last(bytes=400_000, **shape)
    found = latecomer.simulate("sorted_linear_tree", count=100_000, **shape)
    assert 0 < bound <= found.after_last


def test_a_bound_needs_an_arrival_for_each_rank():
    with pytest.raises(ValueError, match="3 times.*one time for each of 4 ranks"):
        latecomer.least_after_last(ranks=4, bytes=4, arrivals=[0, 0, 0])


@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_a_bound_needs_finite_arrivals(odd):
    problem = core.Problem("allreduce", ranks=4, count=4)
    with pytest.raises(ValueError, match="finite"):
        core.least_after_last(problem, [0, odd, 0, 0], core.Network())


# ---- nodes


def test_planning_takes_nodes_by_any_number():
    problem = core.Problem("allreduce", ranks=4, count=100_000)
    asked = (problem, "nodes", [], core.Network())
    assert core.planning(*asked, [0, -1, 0, 0])["plan"] > 0
    with pytest.raises(ValueError, match="a node for each of the 4 ranks"):
        core.planning(*asked, [0, 0])


# ---- the package


def test_the_version_is_that_of_the_build():
    cmake = (Path(__file__).parents[2] / "CMakeLists.txt").read_text()
    assert f"project(latecomer VERSION {latecomer.__version__} " in cmake


def test_all_names_are_there():
    assert set(latecomer.__all__) <= set(dir(latecomer))
    assert all(hasattr(latecomer, name) for name in latecomer.__all__)
    with pytest.raises(AttributeError, match="no attribute 'frobnicate'"):
        latecomer.frobnicate  # noqa: B018


def test_a_missing_core_says_what_builds_it():
    script = (
        "import sys; sys.modules['latecomer._core'] = None; import latecomer.lab.cluster\n"
        "try: latecomer.program\n"
        "except ImportError as error: print(error)"
    )
    package = str(Path(latecomer.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": package},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "run ./demo or ./test" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"arrivals": [1e9, 0, 0, 0]}, "arrival of rank 0: '1e+09s' is not usable"),
        ({"network": "alpha=1e9s"}, "time of a message (alpha + bytes x beta): '1000000000"),
    ],
)
def test_times_that_the_simulated_clock_cannot_count_are_errors(words, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        latecomer.simulate("ring", ranks=4, count=10, **words)


def test_a_network_is_parsed_once_and_tells_its_costs():
    network = latecomer.Network("alpha=1ms,eager=8KiB,per_node=2")
    assert (network.alpha, network.eager_limit, network.per_node) == (1e-3, 8192, 2)
    assert (network.beta, network.jitter) == (8e-9, 0)  # defaults
    assert latecomer.Network(network.text) == network
    assert network.with_per_node(1) == latecomer.Network("alpha=1ms,eager=8KiB")
    assert network != latecomer.Network()
    assert network not in ("alpha=1ms,eager=8KiB,per_node=2", None)
    with pytest.raises(ValueError, match="alfa"):
        latecomer.Network("alfa=1ms")


def test_functions_take_a_network_or_its_text():
    text, asked = "alpha=1ms,beta=0", {"ranks": 4, "count": 8}
    network = latecomer.Network(text)
    for function in (latecomer.program, latecomer.verify):
        assert function("ring", network=network, **asked) == function("ring", network=text, **asked)
    exits = latecomer.simulate("ring", network=network, **asked).exits
    assert exits.tolist() == latecomer.simulate("ring", network=text, **asked).exits.tolist()


def test_the_registry_is_read_once(monkeypatch):
    from latecomer.core import registry

    first = latecomer.algorithms()
    monkeypatch.setattr(registry.json, "loads", None)
    assert latecomer.algorithms() == first
    assert registry.is_arrival_aware("allreduce", "sorted_linear_tree:segments=3")
    assert not registry.is_arrival_aware("allreduce", "ring")


# ---- names


CALLS = [
    (latecomer.program, {"ranks": 4}),
    (latecomer.simulate, {"ranks": 4}),
    (latecomer.verify, {"ranks": 4}),
]


@pytest.mark.parametrize(("function", "more"), CALLS)
def test_the_old_name_of_arrivals_is_accepted_with_a_warning(function, more):
    late = [4e-3, 0, 0, 0]
    with pytest.warns(DeprecationWarning, match=r"arrival=\.\.\.\) is deprecated; use arrivals="):
        old = function("sorted_linear_tree", arrival=late, **more)
    new = function("sorted_linear_tree", arrivals=late, **more)
    assert str(old) == str(new)
    with pytest.raises(TypeError, match="both arrivals and arrival"):
        function("sorted_linear_tree", arrival=late, arrivals=late, **more)


def test_the_old_name_of_arrivals_of_the_bound(recwarn):
    new = latecomer.least_after_last(ranks=4, bytes=64, arrivals=[0, 0, 0, 1])
    assert not recwarn.list
    with pytest.warns(DeprecationWarning, match="use arrivals="):
        assert latecomer.least_after_last(ranks=4, bytes=64, arrival=[0, 0, 0, 1]) == new


@pytest.mark.parametrize(("function", "more"), CALLS)
def test_the_signature_names_every_argument(function, more):
    names = set(inspect.signature(function).parameters)
    assert {"ranks", "count", "collective", "root", "parts", "arrivals", "placement"} <= names
    text = inspect.getdoc(function)
    assert "Parameters\n----------\n" in text
    assert all(name in text for name in names)


def test_only_public_names_are_listed():
    names = [name for name in dir(latecomer) if not name.startswith("__")]
    assert set(names) == {*latecomer.__all__, *latecomer._HOME, "mpi", "torch"} - {"__version__"}


def test_packages_for_other_libraries_are_loaded_when_asked_for(monkeypatch):
    monkeypatch.setattr(latecomer, "import_module", lambda *words: words)
    for name in ("mpi", "torch"):
        assert latecomer.__getattr__(name) == (f".{name}", "latecomer")
