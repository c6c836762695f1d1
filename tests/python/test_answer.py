"""The answer in four sentences: who is named, by cost, and where; what comes next."""

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from latecomer.base import called
from latecomer.base.errors import UserError
from latecomer.core.compiled import core
from latecomer.report.analysis import cut
from latecomer.report.analysis.answer import (
    Facts,
    answer,
    answer_of,
    facts,
    finding,
    headline,
    shorter,
    verdict,
)
from latecomer.report.analysis.blame import late_ranks, teams, waiters
from latecomer.report.analysis.job import facts_of_job, unseen
from latecomer.report.analysis.lateness import analyse
from latecomer.report.analysis.remedies import REMEDIES
from latecomer.report.analysis.repeats import repeats
from latecomer.report.trace import Words, read
from latecomer.report.trace.waits import waiting
from scenes_helpers import ROOT
from trace_helpers import arrivals_and_exits, group_of, made_up, trace_of

KINETO = Path(__file__).parent / "kineto"
HOW_TO = Path(__file__).parents[2] / "docs/howto/who-is-late.md"


def loop_of(work, *, moving=0.002, hosts=None, error=0.0, **like):
    """A trace of a loop of computation, of shape (calls, ranks), and a synchronising call."""
    arrival, leave, clock = np.empty_like(work), np.empty_like(work), 0.0
    for call, own in enumerate(work):
        arrival[call] = clock + own
        clock = arrival[call].max() + moving
        leave[call] = clock
    words = Words()
    return trace_of([group_of(arrival, leave, words, **like)], words, hosts=hosts, error=error)


def work_of(calls, ranks, late=(), by=0.01, seed=1):
    """Computation of about 20 ms, and some ranks that take longer."""
    work = 0.02 * (1 + 0.05 * np.random.default_rng(seed).random((calls, ranks)))
    work[:, list(late)] += by
    return work


# ---- the cost


def slow(arrival, leave, by_all):
    """Waiting and cost, rank by rank and slice by slice: the rank shares what it waits among those
    that come after the slice, and before the rank leaves."""
    cost, waits = np.zeros(len(arrival)), np.zeros(len(arrival))
    times = sorted(arrival)
    for rank, came in enumerate(arrival):
        for begin, end in pairwise(times):
            after = [r for r, t in enumerate(arrival) if t >= end and (by_all or t <= leave[rank])]
            if came <= begin and after:
                waits[rank] += end - begin
                cost[after] += (end - begin) / len(after)
    return waits, cost


@pytest.mark.parametrize("by_all", [True, False])
@pytest.mark.parametrize("ranks", [2, 3, 7, 60])
@pytest.mark.parametrize("seed", range(3))
def test_a_rank_waits_for_those_that_come_before_it_leaves(ranks, by_all, seed):
    print("seed", seed)
    rng = np.random.default_rng(seed)
    arrival = rng.integers(0, 9, (20, ranks)) / 8  # with ties
    least = arrival.max(axis=1, keepdims=True) if by_all else arrival
    leave = least + rng.integers(0, 5, (20, ranks)) / 8
    kinds = np.full(20, by_all)
    waits = waiting(arrival, leave, kinds)
    found = core.examine_calls(arrival, leave, kinds)
    cost = found["cost"]
    np.testing.assert_allclose(found["waiting"], waits, atol=1e-12)
    for call in range(20):
        known = slow(arrival[call], leave[call], by_all)
        np.testing.assert_allclose(waits[call], known[0], atol=1e-12)
        np.testing.assert_allclose(cost[call], known[1], atol=1e-12)


def test_where_clocks_are_off_a_rank_waits_until_it_leaves():
    arrival, leave = np.array([[0.0, 1.0, 5.0]]), np.array([[0.25, 1.0, 5.0]])
    every = np.ones(1, bool)
    cost = core.examine_calls(arrival, leave, every)["cost"]
    assert cost.sum() == pytest.approx(0.25)


def test_who_has_left_a_broadcast_does_not_wait():
    arrival = np.zeros((12, 4)) + np.arange(12)[:, None]
    arrival[:, 3] += 0.005
    leave = arrival + 0.001
    words = Words()
    found = analyse(trace_of([group_of(arrival, leave, words, collective="bcast", root=0)], words))
    assert not found.ranks.waiting.any()
    assert not found.ranks.cost.any()
    assert not found.ranks.held_up.any()
    assert answer(found).who == "Nobody in particular is late."


@pytest.mark.parametrize("ranks", [2, 5])
def test_of_ranks_that_come_together_nobody_is_last(ranks):
    arrival = np.zeros((12, ranks)) + np.arange(12)[:, None]
    words = Words()
    found = analyse(trace_of([group_of(arrival, arrival + 0.001, words)], words))
    assert sum(group.complete for group in found.groups) == 12
    assert not found.ranks.last.any()
    assert found.latest is None
    assert found.sites[0].last_share == 0
    assert found.sites[0].repeats.share == 0


def test_the_costs_of_places_are_those_of_the_ranks(monkeypatch):
    trace = read(KINETO)
    found = analyse(trace)
    for site in found.sites:
        assert site.by_member.cost.sum() == pytest.approx(site.waiting)
    assert found.ranks.cost.sum() == pytest.approx(found.ranks.waiting.sum())
    monkeypatch.setattr("latecomer.report.analysis.places._CELLS", 8)  # so most places have no sums
    some = analyse(trace)
    np.testing.assert_allclose(some.ranks.cost, found.ranks.cost)
    known = [site for site in some.sites if site.cost]
    assert 0 < len(known) < len(found.sites)
    assert all(site.by_member.cost.sum() == pytest.approx(site.waiting) for site in known)


# ---- who


@pytest.mark.parametrize(("cost", "named"), [
    ([0, 10, 1, 1], [1]),
    ([4, 3, 3, 4], []),  # all alike
    ([30, 10, 9, 9, 8, 8, 8, 8, 8, 8], [0]),  # a quarter of all, and thrice the next
    ([9, 1, 1, 1, 1] + [1] * 40, []),  # stands out, but costs too little
    ([8, 1, 9, 1, 1, 1, 1, 1], [0, 2]),
    ([0, 9, 9, 0, 0, 0], [1, 2]),
    ([9, 9, 9, 1], []),  # most are no latecomers
    ([3, 2], []),
    ([3, 1], [0]),
    ([0, 0, 0], []),
])  # fmt: skip
def test_ranks_are_named_by_what_they_cost(cost, named):
    assert late_ranks(np.array(cost, float)) == (named, False)


def test_a_cost_is_shared_by_those_who_wait():
    assert waiters(np.array([5.0, 0.0, 5.0, 0.0]), [1]) == 2
    assert waiters(np.array([0.0, 0.1, 9.0]), [0]) == 1  # the root of a gather alone waits
    assert waiters(np.array([0.0, 0.0]), [1]) == 0


def test_of_ranks_that_share_no_call_each_team_has_its_late_one():
    cost = np.array([12.0, 0.0, 12.0, 0.0])
    assert late_ranks(cost[:3], teams=[3]) == ([], False)
    assert late_ranks(cost, teams=[2, 2]) == ([0, 2], False)
    assert late_ranks(np.array([12.0, 8.0, 12.0, 8.0]), teams=[2, 2]) == ([], False)
    assert sorted(teams([[0, 1], [4, 5], [2, 3], [1, 3]])) == [2, 4]
    assert teams([]) == []


def test_of_two_ranks_one_is_late_after_the_other():
    """Their median is halfway, so that half of the lateness would be told."""
    words, work = Words(), np.full((12, 2), 0.02)
    work[:, 1] += 0.01
    pair = loop_of(work)
    assert "12 calls, 10 ms after the other rank, in the mean" in answer(analyse(pair)).where
    more = group_of(*arrivals_and_exits(12, 4), words)  # at the same place
    both = trace_of([replace(pair.groups[0], name="pair"), more], words)
    assert "after the median rank" in answer(analyse(both)).where


@pytest.mark.parametrize(("ranks", "says"), [
    (2, "5 ms after the other rank"), (3, "5 ms after the median rank"),
])  # fmt: skip
def test_the_summary_says_after_whom_a_rank_is_late(ranks, says):
    place = {"collective": "barrier", "site": "", "bytes": 0, "calls": 20, "last": 20,
             "cost_s": 0.2, "waiting_s": 0.2, "lateness_s": 0.1}  # fmt: skip
    job = JOB | {"ranks": ranks, "told": 20, "sampled_from": 20, "waiting_s": 0.2 / ranks,
                 "cost_s": [0.0, 0.2, 0.0][:ranks], "waited_s": [0.2, 0.0, 0.0][:ranks],
                 "hosts": ["a"] * ranks, "places": [place], "clock_error_s": 0.0}  # fmt: skip
    assert says in answer_of(facts_of_job(job)).where


def test_a_host_is_named_where_its_ranks_are_late_together():
    hosts = [f"node{rank // 8}" for rank in range(32)]
    trace = loop_of(work_of(40, 32, late=range(8, 16)), hosts=hosts)
    said = answer(analyse(trace))
    assert said.who == "The 8 ranks on host node1 are late."
    assert said.cost.startswith("They cost the others ")
    assert "host" in said.next
    two = loop_of(work_of(40, 8, late=(2, 3)), hosts=[f"node{rank // 2}" for rank in range(8)])
    assert answer(analyse(two)).who == "The 2 ranks on host node1 are late."


def test_some_ranks_are_named_together():
    said = answer(analyse(loop_of(work_of(40, 16, late=(3, 7)))))
    assert said.who == "Ranks 3 and 7 on hosts node3 and node7 are late."
    assert re.search(r"where rank 3 comes last in \d+ % of 40 calls", said.where)


def test_two_pairs_that_never_meet_have_a_late_rank_each():
    words, groups = Words(), []
    for seed, members in ((1, [0, 1]), (2, [2, 3])):
        arrival, leave = arrivals_and_exits(40, 2, late=0, seed=seed)
        groups.append(group_of(arrival, leave, words, name="pair", members=members))
    assert answer(analyse(trace_of(groups, words))).who.startswith("Ranks 0 and 2 on hosts ")


@pytest.mark.parametrize("seed", range(5))
def test_nobody_in_particular_is_late_where_lateness_is_spread(seed):
    rng = np.random.default_rng(seed)
    noise = 0.02 + rng.exponential(0.01, (400, 8))
    turn = np.full((400, 8), 0.02)
    turn[np.arange(400), np.arange(400) % 8] += 0.01
    for work in (noise, turn):
        said = answer(analyse(loop_of(work)))
        assert said.who == "Nobody in particular is late."
        assert "Nearly all of the waiting is in the allreduce of 1 MiB" in said.where
        assert "need no forecast" in said.next


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("less", "key"), [(0.0005, "place"), (0.01, "spread")])
def test_one_of_several_places_is_named_where_nobody_is_late(seed, less, key):
    """Every second call is at another place, before which work is as uneven, or much less so."""
    rng = np.random.default_rng(seed)
    work = 0.02 + rng.exponential(0.01, (400, 8))
    work[1::2] = 0.02 + rng.exponential(less, (200, 8))
    trace = loop_of(work)
    trace.groups[0].site[1::2] = trace.words.place("app+0x20")
    known = facts(analyse(trace))
    assert finding(known) == key
    said = answer_of(known)
    assert said.who == "Nobody in particular is late."
    assert ("more evenly" in said.next) is (key == "place")
    if key == "place":
        assert "of the waiting is in the allreduce of 1 MiB at app+0x10" in said.where


@pytest.mark.parametrize(("error", "named"), [(0.0, True), (1e-3, True), (0.02, False),
                                              (np.inf, False)])  # fmt: skip
def test_below_the_error_of_the_clocks_nobody_is_named(error, named):
    found = analyse(loop_of(work_of(40, 4, late=[2]), error=error))
    said = answer(found)
    assert said.who.startswith("Rank 2 on host node2 is late.") is named
    if not named:
        assert said.who.startswith("Nobody is named: the clocks ")
        assert "rank 2" not in said.text().lower()
        assert verdict(facts(found)).startswith("Without arrivals that can be compared")


def test_calls_that_nobody_knows_name_nobody():
    trace = made_up(calls=5)
    trace.groups[0].exit[:, 0] = np.nan
    said = answer(analyse(trace))
    assert said.who == (
        "Nobody is named: none of the 5 calls can be used: not all their ranks tell them."
    )
    assert "%" not in said.text()
    assert said.next.startswith("Read the remarks")


def half_known(calls, missing=(3,), hosts=("a", "a", "b", "b")):
    """Two groups: all ranks, of which some tell nothing, and the first two, where rank 1 is late."""
    words = Words()
    arrival, leave = arrivals_and_exits(calls, 4)
    pair = group_of(*arrivals_and_exits(20, 2), words, name="pair", members=[0, 1])
    arrival[:, list(missing)] = leave[:, list(missing)] = np.nan
    trace = trace_of([group_of(arrival, leave, words), pair], words, hosts=list(hosts))
    trace.clock_error[list(missing)] = np.nan
    return trace


@pytest.mark.parametrize(("missing", "files"), [
    ([2], "the file of rank 2 is missing"), ([2, 3], "the files of ranks 2 and 3 are missing"),
])  # fmt: skip
def test_where_most_calls_lack_a_rank_nobody_is_named(missing, files):
    said = answer(analyse(half_known(21, missing)))
    assert said.who == f"Nobody is named: {files}, 21 of 41 calls cannot be used."
    assert said.next.startswith("Bring together the files of all ranks; then: ")
    assert "%" not in said.text()
    assert answer(analyse(half_known(20, missing))).who.startswith("Rank 1 on host a is late.")
    assert "files of 9 ranks, such as 3, are missing" in answer(analyse(half_known_of_many())).who


def half_known_of_many():
    words = Words()
    arrival, leave = arrivals_and_exits(5, 12)
    arrival[:, 3:] = np.nan
    trace = trace_of([group_of(arrival, leave, words)], words)
    trace.clock_error[3:] = np.nan
    return trace


def test_no_host_is_named_by_ranks_that_are_not_known():
    """The others of a host may be late or not; a rank whose host is not known is of no host."""
    trace = loop_of(work_of(40, 3, late=(0, 1, 2)), hosts=["a", "a", "a"])
    silent = [f"b{rank}" for rank in range(9)] + ["a"]
    trace = replace(trace, hosts=[*trace.hosts, *silent], begin=np.full(13, np.nan),
                    end=np.full(13, np.nan), clock_error=np.zeros(13))  # fmt: skip
    assert answer(analyse(trace)).who == "Nobody in particular is late."
    cost = np.array([2.0, 2.0, 2.0, 0.0, 0.0])
    assert late_ranks(cost, ["a", "a", "a", "b", "b"]) == ([0, 1, 2], True)
    assert late_ranks(cost, ["a", "a", "a", "?", "?"]) == ([], False)


# ---- the sentences


def test_the_recorded_job_is_ranked_by_cost_without_its_start():
    """Rank 3 began late; rank 1 has more to do before one of three collectives."""
    found = cut.analysed(read(KINETO))
    said = answer(found)
    assert said.who == "Rank 1 on host vm is late."
    assert re.match(r"It costs the others 1\.2\d+ s \(40\d ms each\), 6\d % of all waiting; 4\d % of "
                    r"the time", said.cost)  # fmt: skip
    assert said.where.startswith("Nearly all of its cost is in the allreduce of 1 MiB, where it comes last "
                                 "in 100 % of 19 calls, ")  # fmt: skip
    assert said.where.endswith("Without the first call, where ranks waited 563 ms more.")
    assert said.next.endswith(f"then: latecomer report {KINETO} --perfetto calls.json")
    with_it = answer(cut.analysed(read(KINETO), skip=0))
    assert "95 % of 20 calls" in with_it.where
    assert "Without" not in with_it.where


def test_an_answer_has_four_lines():
    said = answer(analyse(made_up()), run_command="mpirun -n 4 ./app")
    lines = said.text().splitlines()
    assert [line.split(":")[0] for line in lines] == ["who", "cost", "where", "next"]
    assert headline(said) == f"{said.who} {said.cost} {said.where}"


def test_facts_that_are_not_known_are_left_out():
    said = answer_of(Facts(ranks=4, run=10.0, waiting=4.0, moving=1.0, late=[1]))
    assert said.who == "Rank 1 is late."
    assert said.cost == "40 % of the time of all ranks is waiting for late ones, 10 % moving data."
    assert said.where == "In no single place."
    assert said.next.endswith("latecomer run --compare -- COMMAND")
    more = answer_of(Facts(ranks=4, run=10.0, waiting=4.0, moving=1.0, late=[1], hosts=["a\x1b"],
                           cost=3.0, unseen="messages", last_share=0.5, calls=1, place="bcast",
                           run_command="srun ./app"))  # fmt: skip
    assert more.who == "Rank 1 on host a\N{REPLACEMENT CHARACTER} is late."
    assert more.cost.startswith("It costs the others 3 s (1 s each), 75 % of all waiting; 40 % of")
    assert more.cost.endswith("10 % moving data; not looked at: messages.")
    assert more.where == "Most of its cost is in the bcast, where it comes last in 50 % of 1 call."
    assert more.next.endswith("latecomer run --compare -- srun ./app")


COMMON = Facts(ranks=4, run=10.0, waiting=4.0, moving=1.0, late=[1])


@pytest.mark.parametrize(("changes", "key", "says"), [
    ({}, "rank", "Imbalance dominates"),
    ({"host": True, "hosts": ["a"]}, "host", "Imbalance dominates"),
    ({"late": []}, "spread", "Imbalance dominates"),
    ({"late": [], "one_place": True}, "place", "Imbalance dominates"),
    ({"waiting": 1.0}, "rank", "Both matter"),
    ({"waiting": 0.5}, "moving", "Moving data dominates"),
    ({"waiting": 0.1, "moving": 0.1}, "little", "Collectives take little"),
    ({"unknown": "why"}, "unclear", "Without arrivals"),
    ({"unknown": "why", "known": False, "folder": "a"}, "lacking", "Without arrivals"),
    ({"unknown": "why", "known": False, "folder": "a", "lacking": False}, "odd", "Without arri"),
])  # fmt: skip
def test_the_remedy_and_the_verdict_follow_the_finding(changes, key, says):
    known = replace(COMMON, **changes)
    assert finding(known) == key
    assert verdict(known).startswith(says)
    assert answer_of(known).next.lower().startswith(REMEDIES[key].do)


@pytest.mark.parametrize(("folder", "run", "ends"), [
    ("a b", "", "; then: latecomer report 'a b' --perfetto calls.json"),
    ("a", "srun x", "; then: latecomer report a --perfetto calls.json"),
    ("", "srun x", "; then: latecomer run --trace traces -- srun x"),
    ("", "", "program itself."),
])  # fmt: skip
def test_the_next_command_is_one_that_can_be_given(folder, run, ends):
    little = Facts(ranks=4, run=10.0, waiting=0.1, moving=0.1, folder=folder, run_command=run)
    assert answer_of(little).next.endswith(ends)


@pytest.mark.parametrize(("changes", "ends"), [
    ({"after": "compare"}, "; then: latecomer run --trace traces -- srun x"),
    ({"after": "compare", "traces": "traces-2"}, "latecomer run --trace traces-2 -- srun x"),
    ({"after": "trace", "folder": "a b"}, "; then: latecomer report 'a b'"),
    ({"known": False, "unknown": "why"}, "program itself."),
])  # fmt: skip
def test_the_next_command_leads_on(changes, ends):
    assert answer_of(replace(COMMON, run_command="srun x", **changes)).next.endswith(ends)


def test_the_next_command_is_called_as_this_one(monkeypatch):
    monkeypatch.setattr(called, "_called", "./late comer")
    assert "; then: './late comer' run --compare -- COMMAND" in answer_of(COMMON).next


def test_several_ranks_are_spoken_of_as_several():
    both = replace(COMMON, late=[0, 1], hosts=["a", "b"])
    assert answer_of(both).next.startswith("Look at their hosts: clock rate")
    assert "give them less work; then" in answer_of(both).next
    both = replace(both, hosts=["a", "a"])
    assert answer_of(both).next.startswith("Look at their host: clock rate")


@pytest.mark.parametrize(("changes", "says"), [
    ({}, "rank 1 matters less: look at its host after that; then"),
    ({"late": [1, 2], "hosts": ["a", "b"]}, "ranks 1 and 2 matter less: look at their hosts after"),
    ({"late": [1, 2], "hosts": ["a", "a"], "host": True}, "the ranks on host a matter less: look"),
])  # fmt: skip
def test_a_late_rank_is_not_forgotten_where_moving_dominates(changes, says):
    following = answer_of(replace(COMMON, waiting=0.5, **changes)).next
    assert following.startswith("See whether another algorithm is faster; ")
    assert says in following


JOB = {"ranks": 2, "elapsed_s": 1.0, "waiting_s": 0, "moving_s": 0, "told": 0, "sampled_from": 0,
       "short_calls": 0, "nonblocking": 0, "persistent": 0, "neighbour": 0, "unmatched": 0,
       "calls": {"handled": 0, "fallback_intercommunicator": 0}, "skipped_s": None}  # fmt: skip


@pytest.mark.parametrize(("changes", "why"), [
    ({}, "it makes no collectives"),
    ({"nonblocking": 9}, "all its collectives are non-blocking, which are not timed"),
    ({"nonblocking": 9, "neighbour": 1}, "none of its collectives is of a kind that is timed"),
    ({"nonblocking": 9, "short_calls": 1}, "no call of it is known on all its ranks"),
    ({"calls": {"handled": 1, "fallback_intercommunicator": 0}}, "no call of it is known on all"),
])  # fmt: skip
def test_why_nobody_is_named_is_what_the_program_does(changes, why):
    assert answer_of(facts_of_job(JOB | changes)).who.startswith(f"Nobody is named: {why}")


def test_what_was_not_looked_at_has_one_vocabulary():
    """For a trace, which does not tell what the program has, and for a job, which does."""
    trace = replace(made_up(calls=20), format="latecomer 1")
    beside = "messages between two ranks, windows and files"
    assert facts(analyse(trace)).unseen == f"non-blocking collectives, {beside}"
    assert unseen(JOB | {"nonblocking": 3}) == f"3 non-blocking collectives, {beside}"
    assert unseen(JOB) == beside


def test_the_how_to_has_the_same_remedies():
    text = HOW_TO.read_text(encoding="utf-8")
    for remedy in REMEDIES.values():
        assert f"| {remedy.finding} | {remedy.means} | {remedy.do} |" in text


def test_a_place_is_all_sizes_and_communicators_of_it():
    """No size and no communicator has half of what the late rank costs."""
    words, groups = Words(), []
    for number, size in enumerate((1 << 20, 1 << 21, 1 << 22, 1 << 23)):
        arrival, leave = arrivals_and_exits(20, 4)
        groups.append(group_of(arrival + 10 * number, leave + 10 * number, words, size=size))
    said = answer(analyse(trace_of(groups, words)))
    assert said.where.startswith("Nearly all of its cost is in the allreduce of 1 MiB to 8 MiB at app+0x10, "
                                 "where it comes last in 100 % of 80 calls")  # fmt: skip


def test_a_single_call_that_makes_much_of_the_waiting_is_told():
    work = work_of(40, 4, late=[0], by=0.002)
    work[20, 2] += 3.0
    said = answer(analyse(loop_of(work)))
    assert re.search(r"A single call makes 9\d % of all waiting: number 20, entered 5\d\d ms after "
                     r"the start\.$", said.where)  # fmt: skip
    assert "single call" not in answer(analyse(loop_of(work_of(40, 4, late=[0])))).where
    assert "single call" not in answer(analyse(loop_of(work[18:25]))).where


# ---- a part of the trace


def first_late(by, calls=40):
    """Rank 0 is late in each call, rank 3 in the first one."""
    work = work_of(calls, 4, late=[0])
    work[0, 3] += by
    return loop_of(work)


@pytest.mark.parametrize(("by", "calls", "skipped"), [(3.0, 40, 1), (0.011, 40, 0), (3.0, 9, 0)])
def test_a_first_call_that_dominates_is_left_out(by, calls, skipped):
    found = cut.analysed(first_late(by, calls))
    assert found.skipped == skipped
    if skipped:
        assert found.skipped_waiting == pytest.approx(9.0, rel=0.1)
        assert answer(found).who == "Rank 0 on host node0 is late."
        assert found.run_seconds == pytest.approx(39 * 0.033, rel=0.1)


def test_calls_can_be_left_out_by_number_and_time():
    trace = first_late(3.0)
    assert sum(group.complete for group in cut.analysed(trace, skip=5).groups) == 35
    part = cut.analysed(trace, start=3.5, end=3.7)
    calls = part.groups[0].group
    assert 4 < len(calls) < 8
    assert calls.arrival.min() >= 3.5
    assert calls.arrival.min(axis=1).max() < 3.7
    assert part.run_seconds <= 0.25
    with pytest.raises(UserError, match=r"--skip: 40; the trace holds 40 calls"):
        cut.analysed(trace, skip=40)
    with pytest.raises(
        UserError, match=r"--from, --to: 100 to inf s; the calls .* within 4\.\d+ s"
    ):
        cut.analysed(trace, start=100.0)


def test_the_first_calls_are_those_of_all_communicators():
    words = Words()
    groups = [group_of(*arrivals_and_exits(10, 2), words, members=[0, 1]),
              group_of(*(times + 0.01 for times in arrivals_and_exits(10, 2)), words, members=[2, 3]),
              group_of(*(times + 5.0 for times in arrivals_and_exits(10, 4)), words)]  # fmt: skip
    left = cut.without_first(trace_of(groups, words), 4)
    assert [len(group) for group in left.groups] == [8, 8, 10]
    assert np.isfinite(left.begin).all()


# ---- forecasts


def in_turn(calls, ranks, step=1):
    return np.arange(calls) * step % ranks


@pytest.mark.parametrize(("last", "ago", "usable"), [
    (np.full(40, 3), 1, True),
    (in_turn(40, 4), 4, True),
    (in_turn(100, 64), 0, True),  # moves on; no rank has come twice
    (np.random.default_rng(1).integers(0, 8, 400), None, False),
])  # fmt: skip
def test_who_is_last_can_be_forecast(last, ago, usable):
    found = repeats(last.astype(np.int32), max(8, int(last.max()) + 1))
    assert found.usable is usable
    assert ago in (None, found.ago)


def test_few_calls_tell_no_forecast():
    assert repeats(np.zeros(7, np.int32), 4) is None


def test_forecasts_are_made_by_position_in_the_loop():
    """Two calls of one place and size in a step: rank 0 is late in one, rank 1 in the other."""
    work = work_of(60, 4)
    work[::2, 0] += 0.01
    work[1::2, 1] += 0.01
    (site,) = analyse(loop_of(work)).sites
    assert site.repeats.usable
    recorded = {site.collective: site for site in analyse(read(KINETO)).sites if site.calls == 20
                and site.group == 0}  # fmt: skip
    assert recorded["allreduce"].repeats.share > 0.9
    assert not recorded["allgather"].repeats.usable


def test_times_that_are_compared_have_one_unit():
    for elapsed, saved, says in (
        (1.454, 0.719, "0.735 s instead of 1.454 s"), (2.0, 1.0, "1 s instead of 2 s"),
        (0.04, 0.0399, "0.1 ms instead of 40 ms"), (1.5, 1.5, "0 s instead of 1.5 s"),
    ):  # fmt: skip
        said = shorter(replace(COMMON, elapsed=elapsed, saved=saved))
        assert said == f"the run would take {says}"


def test_the_tutorials_sample_is_what_a_run_says():
    page = (ROOT / "docs/tutorial.md").read_text()
    sample = page[page.index("latecomer: who:") :]
    sample = " ".join(sample[: sample.index("```")].split()).replace("latecomer: ", "\n").strip()
    told = Facts(
        ranks=4, run=5.27, waiting=2.42, moving=0.18, late=[1], hosts=["vm"], last_share=1.0,
        calls=20, cost=2.4, place="allreduce of 1 MiB at late+0x13d2", place_share=1.0,
        lateness=0.04, unseen="messages between two ranks, windows and files",
        run_command="mpirun -n 4 ./late 20",
    )  # fmt: skip
    said = "\n".join(" ".join(line.split()) for line in answer_of(told).lines())
    lines = [line.strip() for line in sample.replace("./latecomer", "latecomer").splitlines()]
    assert "\n".join(lines) == said
