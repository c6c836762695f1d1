"""Programs of the field with and without the drop-in library (docs/evidence-dropin.md).

    .venv/bin/python evidence/programs.py --install        as root: installs Debian's packages first
    .venv/bin/python evidence/programs.py --programs lammps,gromacs --ranks 4

Each program runs a small input of this folder, with Open MPI: without the library, with `auto`, and
with all calls handled (LATECOMER_MIN_BYTES=0) by `fastest`, while ranks sleep at random before
calls. Its results must agree within the program's own tolerance, and with `fastest` every rank must
have handled calls. In reproducible mode two runs with other arrivals must give the same bits in the
files that the program writes, or the same digits where its files hold dates. Two runs with the same
arrivals and the library switched off (LATECOMER=off) show whether the program itself depends on
arrivals; if it does, its bits say nothing of the library. Prints a Markdown table; exits 1 if a
result is not as it must be.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import math
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import dropin_jobs as jobs

INPUTS = Path(__file__).parent / "dropin" / "inputs"
PETSC = Path("/usr/share/petsc/3.18/share/petsc/examples/src/ksp/ksp/tutorials")
EVERYTHING = {"LATECOMER_MIN_BYTES": "0"}
FASTEST = EVERYTHING | {"LATECOMER_ALGORITHM": "fastest"}
OFF = {"LATECOMER": "off"}
REPRODUCIBLE = EVERYTHING | {"LATECOMER_REPRODUCIBLE": "1"}


@dataclass(frozen=True)
class Program:
    """A program, its input, and what of its output counts."""

    name: str
    language: str
    packages: tuple[str, ...]
    command: tuple[str, ...]
    numbers: str  # a pattern; its group is a number of the result, in stdout or in `result`
    tolerance: float  # of the numbers, relative
    bits: tuple[str, ...]  # patterns of files; none: the numbers as they are printed
    why: str  # of the tolerance
    prepare: Callable[[Path], None] = lambda _: None
    result: str = ""  # a file; empty: stdout


def shell(folder: Path, command: str) -> None:
    subprocess.run(["sh", "-c", command], cwd=folder, check=True, capture_output=True, timeout=300)


def water_box(folder: Path) -> None:
    for end in ("mdp", "top"):
        shutil.copy(INPUTS / f"gromacs.{end}", folder)
    shell(folder, "gmx -quiet solvate -cs spc216.gro -box 2 2 2 -o water.gro -p gromacs.top")
    shell(folder, "gmx -quiet grompp -f gromacs.mdp -c water.gro -p gromacs.top -o run.tpr "
                  "-maxwarn 2")  # fmt: skip


def silicon(folder: Path) -> None:
    name = "Si.pz-vbc.UPF"
    examples = Path("/usr/share/doc/quantum-espresso/examples")
    packed = next(examples.rglob(f"{name}.gz"))
    (folder / name).write_bytes(gzip.decompress(packed.read_bytes()))


def ksp(source: str) -> Callable[[Path], None]:
    def compiled(folder: Path) -> None:
        compiler = "mpicc" if source.endswith(".c") else "mpif90 -ffree-line-length-none"
        shell(folder, f"{compiler} {PETSC / source} -o ksp $(pkg-config --cflags --libs PETSc)")

    return compiled


KSP = ("./ksp", "-m", "60", "-n", "60", "-ksp_monitor", "-ksp_view_solution", "binary:x.bin")
PETSC_PACKAGES = ("libpetsc-real3.18-dev", "libpetsc3.18-dev-examples", "gfortran")
FLOAT = r"(-?\d+\.\d+(?:[eE][-+]?\d+)?)"

PROGRAMS = [
    Program("lammps", "C++", ("lammps",), ("lmp", "-in", str(INPUTS / "lammps.in")),
            rf"^ +\d+ +{FLOAT} +{FLOAT} +\d+ +{FLOAT} +{FLOAT}", 1e-7, ("end.dump",),
            "100 steps of a chaotic system in double precision"),
    Program("gromacs", "C++", ("gromacs", "gromacs-data"),
            ("gmx_mpi", "-quiet", "mdrun", "-s", "run.tpr", "-ntomp", "1", "-reprod", "-nb", "cpu",
             "-g", "md.log"),
            r"^ +Total Energy .*\n +(-?\d\S+) +(-?\d\S+) +(-?\d\S+)", 1e-4, ("*.trr", "*.edr"),
            "100 steps in single precision", water_box, "md.log"),
    Program("quantum-espresso", "Fortran", ("quantum-espresso", "quantum-espresso-data"),
            ("pw.x", "-in", str(INPUTS / "quantum-espresso.in")),
            rf"^(?:!| ).*total energy +={' '}+{FLOAT} Ry", 1e-8,
            ("out/si.save/charge-density.dat",), "conv_thr 1e-10 Ry", silicon),
    Program("cp2k", "Fortran", ("cp2k", "cp2k-data"), ("cp2k.psmp", str(INPUTS / "cp2k.inp")),
            rf"ENERGY\| Total FORCE_EVAL.*: +{FLOAT}", 1e-8, (), "EPS_SCF 1e-7"),
    Program("nwchem", "Fortran", ("nwchem-openmpi", "nwchem-data"),
            ("nwchem.openmpi", str(INPUTS / "nwchem.nw")),
            rf"Total (?:SCF|DFT) energy =+ +{FLOAT}", 1e-7, (),
            "its default: 1e-6 hartree"),
    Program("petsc ex2", "C", PETSC_PACKAGES, KSP, rf"(?:KSP Residual norm|Norm of error) {FLOAT}",
            1e-6, ("x.bin",), "GMRES to 1e-5", ksp("ex2.c")),
    Program("petsc ex2f", "Fortran", PETSC_PACKAGES, KSP,
            rf"(?:KSP Residual norm|Norm of error) +{FLOAT}", 1e-6, ("x.bin",), "GMRES to 1e-5",
            ksp("ex2f.F90")),
]  # fmt: skip


@dataclass
class Outcome:
    """What one run gave."""

    numbers: list[float]
    bits: str
    least_handled: int = 0
    trouble: list[str] = field(default_factory=list)


def execute(program: Program, ranks: int, settings: dict[str, str] | None,
            arrivals: jobs.Arrivals) -> Outcome:  # fmt: skip
    """One run in a fresh folder; without the library if there are no settings."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program.prepare(folder)
        using = jobs.library("openmpi")
        reports = folder / "reports"
        reports.mkdir()
        ended = jobs.run(
            using, ranks, program.command, dropped_in=settings is not None, arrivals=arrivals,
            settings={**(settings or {}), "LATECOMER_STATS": str(reports / "%r.json")},
            env={"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}, cwd=folder, deadline=300,
        )  # fmt: skip
        text = (folder / program.result).read_text() if program.result else ended.out
        found = re.findall(program.numbers, text, re.MULTILINE)
        flat = [word for each in found for word in ([each] if isinstance(each, str) else each)]
        files = sorted(file for pattern in program.bits for file in folder.glob(pattern))
        content = b"".join(file.read_bytes() for file in files) or " ".join(flat).encode()
        digest = hashlib.sha256(content).hexdigest()
        trouble = [f"exit code {ended.code}: {ended.err[-500:]}"] if ended.code else []
        trouble += [] if flat else ["no numbers in the output"]
        trouble += [] if files or not program.bits else ["no file to compare"]
        least = jobs.Used().add(jobs.reports(reports, ranks))
        return Outcome([float(word) for word in flat], digest, least, trouble)


def difference(one: Outcome, other: Outcome) -> float:
    """The largest relative difference; infinite if there are not as many numbers."""
    if len(one.numbers) != len(other.numbers):
        return math.inf
    pairs = zip(one.numbers, other.numbers, strict=True)
    return max((abs(a - b) / max(abs(a), abs(b), 1e-300) for a, b in pairs), default=math.inf)


def check(program: Program, ranks: int) -> tuple[str, list[str]]:
    """The row of the table, and what is wrong."""

    def random(seed: int) -> jobs.Arrivals:
        return jobs.Arrivals("random", us=2000, seed=seed)

    last = jobs.Arrivals("last", ranks - 1, us=2000)
    base = execute(program, ranks, None, jobs.Arrivals())
    off, again = (execute(program, ranks, OFF, each) for each in (random(2), last))
    auto = execute(program, ranks, {}, jobs.Arrivals())
    fastest = execute(program, ranks, FASTEST, random(1))
    fixed, other = (execute(program, ranks, REPRODUCIBLE, each) for each in (random(2), last))
    every = {"without": base, "off": off, "off, again": again, "auto": auto, "fastest": fastest,
             "reproducible": fixed, "reproducible, again": other}  # fmt: skip
    wrong = [f"{name}: {line}" for name, each in every.items() for line in each.trouble]
    differences = {name: difference(base, each) for name, each in every.items()}
    wrong += [f"{name}: differs by {by:.1e}" for name, by in differences.items()
              if by > program.tolerance]  # fmt: skip
    wrong += [f"{name}: a rank handled no call" for name in ("fastest", "reproducible")
              if every[name].least_handled == 0]  # fmt: skip
    repeats = off.bits == again.bits
    same = fixed.bits == other.bits
    if repeats and not same:
        wrong.append("reproducible: other bits with other arrivals")
    row = (f"| {program.name} | {program.language} | {ranks} | {fastest.least_handled} "
           f"| {program.tolerance:g} ({program.why}) | {differences['auto']:.0e} "
           f"| {differences['fastest']:.0e} | {'same' if same else 'other'} "
           f"| {'same' if repeats else 'other'} |")  # fmt: skip
    return row, wrong


def table(chosen: list[Program], ranks: list[int], failed: list[str]) -> Iterator[str]:
    yield ("| program | language | ranks | calls handled by each rank, at least | tolerance "
           "| `auto`: relative difference | `fastest` "
           "| bits, reproducible, other arrivals | bits, off, other arrivals |")  # fmt: skip
    yield "| --- " * 9 + "|"
    for program in chosen:
        for number in ranks:
            if shutil.which(program.command[0]) is None and program.command[0] != "./ksp":
                failed.append(program.name)
                yield f"{program.name}: not installed; use --install"
                continue
            row, wrong = check(program, number)
            yield "\n".join([row, *(f"    WRONG: {line}" for line in wrong)])
            failed += wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    names = [each.name for each in PROGRAMS]
    parser.add_argument("--programs", default=",".join(names))
    parser.add_argument("--ranks", default="3")
    parser.add_argument("--install", action="store_true", help="of Debian, as root; about 1 GB")
    options = parser.parse_args()
    for name in options.programs.split(","):
        if name not in names:
            parser.error(f"--programs: '{name}' is unknown; right would be of {', '.join(names)}")
    chosen = [each for each in PROGRAMS if each.name in options.programs.split(",")]
    if options.install:
        packages = sorted({name for each in chosen for name in each.packages})
        subprocess.run(["apt-get", "update", "-qq"], check=True)
        install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages]
        subprocess.run(install, check=True)
    failed: list[str] = []
    for line in table(chosen, [int(each) for each in options.ranks.split(",")], failed):
        print(line, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
