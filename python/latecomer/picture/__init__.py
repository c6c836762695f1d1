"""Pictures of schedules: ranks over time, with their messages and combines."""

from __future__ import annotations

from pathlib import Path

from ..base.errors import UserError
from ..core.programs import Schedule
from ..core.simulation import Simulation
from .draw import Labels, draw

__all__ = ["FORMATS", "Labels", "check_picture", "write"]

FORMATS = (".svg", ".png", ".pdf")
MOST_RANKS = 32  # more lanes cannot be told apart


def check_picture(file: Path, ranks: int) -> None:
    """Raises ValueError for a file name or a number of ranks that makes no picture."""
    if file.suffix.lower() not in FORMATS:
        raise ValueError(
            f"picture: '{file}' is not usable; right would be a name that ends in "
            f"{', '.join(FORMATS)}"
        )
    if ranks > MOST_RANKS:
        raise ValueError(
            f"ranks of a picture: '{ranks}' is not usable; right would be at most {MOST_RANKS}"
        )


def write(file: Path, schedule: Schedule, simulation: Simulation, labels: Labels) -> None:
    """Draw the schedule into `file`: svg, png or pdf, by its name. Raises UserError."""
    check_picture(file, schedule.ranks)
    try:
        draw(file, schedule, simulation, labels)
    except OSError as error:
        raise UserError(
            f"cannot write the picture ({error.strerror})",
            file,
            "give a file in an existing folder",
        ) from None
