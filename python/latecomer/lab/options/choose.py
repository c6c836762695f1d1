"""The values of options that bench and simulate share, checked."""

from __future__ import annotations

from collections.abc import Sequence

from ...base.guess import listed
from ...base.output import say
from ...core import registry
from ...core.compiled import core
from .arrivals import Pattern
from .choices import LONGEST_S, NO_OPERATOR, OPERATORS, TYPE_BYTES, one_of
from .errors import OptionError

_MOST_COUNT = 2**31 - 1
_DEFAULT_BYTES = 1 << 20
_DEFAULT_DELAY = "50ms"
_BACKGROUND = "progress=background"


def check_progress(progress: str, algorithms: Sequence[str]) -> None:
    """Check that the option goes with the algorithms' own parameters. Raises OptionError."""
    for name in algorithms:
        if progress == "none" and _BACKGROUND in name.split(":"):
            raise OptionError(f"--progress none with {name}", _BACKGROUND, "leave one of them out")


def runs_ahead(progress: str, algorithms: Sequence[str]) -> bool:
    """Tell whether anything is to be received before its receiver arrives."""
    return progress == "thread" or any(_BACKGROUND in name.split(":") for name in algorithms)


def choose_algorithms(collective: str, text: str, op: str) -> list[str]:
    """The algorithms' texts, each checked; `all` stands for those that take the operator."""
    commutes = op == NO_OPERATOR or OPERATORS[op].commutes
    every = [row.name for row in registry.algorithms(collective)]
    chosen: list[str] = []
    for name in (part.strip() for part in text.split(",")):
        chosen += _able(collective, every, commutes) if name == "all" else [name]
    for name in chosen:
        registry.check_choice(collective, name)
        if not core.accepts_operator(collective, name, commutes):
            able = ", ".join(_accepting(collective, every, commutes, without="native"))
            raise OptionError(f"--op does not go with {name}", op, f"use all, or of {able}")
    return list(dict.fromkeys(chosen))


def choose_pattern(arrival: str, late_rank: int | None) -> Pattern:
    """Read the pattern; rank 1 is late by default. Raises OptionError and ArrivalError."""
    if late_rank is None:
        return Pattern(arrival)
    pattern = Pattern(arrival, late_rank)
    if pattern.name != "onelate":
        remedy = "leave it out, or use --arrivals onelate"
        raise OptionError(f"--late-rank has no effect on --arrivals {arrival}", late_rank, remedy)
    return pattern


def _accepting(
    collective: str, names: Sequence[str], commutes: bool, without: str = ""
) -> list[str]:
    return [n for n in names if n != without and core.accepts_operator(collective, n, commutes)]


def _able(collective: str, names: Sequence[str], commutes: bool) -> list[str]:
    able = _accepting(collective, names, commutes)
    if left_out := [name for name in names if name not in able]:
        say(f"left out, since they need a commutative operator: {', '.join(left_out)}")
    return able


def choose_count(size: str | None, count: str | None, type_: str, op: str) -> int:
    """Numbers in the vector, from either option. Raises OptionError."""
    if size and count:
        raise OptionError("--bytes and --count both given", f"{size}, {count}", "give one of them")
    each = TYPE_BYTES[type_]
    whole = core.parse_bytes("--bytes", size) if size else _DEFAULT_BYTES
    if not count and whole % each:
        raise OptionError(f"--bytes holds no whole number of {type_}", size, f"use {each} x N")
    number = core.parse_count("--count", count) if count else whole // each
    if size and not 1 <= number <= _MOST_COUNT:
        remedy = f"use {each} to {each * _MOST_COUNT} bytes"
        raise OptionError("--bytes out of range", size, remedy)
    if not 1 <= number <= _MOST_COUNT:
        raise OptionError("count out of range", number, f"use 1 to {_MOST_COUNT} numbers")
    each = 1 if op == NO_OPERATOR else OPERATORS[op].numbers
    if number % each:
        raise OptionError(f"{op} works on {each} numbers at once", number, f"use {each} x N")
    return number


def choose_operator(collective: str, op: str | None) -> str:
    """The operator, or that there is none. Raises OptionError, ValueError for no collective."""
    if collective not in (known := registry.collectives()):
        raise OptionError("no such --collective", collective, f"use {listed(collective, known)}")
    if known[collective].combines:
        return one_of("--op", op or "sum", OPERATORS)
    if op is not None:
        raise OptionError(f"--op with {collective}", op, "leave it out: it combines nothing")
    return NO_OPERATOR


def choose_root(collective: str, root: int | None) -> int:
    """Raises OptionError."""
    if root is not None and not registry.collectives()[collective].rooted:
        raise OptionError(f"--root with {collective}", root, "leave it out: it has none")
    return root or 0


def read_seconds(option: str, text: str) -> float:
    """A time that may be measured or simulated. Raises OptionError and ValueError."""
    value = core.parse_seconds(option, text)
    if value > LONGEST_S:
        raise OptionError(f"{option} out of range", text, f"use times up to {LONGEST_S}s")
    return value


def choose_delays(text: str | None, pattern: Pattern) -> list[float]:
    """Seconds; none for arrivals from a file. Raises OptionError."""
    if pattern.recorded:
        if text is not None:
            raise OptionError("--delay given", text, "leave it out: the file says how late")
        return []
    default = "0" if pattern.name == "balanced" else _DEFAULT_DELAY
    parts = (text or default).split(",")
    delays = list(dict.fromkeys(read_seconds("--delay", part.strip()) for part in parts))
    if pattern.name == "balanced" and any(delays):
        raise OptionError("--delay given", text, "leave it out, or use --arrivals onelate")
    return delays
