"""The result of a benchmark: rows and the settings that made them, as text, table or picture."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ...base.invocation import command_line, now
from ...base.output import console, say
from ...base.whole_files import check_apart, check_file, write_text
from ...core import networks
from ...core.compiled import __version__
from ..options.choices import PLOTS, BenchError, OptionError
from ..options.choose import Question
from ..results import statistics
from . import table
from .lines import is_sweep

if TYPE_CHECKING:
    from rich.console import RenderableType

_TABLE_WIDTH = 120  # in a file
_WIDE = 100  # a terminal that shows all columns


@dataclass(frozen=True)
class Result:
    """Rows, and the versions and costs used to get them."""

    rows: list[statistics.Row]
    used: dict[str, object]

    def text(self, format_: str) -> str:
        """The result as a file of this format."""
        if format_ == "csv":
            return table.csv_text(self.rows)
        if format_ == "json":
            return table.json_text(self.rows, self.used)
        if format_ == "osu":
            return table.osu_text(self.rows, self.used)
        from rich.console import Console

        text = io.StringIO()
        width = max(_TABLE_WIDTH, _wide(self.rows))
        Console(file=text, width=width, highlight=False).print(_tables(self.rows, width))
        told = "".join(f"{remark}\n" for remark in self.remarks)
        return f"{text.getvalue()}{told}latecomer {self.footer()}\n"

    @property
    def remarks(self) -> Sequence[str]:
        """The remarks against the times."""
        return cast("Sequence[str]", self.used.get("remarks", ()))

    def footer(self) -> str:
        """The measurement and its setting, in one line; all about it is in the JSON."""
        used = self.used
        op = "" if used["op"] == "none" else f" {used['op']}"
        what = "{collective} of {bytes} bytes, {type}".format(**used)
        what += f"{op}, {used['ranks']} ranks"
        known = " (algorithms are told who will be late)" if used["estimate"] == "perfect" else ""
        what += f", estimate {used['estimate']}{known}"
        where = f"{used['mpi']}, {used['network']}"
        costs = str(used.get("costs", used["network"]))  # simulated: the network is its costs
        if used["network"] == costs:
            where = str(used["mpi"])
        told = str(used["costs_from"])
        if "=" in costs:
            told = f"{networks.brief(costs)} ({told})"
        return f"{what}; version {used['version']}, {where}, seed {used['seed']}; costs {told}"

    def show(self, format_: str) -> None:
        """On standard output."""
        if format_ == "table":
            screen = console()
            screen.print(_tables(self.rows, screen.width))
            if screen.width < (needed := _wide(self.rows)):
                say(f"all columns need a terminal of {needed}, or --output FILE.csv")
        else:
            print(self.text(format_), end="")
        for remark in self.remarks:
            say(remark)
        say(self.footer())

    def hand_over(self, format_: str, files: Sequence[Path]) -> None:
        """Show it, and whatever becomes of that, save it. Raises BenchError for a file."""
        try:
            self.show(format_)
        finally:
            for path in files:
                self.save(path, format_)

    def save(self, path: Path, format_: str) -> None:
        """Write a table or a picture, by the name's end, and say so. Raises BenchError."""
        try:
            self._save(path, format_)
        except OSError as error:
            what = f"cannot write the result ({error.strerror or error})"
            raise BenchError(what, path, "name a file that can be written") from None
        say(f"wrote {path}")

    def _save(self, path: Path, format_: str) -> None:
        if path.suffix in (".svg", ".png"):
            from . import plot  # matplotlib takes a while to load

            return plot.save(self.rows, path)
        if path.suffix == ".html":
            from . import html

            return write_text(path, html.page(self.rows, self.used))
        known = {".csv": "csv", ".json": "json"}
        return write_text(path, self.text(known.get(path.suffix, format_)))


def used(asked: Question, setting: Mapping[str, object], trouble: str | None) -> dict[str, object]:
    """The facts of how a result was made, wherever that was."""
    return {
        "version": __version__,
        **setting,
        "type": asked.type,
        "late_rank": asked.pattern.late_rank,
        "delays_s": asked.delays,
        "iterations": asked.iterations,
        "progress": asked.progress,
        "command": command_line(),
        "date": now(),
        "complete": trouble or "yes",
    }


def count_wrong(rows: Sequence[statistics.Row], title: Callable[[statistics.Row], str]) -> int:
    """Report rows with wrong results; 1: there are some."""
    bad = [row for row in rows if row.wrong]
    for row in bad:
        say(f"error: {row.wrong} wrong elements: {row.label}, {title(row)}")
    return 1 if bad else 0


def _tables(rows: Sequence[statistics.Row], width: int) -> RenderableType:
    if is_sweep(rows):
        from . import sweep_table

        return sweep_table.rich_table(rows, width)
    return table.rich_tables(rows, width)


def _wide(rows: Sequence[statistics.Row]) -> int:
    """Columns of a terminal that shows everything."""
    if not is_sweep(rows):
        return _WIDE
    from . import sweep_table

    return sweep_table.least_width(rows)


def check_paths(
    results: Sequence[Path], plots: Sequence[Path], kinds: Sequence[str] = PLOTS
) -> None:
    """Before anything is measured: can all files be written? Raises UserError."""
    for path in (*results, *plots):
        check_file("a result", path)
    check_apart([*results, *plots])
    for path in plots:
        if path.suffix not in kinds:
            raise OptionError("no such plot", path, f"use a name in {', '.join(kinds)}")


def check_report(path: Path | None) -> None:
    """Check that the name is that of a page. Raises OptionError."""
    if path is not None and path.suffix != ".html":
        raise OptionError("no such report", path, "use a name in .html; pictures are for --plot")
