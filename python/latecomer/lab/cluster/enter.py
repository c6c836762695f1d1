"""Outside: start the lab's first process in namespaces of its own, and wait for its answer.

Nothing of a lab has a name outside it. The kernel takes all of it down when its first process ends,
and that process ends when this one does, however it does.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ...base.errors import DeadlineError
from ...launch import processes
from . import privilege, slurm
from .spec import LabError, LabSpec

_SLACK_S = 30.0  # for building, and for the inside to end by its own deadline first
# The lab runs this package, from wherever it was imported, and nothing of the working folder.
_BOOTSTRAP = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from latecomer.lab.cluster.inside import main; main(int(sys.argv[2]), int(sys.argv[3]))"
)


def enter(
    spec: LabSpec,
    action: str,
    *,
    command: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    deadline: float | None = None,
) -> dict[str, Any]:
    """Build a settled `spec`, do `action` in it and return its answer.

    Standard streams pass through. Raises LabError, or DeadlineError after `deadline` seconds.
    """
    request = _memory_file(
        {
            "spec": asdict(spec),
            "action": action,
            "command": list(command),
            "env": dict(env or {}),
            "deadline": deadline,
        }
    )
    answer, reply = os.pipe()
    try:
        inside = _start(spec, request, reply)
    finally:
        os.close(reply)
        os.close(request)
    with os.fdopen(answer) as pipe:
        slack = _SLACK_S + (slurm.START_S if action == "slurm" else 0)
        code = _wait(inside, None if deadline is None else deadline + slack)
        return _read_answer(pipe.read(), code)


def _start(spec: LabSpec, request: int, reply: int) -> subprocess.Popen[bytes]:
    folders = [folder for folder in sys.path if folder]
    python = [sys.executable, "-I", "-c", _BOOTSTRAP, json.dumps(folders)]
    flags = privilege.sandbox(spec.congestion).flags
    return processes.start(
        [privilege.tool("unshare"), *flags, "--", *python, str(request), str(reply)],
        pass_fds=(request, reply),
        on_death=signal.SIGKILL,
    )


def _wait(inside: subprocess.Popen[bytes], limit: float | None) -> int:
    """The exit code; whatever interrupts the waiting ends the lab."""
    try:
        return inside.wait(limit)
    except subprocess.TimeoutExpired:
        raise LabError(
            "the lab itself hangs and was killed", f"{limit:g} s", "see the kernel's log (dmesg)"
        ) from None
    finally:
        inside.kill()  # its children die with it; nothing happens if it has ended
        inside.wait()


def _memory_file(content: dict[str, Any]) -> int:
    """A file without a name, so that the environment shows in no process list."""
    handle = os.memfd_create("latecomer-lab")
    with os.fdopen(os.dup(handle), "w") as file:
        json.dump(content, file)
    os.lseek(handle, 0, os.SEEK_SET)
    return handle


def _read_answer(text: str, code: int) -> dict[str, Any]:
    if not text:
        raise LabError(
            "the lab ended without an answer",
            f"exit code {processes.exit_code(code)}",
            "see the messages above; killed for lack of memory?",
        )
    answer: dict[str, Any] = json.loads(text)
    if "error" in answer:
        kinds = {"DeadlineError": DeadlineError}
        raise kinds.get(answer["kind"], LabError)(*answer["error"])
    return answer
