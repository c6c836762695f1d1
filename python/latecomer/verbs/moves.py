"""The moves of a call as text, for algorithms that decide while they run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from .times import Times

if TYPE_CHECKING:
    from ..core.programs import Schedule
    from ..core.simulation import Move, Simulation
    from ..lab.picture.replay import Load


def moves_text(
    schedule: Schedule,
    simulation: Simulation,
    times: Times,
    rank: int | None = None,
    nodes: Sequence[int] = (),
) -> str:
    """The log, where ranks agree on one, and the moves in the order of their begin.

    `rank`: only those of this rank; None: all. `nodes`: of the ranks, which share a buffer there.
    """
    unit, scale = times.unit(float(simulation.exits.max()))
    lines = [*_log(simulation, unit, scale), f"moves: begin and end in {unit}, ranks, content"]
    for move, content in _contents(schedule, simulation, nodes):
        if rank in (None, move.sender, move.receiver):
            ranks = f"{move.sender}" if move.local else f"{move.sender} -> {move.receiver}"
            lines.append(f"{move.begin * scale:.6g} {move.end * scale:.6g} {ranks} {content}")
    return "".join(f"{line}\n" for line in lines)


def _log(simulation: Simulation, unit: str, scale: float) -> Iterator[str]:
    if simulation.log:
        yield f"log: time in {unit}, rank, round from which on it takes part"
    for entry in simulation.log:
        yield f"{entry.time * scale:.6g} rank {entry.rank} from round {entry.round}"


def _contents(
    schedule: Schedule, simulation: Simulation, nodes: Sequence[int]
) -> Iterator[tuple[Move, str]]:
    from ..lab.picture.replay import follow, segments

    loads = follow(schedule, simulation, nodes).loads
    pieces = segments(loads.values())
    for number, move in enumerate(simulation.trace):
        yield move, _content(loads[number], pieces) if number in loads else move.text


def _content(load: Load, pieces: Iterable[tuple[int, int]]) -> str:
    kind = "final result" if load.final else "partial result"
    numbers = {piece: number for number, piece in enumerate(pieces)}
    number = numbers.get((load.first, load.end))
    if number is None or len(numbers) == 1:
        return f"{kind} of elements {load.first} to {load.end}"
    return f"{kind} of block {number}"
