"""The sentences of the answer, a part of a trace, and forecasts."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from answer_helpers import JOB, loop_of, work_of
from latecomer.base import invocation
from latecomer.base.errors import UserError
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
from latecomer.report.analysis.call_sites import repeats
from latecomer.report.analysis.job import facts_of_job, unseen
from latecomer.report.analysis.lateness import analyse
from latecomer.report.analysis.reason import BLOCKED, Reason
from latecomer.report.analysis.remedies import REMEDIES
from latecomer.report.trace import Words, read
from latecomer.report.trace.model import Hang
from scenes_helpers import ROOT
from test_table import overlaps
from trace_helpers import arrivals_and_exits, group_of, made_up, trace_of

KINETO = Path(__file__).parent / "kineto"
HOW_TO = Path(__file__).parents[2] / "docs/howto/who-is-late.md"


# ---- the sentences


def test_the_recorded_job_is_ranked_by_cost_without_its_start():
    """Rank 3 began late; rank 1 has more to do before one of three collectives."""
    found = cut.analysed(read(KINETO))
    said = answer(found)
    assert said.who == "Rank 1 on host vm is late."
    assert re.match(r"It costs the others 1\.2\d+ s \(40\d ms each\), 6\d % of all waiting; 4\d % of "
                    r"the time", said.cost)  # fmt: skip
    assert said.where.startswith("Nearly all of its cost is in the computation after the bcast.")
    assert said.where.endswith("Without the first call, where ranks waited 563 ms more.")
    assert said.next.endswith(f"then: latecomer report {KINETO} --perfetto calls.json")
    with_it = answer(cut.analysed(read(KINETO), skip=0))
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
    assert more.cost.endswith("10 % moving data; not measured: messages.")
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
    ({"waiting": 0.5, "files": 0.5}, "moving", "Moving data dominates"),
    ({"waiting": 0.5, "files": 0.6}, "files", "Reading and writing files dominates"),
    ({"files": 1.0}, "rank", "Imbalance dominates"),
    ({"waiting": 0.1, "moving": 0.1}, "little", "Collectives take little"),
    ({"unknown": "why"}, "unclear", "Without arrivals"),
    ({"unknown": "why", "known": False, "folder": "a", "unclear": "lacking"}, "lacking", "Without arrivals"),
    ({"unknown": "why", "known": False, "folder": "a", "unclear": "odd"}, "odd", "Without arri"),
])  # fmt: skip
def test_the_remedy_and_the_verdict_follow_the_finding(changes, key, says):
    known = replace(COMMON, **changes)
    assert finding(known) == key
    assert verdict(known).startswith(says)
    assert answer_of(known).next.lower().startswith(REMEDIES[key].do)


def test_of_many_ranks_that_have_not_come_some_are_told():
    hang = Hang("", range(9), "call 7 of world, allreduce", "ranks 9 and 10 wait",
                [f"was last seen at {rank}" for rank in range(9)])  # fmt: skip
    where = answer_of(replace(COMMON, ranks=11, late=[*range(9)], hang=hang)).where
    *some, rest = where.split("; ")
    assert some[0] == "Rank 0 was last seen at 0"
    assert rest == f"{9 - len(some)} more have not come."
    assert 1 < len(some) < 9


@pytest.mark.parametrize(("changes", "told"), [
    ({"skipped_s": 0.3}, "Without the first call, where ranks waited 300 ms more."),
    ({"told": 2000, "sampled_from": 12_345, "hosts": ["a", "b"], "cost_s": [0.0, 0.0],
      "equal_calls": [0.0, 0.0], "waited_s": [0.0, 0.0], "places": [], "clock_error_s": 0.0},
     "By a sample: 2,000 of 12,345 calls."),
])  # fmt: skip
def test_a_summary_says_of_which_calls_it_is(changes, told):
    assert told in facts_of_job(JOB | changes).remarks
    assert told not in facts_of_job(JOB).remarks


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
    monkeypatch.setattr(invocation, "_called", "./late comer")
    assert "; then: './late comer' run --compare -- COMMAND" in answer_of(COMMON).next


def test_several_ranks_are_spoken_of_as_several():
    both = replace(COMMON, late=[0, 1], hosts=["a", "b"])
    assert answer_of(both).next.startswith("Look at their hosts: clock rate")
    assert "give them less work; then" in answer_of(both).next
    both = replace(both, hosts=["a", "a"])
    assert answer_of(both).next.startswith("Look at their host: clock rate")


@pytest.mark.parametrize(("changes", "says"), [
    ({}, "rank 1 matters less: after that look at its host; then"),
    ({"late": [1, 2], "hosts": ["a", "b"]}, "ranks 1 and 2 matter less: after that look at their hosts;"),
    ({"reason": Reason([(BLOCKED, 1.0)])}, "rank 1 matters less: after that find out what is"),
    ({"late": [1, 2], "hosts": ["a", "a"], "host": True}, "the ranks on host a matter less: after that look at their host;"),
])  # fmt: skip
def test_a_late_rank_is_not_forgotten_where_moving_dominates(changes, says):
    following = answer_of(replace(COMMON, waiting=0.5, **changes)).next
    assert following.startswith("See whether another algorithm is faster; ")
    assert says in following


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


def test_of_a_long_trace_the_first_call_is_looked_at_alone(monkeypatch):
    monkeypatch.setattr("latecomer.report.trace.model._ELEMENTS", 16)  # many stretches
    assert cut.analysed(first_late(3.0)).skipped == 1


def test_of_a_part_of_the_time_collectives_that_others_complete_are_those_in_it(tmp_path):
    trace = overlaps(tmp_path)
    entered = trace.overlapping[0].arrival.min(axis=1)
    part = cut.between(trace, float(entered[2]), float(entered[7]))
    assert part.overlapping[0].sequence.tolist() == [2, 3, 4, 5, 6]


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
        UserError, match=r"from 100 s on there is no call; the last one begins at 4\.\d+ s"
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
    if usable:
        assert found.words() == {
            0: "which rank is last moves on by as many ranks each time",
            1: "the rank that was last is so again in the next such call",
        }.get(ago, f"the rank that was last is so again {ago} such calls later")
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
        lateness=0.04, elsewhere=0.0, reason=Reason([(BLOCKED, 0.8)]),
        run_command="mpirun -n 4 ./late 20",
    )  # fmt: skip
    said = "\n".join(" ".join(line.split()) for line in answer_of(told).lines())
    lines = [line.strip() for line in sample.replace("./latecomer", "latecomer").splitlines()]
    assert "\n".join(lines) == said
