"""Jobs of messages and collectives, played in virtual time, as traces.

A rank is a generator that yields what it does: ("compute", seconds), ("send", to), ("isend", to),
("receive", from), ("wait",) for all that it posted, ("allreduce",), ("bcast", root). What ranks
wait for follows from MPI's rules, simply and slowly.
"""

from collections import defaultdict, deque

import numpy as np
from latecomer.trace import Words
from latecomer.trace.messages import joined, matched
from latecomer.trace.model import Side
from trace_helpers import group_of, trace_of

LATENCY = 50e-6


class Played:
    """Runs the generators to their end."""

    def __init__(self, programs, *, rendezvous=False):
        self.programs = programs
        self.ranks = len(programs)
        self.rendezvous = rendezvous
        self.clock = [0.0] * self.ranks
        self.posted = {"send": defaultdict(deque), "receive": defaultdict(deque)}
        self.records = {"send": [], "receive": []}  # (rank, peer, posted, begin, end)
        self.open = [[] for _ in programs]
        self.calls = defaultdict(dict)  # number of the call: rank -> (arrival, what)
        self.numbers = [0] * self.ranks
        self.rows = {}
        self.blocked = {}
        self.waiting = [None] * self.ranks
        self._run()

    def _run(self):
        ready = deque(range(self.ranks))
        steps = [iter(program) for program in self.programs]
        todo = [None] * self.ranks
        stuck = 0
        while ready:
            rank = ready.popleft()
            if todo[rank] is None:
                todo[rank] = next(steps[rank], None)
                if todo[rank] is None:
                    continue
                self._enter(rank, todo[rank])
            if self._done(rank, todo[rank]):
                todo[rank], stuck = None, 0
            else:
                stuck += 1
                assert stuck <= 2 * self.ranks, "the job hangs"
            ready.append(rank)

    def _enter(self, rank, op):
        name, *arguments = op
        now = self.clock[rank]
        self.waiting[rank] = now
        if name in ("send", "isend", "receive", "ireceive"):
            kind = "send" if "send" in name else "receive"
            peer = arguments[0]
            key = (rank, peer) if kind == "send" else (peer, rank)
            entry = {"kind": kind, "rank": rank, "peer": peer, "posted": now, "key": key}
            self.posted[kind][key].append(entry)
            other = self.posted["receive" if kind == "send" else "send"][key]
            place = len(self.posted[kind][key]) - 1
            entry["place"] = place
            entry["other"] = lambda: other[place] if place < len(other) else None
            self.open[rank].append(entry)
        elif name in ("allreduce", "bcast"):
            self.calls[self.numbers[rank]][rank] = (now, op)
            self.waiting[rank] = self.numbers[rank]
            self.numbers[rank] += 1

    def _done(self, rank, op):
        name, *arguments = op
        if name == "compute":
            self.clock[rank] += arguments[0]
            return True
        if name in ("isend", "ireceive"):
            return True
        if name in ("send", "receive"):
            return self._complete(rank, self.open[rank][-1:])
        if name == "wait":
            return self._complete(rank, self.open[rank])
        return self._leave(rank, name, arguments)

    def _complete(self, rank, entries):
        begin = self.clock[rank]
        end = begin
        for entry in entries:
            other = entry["other"]()
            if entry["kind"] == "receive" or self.rendezvous:
                if other is None:
                    return False
                end = max(end, other["posted"] + LATENCY, entry["posted"] + LATENCY)
            else:
                end = max(end, entry["posted"] + LATENCY / 5)
        for entry in entries:
            record = (rank, entry["peer"], entry["posted"], begin, end)
            self.records[entry["kind"]].append(record)
        taken = [id(entry) for entry in entries]
        self.open[rank] = [entry for entry in self.open[rank] if id(entry) not in taken]
        self.clock[rank] = end
        return True

    def _leave(self, rank, name, arguments):
        number = self.waiting[rank]
        there = self.calls[number]
        if name == "allreduce":
            if len(there) < self.ranks:
                return False
            end = max(arrival for arrival, _ in there.values()) + LATENCY
        else:
            root = arguments[0]
            if root not in there:
                return False
            end = max(there[rank][0], there[root][0]) + LATENCY
        self.rows[number, rank] = (there[rank][0], end, name)
        self.clock[rank] = end
        return True

    def trace(self, hosts=None):
        """The trace of the job."""
        words = Words()
        groups = []
        numbers = sorted({number for number, _ in self.rows})
        for name in ("allreduce", "bcast"):
            own = [n for n in numbers if self.rows[n, 0][2] == name]
            if own:
                arrival, leave = (
                    np.array([[self.rows[n, rank][i] for rank in range(self.ranks)] for n in own])
                    for i in range(2)
                )
                groups.append(group_of(arrival, leave, words, collective=name, name=name))
        trace = trace_of(groups, words, ranks=self.ranks, hosts=hosts) if groups else None
        sides, keys = {}, {}
        for kind, records in self.records.items():
            parts = []
            for rank in range(self.ranks):
                own = sorted((r for r in records if r[0] == rank), key=lambda r: r[2])
                columns = np.array([r[2:] for r in own], float).reshape(-1, 3).T
                site = np.full(len(own), words.place(f"app+0x{kind[0]}"), np.int32)
                parts.append((Side(np.full(len(own), rank, np.int32), *columns, site),
                              np.array([[0, *(r[:2] if kind == "send" else r[1::-1]), 0]
                                        for r in own], np.int64).reshape(-1, 4)))  # fmt: skip
            sides[kind] = joined([side for side, _ in parts])
            keys[kind] = np.concatenate([key for _, key in parts])
        messages = matched(sides["send"], sides["receive"], (keys["send"], keys["receive"]),
                           np.full(len(keys["receive"]), 32768))  # fmt: skip
        assert messages.unmatched == 0
        if trace is None:
            trace = trace_of([], words, ranks=self.ranks, hosts=hosts)
        from dataclasses import replace

        return replace(trace, messages=messages)
