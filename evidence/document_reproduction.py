"""Writes docs/reproduction.md from `latecomer reproduce`: python evidence/document_reproduction.py.

Run it again when an algorithm joins the registry or the virtual network changes: rows that had no
counterpart fill in by themselves. It takes about two minutes.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "python")]
HEAD = """# Published results beside ours

Made by `evidence/document_reproduction.py` from `latecomer reproduce PAPER`, which also prints
every table with the paper's value (or what is re-derived in its place), ours and their ratio
(`--output FILE.csv`, `--plot FILE.svg`, an HTML page with `--plot FILE.html`), and with `--lab`
measures in the emulated cluster, scaled.

How it is done:

- Every number that the papers' texts hold is a row of `evidence/papers/PAPER/*.csv` with
  its table, row and column and the setting it was measured in. What is lost is listed.
- The costs of each paper's network are fitted on rows of its *baselines* only: on their closed
  forms, and where we have the baseline's program on what that takes in simulation. Rows of the
  algorithms that a paper proposes are never fitted; a test checks it.
- Everything is then simulated at the paper's size. Where a program is missing the paper's closed
  form stands in, and says so; where that is missing too the row says what is not implemented yet.
  It fills in by itself when the registry has the name in `papers/PAPER/algorithms.csv`.
- The sentences with numbers below are made from the numbers; the reasons under *why* are written
  by people and kept in `papers/PAPER/paper.json`.
"""


def page() -> str:
    from evidence.reproduce.paper import NAMES

    return HEAD + "".join(map(section, NAMES))


def section(name: str) -> str:
    """What is said of one paper."""
    from evidence.reproduce.job import Wanted, run
    from evidence.reproduce.words import about_fit

    report = run(Wanted(name, None, None, 16, 1))
    parts = [
        f"\n## {name}\n",
        *_wrapped(
            f"{report.title}, <{report.paper.facts['url']}>. {report.paper.facts['machine']}."
        ),
        *_caution(report.paper.facts),
        "",
        f"    ./latecomer reproduce {name}",
        *_listed("the network", about_fit(report.fit)),
        *_listed("where we agree, where not", report.words()),
        *_listed("why", report.notes),
        *_listed("lost", report.paper.facts["lost"]),
    ]
    return "\n".join(parts) + "\n"


def _caution(facts: Mapping[str, Any]) -> list[str]:
    return ["", *_wrapped(f"**{facts['caution']}**")] if "caution" in facts else []


def _listed(title: str, lines: Sequence[str]) -> Iterator[str]:
    yield f"\n**{title.capitalize()}**\n"
    for line in lines:
        yield from _wrapped(f"- {line}", "  ")


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, 104, subsequent_indent=indent, break_on_hyphens=False)


if __name__ == "__main__":
    (ROOT / "docs" / "reproduction.md").write_text(page(), encoding="utf-8")
