"""Measures the automatic choice in the emulated cluster, nothing known beforehand.

    .venv/bin/python evidence/choice_lab.py [--nodes 16] [--bytes 4MiB] [--delay 0.7] [--only NAME]
                                         [--mpi mpich]

Prints a table: for each scenario the mean over the calls of (mean exit minus last arrival) of the
native collective, the best balanced program and the automatic choice, interleaved in one run, and
the medians of the calls' ratios with their 95 % intervals. The first nine calls, in which the
choice tries things out, are left out. Takes a quarter of an hour; run nothing else meanwhile.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from latecomer.lab.results import samples as measured
from ratios import median_interval

ROOT = Path(__file__).resolve().parent.parent
FIRST = 9  # calls that an estimate may take
ALGORITHMS = ("native", "fastest", "auto")


@dataclass(frozen=True)
class Scenario:
    """The lateness in each call, as parts of the delay, and the estimate of it."""

    lateness: np.ndarray  # shape (calls, ranks), 0 to 1
    estimate: str


def scenarios(ranks: int) -> dict[str, Scenario]:
    """By name."""
    calls = np.arange(60)
    changing = np.zeros((60, ranks))
    changing[calls, (7 + 13 * (calls // 20)) % ranks] = 1
    one = np.zeros((30, ranks))
    one[:, ranks // 3] = 1
    return {
        "balanced": Scenario(np.zeros((100, ranks)), "online"),
        "one late rank": Scenario(one, "online"),
        "one late rank, known": Scenario(one, "perfect"),
        "another one every 20 calls": Scenario(changing, "online"),
        "random, no memory": Scenario(np.random.default_rng(2).random((40, ranks)), "online"),
        "one late rank, estimate reversed": Scenario(one, "wrong"),
    }


def main() -> None:
    """The table."""
    options = _options()
    print("| arrivals | native | balanced | auto | auto / native | auto / balanced | wrong |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, scenario in scenarios(options.nodes).items():
        if options.only in (None, name):
            print(f"| {name} | {_cells(scenario, options)} |", flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=16)
    parser.add_argument("--bytes", default="4MiB")
    parser.add_argument("--delay", type=float, default=0.7, help="seconds")
    parser.add_argument("--only", help="one scenario")
    parser.add_argument("--mpi", help="the MPI library; default: the first one found")
    return parser.parse_args()


def _cells(scenario: Scenario, options: argparse.Namespace) -> str:
    with tempfile.TemporaryDirectory() as folder:
        arrivals, samples = Path(folder, "arrivals.csv"), Path(folder, "samples.jsonl")
        np.savetxt(arrivals, scenario.lateness * options.delay, fmt="%.6f", delimiter=",")
        _bench(arrivals, samples, len(scenario.lateness), scenario.estimate, options)
        found = measured.read(samples).complete()
    times = {name: _mean_after_last(found, name)[FIRST:] for name in ALGORITHMS}
    means = " | ".join(f"{1e3 * times[name].mean():.1f}" for name in ALGORITHMS)
    ratios = " | ".join(median_interval(times["auto"] / times[o]) for o in ("native", "fastest"))
    return f"{means} | {ratios} | {sum(sample.wrong for sample in found)}"


def _bench(arrivals: Path, samples: Path, calls: int, estimate: str, options) -> None:
    command = [str(ROOT / "latecomer"), "bench", "--nodes", str(options.nodes),
               "--bytes", options.bytes, "--algorithms", ",".join(ALGORITHMS),
               "--arrivals", f"file:{arrivals}", "--estimate", estimate, "--compute", "20ms",
               "--iterations", str(calls), "--warmup", "0", "--samples", str(samples)]  # fmt: skip
    if options.mpi:
        command += ["--mpi", options.mpi]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=1800)


def _mean_after_last(found: list[measured.Sample], algorithm: str) -> np.ndarray:
    """Mean exit minus last arrival, seconds, of the algorithm's calls in their order."""
    calls = [sample for sample in found if sample.algorithm == algorithm]
    return np.array([np.mean(np.add(s.arrival, s.stays)) - max(s.arrival) for s in calls])


if __name__ == "__main__":
    main()
