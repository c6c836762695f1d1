"""Ctrl-C and --deadline are heard in the midst of the core's work, not after it."""

import os
import signal
import subprocess
import sys
from functools import partial
from itertools import starmap
from pathlib import Path

import latecomer
import pytest
from latecomer.base.errors import DeadlineError
from latecomer.core.compiled import core
from latecomer.core.programs import problem
from latecomer.lab.sweep.run import time_limit
from simulate_helpers import refusal

PACKAGE_FOLDER = str(Path(latecomer.__file__).parents[1])


def plan(algorithm, ranks, count=1 << 20):
    return core.Plan(problem(ranks=ranks, count=count), algorithm)


def pricing():
    return plan("early_owners:blocks=4096", 1024).time


def program():
    return partial(plan("linear_tree:segments=262144", 4096).operations, 1)


def text_of_a_program():
    return partial(plan("linear_tree:segments=262144", 4096).program_text, 1)


def counting():
    return plan("linear_tree:segments=1048576", 4096).about_operations


def checking():
    return plan("segmented_ring:segments=4096", 512).counterexample


def checking_a_text():
    schedule = latecomer.program("segmented_ring:segments=4096", ranks=8, count=4096)
    return partial(core.verify_text, schedule.text)


def simulating():
    return partial(plan("segmented_ring:segments=4096", 512).simulate, None, True)


def rehearsing():
    ranks = 512
    series = core.Rehearsal(
        problem(ranks=ranks, count=1 << 20), "ring", core.Network(), core.Network(), "ring"
    )
    return partial(series.call, [0.0] * ranks)


def bounding():
    ranks = 1 << 14
    words = [float(rank) for rank in range(ranks)], core.Network()
    return partial(core.least_after_last, problem(ranks=ranks, collective="allgather"), *words)


LONG = [
    pricing,
    program,
    text_of_a_program,
    counting,
    checking,
    checking_a_text,
    simulating,
    rehearsing,
    bounding,
]


@pytest.mark.parametrize("make", LONG, ids=lambda make: make.__name__)
def test_a_signal_ends_the_work_of_the_core(make):
    work = make()
    done = []
    with pytest.raises(DeadlineError), time_limit(0.03):
        # Without a step of Python between the end of the work and the list: a signal heard only
        # after the work would leave its result there.
        done.extend(starmap(work, [()]))
    assert done == []


SLOW = "early_owners:blocks=4096"


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (signal.SIGINT, ["show", SLOW, "--ranks", "1024", "--count", "4096"]),
        (signal.SIGTERM, ["verify", "--algorithms", "segmented_ring", "--ranks", "1024"]),
        (signal.SIGINT, ["simulate", "--nodes", "4096", "--algorithms", SLOW]),
    ],
)
def test_an_interruption_of_a_verb_is_told_and_ends_it(number, words):
    # By the program's own time, so that the signal comes in the midst of its work.
    program = f"""
import signal, sys
from latecomer.cli import main
sys.argv[1:] = {words}
signal.signal(signal.SIGPROF, lambda *_: signal.raise_signal({int(number)}))
signal.setitimer(signal.ITIMER_PROF, 2)
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": PACKAGE_FOLDER},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 130, done.stderr
    assert "latecomer: interrupted" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_deadline_is_heard_before_the_first_case_is_complete(capsys):
    words = ["--collective", "allgather", "--algorithms", "sorted_gather_bcast"]
    said = refusal(capsys, *words, "--nodes", "4096", "--deadline", "0.5", code=1)
    assert "error: no case was completed: stopped by --deadline after 0.5 s; ask for less" in said
