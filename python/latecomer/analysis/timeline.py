"""The time line of a few steps: what some ranks do when, and the messages between them.

A step ends with a collective in which all ranks wait for each other; where there is none, the run
is cut into equal times. Shown are the steps with the most waiting and a typical one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.units import size
from ..trace.waits import met, synchronising, waiting
from .wording import group_name, plain, seconds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..trace.model import Group, Messages, Trace
    from .lateness import Lateness

    Floats = NDArray[np.float64]

_MOST = 3  # steps with the most waiting, beside the typical one
_ROWS = 40  # ranks
_BARS, _ARROWS = 1500, 1000  # of a step: what does not fit into a page is not drawn
_SLICES = 64  # of the run, where ranks never all meet
_PARTS = 1_000_000  # times are whole numbers up to here
_BESIDE = 0.03  # of a step, shown before and after it


@dataclass
class _Bars:
    """Calls in which ranks may wait, one entry each; times in seconds."""

    rank: NDArray[np.int64]
    begin: Floats
    until: Floats  # the end of the waiting
    end: Floats
    cause: NDArray[np.int64]  # the rank that it waited for; -1: it did not wait
    site: NDArray[np.int64]
    what: NDArray[np.int64]  # an index of words
    meeting: NDArray[np.int64]  # an index of the step's collectives; -1: messages


def windows(
    found: Lateness, late: Sequence[int], place: Callable[[str], int]
) -> list[dict[str, Any]]:
    """The steps, as the page's script takes them, those with the most waiting first.

    `late`: the ranks that are named. `place` gives the page's number of a place in the program.
    """
    bounds, numbers = _steps(found)
    if len(bounds) < 2:
        return []
    cost = _waited(found, bounds)
    order = np.argsort(-cost, kind="stable")
    order = order[cost[order] > 0] if cost.any() else order[:1]
    typical = int(order[len(order) // 2])
    chosen = list(dict.fromkeys([*order[:_MOST].tolist(), typical]))
    shown = []
    for step in chosen:
        one = _Step(found, late, float(bounds[step]), float(bounds[step + 1])).data(place)
        if one is None:
            continue
        name = f"step {numbers[step]:,}" if numbers is not None else "a part of the run"
        kind = ", a typical one" if step == typical and step not in order[:1] else ""
        one["name"] = f"{name}{kind}: {seconds(one.pop('waited'))} waited, from {one['from']}"
        shown.append(one)
    return shown


def _meeting(group: Group, trace: Trace) -> NDArray[np.bool_]:
    """Of each call: all ranks of the job wait for each other in it."""
    if group.size != trace.ranks:
        return np.zeros(len(group), bool)
    return synchronising(trace.words, group.collective)


def _steps(found: Lateness) -> tuple[Floats, NDArray[np.int64] | None]:
    """The bounds of the steps, and the number of the call that ends each; None: there is none."""
    trace, ends, numbers = found.trace, [np.zeros(0)], [np.zeros(0, np.int64)]
    for each in found.groups:
        meets = np.flatnonzero(_meeting(each.group, trace) & each.whole)
        ends.append(np.asarray(each.group.exit[:, 0])[meets])
        numbers.append(each.group.sequence[meets])
    first = min((_entered(each.group).min(initial=np.inf) for each in found.groups), default=0.0)
    known = trace.begin[np.isfinite(trace.begin)]
    first = min(float(first), float(known.min(initial=np.inf)))
    end = np.concatenate(ends)
    if len(end):
        order = np.argsort(end, kind="stable")
        return np.concatenate([[first], end[order]]), np.concatenate(numbers)[order]
    return np.linspace(first, first + found.run_seconds, _SLICES + 1), None


def _entered(group: Group) -> Floats:
    """About when: by the first member that is known, of each call."""
    return np.nan_to_num(np.asarray(group.arrival[:, 0]), nan=np.inf)


def _waited(found: Lateness, bounds: Floats) -> Floats:
    """Seconds of all ranks, by step; several messages of one call count one by one."""
    cost = np.zeros(len(bounds) - 1)

    def add(time: Floats, waited: Floats) -> None:
        known = np.isfinite(time) & (waited > 0)
        step = np.searchsorted(bounds, time[known], side="left") - 1
        np.add.at(cost, np.clip(step, 0, len(cost) - 1), waited[known])

    for each in found.groups:
        add(np.asarray(each.group.exit[:, 0]), each.cost)
    if found.trace.messages is not None:
        receive, send = found.trace.messages.receive, found.trace.messages.send
        add(receive.end, np.minimum(send.posted, receive.end) - receive.begin)
    return cost


class _Step:
    """One step: all its calls, and then what is shown of them."""

    def __init__(self, found: Lateness, late: Sequence[int], start: float, end: float) -> None:
        self.found, self.trace, self.late = found, found.trace, list(late)
        self.start, self.end = start, end
        self.words: list[str] = []
        self.meetings: list[dict[str, Any]] = []
        self.bounds: list[bool | None] = []  # of these: all ranks meet, before the step or in it
        messages = self.trace.messages
        self.some = np.zeros(0, np.int64)  # messages of the step
        self.waited = np.zeros(0, bool)  # for each of them by its receiver, then by its sender
        parts = list(self._calls())
        if messages is not None and len(messages):
            inside = (messages.receive.end > start) & (messages.send.posted < end)
            self.some = np.flatnonzero(inside)
            if len(self.some):
                parts.append(self._messages(messages))
        names = list(_Bars.__annotations__)
        columns = {name: np.concatenate([getattr(part, name) for part in parts]) if parts
                   else np.zeros(0) for name in names}  # fmt: skip
        order = np.lexsort((columns["begin"], columns["rank"]))
        self.bars = _Bars(**{name: column[order] for name, column in columns.items()})

    def _word(self, text: str) -> int:
        if text not in self.words:
            self.words.append(text)
        return self.words.index(text)

    def _calls(self) -> Iterator[_Bars]:
        numbers = {id(each.group): number for number, each in enumerate(self.found.groups)}
        for group in self.trace.groups:
            if group.size < 2 or not len(group):
                continue
            left = np.nan_to_num(np.asarray(group.exit[:, 0]), nan=-np.inf)
            rows = np.flatnonzero((left >= self.start) & (_entered(group) < self.end))
            if len(rows) > _BARS:  # the end of a step is where ranks wait
                rows = rows[-_BARS:]
            if len(rows):
                yield self._of_group(group, rows, numbers.get(id(group), -1))
                before = left[rows] <= self.start
                self.bounds += [None if not meets else bool(early) for meets, early in zip(
                    _meeting(group, self.trace)[rows], before, strict=True)]  # fmt: skip

    def _of_group(self, group: Group, rows: NDArray[np.int64], number: int) -> _Bars:
        arrival, leave = np.asarray(group.arrival[rows]), np.asarray(group.exit[rows])
        sync = synchronising(self.trace.words, group.collective[rows])
        wait = waiting(arrival, leave, sync)
        known = np.isfinite(arrival) & np.isfinite(leave)
        order = np.argsort(np.where(known, arrival, -np.inf), axis=1, kind="stable")
        unknown = group.size - known.sum(axis=1, keepdims=True)
        last = np.maximum(unknown + met(np.where(known, arrival, np.nan), leave, sync) - 1, 0)
        cause = group.members[np.take_along_axis(order, np.minimum(last, group.size - 1), axis=1)]
        what = np.zeros(len(rows), np.int64)
        base = len(self.meetings)
        for at, row in enumerate(rows.tolist()):
            kind = self.trace.words[int(group.collective[row])]
            amount = int(group.bytes[row])
            what[at] = self._word(f"{kind} of {size(amount)}" if amount > 0 else kind)
            latest = int(order[at, -1])
            self.meetings.append({
                "group": number, "call": row, "time": float(arrival[at, latest]),
                "rank": int(group.members[latest]), "members": group.members,
                "what": f"{self.words[what[at]]} on {group_name(group.name, group.size)}, number "
                        f"{int(group.sequence[row]):,}",
            })  # fmt: skip
        at, member = np.nonzero(known)
        return _Bars(
            rank=group.members[member].astype(np.int64),
            begin=arrival[at, member],
            until=(arrival + wait)[at, member],
            end=leave[at, member],
            cause=np.where(wait > 0, cause, -1)[at, member].astype(np.int64),
            site=group.site[rows][at].astype(np.int64),
            what=what[at],
            meeting=base + at,
        )

    def _messages(self, messages: Messages) -> _Bars:
        """The calls that completed sends and receives: several of one call are one bar.

        A receive waits for the send; a send waits for the receive, if it ended after that.
        """
        some, both = self.some, (messages.receive, messages.send)
        rank, begin, end, site = (
            np.concatenate([np.asarray(getattr(side, name))[some] for side in both])
            for name in ("rank", "begin", "end", "site")
        )
        sent, asked = messages.send.posted[some], messages.receive.posted[some]
        released = np.concatenate(
            [sent, np.where(messages.send.end[some] >= asked, asked, -np.inf)]
        )
        other = np.concatenate([messages.send.rank[some], messages.receive.rank[some]])
        order = np.lexsort((released, begin, rank))  # a rank enters one call at a time
        first = np.ones(len(order), bool)
        first[1:] = (np.diff(rank[order]) != 0) | (np.diff(begin[order]) != 0)
        at = np.flatnonzero(first)
        last = order[np.append(at[1:], len(order)) - 1]
        end[last] = np.maximum.reduceat(end[order], at)
        self.waited = np.zeros(2 * len(some), bool)
        waits = released[last] > begin[last]
        self.waited[last[waits]] = True
        none = np.full(len(last), -1)
        return _Bars(
            rank=rank[last].astype(np.int64), begin=begin[last], end=end[last],
            until=np.clip(released[last], begin[last], end[last]),
            cause=np.where(waits, other[last], -1).astype(np.int64),
            site=site[last].astype(np.int64),
            what=np.full(len(last), self._word("messages")), meeting=none,
        )  # fmt: skip

    # ---- what is shown

    def data(self, place: Callable[[str], int]) -> dict[str, Any] | None:
        """As numbers; None where nothing happened."""
        bars = self.bars
        if not len(bars.rank):
            return None
        rows = self._rows()
        row = np.full(self.trace.ranks, -1)
        row[rows] = np.arange(len(rows))
        shown = np.flatnonzero(row[bars.rank] >= 0)
        start, cut = self.start, len(shown) > _BARS
        if cut:
            shown = shown[np.argsort(bars.end[shown], kind="stable")[-_BARS:]]
            start = float(bars.begin[shown].min())
        end = max(self.end, float(bars.end[bars.meeting >= 0].max(initial=self.end)))
        unit = max((end - start) / _PARTS, 1e-12)

        def times(values: Floats) -> list[int]:
            return np.round((values - start) / unit).astype(np.int64).tolist()

        sites = {
            site: place(self.trace.words[site]) for site in np.unique(bars.site[shown]).tolist()
        }
        used = sorted(set(bars.meeting[shown].tolist()) - {-1})
        number = {meeting: at for at, meeting in enumerate(used)} | {-1: -1}
        told = [self.meetings[meeting] for meeting in used]
        columns = (row[bars.rank], bars.cause, bars.what, bars.meeting, bars.site)
        of_row, cause, what, meeting, site = (column[shown].tolist() for column in columns)
        beside = round(_BESIDE * _PARTS)
        return {
            "from": seconds(start),
            "unit": unit,
            "view": [-beside, _PARTS + beside],
            "waited": float(np.clip(np.minimum(bars.until, self.end)
                                    - np.maximum(bars.begin, self.start), 0.0, None).sum()),
            "rows": rows,
            "words": list(map(plain, self.words)),
            "bars": [list(each) for each in zip(
                of_row, times(bars.begin[shown]), times(bars.until[shown]), times(bars.end[shown]),
                cause, what, (number[each] for each in meeting), (sites[each] for each in site),
                strict=True)],
            "excess": [] if cut else [
                [int(row[rank]), *times(np.array(part))] for rank, *part in self._excess()
                if row[rank] >= 0],
            "meetings": [
                {"group": each["group"], "call": each["call"], "what": plain(each["what"]),
                 "time": times(np.array([each["time"]]))[0], "rank": each["rank"],
                 "rows": [at for at in row[each["members"]].tolist() if at >= 0]}
                for each in told],
            **self._arrows(row, times, start),
        }  # fmt: skip

    def _rows(self) -> list[int]:
        """The late ranks, those who are waited for most, those who wait most, then evenly."""
        ranks, bars = self.trace.ranks, self.bars
        waited = bars.until - bars.begin
        by_victim = np.bincount(bars.rank, waited, ranks)
        by_cause = np.bincount(bars.cause[bars.cause >= 0], waited[bars.cause >= 0], ranks)
        some = _ROWS // 4
        most = [np.argsort(-each, kind="stable")[: min(some, np.count_nonzero(each))].tolist()
                for each in (by_cause, by_victim)]  # fmt: skip
        told = dict.fromkeys([*self.late[:some], *most[0], *most[1]])
        evenly = np.linspace(0, ranks - 1, min(ranks, _ROWS - len(told))).astype(int).tolist()
        return sorted({*told, *(evenly if ranks > _ROWS else range(ranks))})

    def _excess(self) -> Iterator[tuple[int, float, float]]:
        """Rank, begin and end of what ranks compute beyond the lower median rank.

        A rank's first computation in the step counts first, the end of each.
        """
        ranks, bars = self.trace.ranks, self.bars
        first = np.diff(bars.rank, prepend=-1) != 0
        apart = bars.rank * (2 * float(np.abs(bars.end).max()) + 1)
        latest = np.maximum.accumulate(bars.end + apart) - apart
        begin = np.fmax(self.trace.begin, self.start)[bars.rank]
        before = np.where(first, begin, np.concatenate([[0.0], latest[:-1]]))
        computed = np.clip(bars.begin - before, 0.0, None)
        # Only what is between the meeting that begins the step and the one that ends it.
        bounds = np.array([*(each is not None for each in self.bounds), False])[bars.meeting]
        met = np.cumsum(bounds) - bounds
        met -= np.maximum.accumulate(np.where(first, met, 0))
        computed[met != self.bounds.count(True)] = 0.0
        whole = np.bincount(bars.rank, computed, ranks)
        present = np.flatnonzero(np.bincount(bars.rank, minlength=ranks))
        typical = np.sort(whole[present])[(len(present) - 1) // 2]
        left = np.clip(whole - typical, 0.0, None)
        for rank, begin, length in zip(bars.rank.tolist(), before.tolist(), computed.tolist(),
                                       strict=True):  # fmt: skip
            part = min(length, float(left[rank]))
            if part > 0:
                left[rank] -= part
                yield rank, begin + length - part, begin + length

    def _arrows(
        self, row: NDArray[np.int64], times: Callable[[Floats], list[int]], start: float
    ) -> dict[str, Any]:
        """Sender's and receiver's row, begin, end, who waited for it (1 the receiver, 2 the sender)
        and bytes; those that somebody waited for first."""
        messages, count = self.trace.messages, len(self.some)
        if messages is None or not count:
            return {"arrows": [], "left": 0}
        send, receive, some = messages.send, messages.receive, self.some
        waited = np.where(self.waited[:count], 1, np.where(self.waited[count:], 2, 0))
        drawn = (row[send.rank[some]] >= 0) & (row[receive.rank[some]] >= 0)
        drawn &= receive.end[some] > start
        at = np.flatnonzero(drawn)
        at = at[np.lexsort((-receive.end[some[at]], waited[at] == 0))]
        left, at = max(0, len(at) - _ARROWS), at[:_ARROWS]
        own = some[at]
        return {
            "arrows": [list(each) for each in zip(
                row[send.rank[own]].tolist(), row[receive.rank[own]].tolist(),
                times(send.posted[own]), times(receive.end[own]), waited[at].tolist(),
                messages.bytes[own].tolist(), strict=True)],
            "left": left,
        }  # fmt: skip
