"""Finds out whether this process can have namespaces of its own, by making some.

Some systems let a process create a user namespace and then refuse every operation inside it, so the
probe builds a small link and shapes it.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

from ...base.variables import variable
from ...launch import processes
from .spec import LabError, LabSpec, SpecError

_TOOLS = ("unshare", "nsenter", "mount", "sh", "ip", "tc")
_NAMESPACES = ("--net", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc")
_AS_USER = ("--user", "--map-root-user")
_PREFERRED = ("cubic", "reno", "bbr")
_SYSTEM_FOLDERS = "/usr/sbin:/sbin:/usr/bin:/bin"
_PROBE_TIMEOUT_S = 30

# Each step says its name before it acts, so that the last name is the one that failed.
_PROBE = """
step() { echo "step $*"; "$@"; }
link() { step ip link add e0 gso_max_size 32768 type veth peer name p0; }
shape() { step tc qdisc add dev e0 root tbf rate 100mbit burst 131072 latency 50ms; }
step mount -t tmpfs tmpfs /run && step ip link add br0 type bridge && link && shape &&
step ip addr add 10.77.0.1/24 dev e0 && step ip link set e0 up || exit 1
for name in "$@"; do
  ip route replace 10.77.0.0/24 dev e0 congctl "$name" 2>/dev/null && echo "congestion $name"
done
echo done
"""

_APPARMOR_PROFILE = (
    "abi <abi/4.0>,\\nprofile latecomer-unshare /usr/bin/unshare flags=(unconfined) { userns, }\\n"
)
_APPARMOR = (
    "this system's AppArmor forbids namespaces to ordinary users: run as root, or allow them to "
    f"unshare alone with: printf '{_APPARMOR_PROFILE}' | sudo tee "
    "/etc/apparmor.d/latecomer-unshare && sudo apparmor_parser -r "
    "/etc/apparmor.d/latecomer-unshare"
)
_CONTAINER = (
    "inside a container: start it with --privileged, or with --cap-add=SYS_ADMIN "
    "--cap-add=NET_ADMIN --security-opt seccomp=unconfined --security-opt apparmor=unconfined "
    "--security-opt systempaths=unconfined"
)
_MODULE = "load the kernel modules, as root of the machine: modprobe -a veth bridge sch_tbf"
_OLD_TOOL = "iproute2 4.20 and util-linux 2.32 or newer are needed"
_SYSCTLS = (
    ("kernel/apparmor_restrict_unprivileged_userns", "1", _APPARMOR),
    ("kernel/unprivileged_userns_clone", "0", "sudo sysctl -w kernel.unprivileged_userns_clone=1"),
)


@dataclass(frozen=True)
class Sandbox:
    """The way to private namespaces here, and the features that work inside."""

    flags: tuple[str, ...]  # of unshare
    congestion: tuple[str, ...]  # usable congestion controls, the preferred one first


def path() -> str:
    """PATH, and the folders of system programs, which ordinary users' PATH may lack."""
    return f"{os.environ.get('PATH', '')}:{_SYSTEM_FOLDERS}"


def tool(name: str) -> str:
    """The path of a system program; also where ordinary users' PATH does not look."""
    if found := shutil.which(name, path=path()):
        return found
    raise LabError(
        "a program is missing",
        name,
        "install it: apt-get install iproute2 util-linux mount "
        "(Fedora: dnf install iproute iproute-tc util-linux)",
    )


def settle(spec: LabSpec) -> LabSpec:
    """`spec` with the congestion control and burst that will be in force.

    Raises LabError if there are no namespaces to be had, SpecError if the congestion control asked
    for is not to be had.
    """
    usable = sandbox(spec.congestion).congestion
    chosen = spec.congestion or (usable[0] if usable else None)
    if chosen not in usable:
        raise SpecError(
            "TCP congestion control not available here",
            chosen,
            f"use one of: {', '.join(usable) or 'none found'}; or, as root: modprobe tcp_{chosen}",
        )
    settled = replace(spec, congestion=chosen)
    return replace(settled, burst_bytes=settled.burst)


@functools.cache
def sandbox(congestion: str | None = None) -> Sandbox:
    """Find working namespaces, or raise a LabError that names the failure and its remedy."""
    if congestion in _PREFERRED:
        return sandbox()  # tried anyway
    names = _PREFERRED + ((congestion,) if congestion else ())
    tools = {name: tool(name) for name in _TOOLS}  # all of them, before any is used
    failures = []
    for extra in ((), _AS_USER) if os.geteuid() == 0 else (_AS_USER,):
        flags = extra + _NAMESPACES
        done = _probe([tools["unshare"], *flags, "--", "sh", "-c", _PROBE, "probe", *names])
        lines = done.stdout.splitlines()
        if "done" in lines:
            usable = [line.split()[1] for line in lines if line.startswith("congestion ")]
            return Sandbox(flags, tuple(usable))
        failures.append(_failure(lines, done.stderr))
    raise failures[0]


def _probe(command: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        env = os.environ | {"PATH": path(), "LC_ALL": "C"}
        return processes.finished(command, _PROBE_TIMEOUT_S, env)
    except subprocess.TimeoutExpired:
        raise LabError(
            "creating namespaces hangs", f"{_PROBE_TIMEOUT_S} s", "see the kernel's log (dmesg)"
        ) from None


def _failure(lines: list[str], stderr: str) -> LabError:
    steps = [line.removeprefix("step ") for line in lines if line.startswith("step ")]
    failed = f"'{steps[-1]}'" if steps else "unshare"
    message = " ".join(stderr.split()) or "no message"
    return LabError(f"no private namespaces here, {failed} failed", message, _remedy(message))


def _remedy(message: str) -> str:
    if "nknown device type" in message or "kind is unknown" in message:
        return _MODULE
    if "unrecognized option" in message or "is a garbage" in message:
        return _OLD_TOOL
    if "No space left" in message:
        return (
            "a limit on namespaces is reached, see /proc/sys/user/max_*_namespaces; raise it, for "
            "example: sudo sysctl -w user.max_user_namespaces=10000 user.max_net_namespaces=10000"
        )
    if _in_container():
        return _CONTAINER
    for name, value, remedy in _SYSCTLS if os.geteuid() else ():
        if _sysctl(name) == value:
            return remedy
    return "run as root, or let the administrator allow unprivileged user namespaces"


def _in_container() -> bool:
    marks = ("/.dockerenv", "/run/.containerenv")
    return any(Path(mark).exists() for mark in marks) or variable("container") is not None


def _sysctl(name: str) -> str:
    try:
        return Path("/proc/sys", name).read_text().strip()
    except OSError:
        return ""
