"""Traces that nobody ran: in memory, and as files of the library."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from latecomer.report.trace import UNKNOWN, Group, Trace, Words
from latecomer.report.trace import native_file as native

# What a program may name its communicator to harm the readers of its trace.
HOSTILE = "</script><script>alert(1)</script>[red]\x1b[2J=1+1"
ZERO = 10**12  # nanoseconds: when the clock of the first rank shows the begin of the trace


def arrivals_and_exits(calls, ranks, *, late=1, seed=1, compute=0.02, moving=0.005):
    """A loop: rank `late` computes three times as long as the others, all leave together."""
    rng = np.random.default_rng(seed)
    work = compute * (1 + 0.05 * rng.random((calls, ranks)))
    if late is not None:
        work[:, late] *= 3
    arrival, leave = np.empty((calls, ranks)), np.empty((calls, ranks))
    clock = np.zeros(ranks)
    for call in range(calls):
        arrival[call] = clock + work[call]
        clock = arrival[call].max() + moving * (1 + 0.01 * rng.random(ranks))
        leave[call] = clock
    return arrival, leave


def group_of(arrival, leave, words, *, name="MPI_COMM_WORLD", members=None, size=1 << 20,
             collective="allreduce", root=UNKNOWN, served=1, algorithm="native"):  # fmt: skip
    """A group whose calls are alike."""
    calls, ranks = arrival.shape
    column = {name: np.full(calls, words.place(text), np.int32)
              for name, text in (("collective", collective), ("operator", "sum"),
                                 ("site", "app+0x10"), ("algorithm", algorithm))}  # fmt: skip
    return Group(
        name=name,
        members=np.arange(ranks, dtype=np.int32)
        if members is None
        else np.array(members, np.int32),
        sequence=np.arange(calls, dtype=np.int64),
        bytes=np.full(calls, size, np.int64),
        element_bytes=np.full(calls, 4, np.int32),
        root=np.full(calls, root, np.int32),
        served=np.full(calls, served, np.int8),
        arrival=arrival,
        exit=leave,
        **column,
    )


def trace_of(groups, words, *, ranks=None, hosts=None, error=0.0):
    """A trace of these groups; hosts have one rank each."""
    ranks = ranks or max(int(group.members.max()) for group in groups) + 1
    return Trace(
        source="made up",
        format="test 1",
        words=words,
        hosts=hosts or [f"node{rank}" for rank in range(ranks)],
        groups=groups,
        begin=np.full(ranks, np.nan),
        end=np.full(ranks, np.nan),
        clock="all ranks read one clock",
        clock_error=np.full(ranks, error),
    )


def made_up(calls=40, ranks=4, **words_of):
    """A trace with one late rank."""
    words = Words()
    arrival, leave = arrivals_and_exits(calls, ranks)
    return trace_of([group_of(arrival, leave, words, **words_of)], words)


def large(folder, calls, ranks, *, late=7, seed=1):
    """A trace of that size whose times are in files, as they do not fit into memory otherwise."""
    rng = np.random.default_rng(seed)
    shape = (calls, ranks)
    arrival = np.lib.format.open_memmap(folder / "arrival.npy", "w+", np.float64, shape)
    leave = np.lib.format.open_memmap(folder / "exit.npy", "w+", np.float64, shape)
    step = max(1, (1 << 21) // ranks)
    own = rng.gamma(2.0, 0.0004, ranks)
    for begin in range(0, calls, step):
        part = slice(begin, min(begin + step, calls))
        count = part.stop - part.start
        start = 0.02 * np.arange(part.start, part.stop)[:, None]
        late_by = own + rng.exponential(0.0005, (count, ranks))
        late_by[:, late] += 0.006
        wave = np.arange(part.start, part.stop) * ranks // max(calls, 1)
        late_by[np.arange(count), wave] += 0.012  # somebody else, as time goes by
        arrival[part] = start + late_by
        leave[part] = (
            arrival[part].max(axis=1, keepdims=True) + 0.002 + rng.random((count, ranks)) / 4000
        )
    words = Words()
    return trace_of([group_of(arrival, leave, words)], words)


@dataclass
class Files:
    """The trace files of a job with one communicator of all ranks, record by record."""

    ranks: int
    name: str = "MPI_COMM_WORLD"
    skew_ns: Sequence[int] = ()  # of each rank's clock; empty: one clock
    members: Sequence[int] = ()
    site: str = "app+0x10"
    STARTED: ClassVar[float] = 1_764_180_000.0  # seconds since 1970
    records: list[np.ndarray] = field(default_factory=list)

    def write(self, folder, arrival, leave, *, size=1 << 20, sequence=None):
        """One call a row."""
        folder.mkdir(exist_ok=True)
        for rank in range(self.ranks):
            data = self.header(rank), *self.texts(), self.communicator(rank)
            calls = [self.call(rank, i, *each, size) for i, each in
                     enumerate(zip(arrival[:, rank], leave[:, rank], strict=True))]  # fmt: skip
            header = data[0]
            header["used"] = len(data) - 1 + len(calls)
            if calls:
                header["end"] = max(header["end"], *(each["exit"] for each in calls))
            body = b"".join(each.tobytes() for each in (*data[1:], *calls))
            (folder / f"rank-{rank}.trace").write_bytes(header.tobytes() + body)
        return folder

    def skew(self, rank):
        return self.skew_ns[rank] if self.skew_ns else 0

    def header(self, rank):
        header = np.zeros(1, native.HEADER)
        header["magic"], header["version"] = native.MAGIC, native.VERSION
        header["header_bytes"], header["record_bytes"] = native.HEADER.itemsize, 64
        header["byte_order"] = 0x01020304
        header["rank"], header["ranks"], header["pid"] = rank, self.ranks, 100 + rank
        header["clock"] = 0 if self.skew_ns else 77
        header["begin"] = header["end"] = ZERO + self.skew(rank)
        header["end"] += 10**9
        header["real"] = round(self.STARTED * 10**9) - ZERO - self.skew(rank)
        header["limit"], header["host"] = 1 << 20, f"node{rank}".encode()
        return header

    def texts(self):
        """Of all records: "", the communicator's name, and the words of a call."""
        made = []
        for number, text in enumerate(("", self.name, "allreduce", self.site, "native", "sum")):
            raw = text.encode()
            for begin in range(0, max(len(raw), 1), 56):
                record, piece = np.zeros(1, native.TEXT), raw[begin : begin + 56]
                record["kind"], record["id"] = native.A_TEXT, number
                record["bytes"], record["last"] = len(piece), begin + 56 >= len(raw)
                record["piece"] = np.frombuffer(piece.ljust(56, b"\0"), "V56")
                made.append(record)
        return made

    def communicator(self, rank):
        record = np.zeros(1, native.COMMUNICATOR)
        record["kind"], record["key"], record["name"] = native.A_COMMUNICATOR, 9, 1
        record["size"], record["rank"], record["stride"] = self.ranks, rank, 1
        return record

    def message(self, rank, order, *, what=0, peer=0, size=64, begin=0.1, took=0.01):
        """A blocking one, at these seconds."""
        record = np.zeros(1, native.MESSAGE)
        record["kind"], record["what"], record["order"] = native.A_MESSAGE, what, order
        record["peer"], record["bytes"], record["site"] = peer, size, 3
        record["posted"] = record["begin"] = ZERO + self.skew(rank) + round(1e9 * begin)
        record["end"] = record["begin"] + round(1e9 * took)
        return record

    def other(self, rank, *, begin=0.1, end=0.2, inside=0.05, between=0.01, calls=2):
        """Calls that have no record of their own, at these seconds."""
        record = np.zeros(1, native.OTHER)
        record["kind"], record["calls"] = native.AN_OTHER, calls
        start = ZERO + self.skew(rank)
        record["begin"], record["end"] = (start + round(1e9 * each) for each in (begin, end))
        record["inside"], record["between"] = (round(1e9 * each) for each in (inside, between))
        return record

    def call(self, rank, sequence, arrival, leave, size):
        record = np.zeros(1, native.CALL)
        record["kind"], record["served"], record["sequence"] = native.A_CALL, 1, sequence
        record["bytes"], record["element_bytes"], record["root"] = size, 4, -1
        for name, time in (("arrival", arrival), ("exit", leave)):
            record[name] = ZERO + self.skew(rank) + round(1e9 * time)
        for name, number in (("collective", 2), ("site", 3), ("algorithm", 4), ("op", 5)):
            record[name] = number
        return record


def append(path, record):
    """Write a record behind those of a file."""
    raw = bytearray(path.read_bytes() + record.tobytes())
    header = np.frombuffer(raw, native.HEADER, 1)
    header["used"] += 1
    path.write_bytes(raw)
