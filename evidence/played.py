"""Jobs of messages and collectives, played in virtual time, as traces.

A rank is a generator of what it does: ("compute", seconds); ("send", rank), ("isend", rank),
("receive", rank), ("ireceive", rank); ("wait",) for all that it posted; ("poll", rank, seconds): a
receive by calls that test, with this time between them; ("probe", rank) for what is received next;
("hidden send", rank) and ("hidden receive", rank), by calls that the trace tells only the time of;
("allreduce", group), ("bcast", group, root) and ("reduce", group, root), where a group is a tuple
of ranks, and without one all ranks meet; ("iallreduce",) of all, which ("finish",) completes. A
last word "at=NAME" names the place in the program. What ranks wait for follows from MPI's rules,
simply and slowly.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from latecomer.report.trace.messages import Posted, matched
from latecomer.report.trace.model import UNKNOWN, Group, Others, Probes, Side, Trace, Words

LATENCY = 50e-6  # seconds
TEST = 1e-6  # seconds in a call that tests
COLLECTIVES = ("allreduce", "bcast", "reduce")

Op = tuple[Any, ...]


@dataclass
class _Posted:
    """A send or a receive."""

    sends: bool
    rank: int
    peer: int
    posted: float
    place: int  # among those of its kind and pair
    entered: float | None = None  # the call that completes it; None: not yet
    completed: tuple[float, float] = (0.0, 0.0)
    site: str = ""
    hidden: bool = False
    pause: float = 0.0  # between calls that test
    idle: float = 0.0  # as Side.idle

    @property
    def pair(self) -> tuple[int, int, bool]:
        """Sender, receiver and whether it is hidden."""
        ends = (self.rank, self.peer) if self.sends else (self.peer, self.rank)
        return *ends, self.hidden


@dataclass
class _Rank:
    """Where a rank is."""

    steps: Any
    clock: float = 0.0
    doing: Op | None = None
    site: str = ""
    open: list[_Posted] = field(default_factory=list)
    call: int = 0  # the number of the collective that it is in, on its group
    started: int = 0  # collectives that another call completes


class Played:
    """Plays the ranks' programs to their end. Raises RuntimeError if they hang.

    `rendezvous`: sends wait for their receives. `weak`: data of these move only once both ranks
    have come back to MPI, and data of collectives that another call completes only while all their
    ranks are in such calls. `slow`: latency by
    sender and receiver, where it is not LATENCY.
    """

    def __init__(
        self,
        programs: Iterable[Iterable[Op]],
        *,
        rendezvous: bool = False,
        weak: bool = False,
        slow: Mapping[tuple[int, int], float] | None = None,
    ) -> None:
        self.rendezvous, self.weak, self.slow = rendezvous, weak, slow or {}
        self.ranks = [_Rank(iter(program)) for program in programs]
        self.all = tuple(range(len(self.ranks)))
        self.posted: dict[tuple[bool, tuple[int, int, bool]], list[_Posted]] = defaultdict(list)
        self.done: list[_Posted] = []
        self.probed: list[tuple[_Posted, int]] = []  # and of which receive of its pair
        # By group: of each call what it is, and by rank its arrival, its exit and its place.
        self.calls: dict[tuple[int, ...], list[dict[int, list[Any]]]] = defaultdict(list)
        self.begun: list[dict[int, list[Any]]] = []  # the same of those that another call completes
        self.names: dict[tuple[tuple[int, ...], int], tuple[str, int]] = {}  # and the root's place
        self.counts: dict[tuple[tuple[int, ...], int], int] = defaultdict(int)
        self._play()

    # ---- playing

    def _play(self) -> None:
        ready, stuck = deque(self.all), 0
        while ready:
            number = ready.popleft()
            rank = self.ranks[number]
            if rank.doing is None and not self._begin(number, rank):
                continue
            stuck = 0 if self._ends(number, rank) else stuck + 1
            if stuck > 2 * len(self.all):
                raise RuntimeError("the job hangs")
            ready.append(number)

    def _begin(self, number: int, rank: _Rank) -> bool:
        """Takes what the rank does next; False: it has ended."""
        words = next(rank.steps, None)
        if words is None:
            return False
        rank.site = "somewhere"
        if str(words[-1]).startswith("at="):
            rank.site, words = words[-1].removeprefix("at="), words[:-1]
        rank.doing = words
        name = words[0]
        if name in (
            "send",
            "isend",
            "receive",
            "ireceive",
            "poll",
            "hidden send",
            "hidden receive",
        ):
            sends = name.endswith("send")
            one = _Posted(sends, number, words[1], rank.clock, 0, hidden=name.startswith("hidden"),
                          pause=words[2] if name == "poll" else 0.0)  # fmt: skip
            own = self.posted[sends, one.pair]
            one.place = len(own)
            own.append(one)
            rank.open.append(one)
        elif name in ("iallreduce", "finish"):
            if name == "finish":
                self.begun[rank.started - 1][number][1] = rank.clock
                return True
            self.begun += [{}] if len(self.begun) == rank.started else []
            self.begun[rank.started][number] = [rank.clock, None, None, rank.site]
            rank.started += 1
        elif name in COLLECTIVES:
            group = words[1] if len(words) > 1 else self.all
            root = UNKNOWN if name == "allreduce" else group.index(_root(group, words[1:]))
            rank.call = self.counts[group, number]
            self.counts[group, number] += 1
            while len(self.calls[group]) <= rank.call:
                self.calls[group].append({})
            self.names[group, rank.call] = name, root
            self.calls[group][rank.call][number] = [rank.clock, None, rank.site]
        return True

    def _ends(self, number: int, rank: _Rank) -> bool:
        """Ends what the rank does, if it can."""
        name, *arguments = rank.doing or ("",)
        if name == "compute":
            rank.clock += arguments[0]
        elif name == "probe":
            return self._probe(number, rank, arguments[0])
        elif name in ("send", "receive", "wait", "poll", "hidden send", "hidden receive"):
            those = rank.open if name == "wait" else rank.open[-1:]
            if not self._complete(rank, those):
                return False
        elif name == "finish":
            if not self._finish(number, rank):
                return False
        elif name in COLLECTIVES and not self._leave(number, rank, name, arguments):
            return False
        rank.doing = None
        return True

    def _complete(self, rank: _Rank, those: list[_Posted]) -> bool:
        end = rank.clock
        for one in rank.open:
            one.entered = end if one.entered is None else one.entered
        for one in those:
            latency = self.slow.get(one.pair[:2], LATENCY)
            others = self.posted[not one.sends, one.pair]
            if not one.sends or self.rendezvous:
                if one.place >= len(others):
                    return False
                other = others[one.place]
                if self.rendezvous and self.weak:
                    if other.entered is None:
                        return False
                    end = max(end, other.entered + latency)
                end = max(end, max(other.posted, one.posted) + latency)
            else:
                end = max(end, one.posted + latency / 5)
        entry = rank.clock
        for one in those:
            one.idle = rank.clock
            if one.pause:  # it tests from its clock on; the last time it has come
                tests = int(np.ceil((end - rank.clock) / (one.pause + TEST)))
                end = rank.clock + tests * (one.pause + TEST) + TEST
                entry = end - (tests + 1) * TEST
            one.completed, one.site = (entry, end), rank.site
            self.done.append(one)
        rank.open = [one for one in rank.open if all(one is not other for other in those)]
        rank.clock = end
        return True

    def _probe(self, number: int, rank: _Rank, peer: int) -> bool:
        place = len(self.posted[False, (peer, number, False)])
        sends = self.posted[True, (peer, number, False)]
        if place >= len(sends):
            return False
        one = _Posted(False, number, peer, rank.clock, place, site=rank.site, idle=rank.clock)
        latency = self.slow.get(one.pair[:2], LATENCY)
        one.completed = rank.clock, max(rank.clock, sends[place].posted + latency)
        rank.clock = one.completed[1]
        rank.doing = None
        self.probed.append((one, place))
        return True

    def _finish(self, number: int, rank: _Rank) -> bool:
        """Leaves the call that completes a collective."""
        there = self.begun[rank.started - 1]
        times = [part[1 if self.weak else 0] for part in there.values()]
        if len(there) < len(self.all) or None in times:
            return False
        rank.clock = there[number][2] = max(rank.clock, max(times) + LATENCY)
        return True

    def _leave(self, number: int, rank: _Rank, name: str, arguments: list[Any]) -> bool:
        group = arguments[0] if arguments else self.all
        there = self.calls[group][rank.call]
        awaited = group
        if name != "allreduce":
            root = _root(group, arguments)
            awaited = (root, number) if name == "bcast" else group if number == root else (number,)
        if any(each not in there for each in awaited):
            return False
        last = max(there[each][0] for each in awaited)
        rank.clock = there[number][1] = last + LATENCY
        return True

    # ---- the trace

    def trace(self, hosts: Sequence[str] = ()) -> Trace:
        """The trace of the job; each rank has a host of its own without `hosts`."""
        words = Words()
        groups = [self._group(number, members, words) for number, members in enumerate(self.calls)]
        trace = Trace(
            source="played", format="latecomer 1", words=words, groups=groups,
            hosts=list(hosts) or [f"node{rank}" for rank in self.all],
            begin=np.zeros(len(self.all)), end=np.array([rank.clock for rank in self.ranks]),
            clock="all ranks read one clock", clock_error=np.zeros(len(self.all)),
        )  # fmt: skip
        sides, places = [], {}
        for sends in (True, False):
            own = sorted((one for one in self.done if one.sends == sends and not one.hidden),
                         key=lambda one: (one.rank, one.posted, one.place))  # fmt: skip
            keys = np.array([one.pair for one in own], np.int64).reshape(-1, 3)
            count = len(own)
            sides.append(Posted(_side(own, words), keys, np.full(count, 32768, np.int64),
                                np.ones(count, bool)))  # fmt: skip
            places = {(one.pair, one.place): at for at, one in enumerate(own)}
        which = [places.get((one.pair, place), UNKNOWN) for one, place in self.probed]
        probes = Probes(_side([one for one, _ in self.probed], words), np.array(which, np.int64))
        hidden = _side([one for one in self.done if one.hidden], words)
        return replace(
            trace,
            overlapping=self._overlapping(words),
            messages=matched(*sides, np.zeros(trace.ranks), probes=probes),
            others=Others(hidden.rank, hidden.begin, hidden.end, hidden.idle,
                          np.full(len(hidden.rank), 2, np.uint8)),
        )  # fmt: skip

    def _group(self, number: int, members: tuple[int, ...], words: Words) -> Group:
        """The calls of a communicator."""
        calls = self.calls[members]
        times = np.array([[call[rank][:2] for rank in members] for call in calls], float)
        texts = [self.names[members, at] for at in range(len(calls))]
        sites = [call[members[0]][2] for call in calls]
        name = "MPI_COMM_WORLD" if members == self.all else f"part {number}"
        return _group(name, members, times, texts, sites, words)

    def _overlapping(self, words: Words) -> list[Group]:
        """Those that another call completed."""
        if not self.begun:
            return []
        times = np.array([[call[rank][:3] for rank in self.all] for call in self.begun], float)
        sites = [call[0][3] for call in self.begun]
        group = _group("MPI_COMM_WORLD", self.all, times[:, :, ::2],
                       [("iallreduce", UNKNOWN)] * len(sites), sites, words)  # fmt: skip
        return [replace(group, completed=times[:, :, 1])]


def _group(
    name: str, members: tuple[int, ...], times: Any, texts: list[tuple[str, int]],
    sites: list[str], words: Words,
) -> Group:  # fmt: skip
    """Calls of these names, with their roots, and sites; `times`: arrivals and exits, of shape
    (calls, ranks, 2)."""
    count = len(texts)
    return Group(
        name=name,
        members=np.array(members, np.int32),
        sequence=np.arange(count, dtype=np.int64),
        collective=np.array([words.place(text) for text, _ in texts], np.int32),
        bytes=np.full(count, 1 << 20, np.int64),
        element_bytes=np.full(count, 8, np.int32),
        operator=np.full(count, words.place("sum"), np.int32),
        root=np.array([root for _, root in texts], np.int32),
        site=np.array([words.place(site) for site in sites], np.int32),
        algorithm=np.full(count, words.place("native"), np.int32),
        served=np.ones(count, np.int8),
        arrival=times[:, :, 0],
        exit=times[:, :, 1],
    )


def _root(group: tuple[int, ...], arguments: Sequence[Any]) -> int:
    return arguments[1] if len(arguments) > 1 else group[0]


def _side(own: Sequence[_Posted], words: Words) -> Side:
    """One side of these messages."""
    times = np.array([(one.posted, *one.completed, one.idle) for one in own], float).reshape(-1, 4)
    ranks = np.array([one.rank for one in own], np.int32)
    sites = np.array([words.place(one.site) for one in own], np.int32)
    return Side(ranks, *times.T[:3], sites, times.T[3])
