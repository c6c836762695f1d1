"""Errors that a user can act upon."""

from __future__ import annotations


class UserError(Exception):
    """An error that names its cause, the wrong value and the remedy."""

    def __init__(self, what: str, value: object, remedy: str) -> None:
        super().__init__(what, value, remedy)
        self.what = what
        self.value = str(value)
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.what}: {self.value}; {self.remedy}"


class DeadlineError(UserError):
    """A launched program was still running when its time was over, and was killed."""
