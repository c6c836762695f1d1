"""What two programs gain by the drop-in library in the emulated cluster, beside bench's promise.

    .venv/bin/python evidence/dropin_gains.py [--programs cg,stencil] [--per-node 1,4] [--turns 3]

The programs are examples/late/cg.c, with one slow host, and examples/late/stencil.c, with random
load; neither is changed. Each runs by `latecomer run --compare` with its control. `latecomer bench`
then measures all-reduces of the same length with arrivals like the program's, of the MPI library
and of `auto` in turns: the time that a call saves after the last arrival, times the steps, is what
is promised. Prints a Markdown table. Takes 2 minutes a row; run nothing else meanwhile.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

import dropin_jobs as jobs
import numpy as np
from latecomer.lab.results import samples as measured
from latecomer.launch import mpi

SOURCES = jobs.ROOT / "examples" / "late"
LEARNS = 9  # calls in which `auto` tries algorithms
RANGES = {"cg": (20, 60), "stencil": (10, 50)}  # milliseconds of a step's computation


@dataclass(frozen=True)
class Place:
    """The cluster."""

    nodes: int
    per_node: int
    rate: str

    @property
    def ranks(self) -> int:
        return self.nodes * self.per_node

    def words(self) -> list[str]:
        return ["--nodes", str(self.nodes), "--per-node", str(self.per_node), "--rate", self.rate]


def latecomer(*words: str) -> list[str]:
    return [str(jobs.ROOT / "latecomer"), *words]


def compiled(program: str, using: mpi.Family) -> str:
    jobs.CACHE.mkdir(parents=True, exist_ok=True)
    made = jobs.CACHE / f"{program}_{using.name}"
    source = SOURCES / f"{program}.c"
    subprocess.run([str(using.mpicc), "-O2", str(source), "-o", str(made), "-lm"], check=True)
    return str(made)


def arguments(program: str, place: Place, steps: int) -> list[str]:
    """Of the program."""
    short, long = RANGES[program]
    if program == "stencil":
        return [str(steps), str(short), str(long)]
    return [str(steps), str(long), str(short), *(["node1"] if place.per_node > 1 else [])]


def lateness(program: str, place: Place, calls: int) -> np.ndarray:
    """Seconds by call and rank, like the program's."""
    short, long = RANGES[program]
    if program == "stencil":
        return np.random.default_rng(1).random((calls, place.ranks)) * (long - short) / 1e3
    late = np.zeros((calls, place.ranks))
    late[:, place.per_node : 2 * place.per_node] = (long - short) / 1e3
    return late


def compare(program: str, place: Place, options: argparse.Namespace) -> dict[str, Any]:
    """The comparison of `latecomer run`."""
    using = jobs.library(options.mpi)
    command = [str(using.mpirun), "-n", str(place.ranks), compiled(program, using)]
    if using.name == "openmpi":
        command[1:1] = ["--allow-run-as-root"]
    command += arguments(program, place, options.steps)
    run = latecomer("run", "--compare", "--turns", str(options.turns), "--json", "--", *command)
    words = latecomer("lab", "run", *place.words(), "--mpi", options.mpi, "--quiet", "--", *run)
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        sys.exit(f"{' '.join(words)} failed:\n{ended.stdout[-2000:]}{ended.stderr[-2000:]}")
    return json.loads(ended.stdout[ended.stdout.index("{") :])


def promised(program: str, place: Place, options: argparse.Namespace) -> float:
    """The seconds that bench lets expect `auto` to save in the run."""
    with tempfile.TemporaryDirectory() as folder:
        arrivals, samples = Path(folder, "arrivals.csv"), Path(folder, "samples.jsonl")
        late = lateness(program, place, LEARNS + options.iterations)
        np.savetxt(arrivals, late, fmt="%.6f", delimiter=",")
        words = latecomer(
            "bench", "--place", "lab", *place.words(), "--mpi", options.mpi, "--bytes", "1MiB",
            "--algorithms", "native,auto", "--arrivals", f"file:{arrivals}", "--estimate", "online",
            "--compute", f"{RANGES[program][0]}ms", "--iterations", str(len(late)),
            "--warmup", "0", "--samples", str(samples),
        )  # fmt: skip
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        found = measured.read(samples).complete()
    native, auto = (after_last(found, name) for name in ("native", "auto"))
    return (native - auto) * options.steps


def after_last(found: Sequence[measured.Sample], algorithm: str) -> float:
    """Mean seconds from the last arrival to the last exit, once `auto` has learnt."""
    calls = [each for each in found if each.algorithm == algorithm][LEARNS:]
    return mean(each.after_last for each in calls)


def row(program: str, place: Place, options: argparse.Namespace) -> str:
    return told(program, place, compare(program, place, options), promised(program, place, options))


def told(program: str, place: Place, found: dict[str, Any], expected: float) -> str:
    """The row of a comparison and of the seconds that bench promises."""
    without = median(found["without_s"])

    def part(name: str) -> str:
        low, high = found[f"{name}_range"]
        gain = found["gain" if name == "gain" else "control_gain"]
        return f"{100 * gain:+.1f} ({100 * low:+.1f} to {100 * high:+.1f})"

    return (
        f"| {program} | {place.nodes} x {place.per_node} | {without:.2f} "
        f"| {median(found['with_s']):.2f} | {part('gain')} "
        f"| {part('control')}; {found['verdict'].partition(':')[0]} "
        f"| {100 * expected / without:+.1f} |"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--programs", default="cg,stencil")
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--per-node", default="1,4")
    parser.add_argument("--rate", default="200mbit")
    parser.add_argument("--mpi", default="openmpi")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=30, help="of bench")
    options = parser.parse_args()
    print(
        "| program | nodes x ranks | without, s | with, s | saved, % of the time without "
        "| control, %; verdict | promised by bench, % |"
    )
    print("| --- " * 7 + "|", flush=True)
    for program in options.programs.split(","):
        for per_node in options.per_node.split(","):
            place = Place(options.nodes, int(per_node), options.rate)
            print(row(program, place, options), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
