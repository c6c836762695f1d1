"""Samples of the benchmark program: JSON lines, a header and then one object a sample.

The program may be stopped at any time, so the last line may be cut off. Everything else that is
not as it should be is an error with its line number.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...base.errors import UserError

_HEADER_FIELDS = ("version", "mpi", "ranks", "clock", "algorithms")
_COMMON = "common"
NO_NUMBER = (TypeError, ValueError, OverflowError)  # of int and float


class SampleError(UserError):
    """The benchmark program's output cannot be used."""


@dataclass(frozen=True)
class Header:
    """Header of the samples: the run and its machine."""

    version: str
    mpi: str  # the MPI library's name for itself
    ranks: int
    algorithms: list[str]  # as asked for
    common_clock: bool  # do all ranks read the same clock?
    fields: Mapping[str, Any]  # all that the program said


@dataclass(frozen=True)
class Sample:
    """One call of one algorithm; times of all ranks in seconds."""

    iteration: int
    algorithm: str  # as asked for: "ring", "prereduced_ring:segments=64"
    parameters: str  # as used
    stays: Sequence[float]  # from a rank's arrival to its exit
    arrival: Sequence[float]  # after the first arrival; empty without a common clock
    wrong: int | None  # elements that differ from the right result; None: not checked

    @property
    def elapsed(self) -> float:
        """Time from arrival to exit, mean over ranks (Proficz 2021, eq. 2)."""
        return sum(self.stays) / len(self.stays)

    @property
    def run_time(self) -> float:
        """Time from first arrival to last exit (Proficz 2021, eq. 3). Needs a common clock."""
        return self._last_exit - min(self.arrival)

    @property
    def after_last(self) -> float:
        """Time from the last arrival to the last exit. Needs a common clock."""
        return self._last_exit - max(self.arrival)

    @property
    def _last_exit(self) -> float:
        return max(came + stay for came, stay in zip(self.arrival, self.stays, strict=True))


@dataclass(frozen=True)
class Samples:
    """All of one run."""

    header: Header
    samples: list[Sample]

    def complete(self) -> list[Sample]:
        """The samples of the iterations that every algorithm took part in."""
        names = {sample.algorithm for sample in self.samples}
        seen: dict[int, set[str]] = {}
        for sample in self.samples:
            seen.setdefault(sample.iteration, set()).add(sample.algorithm)
        return [sample for sample in self.samples if seen[sample.iteration] == names]


def read(path: Path) -> Samples:
    """The samples in a file. Raises SampleError."""
    found = objects(path, "the benchmark program")
    header = _header(found[0])
    return Samples(header, [_sample(o, n, header) for n, o in enumerate(found[1:], 2)])


def objects(path: Path, program: str) -> list[dict[str, Any]]:
    """The JSON objects that a program wrote, at least one. Raises SampleError."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise SampleError("cannot read the samples", path, str(error)) from None
    found = [
        _parse(line, number) for number, line in enumerate(lines[:-1], 1)
    ]  # a line that does not end is being written
    if not found:
        raise SampleError(f"{program} wrote nothing", path, "see its messages above")
    return found


def _parse(line: bytes, number: int) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        shown = line[:60].decode(errors="replace")
        raise damaged(number, repr(shown), "a JSON object")
    return found


def _header(found: dict[str, Any]) -> Header:
    for name in _HEADER_FIELDS:
        if name not in found:
            raise damaged(1, f"no {name!r}", f"a header with {', '.join(_HEADER_FIELDS)}")
    try:
        return Header(
            version=str(found["version"]),
            mpi=str(found["mpi"]),
            ranks=int(found["ranks"]),
            algorithms=list(map(str, found["algorithms"])),
            common_clock=found["clock"] == _COMMON,
            fields=found,
        )
    except NO_NUMBER as error:
        raise damaged(1, repr(error), "a number of ranks and a list of algorithms") from None


def _sample(found: dict[str, Any], number: int, header: Header) -> Sample:
    try:
        arrival = _times(found["arrival"], number, header) if header.common_clock else ()
        return Sample(
            iteration=int(found["iteration"]),
            algorithm=str(found["algorithm"]),
            parameters=str(found.get("parameters", "")),
            stays=_stays(found, number, header, arrival),
            arrival=arrival,
            wrong=int(found["wrong"]),
        )
    except KeyError as error:
        raise damaged(number, f"no {error}", "an object that says so") from None
    except NO_NUMBER as error:
        raise damaged(number, repr(error), "whole numbers of iteration and wrong") from None


def _stays(
    found: dict[str, Any], number: int, header: Header, arrival: Sequence[float]
) -> list[float]:
    if not header.common_clock:
        return _times(found["elapsed"], number, header)
    exits = _times(found["exit"], number, header)
    return [left - came for left, came in zip(exits, arrival, strict=True)]


def _times(values: Any, number: int, header: Header) -> list[float]:
    usable = isinstance(values, list) and len(values) == header.ranks and all(map(_is_time, values))
    if not usable:
        raise damaged(number, repr(values)[:60], f"{header.ranks} times in seconds")
    return [float(value) for value in values]


def _is_time(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def damaged(number: int, found: str, right: str) -> SampleError:
    """Error of a line, with the remedy."""
    return SampleError(
        f"line {number} of the samples is damaged", found, f"right would be {right}; run it again"
    )
