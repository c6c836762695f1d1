"""The texts that `--help` prints."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Sequence

from .declare import Group, Parameter

_WIDEST, _NARROWEST = 100, 20  # columns of a text
_HELP_ROW = ("-h, --help", "Show this message.")
_NAMES = 30  # columns for names, at most


def group_help(group: Group, path: str) -> str:
    """The commands of a group, each with the first sentence of its documentation."""
    sections = group.sections or {"Commands": tuple(group.commands)}
    options = [_HELP_ROW]
    if " " not in path:
        options.insert(0, ("-V, --version", "Print the version."))
    return "\n".join(
        [
            f"Usage: {path} COMMAND ...",
            "",
            f"  {group.summary}",
            *(
                line
                for title, names in sections.items()
                for line in _section(title, [(name, summary(group, name)) for name in names])
            ),
            *_section("Options", options),
        ]
    )


def summary(group: Group, name: str) -> str:
    """The first sentence about a command."""
    found = group.commands[name]
    if isinstance(found, Group):
        return found.summary
    return (group.verb(name).__doc__ or "").partition("\n")[0]


def verb_help(text: str, path: str, declared: Sequence[Parameter]) -> str:
    """The documentation of a verb, its arguments and its options."""
    arguments = [each for each in declared if not each.option.names]
    shown = [each for each in declared if each.option.names and not each.option.hidden]
    usage = " ".join([path, "[OPTIONS]", *(each.option.metavar for each in arguments)])
    return "\n".join(
        [
            f"Usage: {usage}",
            *_paragraphs(text),
            *_section("Arguments", [(each.name, _text(each)) for each in arguments]),
            *_section("Options", [*map(row, shown), _HELP_ROW]),
        ]
    )


def _paragraphs(text: str) -> Iterable[str]:
    first, _, rest = text.partition("\n")
    for paragraph in f"{first}\n{textwrap.dedent(rest)}".strip().split("\n\n"):
        yield ""
        yield textwrap.fill(paragraph, _width(), initial_indent="  ", subsequent_indent="  ")


def row(each: Parameter) -> tuple[str, str]:
    """The spellings of an option, the short one first, and its text."""
    names = ", ".join(sorted(each.option.names, key=lambda name: name.startswith("--")))
    return f"{names} {each.option.metavar}".strip(), _text(each)


def _text(each: Parameter) -> str:
    default = "" if each.default in (None, False, "") else f"default: {each.default}"
    said = [each.range.strip(), "required" if each.required else default]
    if each.repeated and each.option.names:
        said.append("can be repeated")
    more = "; ".join(filter(None, said))
    return f"{each.option.help} [{more}]" if more else each.option.help


def _section(title: str, rows: Sequence[tuple[str, str]]) -> list[str]:
    if not rows:
        return []
    column = 4 + max((len(name) for name, _ in rows if len(name) <= _NAMES), default=_NAMES)
    lines = ["", f"{title}:"]
    for name, text in rows:
        told = textwrap.wrap(text, _width(column), break_on_hyphens=False, break_long_words=False)
        head = [f"  {name:{column - 2}}{told.pop(0)}"] if len(name) <= _NAMES else [f"  {name}"]
        lines += [*head, *(" " * column + line for line in told)]
    return lines


def _width(before: int = 0) -> int:
    """Columns for a text behind others."""
    return max(_NARROWEST, min(_WIDEST, shutil.get_terminal_size().columns) - before)
