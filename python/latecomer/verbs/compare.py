"""Runs before and after, for `latecomer report` and `latecomer run --compare`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ..base.errors import UserError
from ..base.output import folded, say
from ..base.whole_files import write_text

if TYPE_CHECKING:
    from ..launch.dropin import Comparison
    from ..report.analysis.facts import Facts
    from ..report.analysis.lateness import Lateness

_HANG = 7  # characters of a line before its sentence


class Seen(Protocol):
    """A run that was analysed."""

    @property
    def found(self) -> Lateness:
        """Its figures."""

    @property
    def facts(self) -> Facts:
        """Who is late in it."""


def compare(
    before: Sequence[Seen], after: Sequence[Seen], html: Path | None, as_json: bool
) -> dict[str, Any]:
    """Tell what became longer, for whom and where, as JSON by the value that is returned; write
    the page. Raises UserError."""
    from ..report.compare import sentences
    from ..report.compare.changes import compared, run_of

    found = compared(*([run_of(seen.found, seen.facts) for seen in side]
                       for side in (before, after)))  # fmt: skip
    words = sentences.said(found)
    if not as_json:
        for remark in sentences.remarks(found):
            say(remark)
        for line in words.lines():
            print(folded(line, sys.stdout, _HANG))
        sys.stdout.flush()
    if html:
        import latecomer

        from ..report.compare.page import page

        used = {"before": [run.folder for run in found.before],
                "after": [run.folder for run in found.after],
                "version": latecomer.__version__}  # fmt: skip
        write_text(html, page(found, words, used))
        say(f"wrote {html}")
    return sentences.value(found, words)


def compare_traces(
    trace: Path, turns: int, look: Callable[[Path], Seen], html: Path | None, as_json: bool
) -> dict[str, Any] | None:
    """The same of the runs of `run --compare`; None, and a word, where it cannot be said."""
    from ..launch.dropin import KINDS, folder_of

    try:
        runs = {kind: [look(folder_of(trace, kind, turn)) for turn in range(turns)]
                for kind in KINDS}  # fmt: skip
        without = [*runs["without"], *runs["control"]]
        return compare(without, runs["with"], html, as_json)
    except UserError as error:
        say(f"the traces are not compared: {error}")
        return None


def comparison_json(result: Comparison) -> dict[str, Any]:
    """For scripts. Times are in seconds."""
    return {
        "without_s": result.without,
        "with_s": result.with_it,
        "control_s": result.control,
        "gain": result.gain,
        "gain_range": result.spread,
        "control_gain": result.control_gain,
        "control_range": result.control_spread,
        "verdict": result.verdict(),
        "remarks": list(result.remarks),
        "job": result.last.summary,
    }
