"""`latecomer show`: a call of an algorithm as text, as a picture, and as a page that plays it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import latecomer

from ..base.guess import listed
from ..base.limits import MOST_RANKS, MOST_SEGMENTS
from ..base.output import say
from ..base.written import write_text
from ..command.declare import argument, bad_value, flag
from .moves import moves_text
from .options import Json, PerNode, Placement, option
from .pieces import named_pieces, row_of, with_pieces
from .times import Times, read_times

if TYPE_CHECKING:
    from ..core.compiled import core
    from ..lab.picture import Labels

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
           "The default without --network is P.", min=1, max=MOST_SEGMENTS),
]  # fmt: skip
Arrivals = Annotated[
    str | None,
    option("--arrivals", "LIST", "Let each rank arrive at its time: in steps of one message, as in "
           "4,0,0,0, or with --network in time, as in 4ms,0,0,0."),
]  # fmt: skip
Network = Annotated[
    str | None,
    option("--network", "COSTS", "Use these costs, as in alpha=50us,beta=8ns,gamma=0.1ns,"
           "eager=64KiB. By default every message takes one step; where ranks send control "
           "messages, these take a twentieth."),
]  # fmt: skip
Rank = Annotated[
    int | None, option("--rank", "R", "Print this rank's part only.", min=0, max=MOST_RANKS - 1)
]
Text = Annotated[
    bool,
    flag("--text", "Print the operations beside --svg, --html or --output, too; otherwise these "
         "leave only the arrivals and exits on the screen."),
]  # fmt: skip
Output = Annotated[
    Path | None, option("--output", "FILE", "Write the text, or the JSON, into this file.")
]
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
           "rank 0.", min=0, max=MOST_RANKS - 1),
]  # fmt: skip
Parts = Annotated[
    str | None,
    option("--parts", "LIST", "Give the ranks parts of so many elements, as in 2,0,5. By default "
           "parts are as equal as possible."),
]  # fmt: skip
Collective = Annotated[str, option("--collective", "NAME", "Show a program of this collective.")]
Picture = Annotated[
    Path | None,
    option("--svg", "FILE", "Draw the messages into this .svg, .png or .pdf file."),
]
Page = Annotated[
    Path | None,
    option("--html", "FILE", "Write a page that plays the call into this .html file. In steps, "
           "messages then take time by their length."),
]  # fmt: skip
Beside = Annotated[
    str | None,
    option("--beside", "ALGORITHM", "Play a call of this algorithm with the same arrivals below "
           "it. The default is ring, where the collective has one."),
]  # fmt: skip

_ELEMENT = 4  # bytes
_LONG = 256  # elements of a piece in steps: it is long against a control message
# Bytes of an operation that is simulated and written; measured: 1250 and 7280.
_BYTES_IN_TEXT, _BYTES_IN_JSON = 1500, 8000


@dataclass(frozen=True)
class Shown:
    """A schedule, its run on the network, and the unit of times."""

    schedule: latecomer.Schedule
    simulation: latecomer.Simulation
    times: Times
    nodes: tuple[int, ...] = ()  # of the ranks; empty: each has its own

    @property
    def decides(self) -> bool:
        """Tell whether ranks decide while they run, so that there are no programs."""
        return not self.schedule.programs


def show(
    algorithm: Algorithm,
    ranks: Ranks,
    count: Count = None,
    segments: Segments = None,
    arrivals: Arrivals = None,
    network: Network = None,
    rank: Rank = None,
    in_place: InPlace = False,
    non_commutative: NonCommutative = False,
    exact: Exact = False,
    collective: Collective = "allreduce",
    root: Root = None,
    parts: Parts = None,
    per_node: PerNode = None,
    placement: Placement = None,
    svg: Picture = None,
    html: Page = None,
    beside: Beside = None,
    text: Text = False,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Print, draw and play a call of an algorithm.

    The text has every operation; with a file for it, a picture or a page, only the arrivals and
    exits are printed. The picture shows the messages between ranks over time. `latecomer verify
    FILE` reads the text of programs back and checks it. Algorithms that decide while they run have
    no programs: their text is the plan, and the moves of the call in order of time.

    Example: latecomer show sorted_linear_tree --ranks 4 --arrivals 4,0,0,0 --svg slt.svg
    """
    from ..core.registry import check_choice
    from ..lab.options.placement import choose_placement

    _check(rank, ranks, svg, html, beside)
    known = read_times(arrivals, network)
    by_length = known.steps and (html is not None or _decides(algorithm, collective))
    asked = f"{algorithm}:segments={segments}" if segments else algorithm
    if known.steps:
        asked = with_pieces(asked, collective, ranks, blocks=by_length)
    lengths = _lengths(parts)
    pieces = named_pieces(asked)
    problem = {
        "ranks": ranks,
        "count": sum(lengths) if lengths else _count(count, ranks, pieces, by_length),
        "in_place": in_place,
        "commutative": not non_commutative,
        "exact": exact,
        "collective": collective,
        "root": root or 0,
        "parts": lengths,
    }
    nodes = choose_placement(ranks, per_node, placement)
    if by_length:
        known = known.by_length(_ELEMENT * problem["count"] // (pieces or ranks))
    check_choice(collective, asked)
    shown = _shown(asked, problem, known, as_json, nodes)
    other = _other(asked, problem, known, beside, nodes) if html else None
    _print(shown, rank, as_json, output, whole=text or not (svg or html or output))
    if svg:
        _draw(svg, shown)
    if html:
        _play(html, [shown, other] if other else [shown])


def _check(
    rank: int | None, ranks: int, picture: Path | None, html: Path | None, beside: str | None
) -> None:
    if rank is not None and rank >= ranks:
        raise bad_value(
            "--rank", f"{rank}; give a rank from 0 to {ranks - 1}, since there are {ranks}"
        )
    if picture:
        from ..lab.picture import check_picture

        check_picture(picture, ranks)
    if html:
        from ..lab.picture import check_page

        check_page(html, ranks)
    elif beside:
        raise bad_value("--beside", f"'{beside}'; give --html FILE as well")


def _decides(algorithm: str, collective: str) -> bool:
    row = row_of(algorithm, collective)
    return row is not None and row.kind == "protocol"


def _count(text: str | None, ranks: int, pieces: int | None, by_length: bool) -> int:
    from ..core.compiled import core

    if text is not None:
        return core.parse_count("count", text)
    return (pieces or ranks) * _LONG if by_length else max(ranks, pieces or 0)


def _lengths(text: str | None) -> list[int] | None:
    from ..core.compiled import core

    if text is None:
        return None
    return [core.parse_count("--parts", part) for part in text.split(",")]


def _check_memory(plan: core.Plan, algorithm: str, as_json: bool) -> None:
    """Raises UserError if there is too little."""
    from ..base import memory

    each = _BYTES_IN_JSON if as_json else _BYTES_IN_TEXT
    needed = memory.about_bytes(plan.about_operations(), plan.ranks, each)
    what = f"{algorithm} on {plan.ranks} ranks"
    memory.check_memory(what, needed, memory.free_bytes())


def _shown(
    algorithm: str, asked: dict[str, Any], times: Times, as_json: bool, nodes: tuple[int, ...]
) -> Shown:
    from ..core import programs, simulation

    problem = programs.problem(**asked)
    plan = programs.make_plan(problem, algorithm, times.arrival, times.network, nodes)
    _check_memory(plan, algorithm, as_json)
    run = simulation.run(plan, times.arrival, trace=True)
    return Shown(programs.schedule_of_any(plan), run, times, tuple(plan.placement))


def _other(
    algorithm: str,
    asked: dict[str, Any],
    times: Times,
    beside: str | None,
    nodes: tuple[int, ...],
) -> Shown | None:
    """The call beside it. Raises UsageError and ValueError."""
    collective = asked["collective"]
    if beside is None:
        plain = "ring" if asked["commutative"] else "rabenseifner"  # which keeps the order
        beside = plain if algorithm != plain and row_of(plain, collective) else None
    if beside is None:
        return None
    if row_of(beside, collective) is None:
        names = listed(beside, (row.name for row in latecomer.algorithms(collective)))
        raise bad_value("--beside", f"'{beside}'; give an algorithm of {collective}: {names}")
    if times.steps:
        beside = with_pieces(beside, collective, asked["ranks"], blocks=True)
    return _shown(beside, asked, times, as_json=False, nodes=nodes)


def _print(shown: Shown, rank: int | None, as_json: bool, output: Path | None, whole: bool) -> None:
    """The operations, unless a file says more than a reader wants to see; then the times."""
    whole = whole or as_json or rank is not None
    said = (_json_text if as_json else _text)(shown, rank) if whole or output else ""
    if output:
        write_text(output, said)
        say(f"wrote {output}")
    print(said if whole else "".join(f"{line}\n" for line in _times_of(shown)), end="")


def _json_text(shown: Shown, rank: int | None) -> str:
    return json.dumps(_as_json(shown, rank), indent=2) + "\n"


def _text(shown: Shown, rank: int | None) -> str:
    if shown.decides:
        moves = moves_text(shown.schedule, shown.simulation, shown.times, rank, shown.nodes)
        return _heading(shown) + shown.schedule.plan + moves
    return _heading(shown) + _programs(shown.schedule, rank)


def _heading(shown: Shown) -> str:
    """Comment lines, which the reader of schedules skips."""
    schedule, times = shown.schedule, shown.times
    parameters = f" {schedule.parameters}" if schedule.parameters else ""
    lines = [
        f"latecomer {latecomer.__version__}: {schedule.algorithm}{parameters}",
        f"network {times.network_told}" + (", 1 step = 1 s" if times.steps else ""),
        *([f"nodes {' '.join(map(str, shown.nodes))}"] if shown.nodes else []),
        *_times_of(shown),
    ]
    return "".join(f"# {line}\n" for line in lines)


def _times_of(shown: Shown) -> list[str]:
    """The two lines that say when ranks came and when they left."""
    simulation, times = shown.simulation, shown.times
    return [
        f"arrivals {times.listed(simulation.arrivals)}",
        f"exits    {times.listed(simulation.exits)}",
    ]


def _programs(schedule: latecomer.Schedule, rank: int | None) -> str:
    if rank is None:
        return schedule.text
    return schedule.plan + schedule.programs[rank].text


def _as_json(shown: Shown, rank: int | None) -> dict[str, Any]:
    simulation = shown.simulation
    schedule = asdict(shown.schedule)
    if rank is not None and schedule["programs"]:
        schedule["programs"] = [schedule["programs"][rank]]
    return {
        "version": latecomer.__version__,
        "network": shown.times.network_text,
        "placement": shown.nodes,
        "schedule": schedule,
        "arrivals": simulation.arrivals.tolist(),
        "exits": simulation.exits.tolist(),
        "log": [entry._asdict() for entry in simulation.log],
        "trace": [asdict(move) for move in simulation.trace],
    }


def _draw(file: Path, shown: Shown) -> None:
    from ..lab.picture import write

    write(file, shown.schedule, shown.simulation, _labels(shown), shown.nodes)
    say(f"wrote {file}")


def _play(file: Path, all_shown: list[Shown]) -> None:
    from ..core.compiled import core
    from ..lab.picture import Call, write_page

    calls = [Call(each.schedule, each.simulation, each.nodes) for each in all_shown]
    first, times = calls[0].schedule, all_shown[0].times
    vector = _ELEMENT * first.count * core.Network(times.network).beta
    used = {
        "version": latecomer.__version__,
        "algorithms": ", ".join(call.name for call in calls),
        "vector": f"{first.count} elements of {_ELEMENT} bytes",
        "network": times.network_told,
        "arrivals": times.listed(calls[0].simulation.arrivals),
    }
    write_page(file, calls, _labels(all_shown[0]), vector, used)
    say(f"wrote {file}")


def _labels(shown: Shown) -> Labels:
    from ..lab.picture import Labels

    return Labels(*shown.times.unit(float(shown.simulation.exits.max())))
