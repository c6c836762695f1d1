"""One program's arrivals as a Parquet file that names nothing but collectives (docs/atlas.md).

A file is trusted by nobody who reads it: columns, sizes and values are checked, all at once.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import regular_files
from ..base.arrays import Floats, Int32s, Int64s
from ..base.errors import UserError
from ..base.limits import MOST_RANKS
from ..base.whole_files import fresh

if TYPE_CHECKING:
    import pyarrow

KEY = b"latecomer.atlas"  # of the file's metadata
FORMAT = 1
LICENCE = "CC0-1.0"
UNKNOWN = -1  # a size or a root
OTHER = "other"  # stands for collectives that are not listed
COLLECTIVES = (
    "allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "alltoallw", "barrier",
    "bcast", "exscan", "gather", "gatherv", "reduce", "reduce_scatter", "reduce_scatter_block",
    "scan", "scatter", "scatterv", OTHER,
)  # fmt: skip
_NUMBERS = {"group": "int32", "place": "int32", "bytes": "int64", "root": "int32",
            "gap_s": "float64", "transfer_s": "float64"}  # fmt: skip
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._+-]{0,63}")
_MOST_BYTES = 1 << 26  # of a file
_MOST_TIMES = 1 << 23  # of calls by ranks
_STRETCH = 4096  # rows that are read at once
_MOST_S = 1e9
_MOST_COUNT = 1 << 62  # calls, cores, hosts


class AtlasError(UserError, ValueError):
    """A file of the atlas that cannot be read, or a question that it cannot answer."""


def check_name(option: str, name: str) -> str:
    """A program's name that can be published. Raises AtlasError."""
    if not _NAME.fullmatch(name):
        remedy = "use up to 64 letters, digits, blanks and . _ + -, as in 'lammps'"
        raise AtlasError(f"{option} is no name of a program", repr(name), remedy)
    return name


@dataclass(frozen=True)
class About:
    """Facts about the run. Numbers, but for the name that its recorder has chosen."""

    name: str  # of the program; empty: not told
    ranks: int
    calls: int  # of the run that are known on all their ranks; the file may hold fewer
    span_s: float  # of the run that the file's calls cover: all of it, or the stretch of these
    hosts: int  # that the ranks ran on
    cores: int  # of the machine that recorded them; 0: not known
    load: float  # processes that wanted its cores before, as a mean over 1 minute; 0: not known


@dataclass(frozen=True)
class Arrivals:
    """The calls of a file, in the order of time. Arrays have one entry a call."""

    about: About
    collective: list[str]  # of COLLECTIVES
    group: Int32s  # the communicator, by a number
    place: Int32s  # in the program, by a number; -1: not known
    bytes: Int64s  # of the whole vector; -1: not known
    root: Int32s  # a member's place in the group; -1: there is none
    gap_s: Floats  # from the last exit of the group's call before to the first arrival
    transfer_s: Floats  # last exit minus last arrival
    lateness_s: list[Floats]  # by member: its arrival minus the first one

    def __len__(self) -> int:
        return len(self.collective)

    def part(self, calls: Int64s) -> Arrivals:
        """Some of the calls."""
        own = {name: getattr(self, name)[calls] for name in _NUMBERS}
        return Arrivals(self.about, [self.collective[i] for i in calls], **own,
                        lateness_s=[self.lateness_s[i] for i in calls])  # fmt: skip


def needed() -> Any:
    """pyarrow. Raises AtlasError where pyarrow is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        remedy = "pip install pyarrow"
        raise AtlasError(
            "Parquet needs a package that is not installed", "pyarrow", remedy
        ) from None
    return pyarrow


def write(arrivals: Arrivals, file: Path) -> None:
    """Write a file, uncompressed, so that anybody can look for names in its bytes."""
    arrow = needed()
    table = arrow.table(
        {
            "collective": arrow.array(arrivals.collective, arrow.string()),
            **{name: arrow.array(getattr(arrivals, name), kind) for name, kind in _NUMBERS.items()},
            "lateness_s": arrow.array(arrivals.lateness_s, arrow.list_(arrow.float32())),
        }
    )
    about = {"format": FORMAT, "licence": LICENCE, **asdict(arrivals.about)}
    table = table.replace_schema_metadata({KEY: json.dumps(about).encode()})
    with fresh(file) as part:
        arrow.parquet.write_table(table, part, compression="none", write_page_checksum=True,
                                  use_dictionary=["collective"])  # fmt: skip


def read(file: str | Path) -> Arrivals:
    """A file of the atlas. Raises AtlasError, which names what is wrong."""
    arrow = needed()
    try:
        content = regular_files.read(Path(file), _MOST_BYTES + 1)
    except OSError as error:
        raise AtlasError(f"cannot read the atlas ({error.strerror or error})", file,
                         "name a file that latecomer atlas record wrote") from None  # fmt: skip
    if len(content) > _MOST_BYTES:
        raise _damaged(file, "bytes", f"over {_MOST_BYTES}")
    try:
        parquet = arrow.parquet.ParquetFile(
            arrow.BufferReader(content), page_checksum_verification=True,
            read_dictionary=["collective"],
        )  # fmt: skip
        about = _about(file, (parquet.metadata.metadata or {}).get(KEY))
        _check_columns(file, arrow, parquet.schema_arrow)
        table = arrow.Table.from_batches(_batches(file, parquet), parquet.schema_arrow)
        table.validate(full=True)
    except (arrow.ArrowException, OSError, LookupError, UnicodeDecodeError) as error:
        why = str(error).partition("\n")[0][:120]
        raise _damaged(file, "its Parquet", why) from None
    return _checked(file, about, table)


def _damaged(file: str | Path, what: str, value: object) -> AtlasError:
    return AtlasError(f"{file} is no whole file of the atlas: {what}", value,
                      "name a file that latecomer atlas record wrote")  # fmt: skip


def _about(file: str | Path, text: bytes | None) -> About:
    if text is None:
        raise _damaged(file, "metadata", f"no {KEY.decode()}")
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        raise _damaged(file, "metadata", "no JSON") from None
    if not isinstance(told, dict) or told.get("format") != FORMAT:
        seen = told.get("format") if isinstance(told, dict) else "no object"
        raise _damaged(file, f"format, of which {FORMAT} is known", str(seen)[:40])
    values: dict[str, Any] = {each.name: told.get(each.name) for each in fields(About)}
    for name, value in values.items():
        most = {"ranks": MOST_RANKS, "span_s": _MOST_S, "load": _MOST_S}.get(name, _MOST_COUNT)
        if name == "name":
            right = value == "" or (isinstance(value, str) and _NAME.fullmatch(value))
        elif name in ("span_s", "load"):
            right = type(value) in (int, float) and 0 <= value <= most
        else:
            right = type(value) is int and 0 <= value <= most
        if not right:
            raise _damaged(file, name, repr(value)[:40])
    return About(**values)


def _check_columns(file: str | Path, arrow: Any, schema: pyarrow.Schema) -> None:
    right = arrow.schema({"collective": arrow.dictionary(arrow.int32(), arrow.string()),
                          **{name: getattr(arrow, kind)() for name, kind in _NUMBERS.items()},
                          "lateness_s": arrow.list_(arrow.float32())})  # fmt: skip
    if not schema.remove_metadata().equals(right):
        seen = ", ".join(f"{each.name} {each.type}" for each in schema)
        raise _damaged(file, "columns", repr(seen)[:200])


def _batches(file: str | Path, parquet: Any) -> list[pyarrow.RecordBatch]:
    """Some rows at a time, so that a short file cannot fill the memory.

    Nothing is asked of the metadata of columns: in a damaged file pyarrow ends the process.
    """
    found, times = [], 0
    for batch in parquet.iter_batches(_STRETCH):
        found.append(batch)
        times += max(len(batch), len(batch["lateness_s"].values))
        if times > _MOST_TIMES:
            raise _damaged(file, "times", f"over {_MOST_TIMES}")
    return found


def _checked(file: str | Path, about: About, table: pyarrow.Table) -> Arrivals:
    if nulls := [name for name in table.column_names if table[name].null_count]:
        raise _damaged(file, f"column {nulls[0]}", "no value in a call")
    columns = {name: table[name].to_numpy() for name in _NUMBERS}
    words = [part.dictionary.to_pylist() for part in table["collective"].chunks]
    if strange := {word for each in words for word in each} - set(COLLECTIVES):
        raise _damaged(file, "collective", repr(min(strange, key=str))[:40])
    collective = table["collective"].to_pylist()
    rows = table["lateness_s"].combine_chunks()
    flat = rows.flatten()
    if flat.null_count:
        raise _damaged(file, "column lateness_s", "no value of a rank")
    times = flat.to_numpy(zero_copy_only=False).astype(np.float64)
    sizes = rows.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
    if len(sizes) and not (sizes.min() >= 2 and sizes.max() <= about.ranks):
        raise _damaged(file, "ranks of a call", f"{sizes.min()} to {sizes.max()} of {about.ranks}")
    first = np.minimum.reduceat(times, np.r_[0, sizes[:-1].cumsum()]) if len(sizes) else times
    limits = {"group": (0, len(sizes)), "place": (UNKNOWN, _MOST_COUNT),
              "bytes": (UNKNOWN, _MOST_COUNT), "root": (UNKNOWN, sizes - 1),
              "gap_s": (0, _MOST_S), "transfer_s": (0, _MOST_S)}  # fmt: skip
    limited = [("lateness_s", times, 0, _MOST_S), ("first lateness_s", first, 0, 0)]
    limited += [(name, columns[name], *limits[name]) for name in _NUMBERS]
    for name, values, least, most in limited:
        if len(wrong := values[~((values >= least) & (values <= most))]):
            raise _damaged(file, name, wrong[0])
    if about.calls < len(sizes):
        raise _damaged(file, "calls", about.calls)
    _check_sizes(file, columns["group"], sizes)
    rows = np.split(times, sizes.cumsum()[:-1]) if len(sizes) else []
    return Arrivals(about, collective, **columns, lateness_s=rows)


def _check_sizes(file: str | Path, group: Int32s, sizes: Int64s) -> None:
    """All calls of a group have its ranks."""
    size = np.zeros(int(group.max(initial=-1)) + 1, np.int64)
    size[group] = sizes
    if len(wrong := group[size[group] != sizes]):
        raise _damaged(file, "ranks of the calls of a group", f"several, in group {wrong[0]}")
