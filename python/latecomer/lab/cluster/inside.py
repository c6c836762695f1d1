"""Inside: the lab's first process builds the cluster, carries out requests, and answers."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

from ...base.errors import UserError
from ...launch import processes
from . import measure, slurm, topology
from .spec import LabSpec


def main(request: int, reply: int) -> None:
    """Serve the request in one file descriptor, answer into the other, and exit."""
    with os.fdopen(request) as file:
        asked = json.load(file)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # process 1 ignores it, the worker ends quietly
    worker = os.fork()
    if worker:
        os.close(reply)
        os._exit(_reap_until(worker))
    with os.fdopen(reply, "w") as pipe:
        json.dump(_serve(asked), pipe)


def _reap_until(worker: int) -> int:
    """Reap every orphan, which this process inherits as process 1 of its namespace."""
    while True:
        pid, status = os.wait()
        if pid == worker:
            return processes.exit_code(os.waitstatus_to_exitcode(status))


def _serve(asked: dict[str, Any]) -> dict[str, Any]:
    spec = LabSpec(**asked["spec"])
    try:
        topology.build(spec)
        if asked["action"] == "check":
            return {"measured": measure.measure(spec)}
        if asked["action"] == "slurm":
            slurm.start(spec)
            begin = time.monotonic()
            code = _run(asked["command"], asked["env"], asked["deadline"])
            return {"exit": code or slurm.finish_jobs(asked["deadline"], begin)}
        return {"exit": _run(asked["command"], asked["env"], asked["deadline"])}
    except UserError as error:
        return {"error": list(error.args), "kind": type(error).__name__}


def _run(command: list[str], env: dict[str, str], deadline: float | None) -> int:
    return processes.run(command, env=env, deadline=deadline, running=_running)


def _running(_root: int) -> list[str]:
    """Name every process of the lab by its node, but this one and process 1."""
    nodes = {path.stat().st_ino: path.name for path in topology.NETWORKS.iterdir()}
    others = [pid for pid in processes.all_pids() if pid not in (1, os.getpid())]
    return [f"{_place(pid, nodes)}: {processes.name_of(pid)}" for pid in others]


def _place(pid: int, nodes: dict[int, str]) -> str:
    try:
        return nodes.get(Path(f"/proc/{pid}/ns/net").stat().st_ino, "?")
    except OSError:
        return "?"
