"""Check that the lab delivers the rate and delay asked for, by TCP streams between its hosts."""

from __future__ import annotations

import multiprocessing
import socket
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from ...launch import mpi
from . import topology
from .enter import enter
from .privilege import settle
from .spec import LabError, LabSpec, SpecError

# Below this share of the goodput that the links allow, the machine is the bottleneck.
_ENOUGH = 0.9
_DEADLINE_S = 120.0


@dataclass(frozen=True)
class CheckResult:
    """Measured links and hosts of a lab; goodputs are bits per second, times are seconds."""

    network: str
    nodes: int
    rate_bits_per_s: int
    burst_bytes: int
    congestion: str  # read from a connection, not from the settings
    local_congestion: str  # of a connection within a host
    local_bits_per_s: float  # within a host, by TCP
    hosts_memory: dict[str, bool]  # by library: True if ranks of a host talk through its memory
    expected_bits_per_s: float
    one_way_bits_per_s: float
    both_ways_bits_per_s: float  # of the slower direction
    ring_bits_per_s: float  # mean over all links, all busy at once
    ring_slowest_bits_per_s: float
    rtt_q1_s: float
    rtt_median_s: float
    rtt_q3_s: float
    seconds: float  # that the check took
    too_slow: str | None  # a sentence if the machine cannot carry all links at this rate


def check(spec: LabSpec) -> CheckResult:
    """Build the lab, measure it for a few seconds, and take it down. Raises LabError."""
    if spec.nodes < 2:
        raise SpecError("a check measures links between nodes", spec.nodes, "use 2 nodes or more")
    started = time.monotonic()
    spec = settle(spec)
    found = enter(spec, "check", deadline=_DEADLINE_S)["measured"]
    memory = {family.describe(): family.shares_memory for family in mpi.families()}
    links = found.pop("ring_bits_per_s")
    ring = statistics.fmean(links)
    return CheckResult(
        network=spec.describe(),
        nodes=spec.nodes,
        rate_bits_per_s=spec.rate_bits_per_s,
        burst_bytes=spec.burst,
        expected_bits_per_s=spec.goodput_bits_per_s,
        hosts_memory=memory,
        ring_bits_per_s=ring,
        ring_slowest_bits_per_s=min(links),
        seconds=time.monotonic() - started,
        too_slow=_complaint(spec, ring),
        **found,
    )


def _complaint(spec: LabSpec, ring: float) -> str | None:
    expected = spec.goodput_bits_per_s
    if ring >= _ENOUGH * expected:
        return None
    return (
        f"with all {spec.nodes} links busy this machine carries {ring / 1e6:.0f} instead of "
        f"{expected / 1e6:.0f} Mbit/s on each; use fewer nodes or a rate of about "
        f"{max(1, round(0.8 * ring / 1e6))}mbit"
    )


_FORK = multiprocessing.get_context("fork")
_FIRST_PORT = 5000
_WARM_UP_S = 0.3  # slow start, and the burst that passes unshaped
_WINDOW_S = 1.0
_PATIENCE_S = 20.0
_CHUNK = 1 << 18
_ROUND_TRIPS = 200

Flow = tuple[int, int]  # from node, to node


def measure(spec: LabSpec) -> dict[str, object]:
    """Goodput (bits per second) and round-trip times (seconds) of a lab of at least two nodes."""
    ring = [(node, (node + 1) % spec.nodes) for node in range(spec.nodes)]
    local_congestion, _ = round_trips(0)
    congestion, trips = round_trips(1)
    quartiles = statistics.quantiles(trips, n=4)
    return {
        "congestion": congestion,
        "local_congestion": local_congestion,
        "local_bits_per_s": goodputs([(0, 0)])[0],
        "rtt_q1_s": quartiles[0],
        "rtt_median_s": quartiles[1],
        "rtt_q3_s": quartiles[2],
        "one_way_bits_per_s": goodputs([(0, 1)])[0],
        "both_ways_bits_per_s": min(goodputs([(0, 1), (1, 0)])),
        "ring_bits_per_s": goodputs(ring),
    }


def goodputs(flows: Sequence[Flow]) -> list[float]:
    """Bits per second that arrive of each flow while all of them run."""
    sinks = [_on(end, _sink, end, _FIRST_PORT + k) for k, (_, end) in enumerate(flows)]
    for sink in sinks:
        _answer(sink)  # it listens
    sources = [_on(start, _source, end, _FIRST_PORT + k) for k, (start, end) in enumerate(flows)]
    results = [float(_answer(sink)) for sink in sinks]
    for source in sources:
        _answer(source)
    return results


def round_trips(node: int) -> tuple[str, list[float]]:
    """The congestion control in force, and seconds from node 0 to `node` and back, idle links."""
    echo = _on(node, _echo, node, _FIRST_PORT)
    _answer(echo)
    control, seconds = _answer(_on(0, _ping, node, _FIRST_PORT))
    _answer(echo)
    return control, seconds


def _on(node: int, work: Callable[..., None], *arguments: int) -> Connection:
    """Run `work(pipe, *arguments)` in a process on a node; the pipe returns its answers."""
    here, there = _FORK.Pipe(duplex=False)
    _FORK.Process(target=_at, args=(node, work, there, *arguments), daemon=True).start()
    there.close()
    return here


def _at(node: int, work: Callable[..., None], pipe: Connection, *arguments: int) -> None:
    topology.enter(node)
    socket.setdefaulttimeout(_PATIENCE_S)
    work(pipe, *arguments)


def _answer(pipe: Connection) -> Any:
    try:
        if pipe.poll(_PATIENCE_S):
            return pipe.recv()
    except EOFError:
        pass
    raise LabError("no data passed a link while measuring", f"{_PATIENCE_S:g} s", "try fewer nodes")


def _sink(pipe: Connection, node: int, port: int) -> None:
    with socket.create_server((topology.address(node), port)) as server:
        pipe.send("listening")
        stream, _ = server.accept()
    buffer = bytearray(_CHUNK)
    _receive(stream, buffer, time.monotonic() + _WARM_UP_S)
    start = time.monotonic()
    received = _receive(stream, buffer, start + _WINDOW_S)
    pipe.send(received * 8 / (time.monotonic() - start))
    while stream.recv_into(buffer):
        pass  # the sender ends the stream


def _receive(stream: socket.socket, buffer: bytearray, end: float) -> int:
    received = 0
    while time.monotonic() < end:
        received += stream.recv_into(buffer)
    return received


def _source(pipe: Connection, node: int, port: int) -> None:
    data = bytes(_CHUNK)
    end = time.monotonic() + _WARM_UP_S + _WINDOW_S + 0.2
    with socket.create_connection((topology.address(node), port)) as stream:
        while time.monotonic() < end:
            stream.sendall(data)
    pipe.send("done")


def _echo(pipe: Connection, node: int, port: int) -> None:
    with socket.create_server((topology.address(node), port)) as server:
        pipe.send("listening")
        stream, _ = server.accept()
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while data := stream.recv(1):
        stream.sendall(data)
    pipe.send("done")


def _ping(pipe: Connection, node: int, port: int) -> None:
    with socket.create_connection((topology.address(node), port)) as stream:
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        times = [_round_trip(stream) for _ in range(_ROUND_TRIPS)]
        name = stream.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    pipe.send((name.rstrip(b"\0").decode(), times))


def _round_trip(stream: socket.socket) -> float:
    start = time.perf_counter()
    stream.sendall(b"x")
    stream.recv(1)
    return time.perf_counter() - start
