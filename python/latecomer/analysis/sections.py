"""The tables and curves of the report's page, as HTML."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from ..base.units import size
from . import parts as split_parts
from .blame import important, place_name
from .lateness import GroupLateness, Lateness
from .places import Site
from .what_if import baseline, by_gain, chief, distrust, label
from .wording import SAVED, group_name, percent, plain, saved, seconds

if TYPE_CHECKING:
    from .collectives import CallClass
    from .what_if import Answer, WhatIf

_SITES, _RANKS, _CLASSES = 40, 24, 6  # shown at most
_WIDTH, _HEIGHT, _LEFT = 900, 200, 70  # of the curves
_SHORT = 20  # characters of a host's name that is not broken
_BAR = "as a bar"  # heads a column
_LATEST = 5  # cells of the map
_PLACES = 4  # that have a sentence
_NAMES = {"native": "the MPI library's", "auto": "automatic"}


def text(words: object) -> str:
    """For HTML, without control characters."""
    return escape(plain(str(words)))


def _bar(parts: Iterable[tuple[str, float]]) -> str:
    """A cell with parts of a bar: colours, and widths as parts of 1."""
    x, drawn = 0.0, ""
    for name, part in parts:
        drawn += f'<rect class="{name}" x="{100 * x:.2f}" width="{100 * part:.2f}" height="8"/>'
        x += part
    svg = f'<svg viewBox="0 0 100 8" preserveAspectRatio="none">{drawn}</svg>'
    return f'<td class="bar">{svg}</td>'


def _cells(words: Iterable[str]) -> str:
    return "".join(f"<td>{text(each)}</td>" for each in words)


def _table(head: Sequence[str], rows: Iterable[str], caption: str = "") -> str:
    cells = "".join(f'<th scope="col">{text(each)}</th>' for each in head)
    title = f"<caption>{text(caption)}</caption>" if caption else ""
    return (
        f'<div class="wide"><table>{title}<thead><tr>{cells}</tr></thead><tbody>{"".join(rows)}'
        "</tbody></table></div>"
    )


def name_of(group: GroupLateness) -> str:
    """The communicator with its size, for people."""
    return f"{group_name(group.group.name, group.group.size)}, {group.complete:,} calls"


# ---- all ranks


def shares(found: Lateness) -> str:
    """A bar of the time of all ranks."""
    parts = [("wait", "waiting", found.waiting_share), ("move", "moving data", found.moving_share)]
    rest = max(0.0, 1 - found.waiting_share - found.moving_share)
    outside = "computing" if found.origin else "outside of collectives"
    parts.append(("compute", outside, rest))
    x, drawn, said = 0.0, "", ""
    for name, words, share in parts:
        width = _WIDTH * share
        drawn += f'<rect class="{name}" x="{x:.2f}" width="{width:.2f}" height="20"/>'
        said += f'<span><i style="background:var(--{name})"></i>{words}, {percent(share)}</span>'
        x += width
    return (
        f'<svg viewBox="0 0 {_WIDTH} 20" width="100%" height="20" preserveAspectRatio="none" '
        f'role="img" aria-label="shares of the time">{drawn}</svg><p class="legend">{said}</p>'
    )


def curves(group: GroupLateness) -> str:
    """Lateness of the last rank and time to move data, over bins of calls."""
    series = group.series
    highest = max(float(np.percentile(series.worst, 99)), float(series.moving.max()), 1e-9)
    top, bottom, count = 1.05 * highest, _HEIGHT - 22, len(series.spread)

    def height(value: float) -> float:
        return bottom - (bottom - 8) * min(value / top, 1.0)

    def path(values: Sequence[float]) -> str:
        step = (_WIDTH - _LEFT) / count
        points = (f"{_LEFT + step * (i + 0.5):.1f},{height(float(value)):.1f}"
                  for i, value in enumerate(values))  # fmt: skip
        return "M" + "L".join(points)

    drawn = ""
    for tick in _ticks(top):
        y, words = height(tick), seconds(tick) if tick else "0"
        drawn += f'<path class="grid" d="M{_LEFT} {y:.1f}H{_WIDTH}"/>'
        drawn += f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{text(words)}</text>'
    start, end = (text(seconds(float(series.time[i]))) for i in (0, -1))
    drawn += f'<text x="{_LEFT}" y="{_HEIGHT - 4}">{start}</text>'
    drawn += f'<text x="{_WIDTH}" y="{_HEIGHT - 4}" text-anchor="end">{end} after the start</text>'
    named = (("worst", series.worst), ("moving", series.moving), ("mean", series.spread))
    drawn += "".join(f'<path class="{name}" d="{path(values)}"/>' for name, values in named)
    return (
        f'<figure><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="lateness over time">{drawn}</svg>'
        f"<figcaption>{text(name_of(group))}</figcaption></figure>"
        '<p class="legend"><span><i style="background:var(--late)"></i>lateness of the last rank: '
        "mean of the calls, thin: their maximum</span>"
        '<span><i style="background:var(--move)"></i>moving data, mean of the ranks</span></p>'
    )


def _ticks(top: float) -> list[float]:
    lowest = 10.0 ** max(math.floor(math.log10(top / 6)), -9)
    step = next((s * lowest for s in (1, 2, 5) if top / (s * lowest) <= 6), 10 * lowest)
    return [i * step for i in range(int(top / step) + 1)]


def latest(group: GroupLateness, found: Lateness) -> str:
    """The cells of the map with the greatest lateness, for those who do not see it."""
    series, sequence, members = group.series, group.group.sequence, group.group.members
    order = np.argsort(-series.heat, axis=None, kind="stable")[:_LATEST]
    told = []
    for row, column in zip(*np.unravel_index(order, series.heat.shape), strict=True):
        first, end = series.first[column], series.first[column + 1]
        calls = f"call {sequence[first]:,}"
        if end - first > 1:
            calls = f"calls {sequence[first]:,} to {sequence[end - 1]:,}"
        low, high = series.rank_bins[row], series.rank_bins[row + 1]
        rank = f"rank {members[low]}"
        if high - low > 1:
            rank = f"the latest of ranks {members[low]} to {members[high - 1]}"
        told.append(f"{rank} in {calls}, {seconds(float(series.heat[row, column]))}")
    shown = f" on {group_name(group.group.name, group.group.size)}" if found.groups[1:] else ""
    return f"Latest{shown}: {'; '.join(told)}."


# ---- who and where


def predictable(found: Lateness) -> list[str]:
    """A sentence for each place that matters: whether it can be forecast who will be late there."""
    told = []
    for site in important(found.sites, float(found.ranks.waiting.sum()))[:_PLACES]:
        where = (
            f"{place_name(found, [site])}, {percent(site.waiting / _waiting(found))} of the waiting"
        )
        if site.repeats is None:
            told.append(f"{where}: too few calls to see whether lateness repeats.")
            continue
        share, chance = percent(site.repeats.share), percent(site.repeats.chance)
        so = "Who will be last cannot be forecast."
        if site.repeats.usable:
            so = "Who will be late can be forecast, so arrival-aware algorithms can use it."
        told.append(f"{where}: {site.repeats.words()} in {share}; by chance {chance}. {so}")
    return told


def _waiting(found: Lateness) -> float:
    return max(float(found.ranks.waiting.sum()), 1e-300)


def ranks(found: Lateness) -> Iterator[str]:
    """The table of ranks, those first that cost the others most."""
    of = found.ranks
    order = np.argsort(-of.cost, kind="stable")[:_RANKS].tolist()
    top = max(float(of.cost.max()), 1e-300)
    rows = []
    for rank in order:
        calls, run = max(int(of.calls[rank]), 1), float(of.run[rank]) or 1.0
        correlation = float(of.correlation[rank])
        cells = [
            f"{seconds(of.cost[rank])} ({percent(of.cost[rank] / _waiting(found))})",
            percent(of.last[rank] / calls),
            percent(of.first[rank] / calls),
            seconds(of.lateness[rank]),
            seconds(of.median[rank]),
            f"{correlation:.2f}" if np.isfinite(correlation) else "-",
            f"{seconds(of.waiting[rank])} ({percent(of.waiting[rank] / run)})",
            seconds(of.held_up[rank]),
        ]
        host = text(found.trace.hosts[rank])
        name = f"rank {rank} <small>{host}</small>"
        short = ' class="name"' if len(host) <= _SHORT else ""
        bar = _bar([("wait", of.cost[rank] / top)])
        rows.append(f'<tr><th scope="row"{short}>{name}</th>{_cells(cells)}{bar}</tr>')
    head = ("rank, host", "costs the others", "last in", "first in", "mean lateness", "median",
            "correlation", "waited itself", "held up", _BAR)  # fmt: skip
    yield _table(head, rows)
    if found.trace.ranks > _RANKS:
        yield f'<p class="lead">The {_RANKS} ranks that cost the others most, of '
        yield f"{found.trace.ranks}; --json has all.</p>"


def sites(found: Lateness) -> Iterator[str]:
    """The table of call sites, those first in which the most time was spent."""
    yield _table(
        ("called from", "calls", "of the time", "waiting, mean", "moving, mean",
         "fastest after last", "costs most", "most often last", _BAR),
        (_site(found, site) for site in found.sites[:_SITES]),
    )  # fmt: skip
    if len(found.sites) > _SITES:
        yield f'<p class="lead">The {_SITES} in which the most time was spent, of '
        yield f"{len(found.sites)}; --json has all.</p>"


def parts(found: Sequence[split_parts.Parts]) -> Iterator[str]:
    """The parts of the collectives' time; nothing where the trace does not tell them."""
    if not found:
        return
    yield f"<h2>What the time consists of</h2><p>{text(' '.join(split_parts.lines(found)))}</p>"
    rows = (_parts_row(split_parts.row(each)) for each in found[:_SITES])
    yield _table(split_parts.HEAD, rows, "Means of a rank in a call")
    yield "<dl>"
    for name, words in split_parts.DEFINITIONS:
        yield f"<dt>{text(name)}</dt><dd>{text(words)}</dd>"
    yield "</dl>"


def _parts_row(cells: Sequence[str]) -> str:
    return f'<tr><th scope="row">{text(cells[0])}</th>{_cells(cells[1:])}</tr>'


def _site(found: Lateness, site: Site) -> str:
    group, inside = found.trace.groups[site.group], site.waiting + site.moving
    each = site.calls * group.size
    cells = [
        f"{site.calls:,}",
        percent(inside / max(float(found.ranks.run.sum()), 1e-300)),
        seconds(site.waiting / each),
        seconds(site.moving / each),
        seconds(site.fastest),
        f"rank {site.costly_rank}: {seconds(site.cost)}" if site.cost > 0 else "-",
        f"rank {site.last_rank} ({percent(site.last_share)})" if site.last_share else "-",
    ]
    names = dict.fromkeys(each.partition(":")[0] for each in site.algorithms if each)
    served = ", ".join(list(names)[:2]) + (", ..." if len(names) > 2 else "")
    what = site.collective + (f" of {size(site.bytes)}" if site.bytes > 0 else "")
    what += f" on {group_name(group.name, group.size)}" + (f"; {served}" if served else "")
    place = f"<small>{text(what)}</small>"
    if site.site:
        place = f"{text(found.named(site.site))}<br>{place}"
    parts = [("wait", site.waiting / (inside or 1)), ("move", site.moving / (inside or 1))]
    return f'<tr><td class="site">{place}</td>{_cells(cells)}{_bar(parts)}</tr>'


# ---- what if


def what_if(answers: WhatIf, found: Lateness, mpi: str = "") -> Iterator[str]:
    """The heading, how it was done, and tables: the chief answers, and the rest folded."""
    yield "<h2>What if</h2>\n"
    if not answers.trusted:
        yield f"<p>{text(distrust(answers))}</p>"
        return
    yield f"<p>{text(how(answers))} {text(answers.efficiency.said())}.</p>"
    done = [a.replayed for a in answers.answers if a.replayed]
    top = max([answers.measured, *(each.seconds for each in done)])
    waiting, moving = float(found.ranks.waiting.mean()), float(found.ranks.moving.mean())
    own = _row(f"{baseline(answers, mpi)}, measured", answers.measured, waiting, moving, top)
    first = chief(answers)
    rows = [f'<tr class="own">{own}<td></td></tr>']
    rows += [_answer(answer, answers, top, label(answer)) for answer in first]
    head = ("what", "run", "waiting", "moving", _BAR, "saved")
    yield _table(head, rows)
    yield f'<p class="legend">{text(SAVED)}.</p>'
    rest = [answer for answer in by_gain(answers) if answer not in first]
    if rest:
        yield f"<details><summary>{len(rest)} more, the shortest first</summary>"
        yield _table(head, (_answer(answer, answers, top) for answer in rest))
        yield from _classes(answers, found)
        yield "</details>"


def how(answers: WhatIf) -> str:
    """How it was found out, and how right it is."""
    error = abs(answers.simulator_error)
    costs = "were named" if answers.known else "were fitted to the trace: calibrate for better ones"
    return (
        "The trace was replayed on the virtual network, with the computation between the calls as "
        f"it was measured. The costs of the network {costs}. The algorithms of the trace, "
        f"simulated, come within {percent(error)} of the measured run."
    )


def _row(name: str, run: float, waiting: float, moving: float, top: float) -> str:
    cells = _cells([seconds(run), seconds(waiting), seconds(moving)])
    rest = max(0.0, run - waiting - moving)
    parts = _bar([("compute", rest / top), ("wait", waiting / top), ("move", moving / top)])
    return f'<th scope="row">{text(name)}</th>{cells}{parts}'


def _answer(answer: Answer, answers: WhatIf, top: float, name: str = "") -> str:
    done, name = answer.replayed, name or answer.scenario.name
    if done is None:
        remark = f'<td class="remark" colspan="4">not simulated: {text(answer.remark)}</td>'
        return f'<tr><th scope="row">{text(name)}</th>{remark}<td>-</td></tr>'
    better = ' class="better"' if done.seconds < 0.98 * answers.measured else ""
    shown = saved(done.seconds, answers.measured, done.error)
    row = _row(name, done.seconds, done.waiting, done.moving, top)
    return f"<tr>{row}<td{better}>{shown}</td></tr>"


def _classes(answers: WhatIf, found: Lateness) -> Iterator[str]:
    """The time after the last arrival, by algorithm and class of calls."""
    classes = list(answers.factors)[:_CLASSES]
    plain_ones = [a for a in answers.answers if a.scenario.lateness == a.scenario.speed == 1]
    times = {a.scenario.algorithm: a.replayed.after_last for a in plain_ones if a.replayed}
    if not classes or not times:
        return
    best = {each: min((t[each] for t in times.values() if each in t), default=0.0)
            for each in classes}  # fmt: skip
    rows = []
    for algorithm, of in times.items():
        cells = "".join(
            f"<td{' class=best' if of[each] == best[each] else ''}>{text(seconds(of[each]))}</td>"
            if each in of else "<td>-</td>"
            for each in classes
        )  # fmt: skip
        name = text(_NAMES.get(algorithm, algorithm))
        rows.append(f'<tr><th scope="row">{name}</th>{cells}</tr>')
    head = ["algorithm", *(_class_name(found, each) for each in classes)]
    yield _table(head, rows, "From the last arrival to the exit: mean over ranks and calls")


def _class_name(found: Lateness, each: CallClass) -> str:
    group = found.trace.groups[each.group]
    name = group_name(group.name, group.size)
    rooted = f", root {each.root}" if each.root >= 0 else ""
    return f"{each.collective}, {size(each.bytes)}{rooted}, {name}"
