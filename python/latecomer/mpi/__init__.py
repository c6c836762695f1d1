"""latecomer's collectives for programs with mpi4py (docs/python.md).

    >>> from mpi4py import MPI
    >>> import latecomer
    >>> comm = latecomer.Communicator(MPI.COMM_WORLD)
    >>> comm.allreduce(mine, total, MPI.SUM)

The functions below are the same with a communicator as first argument, and with that
communicator's settings as they are: before `Communicator(comm)` or `set_algorithm` the MPI library
carries them out. This package needs mpi4py; the rest of latecomer does not.
"""

from __future__ import annotations

try:
    import mpi4py.MPI as MPI  # noqa: PLR0402 - the message below is about this import
except ImportError as error:
    raise ImportError(
        f"latecomer.mpi needs mpi4py, and an MPI library that it can load: {error}; "
        "pip install mpi4py"
    ) from error

from ..base.summary import RankSummary, Summary
from .buffers import Spec
from .communicator import Communicator, settled
from .library import LatecomerError
from .observation import Observation, observe
from .request import Request
from .statistics import Arrivals, Kind, Statistics, Times

__all__ = [
    "Arrivals",
    "Communicator",
    "Kind",
    "LatecomerError",
    "Observation",
    "RankSummary",
    "Request",
    "Spec",
    "Statistics",
    "Summary",
    "Times",
    "allgather",
    "allgatherv",
    "allreduce",
    "bcast",
    "gather",
    "observe",
    "reduce",
    "scatter",
]


def allreduce(comm: MPI.Comm, sendbuf: Spec, recvbuf: Spec, op: MPI.Op = MPI.SUM) -> None:
    """As Communicator.allreduce, with the communicator's settings."""
    settled(comm).allreduce(sendbuf, recvbuf, op)


def reduce(
    comm: MPI.Comm, sendbuf: Spec, recvbuf: Spec, op: MPI.Op = MPI.SUM, root: int = 0
) -> None:
    """As Communicator.reduce, with the communicator's settings."""
    settled(comm).reduce(sendbuf, recvbuf, op, root)


def bcast(comm: MPI.Comm, buffer: Spec, root: int = 0) -> None:
    """As Communicator.bcast, with the communicator's settings."""
    settled(comm).bcast(buffer, root)


def allgather(comm: MPI.Comm, sendbuf: Spec, recvbuf: Spec) -> None:
    """As Communicator.allgather, with the communicator's settings."""
    settled(comm).allgather(sendbuf, recvbuf)


def allgatherv(comm: MPI.Comm, sendbuf: Spec, recvbuf: Spec) -> None:
    """As Communicator.allgatherv, with the communicator's settings."""
    settled(comm).allgatherv(sendbuf, recvbuf)


def gather(comm: MPI.Comm, sendbuf: Spec, recvbuf: Spec, root: int = 0) -> None:
    """As Communicator.gather, with the communicator's settings."""
    settled(comm).gather(sendbuf, recvbuf, root)


def scatter(comm: MPI.Comm, sendbuf: Spec, recvbuf: Spec, root: int = 0) -> None:
    """As Communicator.scatter, with the communicator's settings."""
    settled(comm).scatter(sendbuf, recvbuf, root)
