"""The error of failed calls."""

from __future__ import annotations

from mpi4py import MPI


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
