"""Declares the options of a verb: `Annotated[int, option("--nodes", "N", "Number of nodes.")]`.

They are the parameters of the verb's function, or the fields of the one dataclass that it takes: so
verbs share options by inheritance.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from importlib import import_module
from inspect import get_annotations
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

HELP = ("--help", "-h")  # of every command
Value = str | int | float | Path | bool

_TIME = re.compile(r"([^A-Za-z]+(?:[eE][+-]?\d+)?)(ms|s|min|m|h)?")
_UNITS = {None: 1.0, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_LEAST_S, _MOST_S = 0.1, 1e7


class Seconds(float):
    """The type of options that are a time of a job: seconds, or a number with its unit."""


class UsageError(Exception):
    """A command line that is not understood; the command adds where its help is."""


def bad_value(option: str, text: str) -> UsageError:
    """The error for an option's value; the text names the value and a right one."""
    return UsageError(f"Invalid value for {option}: {text}.")


@dataclass(frozen=True)
class Option:
    """The declaration of one option, or of an argument that has no name."""

    names: tuple[str, ...]  # spellings, as in ("--ranks", "-n"); empty: an argument
    metavar: str  # of the value; "": a flag
    help: str
    min: float | None = None
    max: float | None = None
    hidden: bool = False  # accepted, and left out of the help
    old: tuple[str, ...] = ()  # spellings of earlier versions, which are accepted


def option(
    name: str,
    metavar: str,
    help: str,  # noqa: A002 - the field's name
    also: str = "",
    min: float | None = None,  # noqa: A002
    max: float | None = None,  # noqa: A002
    hidden: bool = False,
    old: tuple[str, ...] = (),
) -> Option:
    """An option with a value; `also` is a second spelling, and `old` are those no longer shown."""
    names = (name, also) if also else (name,)
    return Option(names, metavar, help, min, max, hidden, old)


def flag(name: str, help: str) -> Option:  # noqa: A002
    """An option without a value."""
    return Option((name,), "", help)


def argument(metavar: str, help: str) -> Option:  # noqa: A002
    """A word without a name."""
    return Option((), metavar, help)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a verb's function: an option or an argument, its type and its default."""

    key: str
    option: Option
    type: type
    repeated: bool
    default: Any

    @property
    def name(self) -> str:
        """The name of the option in errors."""
        return self.option.names[0] if self.option.names else self.option.metavar

    @property
    def required(self) -> bool:
        return self.default is MISSING

    @property
    def is_flag(self) -> bool:
        return self.type is bool

    def read(self, text: str) -> Value:
        """The value of a text. Raises UsageError."""
        if self.type is Path and not text:
            raise bad_value(self.name, "''; give a path")
        if self.type is Path and text == "-":
            raise bad_value(self.name, "'-', which is no file: standard input and output are not "
                            "for it; name a file, or give ./-")  # fmt: skip
        if self.type is Seconds:
            return self._read_seconds(text)
        if self.type not in (int, float):
            value: Value = self.type(text)
            return value
        try:
            value = self.type(text)
        except ValueError:
            kind = "whole number" if self.type is int else "number"
            raise bad_value(self.name, f"'{text}'; give a {kind}{self.range}") from None
        if not self._in_range(value):
            raise bad_value(self.name, f"{text}; give a number{self.range}")
        return value

    def _read_seconds(self, text: str) -> float:
        found = _TIME.fullmatch(text)
        try:
            value = float(found[1]) * _UNITS[found[2]] if found else 0.0
        except ValueError:
            value = 0.0
        if not _LEAST_S <= value <= _MOST_S:
            right = f"seconds or a time with its unit, from {_LEAST_S} s to {_MOST_S:.0f} s"
            raise bad_value(self.name, f"'{text}'; give {right}, as in 90, 1.5s, 10m or 2h")
        return value

    def _in_range(self, value: float) -> bool:
        least, most = self.option.min, self.option.max
        # A comparison with NaN is false: so it is in no range.
        return (least is None or value >= least) and (most is None or value <= most)

    @property
    def range(self) -> str:
        """The least and the greatest value, as in ` from 1 to 200`."""
        least, most = self.option.min, self.option.max
        low = "" if least is None else f" from {least}"
        high = (" up" if low else "") if most is None else f" {'to' if low else 'up to'} {most}"
        return low + high


def parameters(verb: Callable[..., Any]) -> list[Parameter]:
    """The parameters of a verb, in order."""
    if taken := options_of(verb):
        hints = get_type_hints(taken, include_extras=True)
        return [_parameter(each.name, hints[each.name], each.default) for each in fields(taken)]
    # typing's get_type_hints makes what may be None optional once more, before Python 3.11.
    hints = get_annotations(verb, eval_str=True)
    names = verb.__code__.co_varnames[: verb.__code__.co_argcount]
    defaults = verb.__defaults__ or ()
    given = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
    return [_parameter(name, hints[name], given.get(name, MISSING)) for name in names]


def options_of(verb: Callable[..., Any]) -> type | None:
    """The dataclass of a verb's options, where it takes one."""
    hints = get_type_hints(verb)
    hints.pop("return", None)
    kinds = (hint for hint in hints.values() if isinstance(hint, type) and is_dataclass(hint))
    return next(kinds, None)


def words_of(asked: Any) -> list[str]:
    """The words of a command line that these options stand for."""
    words: list[str] = []
    hints = get_type_hints(type(asked), include_extras=True)
    for each in fields(asked):
        value, name = getattr(asked, each.name), _parameter(each.name, hints[each.name], None).name
        if value is True:
            words.append(name)
        elif name.startswith("--") and value not in (None, False):
            words += [f"{name}={one}" for one in (value if isinstance(value, list) else [value])]
        elif value:
            words.append(str(value))
    return words


def _parameter(key: str, hint: Any, default: Any) -> Parameter:
    assert get_origin(hint) is Annotated, key  # noqa: S101 - a verb that is written wrongly
    kind, declared, *_ = get_args(hint)
    plain = next((each for each in get_args(kind) if each is not type(None)), kind)
    if get_origin(kind) is list:
        plain = kind
    if get_origin(plain) is list:
        return Parameter(key, declared, get_args(plain)[0], True, default)
    return Parameter(key, declared, plain, False, default)


Verb = Callable[..., int | None]  # returns the exit code; None: 0


@dataclass(frozen=True)
class Group:
    """Commands by name: where a verb's function is, as in "latecomer.verbs.show:show", or more."""

    summary: str
    commands: Mapping[str, str | Group]
    sections: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of the help, if any

    def verb(self, name: str) -> Verb:
        """The function of a command that is no group, loaded now."""
        module, _, function = str(self.commands[name]).partition(":")
        found: Verb = getattr(import_module(module), function)
        return found

    def verbs(self) -> Iterator[tuple[str, Verb]]:
        """The words of each verb, as in "lab run", and its function, loaded now."""
        for name, found in self.commands.items():
            if isinstance(found, Group):
                yield from ((f"{name} {words}", verb) for words, verb in found.verbs())
            else:
                yield name, self.verb(name)
