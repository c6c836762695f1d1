"""The texts that `--help` prints."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Sequence

from .declare import Group, Parameter

_WIDEST = 100
_NAMES = 30  # columns for names, at most


def group_help(group: Group, path: str) -> str:
    """The commands of a group, each with the first sentence of its documentation."""
    rows = [(name, _summary(group, name)) for name in group.commands]
    options = [("--help", "Show this message.")]
    if " " not in path:
        options.insert(0, ("--version", "Print the version."))
    return "\n".join(
        [
            f"Usage: {path} COMMAND ...",
            "",
            f"  {group.summary}",
            *_section("Commands", rows),
            *_section("Options", options),
        ]
    )


def _summary(group: Group, name: str) -> str:
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
            *_section("Options", [*map(_row, shown), ("--help", "Show this message.")]),
        ]
    )


def _paragraphs(text: str) -> Iterable[str]:
    first, _, rest = text.partition("\n")
    for paragraph in f"{first}\n{textwrap.dedent(rest)}".strip().split("\n\n"):
        yield ""
        yield textwrap.fill(paragraph, _width(), initial_indent="  ", subsequent_indent="  ")


def _row(each: Parameter) -> tuple[str, str]:
    return f"{', '.join(each.option.names)} {each.option.metavar}".strip(), _text(each)


def _text(each: Parameter) -> str:
    said = [each.range.strip(), "required" if each.required else _default(each)]
    if each.repeated and each.option.names:
        said.append("can be repeated")
    more = "; ".join(filter(None, said))
    return f"{each.option.help} [{more}]" if more else each.option.help


def _default(each: Parameter) -> str:
    return "" if each.default in (None, False, "") else f"default: {each.default}"


def _section(title: str, rows: Sequence[tuple[str, str]]) -> list[str]:
    if not rows:
        return []
    column = 4 + max((len(name) for name, _ in rows if len(name) <= _NAMES), default=_NAMES)
    lines = ["", f"{title}:"]
    for name, text in rows:
        told = textwrap.wrap(
            text, _width() - column, break_on_hyphens=False, break_long_words=False
        )
        head = [f"  {name:{column - 2}}{told.pop(0)}"] if len(name) <= _NAMES else [f"  {name}"]
        lines += [*head, *(" " * column + line for line in told)]
    return lines


def _width() -> int:
    return min(_WIDEST, shutil.get_terminal_size().columns)
