"""Statistics of the calls on a communicator, as Python values."""

from __future__ import annotations

import ctypes
from ctypes import c_char, c_double, c_int, c_int32, c_uint64
from dataclasses import dataclass, fields

import numpy as np
from mpi4py import MPI

from ..base.units import size
from .library import Library, handle

_MAX_CHOICES = 8  # LATECOMER_MAX_CHOICES


class CalledStruct(ctypes.Structure):
    """`latecomer_stats`."""

    _fields_ = [(name, c_uint64) for name in (
        "handled", "native", "failed", "fallback_arguments", "fallback_intercommunicator",
        "fallback_trivial", "fallback_type", "fallback_operator", "fallback_plan",
        "fallback_settings", "fallback_link", "fallback_device", "before_arrival")]  # fmt: skip


class TimesStruct(ctypes.Structure):
    """`latecomer_times`."""

    _fields_ = [("inside", c_double), ("told", c_uint64), ("waiting", c_double),
                ("moving", c_double)]  # fmt: skip


class ChoiceStruct(ctypes.Structure):
    """`latecomer_choice_stats`."""

    _fields_ = [("algorithm", c_char * 32), ("parameters", c_char * 96), ("calls", c_uint64)]


class KeyStruct(ctypes.Structure):
    """`latecomer_key_stats`."""

    _fields_ = [("collective", c_char * 16), ("bytes", c_uint64), ("commutative", c_int32),
                ("exact", c_int32), ("period", c_int32), ("position", c_int32),
                ("calls", CalledStruct), ("times", TimesStruct), ("choice_count", c_int32),
                ("last_choice", c_int32), ("choices", ChoiceStruct * _MAX_CHOICES),
                ("other_choices", c_uint64), ("estimated", c_uint64),
                ("estimate_error", c_double)]  # fmt: skip


@dataclass(frozen=True)
class Arrivals:
    """When ranks enter calls: [rank], in seconds after the earliest; 0 where nothing is known."""

    last: np.ndarray
    expected: np.ndarray


@dataclass(frozen=True)
class Times:
    """Sums of times over calls, in seconds."""

    inside: float = 0.0  # from this rank's arrival to its exit
    told: int = 0  # number of calls whose last arrival is known
    waiting: float = 0.0  # from this rank's arrival to the last one before its exit, of these calls
    moving: float = 0.0  # from then to its exit

    def since(self, before: Times) -> Times:
        """What was added since then."""
        return Times(*(getattr(self, field.name) - getattr(before, field.name)
                       for field in fields(self)))  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """Calls that are equal in collective, operator, root, size and all else."""

    collective: str  # "": of all further kinds together
    bytes: int  # of the whole vector
    calls: dict[str, int]  # by who carried them out, and why: as `latecomer_stats`
    times: Times
    algorithms: dict[str, int]  # "ring:segments=4": number of calls

    def summary(self) -> tuple[str, ...]:
        """Cells of a table: what, how often, how long, and by which algorithms."""
        calls = sum(n for name, n in self.calls.items() if name != "before_arrival")
        often = sorted(self.algorithms.items(), key=lambda item: -item[1])
        by = ", ".join(f"{name} {n}" for name, n in often)
        times = self.times
        waited = f"waited {times.waiting:.3g} s in {times.told} known" if times.told else ""
        size_ = f"{self.collective} {size(self.bytes)}" if self.collective else "others"
        return size_, f"{calls} calls", f"inside {times.inside:.3g} s", waited, by


@dataclass(frozen=True)
class Statistics:
    """The calls on a communicator."""

    calls: dict[str, int]  # by who carried them out, and why: as `latecomer_stats`
    kinds: tuple[Kind, ...]  # in the order of their first call

    @property
    def handled(self) -> int:
        """The number of calls that latecomer carried out."""
        return self.calls["handled"]

    @property
    def native(self) -> int:
        """The number of calls that the MPI library carried out, as was asked or chosen."""
        return self.calls["native"]

    @property
    def times(self) -> Times:
        """The times of all calls."""
        all_ = [kind.times for kind in self.kinds]
        return Times(*(sum(getattr(each, name) for each in all_)
                       for name in ("inside", "told", "waiting", "moving")))  # fmt: skip

    def __str__(self) -> str:
        """A line for each kind of call, and one for all; fields have the rest."""
        lines = [f"{self.handled} calls handled, {self.native} by the MPI library{self._others()}"]
        rows = [kind.summary() for kind in self.kinds]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            cells = (f"{cell:{width}}" for cell, width in zip(row, widths, strict=True))
            lines.append("  " + "  ".join(cells).rstrip())
        return "\n".join(lines)

    def _others(self) -> str:
        counts = {name: n for name, n in self.calls.items()
                  if n and name not in ("handled", "native", "before_arrival")}  # fmt: skip
        return "".join(f", {n} {name.replace('_', ' ')}" for name, n in counts.items())


def read(library: Library, comm: MPI.Comm) -> Statistics:
    """The statistics of a communicator."""
    of = handle(comm)
    calls, count = CalledStruct(), c_int()
    library.call("get_stats", of, ctypes.addressof(calls))
    library.call("count_stats", of, ctypes.addressof(count), None)
    return Statistics(_numbers(calls), tuple(_kind(library, of, i) for i in range(count.value)))


def _kind(library: Library, of: int, index: int) -> Kind:
    key = KeyStruct()
    library.call("get_key_stats", of, index, ctypes.addressof(key))
    times = key.times
    return Kind(
        key.collective.decode(),
        key.bytes,
        _numbers(key.calls),
        Times(times.inside, times.told, times.waiting, times.moving),
        {_name(each): each.calls for each in key.choices[: key.choice_count]},
    )


def _name(choice: ChoiceStruct) -> str:
    return ":".join(filter(None, (choice.algorithm.decode(), choice.parameters.decode())))


def _numbers(calls: CalledStruct) -> dict[str, int]:
    return {name: getattr(calls, name) for name, *_ in calls._fields_}
