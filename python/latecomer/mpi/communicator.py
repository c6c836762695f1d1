"""mpi4py's communicator, with collectives that latecomer executes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from mpi4py import MPI

from . import calls, statistics
from .buffers import Spec
from .calls import Call
from .library import Library, handle, library
from .request import Request

COLLECTIVES = ("allreduce", "reduce", "bcast", "allgather", "gather", "scatter")


class Communicator(MPI.Intracomm):
    """mpi4py's communicator, with collectives that latecomer executes.

        from mpi4py import MPI
        import latecomer, numpy

        comm = latecomer.Communicator(MPI.COMM_WORLD)
        total = numpy.empty_like(gradient)
        comm.Allreduce(gradient, total)

    It is an MPI.Intracomm on the communicator that it was made of. Allreduce, Reduce, Bcast,
    Allgather, Allgatherv, Gather and Scatter are latecomer's and take mpi4py's arguments; all other
    methods are mpi4py's. Counts may exceed 2**31 - 1. Errors of MPI or latecomer raise
    MPI.Exception; a buffer that cannot be read raises TypeError, ValueError or BufferError, and a
    root that is no int of C TypeError or OverflowError, before anything is sent.

    Memory of a device needs a datatype, as in [data, count, type], and an MPI library that reads
    it. Soon after ranks pass such memory that library carries out all calls; until then it copies
    the memory to the host and back.

    Settings belong to the communicator of MPI, not to this object: two objects of one communicator
    share them. Dup, Split and the like return communicators without settings. Source:
    latecomer_mpi.h.
    """

    def __new__(cls, comm: MPI.Comm | None = None, **_settings: Any) -> Communicator:
        """Make an object on the communicator's handle; `comm` is None in Dup and the like."""
        return super().__new__(cls, comm)

    def __init__(
        self,
        comm: MPI.Comm,  # noqa: ARG002 - taken by __new__
        *,
        algorithm: str | Mapping[str, str] | None = "auto",
        estimate: str | None = "online",
    ) -> None:
        """Use `comm`, with an algorithm and a source of expected arrivals.

        `algorithm` is one for all collectives, or a mapping from their names; see set_algorithm().
        `estimate`: see set_estimate(). None leaves a setting as it is; with None for both this is
        local, otherwise all ranks of the communicator must call it.
        """
        if algorithm is not None:
            if not isinstance(algorithm, (str, Mapping)):
                raise TypeError(f"algorithm: {algorithm!r}; give a name, or a mapping to names")
            chosen = (
                dict.fromkeys(COLLECTIVES, algorithm) if isinstance(algorithm, str) else algorithm
            )
            for collective, name in chosen.items():
                self.set_algorithm(collective, name)
        if estimate is not None:
            self.set_estimate(estimate)

    @property
    def _library(self) -> Library:
        return library()

    # ---- collectives

    def Allreduce(self, sendbuf: Spec, recvbuf: Spec, op: MPI.Op = MPI.SUM) -> None:
        """Combine the ranks' vectors; every rank gets the result, in the same bits.

        `sendbuf` and `recvbuf` hold equally many elements; MPI.IN_PLACE as `sendbuf`: the vector is
        in `recvbuf`.
        """
        self._run_all(calls.allreduce(sendbuf, recvbuf, op))

    def Reduce(self, sendbuf: Spec, recvbuf: Spec, op: MPI.Op = MPI.SUM, root: int = 0) -> None:
        """Combine the ranks' vectors; the root gets the result. Elsewhere `recvbuf` may be None."""
        self._run_all(calls.reduce(sendbuf, recvbuf, op, root, self))

    def Bcast(self, buf: Spec, root: int = 0) -> None:
        """Send the root's vector to all ranks."""
        self._run(calls.bcast(buf, root, self))

    def Allgather(self, sendbuf: Spec, recvbuf: Spec) -> None:
        """Collect equal parts of all ranks on every rank, in rank order.

        `recvbuf` holds `size` parts; a count in it is that of one part.
        """
        self._run(calls.allgather(sendbuf, recvbuf, self))

    def Allgatherv(self, sendbuf: Spec, recvbuf: Spec) -> None:
        """Collect parts of different sizes: `recvbuf` is [data, counts, displacements, type]."""
        self._run(calls.allgatherv(sendbuf, recvbuf, self))

    def Gather(self, sendbuf: Spec, recvbuf: Spec, root: int = 0) -> None:
        """Collect equal parts of all ranks on the root. Elsewhere `recvbuf` may be None."""
        self._run(calls.gather(sendbuf, recvbuf, root, self))

    def Scatter(self, sendbuf: Spec, recvbuf: Spec, root: int = 0) -> None:
        """Send each rank its part of the root's vector. Elsewhere `sendbuf` may be None."""
        self._run(calls.scatter(sendbuf, recvbuf, root, self))

    # ---- persistent calls

    def allreduce_init(self, sendbuf: Spec, recvbuf: Spec, op: MPI.Op = MPI.SUM) -> Request:
        """Announce an all-reduce that will come many times."""
        return self._announced(calls.allreduce(sendbuf, recvbuf, op))

    def reduce_init(
        self, sendbuf: Spec, recvbuf: Spec, op: MPI.Op = MPI.SUM, root: int = 0
    ) -> Request:
        """Announce a reduce."""
        return self._announced(calls.reduce(sendbuf, recvbuf, op, root, self))

    def bcast_init(self, buffer: Spec, root: int = 0) -> Request:
        """Announce a broadcast."""
        return self._announced([calls.bcast(buffer, root, self)])

    def allgather_init(self, sendbuf: Spec, recvbuf: Spec) -> Request:
        """Announce an all-gather."""
        return self._announced([calls.allgather(sendbuf, recvbuf, self)])

    def allgatherv_init(self, sendbuf: Spec, recvbuf: Spec) -> Request:
        """Announce an all-gather of parts of different sizes."""
        return self._announced([calls.allgatherv(sendbuf, recvbuf, self)])

    def gather_init(self, sendbuf: Spec, recvbuf: Spec, root: int = 0) -> Request:
        """Announce a gather."""
        return self._announced([calls.gather(sendbuf, recvbuf, root, self)])

    def scatter_init(self, sendbuf: Spec, recvbuf: Spec, root: int = 0) -> Request:
        """Announce a scatter."""
        return self._announced([calls.scatter(sendbuf, recvbuf, root, self)])

    # ---- settings

    def set_algorithm(self, collective: str, algorithm: str) -> None:
        """Set the algorithm of a collective. All ranks must call it.

        `collective`: allreduce, reduce, bcast, allgather (also of allgatherv), gather or scatter.
        `algorithm`: a name with parameters, as in "prereduced_ring:segments=64"
        (latecomer.algorithms() has them); "native": the MPI library's; "auto": one for each call.
        Raises MPI.Exception on all ranks for words that cannot be read or that differ.
        """
        self._set("set_algorithm", _text("collective", collective), _text("algorithm", algorithm))

    def set_estimate(self, estimate: str) -> None:
        """Set where expected arrivals come from: "given" or "online". All ranks must call it."""
        self._set("set_estimate", _text("estimate", estimate))

    def set_arrivals(self, seconds: Sequence[float] | None) -> None:
        """Set when each rank is expected, in seconds after any common instant; None: together.

        Needs the estimate "given", and equal times on all ranks, one for each.
        """
        times = None if seconds is None else np.ascontiguousarray(seconds, np.float64)
        address = None if times is None else times.ctypes.data
        self._set("set_arrivals", address, 0 if times is None else times.size)

    def set_network(self, costs: str | None) -> None:
        """Set the costs of messages, as in "alpha=50us,beta=8ns" or "@FILE"; equal on all ranks."""
        self._set("set_network", None if costs is None else _text("costs", costs))

    def set_reproducible(self, on: bool = True) -> None:
        """Make results the same bits from run to run, or not. All ranks must call it."""
        self._set("set_reproducible", bool(on))

    def set_long_wait(self, seconds: float) -> None:
        """Set how long a call waits before it reports the rank that it waits for."""
        self._set("set_long_wait", seconds)

    @contextmanager
    def computing(self) -> Iterator[Callable[[float], None]]:
        """Tell how far the computation before the next call is: `with c.computing() as progress`.

        `progress(fraction)` says that this fraction of it is done, from 0 to 1, rising. It helps
        where a progress thread receives meanwhile; results are right without it.
        """
        self._set("compute_begin")
        try:
            yield lambda fraction: self._set("compute_progress", fraction)
        finally:
            self._set("compute_end")

    # ---- knowledge

    def stats(self) -> statistics.Statistics:
        """The calls on the communicator so far, by kind. Local."""
        return statistics.read(self._library, self)

    def arrivals(self) -> statistics.Arrivals:
        """When each rank entered the last handled call, and is expected in the next. Local.

        Raises MPI.Exception unless the estimate is "online".
        """
        last, expected = np.zeros(self.size), np.zeros(self.size)
        self._set("get_pattern", last.ctypes.data, expected.ctypes.data, self.size)
        return statistics.Arrivals(last, expected)

    def parameters(self) -> str:
        """The parameters of the last handled call's algorithm, as in "segments=64". Local."""
        text = ctypes.create_string_buffer(128)
        self._set("get_parameters", text, len(text))
        return text.value.decode()

    def clock_error(self) -> float:
        """The bound, in seconds, of the error by which ranks' arrivals are compared. Local."""
        seconds = ctypes.c_double()
        self._set("get_clock_error", ctypes.addressof(seconds))
        return seconds.value

    def _set(self, function: str, *arguments: object) -> None:
        self._library.call(function, handle(self), *arguments)

    def _run(self, call: Call) -> None:
        try:
            self._library.call(call.function, *call.arguments, handle(self))
        finally:
            call.free()

    def _run_all(self, some: Iterable[Call]) -> None:
        for call in some:
            self._run(call)

    def _announced(self, some: Iterable[Call]) -> Request:
        return Request(self._library, self, list(some))


def _text(what: str, given: object) -> bytes:
    if not isinstance(given, str):
        raise TypeError(f"{what}: {given!r}; give a text")
    return given.encode()


def settled(comm: MPI.Comm) -> Communicator:
    """The communicator with its settings as they are."""
    return Communicator(comm, algorithm=None, estimate=None)
