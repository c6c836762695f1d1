"""Checks that calls on shared hosts of the emulated cluster never stall, by repeating them.

    .venv/bin/python evidence/soak.py [--runs 10] [--mpi openmpi] [--algorithms native,ring]

Prints a line for each run and fails if one call took more than 10 times its algorithm's median, or
if a run did not end before its deadline. Takes a minute a run.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from latecomer.lab.results import samples as measured

STALL = 10  # medians


def main() -> int:
    """The exit code."""
    options = _options()
    seconds: dict[str, list[float]] = {}
    failed = 0
    for run in range(1, options.runs + 1):
        found, trouble = _bench(run, options)
        for sample in found:
            seconds.setdefault(sample.algorithm, []).append(sample.run_time)
        failed += trouble != ""
        print(f"run {run}: {len(found)} calls, longest {_longest(found)} {trouble}", flush=True)
    stalls = [line for name, times in seconds.items() for line in stalled(name, times)]
    print("\n".join(stalls) or f"no call took more than {STALL} times the median")
    return 1 if failed or stalls or not seconds else 0


def stalled(algorithm: str, seconds: Sequence[float]) -> list[str]:
    """A line for each call that took more than 10 times the median of its algorithm."""
    median = float(np.median(seconds))
    return [
        f"{algorithm}, call {call}: {time:.2f} s, the median is {median:.2f} s"
        for call, time in enumerate(seconds)
        if time > STALL * median
    ]


def _longest(found: Sequence[measured.Sample]) -> str:
    return f"{max(sample.run_time for sample in found):.2f} s" if found else "-"


def _bench(run: int, options: argparse.Namespace) -> tuple[list[measured.Sample], str]:
    """The complete calls, and why there are no more."""
    with tempfile.TemporaryDirectory() as folder:
        samples = Path(folder, "samples.jsonl")
        words = ["--nodes", str(options.nodes), "--per-node", str(options.per_node),
                 "--bytes", options.bytes, "--algorithms", options.algorithms,
                 "--mpi", options.mpi, "--iterations", str(options.iterations),
                 "--seed", str(run), "--deadline", str(options.deadline),
                 "--samples", str(samples)]  # fmt: skip
        command = [sys.executable, "-m", "latecomer", "bench", "--place", "lab", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        words = [f"exit code {done.returncode}", *done.stderr.strip().splitlines()[-1:]]
        trouble = ": ".join(words) if done.returncode else ""
        try:
            return measured.read(samples).complete(), trouble
        except measured.SampleError as error:
            return [], trouble or str(error)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--per-node", type=int, default=4)
    parser.add_argument("--bytes", default="4MiB")
    parser.add_argument("--algorithms", default="native,ring,generalized")
    parser.add_argument("--mpi", default="openmpi")
    parser.add_argument("--iterations", type=int, default=16, help="late; and 8 balanced")
    parser.add_argument("--deadline", type=float, default=300, help="of a run, in seconds")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
