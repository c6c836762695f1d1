"""`latecomer show`: the programs of an algorithm as text, and as a picture."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import latecomer

from ..base.output import print_json, say
from ..command.declare import argument, bad_value, flag, option
from ..options.choices import MOST_RANKS, deprecated
from .options import Json
from .times import Times, read_times

Algorithm = Annotated[
    str, argument("ALGORITHM", "An algorithm's name, or name:parameter=value:parameter=value.")
]
Ranks = Annotated[
    int, option("--ranks", "P", "Show programs for so many ranks.", min=1, max=MOST_RANKS)
]
Count = Annotated[
    str | None,
    option("--count", "N", "Use a vector of so many elements, as in 64Ki. The default is one for "
           "each rank or segment."),
]  # fmt: skip
Segments = Annotated[
    int | None,
    option("--segments", "S", "Cut the vector into so many segments, as ALGORITHM:segments=S does. "
           "The default without --network is P.", min=1),
]  # fmt: skip
TimesOption = Annotated[
    str | None,
    option("--times", "LIST", "Let each rank arrive at its time: in steps of one message, as in "
           "4,0,0,0, or with --network in time, as in 4ms,0,0,0."),
]  # fmt: skip
OldArrival = Annotated[
    str | None,
    option("--arrival", "LIST", "The old name of --times.", hidden=True),
]
Network = Annotated[
    str | None,
    option("--network", "COSTS", "Use these costs, as in alpha=50us,beta=8ns,gamma=0.1ns,"
           "eager=64KiB. By default every message takes one step."),
]  # fmt: skip
Rank = Annotated[int | None, option("--rank", "R", "Print the program of this rank only.", min=0)]
InPlace = Annotated[bool, flag("--in-place", "Use one buffer for input and output.")]
NonCommutative = Annotated[
    bool, flag("--non-commutative", "Plan for an operator that does not commute.")
]
Exact = Annotated[
    bool, flag("--exact", "Plan for an operator that gives the same bits in any order.")
]
Root = Annotated[
    int | None,
    option("--root", "R", "Make this rank the root, in collectives that have one. The default is "
           "rank 0.", min=0),
]  # fmt: skip
Parts = Annotated[
    str | None,
    option("--parts", "LIST", "Give the ranks parts of so many elements, as in 2,0,5. By default "
           "parts are as equal as possible."),
]  # fmt: skip
Collective = Annotated[str, option("--collective", "NAME", "Show a program of this collective.")]
Picture = Annotated[
    Path | None,
    option("--svg", "FILE", "Draw the messages into this .svg, .png or .pdf file.",
           also="--picture"),
]  # fmt: skip


# Bytes of an operation that is simulated and written; measured: 1270 and 5230.
_BYTES_IN_TEXT, _BYTES_IN_JSON = 1500, 6000


@dataclass(frozen=True)
class Shown:
    """A schedule, its run on the network, and the unit of times."""

    schedule: latecomer.Schedule
    simulation: latecomer.Simulation
    times: Times


def show(
    algorithm: Algorithm,
    ranks: Ranks,
    count: Count = None,
    segments: Segments = None,
    times: TimesOption = None,
    arrival: OldArrival = None,
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
    """Print and draw the programs of an algorithm.

    The picture shows the messages between ranks over time. `latecomer verify FILE` reads the text
    back and checks it.

    Example: latecomer show sorted_linear_tree --ranks 4 --times 4,0,0,0 --svg slt.svg
    """
    _check(rank, ranks, svg)
    known = read_times(_times(times, arrival), network)
    named = _named_segments(algorithm)
    if segments is None and named is None and known.steps:
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
    _check_memory(problem, known, as_json)
    shown = _shown(problem, known)
    _print(shown, rank, as_json)
    if svg:
        _draw(svg, shown)


def _check(rank: int | None, ranks: int, picture: Path | None) -> None:
    if rank is not None and rank >= ranks:
        raise bad_value(
            "--rank", f"{rank}; give a rank from 0 to {ranks - 1}, since there are {ranks}"
        )
    if picture:
        from ..picture import check_picture

        check_picture(picture, ranks)


def _times(times: str | None, arrival: str | None) -> str | None:
    """The arrival times, from the option or its old name. Raises UsageError."""
    if arrival is None:
        return times
    if times is not None:
        raise bad_value("--arrival", f"'{arrival}'; leave it out beside --times")
    deprecated(f"--arrival {arrival}", f"--times {arrival}")
    return arrival


def _named_segments(algorithm: str) -> int | None:
    """The value of the algorithm's own parameter `segments`."""
    given = re.search(r":segments=(\d+)", algorithm)
    return int(given[1]) if given else None


def _default_segments(algorithm: str, collective: str, ranks: int) -> int | None:
    """One for each rank, where the algorithm has segments: in steps, longer ones cost nothing."""
    name = algorithm.partition(":")[0]
    rows = [row for row in latecomer.algorithms(collective) if row.name == name]
    has_segments = any(parameter.name == "segments" for row in rows for parameter in row.parameters)
    return ranks if has_segments else None


def _count(text: str | None, ranks: int, segments: int | None) -> int:
    from ..core.compiled import core

    return max(ranks, segments or 0) if text is None else core.parse_count("count", text)


def _lengths(text: str | None) -> list[int] | None:
    from ..core.compiled import core

    if text is None:
        return None
    return [core.parse_count("--parts", part) for part in text.split(",")]


def _check_memory(problem: dict[str, Any], times: Times, as_json: bool) -> None:
    """Raises UserError if there is too little."""
    from ..base import memory
    from ..core import programs

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
        print(_heading(shown) + _programs(shown.schedule, rank), end="")


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
