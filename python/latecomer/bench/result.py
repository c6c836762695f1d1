"""What comes out of a benchmark: rows with what was used to get them, as text, table or picture."""

from __future__ import annotations

import io
import re
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .. import statistics, table
from ..compiled import __version__
from ..lines import is_sweep
from ..output import console, say
from .choices import PLOTS
from .errors import BenchError, OptionError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..arrivals import Iteration
    from .job import Outcome
    from .places import Place
    from .question import Question

_TABLE_WIDTH = 120  # in a file
_WIDE = 100  # a terminal that shows all columns
_LIBRARY = re.compile(r"(Open MPI|MPICH)\D*([\w.]+)")


@dataclass(frozen=True)
class Result:
    """Rows, and what was used to get them."""

    rows: list[statistics.Row]
    used: dict[str, object]

    def text(self, format_: str) -> str:
        """As a file of this format."""
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
        return f"{text.getvalue()}latecomer {self.footer()}\n"

    def footer(self) -> str:
        """What was measured and used, in one line."""
        form = "{collective} of {bytes} bytes, {type} {op}, {ranks} ranks, estimate {estimate}; "
        form += "version {version}, {mpi}, {network}, seed {seed}; costs {costs_from}"
        return form.format(**self.used)

    def show(self, format_: str) -> None:
        """On standard output."""
        if format_ == "table":
            screen = console()
            screen.print(_tables(self.rows, screen.width))
            if screen.width < (needed := _wide(self.rows)):
                say(f"all columns need a terminal of {needed}, or --output FILE.csv")
        else:
            print(self.text(format_), end="")
        say(self.footer())

    def hand_over(self, format_: str, files: Sequence[Path]) -> None:
        """Show it, and whatever becomes of that, save it. Raises BenchError for a file."""
        try:
            self.show(format_)
        finally:
            for path in files:
                self.save(path, format_)

    def save(self, path: Path, format_: str) -> None:
        """As a table or a picture, by the name's end, and say so. Raises BenchError."""
        try:
            self._save(path, format_)
        except OSError as error:
            what = f"cannot write the result ({error.strerror or error})"
            raise BenchError(what, path, "name a file that can be written") from None
        say(f"wrote {path}")

    def _save(self, path: Path, format_: str) -> None:
        if path.suffix in (".svg", ".png"):
            from ..report import plot  # matplotlib takes a while to load

            return plot.save(self.rows, path)
        if path.suffix == ".html":
            from ..report import html

            return _write(path, html.page(self.rows, self.used))
        known = {".csv": "csv", ".json": "json"}
        return _write(path, self.text(known.get(path.suffix, format_)))


def _tables(rows: Sequence[statistics.Row], width: int) -> RenderableType:
    if is_sweep(rows):
        from .. import sweep_table

        return sweep_table.rich_table(rows, width)
    return table.rich_tables(rows, width >= _WIDE)


def _wide(rows: Sequence[statistics.Row]) -> int:
    """Columns of a terminal that shows everything."""
    if not is_sweep(rows):
        return _WIDE
    from .. import sweep_table

    return sweep_table.least_width(rows)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def check_paths(
    results: Sequence[Path], plots: Sequence[Path], kinds: Sequence[str] = PLOTS
) -> None:
    """Before anything is measured: can all files be written? Raises OptionError."""
    for path in (*results, *plots):
        if not path.absolute().parent.is_dir():
            raise OptionError("no such folder for a result", path, "make it first, with mkdir")
        if path.is_dir():
            raise OptionError("a folder is no file for a result", path, "name a file in it")
    for path in plots:
        if path.suffix not in kinds:
            raise OptionError("no such plot", path, f"use a name in {', '.join(kinds)}")


def check_report(path: Path | None) -> None:
    """Is it a page? Raises OptionError."""
    if path is not None and path.suffix != ".html":
        raise OptionError("no such report", path, "use a name in .html; pictures are for --plot")


def make_result(
    question: Question, place: Place, job: Sequence[Iteration], outcome: Outcome
) -> Result:
    """The rows of a run. Raises BenchError if it completed no iteration."""
    header = outcome.samples.header
    setting = statistics.Setting(
        collective=question.collective,
        ranks=header.ranks,
        bytes=question.bytes,
        op=question.op,
        arrival=question.arrival,
        estimate=question.estimate,
        network=place.name,
        mpi=short_library(header.mpi),
        seed=question.seed,
    )
    rows = statistics.summarise(
        outcome.samples, job, question.delays or [None], setting, place.limit(question)
    )
    if not rows:
        what = "no iteration was completed"
        raise BenchError(what, outcome.trouble or "no samples", "allow more time")
    return Result(rows, _used(question, place, outcome, setting))


def _used(
    question: Question, place: Place, outcome: Outcome, setting: statistics.Setting
) -> dict[str, object]:
    header = outcome.samples.header
    return {
        "version": __version__,
        **vars(setting),
        "mpi_library": header.mpi,
        "costs": place.costs or "default",
        "costs_from": place.costs_from,
        "count": question.count,
        "type": question.type,
        "late_rank": question.pattern.late_rank,
        "imbalance": question.imbalance,
        "delays_s": question.delays,
        "iterations": question.iterations,
        "warmup": question.warmup,
        "compute_s": question.compute,
        "edge": question.edge,
        "progress": question.progress,
        "clock": header.fields["clock"],
        "hosts": list(dict.fromkeys(header.fields.get("hosts", []))),
        "command": shlex.join(["latecomer", *sys.argv[1:]]),
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "complete": outcome.trouble or "yes",
    }


def short_library(text: str) -> str:
    """`openmpi 4.1.4` for what an MPI library says of itself; its first words if unknown."""
    found = _LIBRARY.search(text)
    return f"{found[1].replace(' ', '').lower()} {found[2]}" if found else text[:40]


def judge(outcome: Outcome, job: Sequence[Iteration], rows: Sequence[statistics.Row]) -> int:
    """Say what went wrong; the exit code."""
    if outcome.trouble:
        complete = len({sample.iteration for sample in outcome.samples.complete()})
        say(f"{outcome.trouble}; these are the first {complete} of {len(job)} iterations")
    bad = [row for row in rows if row.wrong]
    for row in bad:
        say(f"error: {row.wrong} wrong elements: {row.label}, {table.delay_title(row)}")
    return outcome.code or (1 if bad else 0)
