"""Texts of files and programs, as they can be shown on a terminal."""

from __future__ import annotations

import re

# Halves of characters, which JSON can name alone: no file and no terminal takes them.
HALVES = dict.fromkeys(range(0xD800, 0xE000), "\N{REPLACEMENT CHARACTER}")
# Texts of a trace are a program's. Control characters act on a terminal; those that format a text
# turn its direction or are not seen, so that it shows something else: Unicode's Cc, Cf, Zl and Zp.
_FORMATS = (
    (0xAD, 0xAD), (0x600, 0x605), (0x61C, 0x61C), (0x6DD, 0x6DD), (0x70F, 0x70F), (0x890, 0x891),
    (0x8E2, 0x8E2), (0x180E, 0x180E), (0x200B, 0x200F), (0x2028, 0x202E), (0x2060, 0x206F),
    (0xFEFF, 0xFEFF), (0xFFF9, 0xFFFB), (0x110BD, 0x110BD), (0x110CD, 0x110CD), (0x13430, 0x1343F),
    (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE007F),
)  # fmt: skip
CONTROL = HALVES | dict.fromkeys(
    [*range(32), *range(127, 160),
     *(each for first, last in _FORMATS for each in range(first, last + 1))],
    "\N{REPLACEMENT CHARACTER}",
)  # fmt: skip
_EXECUTED = re.compile("'*[=+@-]")


def csv_cell(text: str) -> str:
    """A text in a table's cell: spreadsheets execute cells that begin with = + - @.

    These get a quote before, as do texts that look as if they had one: `of_csv_cell` takes it off.
    """
    text = plain(text)
    return f"'{text}" if _EXECUTED.match(text) else text


def of_csv_cell(cell: str) -> str:
    """The text of which `csv_cell` made the cell."""
    return cell[1:] if cell.startswith("'") and _EXECUTED.match(cell) else cell


def plain(text: str) -> str:
    """Without control characters: names come from programs, and may act on a terminal."""
    return text.translate(CONTROL)
