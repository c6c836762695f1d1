"""Since when somebody is late: of the time before the watch's window nothing is known."""

import json

import numpy as np
import pytest
from latecomer.cli import run
from latecomer.report.watch import prometheus, screen
from latecomer.report.watch.sentences import sentence, value
from latecomer.report.watch.watcher import Watcher
from latecomer.report.watch.window import WINDOW_S
from rich.console import Console
from trace_helpers import Files
from watch_helpers import Job, loop

STEP_S = 0.02


def late_from(folder, *spans, seconds=40):
    """A job in which rank 1 computes twice as long in these spans, of seconds."""
    work, time = [], 0.0
    while time < seconds:
        late = any(begin <= time < end for begin, end in spans)
        work.append([STEP_S, STEP_S * (2 if late else 1), STEP_S, STEP_S])
        time += max(work[-1]) + 0.001
    return Job(folder, *loop(np.array(work)))


def fresh(job, time):
    """The first look of a watch that is started at that time."""
    with Watcher(job.folder, lambda: 0.0, lambda: Files.STARTED + time) as watcher:
        job.at(time)
        return watcher.look()


@pytest.mark.parametrize("offset", np.arange(0.0, 1.0, 0.07).tolist())
def test_a_watch_that_is_started_later_knows_its_window_only(tmp_path, offset):
    """Wherever the window begins in a block, and in a call."""
    job = late_from(tmp_path / "trace", (0, 40))
    time = 20.0 + offset
    view = fresh(job, time)
    assert view.late == (1,)
    assert view.earlier
    assert sentence(view).startswith("Rank 1 on host node1 is late, for more than 10 s now: ")
    assert view.since - Files.STARTED == pytest.approx(time - WINDOW_S, abs=0.5)


@pytest.mark.parametrize("time", [6.0, 9.0])
def test_a_watch_that_sees_the_whole_job_knows_when_it_began(tmp_path, time):
    job = late_from(tmp_path / "trace", (0, 40))
    view = fresh(job, time)
    assert view.late == (1,)
    assert not view.earlier
    assert f"late, for {time:.0f} s now" in sentence(view)


@pytest.mark.parametrize(("ago", "earlier"), [(9.5, True), (8.6, True), (7.4, False), (5, False)])
def test_eight_blocks_before_it_tell_that_it_began_then(tmp_path, ago, earlier):
    job = late_from(tmp_path / "trace", (30 - ago, 40))
    view = fresh(job, 30.0)
    assert view.late == (1,)
    assert view.earlier is earlier
    assert view.since - Files.STARTED == pytest.approx(30 - ago, abs=0.5)
    assert ("late, for more than " in sentence(view)) is earlier


@pytest.mark.parametrize(("first", "earlier"), [(6.0, False), (20.0, True)])
def test_later_looks_know_what_the_first_one_did(tmp_path, first, earlier):
    job = late_from(tmp_path / "trace", (0, 40))
    with job.watcher() as watcher:
        views = [job.look(watcher, time) for time in np.arange(first, 30.0)]
    assert {view.earlier for view in views} == {earlier}
    assert len({view.since for view in views}) == 1
    said = f"for {'more than ' if earlier else ''}{views[-1].now.until - views[-1].since:.0f} s now"
    assert said in sentence(views[-1])


def shown(view):
    console = Console(width=120)
    with console.capture() as text:
        console.print(screen.screen(view, "traces", 120, 30))
    return text.get()


@pytest.mark.parametrize(("first", "more"), [(6.0, ""), (20.0, "more than ")])
def test_the_end_of_it_and_its_next_time_say_so_too(tmp_path, first, more):
    job = late_from(tmp_path / "trace", (0, 24), (39, 60), seconds=60)
    with job.watcher() as watcher:
        views = [job.look(watcher, time) for time in np.arange(first, 50.0)]
    (over, *_) = [view for view in views if view.now.was]
    assert f"is no longer late: it was so for {more}" in sentence(over)
    assert not over.earlier  # nobody is late then
    last = views[-1]
    assert last.late == (1,)
    assert not last.earlier
    assert [time.before for time in last.times] == [bool(more), False]
    assert f" for {more}{last.times[0].last - last.times[0].begin:.0f} s: waiting" in sentence(last)
    assert f"rank 1 late for {more}{last.times[0].last - last.times[0].begin:.0f} s" in shown(last)


def test_scripts_and_dashboards_are_told(tmp_path, capsys):
    job = late_from(tmp_path / "trace", (0, 40))
    view = fresh(job, 20.0)
    told = value(view)
    assert told["late_since_or_earlier"] is True
    assert told["late_since"] == view.since
    text = prometheus.text(view)
    (help_line,) = [each for each in text.splitlines() if each.startswith(
        "# HELP latecomer_late_since_timestamp_seconds ")]  # fmt: skip
    assert "earliest time at which the rank is known to have been late; it may have" in help_line
    assert value(fresh(job, 8.0))["late_since_or_earlier"] is False
    job.at(20.0)
    assert run(["watch", str(job.folder), "--once", "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["late_since_or_earlier"] in {True, False}


def test_a_rank_that_has_not_come_is_late_since_a_known_time(tmp_path):
    job = late_from(tmp_path / "trace")
    step = int(np.searchsorted(job.arrival.max(axis=1), 3.0))
    job.arrival[step:, 0] = job.arrival[step + 1 :] = job.leave[step:] = 100.0
    view = fresh(job, 20.0)
    assert view.late == (0,)
    assert not view.earlier
