"""The report of a trace as one HTML page that loads nothing, in a size that does not grow with it."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.pages import STYLE
from ..base.units import size
from ..trace.model import SERVED, Group
from .lateness import GroupLateness, Lateness
from .wording import DEFINITIONS, percent, plain, seconds, sentence, verdict

if TYPE_CHECKING:
    from .what_if import Answer, WhatIf

_GROUPS, _CALLS, _SITES, _RANKS, _CLASSES = 8, 40, 40, 24, 8  # shown at most
_WIDTH, _HEIGHT = 900, 200  # of the curves


def page(found: Lateness, answers: WhatIf | None, used: Mapping[str, object]) -> str:
    """The whole page. `used` says how to repeat it."""
    script = (files(__package__) / "page.js").read_text(encoding="utf-8")
    data = json.dumps(_data(found), separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        data = data.replace(character, f"\\u{ord(character):04x}")
    parts = {
        "HASH": "sha256-" + b64encode(sha256(script.encode()).digest()).decode(),
        "TITLE": "latecomer: who is late",
        "STYLE": STYLE,
        "LEAD": _text(_lead(found)),
        "SAID": _text(sentence(found)),
        "VERDICT": _text(verdict(found)),
        "BAR": _bar(found),
        "REMARKS": "".join(_remarks(found)),
        "SERIES": _series(found.groups[0]),
        "PREDICTABLE": _text(_predictable(found)),
        "RANKS": "".join(_ranks(found)),
        "SITES": "".join(_sites(found)),
        "WHATIF": "".join(_what_if(answers, found)) if answers else "",
        "DEFINITIONS": "".join(_definitions(dict(DEFINITIONS))),
        "USED": "".join(_definitions(used)),
        "DATA": data,
        "SCRIPT": script,
    }
    template = (files(__package__) / "page.html").read_text(encoding="utf-8")
    return re.sub("@([A-Z]+)@", lambda match: parts[match[1]], template)


def _text(text: object) -> str:
    return escape(plain(str(text)))


def _lead(found: Lateness) -> str:
    trace = found.trace
    hosts = len(set(trace.hosts))
    return (
        f"{trace.ranks} ranks on {hosts} host{'s' if hosts != 1 else ''}, {trace.calls:,} calls on "
        f"{len(found.groups)} communicator{'s' if len(found.groups) != 1 else ''} in "
        f"{seconds(found.run_seconds)}; {trace.source}"
    )


def _remarks(found: Lateness) -> Iterator[str]:
    error = float(np.nanmax(found.trace.clock_error, initial=0.0))
    told = [*found.trace.remarks]
    if found.incomplete:
        told.append(f"{found.incomplete:,} calls are not known on all their ranks, and left out")
    if not np.isfinite(error):
        told.append("the clocks of some ranks are not comparable: their lateness means nothing")
    elif error > 1e-6:
        told.append(f"{found.trace.clock}: arrivals of different hosts are off by up to "
                    f"{seconds(error)}")  # fmt: skip
    if told:
        yield "<ul class=remarks>"
        yield from (f"<li>{_text(each)}</li>" for each in told)
        yield "</ul>"


def _bar(found: Lateness) -> str:
    """The time of all ranks: waiting, moving, the rest."""
    shares = [("wait", "waiting", found.waiting_share), ("move", "moving data", found.moving_share)]
    shares.append(("compute", "outside of collectives", max(0.0, 1 - sum(s for *_, s in shares))))
    x, parts = 0.0, []
    for name, _, share in shares:
        parts.append(f'<rect class="{name}" x="{x:.2f}" width="{900 * share:.2f}" height="20"/>')
        x += 900 * share
    said = "".join(
        f'<span><i style="background:var(--{name})"></i>{words}, {percent(share)}</span>'
        for name, words, share in shares
    )
    return (
        f'<svg viewBox="0 0 900 20" width="100%" height="20" preserveAspectRatio="none" role="img" '
        f'aria-label="shares of the time">{"".join(parts)}</svg><p class="legend">{said}</p>'
    )


# ---- curves


def _series(group: GroupLateness) -> str:
    """Lateness of the last rank and time to move data, by bins of calls."""
    series = group.series
    top = float(max(np.percentile(series.worst, 99), series.moving.max(), 1e-9)) * 1.05
    count = len(series.spread)
    left, bottom = 70, _HEIGHT - 22

    def path(values: Sequence[float]) -> str:
        points = [
            f"{left + (_WIDTH - left) * (i + 0.5) / count:.1f},"
            f"{bottom - (bottom - 8) * min(float(value) / top, 1.0):.1f}"
            for i, value in enumerate(values)
        ]
        return "M" + "L".join(points)

    lines = []
    for tick in _ticks(top):
        y = bottom - (bottom - 8) * tick / top
        lines.append(f'<path class="grid" d="M{left} {y:.1f}H{_WIDTH}"/>')
        lines.append(
            f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{_text(seconds(tick) if tick else "0")}</text>'
        )
    start, end = float(series.time[0]), float(series.time[-1])
    lines.append(f'<text x="{left}" y="{_HEIGHT - 4}">{_text(seconds(start))}</text>')
    lines.append(f'<text x="{_WIDTH}" y="{_HEIGHT - 4}" text-anchor="end">'
                 f"{_text(seconds(end))} after the start</text>")  # fmt: skip
    curves = "".join(
        f'<path class="{name}" d="{path(values)}"/>'
        for name, values in (
            ("worst", series.worst),
            ("moving", series.moving),
            ("mean", series.spread),
        )
    )
    title = _text(_title(group))
    return (
        f'<figure><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="lateness over time">'
        f"{''.join(lines)}{curves}</svg><figcaption>{title}. "
        '<span class="legend"><span><i style="background:var(--late)"></i>lateness of the last '
        "rank: mean of the calls, thin: their maximum</span>"
        '<span><i style="background:var(--move)"></i>moving data, mean of the ranks</span></span>'
        "</figcaption></figure>"
    )


def _ticks(top: float) -> list[float]:
    step = next(s * 10.0**e for e in range(-9, 6) for s in (1, 2, 5) if top / (s * 10.0**e) <= 4)
    return [i * step for i in range(int(top / step) + 1)]


# ---- tables


def _table(head: Sequence[tuple[str, str]], rows: Sequence[str], caption: str = "") -> str:
    """`head` has classes and texts."""
    cells = "".join(f'<th scope="col" class="{name}">{_text(text)}</th>' for name, text in head)
    title = f"<caption>{_text(caption)}</caption>" if caption else ""
    return (
        f'<div class="wide"><table>{title}<thead><tr>{cells}</tr></thead><tbody>{"".join(rows)}'
        "</tbody></table></div>"
    )


def _predictable(found: Lateness) -> str:
    group = found.groups[0]
    if not np.isfinite(group.repeated):
        return "There are too few calls to see whether lateness repeats."
    chance = 1 / group.group.size
    text = (
        f"The rank that came last was last again in the next call in {percent(group.repeated)} of "
        f"the calls of {_title(group)}; by chance that would be {percent(chance)}. "
    )
    if group.repeated > max(0.5, 2 * chance):
        return text + "Who will be late can be forecast, so arrival-aware algorithms can use it."
    return text + "The last rank alone cannot be forecast from the call before."


def _ranks(found: Lateness) -> Iterator[str]:
    ranks = found.ranks
    order = sorted(range(found.trace.ranks), key=lambda r: -ranks.held_up[r])[:_RANKS]
    top = max(float(ranks.held_up.max()), 1e-300)
    rows = []
    for rank in order:
        calls = max(int(ranks.calls[rank]), 1)
        bar = f'<svg viewBox="0 0 100 8" preserveAspectRatio="none"><rect class="wait" width="{100 * ranks.held_up[rank] / top:.1f}" height="8"/></svg>'
        correlation = ranks.correlation[rank]
        cells = [
            percent(ranks.last[rank] / calls),
            percent(ranks.first[rank] / calls),
            seconds(ranks.lateness[rank]),
            seconds(ranks.median[rank]),
            f"{correlation:.2f}" if np.isfinite(correlation) else "-",
            f"{seconds(ranks.waiting[rank])} ({percent(ranks.waiting[rank] / (ranks.run[rank] or 1))})",
            seconds(ranks.held_up[rank]),
        ]
        rows.append(f'<tr><th scope="row">rank {rank} <small>{_text(found.trace.hosts[rank])}'
                    f"</small></th>{_cells(cells)}<td class=bar>{bar}</td></tr>")  # fmt: skip
    head = [("", "rank, host"), ("", "last in"), ("", "first in"), ("", "mean lateness"),
            ("", "median"), ("", "correlation"), ("", "waited itself"), ("", "held up"), ("", "")]  # fmt: skip
    yield _table(head, rows)
    if found.trace.ranks > _RANKS:
        yield f"<p class=lead>The {_RANKS} ranks that held up the others most, of {found.trace.ranks}; --json has all.</p>"


def _sites(found: Lateness) -> Iterator[str]:
    rows = []
    for site in found.sites[:_SITES]:
        inside = site.waiting + site.moving
        members = found.trace.groups[site.group].size
        each = site.calls * members
        bar = (
            f'<svg viewBox="0 0 100 8" preserveAspectRatio="none"><rect class="wait" width="{100 * site.waiting / (inside or 1):.1f}" height="8"/>'
            f'<rect class="move" x="{100 * site.waiting / (inside or 1):.1f}" width="{100 * site.moving / (inside or 1):.1f}" height="8"/></svg>'
        )
        cells = [
            f"{site.calls:,}",
            size(site.bytes) if site.bytes >= 0 else "-",
            percent(inside / max(float(found.ranks.run.sum()), 1e-300)),
            seconds(site.waiting / each),
            seconds(site.moving / each),
            seconds(site.fastest),
            f"rank {site.last_rank} ({percent(site.last_share)})",
        ]
        what = f"{site.collective} on {found.trace.groups[site.group].name or 'an unnamed communicator'}"
        by = ", ".join(site.algorithms[:2]) + (", ..." if len(site.algorithms) > 2 else "")
        rows.append(
            f"<tr><td class=site>{_text(site.site or 'unknown place')}<br><small>{_text(what)}; {_text(by)}</small></td>"
            f"{_cells(cells)}<td class=bar>{bar}</td></tr>"
        )
    head = [("name", "called from"), ("", "calls"), ("", "bytes"), ("", "of the time"),
            ("", "waiting, mean"), ("", "moving, mean"), ("", "fastest after last"),
            ("", "most often last"), ("", "")]  # fmt: skip
    yield _table(head, rows)
    if len(found.sites) > _SITES:
        yield f"<p class=lead>The {_SITES} that take the longest, of {len(found.sites)}.</p>"


def _cells(texts: Sequence[str]) -> str:
    return "".join(f"<td>{_text(text)}</td>" for text in texts)


def _what_if(answers: WhatIf, found: Lateness) -> Iterator[str]:
    yield "<h2>What if</h2>"
    yield f"<p>{_text(what_if_text(answers))}</p>"
    top = max([answers.measured, *(a.replayed.seconds for a in answers.answers if a.replayed)])
    rows = [_answer_row("as it was, measured", answers.measured, answers.measured, top,
                        found.ranks.waiting.mean(), found.ranks.moving.mean(), "", True)]  # fmt: skip
    for answer in answers.answers:
        rows.append(_answer(answer, answers, top))
    head = [("name", "what"), ("", "run"), ("", "change"), ("", "waiting"), ("", "moving"),
            ("", ""), ("name", "")]  # fmt: skip
    yield _table(head, rows)
    yield from _classes(answers, found)


def _answer(answer: Answer, answers: WhatIf, top: float) -> str:
    done = answer.replayed
    if done is None:
        return (f'<tr><th scope="row">{_text(answer.scenario.name)}</th><td>-</td><td>-</td><td>-</td><td>-</td>'
                f"<td></td><td class=remark>{_text(answer.remark)}</td></tr>")  # fmt: skip
    remark = (
        f"\N{PLUS-MINUS SIGN} {seconds(done.error)}, by {done.calls:,} calls" if done.error else ""
    )
    return _answer_row(answer.scenario.name, done.seconds, answers.measured, top, done.waiting,
                       done.moving, remark, False)  # fmt: skip


def _answer_row(
    name: str,
    run: float,
    measured: float,
    top: float,
    waiting: float,
    moving: float,
    remark: str,
    own: bool,
) -> str:
    change = run / measured - 1
    parts = [("compute", max(0.0, run - waiting - moving)), ("wait", waiting), ("move", moving)]
    x, bars = 0.0, ""
    for kind, part in parts:
        width = 100 * part / top
        bars += f'<rect class="{kind}" x="{x:.2f}" width="{width:.2f}" height="8"/>'
        x += width
    better = " class=better" if change < -0.02 else ""
    shown = "" if own else f"{100 * change:+.1f} %"
    return (
        f'<tr{" class=own" if own else ""}><th scope="row">{_text(name)}</th><td>{_text(seconds(run))}</td>'
        f"<td{better}>{shown}</td><td>{_text(seconds(waiting))}</td><td>{_text(seconds(moving))}</td>"
        f'<td class=bar><svg viewBox="0 0 100 8" preserveAspectRatio="none">{bars}</svg></td>'
        f"<td class=remark>{_text(remark)}</td></tr>"
    )


def what_if_text(answers: WhatIf) -> str:
    """How it was found out, and how right it is."""
    error = abs(answers.simulator_error)
    text = (
        "The trace was replayed on the virtual network: computation between the calls as it was "
        "measured, costs of the network fitted to the trace. The same algorithms, simulated, come "
        f"within {percent(error)} of the measured run"
    )
    if error > 0.1:
        text += ": too far off for the other answers to be trusted"
    return text + "."


def _classes(answers: WhatIf, found: Lateness) -> Iterator[str]:
    """Mean time after the last arrival, by class of calls and algorithm."""
    chosen = [
        a for a in answers.answers if a.replayed and a.scenario.lateness == 1 == a.scenario.speed
    ]
    counts = {each: number for each, number in answers.factors.items()}
    if not chosen or not counts:
        return
    classes = list(counts)[:_CLASSES]
    rows = []
    for each in classes:
        times = [a.replayed.after_last.get(each) for a in chosen if a.replayed]
        best = min((t for t in times if t is not None), default=None)
        cells = "".join(
            f"<td{' class=best' if t == best and t is not None else ''}>{_text(seconds(t)) if t is not None else '-'}</td>"
            for t in times
        )
        group = found.trace.groups[each.group]
        where = group.name or "an unnamed communicator"
        rows.append(
            f'<tr><th scope="row">{_text(each.collective)}, {_text(size(each.bytes))} <small>on {_text(where)}</small></th>{cells}</tr>'
        )
    names = {"native": "the MPI library's", "auto": "automatic"}
    head = [
        ("", "calls"),
        *(("", names.get(a.scenario.algorithm, a.scenario.algorithm)) for a in chosen),
    ]
    yield _table(head, rows, "From the last arrival to the exit, mean over ranks and calls")


def _definitions(entries: Mapping[str, object]) -> Iterator[str]:
    for name, text in entries.items():
        yield f"<dt>{_text(name)}</dt><dd>{_text(text)}</dd>"


# ---- data of the pictures


def _title(group: GroupLateness) -> str:
    name = plain(group.group.name) or "an unnamed communicator"
    return f"{name}, {group.group.size} ranks, {group.complete:,} calls"


def _data(found: Lateness) -> dict[str, Any]:
    hosts = list(dict.fromkeys(map(plain, found.trace.hosts)))
    places = {host: number for number, host in enumerate(hosts)}
    shown = found.groups[:_GROUPS]
    calls = []
    unit = 1e-6
    for number, group in enumerate(shown):
        each = max(2, _CALLS // len(shown)) if number else max(_CALLS // 2, _CALLS - 4 * len(shown))
        calls += [_call(found, number, group, call, unit) for call in _chosen(group, each)]
    return {
        "hosts": hosts,
        "host": [places[plain(host)] for host in found.trace.hosts],
        "groups": [_group(group) for group in shown],
        "calls": calls,
    }


def _group(group: GroupLateness) -> dict[str, Any]:
    heat = group.series.heat
    scale = float(max(np.percentile(np.abs(heat), 99.5), np.abs(heat).max() / 20, 1e-9))
    values = np.clip(np.round(heat / scale * 127), -127, 127).astype(np.int8)
    members = group.group.members
    stride = int(members[1] - members[0])
    regular = bool((np.diff(members) == stride).all())
    return {
        "title": _title(group),
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


def _call(
    found: Lateness, number: int, lateness: GroupLateness, call: int, unit: float
) -> dict[str, Any]:
    group: Group = lateness.group
    words = found.trace.words
    arrival, leave = np.asarray(group.arrival[call]), np.asarray(group.exit[call])
    first = arrival.min()
    span = max(float(leave.max() - first), 1e-9)
    unit = unit if span / unit > 1000 and span / unit < 2e9 else span / 1e5
    times = np.concatenate([arrival - first, leave - first]) / unit
    bytes_known = size(int(group.bytes[call])) if group.bytes[call] >= 0 else "size unknown"
    what = f"{words[int(group.collective[call])]} of {bytes_known} at {words[int(group.site[call])] or 'an unknown place'}"
    served = int(group.served[call])
    by = words[int(group.algorithm[call])] or "an unknown algorithm"
    who = f" ({SERVED[served]})" if served >= 0 else ""
    cost = float(lateness.cost[call])
    return {
        "group": number,
        "unit": unit,
        "name": plain(
            f"{int(group.sequence[call]):,} of {group.name or 'unnamed'}: {what}, {seconds(cost)} waited"
        ),
        "what": plain(f"Call {int(group.sequence[call]):,}, {what}"),
        "by": plain(by + who),
        "times": b64encode(np.round(times).astype("<i4").tobytes()).decode(),
    }
