"""Whom does `latecomer watch` name in a job in which nobody in particular is late?

Draws jobs of steps of 20 ms whose ranks are longer by chance, looks at the last ten seconds each
second, and prints how often somebody is named: by the report's rule alone, by the watch, and by the
watch if each call counted as a block. Run from the root of the repository:

    .venv/bin/python evidence/watch_healthy.py [--seconds 600] [--seed 7]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from latecomer.report.analysis.cut import analysed
from latecomer.report.analysis.facts import facts
from latecomer.report.trace import Words
from latecomer.report.watch import late
from latecomer.report.watch.window import WINDOW_S

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "python"))

from trace_helpers import group_of, trace_of

STEP_S = 0.02
COMPUTE_S = 0.6 * STEP_S
KINDS = ("exponential", "delays", "drift 0.05 s", "drift 0.5 s", "drift 2 s")


def longer(kind: str, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """By how many seconds each rank's computation is longer, of shape (steps, ranks)."""
    if kind == "exponential":
        return rng.exponential(0.15 * STEP_S, shape)
    if kind == "delays":  # of 50 ms in the mean, in one step of a hundred
        rare = (rng.random(shape) < 0.01) * rng.exponential(0.05, shape)
        return rng.exponential(0.02 * STEP_S, shape) + rare
    kept = np.exp(-STEP_S / float(kind.split()[1]))
    drift, new = np.empty(shape), rng.normal(size=shape)
    drift[0] = new[0]
    for step in range(1, len(drift)):
        drift[step] = kept * drift[step - 1] + np.sqrt(1 - kept**2) * new[step]
    return COMPUTE_S * np.maximum(0.3 + 0.15 * drift, 0.0)


def named(kind: str, ranks: int, seconds: float, seed: int) -> tuple[int, ...]:
    """Looks, and in how many somebody is named: by the rule, by the watch, and call by call."""
    rng = np.random.default_rng(seed)
    work = COMPUTE_S + longer(kind, (round(seconds / STEP_S), ranks), rng)
    ends = np.cumsum(work.max(axis=1) + 0.001)
    arrival = np.concatenate([[0.0], ends[:-1]])[:, None] + work
    counts = np.zeros(4, np.int64)
    for end in np.arange(WINDOW_S, ends[-1], 1.0):
        part = slice(*np.searchsorted(ends, [end - WINDOW_S, end]))
        leave = np.repeat(ends[part, None], ranks, axis=1)
        words = Words()
        calls = trace_of([group_of(arrival[part], leave, words)], words, hosts=["node"] * ranks)
        found = analysed(calls, skip=0)
        seen = [late.now(found, block) for block in (late.BLOCK_S, 1e-3)]
        counts += [1, bool(facts(found).late), *(bool(each.facts.late or each.was)
                                                 for each in seen)]  # fmt: skip
    return tuple(counts.tolist())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="of each job")
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    print("| work | ranks | looks | report's rule | watch | each call a block |")
    print("| --- | --- | --- | --- | --- | --- |")
    for kind in KINDS:
        for ranks in (2, 4, 64):
            told = named(kind, ranks, given.seconds, given.seed)
            print(f"| {kind} | {ranks} | {' | '.join(map(str, told))} |", flush=True)


if __name__ == "__main__":
    main()
