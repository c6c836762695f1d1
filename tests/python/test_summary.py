"""Who was late, in a sentence: nobody is named where the clocks do not tell."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from latecomer.base.clock import clock_of_this_process
from latecomer.base.summary import RankSummary, Summary


def summary(waiting: float, error: float) -> Summary:
    """Ten calls, in all of which rank 1 came last, and rank 0 waited so long in all."""
    ranks = (
        RankSummary(0, "a", 1.0, 10, 10, 0, waiting, 0.1),
        RankSummary(1, "b", 1.0, 10, 10, 10, 0.0, 0.1),
    )
    return Summary(ranks, clock_error=error)


def test_the_error_of_clocks_is_told_beside_the_rank():
    said = str(summary(0.5, 0.0007)).splitlines()[0]
    assert said.endswith("Rank 1 on b came last in 10 of the 10 calls whose arrivals are known. "
                         "Their clocks are compared to ±700 µs.")  # fmt: skip
    assert "±" not in str(summary(0.5, 0.0))


@pytest.mark.parametrize("error", [0.05, 0.3])
def test_below_the_error_of_clocks_nobody_is_named(error):
    said = str(summary(0.5, error)).splitlines()[0]
    assert "Rank" not in said
    assert said.endswith(f"Who came last is not known: clocks are compared to ±{1e3 * error:.4g} ms, "
                         "and ranks wait 50 ms a call.")  # fmt: skip


def test_without_arrivals_no_rank_is_named():
    said = str(Summary((RankSummary(0, "a", 1.0, 10, 0, 0, 0.0, 0.1),)))
    assert said.splitlines()[0].endswith("10.0 % moving data. No arrivals are known.")


def test_the_rank_for_which_others_wait_most_is_named_before_the_one_that_is_last_most_often():
    ranks = (
        RankSummary(0, "a", 1.0, 10, 10, 7, 0.3, 0.1, caused=0.1),
        RankSummary(1, "b", 1.0, 10, 10, 3, 0.1, 0.1, caused=0.3),
    )
    assert "Rank 1 on b came last in 3 of the 10 calls whose arrivals are known, and caused 75 % of " \
        "the waiting." in str(Summary(ranks))  # fmt: skip


def test_processes_of_a_machine_read_one_clock():
    code = "from latecomer.base.clock import clock_of_this_process as c; print(c())"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout == f"{clock_of_this_process()}\n"


def test_a_clock_that_is_not_known_is_like_no_other(monkeypatch):
    def unknown(_path):
        raise OSError

    monkeypatch.setattr(Path, "readlink", unknown)
    assert clock_of_this_process()[1:] == (str(os.getpid()),) * 2
