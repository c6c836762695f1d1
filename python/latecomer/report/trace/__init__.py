"""Traces: when each rank entered and left each collective call, from whatever wrote them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from ...base import regular_files
from ...base.printable import plain
from ...base.spelling import counted
from .model import UNKNOWN, Group, Trace, TraceError, Words

_LOOKED_AT = 64  # files of a folder that no reader knows
_OF_ANY_NAME = ("kineto", "table")  # .json, .csv

__all__ = ["UNKNOWN", "Group", "Trace", "TraceError", "Words", "read"]


def read(folder: str | Path) -> Trace:
    """The trace in a folder, whichever program wrote it, or in a table. Raises TraceError.

    Read are files of LATECOMER_TRACE, OTF2 archives, lines of NCCL Inspector, dumps of PyTorch's
    flight recorder, exports of Nsight Systems, files of PyTorch's profiler, and interchange tables:
    those in the folder itself, else those in its folders.
    """
    from . import (
        files,
        flight_recorder,
        inspector,
        kineto,
        native,
        nsight,
        otf2_archive,
        profiles_of_sums,
        table,
    )

    folder = Path(folder)
    _refuse_program(folder)
    if folder.is_file() and not (native.fits(folder.name) or otf2_archive.fits(folder.name)):
        return table.read(folder)
    if not folder.is_dir():
        raise TraceError("no folder of a trace", folder,
                         "name the folder of the files of all ranks, or a table")  # fmt: skip
    seen: list[str] = []
    tables: list[TraceError] = []  # what is wrong with files that may be something else
    for level in files.levels(folder):
        names = [path.name for path in level]
        errors: list[TraceError] = []
        readers = native, otf2_archive, inspector, flight_recorder, nsight, kineto, table
        for reader in readers:
            if any(reader.fits(name) for name in names):
                try:
                    trace = _remarked(reader.read(folder), errors)
                    later = readers[readers.index(reader) + 1 :]
                    return _told_apart(trace, level, reader, later)
                except TraceError as error:
                    (tables if reader is table else errors).append(error)
        if errors:
            raise errors[0]
        for path in filter(files.is_regular, level[:_LOOKED_AT]):
            profiles_of_sums.refuse(path)
        seen += [path.name for path in level if not files.is_folder(path)]
    if tables:
        raise tables[0]
    raise TraceError("no trace in the folder", f"{folder} holds {_held(folder, seen)}",
                     "right would be files named rank-0.trace, ..., of a program that ran with "
                     "LATECOMER_TRACE; a .json or .json.gz of PyTorch's profiler for each rank; a "
                     "HOST-pidN.log of NCCL Inspector for each process; an nccl_trace_rank_N of "
                     "PyTorch's flight recorder for each rank; a .sqlite of nsys export; one "
                     ".otf2 with its archive; or a .csv, .jsonl or .parquet table")  # fmt: skip


def _refuse_program(path: Path) -> None:
    try:
        program = path.is_file() and regular_files.read(path, 4) == b"\x7fELF"
    except OSError:
        return
    if program:
        raise TraceError("no folder of a trace", path,
                         "it is a program; name the folder that run --trace wrote")  # fmt: skip


def _held(folder: Path, seen: Sequence[str]) -> str:
    """The contents of a folder without a trace, in words; `seen`: the names of its files."""
    if seen:
        return f"{counted(len(seen), 'other file')}, such as {min(seen)}"
    folders = sorted(each.name for each in folder.iterdir())
    return f"only folders without a file, such as {folders[0]}" if folders else "nothing"


def _remarked(trace: Trace, errors: Sequence[TraceError]) -> Trace:
    """The trace, with what is wrong with files of other formats in its folder."""
    told = [f"left out: files of another format, which cannot be read: {error}" for error in errors]
    return replace(trace, remarks=[*trace.remarks, *told])


def _told_apart(
    trace: Trace, level: Sequence[Path], reader: ModuleType, later: Sequence[ModuleType]
) -> Trace:
    """The trace, with the files beside it that another reader would have read."""
    remarks, rest = list(trace.remarks), [path for path in level if not reader.fits(path.name)]
    for other in later:
        own = [path for path in rest if other.fits(path.name)]
        rest = [path for path in rest if not other.fits(path.name)]
        # A single file of such a name may be anything, such as an export of this trace.
        if len(own) > (other.__name__.rpartition(".")[2] in _OF_ANY_NAME):
            told = f"left out: files of another format than {trace.format} ({len(own)}), such as "
            remarks.append(f"{told}{plain(str(own[0]))}: name a folder of one format")
    return replace(trace, remarks=remarks)
