"""Long series of mixed calls through the drop-in library, each result checked.

    .venv/bin/python evidence/soak_dropin.py                          a minute
    .venv/bin/python evidence/soak_dropin.py --calls 1000000 --mpi openmpi,mpich --ranks 2,3,4
    .venv/bin/python evidence/soak_dropin.py --sanitizer asan         builds, and runs, the library
                                                                      with the address sanitizer

The program is dropin/soak.c (see there). Each number of ranks runs with `auto`; with an algorithm
at random in each call, by the seed (`auto:random=SEED`); in reproducible mode; and at random with
two threads and a progress thread for each rank, which make a tenth of the calls, without and with a
trace of calls and messages. `--ways fastest` has `fastest` handle all calls. Prints a line a run,
and at the end the calls of all ranks that latecomer handled. Exits 1 if a result was wrong, a run
did not end, a rank handled no call, a trace lacks what was called, or a sanitizer spoke.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import dropin_jobs as jobs
from latecomer.launch import mpi, preload
from latecomer.report.trace import Trace, read

SOURCE = Path(__file__).parent / "dropin" / "soak.c"
EVERYTHING = {"LATECOMER_MIN_BYTES": "0"}
# Two nodes or more from 3 ranks on.
RANDOM = EVERYTHING | {"LATECOMER_ALGORITHM": "auto:random=@SEED@", "LATECOMER_NODES": "2"}
# On this network rank 0 announces calls from 4 KiB on.
ANNOUNCED = {"LATECOMER_PROGRESS": "thread", "LATECOMER_NETWORK": "alpha=1us,beta=100ns"}
# Name, settings, where @SEED@ is the seed and @FOLDER@ one for files, and whether ranks have
# threads.
WAYS: dict[str, tuple[dict[str, str], bool]] = {
    "auto": ({}, False),
    "fastest": (EVERYTHING | {"LATECOMER_ALGORITHM": "fastest"}, False),
    "random": (RANDOM, False),
    "reproducible": (EVERYTHING | {"LATECOMER_REPRODUCIBLE": "1"}, False),
    "threads": (RANDOM | ANNOUNCED, True),
    "traced": (RANDOM | ANNOUNCED | {"LATECOMER_TRACE": "@FOLDER@/trace"}, True),
}
SLOWER = 10  # with threads on shared cores: so many times fewer calls
SANITIZERS = {
    "asan": ("libasan.so", {"ASAN_OPTIONS": "detect_leaks=0:exitcode=77"}),
    "tsan": ("libtsan.so", {"TSAN_OPTIONS": "exitcode=66:ignore_noninstrumented_modules=1"}),
}


def compiled(using: mpi.Family) -> str:
    """The program for this MPI library."""
    jobs.CACHE.mkdir(parents=True, exist_ok=True)
    program = jobs.CACHE / f"soak_{using.name}_{using.version}"
    if not program.exists() or program.stat().st_mtime < SOURCE.stat().st_mtime:
        fresh = program.with_suffix(f".{os.getpid()}")
        words = [str(using.mpicc), "-O2", "-pthread", str(SOURCE), "-o", str(fresh)]
        subprocess.run(words, check=True)
        fresh.replace(program)
    return str(program)


def build(preset: str, jobs_at_once: int) -> Path:
    """The drop-in library with a sanitizer, for Debian's Open MPI; its folder. The loaders, which
    have no sanitizer, are those of the usual build."""
    families = ("-DLATECOMER_MPI=ON", "-DLATECOMER_MPI_FAMILIES=openmpi=mpicc.openmpi")
    words = ["tools/build.sh", preset, "latecomer_preload_openmpi", str(jobs_at_once), *families]
    done = subprocess.run(words, cwd=jobs.ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)} failed:\n{done.stdout[-3000:]}{done.stderr[-1000:]}")
    folder = jobs.ROOT / "build" / preset
    for loader in (preload.LIBRARY, preload.WITH_MESSAGES):
        usual = jobs.ROOT / "build" / "release" / loader
        if not usual.exists():
            sys.exit(f"{usual} is missing; run tools/build.sh release dropin {jobs_at_once} first")
        shutil.copy2(usual, folder)
    return folder


def sanitizer_library(name: str) -> Path:
    words = ["g++", f"-print-file-name={name}"]
    found = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    return Path(found).resolve()


def missing_in(trace: Trace, ranks: int) -> list[str]:
    """Sentences about what the trace of the program should have, and has not."""
    messages = 0 if trace.messages is None else len(trace.messages)
    good = trace.ranks == ranks and trace.calls > 0 and messages > 0
    found = f"{trace.ranks} ranks, {trace.calls} calls, {messages} messages"
    return [] if good else [f"in the trace: {found}"]


def soak(using: mpi.Family, name: str, ranks: int, way: str, options: argparse.Namespace,
         before: Sequence[str]) -> tuple[int, list[str]]:  # fmt: skip
    """One run: the calls that all ranks handled, and what is wrong."""
    templates, threads = WAYS[way]
    calls = options.calls // SLOWER if threads else options.calls
    words = [compiled(using), str(calls), str(options.seed), *["threads"] * threads]
    env = {"OPENBLAS_NUM_THREADS": "1"}
    sanitizer = SANITIZERS[options.sanitizer][1] if options.sanitizer else {}
    with tempfile.TemporaryDirectory() as folder:
        settings = {key: text.replace("@SEED@", str(options.seed)).replace("@FOLDER@", folder)
                    for key, text in templates.items()}  # fmt: skip
        ended = jobs.run(
            using, ranks, words, before=before, env=env, deadline=options.deadline,
            messages="LATECOMER_TRACE" in settings,
            settings={**settings, **sanitizer, "LATECOMER_STATS": str(Path(folder) / "%r.json")},
        )  # fmt: skip
        handled = jobs.handled(jobs.reports(Path(folder), ranks))
        wrong = [] if ended.code == 0 else [f"exit code {ended.code}", ended.err[-4000:]]
        if "LATECOMER_TRACE" in settings and not wrong:
            wrong = missing_in(read(settings["LATECOMER_TRACE"]), ranks)
    if min(handled) == 0 and way != "auto":
        wrong.append(f"a rank handled no call: {handled}")
    said = ended.out.strip().splitlines()[-1:] or ["no output"]
    print(f"{'WRONG' if wrong else 'right'}: {name}, {ranks} ranks, {way}, seed {options.seed}: "
          f"{said[0]}, {sum(handled)} handled", flush=True)  # fmt: skip
    for line in wrong:
        print(f"    {line}", flush=True)
    return sum(handled), wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--calls", type=int, default=50000, help="of each rank")
    parser.add_argument("--mpi", default="openmpi,mpich", help=", ".join(jobs.LIBRARIES))
    parser.add_argument("--ranks", default="3")
    parser.add_argument("--ways", default="auto,random,reproducible,threads,traced",
                        help=f"of {', '.join(WAYS)}")  # fmt: skip
    parser.add_argument("--seed", type=int, default=1, help="of the calls and their algorithms")
    parser.add_argument("--deadline", type=float, default=300, help="of a run, in seconds")
    parser.add_argument("--before", nargs="*", default=[], help="libraries to preload in front")
    parser.add_argument("--sanitizer", choices=list(SANITIZERS))
    options = parser.parse_args()
    before = options.before
    if options.sanitizer:
        options.mpi = "openmpi"
        os.environ["LATECOMER_PROGRAMS"] = str(build(options.sanitizer, os.cpu_count() or 1))
        before = [str(sanitizer_library(SANITIZERS[options.sanitizer][0])), *before]
        print(f"with {preload.library()}", flush=True)
    total, wrong = 0, []
    for name in options.mpi.split(","):
        using = jobs.library(name)
        for ranks in options.ranks.split(","):
            for way in options.ways.split(","):
                handled, found = soak(using, name, int(ranks), way, options, before)
                total, wrong = total + handled, wrong + found
    print(f"{total} calls were handled, {'not all is right' if wrong else 'all is right'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
