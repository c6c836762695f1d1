"""The part of a file of rules that a tuning file can say, for ranks that come at one imbalance."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...core import registry
from ..rules import RulesFile
from .counterparts import Counterparts, Theirs

_OWN = ("native", "auto")  # the library chooses

Row = tuple[int, float, Theirs | None]  # bytes from, to, both included; None: the library's choice


@dataclass(frozen=True)
class Band:
    """Communicators of some sizes, and the rules for their calls; both ends belong to a range."""

    low: int
    high: float
    distribution: str
    rows: Sequence[Row]


@dataclass
class Taken:
    """Rules in the words of an MPI library, and those that cannot be said."""

    bands: dict[str, list[Band]] = field(default_factory=dict)  # by collective
    rules: int = 0
    left: list[str] = field(default_factory=list)  # rules that are left out, and why
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Speech:
    """The things that a form of tuning files can say."""

    library: str
    counterparts: Counterparts
    knows_nodes: bool


def take(file: RulesFile, form: Speech, imbalance: float, late_ranks: int) -> Taken:
    """The rules that hold at this imbalance (in transfer times, as in rules), in the file's order.

    The calls of rules that cannot be said are left to the library.
    """
    taken = Taken()
    everywhere = json.loads(file.text).get("comm_rank_distribution", "any")
    arrivals = {"imbalance": imbalance, "late_ranks": late_ranks if imbalance > 0 else 0}
    for collective, entries in file.collectives.items():
        bands = []
        for number, entry in enumerate(entries):
            where = entry.get("comm_rank_distribution", everywhere)
            place = f"{collective}[{number}]"
            if where == "one-per-node" and not form.knows_nodes:
                taken.notes.append(f"{place} is for one rank a node, and now for all communicators")
                where = "any"
            rows = _rows(collective, entry, place, where, form, arrivals, taken)
            low, high = _limits(entry, "comm_size")
            bands.append(Band(int(low), high, where, rows))
        if any(theirs for band in bands for *_, theirs in band.rows):
            taken.bands[collective] = bands
        names = {each.name for band in bands for *_, each in band.rows if each and each.any_order}
        if names:
            taken.notes.append(
                f"with {' and '.join(sorted(names))} {form.library} gives wrong results of "
                f"{collective} for operators that do not commute: not for programs that have them"
            )
    return taken


def _rows(
    collective: str,
    entry: Mapping[str, Any],
    place: str,
    where: str,
    form: Speech,
    arrivals: Mapping[str, float],
    taken: Taken,
) -> list[Row]:
    rows: list[Row] = []
    for number, rule in enumerate(entry["rules"]):
        if not all(_holds(rule, name, value) for name, value in arrivals.items()):
            continue
        low, high = _limits(rule, "msg_size")
        found = _counterpart(collective, rule["alg"], int(low), form)
        if found and where == "single-node" and not form.knows_nodes:
            found = "the file cannot say which ranks share nodes"
        if isinstance(found, str):
            taken.left.append(f"{place}.rules[{number}], {rule['alg']}: {found}")
            found = None
        taken.rules += found is not None
        rows.append((int(low), high, found))
    return rows


def _counterpart(collective: str, text: str, low: int, form: Speech) -> Theirs | str | None:
    """The library's algorithm; None: the library chooses; a text: why there is none."""
    name, *words = text.split(":")
    if name in _OWN:
        return None
    parameters = dict(word.split("=", 1) for part in words for word in part.split(","))
    parameters.pop("progress", None)  # the library has no such thread
    segments = parameters.pop("segments", None)
    if name == "scatter_allgather":
        parameters.setdefault("allgather", "ring")
    key = ":".join([name, *(f"{each}={value}" for each, value in parameters.items())])
    found = form.counterparts[collective].get(key)
    if found is None:
        row = registry.row_of(collective, name)
        aware = row is not None and (row.arrival_aware or row.kind == "protocol")
        if aware:
            return f"it plans by arrivals, which {form.library} does not know"
        return f"{form.library} has no counterpart, or nothing else to choose"
    if not found.segmented:
        return found
    if segments is None or low == 0:
        return f"{form.library} counts the bytes of a segment; give :segments=S and msg_size_min"
    return replace(found, size=max(1, low // int(segments)))


def _limits(words: Mapping[str, Any], name: str) -> tuple[float, float]:
    high = words.get(f"{name}_max", "inf")
    return words.get(f"{name}_min", 0), math.inf if high == "inf" else float(high)


def _holds(rule: Mapping[str, Any], name: str, value: float) -> bool:
    low, high = _limits(rule, name)
    return low <= value <= high


def flat(bands: Sequence[Band]) -> list[tuple[int, float, list[Row]]]:
    """The first match, written out: ranges of ranks from 0 on, each with ranges of bytes from 0."""
    found = []
    for low, high in _ranges([(band.low, band.high) for band in bands]):
        band = next((band for band in bands if band.low <= low <= band.high), None)
        found.append((low, high, _flat_rows(band.rows if band else ())))
    return found


def _flat_rows(given: Sequence[Row]) -> list[Row]:
    rows: list[Row] = []
    for low, high in _ranges([(low, high) for low, high, _ in given]):
        theirs = next((each[2] for each in given if each[0] <= low <= each[1]), None)
        if rows and rows[-1][2] == theirs:
            low = rows.pop()[0]  # noqa: PLW2901 - one range with the one before
        rows.append((low, high, theirs))
    return rows


def _ranges(limits: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """The pieces between all ends, from 0 on."""
    begins = {0, *(low for low, _ in limits)}
    begins |= {int(high) + 1 for _, high in limits if high != math.inf}
    ordered = sorted(begins)
    ends = [float(each - 1) for each in ordered[1:]]
    return list(zip(ordered, [*ends, math.inf], strict=True))
