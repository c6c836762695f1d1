"""The format of times in pictures."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Labels:
    """The format of times."""

    unit: str  # "steps", or a unit of time such as "ms"
    scale: float  # how many of it are one second

    def time(self, seconds: float) -> str:
        """A time with its unit."""
        value = f"{seconds * self.scale:.4g}"
        return f"{value} {self.unit.rstrip('s') if self.steps and value == '1' else self.unit}"

    @property
    def steps(self) -> bool:
        """Not a real time, but the transfer of one segment."""
        return self.unit == "steps"
