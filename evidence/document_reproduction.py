"""Writes evidence/results/reproduction.md from `latecomer reproduce`.

    python evidence/document_reproduction.py

Run it again when an algorithm joins the registry or the virtual network changes: rows that had no
counterpart fill in by themselves. It takes about two minutes.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "python")]
RESULTS = ROOT / "evidence" / "results" / "reproduction.md"
HEAD = """# Published results beside ours, paper by paper

The details of [the page about them](../../docs/reproduction.md): our programs, simulated at the
papers' sizes, beside the papers' numbers. `evidence/document_reproduction.py` writes this page;
`latecomer reproduce PAPER` prints the tables.

- "8 of 8 within 10%" counts the values that are within 10 % of the paper's.
- *Elapsed* is the mean over the ranks of exit minus arrival, *run* last exit minus first arrival,
  *root exit* the root's exit minus the common start.
"""
# Sentences that the command prints and the page leaves out: a single row that agrees, and how the
# comparison was made. Misses and other orders stay.
_DETAIL = re.compile(
    r"\b1 of 1 within|^doubtful|without a counterpart|own time follows|to repeat it exactly"
    "|^these rows determine|^(alpha|beta|gamma): "
)


def page() -> str:
    from evidence.reproduce.paper import NAMES

    return HEAD + "".join(map(section, NAMES))


def section(name: str) -> str:
    """The section of one paper."""
    from evidence.reproduce.job import Wanted, run
    from evidence.reproduce.sentences import about_fit

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
        *_listed("where we agree, where not", report.sentences()),
        *_listed("why", report.notes),
        *_listed("lost", report.paper.facts["lost"]),
    ]
    return "\n".join(parts) + "\n"


def _caution(facts: Mapping[str, Any]) -> list[str]:
    return ["", *_wrapped(f"**{facts['caution']}**")] if "caution" in facts else []


def _listed(title: str, lines: Sequence[str]) -> Iterator[str]:
    yield f"\n**{title.capitalize()}**\n"
    for line in lines:
        if not _DETAIL.search(line):
            yield from _wrapped(f"- {line}", "  ")


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, 104, subsequent_indent=indent, break_on_hyphens=False)


if __name__ == "__main__":
    RESULTS.write_text(page(), encoding="utf-8")
