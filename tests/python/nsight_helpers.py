"""Exports of Nsight Systems for tests, with the tables and columns of its documentation."""

from __future__ import annotations

import sqlite3
from contextlib import closing

WORLD = 0x44000000  # MPI_COMM_WORLD of MPICH
ZERO = 1_784_597_271_426_118_694  # nanoseconds since 1970
SCHEMA = """
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, devStateName TEXT, name TEXT,
    nameEnum INTEGER NOT NULL, value TEXT NOT NULL);
CREATE TABLE MPI_RANKS (globalTid INTEGER NOT NULL, rank INTEGER NOT NULL);
CREATE TABLE MPI_P2P_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER,
    textId INTEGER, commHandle INTEGER, tag INTEGER, remoteRank INTEGER, size INTEGER,
    requestHandle INTEGER);
CREATE TABLE MPI_COLLECTIVES_EVENTS (start INTEGER NOT NULL, end INTEGER, globalTid INTEGER,
    textId INTEGER, commHandle INTEGER, rootRank INTEGER, size INTEGER, recvSize INTEGER,
    requestHandle INTEGER);
"""


def thread(rank, number=7):
    """The number of a rank's thread: the process in bits 24 to 47."""
    return (1 << 48) | ((1000 + rank) << 24) | number


def rows_of(arrival, leave, rank, *, name="MPI_Allreduce", handle=WORLD, size=1 << 20):
    """Calls of one rank, at these seconds."""
    return [(round(1e9 * begin), round(1e9 * end), thread(rank), name, handle, None, size, None)
            for begin, end in zip(arrival, leave, strict=True)]  # fmt: skip


def store(path, rows, ranks, host="node0", zero=ZERO, *, schema=SCHEMA, messages=0):
    """An export with these calls, of these ranks."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as data, data:
        data.executescript(schema)
        names = {name: at + 100 for at, name in enumerate(dict.fromkeys(row[3] for row in rows))}
        data.executemany("INSERT INTO StringIds VALUES (?, ?)",
                         [(at, name) for name, at in names.items()])  # fmt: skip
        data.execute("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (?, '', '')", (zero,))
        data.execute("INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (1, '', 'Hostname', 1, ?)", (host,))
        if "MPI_RANKS" in schema:
            data.executemany("INSERT INTO MPI_RANKS VALUES (?, ?)",
                             [(thread(rank), rank) for rank in ranks])  # fmt: skip
        data.executemany("INSERT INTO MPI_COLLECTIVES_EVENTS VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL)",
                         [(*row[:3], names[row[3]], *row[4:]) for row in rows])  # fmt: skip
        data.executemany("INSERT INTO MPI_P2P_EVENTS VALUES (1, 2, 3, 4, 5, 6, 7, 8, 9)",
                         [()] * messages)  # fmt: skip
    return path


def written(folder, arrival, leave, *, together=True, **about):
    """The job's calls, of arrays of shape (calls, ranks): in one file, or in one a rank."""
    ranks = range(arrival.shape[1])
    rows = [rows_of(arrival[:, rank], leave[:, rank], rank, **about) for rank in ranks]
    if together:
        store(folder / "report1.sqlite", [row for own in rows for row in own], ranks)
    else:
        for rank in ranks:
            store(folder / f"rank{rank}.sqlite", rows[rank], [rank], f"node{rank}")
    return folder


NCCL = """
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL,
    deviceId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER,
    globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL,
    globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL,
    text TEXT, globalTid INTEGER, textId INTEGER, domainId INTEGER, jsonTextId INTEGER,
    jsonText TEXT, binaryData BLOB);
INSERT INTO StringIds VALUES (1, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)');
INSERT INTO StringIds VALUES (2, 'ncclAllReduce');
INSERT INTO StringIds VALUES (3, 'ncclDevKernel_SendRecv(ncclDevKernelArgs)');
INSERT INTO StringIds VALUES (4, 'gemm');
"""


def nccl(path, rank, calls, *, host="node0", ended=""):
    """An export of one rank with NCCL's kernels: of each call its times in seconds, NCCL's number
    of its communicator, and whether it was launched in the range."""
    store(path, [], [], host, schema=SCHEMA.replace("MPI_RANKS", "NONE") + NCCL)
    with closing(sqlite3.connect(path)) as data, data:
        data.execute("DROP TABLE MPI_COLLECTIVES_EVENTS")
        for number, (arrive, leave, communicator, within) in enumerate(calls, 1):
            begin, end = round(1e9 * arrive), round(1e9 * leave)
            at = begin - 5000 if within else begin - 1000
            payload = f'{{"NCCL communicator ID":{communicator},"Message size [bytes]":4096}}'
            data.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, NULL, ?, 2, 1, NULL, ?, NULL)",
                         (begin - 8000, begin - 4000, thread(rank), payload))  # fmt: skip
            data.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, 4)",
                         (at, at + 500, thread(rank), number))  # fmt: skip
            data.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 7, ?, ?, 1, 1)",
                         (begin, end, number, thread(rank, 0)))  # fmt: skip
            data.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 7, ?, ?, 4, 4)",
                         (begin - 900, begin - 800, 10**6, thread(rank, 0)))  # fmt: skip
        data.executescript(ended)
    return path
