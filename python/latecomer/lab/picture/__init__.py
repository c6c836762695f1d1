"""Pictures of calls: ranks over time, with their messages and combines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ...base.errors import UserError
from ...base.written import fresh, write_text
from ...core.programs import Schedule
from ...core.simulation import Simulation
from .labels import Labels
from .page import MOST_BYTES, Call, page
from .page import MOST_RANKS as MOST_RANKS_OF_A_PAGE

__all__ = ["FORMATS", "Call", "Labels", "check_page", "check_picture", "write", "write_page"]

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


def check_page(file: Path, ranks: int) -> None:
    """Raises ValueError for a file name or a number of ranks that makes no page."""
    if file.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"page: '{file}' is not usable; right would be a name that ends in .html")
    if ranks > MOST_RANKS_OF_A_PAGE:
        raise ValueError(
            f"ranks of a page: '{ranks}' is not usable; right would be at most "
            f"{MOST_RANKS_OF_A_PAGE}"
        )


def write_page(
    file: Path, calls: Sequence[Call], labels: Labels, vector: float, used: Mapping[str, object]
) -> None:
    """Write a page that plays the calls: see `page`. Raises ValueError and UserError."""
    text = page(calls, labels, vector, used)
    size = len(text.encode())
    if size > MOST_BYTES:
        raise ValueError(
            f"page: '{size} bytes' is not usable; right would be at most {MOST_BYTES}, with fewer "
            "ranks or blocks"
        )
    try:
        write_text(file, text)
    except OSError as error:
        raise UserError(
            f"cannot write the page ({error.strerror})", file, "give a file in an existing folder"
        ) from None


def write(
    file: Path,
    schedule: Schedule,
    simulation: Simulation,
    labels: Labels,
    nodes: Sequence[int] = (),
) -> None:
    """Draw the schedule into `file`: svg, png or pdf, by its name. `nodes`: of the ranks; empty:
    each has its own. Raises UserError.
    """
    from .draw import draw  # loads matplotlib

    check_picture(file, schedule.ranks)
    try:
        with fresh(file) as part:
            draw(part, schedule, simulation, labels, nodes)
    except OSError as error:
        raise UserError(
            f"cannot write the picture ({error.strerror})",
            file,
            "give a file in an existing folder",
        ) from None
