"""The C headers as pages: what their comments say, with each declaration below its heading."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_COMMENT = re.compile(r"^/\*(.*?)\*/\n?", re.DOTALL | re.MULTILINE)
_SECTION = re.compile(r"-{4} (.*?) -{4}\n?(.*)", re.DOTALL)
_PREPROCESSOR = re.compile(r'^(#(?!define LATECOMER_[A-Z]+_?[A-Z]* ).*|extern "C" \{|\})\n',
                           re.MULTILINE)  # fmt: skip
_IDENTIFIER = re.compile(
    r"(?<![\w`/<])((?:latecomer_|MPI_)\w+(?:\(\))?|LATECOMER_[A-Z_]+(?:=\w+|\*)?)(?![\w`]|\.\w)"
)


def header_page(path: Path) -> str:
    """The Markdown of one header's page."""
    text = path.read_text(encoding="utf-8")
    first = _COMMENT.search(text)
    if first is None:
        raise ValueError(f"{path} begins with no comment")
    title, _, rest = _plain(first[1]).partition("\n")
    name, _, summary = title.partition(": ")
    lines = [f"# {name}", "", f"{summary[:1].upper()}{summary[1:]}", *_markdown(rest)]
    for comment, code in _parts(text[first.end() :]):
        lines += _entry(comment, code)
    return "\n".join(lines) + "\n"


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """Each comment at the begin of a line, with the code up to the next one."""
    found = list(_COMMENT.finditer(text))
    for at, match in enumerate(found):
        end = found[at + 1].start() if at + 1 < len(found) else len(text)
        code = _PREPROCESSOR.sub("", text[match.end() : end])
        yield _plain(match[1]), code.replace("LATECOMER_API ", "").strip("\n")


def _entry(comment: str, code: str) -> list[str]:
    section = _SECTION.match(comment)
    if section:
        words = section[1].partition(": ")
        lines = ["", f"## {words[0]}", *([""] if words[2] else []), *filter(None, [words[2]])]
        comment = section[2]
        lines += _markdown(comment)
        comment = ""
    else:
        lines = []
    if not code.strip():
        return lines + _markdown(comment)
    names = [name for name in _names(code) if name]
    heading = ["", f"### {', '.join(f'`{name}`' for name in names)}"] if names else []
    return [*lines, *heading, "", "```c", code, "```", *_markdown(comment)]


def _names(code: str) -> list[str]:
    found = re.findall(r"^(?:[\w* ]*?[ *])?(latecomer_\w+)\(", code, re.MULTILINE)
    types = re.findall(r"^(?:\} (\w+)|typedef struct \w+\* (\w+));", code, re.MULTILINE)
    return [*(a or b for a, b in types), *found]


def _plain(comment: str) -> str:
    """The text of a comment without the stars at the begin of its lines."""
    return "\n".join(re.sub(r"^ \*( |$)", "", line) for line in comment.splitlines()).strip()


def _markdown(text: str) -> list[str]:
    """Lines of a comment as Markdown: code of a fence, lists after an empty line."""
    lines: list[str] = [""]
    code = item = False
    for line in text.strip("\n").splitlines():
        is_code = (line.startswith("    ") and not item) or (code and not line.strip())
        if is_code != code:
            lines += ["", "```c"] if is_code else ["```", ""]
            code = is_code
        if code:
            lines.append(line.removeprefix("    "))
            continue
        starts = re.match(r"(- |\d+\. )", line)
        if starts and not item:
            lines.append("")
        item = bool(starts) or (item and bool(line.strip()))
        lines.append(_IDENTIFIER.sub(r"`\1`", line if starts else line.strip() if item else line))
    return [*lines, "```"] if code else lines
