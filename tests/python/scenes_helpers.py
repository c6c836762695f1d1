"""Starts the programs of tests/mpi/program, which end a job or look at its end."""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from latecomer import mpi, processes
from mpi_helpers import FAMILIES, installed

ROOT = Path(__file__).resolve().parent.parent.parent
both_families = pytest.mark.parametrize("name", FAMILIES)


@dataclass(frozen=True)
class Ended:
    """How a job ended."""

    code: int
    out: str
    err: str


def run_scene(
    name: str, ranks: int, arguments: Sequence[str], *, env=None, deadline: float = 60
) -> Ended:
    """Runs a scene to its end; fails the test if it is still there at the deadline (seconds)."""
    family = installed(name)
    program = ROOT / "build" / "release" / f"mpi_scenes_{name}"
    if not program.exists():
        pytest.skip(f"not built: {program.name}")
    launch = mpi.launch_command(family, ranks, [str(program), *arguments], env=env, allow_root=True)
    child = subprocess.Popen(
        launch.command,
        env=launch.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        out, err = child.communicate(timeout=deadline)
    except subprocess.TimeoutExpired:
        pytest.fail(f"{arguments} did not end within {deadline} s")
    finally:
        processes.stop(child)
    return Ended(processes.exit_code(child.returncode), out.decode(), err.decode(errors="replace"))
