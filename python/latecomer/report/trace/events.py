"""What is of use of one profiler's trace, event by event, in little memory.

Of a device's work only when it was; of collectives, and of the program's calls of them, what they
say of themselves. Events whose times are wrong are left out, but for collectives: these keep their
place among the others, so that the ones behind them are still counted right.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from .dtypes import communicates, element_bytes, may_communicate
from .json_numbers import number, whole
from .left_out import LeftOut
from .model import UNKNOWN, TraceError, earliest, latest, text_of

MOST_RANKS = 1 << 20
MOST_CALLS = 1_000_000  # collectives of one file, and as many calls of the program
MOST_WORK = 20_000_000  # other work of a device in one file
MOST_MEMBERS = 1 << 22  # of all lists of ranks in one file
MOST_LENGTH = 86_400e6  # microseconds of an event, and between events of one file: a day

_DEVICE = frozenset({"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset"})
_PROGRAM = frozenset({"cpu_op", "operator", "user_annotation", "cpu_instant_event"})
_ASKED = re.compile(r"(?:_?c10d(?:_functional)?::|record_param_comms|(?:nccl|rccl|xccl|hccl|ucc):)")
_ON_HOST = re.compile(r"(?:gloo|mpi):")
_TIMES = "events whose ts is no number of microseconds near the others"
_LENGTHS = "events whose dur is no number of microseconds from 0 on"
_LIKE = "kernels named as a collective, of no library that is known, and taken as other work"
_RANKS = "lists of a group's ranks that are no different ranks"


@dataclass(frozen=True, slots=True)
class Facts:
    """What an event says of its collective; what it does not say is "", UNKNOWN or ()."""

    name: str = ""
    group: str = ""
    site: str = ""
    sent: int = UNKNOWN  # elements
    received: int = UNKNOWN
    width: int = UNKNOWN  # bytes of an element
    members: tuple[int, ...] = ()

    def but(self, others: Facts) -> Facts:
        """These, and what the others know beyond them."""
        more = {each.name: getattr(others, each.name) for each in fields(self)
                if getattr(self, each.name) in ("", UNKNOWN, ())}  # fmt: skip
        return replace(self, **more)


class Kernel(NamedTuple):
    """A device's work for a collective, or that may be one's."""

    start: float  # microseconds, as are all times here; NaN: wrong
    length: float  # NaN: wrong
    stream: str
    name: str
    facts: Facts
    sequence: int
    external: str  # "": none
    correlation: int


class Asked(NamedTuple):
    """A call of the program, or a part of one."""

    start: float
    length: float
    thread: str
    name: str
    facts: Facts
    sequence: int
    external: str
    shapes: int  # elements of the tensors that it names; UNKNOWN


class OnHost(NamedTuple):
    """A collective that a thread of the host carries out."""

    start: float
    length: float
    thread: int | str
    name: str
    elements: int  # of all inputs; UNKNOWN
    width: int


@dataclass
class Launches:
    """When the host launched each piece of a device's work."""

    correlation: array[int] = field(default_factory=lambda: array("q"))
    start: array[float] = field(default_factory=lambda: array("d"))
    thread: array[int] = field(default_factory=lambda: array("i"))
    threads: dict[str, int] = field(default_factory=dict)


class Events:
    """The events of one file."""

    def __init__(self, path: object, left: LeftOut) -> None:
        self.path, self.left = path, left
        self.work: tuple[array[float], array[float]] = array("d"), array("d")  # starts, ends
        self.kernels: list[Kernel] = []
        self.asked: list[Asked] = []
        self.on_host: list[OnHost] = []
        self.launches = Launches()
        self._facts: dict[Facts, Facts] = {}
        self._texts: dict[str, str] = {}
        self._members: dict[str, tuple[int, ...]] = {}
        self._listed = 0

    def take(self, event: Mapping[str, Any]) -> None:
        """Keep what is of use of an event. Raises TraceError where that is too much."""
        if event.get("ph") != "X":
            return
        category, args = event.get("cat"), event.get("args")
        category = category.lower() if isinstance(category, str) else ""
        args = args if isinstance(args, dict) else {}
        name = event.get("name")
        name = name[:256] if isinstance(name, str) else ""
        if category in _PROGRAM:
            self._of_program(event, args, name, category)
        elif category.endswith(("runtime", "driver")):
            self._launched(event, args)
        elif category in _DEVICE or ("annotation" not in category and self._is_one(name, args)):
            self._of_device(event, args, name)

    @staticmethod
    def _is_one(name: str, args: Mapping[str, Any]) -> bool:
        return "Collective name" in args or communicates(name)

    def settle(self) -> None:
        """Once all events are taken: leave out times that are far from the others'."""
        timed = [self.work[0], *([each.start for each in own]
                                 for own in (self.asked, self.on_host))]  # fmt: skip
        starts = np.concatenate([np.asarray(each, np.float64) for each in timed])
        starts = starts[np.isfinite(starts)]
        if not len(starts):
            return
        middle = float(np.median(starts))

        def far(start: float) -> bool:
            return abs(start - middle) > MOST_LENGTH

        if not far(float(starts.min())) and not far(float(starts.max())):
            return
        own = np.abs(np.asarray(self.work[0]) - middle) <= MOST_LENGTH
        self.work = (array("d", np.asarray(self.work[0])[own]),
                     array("d", np.asarray(self.work[1])[own]))  # fmt: skip
        odd = starts[np.abs(starts - middle) > MOST_LENGTH]
        self.left.add(_TIMES, self.path, f"ts {odd[0]:g}", len(odd))
        nowhere = math.nan
        self.kernels = [each._replace(start=nowhere) if far(each.start) else each
                        for each in self.kernels]  # fmt: skip
        self.on_host = [each._replace(start=nowhere) if far(each.start) else each
                        for each in self.on_host]  # fmt: skip
        self.asked = [each for each in self.asked if not far(each.start)]

    def span(self) -> tuple[float, float]:
        """From the first begin to the last end, in microseconds; NaN: nothing is known."""
        others = [each for own in (self.asked, self.on_host) for each in own]
        starts = np.array([*self.work[0], *(each.start for each in others)])
        # Where a length is wrong, the event lasts until its begin at least.
        lengths = [each.length if each.length > 0 else 0.0 for each in others]
        lasting = (each.start + length for each, length in zip(others, lengths, strict=True))
        if not np.isfinite(starts).any():
            return math.nan, math.nan
        return earliest(starts), latest(np.array([*self.work[1], *lasting]))

    # ---- kinds of events

    def _of_device(self, event: Mapping[str, Any], args: Mapping[str, Any], name: str) -> None:
        start, length = self._time(event, name), self._length(event, name)
        starts, ends = self.work
        if math.isfinite(start):
            starts.append(start)
            ends.append(start + (length if math.isfinite(length) else 0.0))
        if len(starts) > MOST_WORK:
            raise TraceError(f"{self.path}: events of a device", f"more than {MOST_WORK}",
                             "profile fewer steps")  # fmt: skip
        if not self._is_one(name, args):
            if may_communicate(name):
                self.left.add(_LIKE, self.path, name)
            return
        self.kernels.append(Kernel(
            start, length, self._text(event.get("tid")), self._text(name), self._said(args),
            _sequence(args), _external(args), whole(args.get("correlation"), 0, 1 << 62) or 0,
        ))  # fmt: skip
        self._check(self.kernels)

    def _of_program(
        self, event: Mapping[str, Any], args: Mapping[str, Any], name: str, category: str
    ) -> None:
        if _ON_HOST.match(name):
            tid = event.get("tid")
            thread = tid if isinstance(tid, int) else self._text(tid)
            self.on_host.append(OnHost(self._time(event, name), self._length(event, name), thread,
                                       self._text(name), *_inputs(args)))  # fmt: skip
            self._check(self.on_host)
        elif _ASKED.match(name):
            start, length = self._time(event, name), self._length(event, name)
            if not math.isfinite(start + length):
                return
            facts = self._said(args)
            if category == "user_annotation" and not facts.name:
                sent, width = _inputs(args)
                facts = replace(facts, sent=sent, width=width)
            self.asked.append(Asked(start, length, self._thread(event), self._text(name), facts,
                                    _sequence(args), _external(args), _shapes(args)))  # fmt: skip
            self._check(self.asked)

    def _launched(self, event: Mapping[str, Any], args: Mapping[str, Any]) -> None:
        """Only launches have a number of the device's work; their time is right or of no use."""
        correlation = whole(args.get("correlation"), 1, 1 << 62)
        start = number(event.get("ts"))
        if correlation is None or start is None or len(self.launches.start) >= MOST_WORK:
            return
        threads = self.launches.threads
        self.launches.correlation.append(correlation)
        self.launches.start.append(start)
        self.launches.thread.append(threads.setdefault(self._thread(event), len(threads)))

    def _check(self, events: Sequence[object]) -> None:
        if len(events) > MOST_CALLS:
            raise TraceError(f"{self.path}: collectives", f"more than {MOST_CALLS}",
                             "profile fewer steps")  # fmt: skip

    # ---- values

    def _time(self, event: Mapping[str, Any], name: str) -> float:
        found = number(event.get("ts"))
        if found is None:
            self.left.add(_TIMES, self._of(name), f"ts {_shown(event.get('ts'))}")
            return math.nan
        return found

    def _length(self, event: Mapping[str, Any], name: str) -> float:
        found = number(event.get("dur"), MOST_LENGTH)
        if found is None or found < 0:
            self.left.add(_LENGTHS, self._of(name), f"dur {_shown(event.get('dur'))}")
            return math.nan
        return found

    def _of(self, name: str) -> str:
        return f"{self.path}, event {name[:60]!r}"

    def _thread(self, event: Mapping[str, Any]) -> str:
        return self._text(f"{text_of(event.get('pid'), 32)}/{text_of(event.get('tid'), 32)}")

    def _text(self, value: object) -> str:
        """The same object for the same text."""
        text = text_of(value)
        return self._texts.setdefault(text, text)

    def _said(self, args: Mapping[str, Any]) -> Facts:
        name, dtype = args.get("Collective name"), args.get("dtype")
        group, site = args.get("Process Group Name"), args.get("Process Group Description")
        sent, received = (whole(args.get(f"{way} msg nelems"), 0, 1 << 50) for way in ("In", "Out"))
        facts = Facts(
            name=text_of(name) if isinstance(name, str) else "",
            group=text_of(group) if isinstance(group, (str, int)) else "",
            site=text_of(site) if isinstance(site, str) else "",
            sent=UNKNOWN if sent is None else sent,
            received=UNKNOWN if received is None else received,
            width=element_bytes(dtype) if isinstance(dtype, str) else UNKNOWN,
            members=self.members(args.get("Process Group Ranks"), args.get("Group size")),
        )
        return self._facts.setdefault(facts, facts)

    def members(self, ranks: object, size: object) -> tuple[int, ...]:
        """The ranks of a group, sorted; () where they are not known.

        Lists of many ranks are cut in texts: they end in `...`, and are not used.
        """
        key = ranks if isinstance(ranks, str) else repr(ranks) if isinstance(ranks, list) else ""
        if not key or "..." in key:
            return ()
        if key not in self._members:
            found = [int(each) for each in re.findall(r"-?\d{1,9}", key)]
            self._listed += len(found)
            if self._listed > MOST_MEMBERS:
                raise TraceError(f"{self.path}: ranks in lists of groups",
                                 f"more than {MOST_MEMBERS}", "use fewer groups")  # fmt: skip
            good = len(set(found)) == len(found) and all(0 <= each < MOST_RANKS for each in found)
            if not good:
                self.left.add(_RANKS, self.path, key[:60])
            self._members[key] = tuple(sorted(found)) if good else ()
        known = self._members[key]
        told = whole(size, 1, MOST_RANKS)
        return known if told is None or told == len(known) else ()


_Placed = TypeVar("_Placed", Kernel, OnHost)


def in_order(events: Sequence[_Placed], lane: Callable[[_Placed], object]) -> list[_Placed]:
    """By time; one whose time is wrong stays behind the one that its lane had before."""
    before: dict[object, float] = {}
    placed = []
    for at, each in enumerate(events):
        when = each.start if math.isfinite(each.start) else before.get(lane(each), -np.inf)
        before[lane(each)] = when
        placed.append((when, at))
    return [events[at] for _, at in sorted(placed)]


def _shown(value: object) -> str:
    return repr(value)[:40] if isinstance(value, (str, int, float)) else text_of(value)


def _sequence(args: Mapping[str, Any]) -> int:
    found = whole(args.get("Seq"), 0, 1 << 62)
    return UNKNOWN if found is None else found


def _external(args: Mapping[str, Any]) -> str:
    value = args.get("External id")
    return text_of(value, 32) if isinstance(value, (str, int)) and value else ""


def elements(shape: object) -> int | None:
    """Elements of a tensor of this shape."""
    count = 1
    for extent in shape if isinstance(shape, (list, tuple)) else []:
        if not isinstance(extent, int) or not 0 <= extent < 1 << 40 or count > 1 << 50:
            return None
        count *= extent
    return count


def _inputs(args: Mapping[str, Any]) -> tuple[int, int]:
    """Elements of all inputs, and bytes of an element; UNKNOWN."""
    shapes, types = args.get("Input Dims"), args.get("Input type")
    if not isinstance(shapes, list) or not isinstance(types, list) or not types:
        return UNKNOWN, UNKNOWN
    counts = [elements(shape) for shape in shapes[:4096]]
    known = [count for count in counts if count is not None]
    if len(known) < len(counts) or sum(known) >= 1 << 50:
        return UNKNOWN, UNKNOWN
    return sum(known), element_bytes(str(types[0])[:64])


def _shapes(args: Mapping[str, Any]) -> int:
    """Elements of the tensors that a call of the program names; UNKNOWN where they are lists."""
    shapes = args.get("Input Dims")
    lists = [shape for shape in (shapes if isinstance(shapes, list) else [])
             if isinstance(shape, list)]  # fmt: skip
    flat = [part for shape in lists[:4096] for part in shape[:4096] if isinstance(part, list)]
    count = elements(flat[0]) if len(flat) == 1 else None
    return UNKNOWN if count is None else count
