"""Ranks that are killed or stopped: the job ends, or goes on, as with the native collective."""

import os
import re
import signal
from pathlib import Path

import pytest
from mpi_helpers import AS_USERS, wait_until
from scenes_helpers import both_families, run_scene

RANKS = 3
VICTIM = 1
PHASES = ("computing", "combining", "clock", "link", "thread")


def struck(said: str) -> int:
    """The process that got the signal; 0 if none did yet."""
    found = re.search(r"scene: process (\d+) gets signal", said)
    return int(found.group(1)) if found else 0


def is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def continue_it(report: str | None):
    """Continues the stopped rank once the others have printed the expected text."""

    def meanwhile(said):
        wait_until(lambda: struck(said()))
        pid = struck(said())
        wait_until(lambda: is_stopped(pid))
        try:
            if report:
                wait_until(lambda: re.search(report, said()))
        finally:
            os.kill(pid, signal.SIGCONT)

    return meanwhile


def algorithm(phase: str) -> str:
    return "sorted_linear_tree:segments=8" if phase == "thread" else "ring"


def env(phase: str) -> dict[str, str] | None:
    return {"LATECOMER_PROGRESS": "thread"} if phase == "thread" else None


@both_families
@pytest.mark.parametrize("phase", PHASES)
def test_a_killed_rank_ends_the_job(name, phase, monkeypatch):
    if phase == "combining":
        monkeypatch.setenv(*AS_USERS)
    native = run_scene(name, RANKS, ["trouble", "kill", "computing", "native"])
    ended = run_scene(name, RANKS, ["trouble", "kill", phase, algorithm(phase)], env=env(phase))
    assert struck(ended.err), ended.err
    assert ended.code != 0
    # MPICH ends the job by itself where a rank was reading the dead one's memory.
    assert ended.code == native.code or "MPIDI_IPC" in ended.err


def waiting(call: int, what: str) -> str:
    """A report of a long wait: the waiting rank, place, call, duration, the missing rank, where."""
    who = rf"latecomer: rank \d of 'halo' \({RANKS} ranks\), call {call}"
    where = rf".*; .*\brank {VICTIM}(?: is)? on host \S+"
    return rf"{who}(?: \(allreduce of .* by \w+\))?: waiting for \d+\.\d+ s {what}{where}"


REPORTS = {
    "computing": waiting(2, rf".*to receive from rank {VICTIM}\b"),
    "combining": waiting(2, rf".*to receive from rank {VICTIM}\b"),
    "clock": waiting(1, rf"for rank {VICTIM} to set the clock"),
    "thread": waiting(2, rf".*from rank {VICTIM}\b"),
    "link": None,  # they wait in the MPI library
}


@both_families
@pytest.mark.parametrize("phase", PHASES)
def test_a_stopped_rank_is_reported_and_waited_for(name, phase):
    ended = run_scene(
        name,
        RANKS,
        ["trouble", "stop", phase, algorithm(phase)],
        env=env(phase),
        meanwhile=continue_it(REPORTS[phase]),
    )
    assert ended.code == 0, ended.err
    assert "scene: not true" not in ended.err


@both_families
def test_ranks_that_disagree_end_after_the_error(name):
    """They fail at about the same time, so a rank may be gone when another one notifies it.

    A slow rank may hear of the failure in the call before, and fails in that one already.
    """
    connections = {"FI_PROVIDER": "tcp", "MPIR_CVAR_CH4_NETMOD": "ofi", "MPIR_CVAR_NOLOCAL": "1"}
    for _ in range(3):
        ended = run_scene(name, RANKS, ["disagreement"], env=connections, deadline=600)
        assert ended.code == 0, ended.err
        assert ended.err.count("scene: no error") >= 2, ended.err  # those that disagree
        assert ended.err.count("scene: ") == 2 * RANKS, ended.err
        assert ended.err.count("scene: an error") >= RANKS, ended.err


@both_families
def test_a_scene_that_is_not_as_expected_is_noticed(name):
    """The tests above rest on an exit code that tells."""
    ended = run_scene(name, 1, ["trouble", "stop"])
    assert ended.code != 0
    assert "scene: not true: trouble SIGNAL PHASE ALGORITHM" in ended.err
