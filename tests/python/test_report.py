"""Tables, plots and pages: the right columns, nothing that could do harm, everything told."""

import csv
import io
import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from latecomer.lab.results.statistics import COLUMNS, Row
from latecomer.lab.views import curves, html, plot, scaling, style, table
from latecomer.lab.views.result import Result
from matplotlib.text import Text
from page_helpers import check
from rich.console import Console

SURFACE = (
    "collective,algorithm,parameters,ranks,bytes,op,arrival,delay_ms,estimate,iterations,"
    "elapsed_ms,elapsed_q1_ms,elapsed_q3_ms,run_ms,after_last_ms,absorption_ms,limit_ms,"
    "speedup_native,speedup_ring,wrong,network,mpi,seed"
)
HOSTILE = "</script><script>alert(1)</script>"
USED = {"version": "0.1.0", "mpi": "some 1.0", "hosts": ["a", "b"], "command": "latecomer bench"}


def row(algorithm: str, delay_ms: float | None = 5.0, elapsed_ms: float = 10.0, **more) -> Row:
    values = {
        "collective": "allreduce",
        "algorithm": algorithm,
        "parameters": "",
        "ranks": 4,
        "bytes": 1 << 20,
        "op": "sum",
        "arrival": "onelate",
        "delay_ms": delay_ms,
        "estimate": "perfect",
        "iterations": 32,
        "elapsed_ms": elapsed_ms,
        "elapsed_q1_ms": elapsed_ms - 1,
        "elapsed_q3_ms": elapsed_ms + 1,
        "run_ms": elapsed_ms + 3,
        "after_last_ms": elapsed_ms - 2,
        "absorption_ms": -0.5,
        "limit_ms": 4.0,
        "speedup_native": 1.25,
        "speedup_ring": None,
        "wrong": 0,
        "network": "lab 4x200mbit",
        "mpi": "some 1.0",
        "seed": 1,
    }
    return Row(**values | more)


NAMES = ("native", "ring", "one", "two", "three", "four", "five", "six")
SWEEP = [
    row(name, delay, 10.0 + k + delay)
    for delay in (0.0, 1.0, 100.0)
    for k, name in enumerate(NAMES)
]


def text_of(printed, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(printed)
    return console.file.getvalue()


def test_csv_has_the_columns_of_the_surface_in_order():
    assert ",".join(COLUMNS) == SURFACE
    first, *rest = table.csv_text(SWEEP).splitlines()
    assert first == SURFACE
    assert len(rest) == len(SWEEP)


def test_csv_cells_are_numbers_or_empty():
    cells = next(csv.DictReader(io.StringIO(table.csv_text([row("ring")]))))
    assert (cells["delay_ms"], cells["speedup_ring"], cells["absorption_ms"]) == ("5", "", "-0.5")


@pytest.mark.parametrize(("name", "cell"), [
    ("=1+1", "'=1+1"), ("+1", "'+1"), ("'=1", "''=1"), ("-1", "'-1"), ("@x", "'@x"), ("\t=1", "\ufffd=1"),
    ("a\x1b[2J", "a\ufffd[2J"),
])  # fmt: skip
def test_csv_cells_are_no_formulas_and_have_no_control_characters(name, cell):
    cells = next(csv.DictReader(io.StringIO(table.csv_text([row(name, network=name)]))))
    assert cells["algorithm"] == cells["network"] == cell


def test_json_has_rows_and_what_was_used():
    found = json.loads(table.json_text([row("ring")], USED))
    assert found["used"] == USED
    assert list(found["rows"][0]) == SURFACE.split(",")
    assert found["rows"][0]["speedup_ring"] is None


def test_osu_text_is_in_microseconds_with_a_verdict():
    lines = table.osu_text([row("ring"), row("bad", wrong=2)], USED).splitlines()
    assert lines[0] == "# latecomer allreduce Latency Test v0.1.0"
    assert lines[2].split()[:4] == ["#", "Size", "Avg", "Latency(us)"]
    assert lines[3].split() == ["1048576", "10000.00", "9000.00", "11000.00", "32", "Pass"]
    assert lines[7].split()[-1] == "Fail"


def test_the_table_has_a_block_for_each_delay():
    text = text_of(table.rich_tables(SWEEP), 120)
    assert "all arrive together" in text
    assert "onelate, delay 100 ms" in text
    assert text.count("quartiles") == 3


def test_a_narrow_table_keeps_every_number_whole():
    text = text_of(table.rich_tables(SWEEP, 80), 80)
    assert "quartiles" not in text
    assert "…" not in text


@pytest.mark.parametrize("width", [30, 40, 60, 80])
def test_the_narrower_the_fewer_numbers_and_the_names_stay_whole(width):
    names = ["ring", "sorted_linear_tree"]
    rows = [row(name, 5.0, speedup_native=1.5, speedup_ring=1.0) for name in names]
    text = text_of(table.rich_tables(rows, width), width)
    assert all(name in text for name in names)
    assert "10.0" in text
    assert "…" not in text
    assert ("after last" in text) is (width >= 60)


def test_wrong_results_are_seen_on_a_narrow_screen_too():
    rows = [row("sorted_linear_tree", wrong=2)]
    assert "wrong" in text_of(table.rich_tables(rows, 40), 40)
    assert "wrong" not in text_of(table.rich_tables([row("sorted_linear_tree")], 40), 40)


def test_the_best_row_has_right_results():
    right, wrong = row("slow", elapsed_ms=20), row("fast", elapsed_ms=5, wrong=1)
    assert table.best([wrong, right]) is right


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (0.0, "0.00"),
        (-1e-6, "0.00"),
        (0.0012, "0.0012"),
        (-0.0123, "-0.012"),
        (0.123, "0.12"),
        (5.0, "5.00"),
        (45.67, "45.7"),
        (12345.6, "12346"),
    ],
)
def test_numbers_have_about_three_digits(value, text):
    assert table.number(value) == text


@pytest.mark.parametrize("rows", [SWEEP[6:12], SWEEP[:8], [row("ring", None)]])
@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_plots_are_made_of_sweeps_and_of_single_delays(tmp_path, rows, suffix):
    path = tmp_path / f"plot.{suffix}"
    plot.save(rows, path)
    assert path.read_bytes().startswith(b"<?xml" if suffix == "svg" else b"\x89PNG")


@pytest.fixture(scope="module")
def svg() -> str:
    return plot.inline_svg(SWEEP)


@pytest.fixture(scope="module")
def page() -> str:
    return html.page(SWEEP, USED)


def test_plots_name_every_algorithm_beside_its_curve(svg):
    ElementTree.fromstring(svg)
    assert all(f">{name}</text>" in svg for name in NAMES)


def test_plots_do_without_clock_and_limit():
    blind = [replace(r, run_ms=None, after_last_ms=None, limit_ms=None) for r in SWEEP]
    assert "after the last arrival, ms" not in plot.inline_svg(blind)
    assert "limit" not in plot.inline_svg(blind[:8])


def test_the_same_rows_make_the_same_plot(svg, page):
    assert svg in page


def test_names_with_parameters_are_short_where_they_can_be():
    rows = [row("tree", parameters="s=1"), row("tree", parameters="s=2"), row("x", parameters="y")]
    svg = plot.inline_svg(rows)
    assert ">tree s=2<" in svg
    assert ">x<" in svg


def test_names_are_not_formulas_of_the_plot():
    assert ">a$b$c_d<" in plot.inline_svg([row("a$b$c_d")])


def test_a_hostile_name_is_only_text():
    hostile = [replace(r, algorithm=HOSTILE, parameters=HOSTILE, network=HOSTILE) for r in SWEEP]
    text = html.page(hostile, USED | {"command": HOSTILE, HOSTILE: HOSTILE})
    assert "script" not in check(text).tags


def test_a_page_loads_nothing_and_runs_nothing(page):
    found = check(page)
    assert found.policy == "default-src 'none'; style-src 'unsafe-inline'"
    assert "script" not in found.tags


def test_a_page_tells_what_was_used_and_what_the_columns_mean(page):
    assert "latecomer bench" in page
    assert "a, b" in page
    assert all(f"<dt>{name}</dt>" in page for name in ("elapsed", "after last", "limit"))


def test_a_page_says_who_wins_and_whom_it_does_not_clearly_beat():
    rows = [row("slow", elapsed_ms=30), row("fast"), row("near", elapsed_ms=11.5)]
    text = html.page(rows, USED)
    said = re.search(r"<li>onelate, delay 5 ms: (.*)</li>", text)[1]
    assert said == ("<b>fast</b> takes least, 10.0 ms, 1.25 times as fast as native; "
                    "not clearly slower: near")  # fmt: skip


def test_a_page_lists_no_rivals_where_all_algorithms_are_among_them():
    rows = [row("fast"), row("near", elapsed_ms=11.5), row("next", elapsed_ms=11)]
    text = html.page(rows, USED)
    assert "no clear difference between any of them; <b>fast</b> takes least, 10.0 ms" in text


def test_a_page_says_that_the_algorithms_are_told_who_is_late(page):
    assert "by perfect they are told, as no program is" in page


def over_delays(limit):
    return curves.figure([row("ring", delay, limit_ms=limit) for delay in (5.0, 10.0)]).axes[1]


def over_ranks(limit):
    return scaling.figure([row("ring", 5.0, ranks=ranks, limit_ms=limit) for ranks in (4, 8)]).axes[
        0
    ]


@pytest.mark.parametrize("limit", [0.0, 0.1, 7.9, 8.0])  # the line of ring ends at 8
@pytest.mark.parametrize("drawn", [over_delays, over_ranks])
def test_the_name_of_the_limit_covers_no_line_no_name_and_no_label(drawn, limit):
    with style.styled():
        axes = drawn(limit)
        axes.figure.canvas.draw()
    found = [text for text in axes.texts if text.get_text() == "no algorithm can be faster"]
    assert len(found) == (limit > 0 or drawn is over_delays)  # over ranks 0 is no limit
    for name in found:
        box = Text.get_window_extent(name)  # without its arrow
        assert box.x0 > axes.bbox.x1  # so no line is below it
        labels = [*axes.get_xticklabels(), *axes.texts]
        assert not any(Text.get_window_extent(each).overlaps(box) for each in labels
                       if each is not name)  # fmt: skip


def test_the_last_line_says_what_was_known_and_no_operator_where_there_is_none():
    setting = {"collective": "allgather", "bytes": 8, "type": "float32", "op": "none", "ranks": 4,
               "estimate": "perfect", "network": "a", "costs_from": "b", "seed": 1}  # fmt: skip
    said = Result([row("ring", op="none")], USED | setting).footer()
    assert said.startswith("allgather of 8 bytes, float32, 4 ranks, estimate perfect (algorithms "
                           "are told who will be late); version")  # fmt: skip
    assert "operator" not in html.page([row("ring", op="none")], USED)
    assert "float32 sum, 4 ranks" in Result([], USED | setting | {"op": "sum"}).footer()


def test_a_page_says_what_auto_chose_and_repeats_no_rival_that_is_as_fast():
    auto = row("auto", parameters="as=ring segments=4", speedup_ring=1.35, speedup_native=2.0)
    text = html.page([auto, row("ring", elapsed_ms=10.5), row("native", elapsed_ms=20)], USED)
    said = re.search(r"<li>onelate, delay 5 ms: (.*)</li>", text)[1]
    assert said == ("<b>auto</b>, which chose ring, takes least, 10.0 ms, 2.00 times as fast as "
                    "native; not clearly slower: ring")  # fmt: skip


@pytest.mark.parametrize("name", ["onelate", "randlate", "gamma", "gaussian"])
def test_a_page_says_what_the_pattern_of_arrivals_is(name):
    text = html.page([row("ring", arrival=name)], USED)
    assert re.search(rf"<p>{name}: (one|each) rank comes later .*the delay.*\.</p>", text)
    assert text.index(f"<p>{name}: ") < text.index("<ul")


@pytest.mark.parametrize("more", [{"delay_ms": 0.0}, {"arrival": "file:a.csv"},
                                  {"arrival": "balanced", "delay_ms": None}])  # fmt: skip
def test_a_page_says_nothing_of_a_pattern_that_it_does_not_have(more):
    assert "comes later" not in html.page([row("ring", **more)], USED)


def test_the_first_table_says_what_absorbed_means(page):
    assert len(re.findall(r"<caption>[^<]*absorbed: the time of the imbalance", page)) == 1


@pytest.mark.parametrize("complete", ["yes", "interrupted"])
def test_a_page_says_at_its_top_that_it_is_not_complete(complete):
    text = html.page([row("ring")], USED | {"complete": complete})
    top = text[: text.index('<ul class="findings">')]
    assert ("Not complete: interrupted." in top) is (complete != "yes")


def test_costs_on_a_page_are_for_people():
    costs = "alpha=5e-05s,beta=8e-09s,gamma=1e-10s"
    text = html.page([row("ring", network=costs)], USED | {"network": costs, "costs": costs})
    assert "alpha=" not in text
    assert text.count("alpha 50 µs, beta 8 ns/B, gamma 0.1 ns/B") == 3


def test_a_page_warns_of_wrong_results():
    assert "3 elements were wrong" in html.page([row("ring", wrong=3)], USED)


def test_a_row_with_wrong_results_is_no_rival_of_the_best_one():
    text = html.page([row("ring"), row("fast", elapsed_ms=9.9, wrong=3)], USED)
    assert "no clear difference" not in text
    assert "<b>ring</b> is fastest with 10.0 ms" in text


@pytest.mark.parametrize(("speedup", "shown"), [(1.25, True), (None, False)])
def test_a_column_that_would_be_empty_is_left_out(speedup, shown):
    rows = [row("ring", speedup_native=speedup), row("one", speedup_native=None)]
    screen = io.StringIO()
    Console(file=screen, width=150).print(table.rich_tables(rows))
    assert ("x native" in screen.getvalue()) is shown
    assert ('<th scope="col">x native</th>' in html.page(rows, USED)) is shown
    assert "x ring" in screen.getvalue()


def test_the_first_table_has_a_legend():
    from latecomer.lab.views.table import legend, rich_tables
    from rich.console import Console

    console = Console(width=80, record=True)
    console.print(rich_tables([row("ring", 0), row("ring", 5)], 80))
    text = console.export_text()
    said = "elapsed: mean of a rank in the call; limit: least after last; x: times as fast"
    assert text.count(said) == 1
    assert text.index("all arrive together") < text.index(said) < text.index("delay 5 ms")
    assert "absorbed: imbalance hidden" in legend(["absorbed"])
