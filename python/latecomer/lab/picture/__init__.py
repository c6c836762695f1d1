"""Pictures of calls: ranks over time, with their messages and combines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ...base.errors import UserError
from ...base.whole_files import fresh, write_text
from .page import MOST_BYTES, page
from .page import MOST_RANKS as MOST_RANKS_OF_A_PAGE
from .replay import Call, Labels

__all__ = ["FORMATS", "Call", "Labels", "check_page", "check_picture", "write", "write_page"]

FORMATS = (".svg", ".png", ".pdf")
MOST_RANKS = 32  # more lanes cannot be told apart


def check_picture(file: Path, ranks: int) -> None:
    """Raises ValueError for a file name or a number of ranks that makes no picture."""
    _check("picture", file, FORMATS, ranks, MOST_RANKS)


def check_page(file: Path, ranks: int) -> None:
    """Raises ValueError for a file name or a number of ranks that makes no page."""
    _check("page", file, (".html", ".htm"), ranks, MOST_RANKS_OF_A_PAGE)


def _check(what: str, file: Path, ends: tuple[str, ...], ranks: int, most: int) -> None:
    if file.suffix.lower() not in ends:
        right = ", ".join(end for end in ends if end != ".htm")
        raise ValueError(f"{what}: '{file}' is not usable; right would be a name that ends in "
                         f"{right}")  # fmt: skip
    if ranks > most:
        raise ValueError(f"ranks of a {what}: '{ranks}' is not usable; right would be at most "
                         f"{most}")  # fmt: skip


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
    with _written("the page", file):
        write_text(file, text)


def write(file: Path, call: Call, labels: Labels) -> None:
    """Draw the call into `file`: svg, png or pdf, by its name. Raises UserError."""
    from .draw import draw  # loads matplotlib

    check_picture(file, call.schedule.ranks)
    with _written("the picture", file), fresh(file, file.suffix) as part:
        draw(part, call, labels)


@contextmanager
def _written(what: str, file: Path) -> Iterator[None]:
    """Raises UserError where the system has an error."""
    try:
        yield
    except OSError as error:
        remedy = "give a file in an existing folder"
        raise UserError(f"cannot write {what} ({error.strerror})", file, remedy) from None
