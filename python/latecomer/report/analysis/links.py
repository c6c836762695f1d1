"""The bursts of links while a job is gone through again: messages and calls use them up."""

from __future__ import annotations

import numpy as np

from ...base.arrays import Floats
from ...core.compiled import core
from ..trace.model import Trace

_LONGEST = 100.0  # seconds that a message may occupy a link
_CLOCK = 1e5  # seconds that the clock of the buckets counts before it begins anew


class Moves:
    """The messages between hosts, in the order in which they moved."""

    def __init__(self, trace: Trace, nodes: list[int], network: core.Network, last: Floats) -> None:
        """`last`: the last arrivals of the collectives, ascending. There are none where links have
        no burst that messages could use up."""
        node = np.array(nodes, np.int64)
        self.bounds = np.zeros(len(last) + 1, np.int64)
        self.at, self.bytes = np.zeros(0), np.zeros(0)
        self.mover = self.sender = self.receiver = np.zeros(0, np.int64)
        messages = trace.messages
        if network.burst == 0 or messages is None or not len(messages):
            return
        # Longer ones leave when both ranks have posted them.
        eager = network.eager_limit
        send, receive = messages.send, messages.receive
        by_receiver = (messages.bytes > eager) & (receive.posted > send.posted)
        at = np.where(by_receiver, receive.posted, send.posted)
        between = node[send.rank] != node[receive.rank]
        order = np.flatnonzero(between)[np.argsort(at[between], kind="stable")]
        self.at = at[order]
        self.mover = np.where(by_receiver, receive.rank, send.rank)[order].astype(np.int64)
        self.sender, self.receiver = node[send.rank[order]], node[receive.rank[order]]
        most = network.burst + _LONGEST / network.beta if network.beta > 0 else np.inf
        self.bytes = np.clip(messages.bytes[order].astype(float), 0, most)
        self.bounds[1:] = np.searchsorted(self.at, last)


class Links:
    """The links between the calls that are simulated one after the other. All begin at rest."""

    def __init__(self, moves: Moves, nodes: list[int], network: core.Network) -> None:
        self.moves, self.nodes, self.network = moves, nodes, network
        self._first = -1
        self.rest(0)

    def rest(self, first: int) -> None:
        """Collective `first` begins another stretch of the trace, unless it began this one."""
        if first == self._first:
            return
        self.ahead = np.zeros(len(self.nodes))  # by how much ranks are ahead of what was measured
        self._first, self._passed = first, int(self.moves.bounds[first])
        self._origin = np.nan  # of the clock of the buckets, which began() makes

    def before(self, event: int, arrival: float) -> None:
        """The messages that moved before a collective, since the last one or the stretch's begin.

        `arrival`: the first one. Messages that moved long before or after it are left out.
        """
        some = slice(self._passed, int(self.moves.bounds[event + 1]))
        if some.stop <= some.start:
            return
        self._passed = some.stop
        at = self.moves.at[some] - self.ahead[self.moves.mover[some]] - arrival
        near = np.flatnonzero(np.abs(at) < _CLOCK)
        now = self.began(arrival)  # which may make new buckets
        which = near + some.start
        self.buckets.pass_messages(self.network, self.moves.sender[which],
                                   self.moves.receiver[which], at[near] + now,
                                   self.moves.bytes[which])  # fmt: skip

    def ended(self, later: float) -> None:
        """The last call ended so many seconds later than the buckets say."""
        self._origin += later

    def began(self, time: float) -> float:
        """A time in seconds on the clock of the buckets."""
        if not abs(time - self._origin) < _CLOCK:
            self.buckets = core.LinkBuckets(max(self.nodes, default=-1) + 1)
            self._origin = time
        return time - self._origin
