"""Schedules on the virtual network: the exit of each rank, and the time of each message."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from .programs import Slice, make_plan, problem, renamed, seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from ..base.arrays import Floats
    from .compiled import core


@dataclass(frozen=True)
class Control:
    """The meaning of a control message. A field that it does not name is None."""

    name: str  # one word, as in "update"; empty: unknown
    words: int  # of 64 bits
    rank: int | None  # that it names
    number: int | None  # of a round or a segment
    entries: tuple[tuple[int, int], ...]  # ranks that take part, and from which round on

    @property
    def text(self) -> str:
        """As in "update 12, 3 from 5"."""
        named = [f"rank {self.rank}"] if self.rank is not None else []
        named += [str(self.number)] if self.number is not None else []
        first = " ".join([self.name or f"{self.words} words", *named])
        return ", ".join([first, *(f"{rank} from {round_}" for rank, round_ in self.entries)])


@dataclass(frozen=True)
class Move:
    """One transfer, one local combine, copy or accumulate (`sender` == `receiver`), or a flag that
    ended a wait. Times in seconds.
    """

    sender: int
    receiver: int
    begin: float
    end: float
    count: int  # elements; 0 in control messages
    operation: int  # its index in the sender's program; protocols have numbers of their own
    text: str
    kind: str = "message"  # or "control", "combine", "copy", "accumulate", "flag"
    taken: float = 0.0  # when the receiver has it in `target`: `end`, or later
    source: Slice | None = None  # message: the sender's; combine: the left operand
    target: Slice | None = None  # message: the receiver's; combine: the right operand
    into: str = "right"  # combine: the operand that holds the result, "left" or "right"
    control: Control | None = None
    flag: int | None = None  # of the node; of accumulates, their first copy, and waits

    @property
    def local(self) -> bool:
        """No transfer, but work of one rank."""
        return self.sender == self.receiver and self.kind != "flag"

    @property
    def result(self) -> Slice | None:
        """The slice that is written."""
        return self.source if self.into == "left" else self.target


class LogEntry(NamedTuple):
    """A rank that takes part in a call from a round on; it knows that at this time."""

    rank: int
    round: int
    time: float


class Horizon(NamedTuple):
    """From this time on no further rank takes part in the rounds before `round`."""

    time: float
    round: int


@dataclass(frozen=True)
class Simulation:
    """A call on the virtual network. Times in seconds, arrays of shape (ranks,)."""

    arrivals: Floats
    exits: Floats
    trace: list[Move] = field(repr=False)  # by begin; empty unless asked for

    @property
    def mean_elapsed(self) -> float:
        """Mean over the ranks of exit minus arrival."""
        return float((self.exits - self.arrivals).mean())

    @property
    def after_last(self) -> float:
        """Last exit minus last arrival."""
        return float(self.exits.max() - self.arrivals.max())

    @property
    def log(self) -> list[LogEntry]:
        """The ranks in the order in which they take part, for protocols that agree on it.

        Empty for the others, and without a trace.
        """
        rounds = {rank: first for _, told in self._told() for rank, first in told.entries}
        heard: dict[int, float] = {}
        for move, told in self._told():
            if move.receiver in dict(told.entries):
                heard.setdefault(move.receiver, move.end)
        for rank in rounds.keys() - heard.keys():  # the one that writes the log
            heard[rank] = float(self.arrivals[rank])
            if any(first < rounds[rank] for first in rounds.values()):
                heard[rank] = min(m.begin for m, t in self._told() if rank in dict(t.entries))
        return [LogEntry(r, rounds[r], heard[r]) for r in sorted(rounds, key=lambda r: rounds[r])]

    @property
    def horizons(self) -> list[Horizon]:
        """Each horizon at the time when it was told first. Empty where `log` is."""
        names = {told.name for _, told in self._told()}
        found: dict[int, float] = {}
        for move in self.trace:
            if move.control and move.control.name in names and move.control.number is not None:
                found.setdefault(move.control.number, move.begin)
        return sorted(Horizon(time, round_) for round_, time in found.items())

    def _told(self) -> list[tuple[Move, Control]]:
        """The control messages that hold entries."""
        moves = [(move, move.control) for move in self.trace if move.control]
        return [(move, control) for move, control in moves if control.entries]


@renamed(arrival="arrivals")
def simulate(
    algorithm: str,
    *,
    ranks: int,
    count: int | None = None,
    collective: str = "allreduce",
    element_bytes: int = 4,
    root: int = 0,
    commutative: bool = True,
    exact: bool = False,
    in_place: bool = False,
    parts: Sequence[int] | None = None,
    arrivals: ArrayLike | None = None,
    estimate: ArrayLike | None = None,
    network: str | core.Network = "",
    placement: Sequence[int] | None = None,
    trace: bool = False,
) -> Simulation:
    """Run `algorithm` in virtual time, on the engine that also runs it over MPI.

    Parameters
    ----------
    algorithm, ranks, count, collective, element_bytes, root, commutative, exact, in_place, parts
        As in `program`; so are network and placement.
    arrivals : array of shape (ranks,), optional
        When each rank really arrives, in seconds. The default is all together.
    estimate : array of shape (ranks,), optional
        The arrivals that the plan is made for. The default is the true ones.
    trace : bool
        Ask for the list of moves.

    Returns
    -------
    Simulation

    Raises
    ------
    ValueError
        For what makes no sense.
    RuntimeError
        If a rank gets stuck.
    """
    asked = problem(
        ranks, count, collective, element_bytes, root, commutative, exact, in_place, parts
    )
    known = arrivals if estimate is None else estimate
    plan = make_plan(asked, algorithm, known, network, placement)
    return run(plan, None if arrivals is None else seconds(arrivals), trace=trace)


def run(plan: core.Plan, arrivals: list[float] | None, *, trace: bool = False) -> Simulation:
    """Carry out a plan in virtual time. `arrivals` in seconds; None: all together."""
    import numpy as np

    found = plan.simulate(arrivals or [0.0] * plan.ranks, trace)
    moves = [_move(**move) for move in found["trace"]]
    return Simulation(np.array(found["arrivals"]), np.array(found["exits"]), moves)


def _move(*, to: int, control: dict[str, Any] | None = None, **more: Any) -> Move:
    sender = more.pop("from")
    if control is not None:
        meaning = Control(**{**control, "entries": tuple(control["entries"])})
        more |= {"count": 0, "operation": 0, "text": meaning.text, "control": meaning}
    more |= {name: Slice(*more[name]) for name in ("source", "target") if name in more}
    return Move(sender=sender, receiver=to, **more)
