"""`latecomer show`: the programs of an algorithm as text, and as a picture."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import latecomer
import typer

from ..bench.choices import MOST_RANKS
from ..output import print_json, say
from .options import Json
from .times import Times, read_times

Algorithm = Annotated[
    str,
    typer.Argument(metavar="ALGORITHM", help="A name, or name:parameter=value:parameter=value."),
]
Ranks = Annotated[
    int,
    typer.Option("--ranks", metavar="P", min=1, max=MOST_RANKS, help="Number of ranks."),
]
Count = Annotated[
    str | None,
    typer.Option(
        "--count", metavar="N", help="Elements, as in 64Ki; default: one for each rank or segment."
    ),
]
Segments = Annotated[
    int | None,
    typer.Option(
        "--segments",
        metavar="S",
        min=1,
        help="Short for ALGORITHM:segments=S; without --network P is the default.",
    ),
]
Arrival = Annotated[
    str | None,
    typer.Option(
        "--arrival",
        metavar="LIST",
        help="When each rank arrives, as in 4,0,0,0: in steps, where a message takes one step; "
        "with --network a time, as in 4ms,0,0,0.",
    ),
]
Network = Annotated[
    str | None,
    typer.Option(
        "--network",
        metavar="TEXT",
        help="Costs, as in alpha=50us,beta=8ns,gamma=0.1ns,eager=64KiB; default: every message "
        "takes one step.",
    ),
]
Rank = Annotated[
    int | None, typer.Option("--rank", metavar="R", min=0, help="Print only this rank's program.")
]
InPlace = Annotated[bool, typer.Option("--in-place", help="Input and output are one buffer.")]
NonCommutative = Annotated[
    bool, typer.Option("--non-commutative", help="For an operator that does not commute.")
]
Exact = Annotated[
    bool, typer.Option("--exact", help="For an operator that gives the same bits in any order.")
]
Root = Annotated[
    int | None,
    typer.Option("--root", metavar="R", min=0, help="Of collectives that have one; default: 0."),
]
Parts = Annotated[
    str | None,
    typer.Option("--parts", metavar="LIST", help="Elements of each rank's part, as in 2,0,5; "
                 "default: as equal as can be."),
]  # fmt: skip
Collective = Annotated[str, typer.Option("--collective", metavar="C", help="The collective.")]
Picture = Annotated[
    Path | None,
    typer.Option(
        "--svg", "--picture", metavar="FILE", help="Draw it: FILE ends in .svg, .png or .pdf."
    ),
]


# Of an operation that is simulated and written; measured: 1270 and 5230.
_BYTES_IN_TEXT, _BYTES_IN_JSON = 1500, 6000


@dataclass(frozen=True)
class Shown:
    """A schedule, what became of it on the network, and how times are written."""

    schedule: latecomer.Schedule
    simulation: latecomer.Simulation
    times: Times


def show(
    algorithm: Algorithm,
    ranks: Ranks,
    count: Count = None,
    segments: Segments = None,
    arrival: Arrival = None,
    network: Network = None,
    rank: Rank = None,
    in_place: InPlace = False,
    non_commutative: NonCommutative = False,
    exact: Exact = False,
    collective: Collective = "allreduce",
    root: Root = None,
    parts: Parts = None,
    svg: Picture = None,
    as_json: Json = False,
) -> None:
    """Print and draw an algorithm's programs.

    The picture shows who sends what when. The text can be read back:
    `latecomer verify FILE` checks it.

    Example: latecomer show sorted_linear_tree --ranks 4 --arrival 4,0,0,0 --svg slt.svg
    """
    _check(rank, ranks, svg)
    times = read_times(arrival, network)
    named = _named_segments(algorithm)
    if segments is None and named is None and times.steps:
        segments = _default_segments(algorithm, collective, ranks)
    lengths = _lengths(parts)
    problem = {
        "algorithm": f"{algorithm}:segments={segments}" if segments else algorithm,
        "ranks": ranks,
        "count": sum(lengths) if lengths else _count(count, ranks, segments or named),
        "in_place": in_place,
        "commutative": not non_commutative,
        "exact": exact,
        "collective": collective,
        "root": root or 0,
        "parts": lengths,
    }
    _check_memory(problem, times, as_json)
    shown = _shown(problem, times)
    _print(shown, rank, as_json)
    if svg:
        _draw(svg, shown)


def _check(rank: int | None, ranks: int, picture: Path | None) -> None:
    if rank is not None and rank >= ranks:
        raise typer.BadParameter(
            f"{rank}; give a rank from 0 to {ranks - 1}, since there are {ranks}",
            param_hint="--rank",
        )
    if picture:
        from ..picture import check_picture

        check_picture(picture, ranks)


def _named_segments(algorithm: str) -> int | None:
    """What the algorithm's own parameters say."""
    given = re.search(r":segments=(\d+)", algorithm)
    return int(given[1]) if given else None


def _default_segments(algorithm: str, collective: str, ranks: int) -> int | None:
    """One for each rank, where the algorithm has segments: in steps, longer ones cost nothing."""
    name = algorithm.partition(":")[0]
    rows = [row for row in latecomer.algorithms(collective) if row.name == name]
    has_segments = any(parameter.name == "segments" for row in rows for parameter in row.parameters)
    return ranks if has_segments else None


def _count(text: str | None, ranks: int, segments: int | None) -> int:
    from ..compiled import core

    return max(ranks, segments or 0) if text is None else core.parse_count("count", text)


def _lengths(text: str | None) -> list[int] | None:
    from ..compiled import core

    if text is None:
        return None
    return [core.parse_count("--parts", part) for part in text.split(",")]


def _check_memory(problem: dict[str, Any], times: Times, as_json: bool) -> None:
    """Raises UserError if there is too little."""
    from .. import memory, programs

    asked = dict(problem)
    algorithm, ranks = asked.pop("algorithm"), asked["ranks"]
    plan = programs.make_plan(programs.problem(**asked), algorithm, times.arrival, times.network)
    each = _BYTES_IN_JSON if as_json else _BYTES_IN_TEXT
    needed = memory.about_bytes(plan.about_operations(), ranks, each)
    memory.check_memory(f"{algorithm} on {ranks} ranks", needed, memory.free_bytes())


def _shown(problem: dict[str, Any], times: Times) -> Shown:
    knowledge = {"arrival": times.arrival, "network": times.network}
    schedule = latecomer.program(**problem, **knowledge)
    return Shown(schedule, latecomer.simulate(**problem, **knowledge, trace=True), times)


def _print(shown: Shown, rank: int | None, as_json: bool) -> None:
    if as_json:
        print_json(_as_json(shown, rank))
    else:
        typer.echo(_heading(shown) + _programs(shown.schedule, rank), nl=False)


def _heading(shown: Shown) -> str:
    """Comment lines, which the reader of schedules skips."""
    schedule, simulation, times = shown.schedule, shown.simulation, shown.times
    parameters = f" {schedule.parameters}" if schedule.parameters else ""
    lines = [
        f"latecomer {latecomer.__version__}: {schedule.algorithm}{parameters}",
        f"network {times.network_text}" + (", 1 step = 1 s" if times.steps else ""),
        f"arrivals {times.listed(simulation.arrivals)}",
        f"exits    {times.listed(simulation.exits)}",
    ]
    return "".join(f"# {line}\n" for line in lines)


def _programs(schedule: latecomer.Schedule, rank: int | None) -> str:
    if rank is None:
        return schedule.text
    return schedule.plan + schedule.programs[rank].text


def _as_json(shown: Shown, rank: int | None) -> dict[str, Any]:
    simulation = shown.simulation
    schedule = asdict(shown.schedule)
    if rank is not None:
        schedule["programs"] = [schedule["programs"][rank]]
    return {
        "version": latecomer.__version__,
        "network": shown.times.network_text,
        "schedule": schedule,
        "arrivals": simulation.arrivals.tolist(),
        "exits": simulation.exits.tolist(),
        "trace": [asdict(move) for move in simulation.trace],
    }


def _draw(file: Path, shown: Shown) -> None:
    from ..picture import Labels, write

    unit, scale = shown.times.unit(float(shown.simulation.exits.max()))
    write(file, shown.schedule, shown.simulation, Labels(unit, scale))
    say(f"wrote {file}")
