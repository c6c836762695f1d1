"""Rows over several ranks or sizes, as the lines of a picture or the columns of a table.

Where lines are too many, some are named and shown first. The others are not left out: pictures draw
them grey and list them, pages have them further down.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...core.native_choices import MODELS
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
    seen: Counter[tuple[str, int, int, float | None]] = Counter()
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
    ranks, sizes = {row.ranks for row in rows}, {row.bytes for row in rows}
    x, other = ("ranks", "bytes") if len(ranks) >= len(sizes) else ("bytes", "ranks")
    groups: dict[tuple[float, int], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.delay_ms or 0, getattr(row, other)), []).append(row)
    return [Panel(x, groups[key]) for key in sorted(groups)]


_ALWAYS = ("native", *MODELS, "ring", "auto")
_MOST = 9  # names that can be read beside a picture, and columns that fit on a page


def highlighted(rows: Sequence[Row]) -> list[str]:
    """Names of `lines`: all if they are few, else yardsticks, auto, and the best of the others."""
    found = lines(rows)
    if len(found) <= _MOST:
        return list(found)
    ordered, alone = by_merit(rows), _alone(rows)
    always = {name for name in found if found[name][0].algorithm in _ALWAYS}
    rest = sorted((name for name in ordered if name not in always), key=lambda n: n not in alone)
    named = always.union(rest[: max(0, _MOST - len(always))])
    return [name for name in ordered if name in named]


def others(rows: Sequence[Row]) -> list[str]:
    """Names of the lines that are not highlighted, the best first."""
    named = highlighted(rows)
    return [name for name in by_merit(rows) if name not in named]


def by_merit(rows: Sequence[Row]) -> list[str]:
    """Names of all lines by their time over the least of each case, its geometric mean.

    Those with wrong results come last.
    """
    ratios: dict[str, list[float]] = {name: [] for name in lines(rows)}
    for case in _cases(rows):
        least = min(case.values())
        for name, time in case.items():
            ratios[name].append(math.log(time / least))
    wrong = {name for name, own in lines(rows).items() if any(row.wrong for row in own)}
    return sorted(ratios, key=lambda name: (name in wrong, statistics.mean(ratios[name] or [0])))


def _alone(rows: Sequence[Row]) -> set[str]:
    """Names of the lines that no other equals in some case."""
    least = ((case, min(case.values())) for case in _cases(rows))
    winners = ([n for n, time in case.items() if math.isclose(time, t)] for case, t in least)
    return {names[0] for names in winners if len(names) == 1}


def _cases(rows: Sequence[Row]) -> Iterable[dict[str, float]]:
    """The times that pictures show first, by the line's name, for each ranks, size and delay."""
    column = "after_last_ms" if is_sweep(rows) else "elapsed_ms"
    cases: dict[tuple[int, int, float | None], dict[str, float]] = {}
    for name, own in lines(rows).items():
        for row in own:
            if time := getattr(row, column):  # of a single rank it is 0
                cases.setdefault((row.ranks, row.bytes, row.delay_ms), {})[name] = time
    return cases.values()
