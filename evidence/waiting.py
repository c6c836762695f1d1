"""Measures in turns the cost and the gain of ranks that sleep while they wait (docs/waiting.md).

    .venv/bin/python evidence/waiting.py [--turns 8] [--ranks 2] [--mpi openmpi] [--draw FILE]

Runs the programs of examples/late by the MPI library alone, and with LATECOMER_WAIT=poll,
poll again (the control), and sleep, in changing order. Prints medians over the turns: the time of
the steps, longer or shorter than with poll, with the range of the turns; processor time of the
whole job; and of the program `beside`, how much was computed beside the waiting ranks. --draw makes
the picture. On a quiet machine with a core for each rank; takes some three minutes a turn.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from latecomer.launch import mpi, preload

ROOT = Path(__file__).resolve().parents[1]
KINDS = ("alone", "poll", "again", "sleep")
PROGRAMS = {
    "late": ["late", "40"],
    "cg": ["cg", "40", "60", "20"],
    "stencil": ["stencil", "40"],
    "loops random": ["loops", "random", "40"],
    "loops rotating": ["loops", "rotating", "40"],
    "loops sweep": ["loops", "sweep", "40"],
    "loops halo": ["loops", "halo", "40"],
    "beside": ["beside", "40"],
}
Turn = dict[str, dict[str, dict[str, float]]]  # by kind, program and what is measured


def main() -> None:
    """The medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=8)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--mpi", default="openmpi")
    parser.add_argument("--draw", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        family = mpi.family(options.mpi)
        if family.mpicc is None:
            sys.exit(f"no mpicc for {family.describe()}")
        for name in sorted({words[0] for words in PROGRAMS.values()}):
            source = ROOT / f"examples/late/{name}.c"
            subprocess.run([family.mpicc, "-O2", source, "-o", folder / name, "-lm", "-lpthread"],
                           check=True)  # fmt: skip
        turns = [_turn(family, folder, options.ranks, n) for n in range(options.turns)]
    print("| program | alone: s, core s | poll: s, core s | again: longer | sleep: s, core s "
          "| longer |\n| --- | --- | --- | --- | --- | --- |")  # fmt: skip
    for program in PROGRAMS:
        alone, poll, sleep = (_both(turns, kind, program) for kind in ("alone", "poll", "sleep"))
        again, longer = (_longer(turns, kind, program) for kind in ("again", "sleep"))
        print(f"| {program} | {alone} | {poll} | {again} | {sleep} | {longer} |")
    for kind in KINDS:
        print(f"{kind}: computed beside {_middle(turns, kind, 'beside', 'beside'):.0f} a second")
    if options.draw:
        _draw(turns, options.draw)


def _turn(family: mpi.Family, folder: Path, ranks: int, number: int) -> Turn:
    order = [*KINDS[number % len(KINDS) :], *KINDS[: number % len(KINDS)]]
    return {kind: {program: _run(family, folder, ranks, kind, words)
                   for program, words in PROGRAMS.items()} for kind in order}  # fmt: skip


def _run(
    family: mpi.Family, folder: Path, ranks: int, kind: str, words: list[str]
) -> dict[str, float]:
    program = [str(folder / words[0]), *words[1:]]
    launch = mpi.launch_command(family, ranks, program, allow_root=True)
    command = launch.command
    if kind != "alone":
        settings = {"LATECOMER_WAIT": "sleep" if kind == "sleep" else "poll"}
        command = preload.preloading(command, preload.library(), settings)
    before = _used()
    done = subprocess.run(command, env=os.environ | launch.env, capture_output=True, text=True,
                          check=True)  # fmt: skip
    steps = re.search(r"steps in ([\d.]+) s", done.stdout)
    beside = re.search(r"computed beside them: (\d+)", done.stdout)
    return {"s": float(steps[1]) if steps else float("nan"), "core": _used() - before,
            "beside": float(beside[1]) if beside else float("nan")}  # fmt: skip


def _used() -> float:
    """Processor time of all children that have ended, seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _middle(turns: list[Turn], kind: str, program: str, what: str) -> float:
    return median(turn[kind][program][what] for turn in turns)


def _both(turns: list[Turn], kind: str, program: str) -> str:
    return ", ".join(f"{_middle(turns, kind, program, what):.3f}" for what in ("s", "core"))


def _longer(turns: list[Turn], kind: str, program: str) -> str:
    all_ = sorted(100 * (turn[kind][program]["s"] / turn["poll"][program]["s"] - 1)
                  for turn in turns)  # fmt: skip
    return f"{median(all_):+.2f} % ({all_[0]:+.2f} to {all_[-1]:+.2f})"


def _draw(turns: list[Turn], file: Path) -> None:
    """Processor time of the whole job, by program and kind."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "latecomer"
    from matplotlib import pyplot as plt

    programs = [program for program in PROGRAMS if program != "beside"]
    figure, axes = plt.subplots(figsize=(7, 2.6), layout="constrained")
    shown = ("MPI library alone", "alone"), ("latecomer, poll", "poll"), ("sleep", "sleep")
    for place, (label, kind) in enumerate(shown):
        heights = [_middle(turns, kind, program, "core") for program in programs]
        axes.bar([x + 0.27 * (place - 1) for x in range(len(programs))], heights, 0.25, label=label)
    axes.set_xticks(range(len(programs)), [name.replace(" ", "\n") for name in programs])
    axes.set_ylabel("processor time of the job, s")
    figure.legend(loc="outside upper center", ncols=3)
    figure.savefig(file, metadata={"Date": None})


if __name__ == "__main__":
    main()
