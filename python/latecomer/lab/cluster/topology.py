"""Inside the lab's own namespaces: build the hosts, the switch and the shaped links.

Every host is a network namespace and a host name of its own, on demand also a clock; a link is a
veth pair from the host's `e0` to the switch's `pK`, with a token bucket on both ends, so that both
directions are shaped.
"""

from __future__ import annotations

import shlex
import socket
import subprocess
from pathlib import Path

from ...launch.mpi import Cluster
from . import kernel
from .privilege import tool
from .spec import LabError, LabSpec

RUN = Path("/run")  # covered by a tmpfs of our own
NETWORKS = RUN / "netns"  # where `ip -n NAME` looks
HOST_NAMES = RUN / "latecomer" / "uts"
CLOCKS = RUN / "latecomer" / "time"  # empty unless hosts have clocks of their own
SCRATCH = RUN / "tmp"
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - of our own as well
SUBNET = "10.77.0.0/24"
CLUSTER = Cluster(
    agent="/run/latecomer/agent",
    openmpi_hosts="/run/latecomer/hosts.openmpi",
    hydra_hosts="/run/latecomer/hosts.hydra",
    interface="e0",
    subnet=SUBNET,
)

_LOOPBACK = ("127.0.0.0/8", "127.0.0.1")

# Arguments as of ssh: options, a host, and words that the far shell joins into a command.
_AGENT = """#!/bin/sh
while :; do
  case $1 in
    -[lpioFbcDEeIJLmOQRSWw]) shift 2 ;;
    -*) shift ;;
    *) break ;;
  esac
done
host=$1
shift
exec {nsenter} --net={networks}/"$host" --uts={names}/"$host" {clock} -- /bin/sh -c "$*"
"""


def node_name(node: int) -> str:
    """The host name of a node, counted from 0."""
    return f"node{node}"


def address(node: int) -> str:
    """The IPv4 address of a node."""
    return f"10.77.0.{node + 1}"


def enter(node: int) -> None:
    """Move this process onto a node. Raises OSError."""
    kernel.join(NETWORKS / node_name(node), kernel.NEW_NETWORK)
    kernel.join(HOST_NAMES / node_name(node), kernel.NEW_HOST_NAME)
    if (clock := CLOCKS / node_name(node)).exists():
        kernel.join(clock, kernel.NEW_TIME)


def build(spec: LabSpec) -> None:
    """Build the cluster; this process ends up on node 0. Raises LabError."""
    try:
        _prepare_files(spec)
        _new_namespace("switch")
        # Before the ports: a link whose ends bear the same number is a second late in coming up.
        _batch("ip", "switch", ["link add br0 type bridge mcast_snooping 0", "link set br0 up"])
        for node in range(spec.nodes):
            _build_node(spec, node)
        _connect_switch(spec)
        enter(0)
        _show_interfaces()
    except OSError as error:
        raise LabError("cannot build the lab", error, "report this with the output of uname -a")


def _prepare_files(spec: LabSpec) -> None:
    kernel.mount("tmpfs", RUN)
    if SHARED_MEMORY.is_dir():
        kernel.mount("tmpfs", SHARED_MEMORY)  # files that killed ranks leave there end with the lab
    for folder in (NETWORKS, HOST_NAMES, CLOCKS, SCRATCH, RUN / "lock"):
        folder.mkdir(parents=True)
    nodes = [node_name(node) for node in range(spec.nodes)]
    _write_lines(CLUSTER.openmpi_hosts, [f"{name} slots={spec.per_node}" for name in nodes])
    _write_lines(CLUSTER.hydra_hosts, [f"{name}:{spec.per_node}" for name in nodes])
    places = {"nsenter": shlex.quote(tool("nsenter")), "networks": NETWORKS, "names": HOST_NAMES}
    clock = f'--time={CLOCKS}/"$host"' if spec.clock_skew_s else ""
    Path(CLUSTER.agent).write_text(_AGENT.format(**places, clock=clock))
    Path(CLUSTER.agent).chmod(0o755)
    _name_addresses([f"{address(node)} {name}" for node, name in enumerate(nodes)])


def _name_addresses(lines: list[str]) -> None:
    hosts = RUN / "latecomer" / "hosts"
    _write_lines(str(hosts), ["127.0.0.1 localhost", *lines])
    if Path("/etc/hosts").exists():
        kernel.bind(str(hosts), Path("/etc/hosts"))


def _write_lines(path: str, lines: list[str]) -> None:
    Path(path).write_text("".join(f"{line}\n" for line in lines))


def _new_namespace(name: str) -> None:
    """Create network and host name `name`, keep them by files, and move there."""
    kernel.unshare(kernel.NEW_NETWORK | kernel.NEW_HOST_NAME)
    socket.sethostname(name)
    for kind, folder in (("net", NETWORKS), ("uts", HOST_NAMES)):
        (folder / name).touch()
        kernel.bind(f"/proc/self/ns/{kind}", folder / name)
    _disable_ipv6()


def _new_clock(name: str, ahead_s: float) -> None:
    """Create a clock for node `name`, keep it by a file. This process keeps its own."""
    seconds, rest = divmod(round(ahead_s * 10**9), 10**9)
    lines = [f"{clock} {seconds} {rest}\n" for clock in ("monotonic", "boottime")]
    try:
        kernel.unshare(kernel.NEW_TIME)
        Path("/proc/self/timens_offsets").write_text("".join(lines))
    except OSError as error:
        raise LabError(
            "hosts cannot have clocks of their own here, time namespaces do not work",
            error,
            "leave out --clock-skew, or use Linux 5.6 or newer with CONFIG_TIME_NS (a container: "
            "with --cap-add=SYS_TIME)",
        ) from None
    (CLOCKS / name).touch()
    kernel.bind("/proc/self/ns/time_for_children", CLOCKS / name)


def _disable_ipv6() -> None:
    # Its neighbour discovery would be noise on the links; a kernel without it is as good.
    try:
        Path("/proc/sys/net/ipv6/conf/default/disable_ipv6").write_text("1")
    except OSError:
        pass


def _build_node(spec: LabSpec, node: int) -> None:
    name = node_name(node)
    _new_namespace(name)
    if spec.clock_skew_s:
        _new_clock(name, spec.clock_offset_s(node))
    gso = f"gso_max_size {spec.gso_max_bytes}"
    peer = f"peer name p{node} {gso} netns switch"
    links = [
        "link set lo up",
        f"link add e0 {gso} address {_hardware_address(node)} type veth {peer}",
        f"addr add {address(node)}/24 dev e0",
        "link set e0 up",
        *_congestion_controlled(spec, node),
    ]
    _batch("ip", name, links + _neighbours(spec, node))
    _batch("tc", name, [_shaping(spec, "e0")])


def _congestion_controlled(spec: LabSpec, node: int) -> list[str]:
    # By routes, those to the host itself included: a namespace's default may only be one that the
    # machine allows to all users, and cubic need not be among these.
    own = address(node)
    links = f"{SUBNET} dev e0 src {own}", f"local {own} dev lo table local src {own}"
    loopback = (f"local {name} dev lo table local src 127.0.0.1" for name in _LOOPBACK)
    return [f"route replace {route} congctl {spec.congestion}" for route in (*links, *loopback)]


def _neighbours(spec: LabSpec, node: int) -> list[str]:
    # Fixed entries: no address resolution on the links, and none of the machine's limit
    # on learned neighbours (1024 over all namespaces) is used up.
    others = (other for other in range(spec.nodes) if other != node)
    return [
        f"neigh add {address(other)} lladdr {_hardware_address(other)} dev e0 nud permanent"
        for other in others
    ]


def _connect_switch(spec: LabSpec) -> None:
    kernel.join(NETWORKS / "switch", kernel.NEW_NETWORK)
    _batch("ip", "switch", [f"link set p{node} master br0 up" for node in range(spec.nodes)])
    _batch("tc", "switch", [_shaping(spec, f"p{node}") for node in range(spec.nodes)])


def _show_interfaces() -> None:
    # UCX lists the interfaces in /sys, which shows the network it was mounted in. Node 0's will do
    # for all, as every node has lo and e0. Where it cannot be had, only such libraries suffer.
    view = RUN / "latecomer" / "sys"
    view.mkdir()
    try:
        kernel.mount("sysfs", view)
        for part in ("class/net", "devices/virtual/net"):
            kernel.bind(str(view / part), Path("/sys", part))
    except OSError:
        pass


def _shaping(spec: LabSpec, device: str) -> str:
    return (
        f"qdisc add dev {device} root tbf rate {spec.rate_bits_per_s}bit "
        f"burst {spec.burst}b latency {spec.queue_ms}ms"
    )


def _hardware_address(node: int) -> str:
    return f"02:4c:43:00:00:{node + 1:02x}"


def _batch(program: str, place: str, lines: list[str]) -> None:
    """One process for many settings: 200 hosts would otherwise need thousands."""
    done = subprocess.run(
        [tool(program), "-batch", "-"],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise LabError(
            f"'{program}' failed while building {place}",
            " ".join(done.stderr.split()),
            "run 'latecomer lab check --nodes 2' to see whether a smaller lab works",
        )
