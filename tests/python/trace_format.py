"""The format of the library's trace files, src/trace/records.hpp, for tests that write such files."""

import numpy as np
from latecomer.report.trace.native_file import (
    A_CALL,
    A_CLOCK,
    A_COMMUNICATOR,
    A_COMPLETION,
    A_MEMBERS,
    A_MESSAGE,
    A_TEXT,
    AN_OTHER,
    HEADER,
    MESSAGE,
    OTHER,
    UNUSED,
    VERSION,
    WHAT,
)

__all__ = [
    "ANY_SOURCE",
    "ANY_TAG",
    "AN_OTHER",
    "A_CALL",
    "A_CLOCK",
    "A_COMMUNICATOR",
    "A_COMPLETION",
    "A_MEMBERS",
    "A_MESSAGE",
    "A_TEXT",
    "CALL",
    "CLOCK",
    "COMMUNICATOR",
    "HEADER",
    "MAGIC",
    "MATCHED_PROBE",
    "MEMBERS",
    "MESSAGE",
    "NONBLOCKING",
    "OTHER",
    "PERSISTENT",
    "TEXT",
    "UNUSED",
    "VERSION",
    "WHAT",
    "calls_of",
]  # fmt: skip

MAGIC = b"LATETRC\0"
TEXT = np.dtype([("kind", "u1"), ("bytes", "u1"), ("last", "u1"), ("_", "u1"), ("id", "<u4"),
                 ("piece", "V56")])  # fmt: skip
COMMUNICATOR = np.dtype([
    ("kind", "u1"), ("listed", "u1"), ("_", "V2"), ("id", "<u4"), ("key", "<u8"),
    ("number", "<u4"), ("size", "<i4"), ("rank", "<i4"), ("name", "<u4"), ("first", "<i4"),
    ("stride", "<i4"), ("__", "V24"),
])  # fmt: skip
MEMBERS = np.dtype([("kind", "u1"), ("count", "u1"), ("_", "V2"), ("communicator", "<u4"),
                    ("first", "<u4"), ("__", "V4"), ("ranks", "<i4", 12)])  # fmt: skip
CALL = np.dtype([
    ("kind", "u1"), ("served", "u1"), ("overlaps", "u1"), ("_", "V1"), ("communicator", "<u4"),
    ("sequence", "<u8"),
    ("bytes", "<i8"), ("arrival", "<i8"), ("exit", "<i8"), ("collective", "<u4"),
    ("site", "<u4"), ("algorithm", "<u4"), ("op", "<u4"), ("root", "<i4"),
    ("element_bytes", "<i4"),
])  # fmt: skip
CLOCK = np.dtype([("kind", "u1"), ("_", "V3"), ("communicator", "<u4"), ("origin", "<i8"),
                  ("offset", "<f8"), ("error", "<f8"), ("drift", "<f8"), ("drift_error", "<f8"),
                  ("__", "V16")])  # fmt: skip
NONBLOCKING, PERSISTENT, ANY_SOURCE, ANY_TAG, MATCHED_PROBE = 1, 2, 4, 8, 16  # bits of flags


def calls_of(path, overlaps=0):
    """The records of the calls in a file, right or wrong; `overlaps`: of those of this value."""
    used = int(np.fromfile(path, HEADER, 1)["used"][0])
    calls = np.fromfile(path, CALL, used, offset=HEADER.itemsize)
    return calls[(calls["kind"] == A_CALL) & (calls["overlaps"] == overlaps)]
