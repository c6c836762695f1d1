"""The tables and curves of the report's page, as values for its template."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...base.pages import Cell, Row
from ...base.units import seconds, size
from . import time_parts as split_parts
from .blame import important, place_name
from .call_sites import Site
from .collectives import CallClass
from .facts import not_looked_at
from .lateness import GroupLateness, Lateness
from .what_if import Answer, WhatIf, baseline, by_gain, chief, label
from .wording import group_name, percent, saved

_SITES, _RANKS, _CLASSES = 40, 24, 6  # shown at most
_BAR = "as a bar"  # heads a column
_OF_ARRIVALS = ("last in", "first in", "mean lateness", "median", "correlation", "held up")
_LATEST = 5  # cells of the map
_PLACES = 4  # that have a sentence
_NAMES = {"native": "the MPI library's", "auto": "automatic"}


def name_of(group: GroupLateness) -> str:
    """The communicator with its size, for people."""
    return f"{group_name(group.group.name, group.group.size)}, {group.complete:,} calls"


# ---- all ranks


def outside(found: Lateness) -> str:
    """The word for the time outside of the calls that were looked at."""
    return "computing" if found.trace.messages is not None else "outside of collectives"


def shares(found: Lateness) -> list[tuple[str, str, float]]:
    """Parts of the time of all ranks: colours, words and parts of 1."""
    rest = max(0.0, 1 - found.waiting_share - found.moving_share)
    words = outside(found)
    if unseen := not_looked_at(found):
        words += f", or in {unseen}"
    parts = [("wait", "waiting", found.waiting_share), ("move", "moving data", found.moving_share)]
    if found.trace.between:
        parts.append(("compute", words, rest))
    return [(name, f"{words}, {percent(share)}", share) for name, words, share in parts]


def curves(group: GroupLateness) -> dict[str, Any]:
    """Lateness of the last rank and time to move data, over bins of calls.

    Ticks are parts of the height from above, with their words; lines are values as such parts.
    """
    series = group.series
    highest = max(float(np.percentile(series.worst, 99)), float(series.moving.max()), 1e-9)
    top = 1.05 * highest

    def height(value: float) -> float:
        return 1 - min(value / top, 1.0)

    named = (("worst", series.worst), ("moving", series.moving), ("mean", series.spread))
    return {
        "name": name_of(group),
        "top": top,
        "ticks": [(height(tick), seconds(tick) if tick else "0") for tick in _ticks(top)],
        "ends": [seconds(float(series.time[i])) for i in (0, -1)],
        "lines": [(name, [height(float(value)) for value in values]) for name, values in named],
    }


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


def ranks(found: Lateness) -> tuple[list[str], list[Row], str]:
    """Heads, rows and a remark: those ranks first that cost the others most.

    A rank in no collective has no arrivals, and where no rank has any the columns of these go.
    """
    of = found.ranks
    arrive = bool(of.calls.any())
    order = np.argsort(-of.cost, kind="stable")[:_RANKS].tolist()
    top = max(float(of.cost.max()), 1e-300)
    rows = []
    for rank in order:
        calls, run = int(of.calls[rank]), float(of.run[rank]) or 1.0
        correlation = float(of.correlation[rank])
        arrivals = [
            percent(of.last[rank] / calls),
            percent(of.first[rank] / calls),
            seconds(of.lateness[rank]),
            seconds(of.median[rank]),
            f"{correlation:.2f}" if np.isfinite(correlation) else "-",
            seconds(of.held_up[rank]),
        ] if calls else ["-"] * len(_OF_ARRIVALS)  # fmt: skip
        cells = [
            f"{seconds(of.cost[rank])} ({percent(of.cost[rank] / _waiting(found))})",
            f"{seconds(of.waited[rank])} ({percent(of.waited[rank] / run)})",
            *(arrivals if arrive else []),
        ]
        bar = [("wait", float(of.cost[rank]) / top)]
        rows.append(Row([f"rank {rank}"], cells, found.trace.hosts[rank], "name", bar,
                        {"rank": rank}))  # fmt: skip
    head = ["rank, host", "costs the others", "waited itself",
            *(_OF_ARRIVALS if arrive else []), _BAR]  # fmt: skip
    ranks = found.trace.ranks
    left = f"The {_RANKS} ranks that cost the others most, of {ranks}; --json has all."
    return head, rows, left if ranks > _RANKS else ""


def sites(found: Lateness, place: Callable[[str], int]) -> tuple[list[str], list[Row], str]:
    """Heads, rows and a remark: those places first in which the most time was spent."""
    head = ["called from", "calls", "of the time", "waiting, mean", "moving, mean",
            "fastest after last", "costs most", "most often last", _BAR]  # fmt: skip
    rows = [_site(found, site, place) for site in found.sites[:_SITES]]
    left = f"The {_SITES} in which the most time was spent, of {len(found.sites)}; --json has all."
    return head, rows, left if len(found.sites) > _SITES else ""


def parts(found: Sequence[split_parts.Parts]) -> list[Row]:
    """The parts of the collectives' time, below parts.HEAD."""
    cells = map(split_parts.row, found[:_SITES])
    return [Row([name], rest) for name, *rest in cells]


def _site(found: Lateness, site: Site, place: Callable[[str], int]) -> Row:
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
    bar = [("wait", site.waiting / (inside or 1)), ("move", site.moving / (inside or 1))]
    if not site.site:
        return Row([what], cells, "", "site", bar)
    return Row([found.named(site.site)], cells, what, "site", bar, {"place": place(site.site)})


# ---- what if


def what_if(answers: WhatIf, found: Lateness, mpi: str = "") -> dict[str, Any]:
    """How it was done, and tables: the chief answers, and the rest."""
    done = [a.replayed for a in answers.answers if a.replayed]
    top = max([answers.measured, *(each.seconds for each in done)])
    waiting, moving = float(found.ranks.waited.mean()), float(found.ranks.moved.mean())
    first = chief(answers)
    own = _row(f"{baseline(answers, mpi)}, measured", answers.measured, waiting, moving, top, "")
    rest = [answer for answer in by_gain(answers) if answer not in first]
    return {
        "how": how(answers),
        "head": ["what", "run", "waiting", "moving", "saved", _BAR],
        "chief": [own, *(_answer(answer, answers, top, label(answer)) for answer in first)],
        "rest": [_answer(answer, answers, top) for answer in rest],
        "classes": _classes(answers, found) if rest else None,
    }


def how(answers: WhatIf) -> str:
    """How it was found out, and how right it is."""
    error = abs(answers.simulator_error)
    part = f" {percent(answers.sample)} of the run stand for all of it." if answers.sample < 1 \
        else ""  # fmt: skip
    costs = "were named" if answers.known else "were fitted to the trace: calibrate for better ones"
    return (
        "The run was gone through again, with the computation between the calls as it was "
        "measured; collectives that change are simulated. The costs of the network "
        f"{costs}. The algorithms of the trace, simulated, come within {percent(error)} of the "
        f"measured run.{part} {answers.efficiency.said()}."
    )


def _row(name: str, run: float, waiting: float, moving: float, top: float, gain: str | Cell) -> Row:
    rest = max(0.0, run - waiting - moving)
    bar = [("compute", rest / top), ("wait", waiting / top), ("move", moving / top)]
    times = [seconds(run), seconds(waiting), seconds(moving)]
    return Row([name], [*times, gain], kind="" if gain else "own", bar=bar)


def _answer(answer: Answer, answers: WhatIf, top: float, name: str = "") -> Row:
    done, name = answer.replayed, name or answer.scenario.name
    if done is None:
        return Row([name], [Cell(f"not told: {answer.remark}", "remark", across=5)])
    better = "better" if done.seconds < 0.98 * answers.measured else ""
    gain = Cell(saved(done.seconds, answers.measured, done.error), better)
    return _row(name, done.seconds, done.waiting, done.moving, top, gain)


def _classes(answers: WhatIf, found: Lateness) -> tuple[list[str], list[Row]] | None:
    """The time after the last arrival, by algorithm and class of calls."""
    classes = list(answers.factors)[:_CLASSES]
    plain_ones = [a for a in answers.answers if a.scenario.lateness == a.scenario.speed == 1]
    times = {a.scenario.algorithm: a.replayed.after_last for a in plain_ones if a.replayed}
    if not classes or not times:
        return None
    best = {each: min((t[each] for t in times.values() if each in t), default=0.0)
            for each in classes}  # fmt: skip
    rows = [
        Row([_NAMES.get(algorithm, algorithm)], [
            Cell(seconds(of[each]), "best" if of[each] == best[each] else "") if each in of else "-"
            for each in classes])
        for algorithm, of in times.items()
    ]  # fmt: skip
    return ["algorithm", *(_class_name(found, each) for each in classes)], rows


def _class_name(found: Lateness, each: CallClass) -> str:
    group = found.trace.groups[each.group]
    name = group_name(group.name, group.size)
    rooted = f", root {each.root}" if each.root >= 0 else ""
    return f"{each.collective}, {size(each.bytes)}{rooted}, {name}"
