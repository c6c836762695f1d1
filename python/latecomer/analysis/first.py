"""The first screen of the page: who, where, what it costs and what to do, in a few words each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from .answer import Answer, Facts, finding
from .lateness import Lateness
from .wording import percent, seconds

_BARS = 120  # of the picture
_LONG = 60  # characters: two lines of a phone
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
    words, _, command = said.next.partition("; then: ")
    return First(
        _who(said.who), _where(facts), _cost(facts, said), words.rstrip(".") + ".", command
    )


def _who(words: str) -> tuple[str, str]:
    """Where that is long, the hosts in small words."""
    found = re.fullmatch(r"(Ranks? .*?) (on hosts? .*) ((?:is|are) late\.)", words)
    if len(words) <= _LONG or not found:
        return words, ""
    return f"{found[1]} {found[3]}", found[2]


def _where(facts: Facts) -> tuple[str, str]:
    if not facts.place:
        return ("Not known" if facts.unknown else "In no single place"), ""
    share = facts.place_share
    part = "most" if share is None else "nearly all" if share >= 0.9 else percent(share)
    whole = "of the waiting"
    if facts.late:
        whole = "of their cost" if len(facts.late) > 1 else "of its cost"
    return f"{facts.place[0].upper()}{facts.place[1:]}", f"{part} {whole}"


def _cost(facts: Facts, said: Answer) -> tuple[str, str]:
    if not facts.known:
        return "Not known", said.cost
    whole = max(facts.run, facts.waiting + facts.moving, 1e-300)
    waiting, moving = (percent(part / whole) for part in (facts.waiting, facts.moving))
    if not facts.late or facts.cost is None:
        if finding(facts) == "moving":
            return f"{moving} of the time is moving data", f"{waiting} is waiting for late ranks"
        return f"{waiting} of the time is waiting", f"{moving} is moving data"
    of = f"{percent(facts.cost / max(facts.waiting, 1e-300))} of all waiting"
    if finding(facts) == "moving":
        of += f"; more time goes into moving data: {moving}, waiting {waiting}"
    if facts.saved is not None and facts.elapsed > 0:
        of += (f"; the run would take {seconds(facts.elapsed - facts.saved)} instead of "
               f"{seconds(facts.elapsed)} without it")  # fmt: skip
    return f"{seconds(facts.cost)} of waiting", of


def bars(found: Lateness, late: list[int]) -> dict[str, Any]:
    """The picture: what each rank costs the others, upwards, and waits itself, downwards.

    Of many ranks a bar stands for several: for the one of these that costs most, and the one that
    waits most. Heights are parts of 100.
    """
    cost, waiting = found.ranks.cost, found.ranks.waiting
    bounds = np.unique(np.linspace(0, len(cost), min(len(cost), _BARS) + 1).astype(int))
    top, deep = max(float(cost.max()), 1e-300), max(float(waiting.max()), 1e-300)
    named = set(late)
    drawn, labels = [], named if 0 < len(named) <= _LABELS else {int(cost.argmax())}
    for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        own = sorted(named.intersection(range(begin, end)), key=lambda rank: -cost[rank])
        rank = own[0] if own else begin + int(cost[begin:end].argmax())
        drawn.append({
            "rank": rank,
            "late": bool(own),
            "named": f"rank {rank}" if rank in labels else "",
            "at": (begin + end) / 2 / len(cost),
            "cost": 100 * float(cost[begin:end].max()) / top,
            "wait": 100 * float(waiting[begin:end].max()) / deep,
        })  # fmt: skip
    return {
        "bars": drawn,
        "cost": seconds(float(cost.max())),
        "wait": seconds(float(waiting.max())),
        "each": int(np.diff(bounds).max()),
        "last": len(cost) - 1,
    }
