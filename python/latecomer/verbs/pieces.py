"""The segments or blocks into which `show` cuts a vector, where the user names none."""

from __future__ import annotations

import re

import latecomer


def row_of(algorithm: str, collective: str) -> latecomer.Algorithm | None:
    """The registry's row for an algorithm with or without parameters; None: there is none."""
    name = algorithm.partition(":")[0]
    return next((row for row in latecomer.algorithms(collective) if row.name == name), None)


def named_pieces(algorithm: str) -> int | None:
    """The value of the algorithm's own parameter `segments` or `blocks`."""
    given = re.search(r":(?:segments|blocks)=(\d+)", algorithm)
    return int(given[1]) if given else None


def with_pieces(algorithm: str, collective: str, ranks: int, *, blocks: bool) -> str:
    """Add their number, where the algorithm has it: a segment for each rank or, if asked, two
    blocks. In steps, longer segments would cost nothing.
    """
    row = row_of(algorithm, collective)
    names = {parameter.name for parameter in row.parameters} if row else set()
    if named_pieces(algorithm) is not None:
        return algorithm
    if "segments" in names:
        return f"{algorithm}:segments={ranks}"
    if "blocks" in names and blocks:
        return f"{algorithm}:blocks={2 * ranks}"
    return algorithm
