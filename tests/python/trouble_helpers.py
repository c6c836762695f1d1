"""Jobs to which something happens, without the drop-in library and with it in each way."""

import json
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from dropin_helpers import LATE, Job, launcher_of, run_command, shared_library
from latecomer.launch import preload, program
from mpi_helpers import installed

SOURCE = Path(__file__).parents[1] / "dropin" / "trouble" / "trouble.c"
WITHIN_S = 90
AGAIN_AFTER_S = 20  # where there is another try: a job takes less than 1 s
# MPICH's launcher misses some ends of ranks, and waits on, or ends by a pipe that they have closed,
# by the signal or with 255: without the library too.
LAUNCHER_LOST = (LATE, -signal.SIGPIPE, 255)
MODES = {
    "observe": {"LATECOMER": "observe"},
    "auto": {"LATECOMER_ALGORITHM": "auto:random=1", "LATECOMER_MIN_BYTES": "0"},
}


@dataclass(frozen=True)
class Scene:
    """A trouble: a word for the program, and the commands around it."""

    word: str = ""  # for the program
    around: Sequence[str] = ()  # before the program, on each rank
    outside: Sequence[str] = ()  # before the launcher
    variables: Mapping[str, str] = field(default_factory=dict)
    front: Sequence[Path] = ()
    behind: Sequence[Path] = ()
    deadly: bool = False  # a rank ends the job
    active: bool = True  # the library then is


def program_of(name: str, folder: Path, *words: str) -> str:
    """The program; as a library with the options for that."""
    if program.find_built(preload.LIBRARY) is None:
        pytest.skip("the drop-in library is not built")
    built = folder / ("trouble.so" if words else "trouble")
    compiler = installed(name).mpicc
    subprocess.run([compiler, "-O1", "-w", *words, SOURCE, "-o", built], check=True, timeout=600)
    return str(built)


def run_scene_of(
    name: str, scene: Scene, code: Sequence[str], variables: Mapping[str, str] | None
) -> Job:
    """A job of two ranks; `variables`: the library's, None without it."""
    ours = [] if variables is None else [preload.library(messages=True)]
    preloaded = " ".join(map(str, [*scene.front, *ours, *scene.behind]))
    settings = {**scene.variables, **(variables or {}), "LD_PRELOAD": preloaded}
    launch = launcher_of(name, 2, [*scene.around, *code, scene.word])
    command = preload.with_variables(launch.command, settings)
    tries, within_s = (4, AGAIN_AFTER_S) if scene.deadly and name == "mpich" else (1, WITHIN_S)
    for _ in range(tries):
        job = run_command([*scene.outside, "timeout", str(within_s), *command], launch.env)
        if job.code not in LAUNCHER_LOST:
            break
    return job


def said(job: Job) -> list[str]:
    """The lines of the library."""
    return [line for line in job.err.splitlines() if "latecomer:" in line]


def check(
    name: str,
    scene: Scene,
    code: Sequence[str],
    folder: Path,
    told: str | None = None,
    alone: Job | None = None,
) -> None:
    """All is as without the library, and it says one line at most; `told`: this is in it.

    `alone`: the job without the library, where it has been run.
    """
    alone = alone or run_scene_of(name, scene, code, None)
    if not scene.deadly and alone.code != 0:
        pytest.skip(f"the MPI library does not live with it: {alone.err[-300:]}")
    for mode, chosen in MODES.items():
        variables = {"LATECOMER_SUMMARY": str(folder / f"{mode}.json"),
                     "LATECOMER_TRACE": str(folder / mode), **chosen}  # fmt: skip
        for key in set(scene.variables) & set(variables):
            variables[key] = scene.variables[key]
        job = run_scene_of(name, scene, code, variables)
        assert job.code == alone.code, (mode, alone.code, job.code, job.err)
        if not scene.deadly:
            assert sorted(job.out.splitlines()) == sorted(alone.out.splitlines()), (mode, job.err)
        assert len(said(job)) <= 1, (mode, job.err)
        if not scene.deadly:
            summary = folder / f"{mode}.json"
            active = summary.exists() and json.loads(summary.read_text())["active"]
            assert active is scene.active, (mode, job.err)
        assert told is None or told in "".join(said(job)), (mode, job.err)


def tool(name: str, folder: Path, text: str, title: str) -> Path:
    """A library for LD_PRELOAD or LD_AUDIT."""
    (folder / f"{title}.c").write_text(text)
    return shared_library(
        installed(name).mpicc, folder / f"{title}.c", folder / f"{title}.so", "-w"
    )
