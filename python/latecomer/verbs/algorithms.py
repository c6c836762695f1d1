"""`latecomer algorithms`: the registry, in a line for each algorithm, or all about some."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import latecomer

from ..base.spelling import listed
from ..command.declare import argument, bad_value
from .options import Json, option

_WIDEST = 40  # characters of a parameter that must fit on a line
_KINDS = {"native": "library", "protocol": "deciding"}

Names = Annotated[
    str | None,
    argument(
        "[NAME]", "Say all about this one, or these: ring,nodes. Parameters, cost and source."
    ),
]
Collective = Annotated[str | None, option("--collective", "NAME", "The default is all.")]


def algorithms(names: Names = None, collective: Collective = None, as_json: Json = False) -> None:
    """List the algorithms, one a line, or say all about some of them.

    The kind is aware for algorithms that follow the expected arrivals, deciding for those that
    follow the ranks that are there while they run, and together for the others. Costs are of
    messages that start in alpha and need beta a byte, m bytes on P ranks.

    Example: latecomer algorithms --collective allreduce
    """
    from ..base.output import console, print_json

    wanted = names.split(",") if names else []
    rows = [row for row in latecomer.algorithms(collective) if not wanted or row.name in wanted]
    for name in wanted:
        if all(row.name != name for row in rows):
            known = sorted({row.name for row in latecomer.algorithms(collective)})
            raise bad_value("NAME", f"'{name}'; give some of {listed(name, known)}")
    if as_json:
        every = [asdict(row) for row in rows]
        print_json({"version": latecomer.__version__, "algorithms": every})
    elif names:
        print("\n\n".join(_details(row, console().width) for row in rows))
    else:
        print(_list(rows, console().width))


def _list(rows: list[latecomer.Algorithm], width: int) -> str:
    """A line for each, cut at the edge of the terminal."""
    widest = max(len(row.name) for row in rows)
    lines = [f"latecomer {latecomer.__version__}: {len(rows)} algorithms; "
             "latecomer algorithms NAME says all about one"]  # fmt: skip
    shown = None
    for row in rows:
        if row.collective != shown:
            shown = row.collective
            lines += ["", shown]
        lines.append(_cut(f"  {row.name:{widest}}  {_kind(row):8}  {row.cost}", width))
    return "\n".join(lines)


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else f"{line[: width - 3]}..."


def _kind(row: latecomer.Algorithm) -> str:
    return _KINDS.get(row.kind, "aware" if row.arrival_aware else "together")


def _details(row: latecomer.Algorithm, width: int) -> str:
    import textwrap

    facts = {
        "kind": _kind(row),
        "operators": "commutative" if row.commutative_only else "any",
        "scratch": f"at most {row.scratch_messages} times the message",
        "cost": row.cost,
        "source": row.source,
    }
    lines = [f"{row.collective} {row.name}"]
    for name, text in facts.items():
        lines += textwrap.wrap(f"{name}: {text}", width, initial_indent="  ",
                               subsequent_indent="    ")  # fmt: skip
    for each in row.parameters:
        lines += textwrap.wrap(f"{_parameter(each)}: {each.meaning}", width,
                               initial_indent="  ", subsequent_indent="    ")  # fmt: skip
    return "\n".join(lines)


def _parameter(parameter: latecomer.Parameter) -> str:
    values = "|".join(parameter.choices)
    if len(values) > _WIDEST:  # with spaces, at which lines break
        values = " | ".join(parameter.choices)
    return f"{parameter.name}={values}" if values else f"{parameter.name}=N"
