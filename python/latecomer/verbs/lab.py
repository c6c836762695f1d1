"""`latecomer lab`: run programs on the emulated cluster, look around in it, measure it."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from .. import lab
from ..output import print_json, say
from .options import ClockSkew, Json

app = typer.Typer(
    help="An emulated cluster on this machine: N hosts, one switch, shaped full-duplex links.",
)

Nodes = Annotated[int, typer.Option("--nodes", metavar="N", help="Hosts of the cluster, 1 to 200.")]
Rate = Annotated[
    str, typer.Option("--rate", metavar="R", help="Rate of every link: 100mbit, 200mbit, 1gbit ...")
]
PerNode = Annotated[int, typer.Option("--per-node", metavar="K", help="Ranks on each host.")]
Burst = Annotated[
    str | None,
    typer.Option(
        "--burst",
        metavar="BYTES",
        help="What a link passes unshaped after a pause, as in 256KiB; default: 5 ms of the rate "
        "with cubic, 10 ms otherwise, 128KiB at least.",
    ),
]
Queue = Annotated[
    int, typer.Option("--queue-ms", metavar="MS", help="A link drops what would wait longer.")
]
Congestion = Annotated[
    str | None,
    typer.Option(
        "--congestion", metavar="NAME", help="TCP congestion control; default: cubic, else reno."
    ),
]
Mpi = Annotated[
    str | None,
    typer.Option(
        "--mpi",
        metavar="openmpi|mpich",
        help="The MPI library; default: the one that COMMAND is linked with.",
    ),
]
Deadline = Annotated[
    float, typer.Option("--deadline", metavar="S", help="Kill everything after this many seconds.")
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Do not say on stderr what is used.")]
Command = Annotated[
    list[str], typer.Argument(metavar="COMMAND...", help="A program and its arguments.")
]


@app.command(context_settings={"allow_interspersed_args": False})
def run(
    command: Command,
    nodes: Nodes,
    rate: Rate,
    per_node: PerNode = 1,
    burst: Burst = None,
    queue_ms: Queue = 50,
    congestion: Congestion = None,
    clock_skew: ClockSkew = None,
    mpi: Mpi = None,
    deadline: Deadline = lab.DEFAULT_DEADLINE_S,
    quiet: Quiet = False,
) -> None:
    """Run an MPI program on the cluster, one rank on each host (or --per-node K).

    The exit code is the program's. A COMMAND that starts with mpirun or mpiexec is run as it is and
    uses the hosts of the cluster.

    Example: latecomer lab run --nodes 4 --rate 200mbit -- ./app --size 1024
    """
    spec = _spec(nodes, rate, per_node, burst, queue_ms, congestion, clock_skew)
    announce = None if quiet else say
    code = lab.run(spec, command, mpi=mpi, deadline=deadline, announce=announce)
    raise typer.Exit(code)


@app.command()
def check(
    nodes: Nodes,
    rate: Rate,
    burst: Burst = None,
    queue_ms: Queue = 50,
    congestion: Congestion = None,
    as_json: Json = False,
) -> None:
    """Measure goodput and round-trip time of the links, and goodput in a host, for some 8 seconds.

    Exits with 1 if this machine cannot carry all links at the rate asked for.

    Example: latecomer lab check --nodes 16 --rate 200mbit
    """
    with Console(stderr=True).status("measuring the links ..."):
        result = lab.check(_spec(nodes, rate, 1, burst, queue_ms, congestion))
    if as_json:
        print_json(result.as_dict())
    else:
        typer.echo(_text(result))
    raise typer.Exit(1 if result.too_slow else 0)


@app.command()
def shell(
    nodes: Nodes,
    rate: Rate,
    per_node: PerNode = 1,
    burst: Burst = None,
    queue_ms: Queue = 50,
    congestion: Congestion = None,
    clock_skew: ClockSkew = None,
) -> None:
    """Open a shell on the first host; mpirun in it uses all hosts.

    Example: latecomer lab shell --nodes 4 --rate 200mbit
    """
    spec = lab.settle(_spec(nodes, rate, per_node, burst, queue_ms, congestion, clock_skew))
    say(f"{spec.describe()}; hosts node0 to node{nodes - 1}; leave with exit")
    code = lab.shell(spec)
    raise typer.Exit(code)


def _spec(
    nodes: int,
    rate: str,
    per_node: int,
    burst: str | None,
    queue_ms: int,
    congestion: str | None,
    clock_skew: str | None = None,
) -> lab.LabSpec:
    return lab.LabSpec(
        nodes,
        lab.parse_rate(rate),
        per_node=per_node,
        burst_bytes=None if burst is None else lab.parse_bytes(burst),
        queue_ms=queue_ms,
        congestion=congestion,
        clock_skew_s=lab.parse_skew(clock_skew or "0"),
    )


def _text(result: lab.CheckResult) -> str:
    rows = [
        ("network", result.network),
        (
            "congestion control in force",
            f"{result.congestion}; in a host {result.local_congestion}",
        ),
        ("goodput expected", _mbit(result.expected_bits_per_s)),
        ("goodput, one way", _mbit(result.one_way_bits_per_s)),
        ("goodput, both ways at once", _mbit(result.both_ways_bits_per_s)),
        (
            f"goodput, all {result.nodes} links at once",
            f"{_mbit(result.ring_bits_per_s)} (slowest {_mbit(result.ring_slowest_bits_per_s)})",
        ),
        ("round trip, median [quartiles]", _round_trip(result)),
        ("goodput in a host, by TCP", _mbit(result.local_bits_per_s)),
        *(
            (f"in a host, {name}", "memory" if shared else "TCP on the loopback")
            for name, shared in result.hosts_memory.items()
        ),
        ("verdict", f"too slow: {result.too_slow}" if result.too_slow else "as asked for"),
    ]
    return "\n".join(f"{name:30} {value}" for name, value in rows)


def _round_trip(result: lab.CheckResult) -> str:
    times = (result.rtt_median_s, result.rtt_q1_s, result.rtt_q3_s)
    return "{:.0f} us [{:.0f}-{:.0f}]".format(*(1e6 * time for time in times))


def _mbit(bits_per_s: float) -> str:
    return f"{bits_per_s / 1e6:.1f} Mbit/s"
