"""Matches sends with receives: of those of one pair, communicator and tag the n-th belong together.

MPI lets no message overtake another one of the same sender, receiver, communicator and tag, and
receives take them in the order in which they were posted, whatever they left open.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .model import Messages, Side

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Whole = NDArray[np.int64]


def matched(
    sends: Side, receives: Side, keys: tuple[Whole, Whole], size: Whole, lost: int = 0
) -> Messages:
    """The messages, from all sends and all receives, each in the order of its rank's posting.

    `keys`: of shape (sends, k) and (receives, k), equal for both sides of a message: communicator,
    sender, receiver, tag. `size`: bytes of each receive.
    """
    left, right = (_numbered(key) for key in keys)
    pairs = _joined(left, right)
    at_send, at_receive = pairs
    return Messages(
        send=_taken(sends, at_send),
        receive=_taken(receives, at_receive),
        bytes=size[at_receive],
        unmatched=len(left) + len(right) - 2 * len(at_send),
        lost=lost,
    )


def _numbered(keys: Whole) -> Whole:
    """The keys with another column: how many rows before are equal."""
    if not len(keys):
        return np.zeros((0, keys.shape[1] + 1), np.int64)
    _, which = np.unique(keys, axis=0, return_inverse=True)
    which = which.reshape(-1)
    order = np.argsort(which, kind="stable")
    starts = np.flatnonzero(np.diff(which[order], prepend=-1))
    before = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    number = np.empty(len(order), np.int64)
    number[order] = before
    return np.column_stack([keys, number])


def _joined(left: Whole, right: Whole) -> tuple[Whole, Whole]:
    """The places of equal rows; rows of one side differ."""
    if not len(left) or not len(right):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    _, which = np.unique(np.concatenate([left, right]), axis=0, return_inverse=True)
    which = which.reshape(-1)
    place = np.full(int(which.max()) + 1, -1, np.int64)
    place[which[len(left) :]] = np.arange(len(right))
    there = place[which[: len(left)]]
    at = np.flatnonzero(there >= 0)
    return at, there[at]


def _taken(side: Side, places: Whole) -> Side:
    return Side(**{name: column[places] for name, column in vars(side).items()})


def joined(sides: Sequence[Side]) -> Side:
    """All of them, one behind the other."""
    if not sides:
        nothing = np.zeros(0)
        return Side(nothing.astype(np.int32), nothing, nothing, nothing, nothing.astype(np.int32))
    return Side(**{name: np.concatenate([getattr(side, name) for side in sides])
                   for name in vars(sides[0])})  # fmt: skip
