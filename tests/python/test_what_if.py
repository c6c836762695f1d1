"""The what-if: a replay of what was measured is what was measured, and simple cases by hand."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from latecomer.core.compiled import core
from latecomer.core.programs import problem
from latecomer.report.analysis import facts as facts_of
from latecomer.report.analysis.answer import facts
from latecomer.report.analysis.awaited import _sparse
from latecomer.report.analysis.collectives import Collectives
from latecomer.report.analysis.cut import analysed
from latecomer.report.analysis.graph import graph_of
from latecomer.report.analysis.lateness import analyse
from latecomer.report.analysis.simulated import AS_IT_WAS, Simulator
from latecomer.report.analysis.what_if import Replay, Scenario, distrust, what_if
from latecomer.report.trace import Words
from trace_helpers import arrivals_and_exits, group_of, made_up, trace_of

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "evidence"))

from played import Played

NETWORK = "alpha=50us,beta=8ns,gamma=0.1ns"
RANKS, COUNT = 4, 1 << 16


def simulated(calls, late, *, algorithm="ring", network=NETWORK, served=1, name="native"):
    """A trace of a loop of this algorithm on the virtual network, and its run time."""
    plan = core.Plan(problem(ranks=RANKS, count=COUNT), algorithm, network=core.Network(network))
    clock, arrival, leave = np.zeros(RANKS), [], []
    for call in range(calls):
        came = clock + 0.01 + late(call)
        exits = came.min() + np.array(plan.simulate((came - came.min()).tolist())["exits"])
        arrival.append(came)
        leave.append(exits)
        clock = exits
    words = Words()
    group = group_of(np.array(arrival), np.array(leave), words, size=4 * COUNT, served=served,
                     algorithm=name)  # fmt: skip
    trace = trace_of([group], words)
    return trace, analyse(trace).run_seconds


def one_late(call):
    return np.array([0, 0.02, 0, 0])


def answers_of(found):
    return {each.scenario.name: each.replayed for each in found.answers}


# ---- the replay


def replayed(trace, **words):
    """The only answer, with nothing simulated unless `words` say so."""
    run = analyse(trace).run_seconds
    scenario = Scenario("asked", **words)
    simulator = Simulator(Collectives(graph_of(trace)), NETWORK, False, "", "ring")
    return Replay(simulator, run).answer(scenario, 10.0).replayed, run


def replays(calls):
    """A replay of a loop in which nothing is simulated."""
    trace = made_up(calls=calls)
    found = Collectives(graph_of(trace))
    return Replay(Simulator(found, NETWORK, False, "", "ring"), analyse(trace).run_seconds)


def test_a_replay_of_what_was_measured_is_the_measured_run():
    replay = replays(300)
    told = replay.run(Scenario("as it was"), 300, changed=False)
    assert told.seconds == pytest.approx(replay.run_seconds, rel=1e-9)
    assert told.error == 0


@pytest.mark.parametrize("asked", [{"lateness": 0.0}, {"ranks": (1,)}, {"speed": 2.0}])
def test_stretches_tell_what_all_calls_tell(asked):
    replay = replays(2000)
    whole, some = (replay.run(Scenario("asked", **asked), calls, changed=True)
                   for calls in (2000, 480))  # fmt: skip
    assert (whole.calls, whole.error) == (2000, 0)
    assert some.calls == 480
    assert 0 < some.error < 0.01 * whole.seconds
    assert some.seconds == pytest.approx(whole.seconds, abs=4 * some.error)
    for name in ("waiting", "moving"):
        mine, theirs = getattr(some, name), getattr(whole, name)
        assert mine == pytest.approx(theirs, rel=0.05, abs=0.001 * whole.seconds)


def test_groups_that_share_ranks_are_replayed_in_order():
    words = Words()
    arrival, leave = arrivals_and_exits(40, 4)
    pair_came = leave[:, :2] + 0.001
    pair_left = pair_came.max(axis=1, keepdims=True) + np.full((40, 2), 0.0005)
    groups = [group_of(arrival, leave, words),
              group_of(pair_came, pair_left, words, members=[0, 1], name="pair", size=8)]  # fmt: skip
    trace = trace_of(groups, words)
    assert list(Collectives(graph_of(trace)).groups[:4]) == [0, 1, 0, 1]
    found, run = replayed(trace)
    assert found.seconds == pytest.approx(run, rel=1e-9)


def test_a_trace_without_whole_calls_is_refused():
    trace = made_up(calls=3)
    trace.groups[0].exit[:, 2] = np.nan
    with pytest.raises(ValueError, match="no call is known on all its ranks"):
        Collectives(graph_of(trace))


def test_calls_that_not_all_ranks_are_known_to_have_made_are_left_as_they_are():
    trace = made_up(calls=20)
    trace.groups[0].exit[[3, 11], 2] = np.nan
    graph = graph_of(trace)
    found = Collectives(graph)
    assert sorted(found.calls) == [call for call in range(20) if call not in (3, 11)]
    for event, (_, arrival, leave) in enumerate(found.measured(range(len(found)))):
        members = found.members(event)
        assert [graph.events.rank[each] for each in members] == [0, 1, 2, 3]
        np.testing.assert_array_equal(graph.events.begin[members], arrival)
        np.testing.assert_array_equal(graph.events.end[members], leave)


def test_without_lateness_a_rank_that_is_always_late_costs_nothing():
    found, _ = replayed(made_up(calls=50), lateness=0.0)
    work = 50 * 0.02 * 1.025 * 6 / 4  # its threefold computation, shared by all
    assert found.seconds == pytest.approx(work + 50 * 0.005, rel=0.02)
    assert found.waiting < 0.01


def test_a_late_rank_that_computes_as_the_median_rank_does_costs_nothing():
    found, run = replayed(made_up(calls=50), ranks=(1,))
    assert found.seconds == pytest.approx(run - 50 * 0.02 * 1.025 * 2, rel=0.02)


def wavefront():
    """Rank 1 of four is slow."""

    def program(rank):
        for _ in range(20):
            if rank > 0:
                yield ("receive", rank - 1)
            yield ("compute", 0.025 if rank == 1 else 0.005)
            if rank < 3:
                yield ("send", rank + 1)
            yield ("allreduce",)

    return Played([list(program(rank)) for rank in range(4)]).trace()


def test_messages_hand_on_what_is_saved():
    """Without the slow rank's excess all that waits for it is earlier."""
    found, run = replayed(wavefront(), ranks=(1,))
    assert found.seconds == pytest.approx(run - 20 * 0.02, abs=0.005)


@pytest.mark.parametrize("handled", [False, True])
def test_the_answer_and_the_what_if_tell_one_number(handled):
    """Only a simulation knows what calls of latecomer take without the lateness that they use."""
    trace = wavefront()
    for group in trace.groups if handled else ():
        group.served[:] = 0
        group.algorithm[:] = trace.words.place("ring")
    found = analysed(trace)
    told = facts(found)
    assert list(told.late) == [1]
    assert (told.saved is None) == handled
    answers = what_if(trace, found.run_seconds, late=told.late, graph=found.graph)
    assert answers.trusted
    whole = facts_of.simulated(told, answers)
    asked = answers_of(answers)["rank 1 no slower than the median rank"]
    assert whole.saved == pytest.approx(found.run_seconds - asked.seconds, rel=1e-9)
    assert whole.saved == pytest.approx(20 * 0.02, rel=0.05)
    assert whole.elapsed == found.run_seconds
    assert facts_of.simulated(told, None) == told


# ---- the answers


def test_the_simulator_repeats_a_run_of_its_own():
    trace, run = simulated(60, one_late, served=0, name="ring")
    found = what_if(trace, run, network=NETWORK, known=True, seconds=2, only=("ring", "auto"))
    assert found.simulator_error == pytest.approx(0, abs=0.01)
    assert answers_of(found)["ring"].seconds == pytest.approx(run, rel=0.01)
    assert answers_of(found)["auto"].seconds < run  # it learns who is late


def test_costs_that_are_not_known_are_fitted():
    slower = "alpha=200us,beta=32ns,gamma=0.4ns"
    trace, run = simulated(60, one_late, network=slower, served=0, name="ring")
    found = what_if(trace, run, network=NETWORK, seconds=2, only=("ring",))
    assert next(iter(found.factors.values())) == pytest.approx(4, rel=0.05)
    assert answers_of(found)["ring"].seconds == pytest.approx(run, rel=0.02)


def test_the_ranking_is_that_of_runs():
    late = np.random.default_rng(3).random((80, RANKS)) * 0.01
    runs = {name: simulated(80, lambda call: late[call], algorithm=name)
            for name in ("ring", "recursive_doubling", "linear_tree")}  # fmt: skip
    trace, run = runs["ring"]
    found = what_if(trace, run, network=NETWORK, known=True, seconds=4, only=tuple(runs))
    for name, (_, real) in runs.items():
        assert answers_of(found)[name].seconds == pytest.approx(real, rel=0.03)


def test_a_faster_network_halves_what_is_moved():
    trace, run = simulated(60, lambda call: np.zeros(RANKS), served=0, name="ring")
    found = answers_of(what_if(trace, run, network=NETWORK, known=True, seconds=3))
    moved = run - 60 * 0.01
    assert found["a network twice as fast"].seconds == pytest.approx(run - moved / 2, rel=0.02)
    assert found["perfect balance"].seconds == pytest.approx(run, rel=0.02)


@pytest.mark.parametrize(("collective", "slower"), [("file_write_at_all", 0), ("win_fence", 1)])
def test_a_faster_network_makes_no_file_faster(collective, slower):
    graph = analyse(made_up(calls=30, collective=collective, size=-1)).graph
    assert graph.on_files().all() == (collective == "file_write_at_all")
    assert (graph.saved(None, 0.5) > 0) == bool(slower)
    assert graph.saved(None) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("off", [0.6, 1.0, 1.6])
def test_wrong_costs_of_the_network_are_no_gain_of_ranks(off):
    trace, run = simulated(60, one_late, served=0, name="ring")
    wrong = f"alpha={50 * off}us,beta={8 * off}ns,gamma={0.1 * off}ns"
    found = what_if(trace, run, network=wrong, known=True, late=(1,), seconds=2)
    assert (abs(found.simulator_error) > 0.02) == (off != 1)
    asked = answers_of(found)["rank 1 no slower than the median rank"]
    assert asked.seconds == pytest.approx(run - 60 * 0.02, rel=0.01)


def test_the_library_as_it_was_stays_as_it_was():
    trace = made_up(calls=200)
    run = analyse(trace).run_seconds
    found = answers_of(what_if(trace, run, seconds=1))
    assert found["the MPI library's own algorithms"].seconds == pytest.approx(run, rel=1e-6)


@pytest.mark.parametrize("collective", ["bcast", "reduce", "allgather", "gather", "scatter"])
def test_other_collectives_are_simulated_too(collective):
    root = -1 if collective == "allgather" else 0
    trace = made_up(calls=30, collective=collective, root=root)
    found = what_if(trace, analyse(trace).run_seconds, seconds=1)
    assert any(each.scenario.algorithm not in (AS_IT_WAS, "native", "auto")
               and each.replayed for each in found.answers)  # fmt: skip


def test_what_is_not_known_stays_as_measured():
    trace = made_up(calls=30, collective="barrier", size=0)
    run = analyse(trace).run_seconds
    found = what_if(trace, run, seconds=0.5)
    assert found.factors == {}
    assert all(each.replayed.seconds == pytest.approx(run) for each in found.answers
               if each.scenario.lateness == each.scenario.speed == 1)  # fmt: skip


def test_no_answer_is_below_nothing():
    """Costs so far off that the calls, simulated as they were, take far longer than the run."""
    trace, run = simulated(30, one_late, served=0, name="ring")
    found = what_if(trace, run, network="alpha=1s,beta=1ms", known=True, seconds=2)
    assert not found.trusted
    assert any("far longer than those of the run" in each.remark for each in found.answers)
    assert all(each.replayed.seconds >= 0 for each in found.answers if each.replayed)


def ordered():
    """A trace whose operator does not commute."""
    trace = made_up(calls=20)
    trace.groups[0].operator[:] = trace.words.place("ordered, of the program")
    return trace


def test_an_algorithm_that_does_not_take_the_calls_is_told_as_such():
    trace = ordered()
    answers = what_if(trace, analyse(trace).run_seconds, only=("ring", "auto"), seconds=0.5)
    ring, auto = answers.answers
    assert ring.replayed is None
    assert ring.remark.endswith("since ring needs a commutative operator")
    assert auto.replayed


def test_calls_that_the_library_s_algorithm_does_not_take_stay_as_measured():
    trace = ordered()
    run = analyse(trace).run_seconds
    answers = what_if(trace, run, native="ring", seconds=0.5)
    assert answers.factors == {}
    told = {each.scenario.name: each.replayed.seconds for each in answers.answers}
    assert told["the MPI library's own algorithms"] == pytest.approx(run)
    assert told["perfect balance"] < 0.6 * run


def test_calls_before_one_that_no_algorithm_takes_use_no_link():
    trace = made_up(calls=20)
    group = trace.groups[0]
    group.bytes[::2] = 1 << 19
    group.operator[::2] = trace.words.place("ordered, of the program")
    network = f"{NETWORK},burst=1MiB"
    simulator = Simulator(Collectives(graph_of(trace)), network, False, "", "ring")
    simulator.fit(1.0)
    assert [each.bytes for each in simulator.factors] == [1 << 20]


def test_an_algorithm_for_nodes_is_the_automatic_one_where_each_node_has_one_rank():
    trace = made_up(calls=20, served=0, algorithm="nodes")
    answers = what_if(trace, analyse(trace).run_seconds, seconds=0.5)
    assert answers.repeated.seconds > 0
    assert set(answers.factors) == set(Collectives(graph_of(trace)).classes)


def test_costs_of_memory_are_fitted_as_the_others():
    trace = made_up(calls=20)
    made = [Simulator(Collectives(graph_of(trace)), f"{NETWORK}{more}", False, "", "ring")
            for more in ("", ",memory=2ns")]  # fmt: skip
    for simulator in made:
        simulator.fit(1.0)
    assert made[1]._costs(0.5).memory == pytest.approx(1e-9)
    (plain,), (dearer,) = (simulator.factors.values() for simulator in made)
    assert dearer <= plain


def test_what_takes_too_long_is_left_out_and_says_so():
    words = Words()
    times = arrivals_and_exits(30, 200)
    trace = trace_of([group_of(*times, words)], words)
    found = what_if(trace, 1.0, seconds=0.01)
    assert any(each.replayed is None and "--budget" in each.remark for each in found.answers)
    assert found.repeated is None
    assert not found.trusted
    assert "set --budget to more" in distrust(found)


def test_of_a_run_that_takes_no_time_nothing_is_told():
    words = Words()
    trace = trace_of([group_of(np.zeros((4, 3)), np.zeros((4, 3)), words)], words)
    found = what_if(trace, analyse(trace).run_seconds, seconds=0.2)
    assert found.repeated is not None
    assert not found.trusted
    assert "the run took 0 s" in distrust(found)


def test_efficiencies_are_those_of_pop():
    """Ranks 0, 2 and 3 compute 10 ms and rank 1 30 ms, then data move for 5 ms."""
    trace = made_up(calls=50)
    group = trace.groups[0]
    found = what_if(trace, run := analyse(trace).run_seconds, seconds=0.2).efficiency
    before = np.vstack([np.full(4, group.arrival.min()), group.exit[:-1]])
    computed = (group.arrival - before).sum(axis=0)
    assert found.parallel == pytest.approx(computed.mean() / run, rel=0.01)
    assert found.load_balance == pytest.approx(computed.mean() / computed.max(), rel=0.01)
    assert found.serialisation == pytest.approx(1, abs=0.01)  # one rank is always the last
    assert found.transfer == pytest.approx(1 - 50 * 0.005 / run, rel=0.01)
    parts = found.load_balance * found.serialisation * found.transfer
    assert found.parallel == pytest.approx(parts)
    assert found.said().startswith("Parallel efficiency ")


def test_a_pipeline_serialises():
    def program(rank):
        for _ in range(10):
            if rank > 0:
                yield ("receive", rank - 1)
            yield ("compute", 0.005)
            if rank < 3:
                yield ("send", rank + 1)
            yield ("allreduce",)

    trace = Played([list(program(rank)) for rank in range(4)]).trace()
    found = what_if(trace, analyse(trace).run_seconds, seconds=0.2).efficiency
    assert found.load_balance == pytest.approx(1, abs=0.01)
    assert found.serialisation == pytest.approx(0.25, abs=0.01)


def test_equal_parts_that_would_take_longer_are_not_told():
    """A root has little to do, for which all others wait."""

    def program(rank):
        yield ("allreduce",)
        for _ in range(30):
            if rank == 0:
                yield ("compute", 0.001)
                yield from (("send", other) for other in (1, 2, 3))
                yield from (("receive", other, "at=root") for other in (1, 2, 3))
            else:
                yield ("receive", 0)
                yield ("compute", 0.01)
                yield ("send", 0)

    trace = Played([list(program(rank)) for rank in range(4)]).trace()
    found = what_if(trace, analyse(trace).run_seconds, seconds=0.2)
    balance = next(each for each in found.answers if each.scenario.name == "perfect balance")
    assert balance.replayed is None
    assert "takes longer" in balance.remark


def test_what_comes_behind_the_last_call_is_in_no_efficiency():
    """Ranks compute there, or wait in MPI_Finalize."""
    trace = made_up(calls=50)
    longer = replace(trace, end=np.full(4, trace.groups[0].exit.max() + 3.0))
    run = analyse(longer).run_seconds
    assert run > analyse(trace).run_seconds + 2.9
    found = [what_if(each, run, seconds=0.2).efficiency for each in (trace, longer)]
    assert found[0] == found[1]


def test_a_killed_job_lasts_as_long_as_its_messages():
    """Its ranks do not say when they ended, and messages come behind the last collective."""

    def program(rank):
        for _ in range(3):
            yield ("allreduce",)
        for _ in range(100):
            if rank > 0:
                yield ("receive", rank - 1)
            yield ("compute", 0.03 if rank == 1 else 0.01)
            if rank < 3:
                yield ("send", rank + 1)

    played = Played([list(program(rank)) for rank in range(4)]).trace()
    for groups in (played.groups, ()):
        trace = replace(played, end=np.full(4, np.nan), groups=groups)
        found = analysed(trace, skip=0)
        assert found.run_seconds > 100 * 0.03
        told = facts(found)
        assert list(told.late) == [1]
        assert 0 < told.saved < told.elapsed
        asked = what_if(found.trace, found.run_seconds, graph=found.origin.graph, seconds=0.2)
        assert 0 < asked.efficiency.parallel <= 1
        assert all(0 < each.replayed.seconds <= 1.01 * found.run_seconds
                   for each in asked.answers if each.replayed)  # fmt: skip


def test_threads_of_a_rank_are_told_in_place_of_a_wrong_number():
    """Two threads of each rank are a ring each, and nothing tells which of them computes."""

    def ring(rank, other):
        yield ("compute", other * 1e-4)
        for _ in range(20):
            yield ("compute", 0.03 if rank == 1 else 0.01)
            yield ("isend", other + (rank + 1) % 4)
            yield ("receive", other + (rank - 1) % 4)
            yield ("wait",)

    played = Played([ring(thread % 4, thread // 4 * 4) for thread in range(8)]).trace()
    messages = played.messages
    both = replace(messages, send=replace(messages.send, rank=messages.send.rank % 4),
                   receive=replace(messages.receive, rank=messages.receive.rank % 4))  # fmt: skip
    trace = replace(played, messages=both, hosts=played.hosts[:4], begin=played.begin[:4],
                    end=played.end[:4], clock_error=played.clock_error[:4],
                    others=None)  # fmt: skip
    found = analysed(trace)
    assert list(facts(found).late) == [1]
    assert facts(found).saved is None
    answers = what_if(trace, found.run_seconds, seconds=0.2)
    assert not answers.trusted
    assert "while two of their threads are in MPI" in distrust(answers)
    alone = analysed(Played([ring(rank, 0) for rank in range(4)]).trace())
    assert facts(alone).saved == pytest.approx(0.4, rel=0.02)


def test_places_at_which_somebody_left_early_are_found_among_very_many():
    """Each call has a place of its own, or shares it with another one; one by one takes minutes."""
    count, words = 100_000, Words()
    kinds = [words.place(name) for name in ("alltoallv", "allreduce", "bcast")]
    times = np.zeros((2 * count, 1))
    group = group_of(times, times, words, collective="alltoallv")
    site = np.tile(np.arange(count, dtype=np.int32), 2)
    for _ in range(count):
        words.place(f"site {len(words)}")
    kind = np.tile(np.array(kinds, np.int32)[np.arange(count) % 3], 2)
    early = np.zeros(2 * count, bool)
    early[:count:2] = True
    found = _sparse(replace(group, site=site, collective=kind), words, ~early)
    np.testing.assert_array_equal(found, np.tile(early[:count] & (kind[:count] != kinds[2]), 2))


def test_a_trace_without_calls_of_several_ranks_is_as_long_whatever_is_asked():
    words = Words()
    alone = group_of(*arrivals_and_exits(20, 1, late=None), words)
    for groups in ([alone], []):
        trace = trace_of(groups, words, ranks=1)
        found = what_if(trace, 2.0, seconds=0.3)
        assert {each.replayed.seconds for each in found.answers if each.replayed} == {2.0}
        efficiency = found.efficiency
        assert np.isfinite([efficiency.serialisation, efficiency.transfer]).all()
