"""The command `latecomer watch`: its lines, its screen, JSON, Prometheus, and a job."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from dropin_helpers import DEADLINE_S, launcher_of
from latecomer.cli import run
from latecomer.launch import preload, program
from latecomer.report.watch import screen
from latecomer.report.watch.watcher import Watcher
from mpi_helpers import installed
from rich.console import Console
from scenes_helpers import both_families
from test_watch import hanging, of_late_host
from trace_helpers import HOSTILE, Files
from watch_helpers import Job, loop, steps

KEYS = {"time", "sentence", "late_ranks", "late_hosts", "late_since",
        "late_since_or_earlier", "late_before",
        "nobody_because", "ranks", "ranks_without_file", "ranks_ended", "over", "window_s",
        "waiting_share", "by_rank", "stuck"}  # fmt: skip


@pytest.fixture
def job(tmp_path, monkeypatch):
    """One in which rank 1 is late all the time."""
    work = steps(np.random.default_rng(1), 20, 4)
    work[:, 1] += 0.02
    made = Job(tmp_path / "trace", *loop(work))
    made.time = 15.0
    made.at(15.0)
    monkeypatch.setattr(time, "time", lambda: Files.STARTED + made.time)
    return made


def test_once_says_who_is_late_by_its_exit_code_too(job, capsys):
    assert run(["watch", str(job.folder), "--once"]) == 3
    out = capsys.readouterr().out
    assert out.startswith("Rank 1 on host node1 is late, for more than 10 s now: waiting for it is")
    job.at(15.0, ended=True)
    assert run(["watch", str(job.folder), "--once"]) == 0
    assert capsys.readouterr().out == "All 4 ranks have ended.\n"


def test_once_looks_again_where_a_calendar_makes_ranks_seem_to_hang(job, capsys, monkeypatch):
    """That of the job's host is an hour behind."""

    def sleep(_):
        job.at(16.0)

    monkeypatch.setattr(time, "time", lambda: Files.STARTED + 3615)
    monkeypatch.setattr(time, "sleep", sleep)
    assert run(["watch", str(job.folder), "--once"]) == 3
    assert capsys.readouterr().out.startswith("Rank 1 on host node1 is late, ")


def test_lines_end_with_the_job(job, capsys, monkeypatch):
    def sleep(_):
        job.time += 1
        job.at(job.time, ended=job.time > 18)

    monkeypatch.setattr(time, "sleep", sleep)
    assert run(["watch", str(job.folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2  # those that say the same are not repeated
    assert re.match(r"\d\d:\d\d:\d\d Rank 1 on host node1 is late, ", lines[0])
    assert re.match(r"\d\d:\d\d:\d\d All 4 ranks have ended", lines[1])


def test_a_watch_may_begin_before_its_job(job, tmp_path, capsys, monkeypatch):
    folder = tmp_path / "later"

    def sleep(_):
        job.at(16.0, ended=True)
        job.folder.rename(folder)

    monkeypatch.setattr(time, "sleep", sleep)
    assert run(["watch", str(folder)]) == 0
    told = capsys.readouterr()
    assert f"{folder} is not there yet: waiting for the job to make it" in told.err
    assert told.out.splitlines()[0].endswith(" No rank has begun to write its trace.")
    assert told.out.splitlines()[-1].endswith(" All 4 ranks have ended.")


def test_lines_tell_the_calls_in_which_ranks_hang(tmp_path, capsys, monkeypatch):
    made, step = hanging(tmp_path)
    made.time = 20.0
    made.at(20.0)
    monkeypatch.setattr(time, "time", lambda: Files.STARTED + made.time)
    monkeypatch.setattr(time, "sleep", lambda _: made.at(21.0, ended=True))
    assert run(["watch", str(made.folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert " Rank 0 on host node0 has not come: ranks 1, 2 and 3 wait for 17 s" in lines[0]
    assert [re.sub(r"^\d\d:\d\d:\d\d", "", line) for line in lines[1:3]] == [
        f"   ranks 1, 2 and 3: for 17 s in allreduce, call {step} of MPI_COMM_WORLD",
        "     not come: rank 0 on node0, outside of collectives, for 17 s",
    ]


def test_in_a_terminal_the_screen_is_drawn_anew(job, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setattr(time, "sleep", lambda _: job.at(16.0, ended=True))
    monkeypatch.setenv("TERM", "xterm")
    assert run(["watch", str(job.folder)]) == 0
    drawn = sys.stdout.getvalue()
    assert "Ctrl-C ends the watch, not the job" in drawn
    assert "\x1b[2K" in drawn
    assert drawn.index("Rank 1 on host node1") < drawn.index("All 4 ranks have ended.")


def test_json_is_one_object_a_line(job, capsys, monkeypatch):
    def sleep(_):
        job.time += 1
        job.at(job.time, ended=job.time > 17)

    monkeypatch.setattr(time, "sleep", sleep)
    assert run(["watch", str(job.folder), "--json"]) == 0
    values = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["over"] for each in values] == [False, False, False, True]
    assert all(set(each) == KEYS for each in values)
    assert values[0]["late_ranks"] == [1]
    assert values[0]["late_hosts"] == ["node1"]
    assert [each["rank"] for each in values[0]["by_rank"]] == [0, 1, 2, 3]


@pytest.mark.parametrize("options", [["--once"], ["--once", "--json"]])
def test_a_look_at_nothing_is_refused(tmp_path, capsys, options):
    assert run(["watch", str(tmp_path / "nowhere"), *options]) == 1
    assert "no trace of a job in the folder" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert run(["watch", str(tmp_path / "file"), *options]) == 1
    assert "name the folder of the job's trace" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["rank-0.trace", "rank-7.trace", "link"])
def test_a_file_for_prometheus_is_none_of_the_trace(job, tmp_path, capsys, name):
    path = job.folder / name
    if name == "link":
        path = tmp_path / name
        path.symlink_to(job.folder / "rank-0.trace")
    before = (job.folder / "rank-0.trace").read_bytes()
    assert run(["watch", str(job.folder), "--once", "--prometheus", str(path)]) == 1
    assert "a result over a file that is read" in capsys.readouterr().err
    assert (job.folder / "rank-0.trace").read_bytes() == before


def test_a_file_for_prometheus_must_be_writable(tmp_path, job, capsys):
    wrong = tmp_path / "no" / "such.prom"
    assert run(["watch", str(job.folder), "--once", "--prometheus", str(wrong)]) == 2
    assert "--prometheus" in capsys.readouterr().err


SAMPLE = re.compile(r'latecomer_[a-z_]+(\{rank="\d+",host="(\\["\\n]|[^"\\\n])*"\})? [-+\d.e]+')


@pytest.mark.parametrize("host", ["node", 'a"b\\c', HOSTILE])
def test_prometheus_has_help_types_and_escaped_labels(job, tmp_path, host):
    for path, raw in job.whole.items():
        job.whole[path] = raw.replace(b"node1".ljust(64, b"\0"), host.encode().ljust(64, b"\0"))
    job.at(15.0)
    file = tmp_path / "job.prom"
    assert run(["watch", str(job.folder), "--once", "--prometheus", str(file)]) == 3
    text = file.read_text()
    assert text.endswith("\n")
    names = re.findall(r"^# TYPE (\S+) gauge$", text, re.M)
    assert names == re.findall(r"^# HELP (\S+) .+\.$", text, re.M)
    samples = [line for line in text.splitlines() if not line.startswith("#")]
    assert all(SAMPLE.fullmatch(line) for line in samples)
    assert {re.match(r"\w+", line)[0] for line in samples} <= set(names)
    assert [line.endswith(" 1") for line in samples if "rank_late{" in line] == [0, 1, 0, 0]
    assert re.search(r"^latecomer_late_since_timestamp_seconds\{.*\} 1764180\d\d\d", text, re.M)


def shown(view, width, height=30):
    console = Console(file=io.StringIO(), width=width, height=height, force_terminal=False)
    console.print(screen.screen(view, "traces", width, height))
    return console.file.getvalue()


@pytest.mark.parametrize("width", [40, 60, 100, 200])
def test_the_screen_fits_into_the_terminal(job, width):
    with job.watcher() as watcher:
        text = shown(job.look(watcher, 15.0), width)
    assert all(len(line) <= width for line in text.splitlines())
    assert "Rank 1 on host node1" in " ".join(text.split())
    (row,) = [line for line in text.splitlines() if re.match(r" *1 +node1", line)]
    assert "█" in row


def test_a_screen_of_many_ranks_shows_those_that_matter(tmp_path):
    work = steps(np.random.default_rng(1), 12, 40)
    work[:, 23] += 0.02
    made = Job(tmp_path / "trace", *loop(work))
    with made.watcher() as watcher:
        text = shown(made.look(watcher, 11.0), 100, 24)
    assert re.search(r"^ *23 +node23", text, re.M)
    assert re.search(r"and 2[4-9] more", text)
    assert len(text.splitlines()) <= 24


def test_the_screen_of_a_late_host_has_a_row_a_host(tmp_path):
    made = of_late_host(tmp_path / "trace")
    with made.watcher() as watcher:
        text = shown(made.look(watcher, 15.0), 100)
    rows = [line.split()[0] for line in text.splitlines() if re.match(r" *host\d", line)]
    assert rows == ["host1", "host0"]


def test_the_screen_tells_who_has_ended_and_the_calls_in_which_ranks_hang(tmp_path):
    made, step = hanging(tmp_path)
    with made.watcher() as watcher:
        made.at(20.0)
        made.show(3, list(made.whole)[3], 3.9, ended=True)
        made.time = 20.0
        text = shown(watcher.look(), 100)
    assert " traces  4 ranks on 4 hosts  1 ended" in text.splitlines()[0]
    assert f"ranks 1 and 2: for 17 s in allreduce, call {step} of MPI_COMM_WORLD" in text
    assert "  not come: rank 0 on node0, outside of collectives, for 17 s" in text


LATE = r"""
#include <mpi.h>
#include <unistd.h>
int main(int argc, char** argv) {
  int rank, mine, go = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  while (go) {
    usleep(rank == 2 ? 100000 : 20000);
    mine = access(argv[1], F_OK) != 0;
    MPI_Allreduce(&mine, &go, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  }
  return MPI_Finalize();
}
"""


@both_families
def test_the_late_rank_of_a_running_job_is_named_until_it_ends(name, tmp_path):
    if program.find_built(preload.WITH_MESSAGES) is None:
        pytest.skip("the drop-in library is not built")
    source, folder, stop = tmp_path / "late.c", tmp_path / "trace", tmp_path / "stop"
    source.write_text(LATE)
    subprocess.run([installed(name).mpicc, source, "-o", tmp_path / "late"], check=True)
    launch = launcher_of(name, 4, [str(tmp_path / "late"), str(stop)])
    variables = {"LATECOMER_TRACE": str(folder), "LATECOMER": "observe",
                 "LD_PRELOAD": str(preload.library(messages=True))}  # fmt: skip
    command = preload.with_variables(launch.command, variables)
    job = subprocess.Popen(command, env=launch.env, start_new_session=True)
    try:
        until, view = time.monotonic() + DEADLINE_S, None
        with Watcher(folder) as watcher:
            while time.monotonic() < until and job.poll() is None:
                view = watcher.look()
                if view.late == (2,):  # the machine may hold up others for seconds, too
                    stop.touch()
                time.sleep(0.5)
            assert stop.exists(), view
            assert watcher.look().over
        assert job.wait() == 0
    finally:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGTERM)
            job.wait()
