"""The builder of HTML pages: whatever names say, they are text, in elements and in data."""

import random

import pytest
from jinja2 import UndefinedError
from latecomer.base import pages
from latecomer.base.printable import plain
from latecomer.lab.views import html
from latecomer.report.analysis.answer import answer_of, facts
from latecomer.report.analysis.lateness import analyse
from latecomer.report.analysis.page import page
from latecomer.report.trace import Words
from latecomer.report.trace.about import About
from page_helpers import Found, check, data_of
from test_report import row
from trace_helpers import arrivals_and_exits, group_of, trace_of

NASTY = "<>&\"'/\\`={}%#$-!;()[]ab \x00\x1b\x7f\u2028\u202e\ufeff\ud800\N{GRINNING FACE}"
STARTS = (
    "",
    "</script>",
    "<!--",
    "<script>",
    "{{ 7 * 7 }}",
    "{% raw %}",
    "-->",
    "&lt;",
    "]]>",
    "' onclick='",
)


def nasty(random_of):
    middle = "".join(random_of.choice(NASTY) for _ in range(random_of.randint(1, 20)))
    return f"{random_of.choice(STARTS)}{middle}{random_of.choice(STARTS)}"


def report_of(name):
    """The page of a trace whose names are made by this function."""
    words = Words()
    group = group_of(*arrivals_and_exits(20, 4), words, name=name())
    group.site[:] = words.place(name())
    group.collective[:] = words.place("allreduce")
    group.algorithm[:] = words.place(name())
    found = analyse(trace_of([group], words, hosts=[name() for _ in range(4)]))
    known = facts(found, run_command=name())
    about = About(command=(name(), name()), mpi=name())
    return page(found, known, answer_of(known), about, None, {name(): name()})


@pytest.mark.parametrize("seed", range(20))
def test_names_add_no_elements_and_come_back_from_the_data(seed):
    random_of = random.Random(seed)
    names = []

    def name():
        names.append(nasty(random_of))
        return names[-1]

    text = report_of(name)
    harmless = iter(f"name{i}" for i in range(99))
    by_length = "span", "p"  # the words of a command, and hosts that are long
    tags = [[tag for tag in check(each).tags if tag not in by_length]
            for each in (text, report_of(lambda: next(harmless)))]  # fmt: skip
    assert tags[0] == tags[1]
    assert [each for each in text if plain(each) != each and each not in "\n"] == []
    assert data_of(text)["hosts"] == list(map(plain, names[3:7]))
    assert data_of(text)["places"] == [plain(names[1])]


@pytest.mark.parametrize("seed", range(20))
def test_results_have_the_same_elements_whatever_they_are_called(seed):
    random_of = random.Random(seed)

    def results(name):
        rows = [row("ring", parameters=name(), mpi=name(), network=name(), elapsed_ms=10.0 + k)
                for k in range(3)]  # fmt: skip
        return html.page(rows, {"version": name(), name(): [name(), name()]})

    # Matplotlib has no glyphs for halves of characters and for control characters.
    plot = "svg", "g", "path", "text", "tspan", "use", "defs", "clippath", "rect", "style"
    tags = [[tag for tag in check(results(name)).tags if tag not in plot]
            for name in (lambda: plain(nasty(random_of)).replace("\N{REPLACEMENT CHARACTER}", "?"), lambda: "name")]  # fmt: skip
    assert tags[0] == tags[1]


def test_a_template_that_names_nothing_is_an_error():
    with pytest.raises(UndefinedError):
        pages.page("latecomer.lab.views", title="a")


def test_tables_have_heads_notes_bars_and_what_a_script_selects_by_them():
    table = pages.Row(["a_b", "c"], ["1", pages.Cell("2", "best", "why", 2)], "note", "own",
                      [("wait", 0.25), ("move", 0.5)], {"rank": 3})  # fmt: skip
    text = html.pages.page(
        "latecomer.lab.views", wide=False, title="t", lead="", pattern="", alarms=[], findings=[], note="",
        plot="", tables=[("", ["x_y"], [table])], others=[], yardstick="native", modelled=False, used=[],
    )  # fmt: skip
    found = Found(text)
    assert '<th scope="col">x_<wbr>y</th>' in text
    (own,) = (attrs for tag, attrs in found.elements if attrs.get("data-rank"))
    assert own == {"class": "own", "data-rank": "3"}
    assert '<td class="best" title="why" colspan="2">2</td>' in text
    assert [attrs["x"] for tag, attrs in found.elements if tag == "rect"] == ["0.00", "25.00"]
    assert found.texts["small"] == ["note"]
    assert "script" not in found.tags
