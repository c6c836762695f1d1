"""The nodes of ranks, from the options --per-node and --placement."""

from __future__ import annotations

from ...core.compiled import core
from .errors import OptionError


def choose_placement(ranks: int, per_node: int | None, placement: str | None) -> tuple[int, ...]:
    """The node of each rank; empty: each has its own. Raises OptionError and ValueError."""
    if placement is None:
        return tuple(core.consecutive_placement(ranks, per_node or 1))
    if per_node is not None:
        what = f"--per-node {per_node} with --placement"
        raise OptionError(what, placement, "leave one of them out")
    return tuple(core.parse_placement(placement, ranks))


def share(placement: tuple[int, ...]) -> bool:
    """Tell whether two ranks share a node."""
    return len(set(placement)) < len(placement)
