"""Arguments that have a new name: the old one still works, with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Result = TypeVar("Result")


def renamed(**old: str) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Let a function take arguments by their old names: `@renamed(arrival="arrivals")`."""

    def decorate(function: Callable[..., Result]) -> Callable[..., Result]:
        @wraps(function)
        def call(*values: Any, **named: Any) -> Result:
            for before, now in old.items():
                if before not in named:
                    continue
                if now in named:
                    raise TypeError(f"{function.__name__}: both {now} and {before}, its old name")
                message = f"{function.__name__}({before}=...) is deprecated; use {now}=..."
                warnings.warn(message, DeprecationWarning, stacklevel=2)
                named[now] = named.pop(before)
            return function(*values, **named)

        return call

    return decorate
