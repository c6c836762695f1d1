"""A rank's part of a call, as the readers of other programs' traces make it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .model import UNKNOWN, never_early

# Sizes of these are equal on all ranks; of others they may differ.
_EVEN = frozenset({"allreduce", "bcast", "reduce", "allgather", "reduce_scatter"})
ALIKE = {"alltoallv": "alltoall", "allgatherv": "allgather"}  # PyTorch chooses by a rank's sizes


@dataclass(frozen=True, slots=True)
class Call:
    """One rank's part of one call; times in seconds on the rank's own clock, NaN if not known.

    A rank's calls of a group are in the order in which it made them.
    """

    group: str
    sequence: int  # UNKNOWN: to be counted
    collective: str
    bytes: int  # of the whole vector; UNKNOWN
    arrival: float
    exit: float
    members: tuple[int, ...] = ()  # of the group; (): not known
    launch: float = 0.0  # between the program's call and the arrival; NaN: not known
    element_bytes: int = UNKNOWN
    operator: str = ""
    root: int = UNKNOWN
    site: str = ""
    algorithm: str = ""

    @property
    def kind(self) -> str:
        """The collective, as all ranks see it."""
        return ALIKE.get(self.collective, self.collective)

    @property
    def never_early(self) -> bool:
        """True if nobody can leave it before all have entered."""
        return never_early(self.collective, self.bytes)

    @property
    def signature(self) -> tuple[str, int]:
        """Equal on all ranks."""
        return self.kind, self.bytes if self.collective in _EVEN else UNKNOWN


def with_members(name: str, members: Sequence[int]) -> str:
    """A group's name for people, where others have the same one."""
    return f"{name} of ranks {', '.join(map(str, members[:8]))}"


@dataclass(frozen=True)
class Recorded:
    """The calls that one rank recorded."""

    source: str  # the file, for errors
    rank: int
    host: str  # "": not known
    calls: Sequence[Call]
    begin: float  # of the recording, in seconds on the rank's own clock
    end: float
    of_device: bool = False  # some calls are kernels
