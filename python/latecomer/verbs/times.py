"""Times of `show`: in steps, as in the figures of papers, or in seconds on a given network; and the
segments or blocks of a vector, where the user names none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..base.units import UNITS
from ..command.declare import bad_value

# Every message takes one second, the step, and no other than control messages starts before its
# receiver has arrived.
_STEPS = "alpha=1s,beta=0,gamma=0,eager=0"


@dataclass(frozen=True)
class Times:
    """The arrivals, the network, and the unit of times."""

    arrival: list[float] | None  # seconds or steps
    network: str
    steps: bool

    @property
    def network_text(self) -> str:
        """All costs of the network, also those that were not named."""
        from ..core.compiled import core

        return core.Network(self.network).text

    @property
    def network_told(self) -> str:
        """The costs that are not as built in, and the chief ones, for people."""
        from ..core import networks

        return networks.brief(self.network)

    def unit(self, longest: float) -> tuple[str, float]:
        """The name of the unit that fits the longest time, and how many make one second."""
        if self.steps:
            return "steps", 1.0
        return next((unit for unit in UNITS[:3] if longest * unit[1] >= 1), UNITS[2])

    def listed(self, times: Iterable[float]) -> str:
        """Times on one line."""
        values = [float(time) for time in times]
        name, scale = self.unit(max(values))
        return " ".join(f"{value * scale:.6g}" for value in values) + f" {name}"

    def by_length(self, piece: int) -> Times:
        """Steps in which a message of `piece` bytes takes one step, and others by their length.

        A control message takes little more than a start-up.
        """
        start = 1 / 20
        network = f"alpha={start}s,beta={(1 - start) / max(piece, 1)!r}s,gamma=0,eager=0"
        return replace(self, network=network)


def read_times(arrival: str | None, network: str | None) -> Times:
    """The options --arrivals and --network. Raises UsageError and ValueError."""
    parts = arrival.split(",") if arrival else []
    if network is None:
        return Times([_in_steps(part) for part in parts] or None, _STEPS, steps=True)
    return Times([_in_seconds(part) for part in parts] or None, network, steps=False)


def _in_steps(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise bad_value(
            "--arrivals",
            f"'{text}'; give steps from 0 up, as in 4,0,0,0, or times together with --network",
        )
    return value


def _in_seconds(text: str) -> float:
    from ..core.compiled import core

    return core.parse_seconds("arrival", text.strip())


def named_pieces(algorithm: str) -> int | None:
    """The value of the algorithm's own parameter `segments` or `blocks`."""
    given = re.search(r":(?:segments|blocks)=(\d+)", algorithm)
    return int(given[1]) if given else None


def with_pieces(algorithm: str, collective: str, ranks: int, *, blocks: bool) -> str:
    """Add their number, where the algorithm has it: a segment for each rank or, if asked, two
    blocks. In steps, longer segments would cost nothing.
    """
    from ..core.registry import row_of

    row = row_of(collective, algorithm)
    names = {parameter.name for parameter in row.parameters} if row else set()
    if named_pieces(algorithm) is not None:
        return algorithm
    if "segments" in names:
        return f"{algorithm}:segments={ranks}"
    if "blocks" in names and blocks:
        return f"{algorithm}:blocks={2 * ranks}"
    return algorithm
