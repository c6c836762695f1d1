"""`latecomer algorithms`: the registry."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import latecomer

from .options import Json, option

if TYPE_CHECKING:
    from rich.table import Table

_HEADINGS = ("collective", "arrival-aware", "operators", "parameters", "cost", "source")
_TABLE_WIDTH = 140  # columns of a terminal below which the table would be torn

Collective = Annotated[
    str | None,
    option("--collective", "NAME", "List algorithms of allreduce, allgather, reduce, bcast, gather "
           "or scatter. The default is all."),
]  # fmt: skip

_WIDEST = 40  # characters of a parameter that must fit on a line


def algorithms(collective: Collective = None, as_json: Json = False) -> None:
    """List the algorithms, with their needs, costs and sources.

    Example: latecomer algorithms --collective allreduce
    """
    from ..base.output import console, print_json

    rows = latecomer.algorithms(collective)
    if as_json:
        listed = [asdict(row) for row in rows]
        print_json({"version": latecomer.__version__, "algorithms": listed})
    else:
        out = console()
        out.print(_table(rows) if out.width >= _TABLE_WIDTH else _list(rows))


def _list(rows: list[latecomer.Algorithm]) -> str:
    """The list of algorithms for narrow terminals."""
    return f"{_title()}\n\n" + "\n\n".join(
        f"[bold]{row.name}[/]\n" + "\n".join(map("  {}: {}".format, _HEADINGS, _cells(row)[1:]))
        for row in rows
    )


def _table(rows: list[latecomer.Algorithm]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(title=_title(), box=box.SIMPLE_HEAD, title_justify="left")
    table.add_column("name", no_wrap=True)
    for heading in _HEADINGS:
        table.add_column(heading)
    for row in rows:
        table.add_row(*_cells(row))
    return table


def _title() -> str:
    return f"latecomer {latecomer.__version__}: algorithms"


def _cells(row: latecomer.Algorithm) -> tuple[str, ...]:
    operators = "commutative" if row.commutative_only else "any"
    parameters = ", ".join(map(_parameter, row.parameters)) or "none"
    aware = "yes" if row.arrival_aware else "no"
    return row.name, row.collective, aware, operators, parameters, row.cost, row.source


def _parameter(parameter: latecomer.Parameter) -> str:
    values = "|".join(parameter.choices)
    if len(values) > _WIDEST:  # with spaces, at which lines break
        values = " | ".join(parameter.choices)
    return f"{parameter.name}={values}" if values else parameter.name
