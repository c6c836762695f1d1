"""A paper as data: every published number with its source and setting.

A paper is a folder of papers/: `paper.json` (title, machine, network, fit, what is lost, notes),
`algorithms.csv` (its names and ours) and a CSV file for each table, one row a number.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from latecomer.base.errors import UserError

FOLDER = Path(__file__).resolve().parents[1] / "papers"
NAMES = ("proficz2018", "proficz2021", "marendic2012", "kolmakov2020", "traeff2021")
ELEMENT_BYTES = 4  # of all papers' vectors, where it matters

_MAPPINGS = "algorithms.csv"


class PaperError(UserError, ValueError):
    """No such paper or table, or data that cannot be read."""


@dataclass(frozen=True)
class Number:
    """One published number, its source and its setting."""

    table: str
    row: str
    column: str
    collective: str
    algorithm: str  # the paper's name; several alternatives are joined by |
    baseline: str  # of a ratio or a difference, likewise; empty: none
    ranks: int
    bytes: int  # of the whole vector; -1: not known
    arrival: str
    late_rank: int
    delay_ms: float | None  # None: not known
    metric: str  # elapsed, run, root exit; with "speedup", "difference" or "fastest" after it
    statistic: str
    value: float | None  # None: a name (fastest), or the formula's value takes its place
    unit: str
    network: str  # of this number alone; empty: the paper's
    doubt: str  # why the source is not to be trusted here; empty: no doubt

    @property
    def measure(self) -> str:
        """The measured time: elapsed, run or root exit."""
        return self.metric.removesuffix(f" {self.comparison}") if self.comparison else self.metric

    @property
    def comparison(self) -> str:
        """The relation to the baseline: speedup, difference, fastest; empty: none."""
        last = self.metric.rpartition(" ")[2]
        return last if last in ("speedup", "difference", "fastest") else ""


@dataclass(frozen=True)
class Mapping:
    """The counterpart of an algorithm of the paper."""

    name: str
    collective: str
    role: str  # baseline: its rows may be fitted; claim: never
    ours: str  # a text for the registry with {ranks} and the like; empty: there is none
    formula: str  # a name of closed_forms; empty: none
    note: str


@dataclass(frozen=True)
class Paper:
    """A paper's data."""

    name: str
    facts: dict[str, Any]  # paper.json
    numbers: tuple[Number, ...]
    mappings: dict[str, Mapping]  # by the paper's names

    def tables(self) -> list[str]:
        """The names of its tables, in order."""
        return list(dict.fromkeys(number.table for number in self.numbers))

    def only(self, wanted: str | None) -> Paper:
        """The paper with the named tables alone, as in `Table 3,Section 4.1`. Raises PaperError."""
        if wanted is None:
            return self
        known = {table.lower(): table for table in self.tables()}
        chosen = set()
        for part in (part.strip().lower() for part in wanted.split(",")):
            found = known.get(part) or known.get(f"table {part}")
            if found is None:
                raise PaperError("no such table", part, f"use {', '.join(known.values())}")
            chosen.add(found)
        kept = tuple(number for number in self.numbers if number.table in chosen)
        return Paper(self.name, self.facts, kept, self.mappings)


def read_paper(name: str) -> Paper:
    """The data of one of NAMES. Raises PaperError."""
    if name not in NAMES:
        raise PaperError("no such paper", name, f"use one of {', '.join(NAMES)}")
    folder = FOLDER / name
    facts = json.loads((folder / "paper.json").read_text(encoding="utf-8"))
    files = sorted(path for path in folder.glob("*.csv") if path.name != _MAPPINGS)
    numbers = tuple(number for path in files for number in map(_number, _lines(path)))
    mappings = {line["name"]: Mapping(**line) for line in _lines(folder / _MAPPINGS)}
    return Paper(name, facts, numbers, mappings)


def _lines(path: Path) -> Iterator[dict[str, str]]:
    text = path.read_text(encoding="utf-8").splitlines()
    yield from csv.DictReader(line for line in text if not line.startswith("#"))


def _number(line: dict[str, str]) -> Number:
    read = {
        "ranks": int(line["ranks"]),
        "bytes": int(line["bytes"] or -1),
        "late_rank": int(line["late_rank"] or 1),
        "delay_ms": _optional(line["delay_ms"]),
        "value": _optional(line["value"]),
    }
    return Number(**{**line, **read})


def _optional(text: str) -> float | None:
    return float(text) if text else None
