"""Matches sends with receives: of those of one pair, communicator and tag the n-th belong together.

MPI lets no message overtake another one of the same sender, receiver, communicator and tag, and
receives take them in the order in which they were posted, whatever they left open. Where some are
missing, others would be matched wrongly: those are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...base.arrays import Array, Bools, Floats, Int64s
from .contradictions import SAME_CLOCK
from .model import NO_PROBES, UNKNOWN, Messages, Probes, Side

Seconds = Callable[[int, Array], Floats]  # a rank's times on the trace's clock
WINDOW_POST = -3  # a tag, of 32 bits


@dataclass(frozen=True)
class Posted:
    """All sends, or all receives, each in the order of its rank's posting; one entry each."""

    side: Side
    keys: Int64s  # (messages, k), equal for both sides: communicator, sender, receiver, tag
    bytes: Int64s
    certain: Bools  # False: of its rank an earlier message may be missing


def matched(
    sends: Posted,
    receives: Posted,
    clock_error: Floats,
    lost: int = 0,
    *,
    probes: Probes = NO_PROBES,
    until: float = np.inf,
) -> Messages:
    """The messages. `clock_error`: of each rank, in seconds; NaN: not known.

    `probes` names receives by their places in `receives`.
    """
    left, right = _numbered(sends.keys), _numbered(receives.keys)
    at_send, at_receive = _joined(left, right)
    unmatched = len(left) + len(right) - 2 * len(at_send)
    sure = sends.certain[at_send] & receives.certain[at_receive]
    sent, got = sends.bytes[at_send], receives.bytes[at_receive]
    wrong = sure & (sent != got) & (sent != UNKNOWN) & (got != UNKNOWN)
    wrong |= sure & _early(sends.side.part(at_send), receives.side.part(at_receive), clock_error)
    keys = sends.keys[at_send]
    # MPI_Win_start may end before the post that it is for: that tells nothing of the others.
    sure &= ~wrong & (~_of_same_key(keys, wrong) | (keys[:, -1].astype(np.int32) == WINDOW_POST))
    at_send, at_receive = at_send[sure], at_receive[sure]
    found = Messages(
        send=sends.side.part(at_send),
        receive=receives.side.part(at_receive),
        bytes=np.maximum(sent, got)[sure],
        unmatched=unmatched,
        lost=lost,
        uncertain=int((~sure).sum()),
        probes=_with_alone(probes, (sends.side, at_send), (receives.side, at_receive)),
        until=until,
    )
    return _between_ranks(found)


def _between_ranks(messages: Messages) -> Messages:
    """The same without those of a rank to itself, which waits for nobody: it computes."""
    own = messages.send.rank != messages.receive.rank
    if own.all():
        return messages
    probed = messages.probes.message
    probes = (probed == UNKNOWN) | own[probed]
    return some_of(messages, np.flatnonzero(own), np.flatnonzero(probes))


def _with_alone(probes: Probes, sent: tuple[Side, Int64s], received: tuple[Side, Int64s]) -> Probes:
    """Of messages but those at these places it is known that a rank was in their calls."""
    found = _renumbered(probes, received[1], len(received[0].rank))
    sides, messages = [found.side], [found.message]
    for side, places in (sent, received):
        alone = np.ones(len(side.rank), bool)
        alone[places] = False
        sides.append(side.part(np.flatnonzero(alone)))
        messages.append(np.full(int(alone.sum()), UNKNOWN, np.int64))
    return Probes(joined(sides), np.concatenate(messages))


def some_of(
    messages: Messages,
    own: Int64s,
    probes: Int64s,
    earlier: Floats | float = 0.0,
    probes_earlier: Floats | float = 0.0,
) -> Messages:
    """The messages at these places, and the probes at those, each so many seconds earlier."""
    send, receive = (side.part(own, earlier) for side in (messages.send, messages.receive))
    side = messages.probes.side.part(probes, probes_earlier)
    some = Probes(side, messages.probes.message[probes])
    return replace(messages, send=send, receive=receive, bytes=messages.bytes[own],
                   probes=_renumbered(some, own, len(messages)))  # fmt: skip


def _renumbered(probes: Probes, places: Int64s, count: int) -> Probes:
    """The same where of `count` messages those at `places` are left."""
    now = np.full(count + 1, UNKNOWN, np.int64)  # the last one is that of UNKNOWN
    now[places] = np.arange(len(places))
    return Probes(probes.side, now[probes.message])


def _early(send: Side, receive: Side, clock_error: Floats) -> Bools:
    """Which messages were received before they were sent. NaN compares as not."""
    error = SAME_CLOCK + clock_error[send.rank] + clock_error[receive.rank]
    return send.posted - receive.end > error


def _of_same_key(keys: Int64s, some: Bools) -> Bools:
    """Which rows are equal to one of those."""
    if not some.any():
        return some
    which = _labelled(keys)
    return np.isin(which, which[some])


def _labelled(rows: Int64s) -> Int64s:
    """A number of each row, the same for equal ones; column by column, as rows sort slowly."""
    label = np.zeros(len(rows), np.int64)
    for column in rows.T:
        _, place = np.unique(column, return_inverse=True)
        both = label * (int(place.max(initial=0)) + 1) + place
        label = np.unique(both, return_inverse=True)[1]
    return label


def _numbered(keys: Int64s) -> Int64s:
    """The keys with another column: how many rows before are equal."""
    if not len(keys):
        return np.zeros((0, keys.shape[1] + 1), np.int64)
    which = _labelled(keys)
    order = np.argsort(which, kind="stable")
    starts = np.flatnonzero(np.diff(which[order], prepend=-1))
    before = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    number = np.empty(len(order), np.int64)
    number[order] = before
    return np.column_stack([keys, number])


def _joined(left: Int64s, right: Int64s) -> tuple[Int64s, Int64s]:
    """The places of equal rows; rows of one side differ."""
    if not len(left) or not len(right):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    which = _labelled(np.concatenate([left, right]))
    place = np.full(int(which.max()) + 1, -1, np.int64)
    place[which[len(left) :]] = np.arange(len(right))
    there = place[which[: len(left)]]
    at = np.flatnonzero(there >= 0)
    return at, there[at]


def joined(sides: Sequence[Side]) -> Side:
    """All of them, one behind the other."""
    return Side(**{name: np.concatenate([getattr(side, name) for side in sides])
                   for name in vars(sides[0])})  # fmt: skip
