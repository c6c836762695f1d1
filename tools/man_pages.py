"""Writes a manual page for each verb, from the declarations that also make --help.

Usage: man_pages.py FOLDER VERSION      (latecomer-run.1, latecomer-lab-run.1 and so on)
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

from latecomer.cli import COMMANDS
from latecomer.command.declare import Parameter, Verb, parameters
from latecomer.command.help import row


def pages(version: str) -> dict[str, str]:
    """The text of each page, by name."""
    every = [(f"latecomer {words}", verb) for words, verb in COMMANDS.verbs()]
    return {f"{path.replace(' ', '-')}.1": _page(verb, path, version) for path, verb in every}


def _page(verb: Verb, path: str, version: str) -> str:
    declared = parameters(verb)
    words = [each.option.metavar for each in declared if not each.option.names]
    shown = [each for each in declared if each.option.names and not each.option.hidden]
    first, _, rest = (verb.__doc__ or "").partition("\n")
    lines = [
        f'.TH {path.replace(" ", "-").upper()} 1 "" "latecomer {version}" "latecomer"',
        ".SH NAME",
        _plain(f"{path.replace(' ', '-')} - {first.rstrip('.')}"),
        ".SH SYNOPSIS",
        _plain(" ".join([path, "[OPTIONS]", *words])),
        ".SH DESCRIPTION",
    ]
    for paragraph in textwrap.dedent(rest).strip().split("\n\n"):
        lines += [".PP", _plain(" ".join(paragraph.split()))]
    lines.append(".SH OPTIONS")
    for each in shown:
        lines += _entry(each)
    lines += [".SH SEE ALSO", ".BR latecomer (7)"]
    return "\n".join(lines) + "\n"


def _entry(each: Parameter) -> list[str]:
    names, text = row(each)
    return [".TP", f".B {_plain(names)}", _plain(text)]


def _plain(text: str) -> str:
    """The text without a meaning for roff."""
    safe = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{safe}" if safe.startswith((".", "'")) else safe


def main(folder: Path, version: str) -> None:
    """Write all pages into the folder, which keeps none of verbs that are gone."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.1"):
        old.unlink()
    for name, text in pages(version).items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
