"""`latecomer reproduce`: its output and files, its refusals, and the runs of --lab."""

import csv
import functools
import io
import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from evidence.reproduce import __main__ as program
from evidence.reproduce import job, lab, picture
from evidence.reproduce.paper import NAMES
from evidence.reproduce.predict import Time, implemented
from evidence.reproduce.report import COLUMNS
from latecomer import cli
from latecomer.base.errors import UserError
from reproduce_helpers import PAPERS, SOME


@pytest.fixture(scope="module", autouse=True)
def _computed_once():
    """The tests ask for a paper in different forms; its numbers are the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job, "run", functools.cache(job.run))
        yield


def shown(capsys, *words_):
    assert program.run(list(map(str, words_))) == 0
    return capsys.readouterr()


def refused(capsys, *words_):
    code = program.run(list(map(str, words_)))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("latecomer: error: ")
    return code, captured.err


# ---- the command


@pytest.mark.parametrize("name", NAMES)
def test_every_paper_is_shown(capsys, name):
    out = shown(capsys, name, "--iterations", 1).out
    for title in ("The network", "Where we agree, where not", "Why", "Lost, so not here"):
        assert title in out
    for table in PAPERS[name].tables():
        assert f"{table}: " in out


def test_no_colour_where_none_is_wanted(capsys, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in shown(capsys, "marendic2012").out


def test_json_has_fit_rows_and_words(capsys):
    found = json.loads(shown(capsys, "traeff2021", "--json").out)
    assert len(found["rows"]) == 122
    assert set(found["rows"][0]) == set(COLUMNS)
    assert found["fit"]["determined"] == 2
    assert len(found["fit"]["residuals"]) == 29
    assert any("Doubly pipelined" in line for line in found["words"])


def test_csv_has_the_columns(capsys):
    text = shown(capsys, "proficz2018", "--tables", "3,section 4.1", "--format", "csv").out
    rows = list(csv.DictReader(io.StringIO(text)))
    assert list(rows[0]) == list(COLUMNS)
    assert len(rows) == 66
    assert rows[-1]["published"] == "12"


def test_costs_can_be_set(capsys):
    words_ = ["kolmakov2020", "--tables", "re-derived forms", "--network", "alpha=1ms", "--json"]
    found = json.loads(shown(capsys, *words_).out)
    assert found["network"].startswith("alpha=1e+06ns,beta=0.8ns")
    assert "in place of what was fitted" in found["fit"]["held"]["--network"]


def test_a_cost_that_is_set_is_not_rounded_as_if_fitted(capsys):
    words_ = ["proficz2018", "--tables", "section 4.1", "--network", "alpha=1.23456us"]
    out = shown(capsys, *words_).out
    assert "network: alpha=1234.56ns" in out
    assert "+-" not in out


def test_rows_say_what_was_run_and_where(capsys):
    text = shown(capsys, "proficz2018", "--tables", "3,5,section 4.1", "--format", "csv").out
    rows = list(csv.DictReader(io.StringIO(text)))
    fitted = {row["network"] for row in rows if row["table"] == "Table 3"}
    assert len(fitted) == 1
    assert f"--network {fitted.pop()}" in shown(capsys, "proficz2018", "--tables", "5").out
    slt = next(r for r in rows if r["column"] == "50 ms" and r["algorithm"] == "SLT"
               and r["baseline"])  # fmt: skip
    assert slt["program"] == "sorted_linear_tree:segments=48:override=ring"
    assert slt["baseline_program"] == "ring"
    assert {(r["program"], r["network"]) for r in rows if r["reason"]} == {("", "")}
    assert all(row["network"] not in fitted for row in rows if row["table"] == "Section 4.1")


def test_a_closed_form_is_named_where_it_was_used(capsys):
    found = json.loads(shown(capsys, "proficz2018", "--tables", "section 3", "--json").out)
    assert [row["program"] for row in found["rows"]] == ["ring", "closed form transfer"]


def test_what_the_paper_does_not_say_is_said_above_the_tables(capsys):
    out = " ".join(shown(capsys, "kolmakov2020", "--tables", "fig. 1 re-derived").out.split())
    assert out.index("None of the values here is the paper's") < out.index("Fig. 1 re-derived:")
    assert "data: evidence/papers/kolmakov2020/*.csv" in out
    assert "425 B re-derived 1.33" in out


@pytest.mark.parametrize("name", ["proficz2021", "marendic2012", "kolmakov2020"])
def test_a_picture_says_no_more_than_it_shows(name):
    report = job.run(job.Wanted(name, None, None, 1, 1))
    figure = picture._figure(report)
    figure.canvas.draw()
    footer = figure._supxlabel
    assert footer.get_window_extent().x1 <= figure.bbox.x1
    drawn = {row.how for row in report.rows if row.number.table != "Fig. 4"} - {""}
    text = footer.get_text()
    assert ("our programs" in text) == ("simulated" in drawn)
    assert ("closed forms" in text) == ("closed form" in drawn)
    assert ("points: re-derived" in text) == (name == "kolmakov2020")
    for panel, axes in zip(picture._panels(report), figure.axes, strict=False):
        bare = all(row.ours is None for row in panel.rows)
        assert ["ours: not implemented yet"] * bare == [told.get_text() for told in axes.texts]


@pytest.mark.parametrize("name", NAMES)
def test_files_are_written(capsys, tmp_path, name):
    paths = [tmp_path / f"a.{end}" for end in ("svg", "png", "html", "csv", "json", "txt")]
    words_ = [word for path in paths[:3] for word in ("--plot", path)]
    words_ += [word for path in paths[3:] for word in ("--output", path)]
    err = shown(capsys, name, "--iterations", 1, *words_).err
    assert all(f"wrote {path}" in err for path in paths)
    assert ElementTree.parse(paths[0]).getroot().tag.endswith("svg")
    assert paths[1].read_bytes().startswith(b"\x89PNG")
    page = paths[2].read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "<script" not in page
    assert PAPERS[name].facts["url"] in page
    assert len(json.loads(paths[4].read_text())["rows"]) == len(PAPERS[name].numbers)


def test_an_unknown_paper(capsys):
    code, text = refused(capsys, "nobody1999")
    assert code == 2
    assert "no such paper: nobody1999" in text
    assert all(name in text for name in NAMES)


def test_an_unknown_table(capsys):
    code, text = refused(capsys, "traeff2021", "--tables", "9")
    assert code == 2
    assert "no such table: 9; use Table 2, Section 2" in text


@pytest.mark.parametrize(
    ("words_", "reason"),
    [
        (("--format", "osu"), "no such --format: osu; use table, csv, json"),
        (("--plot", "a.pdf"), "no such plot: a.pdf; use a name in .svg, .png, .html"),
        (("--output", "/no/such/folder/a.csv"), "no such folder for a result"),
        (("--network", "speed=9"), "network: 'speed=9'"),
        (("--iterations", "0"), "--iterations"),
        (("--lab",), "the lab cannot be scaled to this paper"),
        (("--lab", "--rate", "fast"), "fast"),
    ],
)
def test_errors_say_what_would_be_right(capsys, words_, reason):
    assert reason in refused(capsys, "marendic2012", *words_)[1]


def test_help_has_an_example(capsys):
    assert cli.run(["reproduce", "--help"]) == 0
    assert "Example: latecomer reproduce" in capsys.readouterr().out


# ---- the lab, without running it


def test_the_lab_keeps_the_time_of_a_vector():
    """A fifth of the rate, a fifth of the vector; whole elements on every rank."""
    here = lab.scaled(replace(SOME, ranks=48, bytes=4 << 20), 6, 0.2)
    assert here.ranks == 6
    assert here.bytes == pytest.approx((4 << 20) / 5, rel=1e-4)
    assert here.bytes % (4 * 6) == 0


def test_the_lab_runs_what_belongs_together_at_once():
    (run,) = lab.plan(PAPERS["proficz2018"].only("3"), 4, 0.2)
    assert run.delays == (0, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0)
    assert run.algorithms == (
        "ring", "rabenseifner", "sorted_linear_tree:segments=4:override=ring",
        "prereduced_ring:segments=4",
    )  # fmt: skip
    assert len(lab.plan(PAPERS["proficz2018"].only("4"), 4, 0.2)) == 12


def test_measured_values_stand_beside_the_others(monkeypatch, capsys):
    def run(run_, _place, _iterations, _seed):
        for delay in run_.delays:
            for place, text in enumerate(run_.algorithms, 1):
                yield (lab._key(run_), text, delay, "elapsed"), Time(place / 1e3, "measured")

    monkeypatch.setattr(lab, "_run", run)
    monkeypatch.setattr(lab.places, "find_place", lambda *_: None)
    words_ = ["proficz2018", "--tables", "3", "--lab", "--nodes", "4", "--json"]
    found = json.loads(shown(capsys, *words_).out)
    expected = [lab_ms for k in (1, 2, 3, 4) for lab_ms in [k] * 8 + [1 / k] * 8]
    assert [row["lab"] for row in found["rows"]] == pytest.approx(expected)
    assert any("measured in the lab" in line for line in found["words"])


def test_a_lab_with_nothing_to_measure():
    if not any(implemented(m) for m in PAPERS["proficz2021"].mappings.values()):
        with pytest.raises(UserError, match="nothing of this paper can be measured yet"):
            lab.measure(PAPERS["proficz2021"], 4, "200mbit", 1, 1)


def test_a_run_that_went_wrong_is_no_result():
    with pytest.raises(UserError, match="elements were wrong: 3"):
        lab._check(None, 3)
    with pytest.raises(UserError, match="the measurement ended early: killed"):
        lab._check("killed", 0)


def test_the_verb_runs_the_program_of_the_clone(capfd, tmp_path):
    table, words = tmp_path / "a b.csv", ["traeff2021", "--iterations", "1", "--json"]
    assert cli.run(["reproduce", *words, "--output", str(table)]) == 0
    found = json.loads(capfd.readouterr().out)
    assert len(found["rows"]) == 122
    assert "latecomer reproduce traeff2021 --iterations=1" in found["used"]["command"]
    assert len(list(csv.DictReader(table.open()))) == 122
    assert cli.run(["reproduce", "nobody1999"]) == 2
    assert "nobody1999" in capfd.readouterr().err


def test_without_a_clone_there_is_nothing_to_reproduce(capsys, monkeypatch, tmp_path):
    from latecomer.verbs import reproduce

    monkeypatch.setattr(reproduce, "CLONE", tmp_path)
    code = cli.run(["reproduce", "proficz2018"])
    captured = capsys.readouterr()
    assert (code, captured.out) == (1, "")
    assert f"not part of this installation: {tmp_path / 'evidence'}" in captured.err
    assert "run ./latecomer reproduce in a clone" in captured.err
