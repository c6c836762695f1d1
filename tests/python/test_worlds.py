"""The script that plays worlds of simulated ranks."""

import subprocess
import sys

import pytest
from install_helpers import ROOT

SCRIPT = ROOT / "evidence" / "worlds.py"


def worlds(*words):
    return subprocess.run(
        [sys.executable, SCRIPT, *words], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    "kind",
    [[], ["--started"], ["--one-machine"], ["--dropin"], ["--traced"], ["--dropin", "--traced"]],
)
def test_worlds_are_played_and_counted(kind):
    done = worlds("--seeds", "1-3", "--ranks", "4", "--steps", "10", *kind)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("3 worlds, ")
    assert done.stdout.endswith("\n0 worlds with faults\n")


@pytest.mark.parametrize(
    ("seed", "ranks", "steps"),
    [
        (2099, 8, 60),  # a rank of a node dies in a call that the others wait in
        (352, 8, 60),  # one rank passes another datatype: the ranks' reviews do not meet
        (1508, 8, 40),  # MPI refuses a call, and a rank comes late to a right one after it
        (100188, 12, 80),  # MPI refuses a call: the arrivals known after it must be the same
        (1042874, 4, 10),  # a rank waits for others of its node that have left the call
        (1991000, 4, 10),  # a rank lacks memory while MPI's requests end
        (2099592, 4, 10),  # a node has no memory, and a rank asks long after the others know
    ],
)
def test_worlds_that_had_faults_are_right(seed, ranks, steps):
    size = ["--ranks", str(ranks), "--steps", str(steps)]
    done = worlds("--seeds", f"{seed}-{seed}", *size, "--one-machine")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("seed", "ranks", "steps", "kind"),
    [
        (3002844, 4, 10, ["--dropin"]),  # MPI refuses a call with LATECOMER=observe
        (3013946, 4, 10, ["--dropin"]),  # a rank waits for another to link after a long call
        (3404777, 12, 80, ["--dropin"]),  # a rank that comes too late to link hears so at once
        (3458853, 12, 80, ["--dropin"]),  # and so does rank 0, for which the others have waited
        (4207059, 4, 20, []),  # MPI refuses a call, and a rank waits long to compare calls
        (5184451, 12, 80, []),  # a rank lacks memory as it tells others of its host
        (5955346, 12, 80, []),  # a rank hears of a failure before a call that others have ended
        (5068209, 12, 80, []),  # a rank stops, and others finalize without what it tells of blocks
        (5136835, 12, 80, []),  # a rank is late in each call, and 2 s late at the end
    ],
)
def test_worlds_on_hosts_and_of_the_dropin_library_that_had_faults_are_right(
    seed, ranks, steps, kind
):
    size = ["--ranks", str(ranks), "--steps", str(steps)]
    done = worlds("--seeds", f"{seed}-{seed}", *size, *kind)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--seeds", "5-3"], "range of seeds such as 1-1000 value: '5-3'"),
        (["--seeds", "x"], "range of seeds such as 1-1000 value: 'x'"),
        (["--seeds", "1-2", "--ranks", "1"], "whole number from 2 up value: '1'"),
        (["--seeds", "1-2", "--steps", "0"], "whole number from 1 up value: '0'"),
    ],
)
def test_words_that_play_nothing_are_refused(words, said):
    done = worlds(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
