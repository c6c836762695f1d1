"""Rows of interchange tables, as CSV, JSON lines or Parquet, a stretch at a time into arrays.

Tables come from strangers: a row with a value that cannot be right is left out, and counted.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from ...base import regular_files
from ...base.arrays import Array, Bools, Floats, Int32s
from ...base.printable import HALVES, of_csv_cell
from . import files, profiles_of_sums
from .contradictions import SAME_CLOCK
from .events import MOST_RANKS
from .json_numbers import number
from .left_out import LeftOut
from .model import TraceError, Words

Columns = dict[str, Array]
MOST_ROWS = 10_000_000  # as many take 2 GB with the trace that is made of them
MOST_TEXTS = 1 << 18  # different ones, of at most ...
LONGEST_TEXT = 1024  # ... so many characters
LONGEST_LINE = 1 << 20  # characters
STRETCH = 1 << 14  # rows that are held as objects
_WHOLE = float(1 << 53)  # doubles hold each whole number up to it
_LATEST = 1e11  # seconds: times beyond are in another unit
_REQUIRED = ("rank", "arrive", "leave")
# The least and the greatest value; -1 stands for one that is not known, where it is the least.
_RANKS = (-1, MOST_RANKS - 1)
WHOLE = {"rank": (0, MOST_RANKS - 1), "sequence": (-1, _WHOLE), "bytes": (-1, _WHOLE),
         "peer": _RANKS, "root": _RANKS, "element_bytes": (-1, 1 << 20)}  # fmt: skip
TIMES = ("arrive", "leave", "requested", "idle")
_UNITS = {"_s": 1.0, "_ms": 1e-3, "_us": 1e-6, "_ns": 1e-9}
_YEAR = 365 * 86400.0  # no run takes as long
NUMBERS = {**WHOLE, **dict.fromkeys(TIMES, (-_LATEST, _LATEST)), "clock_error": (0, np.inf)}
TEXTS = ("group", "operation", "host", "site", "operator", "algorithm", "served")
# The columns of files: what each is here, and its unit.
_COLUMNS = {name: (name, 1.0) for name in (*NUMBERS, *TEXTS)} | {
    name + end: (name, unit) for name in (*TIMES, "clock_error") for end, unit in _UNITS.items()
}
_RIGHT = ("right would be a table with the columns rank, operation, group, sequence, bytes, host, "
          "arrive and leave (in seconds; else arrive_ns or the like): as CSV, whose first line "
          "names them, as JSON lines or as Parquet")  # fmt: skip
_UNIT = ("times that are no seconds are in columns named so: arrive_ns, arrive_us or arrive_ms, "
         "and so for leave")  # fmt: skip


class Rows:
    """The columns of tables: numbers, NaN: not known, and places in `words`, -1: empty."""

    def __init__(self, left: LeftOut) -> None:
        self.words, self.left = Words(), left
        self.stretches: list[Columns] = []
        self.count = 0  # of rows, with those that are left out
        self.plain = False  # a column of arrivals names no unit

    def columns(self) -> Columns:
        """All rows by column; only columns that some row has. Forgets the stretches."""
        names = dict.fromkeys(name for part in self.stretches for name in part)
        counts, found = [len(part["rank"]) for part in self.stretches], {}
        for name in names:
            missing = (-1, np.int32) if name in TEXTS else (np.nan, np.float64)
            found[name] = np.concatenate([
                part.pop(name) if name in part else np.full(count, *missing)
                for part, count in zip(self.stretches, counts, strict=True)
            ])  # fmt: skip
        self.stretches = []
        return found

    def take(self, path: Path, values: Mapping[str, Any]) -> None:
        """Rows of a file, by column: lists or tuples (of CSV) of equal length, or arrays.

        Raises TraceError where they are too many, and for two columns of one thing.
        """
        _check_twice(path, values)
        count = max(map(len, values.values()))
        odd, part = np.zeros(count, bool), {name: np.full(count, np.nan) for name in _REQUIRED}
        for said, column in values.items():
            name, unit = _COLUMNS[said]
            self.plain |= said == "arrive"
            if name in TEXTS:
                part[name], wrong = self._texts(column, quoted=isinstance(column, tuple))
                told = f"is no text of at most {LONGEST_TEXT} characters"
            else:
                found, wrong = _numbers(column)
                if name in TIMES:
                    found = unit * found
                    self._not_a_number(path, said, found, wrong, column)
                part[name] = found
                least, most = NUMBERS[name]
                wrong |= (part[name] < least) | (part[name] > most)
                told = f"is no number from {least:.16g} to {most:.16g}"
                if name in TIMES:
                    told += f" seconds: {_UNIT}"
                if name in WHOLE:
                    wrong |= ~np.isnan(part[name]) & (np.floor(part[name]) != part[name])
                if least == -1:
                    part[name][part[name] == -1] = np.nan
                if name == "rank":
                    wrong |= np.isnan(part[name])
            self._odd(path, f"rows whose {said} {told}", wrong & ~odd, column)
            odd |= wrong
        self._no_later(path, part)
        early = (part["leave"] < part["arrive"]) & ~odd
        self._odd(path, "rows that leave before they arrive", early, part["leave"])
        odd |= early
        self.count += count
        _check_count(path, self.count)
        if len(self.words) > MOST_TEXTS:
            raise TraceError(f"{path}: different texts", f"more than {MOST_TEXTS}",
                             "name groups, hosts and places as their calls share them")  # fmt: skip
        if odd.any():
            part = {name: column[~odd] for name, column in part.items()}
        self.stretches.append(part)

    def _no_later(self, path: Path, part: Columns) -> None:
        """Forget the requests that came after the rank arrived, but for rounding."""
        if "requested" in part:
            asked, came = part["requested"], part["arrive"]
            odd = asked > came + SAME_CLOCK
            part["requested"] = np.where(odd, np.nan, np.where(asked > came, came, asked))
            if odd.any():
                told = "rows that were requested after they arrived: the request is not known"
                self.left.doubt(told, path, int(odd.sum()))

    def check_unit(self, path: Path) -> None:
        """Raise TraceError for times that cannot be seconds; doubt those that may be none."""
        times, ends = (np.concatenate([part[name] for part in self.stretches] or [np.zeros(0)])
                       for name in ("arrive", "leave"))  # fmt: skip
        known = np.isfinite(times)
        at_once = (times == ends)[known & np.isfinite(ends)]
        times = times[known]
        if not len(times):
            return
        first, last = np.quantile(times, (0.1, 0.9))  # a single time may be wrong
        if last - first > _YEAR:
            years = f"they are of {(last - first) / _YEAR:.3g} years"
            raise TraceError(f"{path}: times in seconds", years, _UNIT)
        if 2 * at_once.sum() > len(at_once):
            told = "rows that leave when they arrive, as where times are rounded to 32 bits"
            self.left.doubt(told, path, int(at_once.sum()))
        if last > first and self.plain and (times == np.floor(times)).all():
            self.left.doubt(f"times that are all whole numbers, and taken as seconds: {_UNIT}",
                            path)  # fmt: skip

    def _not_a_number(self, path: Path, name: str, found: Array, wrong: Bools, column: Any) -> None:
        """Doubt times that are given as NaN; empty ones are not known, as the table says."""
        odd = np.isnan(found) & ~wrong
        if odd.any() and not isinstance(column, np.ndarray):
            odd &= np.array([each not in (None, "") for each in column], bool)
            if count := int(odd.sum()):
                self.left.doubt(f"rows whose {name} is NaN, which is taken as not known", path,
                                count)  # fmt: skip

    def _odd(self, path: Path, what: str, wrong: Bools, values: Any) -> None:
        if wrong.any():
            at = int(wrong.argmax())
            self.left.add(what, f"{path}, row {self.count + at + 1}", str(values[at])[:80],
                          int(wrong.sum()))  # fmt: skip

    def _texts(self, values: Sequence[Any], *, quoted: bool) -> tuple[Int32s, Bools]:
        """Their places in the words. `quoted`: as exports quote what a spreadsheet executes."""
        try:
            places: dict[Any, int] = dict.fromkeys(values, 0)
        except TypeError:  # lists and objects
            values = [each if isinstance(each, (str, int, type(None))) else 0.5 for each in values]
            places = dict.fromkeys(values, 0)
        for each in places:
            places[each] = self._place(of_csv_cell(each) if quoted else each)
        found = np.fromiter(map(places.__getitem__, values), np.int32, len(values))
        return found, found == -2

    def _place(self, text: object) -> int:
        """The place of a text in the words; -1: there is none; -2: it is none."""
        if isinstance(text, int) and not isinstance(text, bool) and abs(text) < 1 << 64:
            text = str(text)
        if text is None or text == "":
            return -1
        if not isinstance(text, str) or len(text) > LONGEST_TEXT:
            return -2
        return self.words.place(text.translate(HALVES))


def _numbers(values: Any) -> tuple[Floats, Bools]:
    """As an array, NaN where nothing is said; and which ones are no numbers."""
    if isinstance(values, np.ndarray):
        return values.astype(np.float64), np.zeros(len(values), bool)
    kinds = set(map(type, values))
    try:
        if kinds <= {float, int, type(None)}:
            return np.array(values, np.float64), np.zeros(len(values), bool)
        if kinds == {str} and not any(values):
            return np.full(len(values), np.nan), np.zeros(len(values), bool)
        if kinds == {str}:
            read = np.array([float(each) if each else np.nan for each in values])
            return read, np.zeros(len(values), bool)
    except (ValueError, OverflowError):
        pass
    nothing = [each is None or str(each) in ("", "nan", "NaN") for each in values]
    found = [None if none else number(each) for none, each in zip(nothing, values, strict=True)]
    wrong = np.array([each is None for each in found], bool) & ~np.array(nothing, bool)
    return np.array(found, np.float64), wrong


# ---- files


def read(paths: Sequence[Path], left: LeftOut) -> Rows:
    """The rows of all files. Raises TraceError where none is a table, or they hold too much."""
    rows, odd = Rows(left), None
    for path in paths:
        before = rows.count
        try:
            for values in _stretches(path, left):
                rows.take(path, values)
        except TraceError as error:
            if rows.count > before:
                raise
            odd = odd or error
            left.add("files that are no tables", error)
    if odd is not None and not rows.count:
        raise odd
    if paths:
        rows.check_unit(paths[0])
    return rows


def _stretches(path: Path, left: LeftOut) -> Iterator[Mapping[str, Any]]:
    try:
        head = regular_files.read(path, 512)
    except OSError as error:
        raise TraceError(f"{path}: cannot be read", error.strerror, "name a table") from None
    profiles_of_sums.refuse(path, head)
    if head.startswith(b"PAR1"):
        yield from _parquet(path)
        return

    def cut(why: str) -> None:
        left.add("ends of files", path, why)

    def overlong() -> None:
        left.add(f"lines of more than {LONGEST_LINE} characters", path)

    pieces = files.text(path, cut, left)
    first = next(pieces, "")
    lines = files.lines(chain([first], pieces), LONGEST_LINE, overlong)
    mark = first.lstrip()[:1]
    yield from _json(lines, path, left) if mark == "{" else _csv(lines, path, left)


def _csv(lines: Iterator[str], path: Path, left: LeftOut) -> Iterator[Mapping[str, Any]]:
    csv.field_size_limit(LONGEST_LINE)
    head = next(lines, "")
    reader = csv.reader(chain([head], lines), delimiter=max(",;\t", key=head.count))
    names = [name.strip().lower() for row in _rows(reader, 1, path, left) for name in row]
    if "\r" in head.rstrip("\r\n"):
        raise TraceError(f"{path}: ends of lines", "carriage returns alone",
                         "end lines by line feeds: tr '\\r' '\\n'")  # fmt: skip
    _check(path, names, "its first line is " + repr(",".join(names)[:80]) if names else "nothing")
    _check_twice(path, names)
    known = {name: at for at, name in enumerate(names) if name in _COLUMNS}
    while rows := _rows(reader, STRETCH, path, left):
        whole = [row for row in rows if len(row) == len(names)]
        if odd := sum(bool(row) for row in rows) - len(whole):
            left.add(f"rows of another number of cells than the first line's {len(names)}",
                     f"{path}, before line {reader.line_num + 1}", count=odd)  # fmt: skip
        if whole:
            columns = list(zip(*whole, strict=True))
            yield {name: columns[at] for name, at in known.items()}


def _rows(reader: Any, most: int, path: Path, left: LeftOut) -> list[list[str]]:
    """The next rows; none: the file has ended."""
    rows: list[list[str]] = []
    while True:
        try:
            rows.extend(islice(reader, most - len(rows)))
        except csv.Error as error:  # noqa: PERF203
            # The rows before it are kept.
            left.add("rows that are no CSV", f"{path}, line {reader.line_num}", error)
        else:
            return rows


def _json(lines: Iterator[str], path: Path, left: LeftOut) -> Iterator[Mapping[str, Any]]:
    seen, more = False, True
    while more:
        some = [line for line, _ in zip(lines, range(STRETCH), strict=False)]
        more = len(some) == STRETCH
        rows = _objects(some, path, left)
        names = set().union(*rows)
        if rows and not seen:
            if "traceEvents" in names:
                raise TraceError(f"{path}: no table of calls", "a trace of PyTorch's profiler",
                                 "name the folder that holds one for each rank")  # fmt: skip
            _check(path, names, "its lines have " + (", ".join(sorted(names)[:12]) or "no names"))
            seen = True
        if rows:
            known = [name for name in _COLUMNS if name in names or name == "rank"]
            yield {name: [row.get(name) for row in rows] for name in known}
    if not seen:
        raise TraceError(f"{path}: no table of calls", f"no line is JSON ({left.said()})", _RIGHT)


def _objects(lines: Sequence[str], path: Path, left: LeftOut) -> list[dict[str, Any]]:
    """The object of each line."""
    lines = [line for line in lines if not line.isspace()]
    try:  # a stretch at once is twice as fast as line by line
        found: list[dict[str, Any]] = json.loads(f"[{','.join(lines)}]")
    except (ValueError, RecursionError):
        found = []
    if len(found) == len(lines) and set(map(type, found)) <= {dict}:
        return found
    found = []
    for line in lines:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            found.append(value)
        else:
            left.add("lines that are no JSON object", path, line[:80])
    return found


def _parquet(path: Path) -> Iterator[Mapping[str, Any]]:
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.parquet
    except ImportError as error:
        raise TraceError(f"{path}: Parquet needs the Python module pyarrow", error,
                         f"install it for {sys.executable}: pip install pyarrow; or convert the "
                         "file to CSV") from None  # fmt: skip
    try:
        with regular_files.opened(path) as file:
            whole = pyarrow.parquet.ParquetFile(file)
            names = whole.schema_arrow.names
            _check(path, names, "its columns are " + ", ".join(names[:12]))
            _check_count(path, whole.metadata.num_rows)
            known = [name for name in _COLUMNS if name in names]
            for batch in whole.iter_batches(STRETCH, columns=known):
                yield {name: batch.column(name).to_pylist() if name in TEXTS
                       else _values(pyarrow, batch.column(name)) for name in known}  # fmt: skip
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise TraceError(f"{path}: Parquet cannot be read", str(error)[:200],
                         "right would be a whole file") from None  # fmt: skip


def _values(pyarrow: Any, column: Any) -> Any:
    kind = column.type
    nans = pyarrow.types.is_floating(kind) and column.null_count < pyarrow.compute.sum(
        pyarrow.compute.is_nan(column).fill_null(True)).as_py()  # fmt: skip
    if not nans and (pyarrow.types.is_floating(kind) or pyarrow.types.is_integer(kind)):
        return column.to_numpy(zero_copy_only=False)
    return column.to_pylist()


def _check(path: Path, names: Any, found: str) -> None:
    there = {_COLUMNS[name][0] for name in names if name in _COLUMNS}
    if missing := [name for name in _REQUIRED if name not in there]:
        raise TraceError(f"{path}: no table of calls, since it has no column "
                         f"{' and '.join(missing)}", found, _RIGHT)  # fmt: skip


def _check_twice(path: Path, names: Iterable[str]) -> None:
    """Raise TraceError for two columns of one thing."""
    seen: dict[str, str] = {}
    for name in names:
        meaning, _ = _COLUMNS.get(name, (name, 1.0))
        if meaning in seen and name in _COLUMNS:
            raise TraceError(f"{path}: columns for one thing", f"{seen[meaning]} and {name}",
                             "keep one of them")  # fmt: skip
        seen[meaning] = name


def _check_count(path: Path, rows: int) -> None:
    if rows > MOST_ROWS:
        raise TraceError(f"{path}: rows", f"more than {MOST_ROWS}", "record fewer steps")
