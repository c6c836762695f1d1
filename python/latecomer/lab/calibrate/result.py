"""A calibration for people, scripts and files."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast

import numpy as np
from rich.console import Console
from rich.table import Table

from ...base.output import console, print_json, say
from ...base.whole_files import write_text
from ...core import networks
from .fit import Fit, Parameter, findings

_WIDTH = 120  # of a table in a file


@dataclass(frozen=True)
class Result:
    """The found costs, and the place, ranks, MPI library, date, machine, version and so on."""

    fit: Fit
    used: Mapping[str, object]

    def as_dict(self) -> dict[str, object]:
        """A JSON object for scripts; `points` are seconds."""
        return {
            "used": dict(self.used),
            "network": self.fit.text,
            "parameters": [asdict(each) for each in self.fit.parameters],
            "findings": findings(self.fit),
            "points": _points(self.fit),
        }

    def show(self, as_json: bool) -> None:
        """On standard output."""
        if as_json:
            return print_json(self.as_dict())
        console().print(_table(self.fit))
        for text in self._said():
            print(f"- {text}")
        print(self.fit.text)
        return say(self.footer())

    def footer(self) -> str:
        """The measurement and its setting, in one line."""
        form = "{ranks} ranks, {rounds} rounds; version {version}, {mpi}, {place}, {date}"
        return form.format(**self.used)

    def _said(self) -> list[str]:
        return [*findings(self.fit), *cast("list[str]", self.used.get("remarks", []))]

    def write(self, path: Path) -> None:
        """Write the result as .json or as text."""
        if path.suffix == ".json":
            text = json.dumps(self.as_dict(), indent=2)
        else:
            shown = io.StringIO()
            Console(file=shown, width=_WIDTH, highlight=False).print(_table(self.fit))
            said = "".join(f"- {each}\n" for each in self._said())
            text = f"{shown.getvalue()}{said}{self.fit.text}\nlatecomer {self.footer()}"
        write_text(path, text + "\n")
        say(f"wrote {path}")

    def save(self, path: Path) -> None:
        """Save the network that others use. Raises NetworkError."""
        said = {name: str(self.used[name]) for name in ("place", "ranks", "mpi", "date", "machine")}
        intervals = {each.name: _interval(each) for each in self.fit.parameters if each.saved}
        networks.save(path, self.fit.text, {"latecomer network": "measured", **said, **intervals})
        say(f"saved as {path}")


def _table(fit: Fit) -> Table:
    table = Table(box=None, title_justify="left")
    for name in ("parameter", "value", "95 % interval"):
        table.add_column(name, justify="left" if name == "parameter" else "right", no_wrap=True)
    table.add_column("found by", overflow="fold")
    for each in fit.parameters:
        style = None if each.saved else "dim"
        table.add_row(each.name, each.shown(each.value), _interval(each), each.how, style=style)
    return table


def _interval(each: Parameter) -> str:
    if isinstance(each.value, int) and each.low == each.high:
        return "exact"
    return f"{each.shown(each.low).split(' ')[0]} to {each.shown(each.high)}"


def _points(fit: Fit) -> list[dict[str, object]]:
    found = []
    for pattern, curve in fit.measured.curves.items():
        quartiles = np.percentile(curve.times, (25, 50, 75), axis=0)
        for size, q1, median, q3 in zip(curve.sizes, *quartiles, strict=True):
            times = {"q1": float(q1), "median": float(median), "q3": float(q3)}
            found.append({"pattern": pattern, "bytes": int(size), **times})
    return found
