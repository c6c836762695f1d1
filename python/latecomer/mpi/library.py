"""The C library for the MPI library that mpi4py has loaded, called through ctypes.

The functions are those of latecomer_mpi.h, whose comments hold here too. Nothing is compiled: MPI
handles pass as integers, of the width that the family gives them.
"""

from __future__ import annotations

import atexit
import ctypes
import os
from collections.abc import Callable, Iterable
from ctypes import c_char_p, c_double, c_int, c_size_t, c_void_p
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from mpi4py import MPI

from ..base.clone import BUILD
from ..base.errors import UserError
from ..launch import program
from . import whole_numbers


class LatecomerError(MPI.Exception):
    """A failed call: an MPI.Exception with MPI's code, and latecomer's message as its text."""

    def __new__(cls, code: int, message: str) -> LatecomerError:  # noqa: ARG004 - of __init__
        """Make the MPI.Exception of the code."""
        return super().__new__(cls, code)

    def __init__(self, code: int, message: str) -> None:
        super().__init__(code)
        self.message = message

    def __str__(self) -> str:
        return self.message


_FAMILIES = {
    "Open MPI": "openmpi",
    "MPICH": "mpich",
    "Intel(R) MPI": "mpich",
    "MVAPICH": "mpich",
    "CRAY MPICH": "mpich",
}
_ABI = "mpiabi"  # in the file name of mpi4py's module for MPI 5's standard ABI


@dataclass(frozen=True)
class _Int:
    """An int of C. ctypes alone would cut a number that does not fit, without a word."""

    name: str  # in errors


# The words for arguments below.
_BUFFER, _COUNT, _COUNTS, _ROOT = c_void_p, _Int("count"), c_void_p, _Int("root")
_SIZE, _ON, _INDEX = _Int("size"), _Int("on"), _Int("index")
_TYPE, _OP, _COMM, _INFO = "handle", "handle", "handle", "handle"
_SENT, _RECEIVED = (_BUFFER, _COUNT, _TYPE), (_BUFFER, _COUNT, _TYPE)

COLLECTIVES: dict[str, tuple[Any, ...]] = {
    "allreduce": (_BUFFER, _BUFFER, _COUNT, _TYPE, _OP, _COMM),
    "reduce": (_BUFFER, _BUFFER, _COUNT, _TYPE, _OP, _ROOT, _COMM),
    "bcast": (_BUFFER, _COUNT, _TYPE, _ROOT, _COMM),
    "allgather": (*_SENT, *_RECEIVED, _COMM),
    "allgatherv": (*_SENT, _BUFFER, _COUNTS, _COUNTS, _TYPE, _COMM),
    "gather": (*_SENT, *_RECEIVED, _ROOT, _COMM),
    "scatter": (*_SENT, *_RECEIVED, _ROOT, _COMM),
}
_OTHERS: dict[str, tuple[Any, ...]] = {
    "start": (c_void_p,),
    "wait": (c_void_p,),
    "request_free": (c_void_p,),
    "set_algorithm": (_COMM, c_char_p, c_char_p),
    "set_estimate": (_COMM, c_char_p),
    "set_arrivals": (_COMM, c_void_p, _SIZE),
    "set_network": (_COMM, c_char_p),
    "set_reproducible": (_COMM, _ON),
    "set_long_wait": (_COMM, c_double),
    "compute_begin": (_COMM,),
    "compute_progress": (_COMM, c_double),
    "compute_end": (_COMM,),
    "get_pattern": (_COMM, c_void_p, c_void_p, _SIZE),
    "get_last_to_arrive": (_COMM, c_void_p, _SIZE),
    "get_stats": (_COMM, c_void_p),
    "count_stats": (_COMM, c_void_p, c_void_p),
    "get_key_stats": (_COMM, _INDEX, c_void_p),
    "get_clock_error": (_COMM, c_void_p),
    "get_parameters": (_COMM, c_char_p, c_size_t),
}
ALL = COLLECTIVES | {
    **{f"{name}_init": (*words, _INFO, c_void_p) for name, words in COLLECTIVES.items()},
    **_OTHERS,
}


class Library:
    """The functions of one C library, by name without `latecomer_`."""

    def __init__(self, path: Path, family: str, names: Iterable[str] = ALL) -> None:
        self.path, self.family = path, family
        self._library = ctypes.CDLL(str(path))
        self.handle = c_void_p if family == "openmpi" else c_int
        self._library.latecomer_last_error.restype = c_char_p
        # Before mpi4py ends MPI, which happens after the functions that Python calls at its exit.
        # The drop-in library, of which the counters are read, has an MPI_Finalize of its own.
        if hasattr(self._library, "latecomer_prepare_finalize"):
            atexit.register(self._library.latecomer_prepare_finalize)
        self._functions = {name: self._function(name, ALL[name]) for name in names}

    def _function(self, name: str, words: tuple[Any, ...]) -> Any:
        function = getattr(self._library, f"latecomer_{name}")
        function.argtypes = [self._c_type(word) for word in words]
        function.restype = c_int
        ints = [(at, word.name) for at, word in enumerate(words) if isinstance(word, _Int)]
        return _checked(function, ints)

    def _c_type(self, word: Any) -> Any:
        return c_int if isinstance(word, _Int) else self.handle if word == "handle" else word

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function; no Python code of other threads waits meanwhile.

        Raises LatecomerError, an MPI.Exception, with MPI's code and the library's message;
        before the call TypeError and OverflowError for what is no int of C.
        """
        code = self._functions[name](*arguments)
        if code != MPI.SUCCESS:
            raise LatecomerError(code, self._message(name, code))

    def _message(self, name: str, code: int) -> str:
        """latecomer's own text; of collectives MPI has the text, for errors of either kind."""
        if name in COLLECTIVES or name == "wait":
            return MPI.Get_error_string(code)
        said = self._library.latecomer_last_error() or b""
        return said.decode(errors="replace") or MPI.Get_error_string(code)


def _checked(function: Callable[..., int], ints: list[tuple[int, str]]) -> Callable[..., int]:
    """The function, with a look at the arguments that are ints of C."""

    def call(*arguments: Any) -> int:
        words = list(arguments)
        for at, name in ints:
            words[at] = whole_numbers.c_int(name, words[at])
        return function(*words)

    return call if ints else function


def family() -> str:
    """The family of the MPI library that mpi4py has loaded. Raises UserError."""
    text = MPI.Get_library_version()
    if _ABI in Path(MPI.__file__).name:
        remedy = "set MPI4PY_LIBMPI to libmpi.so.40 or libmpi.so.12, of Open MPI or MPICH"
        raise UserError(
            "latecomer.mpi has no library for MPI 5's standard ABI", Path(MPI.__file__), remedy
        )
    for sign, name in _FAMILIES.items():
        if sign in text[:40]:
            return name
    raise UserError("unknown MPI library", text[:40], "use Open MPI or MPICH, or one of its kin")


@cache
def library() -> Library:
    """The library of this process. Raises UserError if it is not built, or cannot be loaded."""
    name = family()
    path = program.find_library(name)
    if path is None:
        raise UserError(
            "the C library is not built",
            f"liblatecomer_{name}.so",
            f"with an mpicc of {name}, {BUILD}",
        )
    try:
        return Library(path, name)
    except OSError as error:
        raise UserError(f"cannot load the C library: {error}", os.fspath(path),
                        "build it for the MPI library that mpi4py loads") from error  # fmt: skip


def handle(of: Any) -> int:
    """The C handle of an mpi4py object."""
    return MPI._handleof(of)
