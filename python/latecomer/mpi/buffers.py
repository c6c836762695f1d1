"""Buffers as mpi4py takes them, as the address, count and datatype of a C call.

A buffer is an object with memory (a NumPy array, a bytearray, a tensor of the processor's memory),
MPI.IN_PLACE, or a list: [data, type], [data, count], [data, count, type],
[data, (counts, displacements), type] or [data, counts, displacements, type]. `type` is an
MPI.Datatype or a letter such as "d". Counts are in elements of the datatype, and so are
displacements. Without a count, all elements of the memory count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import gcd
from typing import Any

import numpy as np
from mpi4py import MPI

from . import whole_numbers

Spec = Any  # a buffer, as above

# Of the C functions; more is sent as fewer elements of a larger datatype.
MAX_COUNT = whole_numbers.MOST


@dataclass(frozen=True)
class Buffer:
    """What a C call is told about a buffer."""

    address: int
    count: int  # of the whole, or of one rank's part
    datatype: MPI.Datatype
    counts: tuple[int, ...] | None = None  # of each rank
    displacements: tuple[int, ...] | None = None
    owner: Any = None  # keeps the memory alive
    in_place: bool = False


@dataclass(frozen=True)
class _Words:
    """The entries of a list, by meaning."""

    data: Any
    count: Any = None
    displacements: Any = None
    datatype: Any = None


NOTHING = Buffer(0, 0, MPI.BYTE)  # where a rank's buffer does not count


def read(
    spec: Spec,
    *,
    writable: bool = False,
    parts: int = 1,
    in_place: bool = False,
    vector: bool = False,
) -> Buffer:
    """The buffer of `spec`; without a count the memory is divided into `parts`.

    The parts are equal. Those of a `vector` have a count each, or, without counts, differ by one
    element, the longer ones first.
    `in_place`: None means MPI.IN_PLACE, as in mpi4py.
    Raises TypeError for what is no buffer or no integer, BufferError for memory that cannot be
    written, and ValueError for a count that the memory does not hold.
    """
    if spec is None and not in_place:
        raise TypeError("buffer: None; give an object with memory, or a list of one and its type")
    if spec is None or spec is MPI.IN_PLACE:
        return Buffer(int(MPI.IN_PLACE), 0, MPI.BYTE, in_place=True)
    words = _words(spec)
    if words.data is None or words.data is MPI.BOTTOM:
        return _at_bottom(words)
    memory = MPI.buffer.frombuffer(words.data, readonly=not writable)
    datatype = _datatype(words.datatype, words.data)
    if vector and _is_sequence(words.count):
        return _divided(words, memory, datatype)
    offset = whole_numbers.whole("displacement", _or_0(words.displacements))
    _check_places([offset])
    counts = None
    if words.count is None:
        count, rest = divmod(_held(memory, datatype, offset), parts)
        if rest and not vector:
            held = count * parts + rest
            raise ValueError(f"buffer: {held} elements; give equal parts to {parts} ranks")
        counts = tuple(count + (i < rest) for i in range(parts)) if rest else None
    else:
        count = whole_numbers.count(words.count)
        _check(memory, datatype, offset + count * parts if count > 0 else 0)
    _, extent = datatype.Get_extent()
    return Buffer(memory.address + offset * extent, count, datatype, counts, owner=memory)


def read_parts(spec: Spec, ranks: int) -> Buffer:
    """A receive buffer with a part of its own size for each rank.

    Without counts the parts are equal, but for an element more of the first ranks. Raises as
    read(), and ValueError unless there is one count, and one displacement, for each rank.
    """
    found = read(spec, writable=True, parts=ranks, vector=True)
    counts = found.counts or (found.count,) * ranks
    if len(counts) != ranks:
        raise ValueError(f"counts: {len(counts)} of them; one for each of the {ranks} ranks")
    displacements = found.displacements or tuple(_sums_before(counts))
    if len(displacements) != ranks:
        raise ValueError(f"displacements: {len(displacements)}; one for each of the {ranks} ranks")
    return replace(found, counts=counts, displacements=displacements)


def folded(buffer: Buffer) -> tuple[Buffer, list[MPI.Datatype]]:
    """The same memory with a count that fits the C functions, and the datatypes to free.

    A longer count becomes one element of a datatype that holds all of them, which only moves of
    data can use: operators know no such datatype.
    """
    if buffer.count <= MAX_COUNT:
        return buffer, []
    whole, made = _repeated(buffer.datatype, buffer.count)
    return replace(buffer, count=1, datatype=whole), made


def in_units(sizes: Sequence[int]) -> tuple[list[int], MPI.Datatype, list[MPI.Datatype]]:
    """Counts of a datatype for parts of these sizes in bytes, and the datatypes to free.

    The datatype is MPI.BYTE, or, if the parts have more bytes than a count of the C functions, the
    longest one of which each part has a whole number.
    """
    if sum(sizes) <= MAX_COUNT:
        return list(sizes), MPI.BYTE, []
    unit = gcd(*sizes)
    whole, made = _repeated(MPI.BYTE, unit)
    return [size // unit for size in sizes], whole, made


def _repeated(datatype: MPI.Datatype, count: int) -> tuple[MPI.Datatype, list[MPI.Datatype]]:
    chunk = min(MAX_COUNT, 1 << 30)
    times, rest = divmod(count, chunk)
    _, extent = datatype.Get_extent()
    one = datatype.Create_contiguous(chunk)
    blocks = [one] * times + [datatype] * (rest > 0)
    lengths = [1] * times + [rest] * (rest > 0)
    places = [i * chunk * extent for i in range(len(blocks))]
    whole = MPI.Datatype.Create_struct(lengths, places, blocks).Commit()
    return whole, [one, whole]


def _words(spec: Spec) -> _Words:
    if not isinstance(spec, (list, tuple)):
        return _Words(spec)
    data, *more = spec
    datatype = more.pop() if more and isinstance(more[-1], (MPI.Datatype, str)) else None
    if len(more) > 2 or not spec:
        raise ValueError(f"buffer: a list of {len(spec)}; [data, count, type] or fewer is right")
    if len(more) == 2:
        return _Words(data, more[0], more[1], datatype)
    if more and isinstance(more[0], tuple) and len(more[0]) == 2:
        return _Words(data, *more[0], datatype)
    return _Words(data, more[0] if more else None, None, datatype)


def _at_bottom(words: _Words) -> Buffer:
    if words.count and words.datatype is None:
        raise ValueError("buffer: no memory and no datatype; give [MPI.BOTTOM, count, type]")
    datatype = MPI.BYTE if words.datatype is None else _datatype(words.datatype, b"")
    return Buffer(0, whole_numbers.count(_or_0(words.count)), datatype)


def _or_0(given: Any) -> Any:
    return 0 if given is None else given


def _datatype(given: Any, data: Any) -> MPI.Datatype:
    """The datatype that was given, by itself or by its letter; else that of the data."""
    if isinstance(given, MPI.Datatype):
        return given
    letter = given or _letter(data)
    try:
        return MPI.Datatype.fromcode(letter)
    except (KeyError, ValueError) as error:
        raise TypeError(f"datatype: '{letter}' has no MPI datatype; name one") from error


def _letter(data: Any) -> str:
    if isinstance(data, (bytes, bytearray)):
        return "B"
    dtype = np.asarray(data).dtype
    is_number = dtype.kind in "biufc"  # texts, dates and structures are none
    return dtype.char if dtype.isnative and is_number else str(dtype)


def _divided(words: _Words, memory: MPI.buffer, datatype: MPI.Datatype) -> Buffer:
    counts = tuple(map(whole_numbers.count, words.count))
    given = words.displacements
    places = (
        tuple(_sums_before(counts))
        if given is None
        else tuple(whole_numbers.whole("displacement", each) for each in given)
    )
    _check_places(places)
    ends = [place + count for place, count in zip(places, counts, strict=False) if count > 0]
    _check(memory, datatype, max(ends, default=0))
    return Buffer(memory.address, 0, datatype, counts, places, memory)


def _held(memory: MPI.buffer, datatype: MPI.Datatype, offset: int) -> int:
    _, extent = datatype.Get_extent()
    if extent <= 0:
        raise ValueError(f"datatype: extent {extent}; give a count")
    if memory.nbytes % extent:
        raise ValueError(
            f"buffer: {memory.nbytes} bytes are no multiple of the datatype's {extent}"
        )
    if offset * extent > memory.nbytes:
        raise ValueError(f"buffer: {memory.nbytes} bytes; displacement {offset} is behind its end")
    return memory.nbytes // extent - offset


def _check_places(places: Sequence[int]) -> None:
    """Raise ValueError for a displacement before the begin of the memory."""
    if min(places, default=0) < 0:
        raise ValueError(f"displacements: {min(places)}; give numbers from 0 on")


def _check(memory: MPI.buffer, datatype: MPI.Datatype, elements: int) -> None:
    """Raise ValueError if the memory ends before that many elements do."""
    lower, extent = datatype.Get_true_extent()
    needed = (elements - 1) * datatype.Get_extent()[1] + lower + extent if elements > 0 else 0
    if needed > memory.nbytes:
        raise ValueError(f"buffer: {memory.nbytes} bytes; the count needs {needed}")


def _is_sequence(value: Any) -> bool:
    return isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, (str, bytes))


def _sums_before(counts: Sequence[int]) -> list[int]:
    return list(accumulate(counts, initial=0))[:-1]
