"""Many algorithms on pictures and pages: a line each, the best named, none lost."""

import random
import re
from dataclasses import replace
from itertools import pairwise

import pytest
from latecomer.lab.views import html, plot, style, sweep_table
from latecomer.lab.views import lines as highlight
from latecomer.lab.views.lines import lines
from latecomer.lab.views.style import apart
from test_report import USED, row, text_of

MANY = [f"algorithm_{k}" for k in range(20)]
CHOSEN = {"openmpi-4.1": "as ring"}
ALWAYS = ["native", "openmpi-4.1", "ring", "auto"]


def crowd(times, names=(*MANY, *ALWAYS), ranks=4):
    """Rows of all names, by `times` (of name and delay), at two delays."""
    return [
        row(name, delay, time, ranks=ranks, after_last_ms=time, parameters=CHOSEN.get(name, ""))
        for delay in (0.0, 5.0)
        for name in names
        for time in [times(name, delay)]
    ]


def slower_by_place(name, delay):
    return 10.0 + delay + (MANY.index(name) if name in MANY else 50)


def names_in(svg):
    return re.findall(r">([\w.-]+)</text>", svg)


def page_of(rows):
    """The page, without the quotes of single words."""
    return re.sub(r'="([\w-]+)"', r"=\1", html.page(rows, USED))


def tables(page):
    """The algorithms at the heads of each table of a sweep's page."""
    heads = re.findall(r"<thead>(.*?)</thead>", page)
    cells = [re.findall(r"<th scope=col>(.*?)</th>", head.replace("<wbr>", "")) for head in heads]
    return [own[own.index("limit") + 1 :] for own in cells]


# ---- what is one line


def chooses():
    """`auto` takes another algorithm at each delay."""
    taken = {0.0: "as=ring", 5.0: "as=early_owners blocks=8"}
    autos = [row("auto", delay, parameters=words) for delay, words in taken.items()]
    return [*autos, row("ring", 0.0), row("ring", 5.0)]


def test_what_an_algorithm_takes_by_itself_does_not_split_its_line():
    rows = chooses()
    assert {name: len(own) for name, own in lines(rows).items()} == {"auto": 2, "ring": 2}
    svg = plot.inline_svg(rows)
    assert names_in(svg).count("auto") == 2  # panels
    assert "as=" not in svg
    page = html.page(rows, USED)
    assert "as=ring" in page
    assert "as=early_owners blocks=8" in page


def test_lines_of_one_algorithm_have_names_of_their_own():
    same = [row("tree", delay, k, parameters="s=1") for delay in (0.0, 5.0) for k in (1, 2)]
    assert list(lines(same)) == ["tree s=1 (1)", "tree s=1 (2)"]
    chosen = [replace(r, parameters=f"s={2 + k}") for k, r in enumerate(same[::2])]
    mixed = [same[1], chosen[0], same[3], chosen[1]]
    assert list(lines(mixed)) == ["tree s=1", "tree"]


def test_a_finding_names_the_line_not_only_the_algorithm():
    page = html.page([row("tree", 5.0, k, parameters=f"s={k}") for k in (9.0, 90.0)], USED)
    assert "<b>tree s=9.0</b> is fastest" in page


# ---- highlighted lines


def test_few_lines_are_all_highlighted():
    rows = crowd(slower_by_place, MANY[:9])
    assert highlight.highlighted(rows) == MANY[:9]
    assert highlight.others(rows) == []
    assert plot.note(rows) == ""


@pytest.mark.parametrize("seed", range(30))
def test_yardsticks_auto_and_who_is_fastest_are_highlighted(seed):
    source = random.Random(seed)
    rows = crowd(lambda *_: source.uniform(1, 2))
    named = highlight.highlighted(rows)
    fastest = [min(rows[i : i + 24], key=lambda r: r.elapsed_ms).algorithm for i in (0, 24)]
    assert {*ALWAYS, *fastest} <= set(named)
    assert len(named) == 9
    assert sorted([*named, *highlight.others(rows)]) == sorted([*MANY, *ALWAYS])


def test_merit_is_the_time_over_the_least():
    rows = crowd(lambda name, delay: {"a": 2 + delay, "b": 3, "c": 2.5}[name], ["a", "b", "c"])
    assert highlight.by_merit(rows) == ["c", "b", "a"]


def test_wrong_results_have_no_merit():
    rows = [row("wrong", elapsed_ms=1.0, wrong=3), row("slow", elapsed_ms=99.0)]
    assert highlight.by_merit(rows) == ["slow", "wrong"]


@pytest.mark.parametrize("ranks", [(4,), (4, 8)])
def test_a_picture_names_the_highlighted_and_lists_the_others(ranks):
    rows = [r for p in ranks for r in crowd(slower_by_place, ranks=p)]
    svg, note = plot.inline_svg(rows), plot.note(rows)
    assert set(highlight.highlighted(rows)) == {*ALWAYS, *MANY[:5]}
    for name in (*ALWAYS, *MANY):
        assert (name in names_in(svg)) == (name in (*ALWAYS, *MANY[:5]))
        assert bool(re.search(rf"\b{name}\b", note.partition("):")[2])) == (name in MANY[5:])
    assert note in html.page(rows, USED)
    grey = [n for n, look in style.line_looks(rows).items() if look is style.OTHER]
    assert grey == MANY[5:]


def test_a_saved_picture_lists_the_others_too(tmp_path):
    plot.save(crowd(slower_by_place), tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text()
    assert all(name in text for name in MANY)


def test_bars_name_everything():
    rows = crowd(slower_by_place)[:24]
    assert {*MANY, *ALWAYS} <= set(names_in(plot.inline_svg(rows)))
    assert plot.note(rows) == ""


# ---- labels


@pytest.mark.parametrize("seed", range(100))
def test_labels_keep_their_height_and_stay_inside(seed):
    source = random.Random(seed)
    places = sorted(source.choice([0, source.random(), 1]) for _ in range(source.randint(0, 10)))
    moved = apart(places, 0.1)
    assert all(b - a >= 0.1 - 1e-9 for a, b in pairwise(moved))
    assert all(-1e-9 <= place <= 1 + 1e-9 for place in moved)


def test_labels_move_only_where_they_must_and_to_both_sides():
    assert apart([0.1, 0.5, 0.5, 0.9], 0.1) == pytest.approx([0.1, 0.45, 0.55, 0.9])


# ---- tables


def test_a_page_has_the_best_first_and_wrong_results_last():
    rows = [row("slow", elapsed_ms=30), row("bad", elapsed_ms=1, wrong=1), row("ring")]
    page = page_of(rows)
    assert re.findall(r"<th scope=row>(\w+)", page) == ["ring", "slow", "bad"]
    assert '<tr class="best yardstick"><th scope=row>ring' in page


def test_a_sweeps_page_shows_the_highlighted_and_folds_the_others():
    rows = [r for p in (4, 8) for r in crowd(slower_by_place, ranks=p)]
    page = page_of(rows)
    assert "The other 15 algorithms" in page
    first, *folded = tables(page)
    assert first == highlight.highlighted(rows)
    assert [name for own in folded for name in own] == MANY[5:]
    assert max(map(len, folded)) <= 9
    assert page.index("<details>") > page.index(">ring</th>")


def test_few_algorithms_are_not_folded():
    rows = [r for p in (4, 8) for r in crowd(slower_by_place, MANY[:9], ranks=p)]
    page = page_of(rows)
    assert "<details>" not in page
    assert tables(page) == [MANY[:9]]


def test_equal_times_are_told_of_each():
    rows = [r for p in (4, 8) for r in crowd(lambda name, _: 9.0 if name == "c" else 3.0, "abc", p)]
    assert [list(line.fastest) for line in sweep_table.table_lines(rows)] == [["a", "b"]] * 4
    page = page_of(rows)
    assert "<b>a</b> is fastest in 4 of 4 cases (equal times count for each)" in page
    assert "<b>b</b> is fastest in 4 of 4 cases<" in page
    assert page.count("<td class=best") == 8
    assert "a, 1 equal" in text_of(sweep_table.rich_table(rows, 30), 80)


def test_the_fastest_is_named_on_a_narrow_screen():
    rows = [row("a_rather_long_algorithm", ranks=ranks) for ranks in (4, 8)]
    text = text_of(sweep_table.rich_table(rows, 40), 40)
    assert text.count("a_rather_long_algorithm") == 2
    assert "…" not in text


def test_wrong_results_are_not_the_fastest():
    rows = [row(n, ranks=p, after_last_ms=t, wrong=w) for p in (2, 4) for n, t, w in (("a", 1, 2), ("b", 3, 0))]  # fmt: skip
    assert [list(line.fastest) for line in sweep_table.table_lines(rows)] == [["b"], ["b"]]
    assert "equal" not in html.page(rows, USED).partition("<figure>")[0]


def test_those_who_are_fastest_less_often_are_told_in_one_line():
    winner = dict(
        zip([(p, d) for p in range(2, 9) for d in (0.0, 5.0)], "aabbccddeeffgg", strict=True)
    )
    rows = [r for p in range(2, 9) for r in crowd(lambda n, d, p=p: 1.0 if winner[p, d] == n else 2.0, "abcdefg", p)]  # fmt: skip
    assert "<li>less often: f in 2, g in 2</li>" in html.page(rows, USED)


def test_what_was_not_run_has_no_time():
    rows = [row("a", ranks=2), row("a", ranks=4), row("b", ranks=4)]
    line, _ = sweep_table.table_lines(rows)
    assert line.rows["b"] is None
    told = text_of(sweep_table.rich_table(rows, 200), 200).splitlines()
    assert [each.split() for each in told[2:4]] == [["2", "4.00", "8.00"],
                                                    ["4", "4.00", "8.00", "8.00"]]  # fmt: skip
    assert "<td class=best>8.00</td><td></td></tr>" in page_of(rows)


def test_nobody_is_fastest_where_nothing_was_timed():
    rows = [row("a", ranks=ranks, after_last_ms=None) for ranks in (2, 4)]
    assert [line.fastest for line in sweep_table.table_lines(rows)] == [{}, {}]
    told = text_of(sweep_table.rich_table(rows, 10), 40).splitlines()
    assert {"2", "4"} <= {each.strip() for each in told}
