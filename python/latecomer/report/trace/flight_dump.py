"""One dump of PyTorch's flight recorder: JSON or a pickle, with the last calls of one rank.

Fields are those of the versions 2.0 to 2.10 of the format, and 1.0, which calls the number `seq_id`
(github.com/pytorch/pytorch, torch/csrc/distributed/c10d/FlightRecorderDetail.hpp). JSON has 0 where
a pickle has None, and no frames.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ...base import regular_files
from . import plain_pickle
from .dtypes import collective_of, element_bytes, is_message
from .events import MOST_MEMBERS, MOST_RANKS, elements
from .json_numbers import number, whole
from .left_out import LeftOut
from .model import UNKNOWN, TraceError, text_of

MOST_BYTES = 64 << 20  # of a file; as values of JSON they may be twenty times as long
_MOST_MS = 86_400e3  # of a call: a day
_LONG_TEXT = 1 << 18  # characters: some ten thousand ranks
_MOST_FRAMES = 64  # that are looked through for one of the program
_ODD = ("entries that tell no call: right would be process_group, collective_seq_id, "
        "profiling_name and time_created_ns")  # fmt: skip
_RIGHT = ("right would be what torch._C._distributed_c10d._dump_nccl_trace() or "
          "_dump_nccl_trace_json() returns")  # fmt: skip
_COMPLETED = "time_discovered_completed_ns"
_OF_TORCH = re.compile(  # a folder of the program may be called torch, too
    r"(?:site|dist)-packages/torch/|(?:^|/)torch/(?:distributed|nn|autograd|utils|_\w+)(?:/|\.py$)"
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A call as a rank recorded it. Times are nanoseconds since 1970; 0: not known, or not yet."""

    order: int  # among the rank's calls
    group: str
    number: int  # in the group, of collectives; of messages, in their count
    collective: str  # "": a message, or none of a known name ...
    said: str  # ... but called so
    message: bool
    bytes: int  # of the whole vector; UNKNOWN
    created: int  # when the program asked for it
    started: int  # when a thread that looks now and then saw that the device had begun with it, ...
    done: bool  # it is complete ...
    completed: int  # ... and was seen so then
    length: float  # seconds, that the device took; NaN: not known
    site: str  # of the program, as in "train (train.py:31)"; "": not known

    @property
    def name(self) -> str:
        """The collective for people."""
        return self.collective or self.said


@dataclass(frozen=True)
class Dump:
    """The recording of one rank."""

    path: Path
    members: Mapping[str, tuple[int, ...]]  # by group
    about: Mapping[str, str]  # groups, as the program described them
    entries: Sequence[Entry]  # in their order
    cut: bool  # the last ones may be missing
    nccl: bool  # calls are NCCL's


def read(path: Path, left: LeftOut) -> Dump:
    """The dump in a file. Raises TraceError and OSError."""
    raw = regular_files.read(path, MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise TraceError(f"{path}: size", f"more than {MOST_BYTES} bytes",
                         "set TORCH_NCCL_TRACE_BUFFER_SIZE to less")  # fmt: skip
    value, cut = _value(path, raw)
    if not isinstance(value, dict) or not isinstance(value.get("entries", []), (list, tuple)):
        raise TraceError(f"{path}: no dump of the flight recorder", cut or "no list of entries",
                         _RIGHT)  # fmt: skip
    if cut:
        left.add("ends of files, which are missing", path, cut)
    members, about = _groups(path, value.get("pg_config"), left)
    found, nccl = [], False
    last = len(value.get("entries", [])) - 1
    for at, each in enumerate(value.get("entries", [])):
        entry = _entry(at, each) if isinstance(each, dict) else None
        if cut and at == last and isinstance(each, dict) and _COMPLETED not in each:
            continue  # the file ends within it
        if entry is None:
            left.add(_ODD, f"{path}, entry {at}")
        else:
            found.append(entry)
            nccl = nccl or str(each.get("profiling_name")).startswith("nccl:")
            group = each.get("process_group")
            if isinstance(group, (list, tuple)) and len(group) > 1:
                about.setdefault(entry.group, text_of(group[1]))
    found.sort(key=lambda each: each.order)
    return Dump(path, members, about, found, bool(cut), nccl)


# ---- the file


def _value(path: Path, raw: bytes) -> tuple[Any, str]:
    """The content of the file, and why that is not all; "": it is."""
    if raw[:1] == b"\x80":
        try:
            return plain_pickle.load(raw)
        except plain_pickle.PickleError as error:
            raise TraceError(f"{path}: pickle", error, _RIGHT) from None
    text = raw.decode("utf-8-sig", "replace")
    try:
        return json.loads(text), ""
    except RecursionError:
        raise TraceError(f"{path}: JSON", "values that are nested too deep", _RIGHT) from None
    except ValueError as error:
        found = list(_whole_entries(text))
        if not found:
            raise TraceError(f"{path}: neither a pickle nor JSON", error, _RIGHT) from None
        return {"entries": found}, str(error)


def _whole_entries(text: str) -> Iterator[Any]:
    """Those at the beginning of the list, up to one that is damaged."""
    begin = re.search(r'"entries"\s*:\s*\[', text)
    at, decoder = begin.end() if begin else len(text), json.JSONDecoder()
    while at < len(text):
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        yield value
        between = re.compile(r"[\s,]*").match(text, at)
        at = between.end() if between else at


# ---- what it says


def _groups(
    path: Path, config: object, left: LeftOut
) -> tuple[dict[str, tuple[int, ...]], dict[str, str]]:
    members: dict[str, tuple[int, ...]] = {}
    about: dict[str, str] = {}
    listed = 0
    for name, each in config.items() if isinstance(config, dict) else []:
        if not isinstance(each, dict):
            continue
        about[text_of(name)] = text_of(each.get("desc"))
        said = each.get("ranks")
        short = isinstance(said, str) and len(said) < _LONG_TEXT
        count, ranks = _listed_in(said) if short else _listed(said)
        listed += count
        if listed <= MOST_MEMBERS and len(ranks) == count:
            members[text_of(name)] = ranks
        else:
            left.add("lists of a group's ranks that are no different ranks", path,
                     text_of(said, 60))  # fmt: skip
    return members, about


def _listed(said: object) -> tuple[int, tuple[int, ...]]:
    """How many ranks are listed, and those that are different ranks, in order."""
    if isinstance(said, str):
        said = [int(rank) for rank in re.findall(r"-?\d{1,9}", said)]
    ranks = said if isinstance(said, (list, tuple)) else []
    read = (whole(rank, 0, MOST_RANKS - 1) for rank in ranks)
    return len(ranks), tuple(sorted({rank for rank in read if rank is not None}))


@lru_cache(maxsize=64)
def _listed_in(said: str) -> tuple[int, tuple[int, ...]]:
    """The same of a text, which the dumps of all ranks of a group have."""
    return _listed(said)


def _entry(at: int, each: Mapping[Any, Any]) -> Entry | None:
    said, group = each.get("profiling_name"), each.get("process_group")
    group = group[0] if isinstance(group, (list, tuple)) and group else each.get("pg_id")
    message = each.get("is_p2p") is True
    names = ("p2p_seq_id",) if message else ("collective_seq_id", "seq_id")
    counted = next((each[name] for name in names if name in each), None)
    sequence, created = whole(counted, 0, 1 << 62), _ns(each.get("time_created_ns"))
    if not isinstance(said, str) or not isinstance(group, (str, int)) or sequence is None:
        return None
    name = said.rpartition(":")[2]
    length = number(each.get("duration_ms"), _MOST_MS)
    order = whole(each.get("record_id"), 0, 1 << 62)
    return Entry(
        order=at if order is None else order,
        group=text_of(group),
        number=sequence,
        collective="" if message else collective_of(name),
        said=text_of(name),
        message=message or is_message(name.partition(" ")[0]),
        bytes=_bytes(each),
        created=created,
        started=_ns(each.get("time_discovered_started_ns")),
        done=_done(each, said),
        completed=_ns(each.get(_COMPLETED)),
        length=1e-3 * length if length and length > 0 else math.nan,
        site=_site(each.get("frames")),
    )


def _ns(value: object) -> int:
    return whole(value, 1, 1 << 62) or 0


def _done(each: Mapping[Any, Any], said: str) -> bool:
    """Tell whether a call is complete. NCCL's may be retired by an error; others have no times."""
    retired = each.get("retired") is True and not said.startswith("nccl:")
    return retired or _ns(each.get(_COMPLETED)) > 0


def _bytes(each: Mapping[Any, Any]) -> int:
    """The bytes of the longer one of input and output."""
    found = UNKNOWN
    for way in ("input", "output"):
        sizes, types = each.get(f"{way}_sizes"), each.get(f"{way}_dtypes")
        if isinstance(sizes, (list, tuple)) and isinstance(types, (list, tuple)) and types:
            width = element_bytes(types[0]) if isinstance(types[0], str) else UNKNOWN
            counts = [elements(shape) for shape in sizes[:4096]]
            if width != UNKNOWN and None not in counts:
                found = max(found, width * sum(count or 0 for count in counts))
    return found if found < 1 << 50 else UNKNOWN


def _site(frames: object) -> str:
    """The innermost place that is not PyTorch's own."""
    some = frames[:_MOST_FRAMES] if isinstance(frames, (list, tuple)) else []
    named = [each for each in some
             if isinstance(each, dict) and isinstance(each.get("filename"), str)]  # fmt: skip
    own = (each for each in named if not _OF_TORCH.search(each["filename"]))
    found = next(own, named[0] if named else None)
    if found is None:
        return ""
    file, line = Path(found["filename"][-256:]).name, whole(found.get("line"), 0, 1 << 31) or 0
    return f"{text_of(found.get('name'), 80)} ({text_of(file)}:{line})"
