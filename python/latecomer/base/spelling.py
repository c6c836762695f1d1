"""The word that a mistyped one probably means, and words for numbers of things."""

from __future__ import annotations

from collections.abc import Iterable


def guess(word: str, known: Iterable[str]) -> str:
    """As in `; did you mean ring`; "" if nothing is close."""
    import difflib  # takes a while to load

    close = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]}" if close else ""


def listed(word: str, known: Iterable[str]) -> str:
    """The words to choose from, for an error, and the one that this word probably means."""
    every = list(known)
    return f"{', '.join(every)}{guess(word, every)}"


def counted(number: int, thing: str) -> str:
    """As in `1 rule` or `2 rules`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
