"""A file of rules, as the library reads it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...base import regular
from ...base.errors import UserError
from ...core.compiled import core

MOST_BYTES = 256 << 10  # as the library reads


class RuleError(UserError, ValueError):
    """A file of rules that cannot be read, or a question that makes no sense."""


@dataclass(frozen=True)
class RulesFile:
    """A checked file."""

    path: Path
    text: str
    rules: core.UserRules

    @property
    def collectives(self) -> Mapping[str, Any]:
        """The entries of each collective, as the file has them."""
        return json.loads(self.text)["collectives"]

    @property
    def rule_count(self) -> int:
        """The rules of all collectives."""
        return sum(self.rules.count(name)[1] for name in self.collectives)


def read(path: Path) -> RulesFile:
    """The file, checked by the library's own reader.

    Raises RuleError if there is none, ValueError naming line, key and value if it has no such form.
    """
    try:
        data = regular.read(path, MOST_BYTES + 1)
    except OSError as error:
        remedy = "name a file that `latecomer tune` wrote, or see docs/rules.md"
        raise RuleError(f"cannot read the rules ({error.strerror})", path, remedy) from None
    text = data.decode("utf-8-sig", errors="surrogateescape")
    try:
        return RulesFile(path, text, core.UserRules(data.decode("utf-8-sig"), f"rules file {path}"))
    except UnicodeDecodeError as error:
        raise RuleError("bytes that are no UTF-8 in", path, f"see byte {error.start}") from None


def in_words(rule: Mapping[str, Any]) -> str:
    """The conditions of a rule, as in `64 KiB to 1 MiB, 1 late rank`; `all calls` for none."""
    sizes = _range(rule, "msg_size", _bytes)
    imbalance = _range(rule, "imbalance", lambda factor: f"{factor:g}")
    late = _range(rule, "late_ranks", lambda number: f"{number:g}")
    parts = [sizes, imbalance and f"imbalance {imbalance} transfer times"]
    parts.append(late and f"{late} late ranks")
    return ", ".join(filter(None, parts)) or "all calls"


def _range(rule: Mapping[str, Any], name: str, show: Any) -> str:
    low, high = rule.get(f"{name}_min", 0), rule.get(f"{name}_max", "inf")
    most = math.inf if high == "inf" else high
    if low == 0 and most == math.inf:
        return ""
    if low == most:
        return show(low)
    if most == math.inf:
        return f"from {show(low)}"
    return f"up to {show(most)}" if low == 0 else f"{show(low)} to {show(most)}"


def _bytes(size: int) -> str:
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor and size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} B"
