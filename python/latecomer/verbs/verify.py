"""`latecomer verify`: the symbolic check of algorithms, and of schedules in files."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import latecomer

from ..base.errors import UserError
from ..base.limits import MOST_ITERATIONS, MOST_SEED
from ..base.output import console, print_json, progress_bar
from ..base.regular_files import read_text
from ..base.spelling import listed
from ..command.declare import argument, bad_value, flag
from .options import Json, Nodes, option

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.table import Table

    from ..core.cases import Cell

_NAMES = 32  # columns of a terminal beside the numbers of ranks
_CELL = 4  # and for each of them
_RANKS, _ARRIVALS, _SEED, _BUDGET = "1-17", 20, 1, "45s"
_OF_NODES = ("nodes", "online_nodes")


@dataclass(frozen=True, kw_only=True)
class Options(Nodes):
    """The options of verify."""

    file: Annotated[str | None, argument(
        "[FILE]", "Check this schedule instead, in the form that `latecomer show` prints; - reads "
        "standard input."
    )] = None  # fmt: skip
    algorithms: Annotated[str | None, option("--algorithms", "A,B", "The default is all.")] = None
    collective: Annotated[str | None, option("--collective", "NAME", "The default is all.")] = None
    ranks: Annotated[
        str | None, option("--ranks", "LIST", f"Several: 4,8,16-17. The default is {_RANKS}.")
    ] = None
    patterns: Annotated[int | None, option(
        "--patterns", "N", "Check so many random arrival patterns. The default is "
        f"{_ARRIVALS}.", min=0, max=MOST_ITERATIONS, old=("--arrivals",)
    )] = None  # fmt: skip
    seed: Annotated[
        int | None, option("--seed", "N", f"The default is {_SEED}.", min=0, max=MOST_SEED)
    ] = None
    budget: Annotated[str | None, option(
        "--budget", "TIME", f"Cases beyond that are left out. The default is {_BUDGET}."
    )] = None  # fmt: skip
    all: Annotated[bool, flag("--all", "Check every case, however long that takes.")] = False
    json: Json = False

    def check_alone(self) -> None:
        """Raises UsageError for an option that is of no use beside a file."""
        for each in fields(self):
            value = getattr(self, each.name)
            beside = value is not None and value is not False
            if beside and each.name not in ("file", "json"):
                name = f"--{each.name.replace('_', '-')}"
                why = "leave it out, since the file says what is checked"
                raise bad_value(name, f"'{value}'; {why}")

    def seconds(self) -> float:
        """The budget. Raises UsageError."""
        from ..core.compiled import core

        if not self.all:
            return core.parse_seconds("--budget", _BUDGET if self.budget is None else self.budget)
        if self.budget is not None:
            raise bad_value("--budget", f"'{self.budget}'; leave it out, or --all")
        return math.inf


def verify(asked: Options) -> int:
    """Check that algorithms are right, for every order of messages and arrivals.

    Nothing is run: the programs of all ranks are checked against every rule of a schedule. Of
    algorithms that decide while they run, what their ranks did in a call on the virtual network is
    checked in the same way. The exit code is 1 if a rule is broken, and a sentence names the place.

    There are millions of cases. As many as fit in the budget of time are checked, of each algorithm
    and number of ranks about equally many, in an order that the seed makes; --all checks all.

    Example: latecomer verify --algorithms ring,sorted_linear_tree --ranks 4,8,16-17
    """
    if asked.file is None:
        return 0 if _verify_registry(asked) else 1
    asked.check_alone()
    return 0 if _verify_file(asked.file, asked.json) else 1


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
        return sys.stdin.read() if file == "-" else read_text(Path(file))
    except (OSError, UnicodeDecodeError) as error:
        remedy = "give a file that `latecomer show` wrote, or - for standard input"
        why = error.strerror or str(error) if isinstance(error, OSError) else "not a text"
        raise UserError(f"cannot read a schedule ({why})", file, remedy) from None


def choose(names: str | None, collective: str | None = None) -> list[latecomer.Algorithm]:
    """The algorithms of a list of names, but for the MPI library's own; None: all.

    Raises UsageError.
    """
    rows = [row for row in latecomer.algorithms(collective) if row.kind != "native"]
    if names is None:
        return rows
    wanted = [name.strip() for name in names.split(",")]
    known = sorted({row.name for row in rows})
    for name in wanted:
        if name not in known:
            raise bad_value("--algorithms", f"'{name}'; give some of {listed(name, known)}")
    return [row for row in rows if row.name in wanted]


def _verify_registry(asked: Options) -> bool:
    from ..core.cases import check
    from ..lab.options.choices import parse_numbers, read_whole

    rows = choose(asked.algorithms, asked.collective)
    given = _RANKS if asked.ranks is None else asked.ranks
    ranks = parse_numbers("--ranks", given, read_whole, doubling=False)
    arrivals = _ARRIVALS if asked.patterns is None else asked.patterns
    seed = _SEED if asked.seed is None else asked.seed
    placements = {size: asked.nodes_of(size) for size in ranks}
    questions = [(row, size, nodes) for row in rows for size, nodes in placements.items()]
    with _shown() as tell:
        cells = check(questions, arrivals, seed, asked.seconds(), tell)
    if asked.json:
        print_json(_as_json(cells, arrivals, seed))
    else:
        _print_tables(cells, ranks, arrivals, seed)
        _print_remarks(rows, any(len(set(each)) < len(each) for each in placements.values()))
        for cell in cells:
            if cell.rule:
                print(_counterexample(cell))
    return not any(cell.rule for cell in cells)


@contextmanager
def _shown() -> Iterator[Callable[[Cell, float], None]]:
    """A bar with the time left."""
    with progress_bar() as bar:
        task = bar.add_task("checking", total=1.0)

        def tell(cell: Cell, done: float) -> None:
            text = f"{cell.collective} {cell.algorithm}, {cell.ranks} ranks"
            bar.update(task, description=text, completed=done)

        yield tell


def _as_json(cells: Sequence[Cell], arrivals: int, seed: int) -> dict[str, Any]:
    return {
        "version": latecomer.__version__,
        "arrivals": arrivals,
        "seed": seed,
        "cases": sum(cell.cases for cell in cells),
        "of": sum(cell.of for cell in cells),
        "complete": all(cell.complete for cell in cells),
        "counterexamples": sum(cell.rule is not None for cell in cells),
        "checked": [asdict(cell) for cell in cells],
    }


def _print_tables(cells: Sequence[Cell], ranks: Sequence[int], arrivals: int, seed: int) -> None:
    out = console()
    beside = max(1, (out.width - _NAMES) // _CELL)
    for start in range(0, len(ranks), beside):
        out.print(_table(cells, ranks[start : start + beside]))
    total, of = sum(cell.cases for cell in cells), sum(cell.of for cell in cells)
    broken = sum(cell.rule is not None for cell in cells)
    complete = all(cell.complete for cell in cells)
    out.print(
        f"latecomer {latecomer.__version__}, {arrivals} arrival patterns of seed {seed}: "
        f"{f'{total:,} cases' if complete else f'{total:,} of {of:,} cases, chosen by the seed'}, "
        f"{broken or 'no'} counterexample{'s' * (broken != 1)}"
        f"{'' if complete else '; --all checks all, --budget TIME more'}"
    )


def _print_remarks(rows: Sequence[latecomer.Algorithm], shared: bool) -> None:
    """What the cases do not say."""
    deciding = dict.fromkeys(row.name for row in rows if row.kind == "protocol")
    if deciding:
        print(f"Of {', '.join(deciding)}, which decide while they run, calls on the virtual "
              "network were checked.")  # fmt: skip
    if not shared and any(row.name in _OF_NODES for row in rows):
        print("No ranks shared a node; --per-node K lets K of them.")


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
        table.add_row(f"  {row[1]}", *marks, f"{sum(cell.cases for cell in own):,}")
    return table


def _counterexample(cell: Cell) -> str:
    words = _words(cell.rule or "", cell.text or "")
    where = f"{cell.collective} {cell.algorithm}, {cell.ranks} ranks"
    return f"\n{where}: {words}\nrepeat it with: {cell.command}"


def _words(rule: str, text: str) -> str:
    meaning = next(known.meaning for known in latecomer.rules() if known.name == rule)
    return f"counterexample to the rule '{rule}' ({meaning}):\n{text}"
