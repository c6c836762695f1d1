"""Pickles of strangers, of plain values alone: nothing in them is imported, called or made.

The standard library's own reader does what a pickle says, and takes as much memory as it says. Here
the operations that PyTorch and Python write for plain containers are carried out one by one (the
protocols from 2 on: PEP 307, PEP 3154, PEP 574); any other one is refused.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from itertools import islice
from typing import Any

MOST_OPERATIONS = 1 << 23
MOST_OPEN = 64  # containers that are being filled, one in the other
MOST_BITS = 64  # of an integer
_VALUES = frozenset({
    "BININT", "BININT1", "BININT2", "LONG1", "LONG4", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE",
    "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8",
})  # fmt: skip
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_EMPTY: dict[str, Callable[[], Any]] = {
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_NOTHING = frozenset({"PROTO", "FRAME", "STOP"})
_KEYS = (str, int, float, bytes, type(None))


class PickleError(ValueError):
    """The pickle does what plain values do not need, or is too large."""


def load(raw: bytes) -> tuple[Any, str]:
    """The value, and why the pickle ends early: then the value has what came before; "": whole.

    Raises PickleError.
    """
    made, at, ended = _Made(), 0, ""
    try:
        for code, argument, place in islice(pickletools.genops(raw), MOST_OPERATIONS):
            at = place or 0
            made.carry_out(code.name, argument)
            if code.name == "STOP":
                return made.stack[0], ""
    except PickleError as error:
        raise PickleError(f"byte {at}: {error}") from None
    except (IndexError, KeyError, TypeError, AttributeError):
        raise PickleError(f"byte {at}: an operation without what it needs") from None
    except ValueError as error:  # of the standard library, which found no further operation
        ended = str(error)
    if not ended:
        raise PickleError(f"more than {MOST_OPERATIONS} operations")
    made.close()
    return (made.stack[0] if made.stack else None), ended


class _Made:
    """The values that the operations so far have made."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.marks: list[int] = []  # heights of the stack at which a container begins
        self.memo: dict[int, Any] = {}
        self.others: dict[str, Callable[[Any], None]] = {
            "MARK": self._mark, "APPEND": self._append, "APPENDS": self._append,
            "SETITEM": self._set, "SETITEMS": self._set_all, "TUPLE": self._tuple,
            "BINPUT": self._keep, "LONG_BINPUT": self._keep, "MEMOIZE": self._keep,
            "BINGET": self._get, "LONG_BINGET": self._get,
        }  # fmt: skip

    def carry_out(self, name: str, argument: Any) -> None:
        """Raises PickleError, and the errors of what it lacks."""
        if name in _VALUES:
            if isinstance(argument, int) and argument.bit_length() > MOST_BITS:
                raise PickleError(f"an integer of {argument.bit_length()} bits")
            self.stack.append(argument)
        elif name in _CONSTANTS:
            self.stack.append(_CONSTANTS[name])
        elif name in _EMPTY:
            self.stack.append(_EMPTY[name]())
        elif name in _TUPLES:
            self.stack.append(tuple(self._since(len(self.stack) - _TUPLES[name])))
        elif name in self.others:
            self.others[name](argument if name != "APPEND" else len(self.stack) - 1)
        elif name not in _NOTHING:
            raise PickleError(f"{name}, which plain values do not need")

    def close(self) -> None:
        """Put what was begun into the containers that it is for."""
        while self.marks:
            items = self._since(None)
            if self.stack and isinstance(self.stack[-1], list):
                self.stack[-1].extend(items)
            elif self.stack and isinstance(self.stack[-1], dict):
                self._into(items[: len(items) // 2 * 2])

    def _since(self, at: int | None) -> list[Any]:
        """The values on the stack from there on, or from the last mark, taken off it."""
        at = self.marks.pop() if at is None else at
        items = self.stack[at:]
        del self.stack[at:]
        return items

    def _mark(self, _: Any) -> None:
        if len(self.marks) >= MOST_OPEN:
            raise PickleError(f"more than {MOST_OPEN} containers in each other")
        self.marks.append(len(self.stack))

    def _append(self, at: int | None) -> None:
        items = self._since(at)
        self.stack[-1].extend(items)

    def _set(self, _: Any) -> None:
        self._into(self._since(len(self.stack) - 2))

    def _set_all(self, _: Any) -> None:
        self._into(self._since(None))

    def _into(self, items: list[Any]) -> None:
        into = self.stack[-1]
        if (
            len(items) % 2
            or not isinstance(into, dict)
            or not all(isinstance(key, _KEYS) for key in items[::2])
        ):
            raise PickleError("keys and values that are none of a plain dictionary")
        into.update(zip(items[::2], items[1::2], strict=True))

    def _tuple(self, _: Any) -> None:
        self.stack.append(tuple(self._since(None)))

    def _keep(self, place: int | None) -> None:
        self.memo[len(self.memo) if place is None else place] = self.stack[-1]

    def _get(self, place: int) -> None:
        self.stack.append(self.memo[place])
