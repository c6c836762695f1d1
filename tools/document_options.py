"""Writes the table of the options that verbs share into docs/commands.md, as they are declared."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

from latecomer.command.declare import Parameter, parameters  # noqa: E402
from latecomer.verbs.commands import COMMANDS  # noqa: E402
from latecomer.verbs.options import COMMON, SHORT  # noqa: E402

PAGE = ROOT / "docs" / "commands.md"
BEGIN, END = "<!-- options -->\n", "<!-- /options -->\n"


def verbs() -> Iterator[tuple[str, list[Parameter]]]:
    """The name and the options of each verb."""
    for words, verb in COMMANDS.verbs():
        every = parameters(verb)
        yield words, [each for each in every if each.option.names and not each.option.hidden]


def table() -> str:
    """The rows: spellings and words."""
    lines = ["| option | meaning |", "| --- | --- |"]
    for name, words in sorted(COMMON.items()):
        short = f", `{SHORT[name]}`" if name in SHORT else ""
        lines.append(f"| `{name}`{short} | {words} |")
    return "\n".join(lines) + "\n"


def page(text: str) -> str:
    """The page with the table of today."""
    before, _, rest = text.partition(BEGIN)
    return before + BEGIN + table() + END + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
