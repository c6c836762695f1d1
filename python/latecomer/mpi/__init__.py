"""latecomer's collectives for programs with mpi4py (docs/python.md).

    >>> from mpi4py import MPI
    >>> import latecomer
    >>> comm = latecomer.Communicator(MPI.COMM_WORLD)
    >>> comm.Allreduce(mine, total, MPI.SUM)

This package needs mpi4py; the rest of latecomer does not.
"""

from __future__ import annotations

import warnings
from typing import Any

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

_FUNCTIONS = ("allreduce", "reduce", "bcast", "allgather", "allgatherv", "gather", "scatter")

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
    "observe",
]


def __getattr__(name: str) -> Any:
    """allreduce(comm, ...) and so on: deprecated. Communicator's methods are the same."""
    if name not in _FUNCTIONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    method = name.capitalize()

    def call(comm: MPI.Comm, *arguments: Any, **words: Any) -> None:
        right = f"Communicator(comm, algorithm=None, estimate=None).{method}"
        warnings.warn(f"latecomer.mpi.{name} is deprecated; write {right}", DeprecationWarning, 2)
        getattr(settled(comm), method)(*arguments, **words)

    return call
