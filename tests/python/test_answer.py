"""The answer in four sentences: who is named, by cost, and where; what comes next."""

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from answer_helpers import JOB, loop_of, work_of
from latecomer.core.compiled import core
from latecomer.report.analysis.answer import (
    answer,
    answer_of,
    facts,
    finding,
    verdict,
)
from latecomer.report.analysis.blame import late_ranks, waiters
from latecomer.report.analysis.cut import analysed
from latecomer.report.analysis.first_screen import bars
from latecomer.report.analysis.job import facts_of_job
from latecomer.report.analysis.lateness import analyse
from latecomer.report.analysis.steps import teams
from latecomer.report.trace import Words, read
from latecomer.report.trace.model import Messages, Side
from latecomer.report.trace.waits import waiting
from trace_helpers import arrivals_and_exits, group_of, made_up, trace_of

KINETO = Path(__file__).parent / "kineto"


# ---- the cost


def test_bars_have_labels_where_ranks_are_named():
    found = analyse(made_up(calls=12))
    for late, named in (([], []), ([1], ["rank 1"])):
        assert [each["named"] for each in bars(found, late)["labels"]] == named


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


def test_calls_of_other_shapes_are_refused():
    times, every = np.zeros((3, 2)), np.ones(3, bool)
    for arrival, leave, kinds in (
        (times, times[:2], every),
        (times, np.zeros((3, 1)), every),
        (times, times, every[:2]),
    ):
        with pytest.raises(ValueError, match="must have the same calls and ranks"):
            core.examine_calls(arrival, leave, kinds)


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
    monkeypatch.setattr(
        "latecomer.report.analysis.call_sites._CELLS", 8
    )  # so most places have no sums
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


def test_the_page_of_the_report_says_the_rule_of_the_code():
    """These four cost 28 % together, and each less than 20 %."""
    cost = np.array([7.0] * 4 + [2.0] * 36)
    assert late_ranks(cost) == ([0, 1, 2, 3], False)
    page = (Path(__file__).parents[2] / "docs/report.md").read_text()
    assert "that together cost the others at least 20 % of all waiting" in " ".join(page.split())


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


def test_very_many_teams_are_found():
    """Set by set this takes hours."""
    pairs = np.arange(40_000, dtype=np.int32).reshape(-1, 2)
    assert teams(pairs) == [2] * len(pairs)
    chain = np.stack([np.arange(39_999), np.arange(1, 40_000)], axis=1)
    assert teams(chain) == teams(chain[::-1]) == [40_000]


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
                 "hosts": ["a"] * ranks, "places": [place], "clock_error_s": 0.0,
                 "equal_calls": [0.0, 18.0, 0.0][:ranks]}  # fmt: skip
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


# ---- too little for a name, and the end of the job


@pytest.mark.parametrize(("cost", "named"), [(0.05, True), (0.01, False)])
def test_who_costs_less_than_a_hundredth_of_the_time_is_not_named(cost, named):
    """As where ranks wait in messages, and make one collective."""
    job = JOB | {"told": 20, "sampled_from": 20, "waiting_s": cost / 2, "cost_s": [0.0, cost],
                 "waited_s": [cost, 0.0], "hosts": ["a", "b"], "places": [],
                 "equal_calls": [0.0, 20.0], "clock_error_s": 0.0}  # fmt: skip
    assert facts_of_job(job).late == ([1] if named else [])
    work = np.ones((40, 3))
    work[:, 2] += cost
    found = facts(analyse(loop_of(work)))
    assert (found.late == [2]) is named


@pytest.mark.parametrize(("cost", "named"), [(0.03, False), (0.05, True)])
def test_who_costs_little_of_all_waiting_is_not_named(cost, named):
    """The rest is waiting for ranks that were in MPI."""
    job = JOB | {"ranks": 4, "told": 40, "sampled_from": 40, "waiting_s": 0.05, "hosts": ["a"] * 4,
                 "cost_s": [0.0, cost, 0.0, 0.0], "waited_s": [0.05, 0.05, 0.05, 0.05],
                 "equal_calls": [0.0, 30.0, 0.0, 0.0], "places": [], "clock_error_s": 0.0}  # fmt: skip
    assert facts_of_job(job).late == ([1] if named else [])


@pytest.mark.parametrize(("more", "told"), [(0.5, True), (0.001, False)])
def test_who_comes_last_to_the_end_is_told(more, told):
    job = JOB | {"ranks": 4, "elapsed_s": 1 + more / 4, "longest_s": 1 + more, "last_to_end": 3}
    said = f"Rank 3 came to MPI_Finalize {more * 1000:.0f} ms after the others, which wait there"
    assert (said in " ".join(facts_of_job(job).remarks)) is told
    trace = replace(loop_of(work_of(40, 4)), format="latecomer 1")
    end = np.full(4, np.nanmax(trace.groups[0].exit))
    end[3] += more
    assert (said in " ".join(facts(analyse(replace(trace, end=end))).remarks)) is told
    other = replace(trace, end=end, format="PyTorch profiler")
    assert "MPI_Finalize" not in " ".join(facts(analyse(other)).remarks)
    end[0] = np.nan
    assert "MPI_Finalize" not in " ".join(facts(analyse(replace(trace, end=end))).remarks)


@pytest.mark.parametrize(
    ("job", "says", "then"),
    [
        ({"elsewhere_s": 0.3}, "30 % of the time of all ranks is in 4 non-blocking collectives, "
         "messages between two ranks, windows and files.", "See for whom they wait there"),
        ({"elsewhere_s": 0.3, "unmatched": 2}, "not measured: 2 calls that not all ranks",
         "See for whom they wait there"),
        ({"elsewhere_s": 0.01}, "1.0 % of the time", "Use a profiler"),
        ({"elsewhere_s": None}, "not measured: 4 non-blocking collectives, messages", "profiler"),
        # Half of the waiting was for a rank that was in messages itself: nobody is charged.
        ({"told": 20, "sampled_from": 20, "elsewhere_s": 0.02, "waiting_s": 0.2,
          "cost_s": [0.1, 0.1], "equal_calls": [9.0, 9.0], "waited_s": [0.2, 0.2]},
         "20 % of the time of all ranks is waiting for late ones, 0 % moving data, 2.0 % in "
         "4 non-blocking", "See for whom they wait there"),
        ({"told": 20, "sampled_from": 20, "elsewhere_s": 0.02, "waiting_s": 0.2,
          "cost_s": [0.2, 0.2], "equal_calls": [9.0, 9.0], "waited_s": [0.2, 0.2]}, "2.0 % in 4 non-blocking", "fewer and"),
        ({"told": 20, "sampled_from": 20, "elsewhere_s": 0.9, "waiting_s": 0.05,
          "cost_s": [0.0, 0.1], "equal_calls": [0.0, 9.0], "waited_s": [0.1, 0.0]}, "90 % in 4 non-blocking", "Look at its"),
    ],
)  # fmt: skip
def test_time_in_other_calls_is_told_and_what_to_do(job, says, then):
    told = JOB | {"nonblocking": 4, "hosts": ["a", "b"], "places": [], "clock_error_s": 0.0} | job
    said = answer_of(facts_of_job(told))
    assert says in said.cost
    assert then in said.next
    handed_on = "50 % of the waiting is for ranks that were in MPI themselves"
    assert (handed_on in said.where) is (told["cost_s"] == [0.1, 0.1])


_NOTHING = Side(np.zeros(0, np.int32), *(np.zeros(0) for _ in range(3)), np.zeros(0, np.int32))
NO_MESSAGES = Messages(_NOTHING, _NOTHING, np.zeros(0, np.int64))


@pytest.mark.parametrize(("calls", "sure"), [(1, False), (3, False), (5, True), (20, True)])
def test_a_name_by_few_calls_may_be_chance(calls, sure):
    who = "is late." if sure else "came late, in so few calls that it may be chance."
    trace = loop_of(work_of(calls, 4, late=[2], by=0.1))
    for found in (analyse(trace), analysed(replace(trace, messages=NO_MESSAGES))):
        said = answer(found)
        assert said.who == f"Rank 2 on host node2 {who}"
        assert ("see whether it is late again" in said.next.lower()) is not sure
    job = JOB | {"ranks": 4, "told": 20, "sampled_from": 20, "waiting_s": 0.2, "places": [],
                 "cost_s": [0.0, 0.0, 0.8, 0.0], "waited_s": [0.2] * 4, "hosts": ["node2"] * 4,
                 "equal_calls": [0.0, 0.0, float(calls), 0.0], "clock_error_s": 0.0}  # fmt: skip
    assert answer_of(facts_of_job(job)).who == f"Rank 2 on host node2 {who}"


def test_noise_names_nobody_for_sure():
    """In 200 jobs of 1 to 16 calls whose ranks are alike."""
    rng, sure = np.random.default_rng(5), 0
    for number in range(200):
        work = 0.1 + rng.exponential(0.02, (1 << (number % 5), 4))
        found = facts(analyse(loop_of(work)))
        sure += bool(found.late and not found.few)
    assert sure <= 20, sure
