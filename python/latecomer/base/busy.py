"""Tells if times that are measured on this machine are to be trusted."""

from __future__ import annotations

import os


def cores() -> int:
    """The cores of this machine."""
    return os.cpu_count() or 1


def busy(own: int = 0) -> list[str]:
    """A remark where more runs on this machine than it has cores for; none where it does not.

    To be asked before anything is started; `own` processes of the measurement run already.
    """
    load = os.getloadavg()[0] - own
    if load <= cores():
        return []
    return [f"other programs used this machine (load {load:.0f} on {cores()} cores): do not trust "
            "these times"]  # fmt: skip


def crowded(ranks: int, mpi: str) -> list[str]:
    """A remark where ranks of MPICH take each other's cores."""
    if ranks <= cores() or "MPICH" not in mpi:
        return []
    return [f"{ranks} ranks on {cores()} cores: ranks of MPICH poll without a pause, so times are "
            "not those of a cluster"]  # fmt: skip
