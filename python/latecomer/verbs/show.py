"""`latecomer show`: a call of an algorithm as text, as a picture, and as a page that plays it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import latecomer

from ..base.limits import MOST_RANKS, MOST_SEGMENTS
from ..base.output import say
from ..base.spelling import listed
from ..base.whole_files import write_text
from ..command.declare import argument, bad_value, flag
from .options import Json, Nodes, option
from .times import Times, named_pieces, read_times, with_pieces

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..lab.picture.replay import Call, Load

_ELEMENT = 4  # bytes
_LONG = 256  # elements of a piece in steps: it is long against a control message
# Bytes of an operation that is simulated and written; measured: 1250 and 7280.
_BYTES_IN_TEXT, _BYTES_IN_JSON = 1500, 8000


@dataclass(frozen=True, kw_only=True)
class Options(Nodes):
    """The options of show."""

    algorithm: Annotated[
        str, argument("ALGORITHM", "An algorithm's name, or name:parameter=value:parameter=value.")
    ]
    ranks: Annotated[int, option("--ranks", "P", "", min=1, max=MOST_RANKS)]
    count: Annotated[
        str | None, option("--count", "N", "The default is one for each rank or segment.")
    ] = None
    segments: Annotated[int | None, option(
        "--segments", "S", "Cut the vector into so many segments, as ALGORITHM:segments=S does. "
        "The default without --network is P.", min=1, max=MOST_SEGMENTS
    )] = None  # fmt: skip
    arrivals: Annotated[str | None, option(
        "--arrivals", "LIST", "Each rank has its time: in steps of one message, as in 4,0,0,0, "
        "or with --network in time, as in 4ms,0,0,0."
    )] = None  # fmt: skip
    network: Annotated[str | None, option(
        "--network", "COSTS", "By default every message takes one step; where ranks send "
        "control messages, these take a twentieth."
    )] = None  # fmt: skip
    rank: Annotated[
        int | None, option("--rank", "R", "Print this rank's part only.", min=0, max=MOST_RANKS - 1)
    ] = None
    in_place: Annotated[bool, flag("--in-place", "Use one buffer for input and output.")] = False
    non_commutative: Annotated[
        bool, flag("--non-commutative", "Plan for an operator that does not commute.")
    ] = False
    exact: Annotated[
        bool, flag("--exact", "Plan for an operator that gives the same bits in any order.")
    ] = False
    collective: Annotated[str, option("--collective", "NAME", "")] = "allreduce"
    root: Annotated[
        int | None, option("--root", "R", "The default is rank 0.", min=0, max=MOST_RANKS - 1)
    ] = None
    parts: Annotated[str | None, option(
        "--parts", "LIST", "Give the ranks parts of so many elements, as in 2,0,5. By default "
        "parts are as equal as possible."
    )] = None  # fmt: skip
    svg: Annotated[
        Path | None, option("--svg", "FILE", "Draw the messages into this .svg, .png or .pdf file.")
    ] = None
    html: Annotated[Path | None, option(
        "--html", "FILE", "It plays the call. In steps, messages then take time by their "
        "length."
    )] = None  # fmt: skip
    beside: Annotated[str | None, option(
        "--beside", "ALGORITHM", "Play a call of this algorithm with the same arrivals below it. "
        "The default is ring, where the collective has one."
    )] = None  # fmt: skip
    text: Annotated[bool, flag(
        "--text", "Print the operations beside --svg, --html or --output, too; otherwise these "
        "leave only the arrivals and exits on the screen."
    )] = False  # fmt: skip
    output: Annotated[Path | None, option("--output", "FILE", "")] = None
    json: Json = False

    def check(self) -> None:
        """Raises UsageError and ValueError for options that cannot be."""
        if self.rank is not None and self.rank >= self.ranks:
            right = f"give a rank from 0 to {self.ranks - 1}, since there are {self.ranks}"
            raise bad_value("--rank", f"{self.rank}; {right}")
        if self.svg or self.html:
            from ..lab.picture import check_page, check_picture

            if self.svg:
                check_picture(self.svg, self.ranks)
            if self.html:
                check_page(self.html, self.ranks)
        if self.beside and not self.html:
            raise bad_value("--beside", f"'{self.beside}'; give --html FILE as well")


def show(asked: Options) -> None:
    """Print, draw and play a call of an algorithm.

    The text has every operation; with a file for it, a picture or a page, only the arrivals and
    exits are printed. The picture shows the messages between ranks over time. `latecomer verify
    FILE` reads the text of programs back and checks it. Algorithms that decide while they run have
    no programs: their text is the plan, and the moves of the call in order of time.

    Example: latecomer show sorted_linear_tree --ranks 4 --arrivals 4,0,0,0 --svg slt.svg
    """
    from ..core.compiled import core
    from ..core.registry import check_choice, decides_while_it_runs

    asked.check()
    ranks, collective = asked.ranks, asked.collective
    times = read_times(asked.arrivals, asked.network)
    deciding = decides_while_it_runs(collective, asked.algorithm)
    by_length = times.steps and (asked.html is not None or deciding)
    algorithm = asked.algorithm + (f":segments={asked.segments}" if asked.segments else "")
    if times.steps:
        algorithm = with_pieces(algorithm, collective, ranks, blocks=by_length)
    pieces, lengths = named_pieces(algorithm), None
    if asked.parts is not None:
        lengths = [core.parse_count("--parts", part) for part in asked.parts.split(",")]
    count = (pieces or ranks) * _LONG if by_length else max(ranks, pieces or 0)
    if asked.count is not None and not lengths:
        count = core.parse_count("count", asked.count)
    problem: dict[str, Any] = {
        "ranks": ranks,
        "count": sum(lengths) if lengths else count,
        "in_place": asked.in_place,
        "commutative": not asked.non_commutative,
        "exact": asked.exact,
        "collective": collective,
        "root": asked.root or 0,
        "parts": lengths,
    }
    nodes = asked.nodes_of(ranks)
    if by_length:
        times = times.by_length(_ELEMENT * problem["count"] // (pieces or ranks))
    check_choice(collective, algorithm)
    call = _call(algorithm, problem, times, asked.json, nodes)
    other = _other(algorithm, problem, times, asked.beside, nodes) if asked.html else None
    _print(call, times, asked)
    if asked.svg or asked.html:
        from ..lab import picture

        labels = picture.Labels(*times.unit(float(call.simulation.exits.max())))
    if asked.svg:
        picture.write(asked.svg, call, labels)
        say(f"wrote {asked.svg}")
    if asked.html:
        calls, vector = [call, other] if other else [call], _ELEMENT * problem["count"]
        seconds = vector * core.Network(times.network).beta
        picture.write_page(asked.html, calls, labels, seconds, _used(calls, times))
        say(f"wrote {asked.html}")


def _call(
    algorithm: str, asked: dict[str, Any], times: Times, as_json: bool, nodes: tuple[int, ...]
) -> Call:
    """The call. Raises ValueError, and UserError if there is too little memory."""
    from ..base import memory
    from ..core import programs, simulation
    from ..lab.picture.replay import Call

    problem = programs.problem(**asked)
    plan = programs.make_plan(problem, algorithm, times.arrival, times.network, nodes)
    each = _BYTES_IN_JSON if as_json else _BYTES_IN_TEXT
    needed = memory.about_bytes(plan.about_operations(), plan.ranks, each)
    memory.check_memory(f"{algorithm} on {plan.ranks} ranks", needed, memory.free_bytes())
    run = simulation.run(plan, times.arrival, trace=True)
    return Call(programs.schedule_of_any(plan), run, tuple(plan.placement))


def _other(
    algorithm: str, asked: dict[str, Any], times: Times, beside: str | None, nodes: tuple[int, ...]
) -> Call | None:
    """The call beside it. Raises UsageError and ValueError."""
    from ..core.registry import row_of

    collective = asked["collective"]
    if beside is None:
        plain = "ring" if asked["commutative"] else "rabenseifner"  # which keeps the order
        beside = plain if algorithm != plain and row_of(collective, plain) else None
    if beside is None:
        return None
    if row_of(collective, beside) is None:
        names = listed(beside, (row.name for row in latecomer.algorithms(collective)))
        raise bad_value("--beside", f"'{beside}'; give an algorithm of {collective}: {names}")
    if times.steps:
        beside = with_pieces(beside, collective, asked["ranks"], blocks=True)
    return _call(beside, asked, times, as_json=False, nodes=nodes)


def _print(call: Call, times: Times, asked: Options) -> None:
    """The operations, unless a file says more than a reader wants to see; then the times."""
    alone = not (asked.svg or asked.html or asked.output)
    whole = asked.text or alone or asked.json or asked.rank is not None
    said = "".join(f"{line}\n" for line in _times_of(call, times))
    if whole or asked.output:
        text = (_json_text if asked.json else _text)(call, times, asked.rank)
        said = text if whole else said
    if asked.output:
        write_text(asked.output, text)
        say(f"wrote {asked.output}")
    print(said, end="")


def _json_text(call: Call, times: Times, rank: int | None) -> str:
    simulation = call.simulation
    schedule = asdict(call.schedule)
    if rank is not None and schedule["programs"]:
        schedule["programs"] = [schedule["programs"][rank]]
    told = {
        "version": latecomer.__version__,
        "network": times.network_text,
        "placement": call.nodes,
        "schedule": schedule,
        "arrivals": simulation.arrivals.tolist(),
        "exits": simulation.exits.tolist(),
        "log": [entry._asdict() for entry in simulation.log],
        "trace": [asdict(move) for move in simulation.trace],
    }
    return json.dumps(told, indent=2) + "\n"


def _text(call: Call, times: Times, rank: int | None) -> str:
    """The programs behind comment lines, which the reader of schedules skips; of ranks that decide
    while they run the plan and the moves.
    """
    schedule = call.schedule
    parameters = f" {schedule.parameters}" if schedule.parameters else ""
    heading = [
        f"latecomer {latecomer.__version__}: {schedule.algorithm}{parameters}",
        f"network {times.network_told}" + (", 1 step = 1 s" if times.steps else ""),
        *([f"nodes {' '.join(map(str, call.nodes))}"] if call.nodes else []),
        *_times_of(call, times),
    ]
    text = "".join(f"# {line}\n" for line in heading)
    if not schedule.programs:
        return text + schedule.plan + "".join(f"{line}\n" for line in _moves(call, times, rank))
    if rank is None:
        return text + schedule.text
    return text + schedule.plan + schedule.programs[rank].text


def _times_of(call: Call, times: Times) -> list[str]:
    """The two lines that say when ranks came and when they left."""
    return [
        f"arrivals {times.listed(call.simulation.arrivals)}",
        f"exits    {times.listed(call.simulation.exits)}",
    ]


def _used(calls: Sequence[Call], times: Times) -> dict[str, object]:
    """How to repeat the calls of a page."""
    return {
        "version": latecomer.__version__,
        "algorithms": ", ".join(call.name for call in calls),
        "vector": f"{calls[0].schedule.count} elements of {_ELEMENT} bytes",
        "network": times.network_told,
        "arrivals": times.listed(calls[0].simulation.arrivals),
    }


def _moves(call: Call, times: Times, rank: int | None) -> Iterator[str]:
    """The log, where ranks agree on one, and the moves in the order of their begin; None: of all
    ranks.
    """
    from ..lab.picture.replay import segments

    simulation, loads = call.simulation, call.followed.loads
    unit, scale = times.unit(float(simulation.exits.max()))
    if simulation.log:
        yield f"log: time in {unit}, rank, round from which on it takes part"
    for entry in simulation.log:
        yield f"{entry.time * scale:.6g} rank {entry.rank} from round {entry.round}"
    yield f"moves: begin and end in {unit}, ranks, content"
    numbers = {piece: number for number, piece in enumerate(segments(loads.values()))}
    for number, move in enumerate(simulation.trace):
        if rank in (None, move.sender, move.receiver):
            ranks = f"{move.sender}" if move.local else f"{move.sender} -> {move.receiver}"
            content = _content(loads[number], numbers) if number in loads else move.text
            yield f"{move.begin * scale:.6g} {move.end * scale:.6g} {ranks} {content}"


def _content(load: Load, numbers: Mapping[tuple[int, int], int]) -> str:
    kind = "final result" if load.final else "partial result"
    number = numbers.get((load.first, load.end))
    if number is None or len(numbers) == 1:
        return f"{kind} of elements {load.first} to {load.end}"
    return f"{kind} of block {number}"
