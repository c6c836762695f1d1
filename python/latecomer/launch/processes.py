"""Run one program to its end or to its deadline, and leave nothing of it behind."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from ..base.errors import DeadlineError, UserError

DEFAULT_DEADLINE_S = 600.0

_GRACE_S = 3.0  # between asking a launcher to stop its ranks and killing them
_LISTED = 20  # processes named in an error
_PR_SET_PDEATHSIG = 1
_ASK_TIMEOUT_S = 20
_LIBC = ctypes.CDLL(None, use_errno=True)


def die_with_parent(how: int) -> None:
    """Have the kernel send signal `how` to this new child when the parent thread ends."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(how))


def start(
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    pass_fds: Sequence[int] = (),
    on_death: int = signal.SIGTERM,
    quiet: bool = False,
) -> subprocess.Popen[bytes]:
    """Start `command`, tied to this process. Raises UserError if it cannot be started."""
    tie = partial(die_with_parent, on_death)
    try:
        return subprocess.Popen(  # one system call between fork and exec is safe
            command,
            env=env,
            pass_fds=pass_fds,
            stdout=subprocess.DEVNULL if quiet else None,
            preexec_fn=tie,  # noqa: PLW1509
        )
    except OSError as error:
        raise UserError(
            f"cannot start a program ({error.strerror})", command[0], "give the path of a program"
        ) from None


def run(
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    deadline: float | None = DEFAULT_DEADLINE_S,
    running: Callable[[int], list[str]] | None = None,
    quiet: bool = False,
) -> int:
    """Run `command` and return its exit code (128 + n if signal n killed it).

    `deadline` is in seconds, None for no limit; `running` names what a process id has still
    running; `quiet` drops the standard output. When the time is over all of it is killed and
    DeadlineError names it.
    """
    child = start(command, env=env, quiet=quiet)
    try:
        return exit_code(child.wait(deadline))
    except subprocess.TimeoutExpired:
        names = (running or describe_descendants)(child.pid)
        raise _deadline_error(deadline, names) from None
    finally:
        stop(child)


def finished(
    command: Sequence[str], timeout_s: float, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a short command, and keep what it prints. Raises OSError and TimeoutExpired."""
    return subprocess.run(
        command, capture_output=True, text=True, errors="replace", timeout=timeout_s,
        stdin=subprocess.DEVNULL, check=False, env=env,
    )  # fmt: skip


def output_of(command: Sequence[str], timeout_s: float = _ASK_TIMEOUT_S) -> str:
    """The standard output of a short command; "" if it cannot be run, or hangs."""
    try:
        return finished(command, timeout_s).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def exit_code(returned: int) -> int:
    """The shell's exit code for a return code of subprocess."""
    return 128 - returned if returned < 0 else returned


def stop(child: subprocess.Popen[bytes]) -> None:
    """End `child` and all that it started, also if interrupted; do nothing if it has ended."""
    if child.poll() is not None:
        return
    family: dict[int, str] = {}
    try:
        # Before the launcher dies, since orphans lose their parent.
        family.update((pid, _started(pid)) for pid in descendants(child.pid))
        child.terminate()
        child.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        pass
    finally:
        child.kill()  # nothing happens if it has ended
        for pid, started in family.items():
            _kill(pid, started)
        child.wait()


def descendants(root: int) -> list[int]:
    """The process ids below `root`, parents before children."""
    children: dict[int, list[int]] = {}
    for pid in all_pids():
        children.setdefault(_parent(pid), []).append(pid)
    found = list(children.get(root, ()))
    for pid in found:  # grows while it is walked
        found += children.get(pid, ())
    return found


def describe_descendants(root: int) -> list[str]:
    """`name (process id)` of `root` and each process below it."""
    return [f"{name_of(pid)} ({pid})" for pid in [root, *descendants(root)]]


def all_pids() -> list[int]:
    """Every process id that /proc shows."""
    return sorted(int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def name_of(pid: int) -> str:
    """The program's name, `?` if the process is gone."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "?"


def _parent(pid: int) -> int:
    stat = _stat(pid)
    return int(stat[1]) if stat else 0


def _started(pid: int) -> str:
    """When the process began, in ticks: ids are used again."""
    stat = _stat(pid)
    return stat[19] if stat else ""


def _stat(pid: int) -> list[str]:
    """The words of /proc about the process, from its state on; empty: it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return []
    return stat.rpartition(")")[2].split()  # the name may hold blanks and brackets


def _kill(pid: int, started: str) -> None:
    """Kill the process, unless another one has its id by now."""
    if _started(pid) == started:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _deadline_error(deadline: float | None, names: list[str]) -> DeadlineError:
    more = [f"and {len(names) - _LISTED} more"] if len(names) > _LISTED else []
    return DeadlineError(
        f"still running after {deadline:g} s and killed",
        ", ".join(names[:_LISTED] + more),
        "find out what it waits for, or allow more time with --deadline TIME",
    )
