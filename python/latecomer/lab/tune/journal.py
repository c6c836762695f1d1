"""The journal of a sweep: a line for each finished cell, so that an interrupted one goes on.

The first line holds the settings: results of other settings are of no use to a sweep.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...base.errors import UserError
from ...base.regular_files import read_text


class JournalError(UserError):
    """A journal that does not belong to the sweep, or cannot be used."""


@dataclass
class Journal:
    """An open journal. Raises JournalError."""

    path: Path
    settings: Mapping[str, Any]
    cells: dict[str, Any] = field(default_factory=dict)  # results, by the cell's name

    def __post_init__(self) -> None:
        self.settings = json.loads(json.dumps(self.settings))  # as it reads back
        lines = self._lines()
        if not lines:
            self._write(json.dumps({"settings": self.settings}) + "\n", "w")
            return
        self._check(lines[0].get("settings"))
        for line in lines[1:]:
            self.cells[line["cell"]] = line["result"]

    def add(self, cell: str, result: Any) -> None:
        self._write(json.dumps({"cell": cell, "result": result}) + "\n", "a")
        self.cells[cell] = result

    def _lines(self) -> list[dict[str, Any]]:
        try:
            text = read_text(self.path)
        except FileNotFoundError:
            return []
        except (OSError, UnicodeDecodeError) as error:
            raise JournalError("cannot read the journal", self.path, self._remedy(error)) from None
        whole, _, cut = text.rpartition("\n")
        if cut:  # by an interruption: the cell is measured again
            self._write(f"{whole}\n" if whole else "", "w")
        return [self._parse(line, n) for n, line in enumerate(whole.split("\n"), 1) if line]

    def _parse(self, line: str, number: int) -> dict[str, Any]:
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = None
        needed = {"settings"} if number == 1 else {"cell", "result"}
        whole = isinstance(found, dict) and needed <= found.keys()
        if not isinstance(found, dict) or not whole or not isinstance(found.get("cell", ""), str):
            what = f"line {number} of the journal {self.path}"
            raise JournalError(what, line[:40], "remove the file, to measure anew")
        return found

    def _check(self, before: Mapping[str, Any] | None) -> None:
        before = before if isinstance(before, dict) else {}
        names = sorted(before.keys() | self.settings.keys())
        differ = [name for name in names if before.get(name) != self.settings.get(name)]
        if not differ:
            return
        now = ", ".join(f"{name} {before.get(name)}" for name in differ)
        remedy = "use these, another --output, or remove the journal to measure anew"
        raise JournalError(f"the journal {self.path} was begun with other settings", now, remedy)

    def _write(self, text: str, mode: str) -> None:
        try:
            with self.path.open(mode, encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise JournalError("cannot write the journal", self.path, self._remedy(error)) from None

    @staticmethod
    def _remedy(error: Exception) -> str:
        return f"{error}; name another file by --output"
