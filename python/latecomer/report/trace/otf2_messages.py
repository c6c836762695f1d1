"""The messages of OTF2 archives, and the calls of MPI of which it is not known whom they wait for.

An event says that a message was sent or received, or begun, or complete; the region of MPI around
it says when the rank entered that call, and left it. The region around that one is the place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from ...base.arrays import Floats
from .left_out import LeftOut
from .messages import Posted, Seconds, joined, matched
from .model import Messages, Others, Side, Words, text_of

LEAST = 1e-6  # seconds: shorter calls of which nothing is known are no wait
_OUTSIDE = ("mpi_init", "mpi_finalize")  # ranks wait there, but not for the program's work


@dataclass
class _Region:
    """A region that a rank is in."""

    name: str
    of_mpi: bool
    begin: float
    told: bool = False  # an event says what it did
    completed: list[list[Any]] = field(default_factory=list)  # messages; their end is not known yet


@dataclass
class Talk:
    """The actions of one rank, event by event. Times are in seconds."""

    inside: list[_Region] = field(default_factory=list)
    # Each message has its order, communicator, peer there, tag, bytes, posted, begin, end and site.
    sends: list[list[Any]] = field(default_factory=list)
    receives: list[list[Any]] = field(default_factory=list)
    others: list[tuple[float, float]] = field(default_factory=list)
    _open: dict[int, tuple[int, float, list[Any] | None]] = field(default_factory=dict)
    _order: int = 0

    def enter(self, name: str, of_mpi: bool, time: float) -> None:
        self.inside.append(_Region(name, of_mpi, time))

    def leave(self, time: float) -> None:
        if not self.inside:
            return
        region = self.inside.pop()
        for message in region.completed:
            message[7] = time
        unknown = region.of_mpi and not region.told and time - region.begin > LEAST
        if unknown and not region.name.lower().startswith(_OUTSIDE):
            self.others.append((region.begin, time))

    @property
    def site(self) -> str:
        """The innermost region that is not MPI's."""
        return next((region.name for region in reversed(self.inside) if not region.of_mpi), "")

    def told(self) -> _Region | None:
        """The call of MPI that the rank is in, of which an event tells."""
        region = self.inside[-1] if self.inside and self.inside[-1].of_mpi else None
        if region is not None:
            region.told = True
        return region

    def begun(self, request: int, time: float, what: list[Any] | None) -> None:
        """A request was begun; `what` is sent, as in `sends` without its times."""
        region = self.told()
        self._order += 1
        self._open[request] = self._order, region.begin if region else time, what

    def completed(
        self, into: list[list[Any]], request: int, time: float, what: list[Any] | None = None
    ) -> bool:
        """A request to send, or to receive this, is complete; False: it is not known."""
        order, posted, sent = self._open.pop(request, (0, 0.0, None))
        what = what or sent
        if not order or what is None:
            self.told()
            return False
        self._add(into, order, posted, time, what)
        return True

    def at_once(self, into: list[list[Any]], time: float, what: list[Any]) -> None:
        """A message that one call sends or receives."""
        self._order += 1
        self._add(into, self._order, None, time, what)

    def _add(
        self, into: list[list[Any]], order: int, posted: float | None, time: float, what: list[Any]
    ) -> None:
        region = self.told()
        begin = region.begin if region else time
        into.append([order, *what, begin if posted is None else posted, begin, time, self.site])
        if region:
            region.completed.append(into[-1])

    def cancelled(self, request: int) -> None:
        self.told()
        self._open.pop(request, None)

    def end(self) -> int:
        """Sends that were never completed end where they began. Returns receives that were not."""
        for order, posted, what in self._open.values():
            if what is not None:
                self.sends.append([order, *what, posted, posted, posted, ""])
        lost = sum(what is None for _, _, what in self._open.values())
        self._open.clear()
        return lost


class Events:
    """The events of all ranks, by what they are."""

    def __init__(self, otf2: ModuleType, left: LeftOut, where: str) -> None:
        self.otf2, self.left, self.where = otf2, left, where
        self.talks: dict[int, Talk] = {}
        self._regions: dict[Any, tuple[str, bool]] = {}
        names = {
            "Enter": self._enter, "Leave": self._leave, "MpiSend": self._send,
            "MpiRecv": self._receive, "MpiMrecv": self._receive, "MpiIsend": self._begin_send,
            "MpiIsendComplete": self._end_send, "MpiIrecvRequest": self._begin_receive,
            "MpiImrecvRequest": self._begin_receive, "MpiIrecv": self._end_receive,
            "MpiImrecv": self._end_receive, "MpiRequestCancelled": self._cancel,
        }  # fmt: skip
        # Older versions of the module do not have all of them.
        self._kinds = {getattr(otf2.events, name): take for name, take in names.items()
                       if hasattr(otf2.events, name)}  # fmt: skip

    def of(self, rank: int) -> Talk:
        return self.talks.setdefault(rank, Talk())

    def take(self, rank: int, event: Any, time: float) -> None:
        take = self._kinds.get(type(event))
        if take is not None:
            take(self.of(rank), event, time)

    def _enter(self, talk: Talk, event: Any, time: float) -> None:
        region = event.region
        known = self._regions.get(region)
        if known is None:
            name = text_of(region.name)
            of_mpi = region.paradigm == self.otf2.Paradigm.MPI or name.lower().startswith("mpi_")
            known = self._regions[region] = name, of_mpi
        talk.enter(*known, time)

    def _leave(self, talk: Talk, _event: Any, time: float) -> None:
        talk.leave(time)

    def _send(self, talk: Talk, event: Any, time: float) -> None:
        talk.at_once(talk.sends, time, _what(event, event.receiver))

    def _receive(self, talk: Talk, event: Any, time: float) -> None:
        talk.at_once(talk.receives, time, _what(event, event.sender))

    def _begin_send(self, talk: Talk, event: Any, time: float) -> None:
        talk.begun(event.request_id, time, _what(event, event.receiver))

    def _end_send(self, talk: Talk, event: Any, time: float) -> None:
        self._known(talk.completed(talk.sends, event.request_id, time))

    def _begin_receive(self, talk: Talk, event: Any, time: float) -> None:
        talk.begun(event.request_id, time, None)

    def _end_receive(self, talk: Talk, event: Any, time: float) -> None:
        what = _what(event, event.sender)
        self._known(talk.completed(talk.receives, event.request_id, time, what))

    def _cancel(self, talk: Talk, event: Any, _time: float) -> None:
        talk.cancelled(event.request_id)

    def _known(self, known: bool) -> None:
        if not known:
            self.left.add("messages that are complete, and were never begun", self.where)


def _what(event: Any, peer: int) -> list[Any]:
    """Communicator, peer in it, tag and bytes."""
    return [event.communicator, int(peer), int(event.msg_tag), int(event.msg_length)]


class Members:
    """The ranks of a communicator, by their place there; -1 for what is no rank."""

    def __init__(self, ranks: tuple[int, ...]) -> None:
        self.ranks = ranks
        self._places = {rank: place for place, rank in reversed([*enumerate(ranks)])}
        self.different = len(self._places) == len(ranks) and -1 not in self._places

    def place(self, rank: int) -> int | None:
        """The first place of a rank; None: it is no member."""
        return self._places.get(rank)


@dataclass(frozen=True)
class Found:
    """The messages of one rank: `sites` are texts, by number."""

    sends: Floats  # (messages, 8): communicator, sender, receiver, tag, bytes, ...
    receives: Floats  # ... posted, begin, end; sender and receiver by communicator
    sites: tuple[Sequence[str], Sequence[str]]
    others: Floats  # (calls, 2): begin and end


def found_of(
    rank: int, talk: Talk, members: Callable[[Any], Members | None], left: LeftOut
) -> Found:
    """The actions of a rank, in the order of posting. `members`: of communicators."""
    if lost := talk.end():
        left.add("receives that were never complete", f"rank {rank}", count=lost)
    tables, sites = [], []
    for sends, rows in ((True, talk.sends), (False, talk.receives)):
        own, texts, odd = [], [], 0
        for _, communicator, peer, tag, size, *times, site in sorted(rows, key=lambda row: row[0]):
            of = members(communicator)
            place = of and of.place(rank)
            if of is None or place is None or peer >= len(of.ranks):
                odd += 1
                continue
            ends = (place, peer) if sends else (peer, place)
            own.append((communicator._ref, *ends, tag, min(size, 1 << 52), *times))
            texts.append(site)
        if odd:
            left.add("messages of communicators that the rank or its partner is not in",
                     f"rank {rank}", count=odd)  # fmt: skip
        tables.append(np.array(own, np.float64).reshape(-1, 8))
        sites.append(texts)
    others = np.array(talk.others, np.float64).reshape(-1, 2)
    return Found(tables[0], tables[1], (sites[0], sites[1]), others)


def messages_of(
    found: Mapping[int, Found], words: Words, seconds: Seconds, error: Floats
) -> dict[str, Messages | Others]:
    """`messages` and `others` of a Trace. `seconds(rank, times)`: on the trace's clock."""
    posted = []
    for which in (0, 1):
        sides, keys, sizes = [], [], []
        for rank, own in found.items():
            table, sites = (own.sends, own.receives)[which], own.sites[which]
            post, enter, leave = (seconds(rank, table[:, at]) for at in (5, 6, 7))
            places = np.array([words.place(site) for site in sites], np.int32)
            sides.append(Side(np.full(len(table), rank, np.int32), post, enter, leave, places))
            keys.append(table[:, :4].astype(np.int64))
            sizes.append(table[:, 4].astype(np.int64))
        size = np.concatenate(sizes)
        posted.append(Posted(joined(sides), np.concatenate(keys), size, np.ones(len(size), bool)))
    ranks = np.concatenate([np.full(len(own.others), rank, np.int32)
                            for rank, own in found.items()])  # fmt: skip
    begin, end = (np.concatenate([seconds(rank, own.others[:, at]) for rank, own in found.items()])
                  for at in (0, 1))  # fmt: skip
    sends, receives = posted
    return {
        "messages": matched(sends, receives, error),
        "others": Others(ranks, begin, end, begin, np.zeros(len(ranks), np.uint8)),
    }
