"""Schedules on the virtual network: the exit of each rank, and the time of each message."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .programs import ProblemWords, make_plan, problem, seconds

if TYPE_CHECKING:
    from typing import Unpack

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from .compiled import core


@dataclass(frozen=True)
class Move:
    """One transfer, or (`sender` == `receiver`) one local combine or copy. Times in seconds."""

    sender: int
    receiver: int
    begin: float
    end: float
    count: int  # elements
    operation: int  # its index in the sender's program
    text: str

    @property
    def local(self) -> bool:
        """No transfer, but work of one rank."""
        return self.sender == self.receiver


@dataclass(frozen=True)
class Simulation:
    """A call on the virtual network. Times in seconds, arrays of shape (ranks,)."""

    arrivals: NDArray[np.float64]
    exits: NDArray[np.float64]
    trace: list[Move] = field(repr=False)  # by end of transfer; empty unless asked for

    @property
    def mean_elapsed(self) -> float:
        """Mean over the ranks of exit minus arrival."""
        return float((self.exits - self.arrivals).mean())

    @property
    def after_last(self) -> float:
        """Last exit minus last arrival."""
        return float(self.exits.max() - self.arrivals.max())


def simulate(
    algorithm: str,
    *,
    arrival: ArrayLike | None = None,
    estimate: ArrayLike | None = None,
    network: str | core.Network = "",
    trace: bool = False,
    **asked: Unpack[ProblemWords],
) -> Simulation:
    """Run `algorithm` in virtual time, on the engine that also runs it over MPI.

    The arguments are those of `program`. `arrival`, shape (ranks,), is when each rank really
    arrives, and `estimate` what the plan is made for (None: it is known). `trace` asks for the list
    of moves. Raises ValueError, or RuntimeError if a rank gets stuck.
    """
    import numpy as np

    known = arrival if estimate is None else estimate
    plan = make_plan(problem(**asked), algorithm, known, network)
    times = [0.0] * plan.ranks if arrival is None else seconds(arrival)
    found = plan.simulate(times, trace)
    moves = [_move(**move) for move in found["trace"]]
    return Simulation(np.array(found["arrivals"]), np.array(found["exits"]), moves)


def _move(*, to: int, **more: Any) -> Move:
    sender = more.pop("from")
    return Move(sender=sender, receiver=to, **more)
