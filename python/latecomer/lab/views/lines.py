"""Rows over several ranks or sizes, as the lines of a picture or the columns of a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ..results.statistics import Row


@dataclass(frozen=True)
class Panel:
    """The rows of one picture: a line for each algorithm, over `x`."""

    x: str  # "ranks" or "bytes": the column that varies
    rows: list[Row]


def is_sweep(rows: Sequence[Row]) -> bool:
    """Tell whether there are several ranks or sizes."""
    return len({(row.ranks, row.bytes) for row in rows}) > 1


def lines(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Each algorithm as asked for, by the shortest name that tells it apart, with its rows.

    Parameters that an algorithm chooses by itself may differ along a line.
    """
    seen: Counter[tuple] = Counter()
    found: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        place = row.algorithm, row.ranks, row.bytes, row.delay_ms
        found.setdefault((row.algorithm, seen[place]), []).append(row)
        seen[place] += 1
    often = Counter(name for name, _ in found)
    names = {key: _name(key[0], own, often[key[0]] > 1) for key, own in found.items()}
    alike = Counter(names.values())
    return {
        f"{names[key]} ({key[1] + 1})" if alike[names[key]] > 1 else names[key]: own
        for key, own in found.items()
    }


def _name(algorithm: str, own: Sequence[Row], several: bool) -> str:
    """The algorithm, with the parameters that are equal along the line where it needs them."""
    if not several:
        return algorithm
    common = set.intersection(*(set(row.parameters.split()) for row in own))
    return " ".join([algorithm, *(word for word in own[0].parameters.split() if word in common)])


def panels(rows: Sequence[Row]) -> list[Panel]:
    """A panel for each delay and for each of the fewer: ranks or sizes."""
    x, other = _axes(len({row.ranks for row in rows}), len({row.bytes for row in rows}))
    groups: dict[tuple, list[Row]] = {}
    for row in rows:
        groups.setdefault((row.delay_ms or 0, getattr(row, other)), []).append(row)
    return [Panel(x, groups[key]) for key in sorted(groups)]


def _axes(ranks: int, sizes: int) -> tuple[str, str]:
    """The column along a line, and the one that makes panels."""
    return ("ranks", "bytes") if ranks >= sizes else ("bytes", "ranks")
