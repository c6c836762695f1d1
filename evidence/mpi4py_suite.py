"""mpi4py's own tests with and without the drop-in library (docs/evidence-dropin.md).

    .venv/bin/python evidence/mpi4py_suite.py --mpi openmpi,mpich,openmpi5 --ranks 1-5 --install

For each MPI library and number of ranks the tests run once without the drop-in library, and then
with it: with `auto` as it comes; with all calls handled (LATECOMER_MIN_BYTES=0) by `auto` in
reproducible mode, by `fastest` and by an algorithm at random in each call (`auto:random=SEED`); and
by every row of the registry, turn by turn, where turn t forces row t of each collective. Ranks
sleep before calls: in turn none, each rank last, each rank first, all at random (`--arrivals all`:
each turn with each of them).

A run is right if each rank passes and skips the same tests as without the library, and every rank
handled calls. One line a run, and a Markdown table at the end; the exit code is 1 if a run was not
right. `--results FILE` keeps each run, so that a later call leaves out those that were right.
Fetched by pip: mpi4py's sources, and, with `--install`, mpi4py itself and Open MPI 5.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import dropin_jobs as jobs
from latecomer.launch import mpi

VERSION = "4.1.2"
RANK = Path(__file__).with_name("mpi4py_rank.py")
SHORT = ("reproducible", "fastest")
EVERYTHING = {"LATECOMER_MIN_BYTES": "0"}

NONE = jobs.Arrivals()
Outcomes = list[dict[str, str]]  # of each rank, by test


@dataclass(frozen=True)
class Run:
    """One run of the tests."""

    library: str
    ranks: int
    way: str  # `without`, or a name for the settings
    settings: tuple[tuple[str, str], ...] = ()
    arrivals: jobs.Arrivals = NONE

    def __str__(self) -> str:
        return f"{self.library}, {self.ranks} ranks, {self.way}, arrivals: {self.arrivals}"


def sources() -> Path:
    """The tests' main.py, fetched with pip if need be."""
    folder = jobs.CACHE / f"mpi4py-{VERSION}"
    script = folder / "test" / "main.py"
    if not script.exists():
        jobs.CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=jobs.CACHE) as fresh:
            words = ["download", "-q", "--no-binary", "mpi4py", "--no-deps", "-d", fresh]
            pip = [sys.executable, "-m", "pip", *words, f"mpi4py=={VERSION}"]
            subprocess.run(pip, check=True, timeout=300)
            with tarfile.open(next(Path(fresh).glob("*.tar.gz"))) as archive:
                archive.extractall(fresh, filter="data")
            try:
                (Path(fresh) / folder.name).replace(folder)
            except OSError:  # another process was first
                if not script.exists():
                    raise
    return script


def environment(using: mpi.Family) -> dict[str, str]:
    """The variable by which mpi4py takes this MPI library."""
    name = jobs.SONAME[using.name]
    beside = using.mpirun.parent.parent / "lib" / name
    return {"MPI4PY_LIBMPI": str(beside) if beside.exists() else name}


def execute(run: Run, tests: str, deadline: float) -> tuple[jobs.Ended, Outcomes, list]:
    """The end of the job, its outcomes and its reports."""
    using = jobs.library(run.library)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [sys.executable, str(RANK), name, str(sources()), "-q", "-i", tests]
        settings = {**dict(run.settings), "LATECOMER_STATS": str(folder / "%r.json")}
        ended = jobs.run(
            using, run.ranks, command, dropped_in=run.way != "without", settings=settings,
            arrivals=run.arrivals, env=environment(using), deadline=deadline,
        )  # fmt: skip
        outcomes = []
        for rank in range(run.ranks):
            file = folder / f"outcomes-{rank}.json"
            outcomes.append(json.loads(file.read_text()) if file.exists() else {})
        return ended, outcomes, jobs.reports(folder, run.ranks)


def differences(before: Outcomes, after: Outcomes) -> list[str]:
    """A line for each test that came out otherwise on a rank."""
    lines = []
    for rank, (old, new) in enumerate(zip(before, after, strict=True)):
        for test in sorted(old.keys() | new.keys()):
            was, now = old.get(test, "not run"), new.get(test, "not run")
            if was != now:
                lines.append(f"rank {rank}: {test}: {was} without, {now} with")
    return lines


def runs(library: str, ranks: int, ways: Sequence[str], arrivals: str, seed: int) -> Iterator[Run]:
    """All runs with the drop-in library. One rank is left alone by it, so there is one run."""
    if ranks == 1:
        yield Run(library, ranks, "auto")
        return
    patterns = jobs.all_arrivals(ranks)
    settings = {
        "auto": {},
        "reproducible": EVERYTHING | {"LATECOMER_REPRODUCIBLE": "1"},
        "fastest": EVERYTHING | {"LATECOMER_ALGORITHM": "fastest"},
    }
    for turn in range(jobs.turns()):
        settings[f"turn {turn + 1}"] = EVERYTHING | {"LATECOMER_ALGORITHM": jobs.forced(turn)}
    settings["random"] = EVERYTHING | {"LATECOMER_ALGORITHM": f"auto:random={seed}"}
    chosen = {way: each for way, each in settings.items() if "all" in ways or way in ways}
    for index, (way, each) in enumerate(chosen.items()):
        some = {"all": patterns, "none": [NONE], "random": patterns[-1:]}
        for pattern in some.get(arrivals, [patterns[index % len(patterns)]]):
            name = f"random seed {seed}" if way == "random" else way
            yield Run(library, ranks, name, tuple(each.items()), pattern)


class Verdicts:
    """What came of the runs."""

    def __init__(self, results: Path | None):
        self.rows: list[dict] = []
        self.file = results
        if results is not None and results.exists():
            self.rows = [json.loads(line) for line in results.read_text().splitlines()]

    def done(self, run: Run) -> bool:
        return any(row["run"] == str(run) and not row["trouble"] for row in self.rows)

    def without(self, library: str, ranks: int) -> tuple[Outcomes, int]:
        """Outcomes and exit code of the run without the drop-in library; empty: there was none."""
        name = str(Run(library, ranks, "without"))
        rows = ((row["outcomes"], row["code"]) for row in self.rows if row["run"] == name)
        return next(rows, ([], 0))

    def add(self, run: Run, ended: jobs.Ended, outcomes: Outcomes, reports: list,
            trouble: list[str]) -> None:  # fmt: skip
        used = jobs.Used()
        least = used.add(reports)
        if run.way != "without" and run.ranks > 1 and run.way != "auto" and least == 0:
            trouble = [*trouble, "a rank handled no call"]
        counts = Counter(outcomes[0].values())
        row = {
            "run": str(run), "library": run.library, "ranks": run.ranks, "way": run.way,
            "seconds": round(ended.seconds, 1), "code": ended.code, "counts": dict(counts),
            "least_handled": least, "trouble": trouble,
            "executed": {":".join(key): calls for key, calls in used.executed.items()},
        }  # fmt: skip
        if run.way == "without":
            row["outcomes"] = outcomes
        self.rows = [each for each in self.rows if each["run"] != row["run"]] + [row]
        if self.file is not None:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with self.file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        told = ", ".join(f"{n} {what}" for what, n in sorted(counts.items()))
        good = f"DIFFERS ({len(trouble)})" if trouble else "right"
        print(f"{good}: {run}: {told}; each rank handled {least} or more; {ended.seconds:.0f} s",
              flush=True)  # fmt: skip
        for line in trouble[:20]:
            print(f"    {line}", flush=True)
        if trouble:
            print(ended.err[-3000:], flush=True)

    def table(self) -> Iterator[str]:
        yield ("| MPI library | ranks | tests | passed | skipped | runs with the drop-in library "
               "| right | handled by each rank, at least |")  # fmt: skip
        yield "| --- " * 8 + "|"
        places = dict.fromkeys((row["library"], row["ranks"]) for row in self.rows)
        for place in sorted(places):
            here = [row for row in self.rows if (row["library"], row["ranks"]) == place]
            base = next((row for row in here if row["way"] == "without"), None)
            ours = [row for row in here if row["way"] != "without"]
            counts = base["counts"] if base else {}
            right = sum(not row["trouble"] for row in ours)
            handled = [row["least_handled"] for row in ours if row["way"] != "auto"]
            yield (f"| {place[0]} | {place[1]} | {sum(counts.values())} "
                   f"| {counts.get('passed', 0)} | {counts.get('skipped', 0)} | {len(ours)} "
                   f"| {right} | {min(handled, default=0)} |")  # fmt: skip

    def not_executed(self) -> list[str]:
        """Rows of the registry that no run executed."""
        names = {key for row in self.rows for key, calls in row["executed"].items() if calls}
        every = {f"{what}:{each}" for what, all_rows in jobs.rows().items() for each in all_rows}
        choosing = {f"{what}:{each}" for what in jobs.rows() for each in ("auto", "fastest")}
        return sorted(every - choosing - names)


def check(library: str, ranks: int, options: argparse.Namespace, verdicts: Verdicts) -> bool:
    """Runs what is left to do. Returns True if all of it was right."""
    chosen = runs(library, ranks, options.ways.split(","), options.arrivals, options.seed)
    left = [run for run in chosen if not verdicts.done(run)]
    if not left:
        return True
    before, code = verdicts.without(library, ranks)
    if not before:
        base = Run(library, ranks, "without")
        ended, before, _ = execute(base, options.tests, options.deadline)
        code = ended.code
        verdicts.add(base, ended, before, [], [] if all(before) else ["no outcomes of a rank"])
        if not all(before):
            return False
    good = True
    for run in left:
        ended, after, reports = execute(run, options.tests, options.deadline)
        trouble = differences(before, after)
        if ended.code != code:
            trouble.append(f"exit code {ended.code}, without the library {code}")
        verdicts.add(run, ended, after, reports, trouble)
        good = good and not verdicts.rows[-1]["trouble"]
    return good


def numbers(text: str) -> list[int]:
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1)) if "," not in text else [
        int(each) for each in text.split(",")
    ]  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mpi", default="openmpi,mpich", help=", ".join(jobs.LIBRARIES))
    parser.add_argument("--ranks", default="1-5")
    parser.add_argument("--ways", default="all", help="auto, fastest, random, 'turn 1', ...")
    parser.add_argument("--arrivals", choices=["turns", "all", "none", "random"], default="turns")
    parser.add_argument("--seed", type=int, default=1, help="of the algorithms of the way `random`")
    parser.add_argument("--tests", default="test_cco", help="names of test files, as a pattern")
    parser.add_argument("--deadline", type=float, default=600, help="of a run, in seconds")
    parser.add_argument("--results", type=Path, help="a file that keeps the runs")
    parser.add_argument("--install", action="store_true", help="fetch mpi4py and Open MPI 5")
    options = parser.parse_args()
    if options.install:
        pip = [sys.executable, "-m", "pip", "install", "-q", f"mpi4py=={VERSION}"]
        subprocess.run(pip, check=True)
        if "openmpi5" in options.mpi:
            jobs.install_openmpi5()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    verdicts = Verdicts(options.results)
    good = [
        check(library, ranks, options, verdicts)
        for library in options.mpi.split(",")
        for ranks in numbers(options.ranks)
    ]
    print("\n".join(["", *verdicts.table()]))
    if options.ways == "all":
        print("rows that no run executed:", ", ".join(verdicts.not_executed()) or "none")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
