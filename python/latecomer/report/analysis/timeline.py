"""The time line of a few steps: what some ranks do when, and the messages between them.

It draws the graph of the job: its steps, its calls, what they wait for, and the excess. Shown are
the steps with the most waiting and a typical one. A large trace is shown by its sample, whose times
are not those of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base.arrays import Floats, Int64s
from ...base.printable import plain
from ...base.units import seconds, size
from ..trace.model import OTHER_CALLS
from .events import OTHER, PROBE, RECEIVE, SEND, Events
from .lateness import Lateness
from .wording import group_name

_MOST = 3  # steps with the most waiting, beside the typical one
_ROWS = 40  # ranks
_BARS, _ARROWS = 1500, 1000  # of a step: what does not fit into a page is not drawn
_PARTS = 1_000_000  # times are whole numbers up to here
_BESIDE = 0.03  # of a step, shown before and after it


def windows(
    found: Lateness, late: Sequence[int], place: Callable[[str], int]
) -> list[dict[str, Any]]:
    """The steps, as the page's script takes them, those with the most waiting first.

    `late`: the ranks that are named. `place` gives the page's number of a place in the program.
    """
    graph = found.graph
    if not len(graph.step):
        return []
    waited = graph.waited()
    cost = np.bincount(graph.step, waited)
    order = np.argsort(-cost, kind="stable")
    order = order[cost[order] > 0] if cost.any() else order[:1]
    typical = int(order[len(order) // 2])
    chosen = list(dict.fromkeys([*order[:_MOST].tolist(), typical]))
    shown = [_Step(found, late, step, waited).data(place) for step in chosen]
    for step, one in zip(chosen, shown, strict=True):
        kind = ", a typical one" if step == typical and step not in order[:1] else ""
        of = " of the sample" if graph.times > 1 else ""
        one["name"] += f"{kind}: {seconds(float(cost[step]))} waited, from {one['from']}{of}"
    return shown


class _Step:
    """One step."""

    def __init__(self, found: Lateness, late: Sequence[int], step: int, waited: Floats) -> None:
        self.found, self.graph, self.late, self.number = found, found.graph, late, step
        self.trace, events = self.graph.trace, self.graph.events
        mine = np.flatnonzero(self.graph.step == step)
        mine = mine[np.lexsort((events.begin[mine], events.rank[mine]))]
        self.bars, self.waited, self.part = events.some(mine), waited[mine], self.graph.part[mine]
        bars = self.bars
        self.cause = np.full(len(mine), -1)  # the rank that was waited for; -1: none
        waits = self.waited > 0
        self.cause[waits] = self.graph.posts.rank[bars.cause[waits]]
        # When each rank is in the step; where they never all meet, at different times.
        self.begin, self.end = self.graph.start.copy(), np.full(self.trace.ranks, -np.inf)
        before = np.flatnonzero(self.graph.step < step)
        np.maximum.at(self.begin, events.rank[before], events.end[before])
        np.maximum.at(self.end, bars.rank, bars.end)
        self.groups = [*self.trace.groups, *self.trace.overlapping]

    def data(self, place: Callable[[str], int]) -> dict[str, Any]:
        bars, rows = self.bars, self._rows()
        row = np.full(self.trace.ranks, -1)
        row[rows] = np.arange(len(rows))
        shown = np.flatnonzero(row[bars.rank] >= 0)
        start = float(self.begin[bars.rank].min())
        cut = max(0, len(shown) - _BARS)
        if len(shown) > _BARS:  # the end of a step is where ranks wait
            in_order = shown[np.argsort(bars.end[shown], kind="stable")]
            shown, start = np.sort(in_order[-_BARS:]), float(bars.end[in_order[-_BARS - 1]])
        end = float(bars.end.max())
        unit = max((end - start) / _PARTS, 1e-12)

        def times(values: Floats) -> list[int]:
            parts: list[int] = np.round((values - start) / unit).astype(np.int64).tolist()
            return parts

        here = np.isfinite(self.end[rows])
        spans = np.where(here, [np.maximum(self.begin[rows], start), self.end[rows]], start)
        some = bars.some(shown)
        until = some.begin + self.waited[shown]
        calls, meeting = self._calls(some)
        what, words = self._what(some)
        unknown = (some.source == OTHER) | ((some.source == PROBE) & (some.row < 0))
        sites = [self.graph.places[at].site for at in some.place.tolist()]
        excess = self._excess()
        beside = round(_BESIDE * _PARTS)
        return {
            "name": self._name(),
            "from": seconds(start),
            "cut": cut,  # bars that begin before it
            "unit": unit,
            "view": [-beside, _PARTS + beside],
            "rows": rows,
            "spans": [list(each) for each in zip(*map(times, spans), strict=True)],
            "bars": [list(each) for each in zip(
                row[some.rank].tolist(), times(some.begin), times(until), times(some.end),
                self.cause[shown].tolist(), what, meeting, map(place, sites),
                unknown.astype(int).tolist(), strict=True)],
            "words": list(map(plain, words)),
            "unknown": bool(unknown.any()),
            "excess": [list(each) for each in zip(*(row[excess[0]].tolist(), *map(
                times, excess[1:])), strict=True) if each[0] >= 0 and each[2] > max(each[1], 0)],
            "meetings": [call | {"time": times(np.array([call["time"]]))[0],
                                 "rows": [at for at in row[call["rows"]].tolist() if at >= 0]}
                         for call in calls],
            **self._arrows(row, times, start),
        }  # fmt: skip

    def _name(self) -> str:
        """By the number of the call that ends it."""
        last = np.flatnonzero(self.bars.meets)
        if len(last):
            source, call = (int(column[last[-1]]) for column in (self.bars.source, self.bars.row))
            return f"step {int(self.groups[source].sequence[call]):,}"
        return "the end of the run" if self.graph.events.meets.any() else "a part of the run"

    def _rows(self) -> list[int]:
        """The late ranks, those who are waited for most, those who wait most, then evenly."""
        ranks, waits = self.trace.ranks, self.waited > 0
        by_victim = np.bincount(self.bars.rank, self.waited, ranks)
        by_cause = np.bincount(self.cause[waits], self.waited[waits], ranks)
        some = _ROWS // 4
        most = [np.argsort(-each, kind="stable")[: min(some, np.count_nonzero(each))].tolist()
                for each in (by_cause, by_victim)]  # fmt: skip
        told = dict.fromkeys([*self.late[:some], *most[0], *most[1]])
        evenly = np.linspace(0, ranks - 1, min(ranks, _ROWS - len(told))).astype(int).tolist()
        return sorted({*told, *(evenly if ranks > _ROWS else range(ranks))})

    def _what(self, some: Events) -> tuple[list[int], list[str]]:
        """The name of each call that is no collective, as an index of words; and these."""
        names = {RECEIVE: "messages", SEND: "messages", PROBE: "probes"}
        told = [names.get(source, "") for source in some.source.tolist()]
        if (others := self.trace.others) is not None:
            for at in np.flatnonzero(some.source == OTHER).tolist():
                kinds = int(others.calls[some.row[at]])
                told[at] = ", ".join(name for bit, name in enumerate(OTHER_CALLS)
                                     if kinds >> bit & 1)  # fmt: skip
        numbers = {text: at for at, text in enumerate(dict.fromkeys(told))}
        return [numbers[text] for text in told], list(numbers)

    def _calls(self, some: Events) -> tuple[list[dict[str, Any]], list[int]]:
        """The collectives among these calls, and of each call an index of them, or -1."""
        which = np.full(len(some.rank), -1)
        told: list[dict[str, Any]] = []
        pages = {each.number: number for number, each in enumerate(self.found.groups)}
        for source in np.unique(some.source[some.source >= 0]).tolist():
            group, number = self.groups[source], pages.get(source, -1)
            own = np.flatnonzero(some.source == source)
            rows, at = np.unique(some.row[own], return_inverse=True)
            which[own] = len(told) + at.reshape(-1)
            calls, sequence = rows, group.sequence[rows]
            if number >= 0:  # the sample has other rows than the trace
                calls = np.searchsorted(self.found.groups[number].group.sequence, sequence)
            came = group.times(rows)[0]
            last = np.where(np.isfinite(came), came, -np.inf).argmax(axis=1)
            for row, call, count, member, arrivals in zip(
                rows.tolist(), calls.tolist(), sequence.tolist(), last.tolist(), came, strict=True
            ):
                amount = f" of {size(int(group.bytes[row]))}" if group.bytes[row] > 0 else ""
                what = f"{self.trace.words[int(group.collective[row])]}{amount} on "
                told.append({
                    "group": number, "call": call, "time": float(arrivals[member]),
                    "rank": int(group.members[member]), "rows": group.members,
                    "what": plain(f"{what}{group_name(group.name, group.size)}, number {count:,}"),
                })  # fmt: skip
        return told, which.tolist()

    def _excess(self) -> tuple[Int64s, Floats, Floats]:
        """Rank, begin and end of the excess, drawn as the end of each computation."""
        bars = self.bars
        first = np.diff(bars.rank, prepend=-1) != 0
        before = np.where(first, -np.inf, np.concatenate([[0.0], bars.end[:-1]]))
        before = np.maximum(before, self.begin[bars.rank])
        longer = self.part * np.clip(bars.begin - before, 0.0, None)
        some = longer > 0
        return bars.rank[some], (bars.begin - longer)[some], bars.begin[some]

    def _arrows(
        self, row: Int64s, times: Callable[[Floats], list[int]], start: float
    ) -> dict[str, Any]:
        """Sender's and receiver's row, begin, end, who waited for it (1 the receiver, 2 the sender)
        and bytes; those that somebody waited for first."""
        messages = self.trace.messages
        if messages is None or not len(messages):
            return {"arrows": [], "left": 0}
        send, receive = messages.send, messages.receive
        inside = [(side.end > self.begin[side.rank]) & (side.end <= self.end[side.rank])
                  for side in (send, receive)]  # fmt: skip
        drawn = (row[send.rank] >= 0) & (row[receive.rank] >= 0) & (receive.end > start)
        at = np.flatnonzero((inside[0] | inside[1]) & drawn)
        waited = np.zeros(len(messages), np.int64)
        for source, who in ((SEND, 2), (RECEIVE, 1), (PROBE, 1)):
            waited[self.bars.row[(self.bars.source == source) & (self.waited > 0)]] = who
        at = at[np.lexsort((-receive.end[at], waited[at] == 0))]
        left, own = max(0, len(at) - _ARROWS), at[:_ARROWS]
        return {
            "arrows": [list(each) for each in zip(
                row[send.rank[own]].tolist(), row[receive.rank[own]].tolist(),
                times(send.posted[own]), times(receive.end[own]), waited[own].tolist(),
                messages.bytes[own].tolist(), strict=True)],
            "left": left,
        }  # fmt: skip
