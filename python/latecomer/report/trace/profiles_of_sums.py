"""Profiles that hold sums of times are recognised, and refused with what to record instead."""

from __future__ import annotations

import re
from pathlib import Path

from ...base import regular_files
from .model import TraceError

_HEAD = 512  # bytes, as of a tar archive's first header
_OURS = "latecomer run --trace FOLDER -- mpirun ./app"
# How files begin. Sources: mpiP's documentation of its output; IPM's report_xml_atroot; Darshan's
# darshan-log-format.h (a version, then 6567223 in the machine's byte order); the grammar of Cube 2
# to 4, whose .cubex is a tar archive of anchor.xml and numbered data; TAU's profile writer.
_KINDS = (
    (re.compile(rb"\s*@ mpiP\b|\s*@ MPIP\b"), "mpiP's report", _OURS),
    (re.compile(rb"\s*(?:<\?xml[^>]*\?>\s*)?<(?:ipm_job_profile|ipm|task ipm_version)\b|##IPM"),
     "IPM's profile", _OURS),
    (re.compile(rb"\d\.\d\d\0{4}(?:75d\0{5}|\0{5}d57)"), "Darshan's log", _OURS),
    (re.compile(rb"(?s)\s*(?:<\?xml[^>]*\?>\s*)?<cube version=|"
                rb"(?:anchor\.xml|\d+\.(?:index|data))\0.{200,}ustar"), "a Cube profile",
     "the same program with SCOREP_ENABLE_TRACING=true, which writes an OTF2 archive; or " + _OURS),
    (re.compile(rb"\d+ templated_functions"), "TAU's profile",
     "the same program with TAU_TRACE=1 and TAU_TRACE_FORMAT=otf2, which writes an OTF2 archive; "
     "or " + _OURS),
)  # fmt: skip


def refuse(path: Path, head: bytes | None = None) -> None:
    """Raises TraceError if the file is such a profile; `head`: how it begins."""
    if head is None:
        try:
            head = regular_files.read(path, _HEAD)
        except OSError:
            return
    for begins, what, instead in _KINDS:
        if begins.match(head):
            raise TraceError(f"{path} cannot show who was late",
                             f"{what} holds sums of times, and not when each call began",
                             f"record {instead}")  # fmt: skip
