"""Chrome's JSON traces, event by event: files of a gigabyte, of which a thousandth is of use.

Files are not trusted: sizes, nesting and types are checked, and errors name the file.
"""

from __future__ import annotations

import gc
import gzip
import json
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .model import TraceError

MOST_BYTES = 2 << 30  # of the text of one file, unpacked
MOST_EVENTS = 50_000_000
MOST_KEPT = 5_000_000  # events of one file
_CHUNK = 1 << 22
_SPACE = re.compile(r"[ \t\n\r]*")
Keep = Callable[[dict[str, Any]], "dict[str, Any] | None"]
_DECODER = json.JSONDecoder()


def text_of(path: Path, most: int = MOST_BYTES) -> str:
    """The text of a file, unpacked if its name ends in .gz. Raises TraceError."""
    packed = path.name.endswith(".gz")
    chunks, size = [], 0
    try:
        with gzip.open(path, "rb") if packed else path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                size += len(chunk)
                if size > most:
                    remedy = f"at most {most >> 20} MiB are read: profile fewer steps"
                    raise TraceError(f"{path}: size", f"more than {most} bytes", remedy)
                chunks.append(chunk)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise TraceError(f"{path}: not a whole gzip file", error, "copy it again") from None
    except OSError as error:
        raise TraceError(f"{path}: cannot be read", error.strerror, "check the file") from None
    return b"".join(chunks).decode("utf-8", "replace")


def read(
    path: Path, keep: Keep, most: int = MOST_BYTES
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The values beside the events, and what is kept of the events. Raises TraceError.

    `keep` returns the event, a smaller one, or None.
    """
    text = text_of(path, most)
    collects = gc.isenabled()
    gc.disable()  # it would look at all events again and again
    try:
        return _Reader(path, text).read(keep)
    finally:
        if collects:
            gc.enable()


class _Reader:
    """One file; `at` is the place of the next character."""

    def __init__(self, path: Path, text: str) -> None:
        self.path, self.text, self.at = path, text, 0

    def read(self, keep: Keep) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        values: dict[str, Any] = {}
        events: list[dict[str, Any]] = []
        if self._next() == "[":  # events alone are a trace, too
            self._events(keep, events)
            return values, events
        self._expect("{")
        if self._next() == "}":
            return values, events
        while True:
            key = self._value()
            self._expect(":")
            if key == "traceEvents":
                self._events(keep, events)
            else:
                values[str(key)] = self._value()
            if self._next() == "}":
                return values, events
            self._expect(",")

    def _events(self, keep: Keep, events: list[dict[str, Any]]) -> None:
        self._expect("[")
        for count in range(MOST_EVENTS):
            if self._next() == "]":
                self.at += 1
                return
            if count:
                self._expect(",")
            event = self._value()
            if not isinstance(event, dict):
                raise self._wrong("an event is no object", str(event)[:40])
            kept = keep(event)
            if kept is not None:
                events.append(kept)
                if len(events) > MOST_KEPT:
                    raise self._wrong("number of events of use", f"more than {MOST_KEPT}")
        raise self._wrong("number of events", f"more than {MOST_EVENTS}")

    def _value(self) -> Any:
        self._next()
        try:
            value, self.at = _DECODER.raw_decode(self.text, self.at)
        except RecursionError:
            raise self._wrong("nesting", "too deep") from None
        except ValueError as error:  # also of numbers with thousands of digits
            reason = getattr(error, "msg", str(error))
            self.at = getattr(error, "pos", self.at)
            raise self._wrong("no JSON", reason) from None
        return value

    def _next(self) -> str:
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return self.text[self.at : self.at + 1]

    def _expect(self, mark: str) -> None:
        found = self._next()
        if found != mark:
            raise self._wrong(f"no JSON: no '{mark}'", repr(found) if found else "end of the file")
        self.at += 1

    def _wrong(self, what: str, value: object) -> TraceError:
        remedy = "right would be a trace that export_chrome_trace wrote, whole"
        return TraceError(f"{self.path}, character {self.at}: {what}", value, remedy)
