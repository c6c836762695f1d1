"""Slurm on the hosts of a lab: one controller, one slurmd a host, and one munged for all of them.

Everything lies below /run, which is the lab's own, and ends with the lab. There is no accounting
and there are no control groups: the processes of a job are told by their process groups.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...base.errors import DeadlineError
from ...launch import processes, program
from . import privilege, topology
from .spec import LabError, LabSpec

COMMANDS = ("srun", "sbatch", "salloc", "sinfo", "squeue", "scontrol", "scancel")
REMEDY = "apt-get install slurm-wlm (Debian, Ubuntu)"

_FOLDER = topology.RUN / "latecomer" / "slurm"
CONFIGURATION = _FOLDER / "slurm.conf"
PLUGIN = "liblatecomer_slurm.so"  # is built where Slurm's headers are
_MUNGE = topology.RUN / "munge"  # where Slurm's plugin looks for the socket
_DAEMONS = ("munged", "slurmctld", "slurmd")
START_S = 60.0
_ASK_S = 20.0
_BETWEEN_S = 0.1
_KEY_BYTES = 128
_TAIL = 4  # lines of a log in an error
_GOOD = "COMPLETED"

# Folders of a host's own, by %n: hosts share a file system. TmpFS is where PMIx makes its folders.
# MinJobAge: a job is forgotten after a week, so that finish_jobs knows how each ended (Slurm 22.05
# takes 0, which is never, for 2 s).
_TEXT = """ClusterName=latecomer
SlurmctldHost={controller}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdSpoolDir={folder}/spool-%n
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmdLogFile={folder}/slurmd-%n.log
TmpFS={folder}/tmp-%n
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0
SlurmdParameters=config_overrides
ReturnToService=2
MinJobAge=604800
MailProg=/bin/true
MpiDefault=none
PlugStackConfig={folder}/plugstack.conf
NodeName=node[0-{last}] CPUs={per_node} State=UNKNOWN
PartitionName=lab Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> list[str]:
    """The programs of Slurm that are not installed here."""
    return [name for name in (*_DAEMONS, *COMMANDS[:3]) if not tool(name)]


def check_installed() -> None:
    """Raises LabError naming the package."""
    if absent := missing():
        what = "Slurm is not installed here"
        raise LabError(what, ", ".join(absent), f"install it: {REMEDY}")


def start(spec: LabSpec) -> None:
    """Start Slurm on all hosts, and wait until they are idle. Raises LabError."""
    for folder in ("state", *(f"{kind}-{topology.node_name(node)}" for node in range(spec.nodes)
                              for kind in ("spool", "tmp"))):  # fmt: skip
        (_FOLDER / folder).mkdir(parents=True)
    settings = {"folder": _FOLDER, "last": spec.nodes - 1, "per_node": spec.per_node}
    CONFIGURATION.write_text(_TEXT.format(controller=topology.node_name(0), **settings))
    plugin = program.find_built(PLUGIN)
    (_FOLDER / "plugstack.conf").write_text(f"optional {plugin.resolve()}\n" if plugin else "")
    _start_munged()
    _run("slurmctld", [tool("slurmctld"), "-f", str(CONFIGURATION)])
    for node in range(spec.nodes):
        name = topology.node_name(node)
        words = [topology.CLUSTER.agent, name, tool("slurmd"), "-N", name, "-f"]
        _run(f"slurmd-{name}", [*words, str(CONFIGURATION)])
    _wait_until_idle(spec.nodes)


def _start_munged() -> None:
    _MUNGE.mkdir(mode=0o755)
    key = _FOLDER / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(os.urandom(_KEY_BYTES))
    # --force: in a user namespace the root folder belongs to nobody.
    files = {"key-file": key, "pid-file": _MUNGE / "munged.pid", "log-file": _FOLDER / "munged.log",
             "seed-file": _FOLDER / "munged.seed"}  # fmt: skip
    options = [f"--{name}={path}" for name, path in files.items()]
    _run("munged", [tool("munged"), "--force", "--num-threads=2", *options])


def _run(log: str, words: Sequence[str]) -> None:
    """A daemon's start, which ends when the daemon runs."""
    try:
        done = processes.finished(words, START_S, _environment())
        message, code = done.stderr, done.returncode
    except subprocess.TimeoutExpired:
        message, code = f"no answer within {START_S:g} s", 1
    if code:
        raise _failure(log, message)


def _wait_until_idle(nodes: int) -> None:
    deadline = time.monotonic() + START_S
    while (states := _ask("sinfo", "--noheader", "--format=%D %T")) != f"{nodes} idle":
        if time.monotonic() > deadline:
            states = "; ".join(states.splitlines()) or "no answer"
            raise _failure("slurmctld", f"hosts are not idle after {START_S:g} s: {states}")
        time.sleep(_BETWEEN_S)


def finish_jobs(deadline: float | None, begin: float) -> int:
    """Wait until no job is left; the exit code: 1 if one did not complete. Raises DeadlineError.

    A command such as sbatch ends before its jobs do. The deadline is of both, since `begin`.
    """
    end = None if deadline is None else begin + deadline
    while _ask("squeue", "--noheader", "--format=%i"):
        if end is not None and time.monotonic() > end:
            jobs = _ask("squeue", "--noheader", "--format=%i %j %T").splitlines()
            what = f"jobs are not over after {deadline:g} s"
            raise DeadlineError(what, "; ".join(jobs), "allow more by --deadline")
        time.sleep(_BETWEEN_S)
    states = _ask("squeue", "--noheader", "--states=all", "--format=%i %T").splitlines()
    return 0 if all(line.split()[-1] == _GOOD for line in states) else 1


def _ask(program: str, *words: str) -> str:
    try:
        return processes.finished([tool(program), *words], _ASK_S, _environment()).stdout.strip()
    except subprocess.TimeoutExpired:
        message = f"{program} has no answer within {_ASK_S:g} s"
        raise _failure("slurmctld", message, "Slurm hangs in the lab") from None


def _environment() -> Mapping[str, str]:
    return os.environ | {"SLURM_CONF": str(CONFIGURATION)}


def tool(program: str) -> str:
    """The path of a program, also where users' PATH does not look; "" if it is not there."""
    return shutil.which(program, path=privilege.path()) or ""


def _failure(log: str, message: str, what: str = "Slurm does not start in the lab") -> LabError:
    path = _FOLDER / f"{log}.log"
    lines = path.read_text(errors="replace").splitlines()[-_TAIL:] if path.exists() else []
    said = " | ".join([*filter(None, message.split("\n")), *lines]) or "no message"
    return LabError(what, f"{log}: {said}", _remedy())


def _remedy() -> str:
    if Path("/proc/self/setgroups").read_text().strip() == "deny":
        return "run the lab as root: Slurm sets the groups of its tasks, which users may not"
    return "see the messages above"
