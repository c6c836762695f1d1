"""`latecomer algorithms`: the registry."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich import box
from rich.table import Table

import latecomer

from .output import console, print_json

Collective = Annotated[
    str | None,
    typer.Option("--collective", metavar="C", help="Only those of this collective: allreduce."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def algorithms(collective: Collective = None, as_json: Json = False) -> None:
    """List all algorithms: what they need, what they cost and where they come from.

    Example: latecomer algorithms --collective allreduce
    """
    rows = latecomer.algorithms(collective)
    if as_json:
        listed = [asdict(row) for row in rows]
        print_json({"version": latecomer.__version__, "algorithms": listed})
    else:
        console().print(_table(rows))


def _table(rows: list[latecomer.Algorithm]) -> Table:
    title = f"latecomer {latecomer.__version__}: algorithms"
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left")
    table.add_column("name", no_wrap=True)
    for heading in ("collective", "arrival-\naware", "operators", "parameters", "cost", "source"):
        table.add_column(heading)
    for row in rows:
        table.add_row(*_cells(row))
    return table


def _cells(row: latecomer.Algorithm) -> tuple[str, ...]:
    operators = "commutative" if row.commutative_only else "any"
    parameters = ", ".join(map(_parameter, row.parameters))
    aware = "yes" if row.arrival_aware else "no"
    return row.name, row.collective, aware, operators, parameters, row.cost, row.source


def _parameter(parameter: latecomer.Parameter) -> str:
    values = "|".join(parameter.choices)
    return f"{parameter.name}={values}" if values else parameter.name
