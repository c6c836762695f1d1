"""`latecomer report A B`: what became longer, for whom and where, from made-up runs."""

import json
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from latecomer.cli import run
from latecomer.launch.dropin import Ended
from latecomer.launch.dropin import compare as turns
from latecomer.report.analysis.cut import analysed
from latecomer.report.analysis.facts import facts
from latecomer.report.compare import page, sentences
from latecomer.report.compare.changes import compared, pieces_of, run_of
from latecomer.report.trace import Words
from latecomer.verbs.settings import claimed
from trace_helpers import HOSTILE, Files, group_of, trace_of
from watch_helpers import loop

CALLS = 100
WORK_S = 0.010


def work(ranks=4, more=0.0, rank=1, seed=None):
    """Times of each call and rank; one rank computes `more` seconds longer in all."""
    made = np.full((CALLS, ranks), WORK_S)
    made[:, rank] += more / CALLS
    if seed is not None:
        made *= np.random.default_rng(seed).uniform(0.99, 1.01)
    return made


def run_of_work(each, moving=0.001, **words_of):
    words = Words()
    arrival, leave = loop(each, moving)
    trace = replace(trace_of([group_of(arrival, leave, words, **words_of)], words),
                    begin=np.zeros(each.shape[1]))  # fmt: skip
    found = analysed(trace, skip=0)
    return run_of(found, facts(found))


@pytest.mark.parametrize("seed", range(3))
def test_pieces_are_those_of_a_plain_count(seed):
    print("seed", seed)
    rng = np.random.default_rng(seed)
    arrival, leave = loop(rng.uniform(0.01, 0.02, (50, 5)))
    words, halves = Words(), np.arange(50) % 2 == 0
    groups = [group_of(arrival[own], leave[own], words, name=name, size=1 << 10)
              for own, name in ((halves, "a"), (~halves, "b"))]  # fmt: skip
    trace = replace(trace_of(groups, words), begin=np.zeros(5))
    made = pieces_of(analysed(trace, skip=0))
    waiting = arrival.max(axis=1, keepdims=True) - arrival
    computed = arrival - np.concatenate([np.zeros((1, 5)), leave[:-1]])
    moving = leave - arrival - waiting
    for kind, expected in (("waiting", waiting), ("computation", computed),
                           ("moving data", moving)):  # fmt: skip
        assert made.by_rank[kind] == pytest.approx(expected.sum(axis=0))
        whole = sum(part for place, part in made.seconds.items() if place.kind == kind)
        assert whole == pytest.approx(expected.sum() / 5)
    on_a = {
        place.name: part for place, part in made.seconds.items() if place.communicator[:1] == "a"
    }
    assert on_a["waiting in allreduce of 1 KiB at app+0x10, on a (5 ranks)"] == pytest.approx(
        waiting[halves].sum() / 5
    )


def test_the_answer_says_what_became_longer_for_whom_and_where():
    found = compared([run_of_work(work())], [run_of_work(work(more=1.0))])
    told = sentences.said(found)
    assert told.time == ("The run takes 2.1 s after, 1 s longer (91 %) than before, 1.1 s. One run "
                         "each: no noise known, so any difference may be chance.")  # fmt: skip
    assert told.what == ("In the mean of the ranks, waiting is 750 ms longer and computation is "
                         "250 ms longer.")  # fmt: skip
    assert told.who == ("Late before: nobody in particular; after: rank 1 on host node1. "
                        "Rank 1 computes 1 s longer.")  # fmt: skip
    assert told.where == (
        "Waiting in allreduce of 1 MiB at app+0x10, on MPI_COMM_WORLD (4 ranks) is 750 ms longer a "
        "rank and computation after the allreduce at app+0x10 is 248 ms longer a rank."
    )
    assert list(sentences.remarks(found)) == []


def test_turned_around_all_is_shorter():
    found = compared([run_of_work(work(more=1.0))], [run_of_work(work())])
    told = sentences.said(found)
    assert told.time.startswith("The run takes 1.1 s after, 1 s shorter (48 %) than before, 2.1 s.")
    assert "longer" not in told.what + told.where
    assert "Rank 1 computes 1 s shorter." in told.who


def test_the_same_run_twice_is_as_long():
    found = compared([run_of_work(work())], [run_of_work(work())])
    told = sentences.said(found)
    assert told.time.startswith("The run takes as long as before, within 0 %: 1.1 s after, 1.1 s")
    assert told.what == "No kind of time differs by 1 % of the run."  # chance is not known
    assert told.where == "No place differs by 1 % of the run."
    assert "any difference may be chance" in told.time


@pytest.mark.parametrize(("more", "told"), [(0.0, False), (0.3, True)])
def test_a_change_is_told_if_it_is_more_than_runs_of_one_kind_differ(more, told):
    before = [run_of_work(work(seed=seed)) for seed in (1, 2, 3)]
    after = [run_of_work(work(more=more, seed=seed)) for seed in (4, 5)]
    found = compared(before, after)
    runs = [[each.found.run_seconds for each in side] for side in (before, after)]
    noise = max(max(side) - min(side) for side in runs)
    assert found.run.noise == pytest.approx(noise)
    assert found.run.told is told
    words = sentences.said(found)
    assert words.time.startswith("The run takes " if told else "No significant difference: ")
    assert "Of 3 and 2 runs, those of one kind differ by up to " in words.time
    assert words.time.endswith("with three of each it would be surer.")
    assert ("Rank 1 computes" in words.who) is told
    if not told:
        assert words.what == "No kind of time differs by more than chance and 1 % of the run."
        assert words.where == "No place differs by more than chance and 1 % of the run."


def test_other_numbers_of_ranks_are_said_and_not_compared_one_by_one():
    found = compared([run_of_work(work(ranks=4))], [run_of_work(work(ranks=8, more=1.0))])
    assert "4 ranks before and 8 after: single ranks are not compared." in sentences.said(found).who
    assert found.ranks == []
    # The communicator is the same one.
    assert all(all(each.calls) for each in found.places if each.place.kind == "moving data")


def test_runs_of_one_kind_with_other_numbers_of_ranks_are_refused():
    runs = [run_of_work(work(ranks=ranks)) for ranks in (4, 8)]
    with pytest.raises(Exception, match="4 in made up and 8 in made up"):
        compared(runs, runs[:1])


def renamed(before, after):
    """The same run with calls of these words on both sides."""
    found = compared([run_of_work(work(), **before)], [run_of_work(work(more=1.0), **after)])
    return found, " ".join(sentences.remarks(found))


def test_calls_that_only_one_side_has_are_said():
    _, told = renamed({}, {"collective": "bcast", "root": 0, "size": 64})
    assert told == ("only before: allreduce of 1 MiB at app+0x10, on MPI_COMM_WORLD (4 ranks) only "
                    "after: bcast of 64 B at app+0x10, on MPI_COMM_WORLD (4 ranks)")  # fmt: skip


def test_a_call_whose_site_moved_is_the_same_one():
    before, after = run_of_work(work()), run_of_work(work(more=1.0))
    after.found.code = {"app+0x10": "main (app.c:43)"}
    after = run_of(after.found, after.facts)
    found = compared([before], [after])
    assert all(all(each.calls) for each in found.places)
    assert any(", after: main (app.c:43)" in each.name for each in found.places)


def test_other_numbers_of_calls_are_said():
    found = compared([run_of_work(work())], [run_of_work(work()[:60])])
    assert any(each.startswith("numbers of calls differ: 100 before and 60 after of allreduce")
               for each in sentences.remarks(found))  # fmt: skip


NO_SIDE = SimpleNamespace(rank=np.zeros(0, np.int32))


@pytest.mark.parametrize(("of_trace", "of_found", "told"), [
    ({"clock_error": np.array([0, np.inf, 0, 0])}, {},
     "the clocks of some ranks of made up are not comparable: waiting means nothing"),
    ({"messages": SimpleNamespace(send=NO_SIDE, receive=NO_SIDE)}, {},
     "some runs were traced without messages: waiting for these counts as computation"),
    ({}, {"skipped": 0.5}, "the first call is left out of some runs, and not of others"),
])  # fmt: skip
def test_runs_that_cannot_be_compared_in_all_are_said_to_be_such(of_trace, of_found, told):
    one, other = run_of_work(work()), run_of_work(work(more=1.0))
    found = compared([one], [other])
    assert list(sentences.remarks(found)) == []
    odd = replace(other.found, trace=replace(other.found.trace, **of_trace), **of_found)
    assert list(sentences.remarks(replace(found, after=[replace(other, found=odd)]))) == [told]


def test_of_a_run_in_which_nobody_can_be_named_it_is_said_why():
    one, other = run_of_work(work()), run_of_work(work(more=1.0))
    unknown = replace(other, facts=replace(other.facts, late=[], unknown="files are missing"))
    told = sentences.said(compared([one], [unknown])).who
    assert "not known (files are missing)" in told


# ---- the command


def test_the_command_prints_remarks_before_the_answer(tmp_path, capsys):
    whole = Files(4).write(tmp_path / "whole", *loop(work()))
    short = Files(4).write(tmp_path / "short", *loop(work()[:60]))
    assert run(["report", str(whole), str(short)]) == 0
    told = capsys.readouterr()
    assert "latecomer: numbers of calls differ: 100 before and 60 after of allreduce" in told.err
    assert "numbers of calls differ" not in told.out


@pytest.fixture
def folders(tmp_path):
    made = []
    for name, more in (("before", 0.0), ("after", 1.0), ("again", 0.01)):
        made.append(Files(4, name=HOSTILE).write(tmp_path / name, *loop(work(more=more))))
    return [str(each) for each in made]


def test_the_command_prints_four_lines(folders, capsys):
    assert run(["report", *folders[:2]]) == 0
    out = capsys.readouterr().out.splitlines()
    assert [line[:6].strip() for line in out] == ["time:", "what:", "who:", "where:"]
    assert "Rank 1 computes 1 s longer" in out[2]


def test_several_runs_tell_the_noise(folders, capsys):
    before, after, again = folders
    assert run(["report", before, after, "--before", again, "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert value["noise_known"]
    assert [len(value["run"][side]) for side in ("before_s", "after_s")] == [2, 1]
    assert {each["kind"] for each in value["places"]} == {"computation", "waiting", "moving data"}
    assert len(value["by_rank"]) == 4


def test_the_page_is_written_and_escapes_names(folders, tmp_path, capsys):
    file = tmp_path / "compare.html"
    assert run(["report", *folders[:2], "--html", str(file)]) == 0
    text = file.read_text()
    assert "<title>before before, after after" in text
    assert ">noise<" not in text  # of one run each nothing is known
    assert "Grey changes" not in text
    assert "<script>" not in text
    assert "[red]" in text
    assert "than before" in text
    assert len(text) < 60_000


def test_a_page_of_several_runs_has_the_noise(folders, tmp_path):
    before, after, again = folders
    file = tmp_path / "compare.html"
    assert run(["report", before, after, "--before", again, "--html", str(file)]) == 0
    text = file.read_text()
    assert "<title>before and 1 more before, after after" in text
    assert ">noise<" in text
    assert "Grey changes" in text


@pytest.mark.parametrize(
    ("names", "title"),
    [
        (("runs/old", "runs/new"), "old before, new after"),
        (("old/traces", "new/traces"), "old/traces before, new/traces after"),
        ((".", "new"), ". before, new after"),
    ],
)
def test_the_title_tells_the_sides_apart(names, title):
    sides = [run_of_work(work()) for _ in names]
    for side, name in zip(sides, names, strict=True):
        side.found.trace = replace(side.found.trace, source=name)
    assert page._title(compared(sides[:1], sides[1:])) == title


def test_a_collective_of_many_ranks_is_one_call():
    one = run_of_work(work(ranks=4))
    found = compared([one], [run_of_work(work(ranks=8))])
    waits = [each for each in found.places if each.place.kind == "waiting"]
    assert [each.calls for each in waits] == [(CALLS, CALLS)]
    computing = [each.calls for each in found.places if each.place.kind == "computation"]
    assert sorted(computing) == [(1, 1), (CALLS - 1, CALLS - 1)]  # the beginning, and after calls
    assert list(sentences.remarks(found)) == []  # other ranks make no other calls


def test_a_page_of_many_ranks_and_places_is_short():
    words = Words()
    arrival, leave = loop(work(ranks=64))
    groups = [group_of(arrival[at : at + 1], leave[at : at + 1], words, name=f"row {at}")
              for at in range(CALLS)]  # fmt: skip
    found = analysed(replace(trace_of(groups, words), begin=np.zeros(64)), skip=0)
    one = run_of(found, facts(found))
    made = compared([one], [one])
    text = page.page(made, sentences.said(made), {})
    assert text.count("<tr") <= page.PLACES + page.RANKS + 10
    assert "more places changed less" in text


@pytest.mark.parametrize(
    ("options", "named"),
    [(["--csv", "calls.csv"], "--csv"), (["--network", "alpha=1us"], "--network"),
     (["--budget", "2"], "--budget")],
)  # fmt: skip
def test_options_of_one_trace_are_refused(folders, options, named, capsys):
    assert run(["report", *folders[:2], *options]) == 2
    assert named in capsys.readouterr().err


def test_a_run_that_is_named_twice_is_refused(folders, tmp_path, capsys):
    one, other = map(str, folders[:2])
    (tmp_path / "link").symlink_to(one)
    for again in (one, str(tmp_path / "link")):
        for words in ([one, other, "--before", again], [one, again]):
            assert run(["report", *words]) == 1
            assert "one run named twice" in capsys.readouterr().err


def test_repetitions_need_two_runs(folders, capsys):
    assert run(["report", folders[0], "--after", folders[1]]) == 2
    assert "a comparison needs two folders" in capsys.readouterr().err


def test_a_page_over_a_trace_is_refused(folders, capsys):
    assert run(["report", *folders[:2], "--html", f"{folders[1]}/rank-0.trace"]) == 1
    assert "a result over a file that is read" in capsys.readouterr().err


# ---- run --compare --trace


@pytest.fixture
def jobs(monkeypatch, tmp_path):
    """Runs write made-up traces; one with latecomer is shorter. Their wishes."""
    wishes = []

    def once(command, own, *, off, deadline, quiet):
        wishes.append((own, off))
        more = 0.0 if own.trace.name.startswith("with-") else 1.0
        Files(4).write(own.trace, *loop(work(more=more, seed=len(wishes))))
        return Ended(0, 1.0 + more, {"ranks": 4})

    monkeypatch.setitem(turns.__globals__, "run_once", once)
    monkeypatch.setattr("latecomer.verbs.run.closing_lines", lambda *_: [])
    monkeypatch.setattr("latecomer.verbs.run._answer_of_job", lambda *_: None)
    launcher = tmp_path / "mpirun"
    launcher.write_text("#!/bin/sh\necho 'mpirun (Open MPI) 4.1.4'\n")
    launcher.chmod(0o755)
    command = ["run", "--compare", "--trace", str(tmp_path / "traces"), "--algorithm", "ring"]
    return wishes, command, ["--", str(launcher), "./app"]


def test_traces_of_all_turns_are_compared(jobs, tmp_path, capsys):
    wishes, command, program = jobs
    page_file = tmp_path / "compare.html"
    assert run([*command, "--html", str(page_file), *program]) == 0
    told = capsys.readouterr().out
    assert re.search(
        r"^time:  The run takes 1\S* s after, \S+ \S+ shorter \(4\d %\) than", told, re.M
    )
    assert "Of 6 and 3 runs, those of one kind differ by up to" in told
    assert page_file.exists()
    names = {own.trace.name: (own.observe, own.algorithm, off) for own, off in wishes}
    assert names == {f"{kind}-{turn}": (kind != "with", "ring" if kind == "with" else None, False)
                     for kind in ("without", "with", "control") for turn in (1, 2, 3)}  # fmt: skip
    assert run([*command, *program]) == 2
    assert (
        f"holds a trace; name another folder, as in --trace {tmp_path}/traces-2"
        in capsys.readouterr().err
    )


def test_of_two_comparisons_into_one_folder_the_second_is_refused(jobs, tmp_path, capsys):
    wishes, command, program = jobs
    with claimed(tmp_path / "traces"):
        assert run([*command, *program]) == 2
    assert "another job traces into" in capsys.readouterr().err
    assert not wishes


def test_its_json_has_the_comparison_of_traces(jobs, tmp_path, capsys):
    wishes, command, program = jobs
    file = tmp_path / "result.json"
    assert run([*command, "--json", "--turns", "1", "--output", str(file), *program]) == 0
    value = json.loads(capsys.readouterr().out)
    assert json.loads(file.read_text()) == value
    assert all(own.report is None for own, _ in wishes)  # no run writes there
    assert value["traces"]["noise_known"]
    assert [len(value["traces"][side]) for side in ("before", "after")] == [2, 1]


def test_traces_that_cannot_be_compared_leave_the_times(jobs, tmp_path, monkeypatch, capsys):
    _, command, program = jobs
    once = turns.__globals__["run_once"]

    def without_a_trace(command, own, **words):
        ended = once(command, own, **words)
        if own.trace.name == "with-2":
            for path in own.trace.iterdir():
                path.write_bytes(b"")
        return ended

    monkeypatch.setitem(turns.__globals__, "run_once", without_a_trace)
    assert run([*command, *program]) == 0
    told = capsys.readouterr()
    assert re.search(r"the traces are not compared: .*with-2.*none of 4", told.err)
    assert "time:" not in told.out
    assert "with latecomer" in told.out
