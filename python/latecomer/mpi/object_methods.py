"""The methods in lower case: mpi4py's, for objects, unless they are called with buffers.

Earlier versions of latecomer had these names for buffers. Such calls still work, and warn.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np
from mpi4py import MPI

from . import buffers

_FAR = 3  # frames from the warning to the program


def either(name: str) -> Callable[..., Any]:
    """The method of this name: the second argument tells whether the call is for buffers."""
    of_objects = getattr(MPI.Intracomm, name)

    def call(self: Any, *arguments: Any, **words: Any) -> Any:
        if "recvbuf" in words or (len(arguments) > 1 and not _is_op_or_root(arguments[1])):
            _warn(name)
            return getattr(self, name.capitalize())(*arguments, **words)
        return of_objects(self, *arguments, **words)

    call.__name__ = name
    call.__doc__ = (
        f"{of_objects.__doc__}\n\nWith two buffers: deprecated, write {name.capitalize()}."
    )
    return call


def bcast(self: Any, obj: Any = None, root: int = 0) -> Any:
    """Broadcast an object, as mpi4py's bcast.

    Where all ranks give buffers of one type and size, the root's fills them: this is deprecated,
    write Bcast.
    """
    if _alike(self, obj):
        _warn("bcast")
        self.Bcast(obj, root)
        return obj
    return MPI.Intracomm.bcast(self, obj, root)


def allgatherv(self: Any, sendbuf: buffers.Spec, recvbuf: buffers.Spec) -> None:
    """Do as Allgatherv: deprecated, write Allgatherv."""
    _warn("allgatherv")
    self.Allgatherv(sendbuf, recvbuf)


def _is_op_or_root(given: Any) -> bool:
    if isinstance(given, np.ndarray):
        return False
    try:
        index(given)
    except TypeError:
        return callable(given)  # MPI.Op is, too
    return True


def _alike(comm: MPI.Intracomm, given: Any) -> bool:
    """Tell whether all ranks give buffers of one type and size; collective."""
    try:
        found = buffers.read(given, writable=True)
    except (TypeError, ValueError, BufferError):
        mine = [0, 0, 0]
    else:
        kind = zlib.crc32(found.datatype.Get_name().encode())
        mine = [1, found.count * found.datatype.Get_size(), kind]
    least = np.array([*mine, *(-each for each in mine)])
    MPI.Intracomm.Allreduce(comm, MPI.IN_PLACE, least, MPI.MIN)
    return bool(least[0] == 1 and (least[:3] == -least[3:]).all())


def _warn(name: str) -> None:
    right = f"comm.{name.capitalize()}, as in mpi4py"
    warnings.warn(
        f"comm.{name} with buffers is deprecated; write {right}", DeprecationWarning, _FAR
    )
