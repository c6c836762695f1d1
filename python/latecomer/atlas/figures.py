"""Figures of the files of the atlas: how late, how well it can be told, what could be saved."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..base.units import seconds
from ..core.bounds import least_after_last
from ..core.compiled import core
from ..core.registry import collectives
from .file import Arrivals

_LEAST_S = 1e-9  # of a transfer: what clocks tell apart


@dataclass(frozen=True)
class Figures:
    """Figures of one program; parts are of 1, and None where no call tells them."""

    program: str
    ranks: int
    hosts: int
    cores: int  # 0: not known
    calls: int  # of the file
    lateness_s: float  # from the first arrival to the last: the median call's
    over_transfer: float  # the same by the transfer's time: median
    over_transfer_90: float  # and 90th percentile
    same_last: float | None  # calls whose last rank is that of the call before at that place
    foretold: float | None  # of the lateness that the library's forecast would have foreseen
    savable: float  # of the ranks' time: what the best algorithm could save at most


def figures(found: Arrivals, otherwise: str, network: str) -> Figures:
    """`otherwise` names a program that told no name. Raises ValueError for unusable costs."""
    late = np.array([each.max() for each in found.lateness_s])
    over = late / np.maximum(found.transfer_s, _LEAST_S)
    told = found.about
    return Figures(
        told.name or otherwise,
        told.ranks,
        told.hosts,
        told.cores,
        len(found),
        float(np.median(late)) if len(found) else 0.0,
        float(np.median(over)) if len(found) else 0.0,
        float(np.quantile(over, 0.9)) if len(found) else 0.0,
        same_last(found),
        foretold(found),
        savable(found, network),
    )


def same_last(found: Arrivals) -> float | None:
    """How often the last rank of a call was the last of the call before it at the same place."""
    last = [int(each.argmax()) for each in found.lateness_s]
    by_place: dict[tuple[int, int], list[int]] = {}
    for group, place, each in zip(found.group.tolist(), found.place.tolist(), last, strict=True):
        by_place.setdefault((group, place), []).append(each)
    pairs = [one == other for each in by_place.values() for one, other in pairwise(each)]
    return sum(pairs) / len(pairs) if pairs else None


def foretold(found: Arrivals) -> float | None:
    """1 - misplaced / lateness, both summed over the calls; that of ranks held to be together is 0.

    A call is misplaced by the spread of the differences of its arrivals to those that the library's
    forecast expected, given the calls of its group before it.
    """
    misplaced = lateness = 0.0
    kinds = {name: number for number, name in enumerate(sorted(set(found.collective)))}
    for group in np.unique(found.group):
        calls = np.flatnonzero(found.group == group)
        rows = np.array([found.lateness_s[i] for i in calls])
        alike = [(kinds[found.collective[i]], found.bytes[i], found.root[i]) for i in calls]
        _, keys = np.unique(np.array(alike, np.int64), axis=0, return_inverse=True)
        expected = core.forecasts_of(keys.reshape(-1).astype(np.int64), rows)
        lateness += float(rows.max(axis=1).sum())
        misplaced += sum(float(np.ptp(row - np.array(each or [0.0])))
                         for row, each in zip(rows, expected, strict=True))  # fmt: skip
    return 1 - misplaced / lateness if lateness > 0 else None


def savable(found: Arrivals, network: str) -> float:
    """The time after the last arrival beyond the least for any algorithm, by the ranks' time.

    The least is that of a network of these costs: on a slower one less can be saved. It is 0
    without costs, and for calls of which it is not known.
    """
    known = collectives() if network else {}
    saved = 0.0
    for i, row in enumerate(found.lateness_s):
        least, size, name = 0.0, int(found.bytes[i]), found.collective[i]
        if name in known and size > 0:
            least = least_after_last(
                ranks=len(row), bytes=size, arrivals=row, network=network, collective=name,
                root=max(int(found.root[i]), 0) if known[name].rooted else 0,
            )  # fmt: skip
        saved += max(float(found.transfer_s[i]) - least, 0.0) * len(row)
    whole = found.about.span_s * found.about.ranks
    return min(saved / whole, 1.0) if whole > 0 else 0.0


HEAD = ("program", "ranks", "calls", "late", "late/transfer", "90th", "same last", "foretold",
        "savable")  # fmt: skip


def cells(found: Figures) -> list[str]:
    """The row of a table below HEAD."""
    on = f" on {found.cores} cores" if found.cores else ""
    return [
        found.program, f"{found.ranks}{on}", str(found.calls), seconds(found.lateness_s, 4),
        f"{found.over_transfer:.3g}", f"{found.over_transfer_90:.3g}", _part(found.same_last),
        _part(found.foretold), _part(found.savable),
    ]  # fmt: skip


def _part(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"
