"""The time line of a step: against slow references, and what a browser does with it."""

import json
import random
import re
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from latecomer.base.units import seconds
from latecomer.report.analysis.answer import answer_of, facts, finding
from latecomer.report.analysis.cut import analysed
from latecomer.report.analysis.origin import origin
from latecomer.report.analysis.page import page
from latecomer.report.analysis.timeline import windows
from latecomer.report.trace import Words
from latecomer.report.trace.about import About
from latecomer.report.trace.model import OTHER_CALLS, Messages, Side
from page_helpers import asked, data_of, dumped, needs_browser
from test_unseen import HOW, played, ring, wave
from trace_helpers import group_of, made_up, trace_of

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "evidence"))

from culprits import halo, jobs, sweep
from played import Played


def job(seed, *, steps=6, ranks=5, late=2, uneven=0.002, collective="allreduce"):
    """Each step a rank computes, sends to the next rank, receives from the one before, computes, and
    all meet. Rank `late` computes longer.
    """
    rng = np.random.default_rng(seed)
    words = Words()
    clock = rng.random(ranks) * 0.01
    arrival, leave = np.empty((steps, ranks)), np.empty((steps, ranks))
    sides = (
        {name: [] for name in ("rank", "posted", "begin", "end")},
        {name: [] for name in ("rank", "posted", "begin", "end")},
    )
    begin = clock.copy()
    for step in range(steps):
        work = 0.01 + uneven * rng.random(ranks)
        if late is not None:
            work[late] += 0.02
        posted = clock + work
        for rank in range(ranks):
            before = (rank - 1) % ranks
            got = max(posted[rank], posted[before]) + 0.0005 + 1e-4 * rng.random()
            receive = (rank, posted[rank], posted[rank], got)
            send = (before, posted[before], posted[before], posted[before] + 1e-5)
            for side, values in zip(sides, (send, receive), strict=True):
                for name, value in zip(side, values, strict=True):
                    side[name].append(value)
            clock[rank] = got
        arrival[step] = clock + 0.003 * rng.random(ranks)
        clock = arrival[step].max() + 0.001 + 1e-4 * rng.random(ranks)
        leave[step] = clock
    site = words.place("app+0x20")
    send, receive = (
        Side(
            rank=np.array(side["rank"], np.int32),
            site=np.full(len(side["rank"]), site, np.int32),
            **{name: np.array(side[name]) for name in ("posted", "begin", "end")},
        )
        for side in sides
    )
    trace = trace_of([group_of(arrival, leave, words, collective=collective)], words)
    messages = Messages(send, receive, np.full(len(send.rank), 4096, np.int64))
    return replace(trace, messages=messages, begin=begin, end=clock)


def shown(trace, late=(2,)):
    names = []

    def place(site):
        if site not in names:
            names.append(site)
        return names.index(site)

    return windows(analysed(trace, skip=0), late, place)


def whole(part, unit):
    return pytest.approx(part, abs=2 * unit)


def sums(trace, steps):
    """Waiting, excess, and time in calls that are not known to wait, of each rank, in seconds."""
    found = np.zeros((3, trace.ranks))
    for step in steps:
        for row, begin, until, end, *_, unknown in step["bars"]:
            found[0, step["rows"][row]] += (until - begin) * step["unit"]
            found[2, step["rows"][row]] += unknown * (end - begin) * step["unit"]
        for row, begin, end in step["excess"]:
            found[1, step["rows"][row]] += (end - begin) * step["unit"]
    return found


def compare(monkeypatch, trace):
    """All steps together against the origin, whose figures are the core's, of the whole run."""
    monkeypatch.setattr("latecomer.report.analysis.timeline._MOST", 10**6)
    monkeypatch.setattr("latecomer.report.analysis.timeline._BARS", 10**6)
    steps, begun = shown(trace), origin(trace)
    found, graph = sums(trace, steps), begun.graph
    rounding = 1e-12 + sum(3 * len(step["bars"]) * step["unit"] for step in steps)
    np.testing.assert_allclose(found[0], begun.waiting, atol=rounding)
    in_vain = np.bincount(graph.step, graph.waited(), len(graph.beyond)) == 0  # they are not shown
    if not in_vain.any():
        np.testing.assert_allclose(found[2], begun.unknown, atol=rounding)
    assert len(steps) == (~in_vain).sum() or in_vain.all()
    excess = begun.excess if in_vain.all() else begun.excess - graph.beyond[in_vain].sum(axis=0)
    np.testing.assert_allclose(found[1], excess, atol=rounding)
    waited = [sums(trace, [step])[0].sum() for step in steps]
    assert all(one >= other - rounding for one, other in pairwise(waited))


@pytest.mark.parametrize("seed", range(6))
def test_all_steps_together_hold_the_waiting_and_the_excess_of_the_origin(monkeypatch, seed):
    compare(monkeypatch, job(seed))


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("program", [wave, ring])
def test_steps_are_the_origins_however_ranks_receive(monkeypatch, program, how):
    for slow in (None, *range(5)):
        compare(monkeypatch, played(program, 5, slow, how))


def test_steps_are_the_origins_whatever_the_cause(monkeypatch):
    seed = random.randrange(1 << 30)
    print("seed", seed)
    for each in jobs([seed]):
        print(each.kind, each.pattern, each.ranks)
        compare(monkeypatch, each.trace)


def test_a_victim_that_probes_is_not_hatched():
    for slow in range(5):
        for step in shown(played(wave, 5, slow, "probe"), (slow,)):
            assert {step["rows"][row] for row, *_ in step["excess"]} == {slow}
            assert "probes" in step["words"]


def waiting_by_step(trace):
    """Slowly: several messages of one call wait once, and sends wait, too. By the call's number."""
    (group,), found = trace.groups, np.zeros(len(trace.groups[0]) + 1)
    calls = {}
    for side, other in ((trace.messages.receive, trace.messages.send),
                        (trace.messages.send, trace.messages.receive)):  # fmt: skip
        for m in range(len(trace.messages)):
            key = int(side.rank[m]), float(side.begin[m])
            until, end = calls.get(key, (-np.inf, -np.inf))
            if side is trace.messages.receive or side.end[m] >= other.posted[m]:
                until = max(until, float(other.posted[m]))
            calls[key] = until, max(end, float(side.end[m]))
    for (rank, begin), (until, end) in calls.items():
        step = int((group.exit[:, rank] <= begin).sum())
        found[step] += max(0.0, min(until, end) - begin)
    for number, (arrival, leave) in enumerate(zip(group.arrival, group.exit, strict=True)):
        found[number] += np.clip(np.minimum(arrival.max(), leave) - arrival, 0, None).sum()
    return found


@pytest.mark.parametrize("rendezvous", [False, True])
def test_steps_are_in_the_order_of_their_waiting(rendezvous):
    seed = random.randrange(1 << 30)
    print("seed", seed)
    own = random.Random(seed)
    work = [[own.uniform(0, 2) for _ in range(24)] for _ in range(6)]
    trace = Played([halo(rank, 6, lambda rank, step: work[rank][step]) for rank in range(6)],
                   rendezvous=rendezvous).trace()  # fmt: skip
    right = waiting_by_step(trace)
    steps = shown(trace, ())
    numbers = [int(step["name"].split()[1].rstrip(":,").replace(",", "")) for step in steps]
    assert numbers[:3] == np.argsort(-right, kind="stable")[:3].tolist()
    for number, step in zip(numbers, steps, strict=True):
        waited = sums(trace, [step])[0].sum()
        assert waited == pytest.approx(right[number], abs=2 * len(step["bars"]) * step["unit"])
        assert f": {seconds(float(right[number]))} waited, " in step["name"]


@pytest.mark.parametrize("seed", range(4))
def test_arrows_are_the_messages_and_say_who_waited(seed):
    trace = job(seed)
    send, receive = trace.messages.send, trace.messages.receive
    for step in shown(trace):
        unit, start = step["unit"], None
        for sender, receiver, begin, end, waited, size in step["arrows"]:
            # The message is found by its ranks and its length: no two are alike.
            alike = [m for m in range(len(send.rank)) if send.rank[m] == step["rows"][sender]
                     and receive.rank[m] == step["rows"][receiver]
                     and receive.end[m] - send.posted[m] == whole((end - begin) * unit, unit)]  # fmt: skip
            assert alike
            offsets = {round((send.posted[m] - begin * unit) / unit / 4) for m in alike}
            start = (
                offsets if start is None else {o for o in start for p in offsets if abs(o - p) <= 1}
            )
            assert size == 4096
            assert waited in {int(send.posted[m] > receive.begin[m]) for m in alike}
        assert start, "all arrows of a step have one origin of time"
        drawn = len(step["arrows"]) + step["left"]
        assert drawn >= 5


def test_the_worst_step_comes_first_and_a_typical_one_is_there():
    trace = job(1, steps=9)
    group = trace.groups[0]
    group.arrival[4:, 0] += 0.5
    group.arrival[5:, 1:] += 0.5
    group.exit[4:] += 0.5
    messages = trace.messages
    for side in (messages.send, messages.receive):
        for name in ("posted", "begin", "end"):
            getattr(side, name)[5 * 5 :] += 0.5
    steps = shown(replace(trace, end=trace.end + 0.5))
    assert steps[0]["name"].startswith("step 4: ")
    assert sum(", a typical one" in step["name"] for step in steps) == 1
    assert 2 <= len(steps) <= 4


def test_where_ranks_never_all_meet_each_rank_is_in_a_part_at_a_time_of_its_own():
    """A pipeline: a part is an equal share of each rank's calls."""
    pipeline = Played([sweep(rank, 5, lambda rank, _: 0.02 if rank == 1 else 0.01)
                       for rank in range(5)]).trace()  # fmt: skip
    for step in shown(pipeline, (1,)):
        assert step["name"].startswith("a part of the run")
        begins = [begin for begin, _ in step["spans"]]
        if "a typical one" in step["name"]:
            assert begins[1:] == sorted(begins[1:])
        for row, begin, _, end, *_ in step["bars"]:
            assert step["spans"][row][0] <= begin <= end <= step["spans"][row][1]
        for row, begin, end in step["excess"]:
            assert step["spans"][row][0] <= begin < end <= step["spans"][row][1]


def test_what_is_not_known_to_wait_is_told_apart():
    for step in shown(played(wave, 5, 1, "hidden"), ()):
        assert step["unknown"]
        assert OTHER_CALLS[1] in step["words"]
        assert {row for row, *_, unknown in step["bars"] if unknown} == set(range(5))
    assert not any(step["unknown"] for step in shown(played(wave, 5, 1, "probe")))


def test_collectives_that_other_calls_complete_have_bars():
    trace = made_up(calls=6)
    arrival, leave = trace.groups[0].times()
    late = group_of(arrival - 0.01, leave, trace.words, name="own", collective="bcast")
    late = replace(late, completed=arrival - 0.005, arrival=arrival - 0.01, exit=arrival - 0.001)
    for step in shown(replace(trace, overlapping=[late]), ()):
        (number,) = [at for at, each in enumerate(step["meetings"]) if "on own" in each["what"]]
        assert step["meetings"][number]["group"] == -1
        assert sum(bar[6] == number for bar in step["bars"]) == 4


def test_of_a_large_trace_the_sample_is_shown(monkeypatch):
    monkeypatch.setattr("latecomer.report.analysis.sample.MOST", 1000)
    monkeypatch.setattr("latecomer.report.analysis.sample.SOME", 400)
    trace = made_up(calls=2000)
    found = analysed(trace, skip=0)
    steps = windows(found, (1,), lambda _: 0)
    assert found.graph.times > 1
    for step in steps:
        assert step["name"].endswith(" of the sample")
        for each in step["meetings"]:  # a call's number in the program is as in the whole trace
            number = int(each["what"].rpartition(" ")[2].replace(",", ""))
            assert trace.groups[each["group"]].sequence[each["call"]] == number
            assert step["name"].startswith(f"step {number:,}")
    assert max(each["call"] for step in steps for each in step["meetings"]) > 100


def test_what_does_not_fit_is_left_out_and_counted(monkeypatch):
    monkeypatch.setattr("latecomer.report.analysis.timeline._ROWS", 4)
    trace = job(2, ranks=9)
    whole = {step["name"].partition(":")[0]: len(step["bars"]) for step in shown(trace)}
    monkeypatch.setattr("latecomer.report.analysis.timeline._ARROWS", 3)
    monkeypatch.setattr("latecomer.report.analysis.timeline._BARS", 6)
    for step in shown(trace):
        assert 2 in step["rows"]
        assert len(step["rows"]) == 4
        assert len(step["bars"]) <= 6
        assert len(step["arrows"]) <= 3
        assert all(0 <= row < 4 for row, *_ in step["bars"])
        assert step["cut"] == whole.pop(step["name"].partition(":")[0]) - 6
    assert not whole
    everything = shown(replace(trace, messages=None))
    assert all(step["arrows"] == [] for step in everything)


def test_where_nobody_is_late_uneven_work_has_a_place():
    """Of a job with messages the place is that after which ranks compute."""
    known = facts(analysed(job(1, steps=300, late=None, uneven=0.04), skip=0))
    assert finding(known) == "place"
    assert known.place == "computation after the allreduce at app+0x10"
    assert known.place_share > 0.5


# ---- in a browser


@pytest.fixture(scope="module")
def report():
    found = analysed(job(1), skip=0)
    known = facts(found)
    return page(found, known, answer_of(known), About(), None, {})


FIRST = """
const box = (id) => inside.querySelector(id).getBoundingClientRect();
said.sizes = [[1280, 800], [390, 844], [1920, 1080]].map(([width, height]) => {
  frame.style.width = `${width}px`; frame.style.height = `${height}px`;
  const bottom = Math.max(box(".who").bottom, box(".three").bottom, box("#bars").bottom);
  const over = inside.documentElement.scrollWidth - inside.documentElement.clientWidth;
  return { width: view.innerWidth, room: height - bottom, over, large: parseFloat(view.getComputedStyle(inside.querySelector(".who")).fontSize) };
});
"""
LONG = "node-with-a-long-name-017.cluster.example.org"
ANSWERS = {
    "one rank": {},
    "four ranks of four hosts": {"late": [3, 7, 11, 19], "hosts": [LONG + str(i) for i in range(4)]},
    "a host": {"late": list(range(16)), "hosts": [LONG] * 16, "host": True},
    "nobody": {"late": [], "hosts": []},
    "a place": {"late": [], "hosts": [], "one_place": True, "place_share": 0.68,
                "place": "computation after the allreduce of 512 KiB at "
                         "solver::exchange_halos_of_all_levels (multigrid_solver.cpp:1217)"},
    "the network": {"moving": 100.0, "run": 110.0},
    "unknown": {"late": [], "hosts": [], "unknown": "the clocks are not good enough to tell who is "
                "late: they are off by up to 12.3 ms, the lateness is 3.4 ms"},
    "files": {"known": False, "unclear": "lacking", "late": [], "hosts": [], "place": "", "folder": "traces",
              "unknown": "the files of 17 ranks, such as 3, are missing, 1,234 of 2,345 calls cannot be used"},
}  # fmt: skip


@needs_browser
@pytest.mark.parametrize("kind", ANSWERS)
def test_the_first_screen_has_the_whole_answer(tmp_path, kind):
    found = analysed(job(1, ranks=20), skip=0)
    command = f"mpirun -n 1000 --map-by ppr:16:node /home/user/{'long/' * 8}solver input.toml"
    known = replace(facts(found, run_command=command), **ANSWERS[kind])
    text = page(found, known, answer_of(known), About(command=("mpirun", "solver")), None, {})
    said = asked(text, FIRST, tmp_path)["sizes"]
    assert [each["width"] for each in said] == [1280, 390, 1920]
    for each in said:
        assert each["room"] >= 0, said
        assert each["over"] == 0, said
        assert each["large"] >= 20


KEYS = """
const wide = () => JSON.parse(inside.documentElement.dataset.view);
said.steps = at("step").options.length;
said.whole = wide();
key("steps", "+"); said.zoomed = wide();
key("steps", "ArrowRight"); said.moved = wide();
key("steps", "-"); key("steps", "-"); key("steps", "-"); said.out = wide();
key("steps", "ArrowRight", { shiftKey: true }); said.first = text("step-status");
key("steps", "ArrowDown"); said.down = text("step-status");
key("steps", "ArrowRight", { shiftKey: true }); said.next = text("step-status");
key("steps", "w"); said.cause = text("step-status");
key("steps", "0");
mouse("steps", "wheel", 0.5, 0.5, { deltaY: -100 }); said.scrolls = wide();
mouse("steps", "wheel", 0.5, 0.5, { deltaY: -100, ctrlKey: true }); said.wheel = wide();
key("steps", "0");
for (const [kind, one, two] of [["pointerdown", 0.4, 0.6], ["pointermove", 0.2, 0.8], ["pointerup", 0.2, 0.8]]) {
  mouse("steps", kind, one, 0.5, { pointerId: 1 }); mouse("steps", kind, two, 0.5, { pointerId: 2 });
}
said.pinched = wide();
mouse("steps", "pointerdown", 0.5, 0.5, { pointerId: 3 });
mouse("steps", "pointermove", 0.4, 0.5, { pointerId: 3 });
mouse("steps", "pointerup", 0.4, 0.5, { pointerId: 3 });
said.dragged = wide();
"""


@needs_browser
def test_the_time_line_zooms_moves_and_tells_its_bars_by_keys_wheel_and_fingers(report, tmp_path):
    said = asked(report, KEYS, tmp_path)
    begin, end = said["whole"]

    def width(name):
        return said[name][1] - said[name][0]

    assert said["steps"] >= 3
    assert width("zoomed") < end - begin
    assert said["moved"][0] > said["zoomed"][0]
    assert width("moved") == pytest.approx(width("zoomed"))
    assert said["out"] == said["whole"]
    assert said["first"].startswith("rank 2 on node2, ")
    assert said["down"].startswith("rank 3 on node3, ")
    assert said["next"].startswith("rank 3 on node3, ")
    assert said["next"] != said["down"]
    assert said["scrolls"] == said["whole"]  # without Ctrl the page scrolls
    assert width("wheel") < end - begin
    assert width("pinched") < 0.5 * (end - begin)
    assert said["dragged"][0] > said["pinched"][0]
    assert width("dragged") == pytest.approx(width("pinched"))


@needs_browser
def test_a_step_whose_beginning_is_cut_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("latecomer.report.analysis.timeline._BARS", 6)
    found = analysed(job(1), skip=0)
    known = facts(found)
    text = page(found, known, answer_of(known), About(), None, {})
    assert re.search(
        r'id="step-status"[^>]*>All ranks; it begins before: \d+ bars are not drawn\.',
        dumped(text, tmp_path),
    )


CAUSE = """
const bars = data.steps[0].bars, waits = bars.find((bar) => bar[1] >= 0 && bar[2] - bar[1] > 200000 && bar[4] >= 0);
const row = waits[0], rank = data.steps[0].rows[row], heights = data.steps[0].rows.length;
const along = ((waits[1] + waits[2]) / 2 - data.steps[0].view[0]) / (data.steps[0].view[1] - data.steps[0].view[0]);
const y = (22 + 20 * row + 4) / at("steps").getBoundingClientRect().height;
mouse("steps", "pointermove", along, y); said.pointed = text("step-status");
mouse("steps", "pointerdown", along, y, { pointerId: 1 }); mouse("steps", "pointerup", along, y, { pointerId: 1 });
said.rank = at("pick-rank").value; said.picked = text("picked-status");
said.expected = String(rank); said.waitsFor = waits[4];
at("bar-cause").click(); said.cause = text("step-status");
said.rows = [...inside.querySelectorAll("tr.mine")].map((row) => row.dataset.rank ?? `place ${row.dataset.place}`);
said.bars = [...inside.querySelectorAll("#bars g.mine")].map((each) => each.dataset.rank);
said.curve = at("curve-rank").getAttribute("d").length;
at("pick-none").click();
said.none = inside.querySelectorAll(".mine[data-rank], .mine[data-place]").length;
inside.querySelector("tr[data-rank='3'] button").click();
said.button = at("pick-rank").value;
said.pressed = inside.querySelector("tr[data-rank='3'] button").getAttribute("aria-pressed");
change("pick-call", "2"); said.call = text("call-status"); said.opened = at("step").selectedOptions[0].textContent;
"""


@needs_browser
def test_what_is_chosen_in_one_part_is_marked_in_all(report, tmp_path):
    data = json.dumps({"steps": data_of(report)["steps"]}).replace("</", "<\\/")
    said = asked(report, f"const data = {data};{CAUSE}", tmp_path)
    assert f" for rank {said['waitsFor']}, then " in said["pointed"]
    assert said["rank"] == said["expected"]
    assert said["picked"].startswith(
        f"rank {said['expected']} on node{said['expected']} costs the others"
    )
    assert said["cause"].startswith(f"rank {said['waitsFor']} on ")
    assert said["expected"] in said["rows"]
    assert said["bars"] == [said["expected"]]
    assert said["curve"] > 20
    assert said["none"] == 0
    assert (said["button"], said["pressed"]) == ("3", "true")
    assert said["call"].startswith("Call 2 on ")
    assert said["opened"].startswith("step 2") or "step 2" not in str(data_of(report)["steps"])


UNKNOWN = """
const at_bar = data.steps[0].bars.find((bar) => bar[8] && bar[3] - bar[1] > 100000);
const row = at_bar[0], y = (22 + 20 * row + 10) / at("steps").getBoundingClientRect().height;
const [from, to] = data.steps[0].view, along = (time) => (time - from) / (to - from);
mouse("steps", "pointermove", along((at_bar[1] + at_bar[3]) / 2), y); said.bar = text("step-status");
mouse("steps", "pointermove", along(-20000), y); said.before = text("step-status");
said.legend = inside.querySelectorAll(".legend i.unknown").length;
"""


@needs_browser
def test_a_bar_that_is_not_known_to_wait_says_so(tmp_path):
    found = analysed(played(wave, 5, 1, "hidden"))
    known = facts(found)
    text = page(found, known, answer_of(known), About(), None, {})
    data = json.dumps({"steps": data_of(text)["steps"]}).replace("</", "<\\/")
    said = asked(text, f"const data = {data};{UNKNOWN}", tmp_path)
    assert ", windows: is in MPI for " in said["bar"]
    assert said["bar"].endswith("the trace does not tell if it waits there, and for whom")
    assert said["before"].endswith(" is not in this step then")
    assert said["legend"] == 1


@needs_browser
def test_the_address_keeps_the_selection(report, tmp_path):
    document = dumped(report, tmp_path, "#rank=3&place=0&call=1&else=x")
    assert "rank 3 on node3 costs the others" in document
    assert 'aria-pressed="true"' in document
    wrong = dumped(report, tmp_path, "#rank=99&place=-1&call=1.5")
    assert 'aria-pressed="true"' not in wrong
    assert 'aria-pressed="true"' not in dumped(report, tmp_path, "#rank=&place=+")


def page_of_gaps():
    """Rank 1 has no calls, rank 0 computes between its calls, and rank 2 is late."""

    def program(rank):
        for _ in range(6):
            for group in ((0, 2), (0, 2, 3)):
                yield ("compute", 20e-3 if rank == 2 else 5e-3)
                if rank in group:
                    yield ("allreduce", group)

    found = analysed(Played([program(rank) for rank in range(4)]).trace(), skip=0)
    known = facts(found)
    return page(found, known, answer_of(known), About(), None, {})


GAPS = """
const { bars, rows, view: [from, to] } = data.steps[0], row = rows.indexOf(0), own = bars.filter((bar) => bar[0] === row);
const focusing = () => mouse("steps", "pointermove", ((own[0][3] + own[1][1]) / 2 - from) / (to - from), (22 + 20 * row + 4) / at("steps").getBoundingClientRect().height);
const shift = (name) => { focusing(); key("steps", name, { shiftKey: true }); return text("step-status"); };
focusing(); said.gap = text("step-status");
said.after = shift("ArrowRight"); key("steps", "ArrowLeft", { shiftKey: true }); said.before = text("step-status");
said.before_gap = shift("ArrowLeft");
said.next = (key("steps", "ArrowRight", { shiftKey: true }), text("step-status"));
said.rows = rows;
key("steps", "Escape"); change("pick-rank", "0");
said.down = (key("steps", "ArrowDown"), text("step-status"));
said.up = (key("steps", "ArrowUp"), text("step-status"));
"""


@needs_browser
def test_keys_go_on_from_a_computation_and_past_a_row_without_bars(tmp_path):
    text = page_of_gaps()
    data = json.dumps({"steps": data_of(text)["steps"]}).replace("</", "<\\/")
    said = asked(text, f"const data = {data};{GAPS}", tmp_path)
    assert said["rows"] == [0, 1, 2, 3]
    assert said["gap"].startswith("rank 0 on ")
    assert ", allreduce" in said["after"]
    assert said["after"].startswith("rank 0 on ")
    assert said["before"] == said["before_gap"]
    assert said["next"] == said["after"]
    assert said["after"] not in (said["before"], said["gap"])
    assert said["down"].startswith("rank 2 on ")
    assert said["up"].startswith("rank 0 on ")
