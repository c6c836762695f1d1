"""Chrome's JSON traces, event by event: files of a gigabyte, of which a thousandth is of use.

Files are not trusted. A damaged event is left out and counted, and reading goes on with the next
one; a file that was cut off ends there. Memory holds a window of the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import files
from .left_out import LeftOut
from .model import TraceError

MOST_EVENTS = 50_000_000
FREE_EVENTS = 200_000  # more than these only if the file has two bytes for each
MOST_BESIDE = 10_000  # values beside the events
MOST_DAMAGED = 10_000  # events of a file: with more of them it is something else
LONGEST = 4 << 20  # characters of an event, or of a value beside them
_WASTED = 256 << 20  # characters of damaged events, read once each
_NESTED = 1 << 14  # characters that count for one that is nested too deep
_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder(strict=False)  # names hold newlines and control characters
# Values beside the events, as PyTorch's profiler names them.
_BESIDE = ("distributedInfo|baseTimeNanoseconds|host_name|schemaVersion|deviceProperties|traceName|"
           "displayTimeUnit|record_shapes|trace_id|INFO|WARNING|ERROR")  # fmt: skip
_EVENT = re.compile(r'\{\s*"(?:ph|cat|name|pid|tid|ts|dur)"\s*:|'
                    rf'\]\s*,\s*(?="(?:{_BESIDE})"\s*:)')  # fmt: skip
_KEY = re.compile(rf'"(?:traceEvents|{_BESIDE})"\s*:')
_END = re.compile(r"\]\s*\}\s*\Z")
_OF_USE = re.compile(r"[nr]ccl|gloo:|mpi:|Collective name", re.IGNORECASE)
_LONGEST_MARK = 256  # characters of what these find
_TAIL = 4096  # characters in which they are looked for at the end

DAMAGED = "events that are no JSON"


@dataclass
class Read:
    """What is beside the events, and what is wrong with the file."""

    values: dict[str, Any] = field(default_factory=dict)
    events: int = 0
    cut: str = ""  # why and where the file ends early; "": it is whole
    listed: bool = False  # there is a list of events
    lost: int = 0  # damaged events that may have been collectives


def read(
    path: Path,
    take: Callable[[dict[str, Any]], None],
    left: LeftOut,
    wanted: Container[str] = (),
    most: int = files.MOST_BYTES,
) -> Read:
    """Gives each event to `take`; keeps the values beside them that are wanted.

    Raises TraceError where the file is no trace, or too much.
    """
    return _Reader(path, left, most).read(take, wanted)


class _Reader:
    """One file: `at` is the place of the next character in `text`, which begins at `begin`."""

    def __init__(self, path: Path, left: LeftOut, most: int) -> None:
        self.path, self.left = path, left
        self.found = Read()
        self.pieces: Iterator[str] | None = files.text(path, self._cut, left, most)
        self.text, self.at, self.begin = "", 0, 0
        self.damaged = self.wasted = self.beside = 0
        self.most = min(MOST_EVENTS, max(FREE_EVENTS, path.stat().st_size // 2))

    def read(self, take: Callable[[dict[str, Any]], None], wanted: Container[str]) -> Read:
        mark = self._next()
        if mark == "[":  # events alone are a trace, too, and may lack the last bracket
            self.found.listed = True
            self._events(take, bracket=False)
            return self.found
        if mark != "{":
            raise self._wrong("no JSON", self.found.cut or self._seen())
        self.at += 1
        lists = 0
        while (key := self._key()) is not None:
            if key == "traceEvents":
                if lists:
                    self.left.doubt("files with several lists of events, which are read as one",
                                    self._place(self.at))  # fmt: skip
                lists += 1
                self.found.listed = True
                self._events(take)
            elif (value := self._value()) is not _NOTHING and key in wanted:
                self.found.values[key] = value
        return self.found

    # ---- the window

    def _more(self) -> None:
        """Have LONGEST characters before the end of the window, or all that there are."""
        while self.pieces is not None and len(self.text) - self.at < LONGEST:
            have, size = [self.text[self.at :]], len(self.text) - self.at
            while size < 2 * LONGEST and self.pieces is not None:
                piece = next(self.pieces, None)
                if piece is None:
                    self.pieces = None
                else:
                    have.append(piece)
                    size += len(piece)
            self.begin += self.at
            self.text, self.at = "".join(have), 0

    def _next(self) -> str:
        """The next character that is no space; "" at the end."""
        while True:
            found = _SPACE.match(self.text, self.at)
            self.at = found.end() if found else self.at
            if self.pieces is None or len(self.text) - self.at >= LONGEST:
                return self.text[self.at : self.at + 1]
            self._more()

    def _seek(self, mark: re.Pattern[str]) -> re.Match[str] | None:
        """Go to the next place that fits, and count what may have been of use before it."""
        self.at += 1
        while True:
            self._more()
            found = mark.search(self.text, self.at)
            end = found.start() if found else len(self.text)
            if _OF_USE.search(self.text, self.at, end):
                self.found.lost += 1
            if found or self.pieces is None:
                self.wasted += end - self.at
                self.at = end
                return found
            self.wasted += end - self.at
            self.at = max(self.at, len(self.text) - _LONGEST_MARK)

    # ---- JSON

    def _key(self) -> str | None:
        """The next name beside the events, and its colon; None at the end."""
        while (mark := self._next()) == ",":
            self.at += 1
        if mark == "}":
            return None
        if not mark:
            self._cut("the file ends before its last bracket")
            return None
        begin, self.beside = self.at, self.beside + 1
        if self.beside > MOST_BESIDE:
            raise self._wrong("values beside the events", f"more than {MOST_BESIDE}")
        key = self._decoded()
        if isinstance(key, str) and self._next() == ":":
            self.at += 1
            return key
        self.left.add("values beside the events that are no JSON", self._place(begin))
        self.at = begin
        found = self._seek(_KEY)
        if found is None:
            self._cut("no JSON")
            return None
        self.at = found.end()
        return found[0].split('"')[1]

    def _value(self) -> Any:
        self._next()
        begin = self._place(self.at)
        value = self._decoded()
        if value is _NOTHING:
            self.left.add("values beside the events that are no JSON", begin)
            found = self._seek(_KEY)
            if found is None:
                self._cut("no JSON")
        return value

    def _decoded(self) -> Any:
        """The next value; _NOTHING, and the place unchanged, where it is none."""
        try:
            value, self.at = _DECODER.raw_decode(self.text, self.at)
        except RecursionError:
            self._waste(_NESTED)
            return _NOTHING
        except ValueError as error:  # also of numbers with thousands of digits
            message, place = getattr(error, "msg", ""), getattr(error, "pos", self.at)
            unended = message.startswith("Unterminated")
            self._waste((len(self.text) if unended else place) - self.at)
            return _NOTHING
        return value

    def _waste(self, characters: int) -> None:
        self.damaged += 1
        self.wasted += characters
        if self.damaged > MOST_DAMAGED or self.wasted > _WASTED:
            raise self._wrong("damaged events", f"{self.damaged}, of {self.wasted} characters")

    def _events(self, take: Callable[[dict[str, Any]], None], bracket: bool = True) -> None:
        if self._next() != "[":
            self.left.add("values of traceEvents that are no lists", self._place(self.at))
            self._value()
            return
        self.at += 1
        while mark := self._next():
            if mark == "]":
                self.at += 1
                return
            if mark == ",":
                self.at += 1
                continue
            begin = self.at
            event = self._decoded()
            if isinstance(event, dict):
                self.found.events += 1
                if self.found.events > self.most:
                    raise self._wrong("number of events", f"more than {self.most}")
                take(event)
            elif event is not _NOTHING:
                self.left.add("events that are no objects", self._place(begin), str(event)[:40])
                self._waste(self.at - begin)
            elif not self._resumed():
                return
        if bracket or not self.found.events:
            self._cut("the file ends among the events")

    def _resumed(self) -> bool:
        """After a damaged event: True if there is a next one."""
        place, seen = self._place(self.at), self._seen()
        found = self._seek(_EVENT)
        if found is None and not _END.search(self.text[-_TAIL:]):
            self._cut("the file ends in an event, or is no JSON from there on", place)
            return False
        self.left.add(DAMAGED, place, seen)
        if found is None:
            self.at = len(self.text)
            return False
        if found[0].startswith("]"):
            self.at = found.end()
            return False
        return True

    # ---- what is wrong

    def _seen(self) -> str:
        seen = self.text[self.at : self.at + 40]
        return repr(seen) if seen else "end of the file"

    def _place(self, at: int) -> str:
        return f"{self.path}, character {self.begin + at}"

    def _cut(self, why: str, place: str = "") -> None:
        self.found.cut = self.found.cut or f"{place or self._place(self.at)}: {why}"

    def _wrong(self, what: str, value: object) -> TraceError:
        remedy = "right would be a trace that export_chrome_trace wrote, whole"
        return TraceError(f"{self._place(self.at)}: {what}", value, remedy)


_NOTHING = object()  # where no value could be read
