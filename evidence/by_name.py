"""The programs of examples/late with `auto` beside each algorithm by name, in the emulated cluster.

    .venv/bin/python evidence/by_name.py [--steps 200] [--programs late,cg] [--turns 2]

Eight hosts with 200 Mbit/s; nothing is calibrated. Each program runs with every algorithm; then
the best of them, `auto` and the MPI library run again, in turns. Prints a Markdown table: the
seconds of the program's steps from their begin to their end, and `auto` over the best algorithm by
name, with the largest spread of runs of one kind as control. Takes 20 minutes; run nothing else
meanwhile.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import mean

import dropin_jobs as jobs

PROGRAMS = {  # name: source and arguments; %d is the number of steps
    "late": ("late", "%d"),
    "random": ("loops", "random", "%d"),
    "rotating": ("loops", "rotating", "%d"),
    "sweep": ("loops", "sweep", "%d"),
    "halo": ("loops", "halo", "%d"),
    "cg": ("cg", "%d", "60", "20"),
    "stencil": ("stencil", "%d", "10", "50"),
}
BY_NAME = ("native", "ring", "sorted_linear_tree", "early_owners", "online_owners")
NODES = 8
DEADLINE = 300  # seconds of one run


def main() -> None:
    """The table."""
    options = _options()
    heads = ["program", *(f"`{each}`" for each in (*BY_NAME, "auto"))]
    heads += ["`auto` / best by name", "spread"]
    print(f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}")
    with tempfile.TemporaryDirectory() as folder:
        for program in options.programs.split(","):
            print(_row(Path(folder), program, options), flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--programs", default=",".join(PROGRAMS), metavar="NAMES")
    parser.add_argument("--steps", type=int, default=200, metavar="N")
    parser.add_argument("--turns", type=int, default=2, metavar="N", help="runs of the best")
    options = parser.parse_args()
    for each in options.programs.split(","):
        if each not in PROGRAMS:
            parser.error(f"--programs: '{each}' is none of {', '.join(PROGRAMS)}")
    return options


def _row(folder: Path, program: str, options: argparse.Namespace) -> str:
    made = folder / program
    source, *words = (word.replace("%d", str(options.steps)) for word in PROGRAMS[program])
    code = jobs.ROOT / "examples" / "late" / f"{source}.c"
    _run(["mpicc", "-O2", str(code), "-o", str(made), "-lm"], folder)
    seconds = {each: [_measured(folder, each, [str(made), *words])] for each in (*BY_NAME, "auto")}
    best = min(BY_NAME, key=lambda each: seconds[each][0])
    for _ in range(1, options.turns):
        for each in dict.fromkeys((best, "auto", "native")):
            seconds[each].append(_measured(folder, each, [str(made), *words]))
    spread = max(max(runs) / min(runs) - 1 for runs in seconds.values())
    cells = [", ".join(f"{run:.2f}" for run in runs) for runs in seconds.values()]
    ratio = mean(seconds["auto"]) / mean(seconds[best])
    return f"| {program} | {' | '.join(cells)} | {ratio:.3f} (`{best}`) | {100 * spread:.1f} % |"


def _measured(folder: Path, algorithm: str, program: list[str]) -> float:
    """The seconds that one run of the program says."""
    latecomer = str(jobs.ROOT / "latecomer")
    lab = [latecomer, "lab", "run", "--quiet", "--nodes", str(NODES), "--rate", "200mbit", "--"]
    run = [latecomer, "run", "--algorithm", f"allreduce:{algorithm};bcast:native", "--"]
    out = _run([*lab, *run, "mpirun", "-n", str(NODES), *program], folder)
    found = re.search(r"steps in ([0-9.]+) s", out)
    if found is None:
        sys.exit(f"{' '.join(program)} printed no time:\n{out[-2000:]}")
    return float(found.group(1))


def _run(command: list[str], folder: Path) -> str:
    """What the command prints, on a network that nobody has measured."""
    env = os.environ | {"XDG_CONFIG_HOME": str(folder), "LATECOMER_STATS": "0"}
    ended = subprocess.run(
        command, env=env, check=False, capture_output=True, text=True, timeout=DEADLINE
    )
    if ended.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{ended.stdout[-1000:]}{ended.stderr[-2000:]}")
    return ended.stdout


if __name__ == "__main__":
    main()
