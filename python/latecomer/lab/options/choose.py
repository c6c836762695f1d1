"""The question that bench, simulate and tune share, from their options, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...base.output import say
from ...base.spelling import listed
from ...core import registry
from ...core.compiled import core
from .arrivals import Pattern
from .choices import (
    ESTIMATES,
    LONGEST_S,
    NO_OPERATOR,
    OPERATORS,
    PROGRESS,
    TYPE_BYTES,
    Operator,
    OptionError,
    one_of,
)

_MOST_COUNT = 2**31 - 1
_DEFAULT_BYTES = 1 << 20
_DEFAULT_DELAY = "50ms"
_BACKGROUND = "progress=background"


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question about algorithms, wherever they run; times in seconds. Raises OptionError."""

    collective: str
    algorithms: list[str]  # of the registry with parameters, or models of a library's choice
    type: str
    op: str
    pattern: Pattern
    delays: list[float]
    iterations: int
    seed: int
    estimate: str
    progress: str = "as-configured"
    root: int = 0

    def __post_init__(self) -> None:
        for name in self.algorithms:
            if self.progress == "none" and _BACKGROUND in name.split(":"):
                remedy = "leave one of them out"
                raise OptionError(f"--progress none with {name}", _BACKGROUND, remedy)

    @property
    def background(self) -> bool:
        """Tell whether anything is to be received before its receiver arrives."""
        told = any(_BACKGROUND in name.split(":") for name in self.algorithms)
        return self.progress == "thread" or told

    @property
    def operator(self) -> Operator:
        """The operator; of collectives that combine nothing, one that makes no difference."""
        return OPERATORS.get(self.op, Operator())

    @property
    def arrival(self) -> str:
        return self.pattern.name

    def check_root(self, ranks: int) -> None:
        """Raises OptionError for a root that is none of so many ranks."""
        if self.root >= ranks:
            raise OptionError("--root out of range", self.root, f"use 0 to {ranks - 1}")


def question(asked: Any) -> dict[str, Any]:
    """The fields of a Question but the algorithms, from a command line's options: strings, or None.

    Raises OptionError, ArrivalError, and ValueError for no collective.
    """
    pattern = choose_pattern(asked.arrivals, asked.late_rank)
    return {
        "collective": asked.collective,
        "op": choose_operator(asked.collective, asked.op),
        "root": choose_root(asked.collective, asked.root),
        "type": one_of("--type", asked.type, list(TYPE_BYTES)),
        "pattern": pattern,
        "delays": choose_delays(asked.delay, pattern),
        "iterations": asked.iterations,
        "seed": asked.seed,
        "estimate": one_of("--estimate", asked.estimate, ESTIMATES),
        "progress": one_of("--progress", asked.progress, PROGRESS),
    }


def choose_algorithms(collective: str, text: str, op: str) -> list[str]:
    """The algorithms' texts, each checked; `all` stands for those that take the operator."""
    commutes = OPERATORS.get(op, Operator()).commutes
    every = [row.name for row in registry.algorithms(collective)]
    able = [name for name in every if core.accepts_operator(collective, name, commutes)]
    chosen: list[str] = []
    for name in (part.strip() for part in text.split(",")):
        chosen += able if name == "all" else [name]
        if name == "all" and (out := [name for name in every if name not in able]):
            say(f"left out, since they need a commutative operator: {', '.join(out)}")
    for name in chosen:
        registry.check_choice(collective, name)
        if not core.accepts_operator(collective, name, commutes):
            names = ", ".join(name for name in able if name != "native")
            raise OptionError(f"--op does not go with {name}", op, f"use all, or of {names}")
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
    each = OPERATORS.get(op, Operator()).numbers
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


def choose_placement(ranks: int, per_node: int | None, placement: str | None) -> tuple[int, ...]:
    """The node of each rank; empty: each has its own. Raises OptionError and ValueError."""
    if placement is None:
        return tuple(core.consecutive_placement(ranks, per_node or 1))
    if per_node is not None:
        what = f"--per-node {per_node} with --placement"
        raise OptionError(what, placement, "leave one of them out")
    return tuple(core.parse_placement(placement, ranks))
