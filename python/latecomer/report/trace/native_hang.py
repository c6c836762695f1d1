"""The call in which a job of the library's traces hangs, by the rule of the watch.

The rule needs the time at which the job was seen last: now, where a rank's process is there, else
the end that `latecomer run` noted. Where neither is known, the files tell only who waited in the
end, and not for how long.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from .about import About
from .last_seen import collective, doing, last_of, last_seen
from .model import Hang, ranks_said
from .native_file import File
from .stuck import LONG_S, Stuck, age, stuck
from .tail import Tail

# Exit codes of a launcher: of a job that was ended from outside, and one that may be either.
_FROM_OUTSIDE, _EITHER = frozenset(128 + signal for signal in (1, 2, 9, 15)), 1


def failed(files: Mapping[int, File], run: About) -> bool:
    """Tell if the job ended by itself before all of its ranks came to the end."""
    ended = all(file.header["end"] for file in files.values())
    return not ended and run.code is not None and run.code not in _FROM_OUTSIDE


def hang_of(files: Mapping[int, File], run: About) -> Hang | None:
    """The call that ranks wait in; None: they do not, or only for a short time."""
    left = {rank: file for rank, file in files.items() if not file.header["end"]}
    tails = {rank: Tail(file.path) for rank, file in files.items()}
    if not any(map(doing, left.values())) or not _read(tails, records=False):
        return None
    until = run.ended or (time.time() if any(map(_lives, left.values())) else 0.0)
    known, by_itself = until > 0, failed(files, run)
    least = LONG_S if known and not by_itself else 0.0
    until = until or max((int(tail.header["real"]) + tail.last) * 1e-9 for tail in tails.values())
    ages = {rank: age(tails[rank], 0.0, until) for rank in left}
    # All records are read, which may be many, only where somebody waits.
    some = any(ages[rank] >= least for rank in left if doing(left[rank]))
    waits = stuck(files, tails, 0.0, until, least) if some and _read(tails, records=True) else []
    if waits and waits[0].late:
        certain = waits[0].seconds >= LONG_S or (by_itself and run.code != _EITHER)
        return _not_come(waits[0], waits[0].late, files, certain=known and certain,
                         failed=by_itself)  # fmt: skip
    if any(not doing(left[rank]) or ages[rank] < LONG_S for rank in left):
        # A rank goes on, as far as is known, and may end what the others wait in.
        told = [_waiting(each, files) for each in waits if each.seconds >= LONG_S]
        return Hang(told[0], certain=False) if told else None
    return _all_wait(waits, left) if waits else None


def _all_wait(waits: Sequence[Stuck], left: Mapping[int, File]) -> Hang:
    """The ranks that have not ended wait in calls, so none of these ends."""
    for each in waits:
        absent = sorted(rank for them in each.absent for rank in them.ranks if rank in left)
        if absent:
            return _not_come(each, absent, left)
    told = next((said for each in waits if (said := _differ(each, left))), "")
    told = told or "; ".join(_waiting(each, left) for each in waits[:2])
    return Hang(told, waits=sorted(left), last=last_seen(left))


def _read(tails: Mapping[int, Tail], *, records: bool) -> bool:
    """Tell if all files are still as they were."""
    try:
        return all(tail.look(0.0, records=records) and tail.header is not None
                   for tail in tails.values())  # fmt: skip
    except OSError:
        return False


def _not_come(
    call: Stuck,
    absent: Sequence[int],
    files: Mapping[int, File],
    *,
    certain: bool = True,
    failed: bool = False,
) -> Hang:
    waiting = f"{ranks_said(call.waits)} wait{'s' if len(call.waits) == 1 else ''}"
    have = "has" if len(absent) == 1 else "have"
    return Hang(
        f"{ranks_said(absent)} {have} not come to {call.call}; {waiting}",
        absent,
        call.call,
        waiting,
        [last_of(files[rank]) for rank in absent],
        call.waits,
        certain,
        failed,
    )


def _differ(call: Stuck, files: Mapping[int, File]) -> str:
    """The collectives by ranks, where these call different ones."""
    by_kind: dict[str, list[int]] = {}
    for rank in call.waits if call.call else ():
        by_kind.setdefault(collective(files[rank]), []).append(rank)
    if len(by_kind) < 2:
        return ""
    each = ", ".join(f"{kind} by {ranks_said(ranks)}" for kind, ranks in by_kind.items())
    return f"{call.call.rpartition(', ')[0]} is a different collective on different ranks, {each}"


def _waiting(call: Stuck, files: Mapping[int, File]) -> str:
    if said := _differ(call, files):
        return said
    waits = f"{ranks_said(call.waits)} wait{'s' if len(call.waits) == 1 else ''}"
    came = ", to which all have come" if call.all_came else ""
    return f"{waits} {call.where}{came}"


def _lives(file: File) -> bool:
    """The rank's process is one of this host, and has the file."""
    if bytes(file.header["host"]).decode("utf-8", "replace") != socket.gethostname():
        return False
    try:
        inode = f" {file.path.stat().st_ino} "
        maps = Path(f"/proc/{int(file.header['pid'])}/maps").read_text(errors="replace")
    except OSError:
        return False
    return any(inode in line and line.endswith(file.path.name) for line in maps.splitlines())
