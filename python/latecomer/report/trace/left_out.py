"""All that a reader leaves out of a trace, or doubts, by reason, for the trace's remarks."""

from __future__ import annotations

from dataclasses import dataclass

from ...base.printable import plain

_SHOWN = 240  # characters of an example


@dataclass
class _Reason:
    count: int
    where: str
    value: str


class LeftOut:
    """Reasons are plurals such as "events that are no objects": each is one remark."""

    def __init__(self) -> None:
        self._reasons: dict[str, _Reason] = {}
        self._doubts: set[str] = set()

    def add(self, what: str, where: object, value: object = "", count: int = 1) -> None:
        """Count; `where` and `value` of the first one are the example."""
        found = self._reasons.get(what)
        if found is None:
            self._reasons[what] = _Reason(count, _short(where), _short(value))
        else:
            found.count += count

    def doubt(self, what: str, where: object, count: int = 1) -> None:
        """Say what is not sure, of so many."""
        self.add(what, where, count=count)
        self._doubts.add(what)

    def also(self, other: LeftOut) -> None:
        for what, each in other._reasons.items():
            self.add(what, each.where, each.value, each.count)
        self._doubts |= other._doubts

    def remarks(self) -> list[str]:
        """One sentence for each reason."""
        return [
            f"{'in doubt' if what in self._doubts else 'left out'}: {what} ({each.count}), such as "
            f"{each.where}" + (f": {each.value}" if each.value else "")
            for what, each in self._reasons.items()
        ]

    def said(self, most: int = 4) -> str:
        """The first reasons, for a refusal: "" without any."""
        told = self.remarks()
        more = f"; and {len(told) - most} reasons more" if len(told) > most else ""
        return "; ".join(told[:most]) + more


def _short(value: object) -> str:
    text = plain(str(value))
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
