"""The what-if of `latecomer report` beside what really happened, in the emulated cluster.

    .venv/bin/python evidence/what_if.py [--keep FOLDER] [--predict FOLDER] [--turns 2]

Calibrates the cluster, runs five programs with the MPI library's own all-reduce and with others,
each traced, and then predicts the run times of the others from one trace of the first. --keep
keeps costs and traces in a folder, and adds runs to those that it holds; --predict predicts from
those that were kept, and measures nothing. A turn takes five minutes; run nothing else meanwhile.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import mean

from latecomer.core import networks
from latecomer.lab import cluster
from latecomer.report.analysis.lateness import analyse
from latecomer.report.analysis.what_if import what_if
from latecomer.report.trace import read

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = {  # name: source and arguments
    "late": ("late", "60"),
    "random": ("loops", "random", "60"),
    "rotating": ("loops", "rotating", "80"),
    "sweep": ("loops", "sweep", "60"),
    "halo": ("loops", "halo", "80"),
}
ALGORITHMS = ("native", "ring", "sorted_linear_tree", "early_owners", "auto")
NODES, RATE_BITS = 8, 200_000_000
DIFFER = 0.05  # run times that differ by more must be predicted in the right order


def main() -> None:
    """The table."""
    options = _options()
    if options.predict:
        _predict(options.predict, options.base)
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        _measure(folder, options.turns)
        _predict(folder, options.base)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", type=Path, help="keep costs and traces in this folder")
    parser.add_argument("--predict", type=Path, help="use what was kept in this folder")
    parser.add_argument("--base", default="native", help="predict from the trace of this one")
    parser.add_argument("--turns", type=int, default=2, help="runs of each")
    return parser.parse_args()


def _measure(folder: Path, turns: int) -> None:
    env = os.environ | {"XDG_CONFIG_HOME": str(folder.resolve()), "LATECOMER_STATS": "0"}
    latecomer = str(ROOT / "latecomer")
    place = ["--nodes", str(NODES), "--rate", f"{RATE_BITS // 10**6}mbit"]
    if not (folder / "latecomer" / "network").exists():
        _run([latecomer, "calibrate", *place, "--budget", "20s"], env)
    done = len(list(folder.glob(f"late-{ALGORITHMS[-1]}-?")))
    for source in {words[0] for words in PROGRAMS.values()}:
        code = ROOT / "examples" / "late" / f"{source}.c"
        _run(["mpicc", "-O2", str(code), "-o", str(folder / source)], env)
    for turn in range(done, done + turns):
        for name, (source, *words) in PROGRAMS.items():
            for algorithm in ALGORITHMS:
                trace = folder / f"{name}-{algorithm}-{turn}"
                command = [
                    latecomer,
                    "lab",
                    "run",
                    "--quiet",
                    *place,
                    "--",
                    latecomer,
                    "run",
                    "--algorithm",
                    f"allreduce:{algorithm};bcast:native",
                    "--trace",
                    str(trace.resolve()),
                    "--",
                    "mpirun",
                    "-n",
                    str(NODES),
                    str(folder / source),
                    *words,
                ]
                _run(command, env)


def _run(command: list[str], env: dict[str, str]) -> None:
    ended = subprocess.run(
        command, env=env, check=False, capture_output=True, text=True, timeout=300
    )
    if ended.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{ended.stderr[-2000:]}")


def _predict(folder: Path, base: str) -> None:
    saved = networks.load(folder / "latecomer" / "network").text
    costs = f"{saved},burst={cluster.LabSpec(NODES, RATE_BITS).burst}"
    print(f"network: {costs}")
    print("| program | algorithm | measured s | predicted s | error |")
    print("| --- | --- | --- | --- | --- |")
    for name in PROGRAMS:
        measured = {each: _measured(folder, name, each) for each in ALGORITHMS}
        trace = read(folder / f"{name}-{base}-0")
        run = analyse(trace).run_seconds
        found = what_if(trace, run, network=costs, known=True, seconds=20, only=ALGORITHMS)
        predicted = {a.scenario.algorithm: a.replayed.seconds for a in found.answers if a.replayed}
        for each in ALGORITHMS:
            real = mean(measured[each])
            runs = " ".join(f"{run:.2f}" for run in measured[each])
            print(f"| {name} | {each} | {runs} | {predicted[each]:.2f} "
                  f"| {100 * (predicted[each] / real - 1):+.1f} % |")  # fmt: skip
        _print_ranking(name, {each: mean(runs) for each, runs in measured.items()}, predicted)


def _measured(folder: Path, name: str, algorithm: str) -> list[float]:
    paths = sorted(folder.glob(f"{name}-{algorithm}-?"))
    return [analyse(read(path)).run_seconds for path in paths]


def _print_ranking(name: str, measured: dict[str, float], predicted: dict[str, float]) -> None:
    """The pairs that differ clearly, and those of them in the wrong order."""
    pairs = [(a, b) for a in measured for b in measured if measured[a] < measured[b] * (1 - DIFFER)]
    wrong = [f"{a} before {b}" for a, b in pairs if predicted[a] >= predicted[b]]
    said = f"{len(pairs)} pairs differ by more than {DIFFER:.0%}, {len(wrong)} predicted in the "
    print(f"\n{name}: {said}wrong order: {', '.join(wrong) or 'none'}\n")


if __name__ == "__main__":
    main()
