"""How much of the time that a program spends in MPI its trace explains, by waits and transfer.

    .venv/bin/python evidence/explained.py --ranks 4 [--stop 2] -- PROGRAM ARGUMENTS...

Runs the program with Open MPI, traced, below a library that knows nothing of latecomer: made from
the prototypes of mpi.h, it times each call of MPI in each rank. Prints how much of the sum of these
times the trace explains by waiting and by moving data, and who is named. With --stop a rank is
stopped for two thirds of the run, in pieces of 0.15 s.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import dropin_jobs as jobs
from latecomer.launch import mpi
from latecomer.report.analysis.cut import analysed
from latecomer.report.analysis.facts import facts
from latecomer.report.trace import read

ROOT = Path(__file__).resolve().parents[1]
PROTOTYPE = re.compile(r"^OMPI_DECLSPEC\s+int\s+(MPI_\w+)\(([^;]*?)\)(?:\s*__mpi\w+\([^;]*\))?;",
                       re.MULTILINE)  # fmt: skip
NOT_TIMED = r"MPI_(T_|Init|Pcontrol|Errhandler_create)"
HEAD = r"""
#define _GNU_SOURCE
#include <mpi.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static double total;
static int depth;
static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}
static void tell(void) {
  int rank;
  char name[4096];
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(name, sizeof name, "%s/%d", getenv("TIMED"), rank);
  FILE* file = fopen(name, "w");
  fprintf(file, "%.9f\n", total);
  fclose(file);
}
"""
STOPS = """#!/bin/sh
if [ "$OMPI_COMM_WORLD_RANK" = {rank} ]; then
  "$@" & own=$!
  while kill -0 $own 2>/dev/null; do
    sleep 0.05; kill -STOP $own 2>/dev/null; sleep 0.1; kill -CONT $own 2>/dev/null
  done
  wait $own; exit
fi
exec "$@"
"""


def timing_library(folder: Path, using: mpi.Family) -> Path:
    """Times all calls of MPI, whoever else is below it."""
    show = subprocess.run([using.mpicc, "--showme:incdirs"], capture_output=True, text=True)  # noqa: PLW1510
    header = next(Path(each) / "mpi.h" for each in show.stdout.split()
                  if (Path(each) / "mpi.h").exists()).read_text()  # fmt: skip
    code = [HEAD]
    for name, words in dict(PROTOTYPE.findall(re.sub(r"(?s)/\*.*?\*/", "", header))).items():
        if re.match(NOT_TIMED, name) or "..." in words:
            continue
        parameters = [] if words.strip() in ("", "void") else re.split(r",(?![^(]*\))", words)
        names = [re.search(r"(\w+)(\[\w*\])*\s*$", each) for each in parameters]
        values = ", ".join(each[1] for each in names if each)
        code.append(
            f"#undef {name}\n"  # some are macros that say that they were removed
            f"int {name}({words}) {{ static int (*next)();"
            f' if (!next) next = (int (*)())dlsym(RTLD_NEXT, "{name}");'
            f"{' tell();' if name == 'MPI_Finalize' else ''}"
            f" const double begin = now(); ++depth; const int code = next({values});"
            " if (!--depth) total += now() - begin; return code; }"
        )
    source, library = folder / "timed.c", folder / "timed.so"
    source.write_text("\n".join(code))
    options = ["-w", "-O1", "-shared", "-fPIC", source, "-o", library, "-ldl"]
    subprocess.run([using.mpicc, *options], check=True)
    return library


def main() -> int:
    """Prints one line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--stop", type=int, metavar="RANK")
    parser.add_argument("program", nargs="+")
    asked = parser.parse_args()
    using = jobs.library("openmpi")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = asked.program
        if asked.stop is not None:
            (folder / "stops").write_text(STOPS.format(rank=asked.stop))
            (folder / "stops").chmod(0o755)
            program = [str(folder / "stops"), *program]
        launch = mpi.launch_command(using, asked.ranks, program, allow_root=True)
        at = len(launch.command) - len(program)
        own = ["-x", f"TIMED={folder}", "-x", f"LD_PRELOAD={timing_library(folder, using)}"]
        command = [*launch.command[:at], *own, *launch.command[at:]]
        words = [str(ROOT / "latecomer"), "run", "--trace", str(folder / "trace"), "--", *command]
        done = subprocess.run(words, env=launch.env, check=False, stdout=subprocess.DEVNULL)
        if done.returncode:
            return done.returncode
        found = analysed(read(str(folder / "trace")), skip=0)
        inside = sum(float((folder / str(rank)).read_text()) for rank in range(asked.ranks))
        run = float(found.ranks.run.sum())
        if found.origin is None:
            raise SystemExit("the trace holds no messages")
        waiting, moving = float(found.origin.waiting.sum()), float(found.origin.moving.sum())
        late = ", ".join(map(str, facts(found).late)) or "nobody"
        print(f"in MPI {inside / run:.1%} of the run; waiting {waiting / inside:.1%} and moving "
              f"data {moving / inside:.1%} of that; late: {late}")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
