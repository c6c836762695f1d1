"""Lower bounds of the time of all algorithms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .compiled import core
from .programs import costs, problem, seconds

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def least_after_last(
    *,
    ranks: int,
    bytes: int,  # noqa: A002 - the name of the column and the option
    arrival: ArrayLike,
    network: str | core.Network = "",
    collective: str = "allreduce",
    root: int = 0,
    background: bool = False,
) -> float:
    """The least time in seconds from the last arrival to the last exit, on any schedule.

    `bytes` is the whole vector; `arrival` has shape (ranks,), in seconds; `network` is as in
    `program`. `background`: ranks may receive before they arrive, as they may in any case messages
    below the network's eager limit. Raises ValueError.
    """
    what = problem(collective=collective, ranks=ranks, count=bytes, element_bytes=1, root=root)
    return core.least_after_last(what, seconds(arrival), costs(network), background)
