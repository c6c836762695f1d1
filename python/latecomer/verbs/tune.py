"""`latecomer tune`: measure which algorithms beat the MPI library's own, and write rules of it."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..base.limits import MOST_ITERATIONS
from ..base.output import print_json, say
from ..command.declare import Seconds, UsageError, argument, bad_value
from ..lab.options import choices
from ..lab.options.choices import one_of
from .bench import Mpi, Network, Nodes, PerNode, PlaceOption, Rate
from .options import Arrivals, Estimate, Json, Ranks, Seed, nodes_for, option

if TYPE_CHECKING:
    from ..lab.bench.places import Place
    from ..lab.tune import Grid, Journal

Launcher = Annotated[
    list[str] | None,
    argument("[LAUNCHER...]", "Measure in the job at hand, whose ranks this launcher starts, as in "
             "srun --mpi=pmi2 -n 8."),
]  # fmt: skip
Output = Annotated[
    Path,
    option("--output", "FILE", "Write the rules to this file, and the journal to FILE.journal. The "
           "default is rules.json."),
]  # fmt: skip
Collectives = Annotated[
    str, option("--collective", "LIST", "Measure these, as in allreduce,bcast, or all.")
]
Sizes = Annotated[
    str,
    option("--bytes", "LIST", "Measure messages of these sizes, as in 64KiB,1MiB or "
           "64KiB-4MiB:x4."),
]  # fmt: skip
Imbalances = Annotated[
    str,
    option("--imbalance", "LIST", "Delay late ranks by these multiples of the time that the "
           "message needs between two ranks."),
]  # fmt: skip
Algorithms = Annotated[
    str | None,
    option("--algorithms", "LIST", "Measure these: names with parameters, or all. The default is "
           "those that arrivals change, and fastest."),
]  # fmt: skip
Iterations = Annotated[
    int,
    option(
        "--iterations",
        "N",
        "Measure so many iterations at each imbalance.",
        min=4,
        max=MOST_ITERATIONS,
    ),
]
Warmup = Annotated[
    int,
    option(
        "--warmup",
        "N",
        "Run so many iterations first without recording them.",
        min=0,
        max=MOST_ITERATIONS,
    ),
]
Compute = Annotated[
    str, option("--compute", "TIME", "Emulate a computation of this length before each call.")
]
Deadline = Annotated[
    Seconds | None,
    option("--deadline", "TIME", "Kill a cell's job after this time, as in 90, 10m or 2h. The "
           "default is 5 times the expected time, and at least 600 s."),
]  # fmt: skip


def tune(
    launcher: Launcher = None,
    output: Output = Path("rules.json"),
    collectives: Collectives = "allreduce",
    sizes: Sizes = "64KiB-4MiB:x8",
    imbalances: Imbalances = "0,1,4",
    algorithms: Algorithms = None,
    arrivals: Arrivals = "onelate",
    estimate: Estimate = "online",
    iterations: Iterations = 16,
    warmup: Warmup = 8,
    compute: Compute = "20ms",
    seed: Seed = 1,
    ranks: Ranks = None,
    nodes: Nodes = None,
    rate: Rate = None,
    per_node: PerNode = 1,
    place: PlaceOption = None,
    network: Network = None,
    mpi_family: Mpi = None,
    deadline: Deadline = None,
    as_json: Json = False,
) -> int:
    """Measure algorithms over sizes and arrivals, and write rules for those that beat the library.

    A cell is a collective at one size. Its algorithms take turns; the best are measured once more,
    and a rule is written if its quartiles and those of the library's own collective do not overlap.
    Each finished cell is kept in a journal: the same command goes on after an interruption.

    Use the file by LATECOMER_RULES=FILE, or latecomer run --rules FILE.

    Example: latecomer tune --nodes 4 --bytes 256KiB,1MiB --output rules.json
    """
    from ..core import registry
    from ..core.compiled import core
    from ..lab import tune as tuning
    from ..lab.options.choose import read_seconds
    from ..lab.options.ranges import parse_numbers

    every = list(registry.collectives())
    named = every if collectives == "all" else collectives.split(",")
    grid = tuning.Grid(
        collectives=[one_of("--collective", name, every) for name in named],
        sizes=[_whole(size) for size in parse_numbers("--bytes", sizes, core.parse_bytes, True)],
        imbalances=_factors(imbalances),
        algorithms=algorithms,
        arrival=arrivals,
        estimate=one_of("--estimate", estimate, choices.ESTIMATES),
        iterations=iterations,
        warmup=warmup,
        compute=read_seconds("--compute", compute),
        seed=seed,
    )
    if arrivals not in ("onelate", "randlate", "gamma", "gaussian"):
        raise bad_value("--arrivals", f"'{arrivals}'; use onelate, randlate, gamma or gaussian")
    for name in grid.collectives:
        grid.algorithms_of(name)  # refused before anything is measured
    nodes = nodes_for(ranks, nodes, per_node)
    where, spread = tuning.place_of(
        place, nodes, rate, per_node, mpi_family, network, launcher or []
    )
    journal = tuning.Journal(
        output.with_name(f"{output.name}.journal"),
        {"place": where.name, "costs": where.costs, "ranks": where.ranks, **grid.facts()},
    )
    _measure(grid, where, journal, deadline)
    content = _content(grid, where, journal, spread)
    tuning.write(content, output)
    return _tell(content, output, as_json)


def _measure(grid: Grid, place: Place, journal: Journal, deadline: float | None) -> None:
    from ..lab.tune import measure
    from ..lab.tune.journal import announce

    cells = grid.cells()
    announce(journal, len(cells))
    begin, left = time.monotonic(), [cell for cell in cells if cell.name not in journal.cells]
    for number, cell in enumerate(left):
        minutes = (time.monotonic() - begin) / 60 / max(number, 1) * (len(left) - number)
        rest = f", about {minutes:.0f} min left" if number else ""
        say(f"cell {cells.index(cell) + 1} of {len(cells)}: {cell.name}{rest}")
        found = measure(grid, cell, place, deadline)
        journal.add(cell.name, [each.as_dict() for each in found])


def _content(grid: Grid, place: Place, journal: Journal, spread: str) -> dict[str, Any]:
    from ..lab.tune import rules_of

    cells = {(cell.collective, cell.bytes): journal.cells[cell.name] for cell in grid.cells()}
    comment = f"{place.name}, {shlex.join(['latecomer', *sys.argv[1:]])}"
    one_late = grid.arrival == "onelate"
    return rules_of(cells, place.ranks, spread, place.costs, one_late, comment)


def _tell(content: dict[str, Any], output: Path, as_json: bool) -> int:
    entries = [entry for each in content["collectives"].values() for entry in each]
    count = sum(len(entry["rules"]) for entry in entries)
    if as_json:
        print_json({"file": str(output), "rules": count, "content": content})
    elif count:
        print(f"{output}: {count} rules; latecomer rules explain {output} lists them")
    else:
        print(f"{output}: no rules, since nothing beat the MPI library beyond the noise")
    return 0


def _whole(size: int) -> int:
    if size < 4 or size % 4:
        raise bad_value("--bytes", f"{size}; give multiples of 4 bytes")
    return size


def _factors(text: str) -> list[float]:
    try:
        found = sorted({float(part) for part in text.split(",")})
    except ValueError:
        found = [-1.0]
    if not all(0 <= factor <= 1e6 for factor in found):
        raise UsageError(f"--imbalance '{text}'; give numbers from 0 up, as in 0,1,4")
    return found
