"""Inside the lab: the real rates of its links, measured with TCP streams between hosts."""

from __future__ import annotations

import multiprocessing
import socket
import statistics
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection

from . import topology
from .spec import LabError, LabSpec

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
    result = _answer(_on(0, _ping, node, _FIRST_PORT))
    _answer(echo)
    return result


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


def _answer(pipe: Connection):
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
