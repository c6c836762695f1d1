"""`latecomer tune`: measure which algorithms beat the MPI library's own, and write rules of it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..base.invocation import command_line
from ..base.limits import MOST_ITERATIONS
from ..base.output import print_json, say
from ..base.spelling import counted
from ..base.units import span
from ..command.declare import UsageError, argument, bad_value
from ..lab.options import choices
from ..lab.options.choices import one_of
from .options import Arrivals, Compute, Estimate, Json, Seed, Where, nodes_for, option

if TYPE_CHECKING:
    from ..lab.bench.places import Place
    from ..lab.tune.cells import Grid
    from ..lab.tune.journal import Journal


@dataclass(frozen=True, kw_only=True)
class Options(Where):
    """The options of tune."""

    launcher: Annotated[list[str] | None, argument(
        "[LAUNCHER...]", "Measure in the job at hand, whose ranks this launcher starts, as in srun "
        "--mpi=pmix -n 8."
    )] = None  # fmt: skip
    output: Annotated[Path, option(
        "--output", "FILE", "The journal is in FILE.journal. The default is rules.json."
    )] = Path("rules.json")  # fmt: skip
    collectives: Annotated[
        str, option("--collective", "LIST", "Several: allreduce,bcast or all.")
    ] = "allreduce"
    bytes: Annotated[str, option("--bytes", "LIST", "Several: 64KiB,1MiB or 64KiB-4MiB:x4.")] = (
        "64KiB-4MiB:x8"
    )
    imbalances: Annotated[str, option(
        "--imbalance", "LIST", "Delay late ranks by these multiples of the time that the message "
        "needs between two ranks."
    )] = "0,1,4"  # fmt: skip
    algorithms: Annotated[str | None, option(
        "--algorithms", "LIST", "Or all. The default is those that arrivals change, and "
        "fastest."
    )] = None  # fmt: skip
    arrivals: Arrivals = "onelate"
    estimate: Estimate = "online"
    iterations: Annotated[int, option("--iterations", "N", "", min=4, max=MOST_ITERATIONS)] = 16
    warmup: Annotated[int, option(
        "--warmup", "N", "Run so many iterations first without recording them.",
        min=0, max=MOST_ITERATIONS
    )] = 8  # fmt: skip
    compute: Compute = "20ms"
    seed: Seed = 1
    json: Json = False

    def grid(self) -> Grid:
        """The cells to measure, checked. Raises UsageError, OptionError and ValueError."""
        from ..core import registry
        from ..core.compiled import core
        from ..lab.options.choices import parse_numbers
        from ..lab.options.choose import read_seconds
        from ..lab.tune.cells import Grid

        every = list(registry.collectives())
        named = every if self.collectives == "all" else self.collectives.split(",")
        found = Grid(
            collectives=[one_of("--collective", name, every) for name in named],
            sizes=parse_numbers("--bytes", self.bytes, core.parse_bytes, True),
            imbalances=_factors(self.imbalances),
            algorithms=self.algorithms,
            arrival=self.arrivals,
            estimate=one_of("--estimate", self.estimate, choices.ESTIMATES),
            iterations=self.iterations,
            warmup=self.warmup,
            compute=read_seconds("--compute", self.compute),
            seed=self.seed,
        )
        for size in found.sizes:
            if size < 4 or size % 4:
                raise bad_value("--bytes", f"{size}; give multiples of 4 bytes")
        if self.arrivals not in ("onelate", "randlate", "gamma", "gaussian"):
            names = "onelate, randlate, gamma or gaussian"
            raise bad_value("--arrivals", f"'{self.arrivals}'; use {names}")
        for name in found.collectives:
            found.algorithms_of(name)  # refused before anything is measured
        return found


def tune(asked: Options) -> int:
    """Measure algorithms over sizes and arrivals, and write rules for those that beat the library.

    A cell is a collective at one size. Its algorithms take turns; the best are measured once more,
    and a rule is written if its quartiles and those of the library's own collective do not overlap.
    Each finished cell is kept in a journal: the same command goes on after an interruption.

    Use the file by LATECOMER_RULES=FILE, or latecomer run --rules FILE.

    Example: latecomer tune --nodes 4 --bytes 256KiB,1MiB --output rules.json
    """
    from ..lab.bench.places import place_of
    from ..lab.tune.journal import Journal
    from ..lab.tune.write import rules_of, write

    grid, output = asked.grid(), asked.output
    nodes = nodes_for(asked.ranks, asked.nodes, asked.per_node)
    where, spread = place_of(
        asked.place, nodes, asked.rate, asked.per_node, asked.mpi, asked.network,
        asked.launcher or [],
    )  # fmt: skip
    journal = Journal(output.with_name(f"{output.name}.journal"), _settings(where, grid))
    _measure(grid, where, journal, asked.deadline)
    cells = {(cell.collective, cell.bytes): journal.cells[cell.name] for cell in grid.cells()}
    comment = f"{where.name}, {command_line()}"
    one_late = grid.arrival == "onelate"
    content = rules_of(cells, where.ranks, spread, where.costs, one_late, comment)
    write(content, output)
    _tell(content, output, asked.json)
    return 0


def _settings(place: Place, grid: Grid) -> dict[str, Any]:
    """The settings that results depend on, with the MPI library and this version."""
    from .. import __version__
    from ..launch import mpi, program

    library = mpi.family_of(str(place.program))
    return {
        "place": place.name, "costs": place.costs, "ranks": place.ranks,
        "mpi": library.describe() if library else program.family_of(place.program),
        "version": __version__, **grid.facts(),
    }  # fmt: skip


def _measure(grid: Grid, place: Place, journal: Journal, deadline: float | None) -> None:
    from ..lab.tune import cells as tuning

    cells = grid.cells()
    if journal.cells:
        say(f"{len(journal.cells)} of {len(cells)} cells are in {journal.path} already")
    begin, left = time.monotonic(), [cell for cell in cells if cell.name not in journal.cells]
    for number, cell in enumerate(left):
        rest_s = (time.monotonic() - begin) / max(number, 1) * (len(left) - number)
        rest = f", about {span(rest_s)} left" if number else ""
        say(f"cell {cells.index(cell) + 1} of {len(cells)}: {cell.name}{rest}")
        found = tuning.measure(grid, cell, place, deadline)
        journal.add(cell.name, [vars(each) for each in found])


def _tell(content: dict[str, Any], output: Path, as_json: bool) -> None:
    entries = [entry for each in content["collectives"].values() for entry in each]
    count = sum(len(entry["rules"]) for entry in entries)
    if as_json:
        print_json({"file": str(output), "rules": count, "content": content})
    elif count:
        print(f"{output}: {counted(count, 'rule')}; latecomer rules explain {output} lists them")
    else:
        print(f"{output}: no rules, since nothing beat the MPI library beyond the noise")


def _factors(text: str) -> list[float]:
    try:
        found = sorted({float(part) for part in text.split(",")})
    except ValueError:
        found = [-1.0]
    if not all(0 <= factor <= 1e6 for factor in found):
        raise UsageError(f"--imbalance '{text}'; give numbers from 0 up, as in 0,1,4")
    return found
