"""The arguments of the C functions, from buffers as mpi4py takes them."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from mpi4py import MPI

from . import buffers, whole_numbers
from .buffers import Buffer, Spec
from .library import handle


@dataclass(frozen=True)
class Call:
    """The C function of a collective, with its arguments before the communicator."""

    function: str
    arguments: tuple[Any, ...]
    made: list[MPI.Datatype] = field(default_factory=list)  # to be freed afterwards
    keeps: tuple[Any, ...] = ()  # memory and objects that the call uses

    def free(self) -> None:
        """Free the datatypes that were made for the call."""
        for datatype in self.made:
            datatype.Free()


def allreduce(sendbuf: Spec, recvbuf: Spec, op: MPI.Op) -> Iterator[Call]:
    """The calls of an all-reduce: one, unless the vector is longer than a count of C."""
    sent, received = _pair(sendbuf, recvbuf)
    for mine, all_ in _pieces(sent, received):
        words = (mine.address, all_.address, all_.count, handle(all_.datatype), handle(op))
        yield Call("allreduce", words, keeps=(sent, received, op))


def reduce(sendbuf: Spec, recvbuf: Spec, op: MPI.Op, root: int, comm: MPI.Comm) -> Iterator[Call]:
    """The calls of a reduce. Only the root's `recvbuf` counts, which may be None elsewhere."""
    if comm.Get_rank() == root:
        sent, received = _pair(sendbuf, recvbuf)
    else:
        sent = buffers.read(sendbuf)
        received = replace(sent, address=0)
    for mine, all_ in _pieces(sent, received):
        words = (mine.address, all_.address, all_.count, handle(all_.datatype), handle(op), root)
        yield Call("reduce", words, keeps=(sent, received, op))


def bcast(buffer: Spec, root: int, comm: MPI.Comm) -> Call:
    """The call of a broadcast."""
    whole, made = buffers.folded(buffers.read(buffer, writable=comm.Get_rank() != root))
    return Call("bcast", (*_words(whole), root), made, (whole,))


def allgather(sendbuf: Spec, recvbuf: Spec, comm: MPI.Comm) -> Call:
    """The call of an all-gather of equal parts."""
    return _exchange("allgather", buffers.read(sendbuf, in_place=True),
                     buffers.read(recvbuf, writable=True, parts=comm.Get_size()))  # fmt: skip


def allgatherv(sendbuf: Spec, recvbuf: Spec, comm: MPI.Comm) -> Call:
    """The call of an all-gather of parts of different sizes."""
    sent, made = buffers.folded(buffers.read(sendbuf, in_place=True))
    received = buffers.read_parts(recvbuf, comm.Get_size())
    counts = _c_numbers("counts", received.counts or ())
    places = _c_numbers("displacements", received.displacements or ())
    words = (*_words(sent), received.address, counts, places, handle(received.datatype))
    return Call("allgatherv", words, made, (sent, received, counts, places))


def gather(sendbuf: Spec, recvbuf: Spec, root: int, comm: MPI.Comm) -> Call:
    """The call of a gather. Only the root's `recvbuf` counts."""
    at_root = comm.Get_rank() == root
    sent = buffers.read(sendbuf, in_place=at_root)
    received = buffers.NOTHING
    if at_root:
        received = buffers.read(recvbuf, writable=True, parts=comm.Get_size())
    return _exchange("gather", sent, received, root)


def scatter(sendbuf: Spec, recvbuf: Spec, root: int, comm: MPI.Comm) -> Call:
    """The call of a scatter. Only the root's `sendbuf` counts."""
    at_root = comm.Get_rank() == root
    sent = buffers.read(sendbuf, parts=comm.Get_size()) if at_root else buffers.NOTHING
    return _exchange("scatter", sent, buffers.read(recvbuf, writable=True, in_place=at_root), root)


def _exchange(function: str, sent: Buffer, received: Buffer, *root: int) -> Call:
    mine, made = buffers.folded(sent)
    theirs, more = buffers.folded(received)
    words = (*_words(mine), *_words(theirs), *root)
    return Call(function, words, made + more, (sent, received))


def _pair(sendbuf: Spec, recvbuf: Spec) -> tuple[Buffer, Buffer]:
    """Send and receive buffer of a reduction.

    Raises ValueError if their counts or datatypes differ: the C function takes one of each.
    """
    received = buffers.read(recvbuf, writable=True)
    sent = buffers.read(sendbuf, in_place=True)
    if not sent.in_place and sent.count != received.count:
        raise ValueError(f"counts: {sent.count} sent, {received.count} received; give equal ones")
    if not sent.in_place and sent.datatype != received.datatype:
        raise ValueError("datatypes: other elements are sent than received; give equal ones")
    return sent, received


def _pieces(sent: Buffer, received: Buffer) -> Iterator[tuple[Buffer, Buffer]]:
    """The vector in pieces that a count of C can tell."""
    most = buffers.MAX_COUNT
    if received.count <= most:
        yield sent, received
        return
    for first in range(0, received.count, most):
        count = min(most, received.count - first)
        yield _piece(sent, first, count), _piece(received, first, count)


def _piece(buffer: Buffer, first: int, count: int) -> Buffer:
    if buffer.in_place or buffer.address == 0:
        return replace(buffer, count=count)
    _, extent = buffer.datatype.Get_extent()
    return replace(buffer, address=buffer.address + first * extent, count=count)


def _words(buffer: Buffer) -> tuple[int, int, int]:
    return buffer.address, buffer.count, handle(buffer.datatype)


def _c_numbers(name: str, values: tuple[int, ...]) -> ctypes.Array[ctypes.c_int]:
    far = next((value for value in values if abs(value) > buffers.MAX_COUNT), None)
    if far is not None:
        remedy = "give a larger datatype and fewer elements"
        raise ValueError(f"{name}: {far} is above {buffers.MAX_COUNT}; {remedy}")
    return (ctypes.c_int * len(values))(*(whole_numbers.c_int(name, value) for value in values))
