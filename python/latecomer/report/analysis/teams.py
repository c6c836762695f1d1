"""Teams: the sets of ranks that share no call or message with other ranks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def teams(groups: Iterable[Sequence[int] | NDArray[np.int32]]) -> list[int]:
    """The sizes of the sets of ranks that share no call, from the members of each group."""
    return list(Counter(team_of(groups).values()).values())


def team_of(groups: Iterable[Sequence[int] | NDArray[np.int32]]) -> dict[int, int]:
    """By rank a number of its set: a rank of it, the same for all."""
    above: dict[int, int] = {}  # by rank, one of its team: itself if it stands for the team

    def top(rank: int) -> int:
        while above[rank] != rank:
            above[rank] = rank = above[above[rank]]
        return rank

    for members in dict.fromkeys(tuple(map(int, each)) for each in groups):
        for rank in members:
            above.setdefault(rank, rank)
            above[top(rank)] = top(members[0])
    return {rank: top(rank) for rank in above}
