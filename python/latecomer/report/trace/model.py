"""What a trace says, whichever program wrote it.

A reader of any format fills these arrays; analysis, exports and the report read nothing else. Times
are seconds on one clock, from the earliest event of the trace. Calls are matched over the ranks of
a group by their sequence there. A rank that is not known to have entered, or left, a call has NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.arrays import Array, Bools, Floats, Int8s, Int32s, Int64s, UInt8s
from ...base.errors import UserError
from ...base.printable import CONTROL, HALVES
from ...core.compiled import core

if TYPE_CHECKING:
    from .stored_times import Times

UNKNOWN = -1  # an index, a size or a root that is not known

# No rank leaves one of these before the last rank has entered it, unless parts of the data are
# empty: in an all-to-all with counts a rank waits for those alone that send it something.
SYNCHRONISING = frozenset(core.SYNCHRONISING)
# Of these no part alone can be empty.
NEVER_EARLY = frozenset(core.NEVER_EARLY)


def never_early(collective: str, size: int = UNKNOWN) -> bool:
    """Tell whether nobody can leave a call early, of so many bytes: UNKNOWN ones are some."""
    return collective in NEVER_EARLY and (size != 0 or collective == "barrier")


# Beginnings of the names of collectives that make communicators, or that are on windows and files.
OBJECTS = tuple(core.ON_OBJECTS)

# Who carried out a call; Group.served holds their places here.
SERVED = ("latecomer", "library", "library at once", "library, fallback", "failed", "not handled")


def text_of(value: object, most: int = 256) -> str:
    """A value of a file as a text that can be written anywhere; what is no text is named."""
    if not isinstance(value, (str, int, float)):
        return {dict: "an object", list: "a list", type(None): "null"}.get(type(value), "")
    return str(value)[:most].translate(HALVES)


_NAMED = 8  # ranks, one by one
_EDGE = 16  # calls that ranks are apart at the ends of most traces
_ELEMENTS = 1 << 21  # times of a stretch of calls that is read at once


def ranks_said(ranks: Sequence[int]) -> str:
    """As in "rank 2", "ranks 2 and 5"; of many one is an example."""
    if len(ranks) > _NAMED:
        return f"{len(ranks):,} ranks, such as {ranks[0]}"
    words = ", ".join(map(str, ranks[:-1]))
    return f"ranks {words} and {ranks[-1]}" if words else f"rank {ranks[0]}"


class TraceError(UserError):
    """A trace that cannot be read: names the file, where, and the value."""

    def __init__(self, what: str, value: object, remedy: str) -> None:
        shown = (part.translate(CONTROL) for part in (what, str(value), remedy))
        super().__init__(*shown)


MOST_SPARSE = 1 << 26  # times of a group's calls by members, where files hold few of them
_TIMES_A_RECORD = 16


def check_size(group: str, calls: int, members: int, records: int) -> None:
    """Refuse a group of so many members that a small file would fill the memory.

    `records` are what the files hold of the group's calls. Raises TraceError.
    """
    if calls * members > max(MOST_SPARSE, _TIMES_A_RECORD * records):
        remedy = f"the files hold {records} of them: bring together those of all ranks"
        raise TraceError(f"group {group!r}: calls by members", f"{calls} x {members}", remedy)


class Words:
    """Texts by number: calls hold numbers."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._texts: list[str] = []
        self._places: dict[str, int] = {}
        for text in texts:
            self.place(text)

    def place(self, text: str) -> int:
        """The number of a text, which is added if it is new."""
        found = self._places.get(text)
        if found is None:
            found = self._places[text] = len(self._texts)
            self._texts.append(text)
        return found

    def __getitem__(self, place: int) -> str:
        """The text; "" for UNKNOWN."""
        return "" if place < 0 else self._texts[place]

    def __len__(self) -> int:
        return len(self._texts)

    def tell(self, places: Array, of: Callable[[str], bool]) -> Bools:
        """What `of` tells of the text of each number."""
        some, at = np.unique(places, return_inverse=True)
        return np.array([of(self[each]) for each in some.tolist()], bool)[at]


def rows_of(numbers: Array) -> Iterator[tuple[int, Int64s]]:
    """Each number that there is, and where it stands, in order: sorted once for all of them."""
    order = np.argsort(numbers, kind="stable")
    found, first = np.unique(numbers[order], return_index=True)
    return zip(found.tolist(), np.split(order, first)[1:], strict=True)


def earliest(*times: Floats) -> float:
    """The least time that is known; infinite where none is."""
    return min((float(np.fmin.reduce(each, axis=None, initial=np.inf)) for each in times),
               default=np.inf)  # fmt: skip


def latest(*times: Floats) -> float:
    """The greatest time that is known; -infinite where none is."""
    return max((float(np.fmax.reduce(each, axis=None, initial=-np.inf)) for each in times),
               default=-np.inf)  # fmt: skip


@dataclass(frozen=True)
class Group:
    """A communicator or process group, and its calls.

    Arrays have one entry a call, in the order of their sequence, or are of shape (calls, members).
    `arrival` and `exit` may be in files: read them by `times`, for a stretch of calls at a time.
    """

    name: str
    members: Int32s  # the rank in the trace of each member
    sequence: Int64s  # of each call in the group
    collective: Int32s  # a number in Trace.words, as are `site`, ...
    bytes: Int64s  # of the whole vector; UNKNOWN
    element_bytes: Int32s  # UNKNOWN
    operator: Int32s  # ... `operator` ...
    root: Int32s  # a member's place in the group; UNKNOWN where there is none
    site: Int32s  # ... as the lowest member has it
    algorithm: Int32s  # ... and `algorithm`: that served the call, with parameters
    served: Int8s  # a place in SERVED, "failed" if it did on some rank; UNKNOWN
    arrival: Floats | Times  # seconds
    exit: Floats | Times  # seconds
    # Seconds between the program's call and the arrival: until a device or a thread began with it.
    # None: a rank arrives when it calls.
    launch: Floats | None = None
    # When each rank entered the call that completed this one, of Trace.overlapping; NaN: not known.
    completed: Floats | None = None
    idle: Floats | None = None  # the same for it as Side.idle

    @property
    def size(self) -> int:
        return len(self.members)

    def __len__(self) -> int:
        return len(self.sequence)

    def times(self, calls: Any = slice(None), members: Any = slice(None)) -> tuple[Floats, Floats]:
        """Arrivals and exits of some calls, of shape (calls, members)."""
        if not isinstance(self.arrival, np.ndarray):
            return self.arrival.stored.read(calls, members)
        if isinstance(calls, np.ndarray) and isinstance(members, np.ndarray):
            at = np.ix_(calls, members)  # without a copy of all members for each
            return self.arrival[at], self.exit[at]
        return np.asarray(self.arrival[calls][:, members]), np.asarray(self.exit[calls][:, members])

    def stretches(self) -> Iterator[slice]:
        """All calls, so many at a time that their times fit into little memory."""
        step = max(1, _ELEMENTS // self.size)
        for begin in range(0, len(self), step):
            yield slice(begin, min(begin + step, len(self)))

    def whole(self) -> Bools:
        """Tell of each call if all its times are known."""
        known = np.zeros(len(self), bool)
        for part in self.stretches():
            arrival, leave = self.times(part)
            known[part] = np.isfinite(arrival).all(axis=1) & np.isfinite(leave).all(axis=1)
        return known

    def first_arrivals(self) -> Floats:
        """The first arrival of each member that is known; NaN: none is."""
        parts = [slice(0, _EDGE), *self.stretches()]
        return self._at_edge(parts, 0, np.fmin)

    def last_exits(self) -> Floats:
        """The last exit of each member that is known; NaN: none is."""
        parts = [slice(max(0, len(self) - _EDGE), len(self)), *reversed([*self.stretches()])]
        return self._at_edge(parts, 1, np.fmax)

    def _at_edge(self, parts: Iterable[slice], which: int, of: np.ufunc) -> Floats:
        """By member, from the first part that tells it: a member's calls follow each other."""
        found = np.full(self.size, np.nan)
        for part in parts if len(self) else ():
            missing = np.flatnonzero(np.isnan(found))
            if not len(missing):
                break
            found[missing] = of.reduce(self.times(part, missing)[which], axis=0)
        return found

    def forget_arrivals(self, calls: Int64s) -> None:
        """Nobody is known to have entered these calls."""
        if isinstance(self.arrival, np.ndarray):
            self.arrival[calls] = np.nan
        else:
            self.arrival.stored.forget_arrivals(calls)

    def forget_member(self, member: int) -> None:
        """Nothing is known of a member's times."""
        if isinstance(self.arrival, np.ndarray) and isinstance(self.exit, np.ndarray):
            self.arrival[:, member] = self.exit[:, member] = np.nan
        elif not isinstance(self.arrival, np.ndarray):
            self.arrival.stored.forget_member(member)

    def part(self, calls: slice | Int64s) -> Group:
        """The group with some of its calls."""
        stored = getattr(self.arrival, "stored", None)
        some = {each.name: getattr(self, each.name) for each in fields(self)}
        some = {name: column if name in ("name", "members") or column is None else column[calls]
                for name, column in some.items() if stored is None
                or name not in ("arrival", "exit")}  # fmt: skip
        if stored is not None:
            stored = stored.of(calls)
            some |= {"arrival": stored.arrival, "exit": stored.exit}
        return Group(**some)


@dataclass(frozen=True)
class Side:
    """One side of each message: arrays of one entry a message. Times are in seconds."""

    rank: Int32s  # in the trace
    posted: Floats  # when the program posted the send, or the receive
    begin: Floats  # when it entered the call that completed that: this one or a later
    end: Floats  # when it left that call
    site: Int32s  # of that call, a number in Trace.words
    # As `begin`, if the program waited between the calls that tested in vain before that one: they
    # do not tell if it computed instead. Without: as `begin`.
    idle: Floats = None  # type: ignore[assignment]  # until __post_init__

    def __post_init__(self) -> None:
        if self.idle is None:
            object.__setattr__(self, "idle", self.begin)

    def part(self, which: Array | slice, shift: Floats | float = 0.0) -> Side:
        """These, so many seconds earlier."""
        times = {name: getattr(self, name)[which] - shift
                 for name in ("posted", "begin", "end", "idle")}  # fmt: skip
        return Side(rank=self.rank[which], site=self.site[which], **times)


@dataclass(frozen=True)
class Probes:
    """Waits for a message that another call receives, or that is not known; one entry each."""

    side: Side
    message: Int64s  # its place in Messages; UNKNOWN


NO_PROBES = Probes(Side(*(np.zeros(0, kind) for kind in (np.int32, float, float, float, np.int32))),
                   np.zeros(0, np.int64))  # fmt: skip


@dataclass(frozen=True)
class Others:
    """Stretches of calls in which a rank may wait for what is not known; one entry each."""

    rank: Int32s
    begin: Floats  # the end less the time in the calls, in seconds
    end: Floats  # of the last call
    idle: Floats  # as in Side
    calls: UInt8s  # kinds of calls, bits by their place in OTHER_CALLS

    def __len__(self) -> int:
        return len(self.rank)


# Kinds of calls that are no collectives, and mostly have no record of their own.
OTHER_CALLS = (
    "calls that only test", "windows", "files", "making communicators and calls between groups",
    "collectives among neighbours", "messages that are not recorded",
)  # fmt: skip


@dataclass(frozen=True)
class Messages:
    """The messages between ranks of which both sides are known."""

    send: Side
    receive: Side
    bytes: Int64s  # as received
    unmatched: int = 0  # sends and receives whose other side is not known
    lost: int = 0  # those that the writer could not record
    uncertain: int = 0  # those that may be matched wrongly, and are left out
    probes: Probes = NO_PROBES  # and calls for messages of which this side alone is known
    until: float = np.inf  # seconds: from then on some of a rank may be missing

    def __len__(self) -> int:
        return len(self.bytes)

    @property
    def sides(self) -> tuple[Side, Side, Side]:
        """Those of sends, of receives and of probes."""
        return self.send, self.receive, self.probes.side


@dataclass(frozen=True)
class Hang:
    """A call that is not complete, in sentences without a full stop."""

    said: str
    absent: Sequence[int] = ()  # the ranks that have not come; none: not known, or all have
    call: str = ""  # as in "call 7 of default_pg, allreduce"
    waiting: str = ""  # as in "ranks 0 and 2 wait"
    # Where each of `absent` was last, as in "was last seen after call 6"; without these, sentences.
    last: Sequence[str] = ()
    waits: Sequence[int] = ()  # the ranks that wait, if that is known of all
    certain: bool = True  # False: they wait, but the job may go on
    failed: bool = False  # the job ended by itself


@dataclass(frozen=True)
class Trace:
    """The calls of all ranks of a job."""

    source: str  # file or folder
    format: str  # as in "latecomer 1"
    words: Words
    hosts: Sequence[str]  # by rank
    groups: Sequence[Group]
    begin: Floats  # by rank: when it began, in seconds; NaN: not known
    end: Floats  # by rank: when it ended; NaN: not known
    clock: str  # how times of different ranks are comparable, for people
    clock_error: Floats  # by rank: seconds, a bound; NaN: not known
    dropped: int = 0  # calls that the writer had no room for ...
    until: float = np.inf  # ... seconds: from then on some of a rank may be missing
    inputs: Sequence[Path] = ()  # the files that were read
    remarks: Sequence[str] = field(default=())  # what a reader must know, for people
    started: float = 0.0  # the time 0, in seconds since 1970; 0: not known
    messages: Messages | None = None  # None: not measured
    # Collectives that another call completed, so that ranks may compute in between; else as groups.
    overlapping: Sequence[Group] = ()
    others: Others | None = None  # None: not measured
    between: bool = True  # False: nothing is known of what lies between two calls
    hang: Hang | None = None  # the first call that is not complete
    unended: Sequence[int] = ()  # the ranks whose files tell no end
    failed: bool = False  # the job ended by itself before that
    of_device: bool = False  # calls are kernels of a device, which no algorithm of MPI's replaces
    slept: Floats | None = None  # by rank: seconds asleep in collectives
    # By rank: seconds outside of MPI by a sample, and of these preempted, and blocked; shape
    # (ranks, 3), NaN: not known.
    outside: Floats | None = None

    @property
    def ranks(self) -> int:
        return len(self.hosts)

    @property
    def all_slept(self) -> float:
        """The seconds that all ranks slept in collectives; 0 where that is not known."""
        return 0.0 if self.slept is None else float(self.slept.sum())

    def span(self) -> tuple[Floats, Floats]:
        """When each rank began, or entered its first call; and ended, or left its last one.

        Of shape (ranks,), in seconds; infinite and -infinite: nothing is known of the rank.
        """
        first, last = np.full(self.ranks, np.inf), np.full(self.ranks, -np.inf)
        np.fmin(first, self.begin, out=first)
        np.fmax(last, self.end, out=last)
        for group in [*self.groups, *self.overlapping]:
            np.fmin.at(first, group.members, group.first_arrivals())
            np.fmax.at(last, group.members, group.last_exits())
        parts = [] if self.others is None else [(self.others.rank, self.others.begin,
                                                 self.others.end)]  # fmt: skip
        if self.messages is not None:
            parts += [(side.rank, side.posted, side.end) for side in self.messages.sides]
        for rank, begin, end in parts:
            np.fmin.at(first, rank, begin)
            np.fmax.at(last, rank, end)
        return first, last

    @property
    def handled(self) -> bool:
        """True if latecomer carried out some of the collectives."""
        own = SERVED.index("latecomer")
        return any(bool((group.served == own).any()) for group in self.groups)

    @property
    def calls(self) -> int:
        """The calls of all groups; each counts once, whatever the number of its members."""
        return sum(len(group) for group in self.groups)
