"""The first files of the atlas of arrivals, and their table (evidence/results/atlas.md).

    .venv/bin/python evidence/atlas.py                     the table of what is in evidence/atlas/
    .venv/bin/python evidence/atlas.py --record all        records anew; or names between commas
    .venv/bin/python evidence/atlas.py --install           as root: Debian's packages first

Programs of the field run small inputs on this machine, each of some seconds: those of programs.py
and some more. Loops of examples/late/, whose arrivals are made up, are kept apart. Those of `lab`
run on the emulated cluster, of 4 hosts and 1 Gbit/s. With fewer cores than ranks, arrivals are
those of ranks that take turns: load and cores are in the files.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import dropin_jobs as jobs
import programs
from latecomer.atlas import figures
from latecomer.atlas.file import read

HERE = Path(__file__).resolve().parent
FILES = HERE / "atlas"
NETWORK = "alpha=0.5us,beta=0.1ns,gamma=0.05ns"  # assumed: as fast as any real one
RANKS = 4
SECONDS = "240"  # with what else the machine does
PETSC = programs.PETSC.parents[2]
REACTION = "ts/tutorials/advection-diffusion-reaction"
MORE = ("hpcc", "mumps-test", "abinit", "abinit-data", "python3-mpi4py-fft")


@dataclass(frozen=True)
class Program:
    """A program and its input."""

    name: str
    command: str
    prepare: Callable[[Path], None] = lambda _: None
    lab: bool = False  # on the emulated cluster


def petsc(*sources: str) -> Callable[[Path], None]:
    def compiled(folder: Path) -> None:
        files = " ".join(str(PETSC / source) for source in sources)
        flags = "$(pkg-config --cflags --libs PETSc) -lm"
        programs.shell(folder, f"mpicc {files} -o app {flags}")

    return compiled


def example(name: str) -> Callable[[Path], None]:
    def compiled(folder: Path) -> None:
        source = jobs.ROOT / "examples" / "late" / f"{name}.c"
        programs.shell(folder, f"mpicc -O2 {source} -o app -lm")

    return compiled


def challenge(folder: Path) -> None:
    given = Path("/usr/share/doc/hpcc/examples/_hpccinf.txt").read_text()
    small = given.replace("1000         Ns", "500          Ns")
    (folder / "hpccinf.txt").write_text(small)


def silicon(folder: Path) -> None:
    shutil.copy(programs.INPUTS / "abinit.abi", folder)


def mumps(folder: Path) -> None:
    shutil.copy("/usr/lib/mumps/input_simpletest_real", folder / "input")


def _of_programs(name: str) -> Program:
    found = next(each for each in programs.PROGRAMS if each.name == name)
    return Program(name, shlex.join(found.command), found.prepare)


REAL = [
    *map(_of_programs, ("lammps", "gromacs", "quantum-espresso", "cp2k", "nwchem")),
    Program("abinit", "abinit abinit.abi", silicon),
    Program("petsc ksp ex2", "./app -m 60 -n 60", petsc("ksp/ksp/tutorials/ex2.c")),
    Program("petsc snes ex19", "./app -da_refine 3", petsc("snes/tutorials/ex19.c")),
    Program("petsc ts ex5", "./app -ts_max_steps 40 -da_grid_x 65 -da_grid_y 65",
            petsc(*(f"{REACTION}/{name}.c" for name in ("ex5", "reaction_diffusion")))),
    Program("hpcc", "hpcc", challenge),
    Program("mumps", "sh -c '/usr/lib/mumps/dsimpletest < input'", mumps),
    Program("mpi4py-fft", f"/usr/bin/python3 {programs.INPUTS / 'transforms.py'}"),
]  # fmt: skip
EMULATED = [
    Program("late", "./app 60", example("late")),
    Program("cg", "./app 60 60 20", example("cg")),
    Program("stencil", "./app 60 10 50", example("stencil")),
    *(Program(f"loops {form}", f"./app {form} 60", example("loops"))
      for form in ("random", "rotating", "sweep", "halo")),
    Program("late lab", "./app 60", example("late"), lab=True),
    Program("cg lab", "./app 60 60 20", example("cg"), lab=True),
    Program("stencil lab", "./app 60 10 50", example("stencil"), lab=True),
]  # fmt: skip
KINDS = {"real": REAL, "emulated": EMULATED}


def file_of(kind: str, program: Program) -> Path:
    return FILES / kind / f"{program.name.replace(' ', '-')}.parquet"


def record(kind: str, program: Program) -> int:
    file = file_of(kind, program)
    file.parent.mkdir(parents=True, exist_ok=True)
    atlas = [str(jobs.ROOT / "latecomer"), "atlas", "record", "--name", program.name, "--output",
             str(file), "--deadline", SECONDS, "--"]  # fmt: skip
    inside = shlex.split(program.command)
    mpirun = [str(jobs.library("openmpi").mpirun), "--oversubscribe", "-n", str(RANKS)]
    lab = [str(jobs.ROOT / "latecomer"), "lab", "run", "--nodes", str(RANKS), "--rate", "1gbit",
           "--deadline", SECONDS, "--"]  # fmt: skip
    command = [*lab, *atlas, "mpirun", "-n", str(RANKS)] if program.lab else [*atlas, *mpirun]
    env = os.environ | {
        "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program.prepare(folder)
        print(f"== {program.name}", file=sys.stderr, flush=True)
        return subprocess.run(
            [*command, *inside], cwd=folder, env=env, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, check=False,
        ).returncode  # fmt: skip


def table() -> str:
    """The files, as Markdown."""
    lines = []
    for kind, known in KINDS.items():
        lines += [f"| {kind} | {' | '.join(figures.HEAD[1:])} | load |",
                  "| --- " * (len(figures.HEAD) + 1) + "|"]  # fmt: skip
        for program in known:
            if (file := file_of(kind, program)).exists():
                found = read(file)
                cells = figures.cells(figures.figures(found, program.name, NETWORK))
                lines.append(f"| {' | '.join(cells)} | {found.about.load:.0f} |")
        lines.append("")
    return "\n".join(lines).rstrip()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    names = [each.name for known in KINDS.values() for each in known]
    parser.add_argument("--record", metavar="NAMES", default="")
    parser.add_argument("--install", action="store_true")
    options = parser.parse_args()
    wanted = names if options.record == "all" else list(filter(None, options.record.split(",")))
    if unknown := set(wanted) - set(names):
        parser.error(f"--record: '{min(unknown)}' is unknown; right would be of {', '.join(names)}")
    if options.install:
        packages = {name for each in programs.PROGRAMS for name in each.packages} | set(MORE)
        subprocess.run(["apt-get", "update", "-qq"], check=True)
        install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends"]
        subprocess.run([*install, *sorted(packages)], check=True)
    failed = [each.name for kind, known in KINDS.items() for each in known
              if each.name in wanted and record(kind, each)]  # fmt: skip
    if failed:
        print(f"not recorded: {', '.join(failed)}", file=sys.stderr)
    if not wanted:
        print(table())
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
