"""Lists of ranks and algorithms as the command line writes them."""

from __future__ import annotations

import re

import latecomer

from ..base.guess import listed
from ..base.limits import MOST_RANKS
from ..command.declare import bad_value

_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


def parse_ranks(text: str) -> list[int]:
    """`4,8,16-17` as ascending numbers of ranks. Raises UsageError."""
    found: set[int] = set()
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 1 <= first <= last <= MOST_RANKS:
            raise bad_value(
                "--ranks",
                f"'{part}'; give numbers from 1 to {MOST_RANKS} and ranges, as in 4,8,16-17",
            )
        found.update(range(first, last + 1))
    return sorted(found)


def choose(names: str | None, collective: str | None = None) -> list[latecomer.Algorithm]:
    """The algorithms of a list of names, but for the MPI library's own; None: all.

    Raises UsageError.
    """
    rows = [row for row in latecomer.algorithms(collective) if row.kind != "native"]
    if names is None:
        return rows
    wanted = [name.strip() for name in names.split(",")]
    known = sorted({row.name for row in rows})
    for name in wanted:
        if name not in known:
            raise bad_value("--algorithms", f"'{name}'; give some of {listed(name, known)}")
    return [row for row in rows if row.name in wanted]
