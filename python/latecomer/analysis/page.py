"""The report of a trace as one HTML page that loads nothing.

Its size does not grow with the trace: calls and ranks are binned here.
"""

from __future__ import annotations

import json
import re
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.pages import STYLE
from ..base.units import size
from ..trace.model import SERVED, SYNCHRONISING
from . import sections
from .answer import Answer, Facts, headline, verdict
from .lateness import GroupLateness, Lateness
from .sections import text
from .wording import DEFINITIONS, group_name, plain, seconds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..trace.about import About
    from .what_if import WhatIf

    Floats = NDArray[np.float64]

_GROUPS, _CALLS = 8, 60  # shown at most
_HOSTS = 6  # named in the lead
_BYTES = 700_000  # of all calls that the page holds


def page(
    found: Lateness,
    facts: Facts,
    said: Answer,
    about: About,
    answers: WhatIf | None,
    used: Mapping[str, object],
) -> str:
    """The whole page. `used` says how to repeat it. Raises ValueError without calls."""
    if not found.groups:
        raise ValueError(
            "no call of two or more ranks is in the trace, so there is nothing to show"
        )
    script = (files(__package__) / "page.js").read_text(encoding="utf-8")
    parts = {
        "HASH": "sha256-" + b64encode(sha256(script.encode()).digest()).decode(),
        "TITLE": text(title(found, about)),
        "STYLE": STYLE,
        "LEAD": text(_lead(found, about)),
        "COMMAND": _command(about),
        "SAID": _glued(headline(said)),
        "VERDICT": text(verdict(facts)),
        "NEXT": next_box(said),
        "BAR": sections.shares(found),
        "REMARKS": "".join(_list(remarks(found))),
        "SERIES": sections.curves(found.groups[0]),
        "PREDICTABLE": "".join(_list(sections.predictable(found), "places")),
        "LATEST": text(sections.latest(found.groups[0], found)),
        "RANKS": "".join(sections.ranks(found)),
        "SITES": "".join(sections.sites(found)),
        "PARTS": "".join(sections.parts(found.parts)),
        "WHATIF": "".join(sections.what_if(answers, found, about.mpi)) if answers else "",
        "DEFINITIONS": "".join(_definitions(dict(DEFINITIONS))),
        "USED": "".join(_definitions(used)),
        "DATA": _in_script(_data(found, facts.late)),
        "SCRIPT": script,
    }
    template = (files(__package__) / "page.html").read_text(encoding="utf-8")
    return re.sub("@([A-Z]+)@", lambda match: parts[match[1]], template)


def _in_script(value: object) -> str:
    """JSON that cannot end the script element that holds it."""
    data = json.dumps(value, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        data = data.replace(character, f"\\u{ord(character):04x}")
    return data


def title(found: Lateness, about: About) -> str:
    """As in "late, 4 ranks, 26 Nov 2026, 18:08"; what is not known is left out."""
    name = about.program.name if about.program else _program(found)
    return ", ".join([name, f"{found.trace.ranks} ranks", *_date(about)])


def _program(found: Lateness) -> str:
    """The module that makes the most calls, if it is no library; else the folder's name."""
    modules = [site.site.partition("+0x")[0] for site in found.sites if "+0x" in site.site]
    programs = [module for module in modules if ".so" not in module]
    return programs[0] if programs else Path(found.trace.source).resolve().name


def _date(about: About) -> list[str]:
    return (
        [time.strftime("%d %b %Y, %H:%M", time.localtime(about.started))] if about.started else []
    )


def _lead(found: Lateness, about: About) -> str:
    trace, groups = found.trace, len(found.groups)
    words = [
        f"{trace.ranks} ranks on {_hosts(trace.hosts)}",
        f"{trace.calls:,} calls on {groups} communicator{'s' if groups != 1 else ''} in "
        f"{seconds(found.run_seconds)}",
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


def _command(about: About) -> str:
    return (
        f'<p class="lead command"><code>{text(about.command_line)}</code></p>'
        if about.command
        else ""
    )


def _glued(words: str) -> str:
    """Numbers stay with their units."""
    return re.sub(r"(?<=\d) (?=(%|s|ms|µs|[KM]?i?B)\b|%)", "&nbsp;", text(words))


def next_box(said: Answer) -> str:
    """What to do, and the command in a box of its own."""
    words, _, command = said.next.partition("; then: ")
    code = f"<code>{text(command)}</code>" if command else ""
    return f'<div class="next"><b>Next</b> <span>{_glued(words.rstrip("."))}.</span>{code}</div>'


def remarks(found: Lateness) -> list[str]:
    """What a reader must know before believing the figures."""
    error = found.clock_error
    told = list(found.trace.remarks)
    if found.incomplete:
        told.append(f"{found.incomplete:,} calls are not known on all their ranks, and left out")
    if not np.isfinite(error):
        told.append("the clocks of some ranks are not comparable: their lateness means nothing")
    elif error > 1e-6:
        told.append(f"{found.trace.clock}: arrivals on different clocks are off by up to "
                    f"{seconds(error)}")  # fmt: skip
    return told


def _list(told: Sequence[str], kind: str = "remarks") -> Iterator[str]:
    if told:
        yield f'<ul class="{kind}">'
        yield from (f"<li>{text(each)}</li>" for each in told)
        yield "</ul>"


def _definitions(entries: Mapping[str, object]) -> Iterator[str]:
    for name, words in entries.items():
        yield f"<dt>{text(name)}</dt><dd>{text(words)}</dd>"


# ---- data of the pictures


def _data(found: Lateness, late: Sequence[int]) -> dict[str, Any]:
    hosts = list(dict.fromkeys(map(plain, found.trace.hosts)))
    places = {host: number for number, host in enumerate(hosts)}
    shown = found.groups[:_GROUPS]
    calls = [
        (number, call) for number, group in enumerate(shown) for call in _chosen(group, len(shown))
    ]
    cost = [float(shown[number].cost[call]) for number, call in calls]
    return {
        "hosts": hosts,
        "host": [places[plain(host)] for host in found.trace.hosts],
        "late": list(late),
        "groups": [_group(group) for group in shown],
        "calls": [
            _call(found, number, call, *times)
            for (number, call), times in zip(calls, _times(shown, calls), strict=True)
        ],
        "costliest": cost.index(max(cost)) if cost else 0,  # of these calls
    }


def _group(group: GroupLateness) -> dict[str, Any]:
    heat = group.series.heat
    size_of = np.abs(heat)
    scale = float(max(np.percentile(size_of, 99.5), size_of.max() / 20, 1e-9))
    values = np.clip(np.round(heat / scale * 127), -127, 127).astype(np.int8)
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
        "rows": group.series.rank_bins.tolist(),
        "heat": {"bins": heat.shape[1], "rows": heat.shape[0], "scale": scale,
                 "values": b64encode(values.tobytes()).decode()},
    }  # fmt: skip


def _numbers(group: GroupLateness) -> list[int]:
    """Of the calls at the columns' bounds, as the program counted them on the communicator."""
    sequence, first = group.group.sequence, group.series.first
    return [*sequence[first[:-1]].tolist(), int(sequence[-1]) + 1]


def _chosen(group: GroupLateness, groups: int) -> list[int]:
    """Calls to show: those with the most waiting, and the worst of each column of the map.

    Where that would make the page long, the worst of evenly spaced columns.
    """
    whole = np.flatnonzero(group.whole)
    most = whole[np.argsort(-group.cost[whole], kind="stable")[: _CALLS // groups]]
    column = np.searchsorted(group.series.first, whole, side="right")
    order = np.lexsort((-group.cost[whole], column))
    worst = whole[order[np.unique(column[order], return_index=True)[1]]]
    room = max(_CALLS, _BYTES // (11 * group.group.size)) // groups
    if len(worst) > room:
        worst = worst[np.linspace(0, len(worst) - 1, room).astype(int)]
    return sorted({*most.tolist(), *worst.tolist()})


def _times(shown: Sequence[GroupLateness], calls: Sequence[tuple[int, int]]) -> Iterator[Any]:
    """Arrivals and exits of these calls, which are in the order of their groups."""
    for number, group in enumerate(shown):
        own = [call for of, call in calls if of == number]
        if own:
            yield from zip(*group.group.times(own), strict=True)


def _call(
    found: Lateness, number: int, call: int, arrival: Floats, leave: Floats
) -> dict[str, Any]:
    lateness, words = found.groups[number], found.trace.words
    group = lateness.group
    first = float(arrival.min())
    unit = max(float(leave.max()) - first, 1e-9) / 1e6
    times = np.round((np.concatenate([arrival, leave]) - first) / unit).astype("<i4")
    number_of = int(group.sequence[call])
    kind = words[int(group.collective[call])]
    if group.bytes[call] > 0:
        kind += f" of {size(int(group.bytes[call]))}"
    place = found.named(words[int(group.site[call])])
    what = f"{kind} at {place}" if place else kind
    served = int(group.served[call])
    cost = seconds(float(lateness.cost[call]))
    name = group_name(group.name, group.size)
    return {
        "group": number,
        "call": call,
        "all": words[int(group.collective[call])] in SYNCHRONISING,
        "unit": unit,
        "name": plain(f"{number_of:,} on {name}: {what}, {cost} waited"),
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
