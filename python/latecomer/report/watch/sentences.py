"""A look as sentences and as one JSON value."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from ...base.printable import plain
from ...base.units import span
from ..analysis.answer import subject
from ..analysis.facts import Facts
from ..analysis.wording import LITTLE, percent
from ..trace.model import ranks_said
from ..trace.stuck import Stuck
from .late import Now
from .watcher import Time, View
from .window import Seen


def hosts_of(seen: Seen) -> list[str]:
    """The host of each rank; "?": not known."""
    hosts = ["?"] * seen.ranks
    for rank, tail in seen.tails.items():
        hosts[rank] = plain(bytes(tail.header["host"]).decode("utf-8", "replace"))
    return hosts


def sentence(view: View) -> str:
    """The answer."""
    seen = view.seen
    if not seen.ranks:
        return f"No rank has begun to write its trace{_unreadable(seen)}."
    if seen.missing:
        later = [rank for rank in seen.missing if rank not in seen.unreadable]
        not_yet = f"; not yet: {ranks_said(later)}" if later else ""
        return (f"The files of {len(seen.there)} of {seen.ranks} ranks are there{not_yet}"
                f"{_unreadable(seen)}.")  # fmt: skip
    if view.over:
        return _ended(seen)
    if view.stuck:
        return _stuck(view, view.stuck[0])
    if view.now is None:
        return f"Nobody is named: {seen.why or 'no call of the last seconds is known'}."
    return _late(view, view.now)


def _unreadable(seen: Seen) -> str:
    """Files that are no traces, of ranks of which none is there."""
    ranks = [rank for rank in seen.unreadable if not seen.ranks or rank in seen.missing]
    if not ranks:
        return ""
    files, such = ("files", "such as ") if len(ranks) > 1 else ("file", "")
    return (f"; the {files} of {ranks_said(ranks)} cannot be read, {such}"
            f"{plain(seen.unreadable[ranks[0]])}")  # fmt: skip


def _late(view: View, now: Now) -> str:
    told, waiting = now.facts, percent(now.waiting)
    if told.late:
        who, on, are = subject(told)
        words = [who, on, are.rstrip(".")]
        cost = percent(sum(now.caused[rank] for rank in told.late))
        return (f"{' '.join(filter(None, words))}, for {_of_now(now)} now"
                f"{_again(view)}: waiting for {'them' if len(told.late) > 1 else 'it'} is {cost} "
                f"of the time of all ranks, of {waiting} in all.")  # fmt: skip
    if now.was:
        who, are = ranks_said(now.was), "are" if len(now.was) > 1 else "is"
        return (f"{who.capitalize()} {are} no longer late: it was so for "
                f"{_of_now(now)}, until {clock_of(now.until)}.")  # fmt: skip
    if told.unknown:
        return f"Nobody is named: {told.unknown}."
    if now.waiting < LITTLE:
        return f"Nobody is late: {waiting} of the time of all ranks is waiting."
    if now.early:
        return f"Too early to tell who is late: {waiting} of the time of all ranks is waiting."
    return (f"Nobody in particular is late: {waiting} of the time of all ranks is waiting, now "
            "for one rank and now for another.")  # fmt: skip


def clock_of(real: float) -> str:
    """The time of day."""
    return time.strftime("%H:%M:%S", time.localtime(real))


def lasted(time: Time) -> str:
    """For how long they were late, at least where it may have begun before."""
    return f"{'more than ' if time.before else ''}{span(time.last - time.begin)}"


def _of_now(now: Now) -> str:
    return lasted(Time((), now.since, now.until, now.before))


def _again(view: View) -> str:
    if not view.before:
        return ""
    last = view.before[-1]
    count = len(view.before)
    times = f"{count} times before" if count > 1 else "once before"
    return f", and {times}, last at {clock_of(last.begin)} for {lasted(last)}"


def _ended(seen: Seen) -> str:
    left = sorted(set(seen.there) - set(seen.ended))
    if left:
        return (f"The processes of {ranks_said(left)} are gone, before the end of the program; "
                "no other rank goes on.")  # fmt: skip
    return f"All {seen.ranks} ranks have ended." if seen.ranks > 1 else "The rank has ended."


def _stuck(view: View, call: Stuck) -> str:
    waits = f"{ranks_said(call.waits)} wait{'' if len(call.waits) > 1 else 's'}"
    if ranks := call.late:
        hosts = [hosts_of(view.seen)[rank] for rank in ranks]
        who, on, _ = subject(Facts(view.seen.ranks, 0.0, 0.0, 0.0, late=ranks, hosts=hosts))
        have = "have" if len(ranks) > 1 else "has"
        return f"{who} {on} {have} not come: {waits} for {span(call.seconds)}, {call.where}."
    came = ", to which all have come" if call.all_came else ""
    return f"{waits[:1].upper()}{waits[1:]} for {span(call.seconds)} {call.where}{came}."


def stuck_lines(view: View) -> Iterator[str]:
    """The calls in which ranks wait for long, and where those are that have not come."""
    hosts = hosts_of(view.seen)
    for call in view.stuck:
        yield f"{ranks_said(call.waits)}: for {span(call.seconds)} {call.where}"
        for them in call.absent:
            on = sorted({hosts[rank] for rank in them.ranks})
            yield (f"  not come: {ranks_said(them.ranks)} on {', '.join(on[:4])}, "
                   f"{'its process is gone, last seen ' if them.gone else ''}{them.where}, for "
                   f"{span(them.seconds)}")  # fmt: skip


def value(view: View) -> dict[str, Any]:
    """For scripts. Times are in seconds, moments in seconds since 1970."""
    seen, now, hosts = view.seen, view.now, hosts_of(view.seen)
    return {
        "time": view.real,
        "sentence": sentence(view),
        "late_ranks": list(view.late),
        "late_hosts": list(dict.fromkeys(hosts[rank] for rank in view.late)),
        "late_since": view.since,
        "late_since_or_earlier": view.earlier,
        "late_before": len(view.before),
        "nobody_because": (now.facts.unknown if now else seen.why) or None,
        "ranks": seen.ranks,
        "ranks_without_file": seen.missing,
        "ranks_ended": len(seen.ended),
        "over": view.over,
        "window_s": now.window if now else None,
        "waiting_share": now.waiting if now else None,
        "by_rank": [
            {"rank": rank, "host": hosts[rank], "waiting_share": now.waits[rank],
             "caused_share": now.caused[rank]} for rank in range(seen.ranks)
        ] if now else [],
        "stuck": [
            {"where": call.where, "ranks": list(call.waits), "seconds": call.seconds,
             "all_came": call.all_came,
             "absent": [vars(them) | {"ranks": list(them.ranks)} for them in call.absent]}
            for call in view.stuck
        ],
    }  # fmt: skip
