"""`latecomer lab`: run programs on the emulated cluster, look around in it, measure it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from ..base import invocation
from ..base.limits import LAB_NODES, LAB_PER_NODE, LAB_QUEUE_MS
from ..base.output import print_json, say
from ..command.declare import Seconds, argument, flag
from ..launch.processes import DEFAULT_DEADLINE_S
from .options import ClockSkew, Json, option

if TYPE_CHECKING:
    from ..lab import cluster

Quiet = Annotated[bool, flag("--quiet", "Do not print the settings of the cluster on stderr.")]
Command = Annotated[list[str], argument("COMMAND...", "A program and its arguments.")]
Deadline = Annotated[Seconds, option("--deadline", "TIME", "")]
_DEFAULT = Seconds(DEFAULT_DEADLINE_S)
Rate = Annotated[str, option("--rate", "R", "")]
PerNode = Annotated[int, option("--per-node", "K", "", min=1, max=LAB_PER_NODE)]


@dataclass(frozen=True, kw_only=True)
class Links:
    """The hosts and links of a cluster."""

    nodes: Annotated[int, option("--nodes", "N", "", min=1, max=LAB_NODES)]
    rate: Rate
    burst: Annotated[str | None, option(
        "--burst", "BYTES", "Let a link pass so many bytes unshaped after a pause, as in 256KiB. "
        "The default is 5 ms of the rate with cubic, 10 ms otherwise, and at least 128KiB."
    )] = None  # fmt: skip
    queue_ms: Annotated[int, option(
        "--queue-ms", "MS", "Drop packets that would wait longer than this at a link.",
        min=1, max=LAB_QUEUE_MS
    )] = 50  # fmt: skip
    congestion: Annotated[str | None, option(
        "--congestion", "NAME", "Use this TCP congestion control. The default is cubic, else reno."
    )] = None  # fmt: skip

    def spec(self, per_node: int = 1, clock_skew: str | None = None) -> cluster.LabSpec:
        """The cluster. Raises SpecError."""
        from ..lab import cluster

        return cluster.LabSpec(
            self.nodes,
            cluster.parse_rate(self.rate),
            per_node=per_node,
            burst_bytes=None if self.burst is None else cluster.parse_bytes(self.burst),
            queue_ms=self.queue_ms,
            congestion=self.congestion,
            clock_skew_s=cluster.parse_skew(clock_skew or "0"),
        )


@dataclass(frozen=True, kw_only=True)
class Ranks(Links):
    """The ranks on it."""

    per_node: PerNode = 1
    clock_skew: ClockSkew = None


@dataclass(frozen=True, kw_only=True)
class Run(Ranks):
    """The options of lab run."""

    command: Command
    mpi: Annotated[str | None, option(
        "--mpi", "openmpi|mpich", "The default is the one that COMMAND is linked with."
    )] = None  # fmt: skip
    deadline: Deadline = _DEFAULT
    quiet: Quiet = False


@dataclass(frozen=True, kw_only=True)
class Check(Links):
    """The options of lab check."""

    json: Json = False


def run(asked: Run) -> int:
    """Run an MPI program on the cluster, with one rank on each host or --per-node K.

    The exit code is that of the program. A COMMAND that starts with mpirun or mpiexec is run
    unchanged and uses the hosts of the cluster.

    Example: latecomer lab run --nodes 4 --rate 200mbit -- ./app --size 1024
    """
    from ..lab import cluster

    spec = asked.spec(asked.per_node, asked.clock_skew)
    announce = None if asked.quiet else say
    return cluster.run(
        spec,
        asked.command,
        mpi=asked.mpi,
        env={invocation.WITHIN: invocation.outer(asked.command)},
        deadline=asked.deadline,
        announce=announce,
    )


def slurm(
    command: Command,
    nodes: Annotated[int, option("--nodes", "N", "", min=1, max=LAB_NODES)],
    rate: Rate = "1gbit",
    per_node: PerNode = 1,
    deadline: Deadline = _DEFAULT,
    quiet: Quiet = False,
) -> int:
    """Run a command on the cluster with Slurm on its hosts: srun, sbatch, or a program with these.

    It returns when the command and all its jobs are over. The exit code is the command's, or 1 if a
    job did not complete. Slurm must be installed: apt-get install slurm-wlm.

    Example: latecomer lab slurm --nodes 4 -- srun --mpi=pmix -n 4 ./app
    """
    from ..lab import cluster

    spec = Links(nodes=nodes, rate=rate).spec(per_node)
    announce = None if quiet else say
    env = {invocation.WITHIN: invocation.outer(command)}
    return cluster.run_with_slurm(spec, command, env=env, deadline=deadline, announce=announce)


def check(asked: Check) -> int:
    """Measure the links for about 8 seconds: goodput, round-trip time, and goodput in a host.

    The exit code is 1 if this machine cannot carry all links at the given rate.

    Example: latecomer lab check --nodes 16 --rate 200mbit
    """
    from rich.console import Console

    from ..lab import cluster

    with Console(stderr=True).status("measuring the links ..."):
        result = cluster.check(asked.spec())
    if asked.json:
        print_json(vars(result))
    else:
        print(_text(result))
    return 1 if result.too_slow else 0


def shell(asked: Ranks) -> int:
    """Open a shell on the first host; mpirun uses all hosts in it.

    Example: latecomer lab shell --nodes 4 --rate 200mbit
    """
    from ..lab import cluster

    spec = cluster.settle(asked.spec(asked.per_node, asked.clock_skew))
    say(f"{spec.describe()}; hosts node0 to node{spec.nodes - 1}; leave with exit")
    return cluster.shell(spec)


def _text(result: cluster.CheckResult) -> str:
    rtt = (result.rtt_median_s, result.rtt_q1_s, result.rtt_q3_s)
    slowest = _mbit(result.ring_slowest_bits_per_s)
    used = f"{result.congestion}; in a host {result.local_congestion}"
    rows = [
        ("network", result.network),
        ("congestion control in force", used),
        ("goodput expected", _mbit(result.expected_bits_per_s)),
        ("goodput, one way", _mbit(result.one_way_bits_per_s)),
        ("goodput, both ways at once", _mbit(result.both_ways_bits_per_s)),
        (f"goodput, all {result.nodes} links at once",
         f"{_mbit(result.ring_bits_per_s)} (slowest {slowest})"),
        ("round trip, median [quartiles]",
         "{:.0f} µs [{:.0f}-{:.0f}]".format(*(1e6 * time for time in rtt))),
        ("goodput in a host, by TCP", _mbit(result.local_bits_per_s)),
        *((f"in a host, {name}", "memory" if shared else "TCP on the loopback")
          for name, shared in result.hosts_memory.items()),
        ("verdict", f"too slow: {result.too_slow}" if result.too_slow else "as asked for"),
    ]  # fmt: skip
    return "\n".join(f"{name:30} {value}" for name, value in rows)


def _mbit(bits_per_s: float) -> str:
    return f"{bits_per_s / 1e6:.1f} Mbit/s"
