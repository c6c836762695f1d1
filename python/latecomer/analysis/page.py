"""The report of a trace as one HTML page that loads nothing.

Its size does not grow with the trace: calls and ranks are binned here.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.pages import STYLE
from ..base.units import size
from ..trace.model import SERVED
from . import sections
from .lateness import GroupLateness, Lateness
from .parts import split
from .sections import text
from .wording import DEFINITIONS, plain, seconds, sentence, verdict

if TYPE_CHECKING:
    from .what_if import WhatIf

_GROUPS, _CALLS = 8, 60  # shown at most
_TITLE = "latecomer: who is late"


def page(found: Lateness, answers: WhatIf | None, used: Mapping[str, object]) -> str:
    """The whole page. `used` says how to repeat it. Raises ValueError without calls."""
    if not found.groups:
        raise ValueError(
            "no call of two or more ranks is in the trace, so there is nothing to show"
        )
    script = (files(__package__) / "page.js").read_text(encoding="utf-8")
    parts = {
        "HASH": "sha256-" + b64encode(sha256(script.encode()).digest()).decode(),
        "TITLE": escape(_TITLE),
        "STYLE": STYLE,
        "LEAD": text(_lead(found)),
        "SAID": text(sentence(found)).replace(" %", "&nbsp;%"),
        "VERDICT": text(verdict(found)),
        "BAR": sections.shares(found),
        "REMARKS": "".join(_list(remarks(found))),
        "SERIES": sections.curves(found.groups[0]),
        "PREDICTABLE": text(sections.predictable(found)),
        "RANKS": "".join(sections.ranks(found)),
        "SITES": "".join(sections.sites(found)),
        "PARTS": "".join(sections.parts(split(found.trace))),
        "WHATIF": "".join(sections.what_if(answers, found)) if answers else "",
        "DEFINITIONS": "".join(_definitions(dict(DEFINITIONS))),
        "USED": "".join(_definitions(used)),
        "DATA": _in_script(_data(found)),
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


def _lead(found: Lateness) -> str:
    trace, hosts, groups = found.trace, len(set(found.trace.hosts)), len(found.groups)
    return (
        f"{trace.ranks} ranks on {hosts} host{'s' if hosts != 1 else ''}, {trace.calls:,} calls on "
        f"{groups} communicator{'s' if groups != 1 else ''} in {seconds(found.run_seconds)}, "
        f"from {trace.source}"
    )


def remarks(found: Lateness) -> list[str]:
    """What a reader must know before believing the figures."""
    error = float(np.nanmax(found.trace.clock_error, initial=0.0))
    told = list(found.trace.remarks)
    if found.incomplete:
        told.append(f"{found.incomplete:,} calls are not known on all their ranks, and left out")
    if not np.isfinite(error):
        told.append("the clocks of some ranks are not comparable: their lateness means nothing")
    elif error > 1e-6:
        told.append(f"{found.trace.clock}: arrivals on different clocks are off by up to "
                    f"{seconds(error)}")  # fmt: skip
    return told


def _list(told: list[str]) -> Iterator[str]:
    if told:
        yield '<ul class="remarks">'
        yield from (f"<li>{text(each)}</li>" for each in told)
        yield "</ul>"


def _definitions(entries: Mapping[str, object]) -> Iterator[str]:
    for name, words in entries.items():
        yield f"<dt>{text(name)}</dt><dd>{text(words)}</dd>"


# ---- data of the pictures


def _data(found: Lateness) -> dict[str, Any]:
    hosts = list(dict.fromkeys(map(plain, found.trace.hosts)))
    places = {host: number for number, host in enumerate(hosts)}
    shown = found.groups[:_GROUPS]
    counts = [
        _CALLS // 2 if number == 0 else _CALLS // (2 * len(shown)) for number in range(len(shown))
    ]
    if len(shown) == 1:
        counts = [_CALLS]
    return {
        "hosts": hosts,
        "host": [places[plain(host)] for host in found.trace.hosts],
        "groups": [_group(group) for group in shown],
        "calls": [
            _call(found, number, call)
            for number, group in enumerate(shown)
            for call in _chosen(group, counts[number])
        ],
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
        "rows": group.series.rank_bins.tolist(),
        "heat": {"bins": heat.shape[1], "rows": heat.shape[0], "scale": scale,
                 "values": b64encode(values.tobytes()).decode()},
    }  # fmt: skip


def _chosen(group: GroupLateness, count: int) -> list[int]:
    """Calls to show: half of them with the most waiting, half evenly spaced."""
    whole = np.flatnonzero(group.cost > 0)
    if len(whole) <= count:
        return whole.tolist()
    most = whole[np.argsort(-group.cost[whole], kind="stable")[: count // 2]]
    spaced = whole[np.linspace(0, len(whole) - 1, count - len(most)).astype(int)]
    return sorted({*most.tolist(), *spaced.tolist()})


def _call(found: Lateness, number: int, call: int) -> dict[str, Any]:
    lateness, words = found.groups[number], found.trace.words
    group = lateness.group
    arrival, leave = np.asarray(group.arrival[call]), np.asarray(group.exit[call])
    first = float(arrival.min())
    unit = max(float(leave.max()) - first, 1e-9) / 1e6
    times = np.round((np.concatenate([arrival, leave]) - first) / unit).astype("<i4")
    length = size(int(group.bytes[call])) if group.bytes[call] >= 0 else "unknown size"
    place = words[int(group.site[call])] or "an unknown place"
    what = f"{words[int(group.collective[call])]} of {length} at {place}"
    served = int(group.served[call])
    who = f" ({SERVED[served]})" if served >= 0 else ""
    turn = f"{int(group.sequence[call]):,}"
    cost = seconds(float(lateness.cost[call]))
    name = plain(group.name) or "an unnamed communicator"
    return {
        "group": number,
        "unit": unit,
        "name": plain(f"{turn} on {name}: {what}, {cost} waited"),
        "what": plain(f"Call {turn} on {name}, {what}"),
        "by": plain((words[int(group.algorithm[call])] or "an unknown algorithm") + who),
        "times": b64encode(times.tobytes()).decode(),
    }
