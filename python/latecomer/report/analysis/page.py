"""The report of a trace as one HTML page that loads nothing.

Its size does not grow with the trace: calls and ranks are binned here.
"""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ...base import pages
from ...base.arrays import Floats
from ...base.printable import plain
from ...base.spelling import counted
from ...base.units import seconds, size
from ..trace.about import About
from ..trace.model import SERVED
from ..trace.waits import synchronising
from . import sections
from . import time_parts as split_parts
from .answer import Answer, headline, verdict
from .facts import Facts
from .first_screen import bars, first
from .lateness import GroupLateness, Lateness
from .timeline import windows
from .what_if import WhatIf, distrust
from .wording import DEFINITIONS, INCOMPARABLE, SAVED, freed, group_name

_GROUPS, _CALLS = 8, 60  # shown at most
_HOSTS = 6  # named in the lead
_PARTS = 65535  # of the time of a call that the page holds
_CELLS = 400_000  # of the maps of all communicators
_BYTES = 400_000  # of calls that the page holds for each of three reasons, but for one of each
_ROOTS = 32767  # the map holds square roots, so that small values beside a great one stay right
_SCRIPTS = (
    "drawing.js",
    "selection.js",
    "arrivals.js",
    "call.js",
    "gestures.js",
    "timeline.js",
    "page.js",
)


class _Places:
    """Places in the program by number, as the page's script knows them."""

    def __init__(self, found: Lateness) -> None:
        self.found = found
        self.names: list[str] = []
        self.numbers: dict[str, int] = {}

    def __call__(self, site: str) -> int:
        """The number of a place; -1: not known."""
        if not site:
            return -1
        name = plain(self.found.named(site))
        if name not in self.numbers:
            self.numbers[name] = len(self.names)
            self.names.append(name)
        return self.numbers[name]


def page(
    found: Lateness,
    facts: Facts,
    said: Answer,
    about: About,
    answers: WhatIf | None,
    used: Mapping[str, object],
) -> str:
    """The whole page of a trace that has calls. `used` says how to repeat it."""
    place = _Places(found)
    ranks, sites = sections.ranks(found), sections.sites(found, place)
    data = _data(found, facts.late, place)
    return pages.page(
        __package__,
        _SCRIPTS,
        title=title(found, about),
        lead=_lead(found, about),
        command=about.command_line if about.command else "",
        first=first(facts, said),
        timed=_complete(found) or found.trace.messages is not None,
        bars=bars(found, list(facts.late)),
        said=headline(said),
        verdict=verdict(facts),
        freed=freed(found.trace.all_slept) if found.trace.all_slept else "",
        shares=sections.shares(found),
        remarks=remarks(found),
        curves=sections.curves(found.groups[0]) if _complete(found) else None,
        predictable=sections.predictable(found),
        latest=sections.latest(found.groups[0], found) if _complete(found) else "",
        ranks=ranks,
        sites=sites,
        parts=found.parts,
        part_lines=split_parts.lines(found.parts),
        part_head=split_parts.HEAD,
        part_rows=sections.parts(found.parts),
        part_words=split_parts.DEFINITIONS,
        answers=answers,
        distrust=distrust(answers) if answers and not answers.trusted else "",
        what_if=sections.what_if(answers, found, about.mpi)
        if answers and answers.trusted
        else None,
        saved=SAVED,
        meanings=DEFINITIONS,
        used=pages.told(used),
        data=data,
    )


def title(found: Lateness, about: About) -> str:
    """As in "late, 4 ranks, 26 Nov 2026, 18:08 UTC"; what is not known is left out."""
    name = about.program.name if about.program else _program(found)
    return ", ".join([name, f"{found.trace.ranks} ranks", *_date(about)])


def _program(found: Lateness) -> str:
    """The module that makes the most calls, if it is no library; else the folder's name."""
    modules = [site.site.partition("+0x")[0] for site in found.sites if "+0x" in site.site]
    programs = [module for module in modules if ".so" not in module]
    return programs[0] if programs else Path(found.trace.source).resolve().name


def _date(about: About) -> list[str]:
    return (
        [time.strftime("%d %b %Y, %H:%M UTC", time.gmtime(about.started))] if about.started else []
    )


def _lead(found: Lateness, about: About) -> str:
    trace, groups = found.trace, len(found.groups)
    messages = f", {len(trace.messages):,} messages" if trace.messages is not None else ""
    words = [
        f"{trace.ranks} ranks on {_hosts(trace.hosts)}",
        f"{trace.calls:,} collectives on {groups} communicator{'s' if groups != 1 else ''}"
        f"{messages} in {seconds(found.run_seconds)}"
        + ("" if trace.between else ", without what is between"),
        *([about.mpi] if about.mpi else []),
        *_date(about),
        f"from {trace.source}",
    ]
    return "; ".join(words)


def _hosts(hosts: Sequence[str]) -> str:
    """All of a few, or the first ones of many."""
    names = list(dict.fromkeys(hosts))
    if len(names) == 1:
        return f"host {names[0]}"
    shown = ", ".join(names[:_HOSTS]) + (", ..." if len(names) > _HOSTS else "")
    return f"{len(names)} hosts ({shown})"


def remarks(found: Lateness) -> list[str]:
    """What a reader must know before believing the figures."""
    error = found.clock_error
    told = list(found.trace.remarks)
    entered = sum(map(_entered, found.groups))
    for count, why in (
        (found.incomplete - entered, "not known on all ranks, and left out"),
        (entered, "left out: all ranks tell when they entered, but not all when they left"),
    ):
        if count:
            told.append(f"{counted(count, 'call')} {'are' if count > 1 else 'is'} {why}")
    if not np.isfinite(error):
        told.append(f"{INCOMPARABLE}: their lateness means nothing")
    elif error > 1e-6:
        told.append(f"{found.trace.clock}: arrivals on different clocks are off by up to "
                    f"{seconds(error)}")  # fmt: skip
    return told


def _complete(found: Lateness) -> bool:
    """Tell if the times of any call are known on all its ranks."""
    return any(group.complete for group in found.groups)


def _entered(group: GroupLateness) -> int:
    """The calls that all ranks are known to have entered, but not to have left."""
    known = np.zeros(len(group.group), bool)
    if not group.whole.all():
        for part in group.group.stretches():
            known[part] = np.isfinite(group.group.times(part)[0]).all(axis=1)
    return int((known & ~group.whole).sum())


# ---- data of the pictures


def _data(found: Lateness, late: Sequence[int], place: _Places) -> dict[str, Any]:
    hosts = list(dict.fromkeys(map(plain, found.trace.hosts)))
    places = {host: number for number, host in enumerate(hosts)}
    cells = np.cumsum([group.series.heat.size for group in found.groups[:_GROUPS]])
    shown = found.groups[: max(1, int((cells <= _CELLS).sum()))] if _complete(found) else []
    steps = windows(found, late, place)
    calls = [
        (number, call)
        for number, group in enumerate(shown)
        for call in _chosen(group, len(shown), [
            each["call"] for step in steps for each in step["meetings"] if each["group"] == number])
    ]  # fmt: skip
    cost = [float(shown[number].cost[call]) for number, call in calls]
    return {
        "hosts": hosts,
        "host": [places[plain(host)] for host in found.trace.hosts],
        "late": list(late),
        "cost": [float(f"{each:.3g}") for each in found.ranks.cost.tolist()],
        "wait": [float(f"{each:.3g}") for each in found.ranks.waiting.tolist()],
        "groups": [_group(found, group, place) for group in shown],
        "calls": [
            _call(found, number, call, place, *times)
            for (number, call), times in zip(calls, _times(shown, calls), strict=True)
        ],
        "costliest": cost.index(max(cost)) if cost else 0,  # of these calls
        "steps": steps,
        "outside": sections.outside(found),
        "places": place.names,
    }


def _group(found: Lateness, group: GroupLateness, place: _Places) -> dict[str, Any]:
    heat = group.series.heat
    size_of = np.abs(heat)
    scale = float(max(np.percentile(size_of, 99.5), size_of.max() / 20, 1e-9))  # of the colours
    most = float(max(size_of.max(), 1e-9))
    values = np.round(np.sqrt(size_of / most) * np.sign(heat) * _ROOTS).astype("<i2")
    members = group.group.members
    stride = int(members[1] - members[0])
    regular = bool((np.diff(members) == stride).all())
    return {
        "title": sections.name_of(group),
        "members": [] if regular else members.tolist(),
        "first": int(members[0]),
        "stride": stride,
        "calls": group.series.first.tolist(),
        "numbers": _numbers(group),
        "places": _columns(found, group, place),
        "rows": group.series.rank_bins.tolist(),
        "heat": {"bins": heat.shape[1], "rows": heat.shape[0], "scale": scale,
                 "unit": most / _ROOTS**2, "values": b64encode(values.tobytes()).decode()},
    }  # fmt: skip


def _numbers(group: GroupLateness) -> list[int]:
    """Of the calls at the columns' bounds, as the program counted them on the communicator."""
    sequence, first = group.group.sequence, group.series.first
    return [*sequence[first[:-1]].tolist(), int(sequence[-1]) + 1]


def _columns(found: Lateness, group: GroupLateness, place: _Places) -> list[list[int]]:
    """The places that call in each column; one entry where they are the same in all."""
    site, first = group.group.site, group.series.first
    words, known = found.trace.words, {}
    for each in np.unique(site).tolist():
        known[each] = place(words[each])
    if len(known) == 1:
        return [list(known.values())]
    return [sorted({known[each] for each in np.unique(site[begin:end]).tolist()})
            for begin, end in pairwise(first.tolist())]  # fmt: skip


def _chosen(group: GroupLateness, groups: int, more: Sequence[int]) -> list[int]:
    """Calls to show: those with the most waiting, the worst of each column of the map, and `more`.

    Where that would make the page long, the first of these and the worst of evenly spaced columns.
    """
    room = max(1, _BYTES // (6 * group.group.size) // groups)
    whole = np.flatnonzero(group.whole)
    most = whole[np.argsort(-group.cost[whole], kind="stable")[: min(room, _CALLS // groups)]]
    column = np.searchsorted(group.series.first, whole, side="right")
    order = np.lexsort((-group.cost[whole], column))
    worst = whole[order[np.unique(column[order], return_index=True)[1]]]
    if len(worst) > room:
        worst = worst[np.linspace(0, len(worst) - 1, room).astype(int)]
    complete = [call for call in more if group.whole[call]][:room]
    return sorted({*most.tolist(), *worst.tolist(), *complete})


def _times(shown: Sequence[GroupLateness], calls: Sequence[tuple[int, int]]) -> Iterator[Any]:
    """Arrivals and exits of these calls, which are in the order of their groups."""
    for number, group in enumerate(shown):
        own = [call for of, call in calls if of == number]
        if own:
            yield from zip(*group.group.times(own), strict=True)


def _call(
    found: Lateness, number: int, call: int, place: _Places, arrival: Floats, leave: Floats
) -> dict[str, Any]:
    lateness, words = found.groups[number], found.trace.words
    group = lateness.group
    first = float(min(arrival.min(), leave.min()))
    unit = max(float(leave.max()) - first, 1e-9) / _PARTS
    times = np.round((np.concatenate([arrival, leave]) - first) / unit).astype("<u2")
    number_of = int(group.sequence[call])
    kind = words[int(group.collective[call])]
    if group.bytes[call] > 0:
        kind += f" of {size(int(group.bytes[call]))}"
    at = found.named(words[int(group.site[call])])
    what = f"{kind} at {at}" if at else kind
    served = int(group.served[call])
    cost = seconds(float(lateness.cost[call]))
    name = group_name(group.name, group.size)
    return {
        "group": number,
        "call": call,
        "place": place(words[int(group.site[call])]),
        "all": bool(synchronising(found.trace, group, [call], arrival[None], leave[None])[0]),
        "unit": unit,
        "what": plain(f"Call {number_of:,} on {name}, {what}, {cost} waited"),
        "by": plain(_carried_out(served, words[int(group.algorithm[call])])),
        "times": b64encode(times.tobytes()).decode(),
    }


def _carried_out(served: int, algorithm: str) -> str:
    """Who carried out a call, and how; empty: not known."""
    if served < 0:
        return algorithm
    if SERVED[served] == "latecomer":
        return f"latecomer, {algorithm}" if algorithm else "latecomer"
    return "the MPI library" if SERVED[served].startswith("library") else SERVED[served]
