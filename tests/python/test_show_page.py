"""`latecomer show --html`: a page that plays a call, whole by itself."""

import re

import pytest
from latecomer import cli
from latecomer.core import programs, simulation
from latecomer.lab.picture.page import page
from latecomer.lab.picture.replay import Call, Labels
from page_helpers import Found, check, data_of, dumped, needs_browser

TIMES = ["--ranks", "4", "--times", "0,2,9,0"]


def written(capsys, tmp_path, *words):
    file = tmp_path / "a.html"
    assert cli.run(["show", *map(str, words), "--html", str(file)]) == 0
    assert capsys.readouterr().err == f"latecomer: wrote {file}\n"
    return file.read_text(encoding="utf-8")


def said(text):
    return re.search(r'<p class="said">(.*?)</p>', text)[1]


def test_the_page_is_whole_and_loads_nothing(capsys, tmp_path):
    text = written(capsys, tmp_path, "online_owners", *TIMES)
    found = check(text)
    assert found.tags.count("svg") == 2
    assert "<noscript><p>Without JavaScript" in text
    assert "prefers-color-scheme: dark" in text
    assert len(text) < 200_000


def test_the_sentence_compares_with_the_ring(capsys, tmp_path):
    text = written(capsys, tmp_path, "online_owners", *TIMES)
    found = re.fullmatch(
        r"ring ends (\d\.\d\d) M after the last arrival, online_owners (\d\.\d\d) M", said(text)
    )
    assert float(found[1]) > float(found[2]) > 1


def test_without_lengths_times_have_their_unit(capsys, tmp_path):
    words = ["ring", "--ranks", 2, "--network", "alpha=1ms,beta=0"]
    assert said(written(capsys, tmp_path, *words)) == "ring ends 2.00 ms after the last arrival"


def test_the_data_hold_all_messages_and_what_ranks_have(capsys, tmp_path):
    calls = data_of(written(capsys, tmp_path, "online_owners", *TIMES))["calls"]
    assert [call["name"] for call in calls] == ["online_owners", "ring"]
    kinds = [[move[4] for move in call["moves"]] for call in calls]
    assert [of.count(0) for of in kinds] == [3 * 8, 3 * 4]
    assert [of.count(1) for of in kinds] == [3 * 8, 3 * 4]
    assert kinds[0].count(2) > 3
    assert kinds[1].count(2) == 0
    for call in calls:
        begins = [move[2] for move in call["moves"]]
        assert begins == sorted(begins)
        times = [held[0] for held in call["held"]]
        assert times == sorted(times)
        assert {rank: part for _, rank, part in call["held"]} == dict.fromkeys(range(4), 1000)


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["ring"], ["ring"]),
        (["sorted_linear_tree"], ["sorted_linear_tree", "ring"]),
        (["nodes", "--non-commutative"], ["nodes", "rabenseifner"]),
        (["rabenseifner", "--non-commutative"], ["rabenseifner"]),
        (["early_owners", "--beside", "prereduced_ring"], ["early_owners", "prereduced_ring"]),
        (["online_owners", "--collective", "allgather"], ["online_owners", "ring"]),
        (["local_redirect", "--collective", "reduce"], ["local_redirect"]),
        (["arrival_b", "--collective", "bcast", "--beside", "linear"], ["arrival_b", "linear"]),
        (["binomial", "--collective", "scatter"], ["binomial"]),
    ],
)
def test_calls_of_each_kind_play(capsys, tmp_path, words, names):
    text = written(capsys, tmp_path, *words, *TIMES)
    calls = data_of(text)["calls"]
    assert [call["name"] for call in calls] == names
    assert all(call["moves"] for call in calls)
    assert Found(text).open == []


def test_two_calls_of_one_algorithm_are_told_apart(capsys, tmp_path):
    words = ["online_owners:blocks=8", "--beside", "online_owners:blocks=16"]
    text = said(written(capsys, tmp_path, *words, *TIMES))
    assert "online_owners:blocks=16" in text
    assert "online_owners:blocks=8" in text


def test_one_rank_and_no_elements_have_pages(capsys, tmp_path):
    for words in (["ring", "--ranks", 1], ["ring", "--ranks", 3, "--count", 0]):
        assert Found(written(capsys, tmp_path, *words)).open == []


def test_names_are_escaped():
    plan = programs.make_plan(programs.problem(ranks=2), "ring", None, "")
    call = Call(programs.schedule(plan), simulation.run(plan, None, trace=True))
    object.__setattr__(call.schedule, "algorithm", "</script><u>&")
    text = page([call], Labels("ms", 1e3), 0.0, {"<i>": "</dl>"})
    assert "<u>&" not in text
    assert text.count("</script>") == 2
    assert "<i>" not in text.partition("<dl>")[2]
    assert data_of(text)["calls"][0]["name"] == "</script><u>&"
    assert Found(text).open == []


def test_the_same_call_makes_the_same_page(capsys, tmp_path):
    first, second = (written(capsys, tmp_path, "online_owners", *TIMES) for _ in range(2))
    assert first == second


@needs_browser
def test_the_script_runs_under_the_policy_of_the_page(capsys, tmp_path):
    text = written(capsys, tmp_path, "online_owners", *TIMES)
    middle = dumped(text, tmp_path, "#t=0.6")
    controls = next(a for _, a in Found(middle).elements if a.get("id") == "controls")
    assert "hidden" not in controls
    status = re.search(r'<output id="status"[^>]*>(.*?)</output>', middle)[1]
    assert re.fullmatch(
        r"\d\.\d\d M (before|after) the last arrival; results held: "
        r"online_owners \d+ %, ring \d+ %",
        status,
    )
    assert re.search(r'id="flight[01]-0" d="M', middle)
    end = dumped(text, tmp_path)
    assert "results held: online_owners 100 %, ring 100 %" in end
