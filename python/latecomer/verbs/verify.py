"""`latecomer verify`: the symbolic check of algorithms, and of schedules in files."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import latecomer

from ..base.errors import UserError
from ..base.output import console, print_json, progress_bar
from ..command.declare import argument, bad_value, option
from .lists import choose, parse_ranks
from .options import Json, PerNode, Placement

if TYPE_CHECKING:
    from rich.table import Table

_NAMES = 32  # columns of a terminal beside the numbers of ranks
_CELL = 4  # and for each of them
_RANKS, _ARRIVALS, _SEED = "1-17", 20, 1

File = Annotated[
    str | None,
    argument("[FILE]", "Check this schedule instead, in the form that `latecomer show` prints; - "
             "reads standard input."),
]  # fmt: skip
Algorithms = Annotated[
    str | None, option("--algorithms", "A,B", "Check these algorithms. The default is all.")
]
Collective = Annotated[
    str | None,
    option("--collective", "NAME", "Check algorithms of this collective. The default is all."),
]
Ranks = Annotated[
    str | None,
    option("--ranks", "LIST", "Check these numbers of ranks, as in 4,8,16-17. The default is "
           f"{_RANKS}."),
]  # fmt: skip
Arrivals = Annotated[
    int | None,
    option("--arrivals", "N", "Check so many random arrival patterns. The default is "
           f"{_ARRIVALS}.", min=0),
]  # fmt: skip
Seed = Annotated[
    int | None,
    option("--seed", "N", f"Seed the random arrival patterns. The default is {_SEED}."),
]


@dataclass(frozen=True)
class Cell:
    """An algorithm at one number of ranks."""

    collective: str
    algorithm: str
    ranks: int
    cases: int  # up to the first counterexample
    rule: str | None = None  # of the counterexample; None: there is none
    text: str | None = None
    command: str | None = None  # checks the counterexample again


@dataclass(frozen=True)
class Nodes:
    """The options that say which ranks share a node."""

    per_node: int | None = None
    placement: str | None = None

    def of(self, ranks: int) -> tuple[int, ...]:
        """The node of each rank. Raises OptionError and ValueError."""
        from ..options.placement import choose_placement

        return choose_placement(ranks, self.per_node, self.placement)


def verify(
    file: File = None,
    algorithms: Algorithms = None,
    collective: Collective = None,
    ranks: Ranks = None,
    arrivals: Arrivals = None,
    seed: Seed = None,
    per_node: PerNode = None,
    placement: Placement = None,
    as_json: Json = False,
) -> int:
    """Check that algorithms are right, for every order of messages and arrivals.

    Nothing is run: the programs of all ranks are checked against every rule of a schedule. The exit
    code is 1 if a rule is broken, and a sentence names the place.

    Example: latecomer verify --algorithms ring,sorted_linear_tree --ranks 4,8,16-17
    """
    if file is None:
        right = _verify_registry(
            choose(algorithms, collective),
            parse_ranks(_RANKS if ranks is None else ranks),
            _ARRIVALS if arrivals is None else arrivals,
            _SEED if seed is None else seed,
            as_json,
            Nodes(per_node, placement),
        )
    else:
        _check_alone(
            {
                "--algorithms": algorithms,
                "--collective": collective,
                "--ranks": ranks,
                "--arrivals": arrivals,
                "--seed": seed,
                "--per-node": per_node,
                "--placement": placement,
            }
        )
        right = _verify_file(file, as_json)
    return 0 if right else 1


def _check_alone(options: Mapping[str, object]) -> None:
    """Raises UsageError for an option that is of no use beside a file."""
    for name, value in options.items():
        if value is not None:
            raise bad_value(name, f"'{value}'; leave it out, since the file says what is checked")


def _verify_file(file: str, as_json: bool) -> bool:
    found = latecomer.verify_text(_read(file))
    if as_json:
        broken = asdict(found) if found else None
        print_json({"version": latecomer.__version__, "file": file, "counterexample": broken})
    elif found:
        print(f"{file}: {_words(found.rule, found.text)}")
    else:
        print(f"{file}: keeps all {len(latecomer.rules())} rules")
    return found is None


def _read(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text()
    except (OSError, UnicodeDecodeError) as error:
        remedy = "give a file that `latecomer show` wrote, or - for standard input"
        raise UserError(f"cannot read a schedule ({_reason(error)})", file, remedy) from None


def _reason(error: OSError | UnicodeDecodeError) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else "not a text"


def _verify_registry(
    rows: Sequence[latecomer.Algorithm],
    ranks: Sequence[int],
    arrivals: int,
    seed: int,
    as_json: bool,
    nodes: Nodes,
) -> bool:
    placements = {size: nodes.of(size) for size in ranks}
    cells = _check_all(rows, placements, arrivals, seed)
    broken = [cell for cell in cells if cell.rule]
    if as_json:
        print_json(_as_json(cells, arrivals, seed))
    else:
        _print_tables(cells, ranks, arrivals, seed)
        for cell in broken:
            print(_counterexample(cell))
    return not broken


def _check_all(
    rows: Sequence[latecomer.Algorithm],
    placements: Mapping[int, tuple[int, ...]],  # by the number of ranks
    arrivals: int,
    seed: int,
) -> list[Cell]:
    with progress_bar() as shown:
        task = shown.add_task("checking", total=len(rows) * len(placements))
        cells = []
        for row in rows:
            for size, placement in placements.items():
                shown.update(task, description=f"{row.collective} {row.name}, {size} ranks")
                cells.append(_check(row, size, arrivals, seed, placement))
                shown.advance(task)
    return cells


def _check(
    row: latecomer.Algorithm, ranks: int, arrivals: int, seed: int, placement: tuple[int, ...]
) -> Cell:
    from ..core.cases import cases

    done = 0
    for done, case in enumerate(cases(row, ranks, arrivals, seed, placement), start=1):
        if found := case.check():
            return Cell(
                row.collective, row.name, ranks, done, found.rule, found.text, case.command()
            )
    return Cell(row.collective, row.name, ranks, done)


def _as_json(cells: Sequence[Cell], arrivals: int, seed: int) -> dict[str, Any]:
    return {
        "version": latecomer.__version__,
        "arrivals": arrivals,
        "seed": seed,
        "cases": sum(cell.cases for cell in cells),
        "counterexamples": sum(cell.rule is not None for cell in cells),
        "checked": [asdict(cell) for cell in cells],
    }


def _print_tables(cells: Sequence[Cell], ranks: Sequence[int], arrivals: int, seed: int) -> None:
    out = console()
    beside = max(1, (out.width - _NAMES) // _CELL)
    for start in range(0, len(ranks), beside):
        out.print(_table(cells, ranks[start : start + beside]))
    total = sum(cell.cases for cell in cells)
    broken = sum(cell.rule is not None for cell in cells)
    out.print(
        f"latecomer {latecomer.__version__}, {arrivals} arrival patterns of seed {seed}: "
        f"{total} cases, {broken or 'no'} counterexample{'s' * (broken != 1)}"
    )


def _table(cells: Sequence[Cell], ranks: Sequence[int]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("ranks", no_wrap=True)
    for size in ranks:
        table.add_column(str(size), justify="right", no_wrap=True)
    table.add_column("cases", justify="right", no_wrap=True)
    shown = None
    for row in dict.fromkeys((cell.collective, cell.algorithm) for cell in cells):
        own = [c for c in cells if (c.collective, c.algorithm) == row and c.ranks in ranks]
        marks = ["[red]no[/]" if cell.rule else "ok" for cell in own]
        if row[0] != shown:
            shown = row[0]
            table.add_row(f"[bold]{shown}[/]")
        table.add_row(f"  {row[1]}", *marks, str(sum(cell.cases for cell in own)))
    return table


def _counterexample(cell: Cell) -> str:
    words = _words(cell.rule, cell.text)
    where = f"{cell.collective} {cell.algorithm}, {cell.ranks} ranks"
    return f"\n{where}: {words}\nrepeat it with: {cell.command}"


def _words(rule: str, text: str) -> str:
    meaning = next(known.meaning for known in latecomer.rules() if known.name == rule)
    return f"counterexample to the rule '{rule}' ({meaning}):\n{text}"
