"""Starts the programs of tests/mpi/program, which end a job or look at its end."""

import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from latecomer.launch import mpi, processes
from mpi_helpers import FAMILIES, at_once, installed

ROOT = Path(__file__).resolve().parent.parent.parent
both_families = pytest.mark.parametrize("name", FAMILIES)


@dataclass(frozen=True)
class Ended:
    """The end of a job."""

    code: int
    err: str


def run_scene(
    name: str,
    ranks: int,
    arguments: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    meanwhile: Callable[[Callable[[], str]], None] | None = None,
    deadline: float = 60,
) -> Ended:
    """Runs a scene to its end; fails the test if it is still there at the deadline (seconds).

    `meanwhile` is called with a function that gives what was said on stderr so far.
    """
    family = installed(name)
    program = ROOT / "build" / "release" / f"mpi_scenes_{name}"
    if not program.exists():
        pytest.skip(f"not built: {program.name}")
    env = at_once() | dict(env or {})
    launch = mpi.launch_command(family, ranks, [str(program), *arguments], env=env, allow_root=True)
    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder) / "stderr"
        with said.open("wb") as file:
            child = subprocess.Popen(
                launch.command,
                env=launch.env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=file,
                start_new_session=True,
            )
        try:
            if meanwhile:
                meanwhile(lambda: said.read_text(errors="replace"))
            code = processes.exit_code(child.wait(deadline))
        except subprocess.TimeoutExpired:
            pytest.fail(f"{arguments} did not end within {deadline} s: {said.read_text()}")
        finally:
            processes.stop(child)
        return Ended(code, said.read_text(errors="replace"))
