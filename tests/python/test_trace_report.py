"""The report of a trace: figures against a slow reference, the page, the exports, the command."""

import csv
import gzip
import json
import re
from base64 import b64decode
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from latecomer import cli
from latecomer.report.analysis import sections
from latecomer.report.analysis.answer import answer, answer_of, facts
from latecomer.report.analysis.cut import analysed
from latecomer.report.analysis.facts import simulated
from latecomer.report.analysis.first_screen import bars
from latecomer.report.analysis.lateness import analyse
from latecomer.report.analysis.page import page
from latecomer.report.analysis.summary import summary
from latecomer.report.analysis.what_if import what_if
from latecomer.report.analysis.wording import group_name, saved
from latecomer.report.trace import Words, export, table_export
from latecomer.report.trace.about import About
from latecomer.verbs import report
from page_helpers import BROWSER, asked, check, data_of, dumped, needs_browser
from table_helpers import Played, polls
from test_table import overlaps
from trace_helpers import (
    HOSTILE,
    Files,
    arrivals_and_exits,
    group_of,
    large,
    made_up,
    trace_of,
)

# ---- figures


def slow(group, ranks):
    """Sums by rank, call by call: waiting, moving, last, first, held up, lateness of each call."""
    sums = {name: [0.0] * ranks for name in ("waiting", "moving", "last", "first", "held_up")}
    lateness = [[] for _ in range(ranks)]
    for arrival, leave in zip(group.arrival.tolist(), group.exit.tolist(), strict=True):
        if any(time != time for time in arrival + leave):
            continue
        last, middle = max(arrival), sorted(arrival)
        median = (middle[(len(middle) - 1) // 2] + middle[len(middle) // 2]) / 2
        for place, rank in enumerate(group.members):
            waits = max(min(last, leave[place]) - arrival[place], 0)
            sums["waiting"][rank] += waits
            sums["moving"][rank] += max(leave[place] - arrival[place] - waits, 0)
            others = [time for at, time in enumerate(arrival) if at != place]
            lateness[rank].append(arrival[place] - (others[0] if len(others) == 1 else median))
        latest = group.members[arrival.index(last)]
        sums["last"][latest] += 1
        sums["first"][group.members[arrival.index(min(arrival))]] += 1
        sums["held_up"][latest] += (last - middle[-2]) * (len(arrival) - 1)
    return sums, lateness


@pytest.mark.parametrize("seed", range(8))
def test_figures_are_those_of_a_slow_reference(monkeypatch, seed):
    monkeypatch.setattr("latecomer.report.trace.model._ELEMENTS", 16)  # many stretches
    rng = np.random.default_rng(seed)
    calls, ranks = int(rng.integers(3, 40)), int(rng.integers(2, 7))
    words = Words()
    arrival = rng.random((calls, ranks)) + np.arange(calls)[:, None]
    leave = arrival + rng.random((calls, ranks))  # some leave before the last one comes
    arrival[rng.random(calls) < 0.2, 0] = np.nan
    group = group_of(arrival, leave, words, members=rng.permutation(ranks))
    found = analyse(trace_of([group], words), bins=5, rank_bins=3)
    sums, lateness = slow(group, ranks)
    for name, column in sums.items():
        np.testing.assert_allclose(getattr(found.ranks, name), column, atol=1e-9)
    np.testing.assert_allclose(found.ranks.lateness, [np.mean(each or [0]) for each in lateness],
                               atol=1e-9)  # fmt: skip
    np.testing.assert_allclose(found.ranks.median, [np.median(each or [0]) for each in lateness],
                               atol=1e-6)  # fmt: skip
    assert found.incomplete == np.isnan(arrival).any(axis=1).sum()
    (of_group,) = found.groups
    assert of_group.series.heat.max() <= max(map(max, lateness)) + 1e-6
    assert of_group.series.worst.max() == pytest.approx(max(map(max, lateness)))
    assert sum(site.waiting for site in found.sites) == pytest.approx(sum(sums["waiting"]))


def test_shares_are_of_the_time_of_all_ranks():
    found = analyse(made_up())
    assert found.waiting_share == pytest.approx(0.75 * 2 / 3.25, rel=0.1)
    assert found.groups[0].repeated == 1


def test_lateness_that_repeats_correlates():
    words = Words()
    waves = np.sin(np.arange(400) / 20)[:, None] * np.array([[0.001, 0, 0, 0]])
    noise = np.random.default_rng(1).normal(0, 1e-4, (400, 4))
    arrival = np.arange(400)[:, None] + waves + noise
    found = analyse(trace_of([group_of(arrival, arrival + 0.1, words)], words))
    assert found.ranks.correlation[0] > 0.8
    assert np.abs(found.ranks.correlation[1:]).max() < 0.4


@pytest.mark.parametrize(("took", "error", "shown"), [
    (0.5, 0.0, "+50.0 %"), (1.25, 0.0, "-25.0 %"), (0.9, 0.02, "+10.0 % \N{PLUS-MINUS SIGN} 2.0"),
])  # fmt: skip
def test_what_is_saved_has_one_direction(took, error, shown):
    assert saved(took, 1.0, error) == shown


@pytest.mark.parametrize(("name", "shown"), [
    ("0", "group 0 (4 ranks)"), ("", "an unnamed communicator (4 ranks)"), ("rows", "rows (4 ranks)"),
])  # fmt: skip
def test_groups_are_named_for_people(name, shown):
    assert group_name(name, 4) == shown


# ---- the page


def page_of(found, answers=None, about=None, used=()):
    known = facts(found)
    return page(found, known, answer_of(known), about or About(), answers, dict(used))


@pytest.fixture(scope="module")
def hostile_page():
    words = Words()
    groups = [group_of(*arrivals_and_exits(50, 4), words, name=HOSTILE),
              group_of(*arrivals_and_exits(20, 3, late=0), words, members=[0, 2, 3], size=4096)]  # fmt: skip
    found = analyse(trace_of(groups, words, hosts=[f"<b>{HOSTILE}"] * 4))
    answers = what_if(found.trace, found.run_seconds, seconds=0.5)
    return page_of(
        found, answers, About(command=("mpirun", HOSTILE), mpi=HOSTILE), {"trace": HOSTILE}
    )


def test_names_of_programs_do_not_act(hostile_page):
    assert "alert(1)" in hostile_page
    assert "<script>alert" not in hostile_page
    assert "\x1b" not in hostile_page
    assert data_of(hostile_page)["groups"][0]["title"].startswith("</script><script>alert(1)")
    assert check(hostile_page).tags.count("script") == 2


@pytest.mark.parametrize("late", [1e-10, 1e-3, 4e6, 1e10])
def test_curves_have_an_axis_for_any_lateness(late):
    words = Words()
    arrival, leave = arrivals_and_exits(20, 3)
    arrival[:, 1], leave[:] = arrival[:, 0] + late, arrival[:, [0]] + late
    curves = sections.curves(analyse(trace_of([group_of(arrival, leave, words)], words)).groups[0])
    assert 1 <= len(curves["ticks"]) <= 7
    assert all(0 <= part <= 1 for _, line in curves["lines"] for part in line)


def test_the_page_loads_nothing(hostile_page):
    assert "; script-src 'sha256-" in check(hostile_page).policy
    assert "prefers-color-scheme: dark" in hostile_page
    for title in ("Arrivals", "Lateness over time", "Who is late", "Where", "One call", "What if",
                  "Definitions", "What was used"):  # fmt: skip
        assert f"<h2>{title}</h2>" in hostile_page


@needs_browser
def test_a_browser_shows_it(hostile_page, tmp_path):
    document = dumped(hostile_page, tmp_path)
    assert 'data-ready="1"' in document
    assert len(re.findall(r"<option", document)) > 20
    assert re.search(r'id="call-status"[^>]*>Call \d+ on .*Last: rank', document)
    assert re.search(r'id="heat-early">[\d.]+ \S+ early or more', document)
    assert re.search(r'id="heat-late">[\d.]+ \S+ late or more', document)


@needs_browser
def test_the_call_that_is_open_is_the_most_expensive_one(tmp_path):
    arrival, leave = arrivals_and_exits(50, 4, late=2)
    arrival[17:, 2] += 3.0
    arrival[18:] += 3.0
    leave[17:] += 3.0
    arrival[18:, 2] -= 3.0
    words = Words()
    found = analyse(trace_of([group_of(arrival, leave, words)], words))
    document = dumped(page_of(found), tmp_path)
    assert re.search(r'id="call-status"[^>]*>Call 17 on ', document)


def test_what_is_wider_than_a_phone_scrolls_below_a_shadow(hostile_page):
    """Tables in a box, and pictures: the shadows of the box are in all pages' style."""
    rule = re.search(r"\.wide, figure \{.*?\}", hostile_page, re.DOTALL)[0]
    assert "overflow-x: auto" in rule
    assert "background-attachment: local, local, scroll, scroll" in rule
    assert rule.count("var(--shade)") == 2


def test_paper_has_all_columns_and_what_is_selected(hostile_page):
    (rules,) = re.findall(r"^@media print \{ \* \{.*?\} \}$", hostile_page, re.DOTALL | re.M)
    assert re.search(r"\.wide, figure \{[^}]*overflow: visible", rules)
    assert re.search(r"th, td \{[^}]*white-space: normal", rules)
    assert "@media print { .printed { display: block;" in hostile_page


@needs_browser
def test_paper_names_the_step_and_the_communicator(hostile_page, tmp_path):
    acts = """
    change("step", "1"); change("group", "1");
    said.names = [["step-name", "step"], ["heat-name", "group"]].map(
        ([name, list]) => text(name) === at(list).selectedOptions[0].textContent);
    """
    assert asked(hostile_page, acts, tmp_path)["names"] == [True, True]


MAP = """
said.over = inside.documentElement.scrollWidth - inside.documentElement.clientWidth;
said.focusable = at("heat").tabIndex === 0;
mouse("heat", "pointermove", 0.99, 0.01);
said.pointed = text("heat-status");
mouse("heat", "click", 0.99, 0.01);
said.clicked = text("call-status");
said.opened = text("heat-status");
["Escape", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight", "Enter"].forEach((name) => key("heat", name));
said.keyed = text("heat-status");
said.call = text("call-status");
change("order", "late");
key("heat", "ArrowDown");
said.sorted = text("heat-status");
"""


def test_the_map_holds_small_lateness_beside_great_one():
    found = analyse(hiccup())
    (group,) = data_of(page_of(found))["groups"]
    roots = np.frombuffer(b64decode(group["heat"]["values"]), "<i2").astype(float)
    values = (roots * abs(roots) * group["heat"]["unit"]).reshape(4, 100)
    np.testing.assert_allclose(values, found.groups[0].series.heat, rtol=0.01, atol=1e-10)
    assert group["heat"]["scale"] < 0.003


def hiccup():
    """A rank is late by 15 us, and once by 50 ms."""
    words = Words()
    arrival = 0.1 * np.arange(100)[:, None] + np.array([0.0, 1.5e-5, 0.0, 0.0])
    arrival[0, 1] += 0.05
    return trace_of([group_of(arrival, arrival + 0.09, words)], words)


HICCUP = """
said.said = ["ArrowDown", "ArrowDown", "ArrowRight"].map((name) => { key("heat", name); return text("heat-status"); });
change("pick-rank", "1");
said.curve = at("curve-rank").getAttribute("d").split("L").map((point) => Number(point.split(",")[1]));
said.box = at("curve-rank").dataset.box.split(" ").map(Number);
"""


@needs_browser
def test_the_map_tells_the_lateness_that_its_colours_are_too_few_for(tmp_path):
    said = asked(page_of(analyse(hiccup())), HICCUP, tmp_path)
    told = [each.partition(" is ")[2] for each in said["said"]]
    assert told == ["0 s late", "50 ms late", "15 µs late"]
    _, _, top, height, most = said["box"]
    assert said["curve"][1] == pytest.approx(top + height * (1 - 1.5e-5 / most), abs=0.06)


SEVERAL = """
said.labels = [];
view.CanvasRenderingContext2D.prototype.fillText = (words) => said.labels.push(words);
said.picked = [0, 1, 1].map((down) => {
  key("heat", "ArrowDown");
  key("heat", "Enter");
  return at("pick-rank").value;
});
said.curve = text("curve-name");
"""


@needs_browser
def test_the_map_shows_the_communicator_of_the_selected_call(hostile_page, tmp_path):
    calls = data_of(hostile_page)["calls"]
    other = next(number for number, call in enumerate(calls) if call["group"] == 1)
    acts = f"""
    change("pick-call", "{other}");
    said.shown = [at("group").value, text("heat-name") === at("group").selectedOptions[0].textContent];
    change("group", "0");
    said.again = at("group").value;
    """
    said = asked(hostile_page, acts, tmp_path)
    assert said["shown"] == ["1", True]
    assert said["again"] == "0"


@needs_browser
def test_a_row_of_several_ranks_is_named_after_all_and_selects_the_one_that_counts(tmp_path):
    arrival, leave = arrivals_and_exits(50, 6, late=3)
    arrival[:, 5] += 0.1 * (arrival[:, 3] - arrival[:, 0])
    words = Words()
    found = analyse(trace_of([group_of(arrival, leave, words)], words), rank_bins=3)
    text = page_of(found)
    cost = data_of(text)["cost"]
    assert data_of(text)["late"] == [3]
    said = asked(text, SEVERAL, tmp_path)
    assert said["picked"] == [str(int(cost[1] > cost[0])), "3", str(4 + int(cost[5] > cost[4]))]
    assert {"0-1", "2-3", "4-5"} < set(said["labels"])
    assert said["curve"] == "lateness of the latest of ranks 4 to 5"


@needs_browser
def test_the_map_opens_calls_by_mouse_touch_and_keys_and_the_page_fits_a_phone(tmp_path):
    arrival, leave = arrivals_and_exits(50, 4, late=2)
    words = Words()
    long = "a_name_of_a_host_that_is_much_longer_than_a_phone_is_wide.example.org"
    group = group_of(arrival, leave, words, name=long)
    found = analyse(trace_of([group], words, hosts=[long, *"bcd"]))
    answers = what_if(found.trace, found.run_seconds, seconds=0.3)
    about = About(command=("mpirun", long * 2))
    said = asked(page_of(found, answers, about), MAP, tmp_path, 390, 844)
    assert said["over"] == 0
    assert said["focusable"]
    assert said["pointed"].startswith(f"call 49: rank 0 on {long} is ")
    assert said["clicked"].startswith("Call 49 on ")
    assert said["opened"].startswith("call 49: rank 0 ")
    assert ". Selected: Call 49 on " in said["opened"]
    assert said["keyed"].startswith("call 2: rank 1 on b is ")
    assert said["call"].startswith("Call 2 on ")
    assert "Last: rank 2 on c after" in said["call"]
    assert said["sorted"].startswith("call 0: rank 2 on c is ")


@pytest.mark.parametrize(("late", "labels"), [
    ([100, 101, 102, 103], ["ranks 100-103"]), ([3], ["rank 3"]),
    ([3, 8, 90, 118], ["ranks 3, 8", "rank 90", "rank 118"]),
])  # fmt: skip
def test_labels_of_neighbouring_bars_are_one(late, labels):
    arrival, leave = arrivals_and_exits(5, 120, late=1)
    words = Words()
    drawn = bars(analyse(trace_of([group_of(arrival, leave, words)], words)), late)
    assert [each["named"] for each in drawn["labels"]] == labels
    assert all(a["at"] + 0.08 <= b["at"] for a, b in pairwise(drawn["labels"]))


OF_ARRIVALS = ["last in", "first in", "mean lateness", "median", "correlation", "held up"]


def test_a_rank_in_no_collective_has_no_arrivals():
    def program(rank):
        for _ in range(10):
            yield ("compute", 20e-3 if rank == 1 else 5e-3)
            if rank < 3:
                yield ("allreduce", (0, 1, 2))

    trace = Played([program(rank) for rank in range(4)]).trace()
    head, rows, _ = sections.ranks(analyse(trace))
    assert head[3:-1] == OF_ARRIVALS
    cells = {row.heads[0]: row.cells for row in rows}
    assert cells["rank 3"][2:] == ["-"] * 6
    assert cells["rank 1"][2] == "100 %"


def test_a_trace_of_messages_alone_has_no_columns_of_arrivals():
    def program(rank):
        for _ in range(10):
            yield ("compute", 20e-3 if rank == 1 else 5e-3)
            yield ("send", 1 - rank) if rank else ("receive", 1 - rank)

    text = page_of(analyse(Played([program(0), program(1)]).trace()))
    assert 'scope="col">waited itself<' in text
    assert not [each for each in OF_ARRIVALS if f'scope="col">{each}<' in text]
    assert "thick if" in text  # arrows of messages
    assert "last arrival in a collective" not in text


def test_the_page_marks_who_costs_most_and_says_what_comes_next():
    found = analyse(made_up(calls=500))
    text = page_of(found)
    data = data_of(text)
    assert data["late"] == [1]
    assert re.search(r'<p class="legend">Latest: rank 1 in calls? [\d to]+, 4\d\.?\d* ms; ', text)
    shown = {call["call"] for call in data["calls"]}
    bounds = data["groups"][0]["calls"]
    assert all(shown & set(range(*each)) for each in pairwise(bounds))  # a call of each column
    assert '<div class="next"><h2>next</h2><p class="large">Look at its host' in text
    assert "<li>allreduce of 1&nbsp;MiB" not in text  # units are glued in the first sentences only
    assert (
        "<li>allreduce of 1 MiB at app+0x10, 100 % of the waiting: the rank that was last is so "
        in text
    )


def test_calls_keep_their_numbers_where_some_are_left_out():
    found = analysed(made_up(calls=30), skip=5)
    data = data_of(page_of(found))
    assert data["groups"][0]["numbers"] == list(range(5, 31))
    assert data["calls"][0]["call"] == 0
    assert data["calls"][0]["what"].startswith("Call 5 on MPI_COMM_WORLD (4 ranks), ")


def test_what_is_not_known_is_left_out():
    words = Words()
    group = group_of(*arrivals_and_exits(20, 4), words, name="0", algorithm="", served=-1)
    group.site[:] = words.place("")
    found = analyse(trace_of([group], words))
    text = page_of(found, what_if(found.trace, found.run_seconds, seconds=0.3))
    assert '<th scope="row">allreduce of 1 MiB on group 0 (4 ranks)</th>' in text
    assert '"what":"Call 3 on group 0 (4 ranks), allreduce of 1 MiB, ' in text
    assert '"by":""' in text
    assert "unknown place" not in text
    assert "unknown algorithm" not in text
    assert "COMMAND" not in page_of(found)


def test_the_what_if_is_sorted_and_folded():
    found = analyse(made_up(calls=30))
    answers = what_if(found.trace, found.run_seconds, seconds=0.5)
    text = page_of(found, answers, About(mpi="Open MPI 4.1.4"))
    section = text[text.index("<h2>What if</h2>") : text.index("<h2>Definitions</h2>")]
    first, rest = section.split("<details>")
    names = re.findall(r'<th scope="row">(.*?)</th>', first)
    assert names[0] == "this run, with Open MPI 4.1.4, measured"
    assert {"a network twice as fast", "perfect balance"} < set(names)
    assert sum(name.startswith("best algorithm: ") for name in names) == 1
    gains = [float(each) for each in re.findall(r"<td[^>]*>([+-][\d.]+) %", first)]
    assert len(gains) == 3
    assert gains == sorted(gains, reverse=True)
    more = [float(each) for each in re.findall(r"<td[^>]*>([+-][\d.]+) %", rest)]
    assert more == sorted(more, reverse=True)
    assert len(more) >= 5
    assert "saved: the part of the time" in first
    group = found.trace.groups[0]
    group.served[0] = 0
    assert "this run, with latecomer, measured" in page_of(
        found, what_if(found.trace, found.run_seconds, seconds=0.5), About(mpi="Open MPI 4.1.4")
    )


def test_the_page_says_why_an_answer_of_the_what_if_is_not_told():
    found = analyse(made_up(calls=30))
    right = what_if(found.trace, found.run_seconds, seconds=0.5)
    some = [replace(each, replayed=None, remark="needs more time: --budget 90")
            if each.scenario.name in ("perfect balance", "half the lateness") else each
            for each in right.answers]  # fmt: skip
    made = sections.what_if(replace(right, answers=some), found)
    for part, name in (("chief", "perfect balance"), ("rest", "half the lateness")):
        (row,) = [row for row in made[part] if row.heads[0] == name]
        assert [cell.text for cell in row.cells] == ["not told: needs more time: --budget 90"]
    assert made["classes"]
    named = replace(facts(found), saved=None)
    assert simulated(named, replace(right, answers=some)) == named  # what nobody asked is not told
    none = [replace(each, replayed=None, remark="no") for each in right.answers]
    assert sections.what_if(replace(right, answers=none), found)["classes"] is None


@pytest.mark.parametrize(
    ("error", "trusted"), [(0.09, True), (-0.09, True), (0.11, False), (-0.7, False)]
)
def test_nothing_is_sold_by_a_simulator_that_is_far_off(error, trusted):
    found = analyse(made_up(calls=30))
    right = what_if(found.trace, found.run_seconds, seconds=0.5)
    off = replace(right.repeated, seconds=right.measured * (1 + error))
    answers = replace(right, repeated=off)
    text, lines = page_of(found, answers), "\n".join(report._what_if_lines(answers, ""))
    section = text[text.index("<h2>What if</h2>") : text.index("<h2>Definitions</h2>")]
    for told in (section, lines):
        assert ("perfect balance" in told) is trusted
        assert ("more than 10 % off the other answers are not to be trusted" in told) is not trusted
    told = summary(found, facts(found), answer(found), answers)["what_if"]
    assert told["trusted"] is trusted
    assert "perfect balance" in [each["name"] for each in told["answers"]]


@pytest.mark.parametrize("ranks", [1000])
def test_a_large_trace_makes_a_small_page(tmp_path, ranks):
    found = analyse(large(tmp_path, 1500, ranks))
    text = page_of(found)
    assert len(text) < 2_000_000
    assert found.ranks.last.sum() == 1500
    if BROWSER:
        assert 'data-ready="1"' in dumped(text, tmp_path)


def test_a_page_of_many_ranks_holds_fewer_calls(monkeypatch):
    monkeypatch.setattr("latecomer.report.analysis.page._BYTES", 5 * 6 * 4)
    data = data_of(page_of(analyse(made_up(calls=500, ranks=4))))
    assert 5 <= len(data["calls"]) <= 3 * 5


# ---- exports


def test_csv_has_a_line_for_each_call_and_rank(tmp_path):
    trace = made_up(calls=5, ranks=3, name="=1+1")
    table_export.csv(trace, tmp_path / "a.csv")
    rows = list(csv.DictReader((tmp_path / "a.csv").open()))
    rows, runs = rows[:15], rows[15:]
    assert [row["operation"] for row in runs] == ["run"] * 3
    assert {row["group"] for row in rows} == {"'=1+1"}
    group = trace.groups[0]
    for row in rows:
        call, rank = int(row["sequence"]), int(row["rank"])
        assert float(row["arrive"]) == pytest.approx(group.arrival[call, rank], abs=1e-9)
        assert float(row["waiting_s"]) == pytest.approx(
            group.arrival[call].max() - group.arrival[call, rank], abs=2e-9
        )
        assert row["last_rank"] == "1"


@pytest.mark.parametrize(
    "name", ["a\x1b[2Jb", "a\x07b", "a\0b", "a\rb", "a\nb", "a\u202eb", "\t=1"]
)
def test_cells_have_no_control_characters(tmp_path, name):
    table_export.csv(made_up(calls=1, name=name), tmp_path / "a.csv")
    raw = (tmp_path / "a.csv").read_bytes().replace(b"\r\n", b"").decode()
    assert raw.isprintable()
    assert "\N{REPLACEMENT CHARACTER}" in raw


@pytest.mark.parametrize("start", ["=", "+", "-", "@"])
def test_cells_are_no_formulas(tmp_path, start):
    table_export.csv(made_up(calls=1, name=start + "cmd"), tmp_path / "a.csv")
    row = next(iter(csv.DictReader((tmp_path / "a.csv").open(newline=""))))
    assert row["group"] == f"'{start}cmd"


def test_perfetto_has_slices_on_tracks_of_their_own(tmp_path):
    words = Words()
    groups = [group_of(*arrivals_and_exits(4, 3), words, name=HOSTILE),
              group_of(*arrivals_and_exits(2, 2), words, name="pair")]  # fmt: skip
    export.perfetto(trace_of(groups, words), tmp_path / "a.json")
    events = json.loads((tmp_path / "a.json").read_text())["traceEvents"]
    slices = [each for each in events if each["ph"] == "X"]
    names = {each["name"] for each in slices}
    assert names == {"allreduce", "wait for late ranks", "transfer"}
    assert sum(each["name"] == "transfer" for each in slices) == 4 * 3 + 2 * 2
    titles = {each["args"]["name"] for each in events if each["name"] == "thread_name"}
    assert titles == {HOSTILE, "pair"}
    for pid, tid in {(each["pid"], each["tid"]) for each in slices}:
        own = sorted((each["ts"], -each["dur"]) for each in slices
                     if (each["pid"], each["tid"], each["name"]) == (pid, tid, "allreduce"))  # fmt: skip
        assert all(a[0] - a[1] <= b[0] + 0.01 for a, b in pairwise(own))


def test_perfetto_has_no_slice_of_a_rank_whose_time_is_not_known(tmp_path):
    trace = made_up(calls=4, ranks=3)
    trace.groups[0].exit[2, 1] = np.nan
    export.perfetto(trace, tmp_path / "a.json")
    events = json.loads((tmp_path / "a.json").read_text())["traceEvents"]
    named = Counter(each["pid"] for each in events if each["name"] == "allreduce")
    assert named == {0: 4, 1: 3, 2: 4}


def test_perfetto_has_what_may_overlap_beside_the_tracks(tmp_path):
    trace = replace(overlaps(tmp_path), others=polls(tmp_path).others)
    trace.overlapping[0].exit[3, 1] = np.nan  # that call of that rank is not drawn
    export.perfetto(trace, tmp_path / "a.json.gz")
    events = json.loads(gzip.decompress((tmp_path / "a.json.gz").read_bytes()))["traceEvents"]
    begun, ended = ({each["id"]: each for each in events if each["ph"] == ph} for ph in "be")
    assert begun.keys() == ended.keys()
    assert all(begun[number]["ts"] <= ended[number]["ts"] for number in begun)
    names = Counter(each["name"] for each in begun.values())
    assert names == {"iallreduce": 10 * 3 - 1, "send": len(trace.messages),
                     "receive": len(trace.messages), "other": len(trace.others)}  # fmt: skip
    first = next(each for each in begun.values() if each["name"] == "iallreduce")
    assert first["ts"] == pytest.approx(1e6 * trace.overlapping[0].arrival[0, 0], abs=1e-2)
    assert first["args"]["bytes"] == 1 << 20
    assert {each["args"]["peer"] for each in begun.values() if each["name"] == "send"} == {1, 2}


# ---- the command


@pytest.fixture
def folder(tmp_path):
    return Files(3, name=HOSTILE).write(tmp_path / "trace", *arrivals_and_exits(30, 3))


def test_the_command_writes_a_page_beside_the_trace(folder, capsys):
    assert cli.run(["report", str(folder), "--budget", "0.3"]) == 0
    told = capsys.readouterr()
    assert told.out.startswith("who:   Rank 1 on host node1 is late.\n")
    assert "perfect balance" in told.out
    assert told.err == f"latecomer: wrote {folder / 'report.html'}\n"
    assert "What if" in (folder / "report.html").read_text()


def test_the_command_gives_json(folder, capsys):
    assert cli.run(["report", str(folder), "--json", "--budget", "0.3"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["ranks"], told["calls"], told["last_rank"]) == (3, 30, 1)
    names = [each["name"] for each in told["what_if"]["answers"]]
    assert {"perfect balance", "half the lateness", "a network twice as fast"} < set(names)
    assert not (folder / "report.html").exists()


def test_the_command_exports_without_a_page(folder, tmp_path, capsys):
    words = ["report", str(folder), "--csv", tmp_path / "a.csv", "--perfetto", tmp_path / "a.json"]
    assert cli.run(list(map(str, words))) == 0
    assert capsys.readouterr().out == ""
    assert (tmp_path / "a.csv").exists()
    assert (tmp_path / "a.json").exists()
    assert not (folder / "report.html").exists()


@pytest.mark.parametrize(("factors", "said"), [
    ([125.0, 125.0], "125 times these"), ([125.0], "125 times these"),
    ([2.0, 0.5], "0.5 to 2 times these, by class of calls"),
])  # fmt: skip
def test_equal_numbers_are_one(factors, said):
    assert report._span(factors) == said


def test_costs_on_the_page_are_for_people(folder):
    assert cli.run(["report", str(folder), "--budget", "0.3"]) == 0
    text = (folder / "report.html").read_text()
    assert "alpha=" not in text
    assert re.search(r"<dd>alpha \d+ µs, beta [\d.]+ ns/B, .*\(built in\)</dd>", text)


@pytest.mark.parametrize(("name", "said"), [
    ("frob", "--native: 'frob'; give openmpi-4.1, mpich-5.0, auto,"),
    ("openmpi-4.2", "did you mean openmpi-4.1."),
    ("native", "--native: 'native'; give"),
    ("online_nodes", "--native: 'online_nodes'; give"),
    ("ring:frob=1", "parameter of ring: 'frob' is not usable"),
    ("", "--native: ''; give"),
])  # fmt: skip
def test_a_model_that_nobody_knows_is_refused(folder, capsys, name, said):
    assert cli.run(["report", str(folder), "--native", name]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(("words", "said"), [
    ("--csv a.csv --skip 0", "an export has all calls, and no answers without --html or --json; "
     "leave out --skip."),
    ("--perfetto a.json --from 1s", "leave out --from."),
    ("--csv a.csv --native ring", "leave out --native."),
])  # fmt: skip
def test_options_without_effect_are_refused(folder, capsys, words, said):
    assert cli.run(["report", str(folder), *words.split()]) == 2
    assert said in capsys.readouterr().err


def test_an_algorithm_may_stand_for_that_of_the_library(folder, capsys):
    taken = []
    for name in ("ring", "linear_tree:segments=1"):
        assert cli.run(["report", str(folder), "--json", "--budget", "0.3", "--native", name,
                        "--network", "alpha=1ms,beta=1us"]) == 0  # fmt: skip
        told = json.loads(capsys.readouterr().out)["what_if"]
        taken.append(told["simulated_s"])
    assert taken[0] != taken[1]


def test_the_what_if_can_be_left_out(folder, capsys):
    assert cli.run(["report", str(folder), "--budget", "0"]) == 0
    assert "What if" not in capsys.readouterr().out


def test_a_page_of_a_trace_in_which_ranks_never_meet_is_refused(tmp_path, capsys):
    folder = Files(1).write(tmp_path / "alone", *arrivals_and_exits(5, 1, late=None))
    assert cli.run(["report", str(folder), "--html", str(tmp_path / "page.html")]) == 1
    assert capsys.readouterr().err == (
        f"latecomer: error: nothing that a page could show: {folder} has no call of two or more "
        "ranks; leave out --html, or record a run of several ranks\n"
    )
    assert not (tmp_path / "page.html").exists()


def test_a_wrong_network_of_the_environment_ends_the_what_if_alone(folder, monkeypatch, capsys):
    monkeypatch.setenv("LATECOMER_NETWORK", "nowhere")
    assert cli.run(["report", str(folder), "--json"]) == 0
    told = capsys.readouterr()
    assert "latecomer: no what-if: " in told.err
    assert "nowhere" in told.err
    assert json.loads(told.out)["what_if"] is None
    assert cli.run(["report", str(folder), "--network", "nowhere"]) in (1, 2)
    told = capsys.readouterr()
    assert "nowhere" in told.err
    assert told.out == ""
