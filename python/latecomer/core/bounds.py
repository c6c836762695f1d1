"""Lower bounds of the time of all algorithms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .compiled import core
from .programs import costs, problem, renamed, seconds

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@renamed(arrival="arrivals")
def least_after_last(
    *,
    ranks: int,
    bytes: int,  # noqa: A002 - the name of the column and the option
    arrivals: ArrayLike,
    network: str | core.Network = "",
    collective: str = "allreduce",
    root: int = 0,
    background: bool = False,
) -> float:
    """The least time in seconds from the last arrival to the last exit, on any schedule.

    Parameters
    ----------
    ranks, bytes : int
        The number of ranks, and the size of the whole vector.
    arrivals : array of shape (ranks,)
        When each rank arrives, in seconds.
    network, collective, root
        As in `program`.
    background : bool
        Ranks may receive before they arrive, as they may in any case messages below the network's
        eager limit.

    Raises
    ------
    ValueError
        For what makes no sense.
    """
    what = problem(collective=collective, ranks=ranks, count=bytes, element_bytes=1, root=root)
    return core.least_after_last(what, seconds(arrivals), costs(network), background)
