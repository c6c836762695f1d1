"""The first screen of the page: who, where, what it costs and what to do, in a few words each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base.units import seconds
from .answer import Answer, cost_share, finding, place_share, remedy, shares, shorter, subject, why
from .facts import Facts
from .lateness import Lateness

_BARS = 120  # of the picture
_LONG = 60  # characters: two lines of a phone
_APART = 0.08  # of the width: labels that are nearer are joined
_LABELS = 4  # late ranks that are named below it


@dataclass(frozen=True)
class First:
    """Large words, and smaller ones that complete them."""

    who: tuple[str, str]
    where: tuple[str, str]
    cost: tuple[str, str]
    next: str
    command: str  # the next one; empty: none


def first(facts: Facts, said: Answer) -> First:
    """The answer, shortened: the page has the whole one below."""
    do, command = remedy(facts)
    return First(_who(facts), _where(facts, said), _cost(facts, said), f"{do}.", command)


def _who(facts: Facts) -> tuple[str, str]:
    """Where that is long, the hosts in small words."""
    who, on, late = subject(facts)
    whole = " ".join(filter(None, (who, on, late)))
    large, small = (f"{who} {late}", on) if on and len(whole) > _LONG else (whole, "")
    if reason := why(facts):
        small = f"{small[0].upper()}{small[1:]}. {reason}" if small else reason
    return large, small


def _where(facts: Facts, said: Answer) -> tuple[str, str]:
    if facts.hang:
        return said.where, ""
    if not facts.place:
        return ("Not known" if facts.unknown else "In no single place"), ""
    return f"{facts.place[0].upper()}{facts.place[1:]}", place_share(facts)


def _cost(facts: Facts, said: Answer) -> tuple[str, str]:
    if facts.hang:
        return said.cost, ""
    if not facts.known:
        return "Not known", said.cost
    waiting, moving = shares(facts)
    if not facts.late or facts.cost is None:
        if finding(facts) in {"moving", "files"}:
            return f"{moving} of the time is moving data", f"{waiting} is waiting for late ranks"
        return f"{waiting} of the time is waiting", f"{moving} is moving data"
    of = cost_share(facts)
    if finding(facts) in {"moving", "files"}:
        of += f"; more time goes into moving data: {moving}, waiting {waiting}"
    if without := shorter(facts):
        of += f"; {without} without it"
    return f"{seconds(facts.cost)} of waiting", of


def _labels(named: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The names below the bars; those of neighbours are one, as they would cover each other."""
    joined: list[list[dict[str, Any]]] = []
    for each in named:
        if joined and each["at"] - joined[-1][-1]["at"] < _APART:
            joined[-1].append(each)
        else:
            joined.append([each])
    return [
        {
            "named": _named([each["rank"] for each in those]),
            "late": those[0]["late"],
            "at": (those[0]["at"] + those[-1]["at"]) / 2,
        }
        for those in joined
    ]


def _named(ranks: list[int]) -> str:
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if ranks[-1] - ranks[0] == len(ranks) - 1:
        return f"ranks {ranks[0]}-{ranks[-1]}"
    return f"ranks {', '.join(map(str, ranks))}"


def bars(found: Lateness, late: list[int]) -> dict[str, Any]:
    """The picture: what each rank costs the others, upwards, and waits itself, downwards.

    Of many ranks a bar stands for several: for the one of these that costs most, and the one that
    waits most. Heights are parts of 100.
    """
    cost, waiting = found.ranks.cost, found.ranks.waiting
    bounds = np.unique(np.linspace(0, len(cost), min(len(cost), _BARS) + 1).astype(int))
    top, deep = max(float(cost.max()), 1e-300), max(float(waiting.max()), 1e-300)
    named = set(late)
    drawn, labels = [], named if len(named) <= _LABELS else {int(cost.argmax())}
    for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        own = sorted(named.intersection(range(begin, end)), key=lambda rank: -cost[rank])
        rank = own[0] if own else begin + int(cost[begin:end].argmax())
        drawn.append({
            "rank": rank,
            "late": bool(own),
            "at": (begin + end) / 2 / len(cost),
            "cost": 100 * float(cost[begin:end].max()) / top,
            "wait": 100 * float(waiting[begin:end].max()) / deep,
        })  # fmt: skip
    return {
        "bars": drawn,
        "labels": _labels([each for each in drawn if each["rank"] in labels]),
        "cost": seconds(float(cost.max())),
        "wait": seconds(float(waiting.max())),
        "each": int(np.diff(bounds).max()),
        "last": len(cost) - 1,
    }
