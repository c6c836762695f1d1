"""Persistent calls: announced once, then started and waited for many times."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import addressof, c_void_p

from mpi4py import MPI

from .calls import Call
from .library import LatecomerError, Library, handle

# Keeps the buffers of started requests alive where the program keeps no name for the request: the
# next collective on the communicator carries the call out.
_started: set[Request] = set()


class Request:
    """An announced call, from a method that ends in `_init`.

        request = comm.allreduce_init(gradient, total)
        for _ in range(steps):
            ...
            request.start()   # from here to wait() the buffers belong to the call
            request.wait()    # carries it out
        request.free()

    All ranks start the requests of a communicator, and call its collectives, in the same order.
    Errors raise MPI.Exception, and so does a request that was freed. Source: latecomer_start,
    latecomer_wait in latecomer_mpi.h.
    """

    def __init__(self, library: Library, comm: MPI.Comm, some: Sequence[Call]) -> None:
        """Announce the calls, which are several where a vector exceeds a count of C."""
        self._library, self._calls, self._freed = library, some, False
        self._requests: list[c_void_p] = []
        try:
            for call in some:
                request = c_void_p()
                words = (*call.arguments, handle(comm), handle(MPI.INFO_NULL), addressof(request))
                library.call(f"{call.function}_init", *words)
                self._requests.append(request)
        except BaseException:  # nobody gets a name to free it by
            self.free()
            raise

    def start(self) -> None:
        """Start the call. Local: it moves no data."""
        self._call("start")
        _started.add(self)

    def wait(self) -> None:
        """Carry out the call; returns at once if it was not started."""
        self._call("wait")
        _started.discard(self)

    def _call(self, function: str) -> None:
        if self._freed:
            raise LatecomerError(MPI.ERR_REQUEST, "request: it was freed")
        for request in self._requests:
            self._library.call(function, addressof(request))

    def free(self) -> None:
        """Free the request, which must not be started. Local; a second time does nothing."""
        for request in self._requests:
            self._library.call("request_free", addressof(request))
        for call in self._calls:
            call.free()
        self._requests, self._calls, self._freed = [], (), True
        _started.discard(self)
