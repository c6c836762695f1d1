"""The words of a command line as the arguments of a verb's function."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..base.spelling import guess
from .declare import HELP, Group, Parameter, UsageError, Verb, options_of, parameters


def dispatch(group: Group, path: str, words: Sequence[str]) -> int:
    """Run the command that the words name. Raises UsageError."""
    try:
        first, *rest = words or [""]
        if first in HELP:
            from .help import group_help

            print(group_help(group, path))
            return 0
        if first not in group.commands:
            raise _unknown(first, group.commands)
    except UsageError as error:
        raise _with_help(error, path) from None
    found = group.commands[first]
    path = f"{path} {first}"
    if isinstance(found, Group):
        return dispatch(found, path, rest)
    return _call(group.verb(first), path, rest)


def _unknown(word: str, known: Iterable[str]) -> UsageError:
    if not word:
        return UsageError("Missing command.")
    kind = "option" if word.startswith("-") else "command"
    return UsageError(f"No such {kind} '{word}'{guess(word, known)}.")


def _call(verb: Verb, path: str, words: Sequence[str]) -> int:
    declared = parameters(verb)
    try:
        values = read(declared, words)
        if values is None:
            from .help import verb_help

            print(verb_help(verb.__doc__ or "", path, declared))
            return 0
        taken = options_of(verb)
        return (verb(taken(**values)) if taken else verb(**values)) or 0
    except UsageError as error:
        raise _with_help(error, path) from None


def _with_help(error: UsageError, path: str) -> UsageError:
    """The error as a sentence, and where the help is."""
    return UsageError(f"{str(error).rstrip('.')}. See '{path} --help'.")


def read(declared: Sequence[Parameter], words: Sequence[str]) -> dict[str, Any] | None:
    """The values of all parameters; None where help is asked for. Raises UsageError."""
    named = {name: each for each in declared for name in each.option.old}
    named |= {name: each for each in declared for name in each.option.names}
    free = [each for each in declared if not each.option.names]
    values: dict[str, Any] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word in {"--", "-"} or not word.startswith("-"):
            taken = [] if word == "--" else [word]
            command = free and free[0].repeated and free[0].type is str and not _is_folder(word)
            if word == "--" or command:  # all that follow belong to it
                taken, rest = taken + rest, []
            for each in taken:
                _take_argument(free, values, each)
        elif word in HELP:
            return None
        else:
            _take_option(named, values, word, rest)
    return _complete(declared, values)


def _is_folder(word: str) -> bool:
    """True of a folder that no program is named as."""
    return Path(word).is_dir() and shutil.which(word) is None


def _take_argument(free: list[Parameter], values: dict[str, Any], word: str) -> None:
    if not free:
        raise UsageError(f"Got unexpected extra argument ({word}).")
    first = free[0]
    if first.repeated:
        values.setdefault(first.key, []).append(first.read(word))
    else:
        values[first.key] = free.pop(0).read(word)


def _take_option(
    named: Mapping[str, Parameter], values: dict[str, Any], word: str, rest: list[str]
) -> None:
    name, equals, value = word.partition("=")
    if not word.startswith("--") and word not in named:  # as in -n4
        name, equals, value = word[:2], word[2:], word[2:].removeprefix("=")
    if name not in named:
        known = [name for each in named.values() for name in each.option.names]
        raise UsageError(f"No such option '{word.partition('=')[0]}'"
                         f"{guess(name, [*known, '--help'])}.")  # fmt: skip
    found = named[name]
    if found.is_flag:
        if equals:
            raise UsageError(f"Option '{name}' takes no value, and has '{value}'.")
        values[found.key] = True
        return
    if not equals:
        if not rest:
            raise UsageError(f"Option '{name}' needs a value.")
        value = rest.pop(0)
    if found.repeated:
        values.setdefault(found.key, []).append(found.read(value))
    else:
        values[found.key] = found.read(value)


def _complete(declared: Sequence[Parameter], values: Mapping[str, Any]) -> dict[str, Any]:
    for each in declared:
        if each.required and each.key not in values:
            kind = "option" if each.option.names else "argument"
            raise UsageError(f"Missing {kind} '{each.name}'.")
    return {each.key: values.get(each.key, each.default) for each in declared}
