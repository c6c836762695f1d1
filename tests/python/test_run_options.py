"""`latecomer run`: what is wrong or without effect is refused before a job starts."""

import json
import re
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from latecomer import cli
from latecomer.command.declare import UsageError
from latecomer.launch import processes
from latecomer.launch.dropin import Comparison, Ended, Wishes, run_once
from latecomer.report.trace.about import about
from latecomer.verbs.run import _answer_of_trace
from latecomer.verbs.run_lines import closing_lines
from latecomer.verbs.settings import claimed
from trace_helpers import Files, arrivals_and_exits


@pytest.fixture
def launcher(tmp_path):
    """An mpirun that notes that it was called."""
    path = tmp_path / "mpirun"
    path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo "mpirun (Open MPI) 4.1.4" && exit\n'
                    f"echo >{tmp_path}/started\n")  # fmt: skip
    path.chmod(0o755)
    return path


REFUSED = [
    ("--algorithm frob", "'frob' is not usable; right would be a name that `latecomer algorithms`"),
    ("--algorithm rinng", "did you mean ring."),
    ("--algorithm allreduce:ring;bcast:rinng", "'rinng' is not usable; right would be one of"),
    ("--algorithm prereduced_ring:segments=0", "segments: '0' is not usable"),
    (
        "--algorithm auto:random=0",
        "random: '0' is not usable; right would be a whole number from 1",
    ),
    (
        "--algorithm auto:random=x",
        "random: 'x' is not usable; right would be a whole number from 1",
    ),
    ("--algorithm auto:random=1 --reproducible", "in each call; leave out --reproducible."),
    ("--min-bytes nan", "--min-bytes: 'nan' is not usable; right would be a size from 0 up"),
    ("--min-bytes -1", "--min-bytes: '-1' is not usable"),
    ("--min-bytes=", "--min-bytes: '' is not usable"),
    ("--progress threads", "--progress: 'threads'; give none or thread."),
    ("--wait often", "--wait: 'often'; give auto or poll or sleep."),
    ("--observe --wait sleep", "--observe changes no collective; leave out --wait."),
    ("--output FOLDER", "a folder is no file for --output: "),
    ("--output /nowhere/a.txt", "no such folder for --output: /nowhere/a.txt"),
    ("--output /proc/a.txt", "cannot write --output"),
    ("--trace /nowhere/a/b", "no such folder for --trace: /nowhere/a/b; make it first"),
    ("--trace /proc/a", "cannot write --trace"),
    ("--trace FILE", "is a file; name a folder."),
    ("--trace=", "--trace: ''; give a path."),
    ("--rules=", "--rules: ''; give a path."),
    ("--rules /nowhere.json", "/nowhere.json"),
    ("--deadline nan", "--deadline: 'nan'; give seconds or a time with its unit, from 0.1 s to"),
    ("--deadline 0", "--deadline: '0'"),
    ("--deadline inf", "--deadline: 'inf'"),
    ("--deadline -5s", "--deadline: '-5s'"),
    ("--no-messages", "--no-messages is for --trace and --observe; leave out --no-messages."),
    ("--turns 5", "--turns is for --compare; leave out --turns."),
    ("--off --verbose", "--off runs without the library; leave out --verbose."),
    ("--off --algorithm ring", "leave out --algorithm."),
    ("--preload-only", "--preload-only starts nothing; leave out COMMAND."),
]


@pytest.mark.parametrize(("words", "said"), REFUSED)
def test_what_is_wrong_is_refused_before_the_job(words, said, launcher, tmp_path, capsys):
    given = words.replace("FOLDER", str(tmp_path)).replace("FILE", str(launcher)).split()
    assert cli.run(["run", *given, "--", str(launcher), "./app"]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert not (tmp_path / "started").exists()


def test_a_misspelt_variable_is_refused_before_the_job(launcher, tmp_path, monkeypatch, capsys):
    """The library would go on, and carry out collectives."""
    monkeypatch.setenv("LATECOMER", "observ")
    assert cli.run(["run", "--", str(launcher), "./app"]) == 2
    assert "LATECOMER: 'observ'; give on, observe, off; did you mean observe" in (
        capsys.readouterr().err
    )
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize("option", ["--off", "--compare", "--deadline=5"])
def test_what_has_no_effect_on_variables_is_refused(option, capsys):
    assert cli.run(["run", "--preload-only", option]) == 2
    assert f"starts nothing; leave out {option[:10].rstrip('=')}" in capsys.readouterr().err


def test_of_two_jobs_that_trace_into_one_folder_the_second_is_refused(launcher, tmp_path, capsys):
    trace = tmp_path / "trace"
    words = ["run", "--trace", str(trace), "--", str(launcher), "./app"]
    with claimed(trace):
        assert cli.run(words) == 2
        told = (
            f"another job traces into {trace}, or did; name another folder, as in --trace {trace}-2"
        )
        assert told in capsys.readouterr().err
        assert not (tmp_path / "started").exists()
    assert not trace.exists()  # a job that left no trace leaves no folder that would be refused
    with claimed(trace), pytest.raises(UsageError), claimed(trace):
        pass


@pytest.mark.parametrize(("without", "with_it", "control", "says"), [
    # turn by turn it would be faster by 10 %, while the medians say slower by 6 %
    ([2.0, 1.0, 1.6], [1.8, 0.9, 1.7], [1.6, 1.5, 1.7], "no significant difference: runs without "
     "latecomer differ by as much (control: 1.000 to 2.000 s)"),
    ([1.0, 1.01, 1.02], [0.9, 0.91, 2.0], [1.0, 1.03, 1.02], "faster by 9.9 % with latecomer"),
    ([1.0, 1.01, 1.02], [1.2, 1.1, 1.0], [1.0, 1.03, 1.02], "slower by 8.9 % with latecomer"),
    ([1.0] * 3, [1.0] * 3, [1.0] * 3, "no significant difference: runs without latecomer differ by "
     "as much (control: 1.000 to 1.000 s)"),
    ([1.0], [0.5], [1.0], "too few turns to tell; right would be --turns 3 or more"),
    ([1.0] * 2, [2.0] * 2, [1.01] * 2, "too few turns to tell; right would be --turns 3 or more"),
])  # fmt: skip
def test_the_verdict_of_a_comparison_follows_from_the_times_shown(without, with_it, control, says):
    found = Comparison(without, with_it, control, Ended(0, 1.0))
    *times, verdict = found.text().splitlines()
    assert verdict == says
    first, _, third = (float(line.split()[1]) for line in times)
    assert found.gain == pytest.approx(1 - third / first)


@pytest.mark.parametrize(("wishes", "off", "observes", "said"), [
    (Wishes(), False, False, ""),
    (Wishes(), False, True, ""),  # as the environment says
    (Wishes(observe=True), False, True, ""),
    (Wishes(observe=True), False, None, ""),  # ended from outside before it said so
    (Wishes(observe=True), False, False, "carried out collectives in a run that was to be observed"),
    (Wishes(observe=False), False, False, ""),
    (Wishes(observe=False), False, True, "the library only observed in a run with it"),
    (Wishes(), True, False, "the library was active in a run without it"),
    (Wishes(), True, True, "the library was active in a run without it"),
])  # fmt: skip
def test_ranks_that_did_something_else_are_noticed(
    wishes, off, observes, said, launcher, monkeypatch
):
    seen = []

    def ranks(words, *, env, deadline, quiet):
        seen.append((words, env["LATECOMER"]))
        job = {"active": True, "observes": observes, "ranks": 2}
        Path(env["LATECOMER_SUMMARY"]).write_text(json.dumps(job))
        return 0

    monkeypatch.setenv("LATECOMER", "observe")
    monkeypatch.setattr(processes, "run", ranks)
    ended = run_once([str(launcher), "./app"], wishes, off=off, deadline=None)
    words, mode = seen[0]
    assert mode == ("off" if off else "on" if wishes.observe is False else "observe")
    assert f"LATECOMER={mode}" in words
    assert said in ended.unlike
    assert bool(ended.unlike) == bool(said)


def folder_of_summary(launcher, monkeypatch, error=None):
    """The folder that the ranks of a run write their summary into."""
    seen = []

    def ranks(words, *, env, deadline, quiet):
        seen.append(Path(env["LATECOMER_SUMMARY"]).parent)
        assert seen[0].is_dir()
        if error:
            raise error
        return 0

    monkeypatch.setattr(processes, "run", ranks)
    with suppress(KeyboardInterrupt):
        run_once([str(launcher), "./app"], Wishes(), off=False, deadline=None)
    assert not seen[0].exists()
    return seen[0]


@pytest.mark.parametrize("error", [None, KeyboardInterrupt()])
def test_ranks_of_other_hosts_see_the_folder_of_the_summary(error, launcher, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = folder_of_summary(launcher, monkeypatch, error)
    assert folder.parent == tmp_path
    assert folder.name.startswith(".latecomer-")


def test_where_nothing_can_be_written_the_summary_is_in_the_usual_folder(launcher, monkeypatch):
    monkeypatch.chdir("/proc")
    assert folder_of_summary(launcher, monkeypatch).parent == Path(tempfile.gettempdir())


@pytest.mark.parametrize("code", [0, 3])
@pytest.mark.parametrize("more", [[], ["--compare"]])
def test_ranks_that_traced_had_the_library(code, more, launcher, tmp_path, monkeypatch, capsys):
    def ranks(words, *, env, deadline, quiet):
        Files(3).write(Path(env["LATECOMER_TRACE"]), *arrivals_and_exits(12, 3))
        return code

    monkeypatch.setattr(processes, "run", ranks)
    words = ["run", *more, "--trace", str(tmp_path / "t"), "--", str(launcher), "./app"]
    cli.run(words)
    told = " ".join(capsys.readouterr().err.split())
    assert "no rank had the library" not in told
    assert "before any rank began MPI" not in told
    if not (more and code):
        assert f"ended with {code}, and rank 0 has told nothing here" in told


def test_observing_is_not_compared_with_observing(launcher, monkeypatch, capsys):
    def ranks(words, *, env, deadline, quiet):
        job = {"active": True, "observes": True, "ranks": 2}
        if env["LATECOMER"] != "off":
            Path(env["LATECOMER_SUMMARY"]).write_text(json.dumps(job))
        return 0

    monkeypatch.setattr(processes, "run", ranks)
    assert cli.run(["run", "--compare", "--", str(launcher), "./app"]) == 1
    said = capsys.readouterr()
    assert "there is no comparison, since the library only observed in a run with it" in " ".join(
        said.err.split()
    )
    assert not said.out


def test_an_interrupted_run_says_where_its_trace_is(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "a b"

    def interrupted(*_, **__):
        Files(3).write(folder, *arrivals_and_exits(12, 3))
        raise KeyboardInterrupt

    monkeypatch.setattr("latecomer.launch.dropin.run_once", interrupted)
    words = ["run", "--trace", str(folder), "--", "mpirun", "-n", "3", "./app"]
    assert cli.run(words) == 130
    told = capsys.readouterr().err
    assert f"latecomer: the trace so far: latecomer report '{folder}'\n" in told
    assert cli.run(["report", str(folder), "--budget", "0"]) == 0


@pytest.mark.parametrize("options", [["-p", "test"], ["--map-by", "sleep"]])
def test_the_program_of_a_trace_is_none_of_the_launcher_s_options(
    options, launcher, tmp_path, monkeypatch
):
    def ranks(words, *, env, deadline, quiet):
        Files(3).write(Path(env["LATECOMER_TRACE"]), *arrivals_and_exits(12, 3))
        return 0

    monkeypatch.setattr(processes, "run", ranks)
    name = launcher.parent / ("srun" if options[0] == "-p" else "mpirun")
    launcher.rename(name)
    words = ["run", "--trace", str(tmp_path / "t"), "--", str(name), *options, "true"]
    assert cli.run(words) == 0
    assert Path(about(tmp_path / "t").program).samefile(shutil.which("true"))


# ---- what a run ends with


def calls_of(handled, estimated, saved, more):
    job = {"calls": {"handled": handled, "native": 3, "before_arrival": 2}, "short_calls": 7,
           "estimated_calls": estimated, "saved_s": saved, "saved_range_s": more, "ranks": 4,
           "slept_s": 0.0}  # fmt: skip
    ended = Ended(0, 1.0, job)
    return closing_lines(["mpirun"], ended, None, Wishes(verbose=True))


@pytest.mark.parametrize(("saved", "estimated", "said"), [
    (2.0, 10, "10 of 10 handled calls saved an estimated 2 s a rank (saved: 1.5 to 2.5 s)"),
    (-0.25, 10, "10 of 10 handled calls lost an estimated 0.25 s a rank (saved: -0.75 to 0.25 s)"),
    (2.0, 4, "4 of 10 handled calls saved an estimated 2 s a rank (saved: 1.5 to 2.5 s); no "
             "estimate for the other 6"),
])  # fmt: skip
def test_what_handled_calls_saved_is_told_with_its_range(saved, estimated, said):
    *_, calls, last = calls_of(10, estimated, saved, 0.5)
    assert calls.startswith("calls of all ranks: 10 handled, 3 native; short ones left to the MPI")
    assert last == f"{said}; --compare measures it"


@pytest.mark.parametrize(("traced", "rest"), [
    (True, r"latecomer report .*/my\ trace' reads the calls before that"),
    (False, "no call was traced before that"),
])  # fmt: skip
def test_a_job_that_ended_too_early_says_what_there_is_of_it(tmp_path, traced, rest):
    folder = tmp_path / "my trace"
    folder.mkdir()
    if traced:
        Files(2).write(folder, *arrivals_and_exits(3, 2))
    ended = Ended(7, 1.0, begun=True, trace=folder)
    (line,) = closing_lines(["/usr/bin/mpirun", "./app"], ended, None, Wishes())
    assert line.startswith("mpirun ended with 7 before all ranks were in MPI_Finalize, where they")
    assert re.search(f"; {rest}$", line)


def test_a_trace_that_tells_no_call_gives_no_answer(tmp_path, capsys):
    folder = Files(2).write(tmp_path / "none", *(np.zeros((0, 2)) for _ in range(2)))
    assert _answer_of_trace(folder, None, Ended(0, 1.0)) is None
    assert capsys.readouterr().err == ""
    (folder / "rank-0.trace").write_bytes(b"junk" * 200)
    (folder / "rank-1.trace").unlink()
    assert _answer_of_trace(folder, None, Ended(0, 1.0)) is None
    told = capsys.readouterr().err
    assert f"latecomer: {folder}: usable files of a trace: none of 1 (" in told
    assert "right would be rank-0.trace, ... of one job, whole" in told
