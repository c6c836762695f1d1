"""HTML pages: one builder for all of them, with their frame, style sheet, tables and safety.

A page is one file that loads nothing, for light and dark, phones, wide screens and paper. Texts are
escaped and have no control characters; data are JSON that cannot end the element that holds it;
only the page's own script runs, which its policy names by a hash.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined, TemplateNotFound
from markupsafe import Markup, escape

from ..printable import plain


@dataclass(frozen=True)
class Cell:
    """A cell of a table that is more than its text."""

    text: str
    kind: str = ""  # a class of the style sheet
    title: str = ""  # shown where the pointer rests
    across: int = 1  # columns


@dataclass(frozen=True)
class Row:
    """A row of a table, as the macro `table` of parts.html takes it."""

    heads: Sequence[str]  # of the row
    cells: Sequence[str | Cell]
    note: str = ""  # beside the last head
    kind: str = ""  # classes of the style sheet
    bar: Sequence[tuple[str, float]] = ()  # colours, and widths as parts of 1: a last cell
    pick: Mapping[str, int] = field(default_factory=dict)  # what the page's script selects by it


def page(package: str, scripts: Sequence[str] = (), **parts: Any) -> str:
    """The template page.html of a package, filled in, with its page.css if it has one.

    `scripts` are files of the package or of this one, which run as one function. They find the part
    `data` as JSON in the element with this id. Without scripts nothing runs.
    """

    def source(name: str) -> str:
        for folder in (files(package), files(__package__)):
            if (file := folder / name).is_file():
                return file.read_text(encoding="utf-8")
        raise TemplateNotFound(name)

    environment = Environment(
        loader=FunctionLoader(source), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=_shown,
    )  # fmt: skip
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    environment.filters |= {"breakable": _breakable, "glued": _glued}
    script = "".join(map(source, scripts))
    if script:
        script = f'"use strict";\n(() => {{\n{script}}})();\n'
    style = source("style.css")
    if (files(package) / "page.css").is_file():
        style += source("page.css")
    return environment.get_template("page.html").render(
        style=Markup(style), script=Markup(script), policy=_policy(script), **parts
    )


def _policy(script: str) -> str:
    """Nothing is loaded from anywhere, and only this script runs."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    if script:
        policy += f"; script-src 'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"
    return policy


def _shown(value: object) -> object:
    """Names come from programs: without control characters."""
    return plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _breakable(name: str) -> Markup:
    """May be broken after each part of a name."""
    return Markup(escape(plain(name)).replace("_", Markup("_<wbr>")))


def _glued(words: str) -> Markup:
    """Numbers stay with their units."""
    text = str(escape(plain(words)))
    return Markup(re.sub(r"(?<=\d) (?=(%|s|ms|µs|ns|[KM]?i?B)\b|%)", "&nbsp;", text))


def told(values: Mapping[str, object] | Iterable[tuple[str, object]]) -> list[tuple[str, str]]:
    """Names and values for people, as the macro `definitions` takes them."""
    pairs = values.items() if isinstance(values, Mapping) else values
    return [(str(name).replace("_", " "), _words(value)) for name, value in pairs]


def _words(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
