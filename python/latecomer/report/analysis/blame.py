"""Which ranks are to be named, and the place where they cost the others most."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from ...base.arrays import Floats, Int32s
from ...base.printable import plain
from ...base.units import size
from .call_sites import Site
from .lateness import Lateness
from .wording import APART, SHARE

CHANCE = 0.05  # of naming somebody where all ranks are alike; 7 % if calls are exponential
_MOST = 4  # ranks that are named one by one
_SMALL = 16  # members
_LITTLE = 0.05  # of what the rank waits that waits longest
_UNKNOWN = frozenset({"", "?"})  # names of hosts
HALF = 0.5  # of the cost: less is no place for it
_Place = TypeVar("_Place")


def may_be_chance(
    late: Sequence[int], sums: Floats, squares: Floats, hosts: Sequence[str] = ()
) -> bool:
    """True if as many ranks, or a host, often stand out like these though all ranks are alike.

    `sums`, `squares`: of what each rank cost in each call. They tell how many calls of equal cost
    that were; in each of them it might as well have been others. `hosts`: of all ranks, if a host
    is named.
    """
    count = len(sums)
    calls = max((sums[rank] ** 2 / squares[rank] for rank in late if squares[rank] > 0), default=0)
    choices = len(set(hosts)) if hosts else math.comb(count, len(late))
    return bool(late) and choices * (len(late) / count) ** calls > CHANCE


def late_ranks(
    cost: Floats, hosts: Sequence[str] = (), teams: Sequence[int] = ()
) -> tuple[list[int], bool]:
    """The ranks to be named, by what the others waited for each; True: they are those of a host.

    No ranks if nobody stands out. A host is named if its ranks together stand out, and the hosts of
    all ranks are known. `teams`: the
    sizes of the sets of ranks that share no call with other ranks; in each half can be named. By
    default all ranks are one team.
    """
    total = float(cost.sum())
    if total <= 0:
        return [], False
    order = [int(rank) for rank in np.argsort(-cost, kind="stable")]
    most = sum(size // 2 for size in teams or [len(cost)])
    for count in range(1, min(_MOST, most) + 1):
        those, following = order[:count], cost[order[count]] if count < len(order) else 0.0
        if cost[those].sum() >= SHARE * total and cost[those[-1]] >= APART * following:
            those.sort()
            on = {hosts[rank] for rank in those} if hosts else set()
            alone = len(on) == 1 and hosts.count(hosts[those[0]]) == count < len(cost)
            return those, count > 1 and alone
    names = list(dict.fromkeys(hosts))
    if 1 < len(names) < len(cost) and not _UNKNOWN.intersection(names):
        number = {name: at for at, name in enumerate(names)}
        place = np.array([number[host] for host in hosts])
        found, _ = late_ranks(np.asarray(np.bincount(place, weights=cost), float))
        if len(found) == 1:
            return [int(rank) for rank in np.flatnonzero(place == found[0])], True
    return [], False


def waiters(waiting: Floats, late: Sequence[int]) -> int:
    """How many ranks beside the late ones wait, more than a little: by seconds, one a rank."""
    others = np.delete(waiting, list(late))
    return int((others > _LITTLE * others.max(initial=0.0)).sum())


@dataclass(frozen=True)
class Where:
    """A place, and some ranks' part in it."""

    name: str  # as in "allreduce of 1 MiB at main (app.c:42)"
    share: float  # of what these ranks cost, or of the waiting, without any
    calls: int  # of the first of the ranks
    last_share: float  # of these, in which it was last
    lateness: float  # seconds, mean of the ranks
    of_two: bool  # the calls of each of these ranks are those of two ranks


def place_of(found: Lateness, late: Sequence[int]) -> Where | None:
    """The place where these ranks cost most; without any, where most was waited. None: nowhere.

    First by size, in all communicators together; if no size has half, for all sizes together.
    """
    best: Where | None = None
    for parts in by_size_or_not(found.sites, lambda site: (site.site, site.collective, site.bytes)):
        where = [_where(found, sites, late) for sites in parts]
        top = max(where, key=lambda each: each.share, default=None)
        if top and top.share > 0 and (best is None or top.share >= HALF):
            best = top
        if best and best.share >= HALF:
            return best
    return best


def by_size_or_not(
    those: Iterable[_Place], key: Callable[[_Place], tuple[str, str, int]]
) -> Iterator[list[list[_Place]]]:
    """Those of one site, collective and size together; then those of all sizes."""
    for length in (3, 2):
        parts: dict[tuple[object, ...], list[_Place]] = {}
        for each in those:
            parts.setdefault(key(each)[:length], []).append(each)
        yield list(parts.values())


def stands_out(amounts: Sequence[float], whole: float) -> bool:
    """Tell whether one of several places has half of it all, and twice as much as any other."""
    if len(amounts) < 2:
        return False
    second, most = sorted(amounts)[-2:]
    return most >= max(HALF * whole, APART * second) and most > 0


def one_place(found: Lateness) -> bool:
    """Tell whether most is waited in one of several places."""
    by_place: dict[tuple[str, str], float] = {}
    for site in found.sites:
        key = site.site, site.collective
        by_place[key] = by_place.get(key, 0.0) + site.waiting
    return stands_out(list(by_place.values()), float(found.ranks.waiting.sum()))


def _where(found: Lateness, sites: Sequence[Site], late: Sequence[int]) -> Where:
    cost = waiting = lateness = times = 0.0
    calls = last = 0
    sizes = set()
    for site in sites:
        waiting += site.waiting
        for at in _places(site.members, late):
            cost += float(site.by_member.cost[at])
            lateness += float(site.by_member.lateness[at])
            times += site.calls
            sizes.add(len(site.members))
            if site.members[at] == late[0]:
                calls += site.calls
                last += int(site.by_member.last[at])
    whole = float(found.ranks.cost[list(late)].sum() if late else found.ranks.waiting.sum())
    return Where(
        name=place_name(found, sites),
        share=(cost if late else waiting) / max(whole, 1e-300),
        calls=calls,
        last_share=last / max(calls, 1),
        lateness=lateness / max(times, 1.0),
        of_two=sizes == {2},
    )


def _places(members: Int32s, late: Sequence[int]) -> Sequence[int]:
    """The late ranks among the members. Most groups are small, and there may be very many."""
    if len(members) <= _SMALL:
        return [at for at, rank in enumerate(members.tolist()) if rank in late]
    return np.flatnonzero(np.isin(members, late)).tolist()


def place_name(found: Lateness, sites: Sequence[Site]) -> str:
    """As in "allreduce of 1 MiB at main (app.c:42)"; what is not known is left out."""
    sizes = [site.bytes for site in sites]
    return place_words(sites[0].collective, sizes, found.named(sites[0].site))


def place_words(collective: str, sizes: Sequence[int], at: str) -> str:
    """The same of calls of such sizes at a place."""
    words, known = plain(collective), [each for each in sizes if each > 0]
    if known:
        low, high = size(min(known)), size(max(known))
        words += f" of {low}" if low == high else f" of {low} to {high}"
    return f"{words} at {plain(at)}" if at else words


def important(sites: Iterable[Site], waiting: float, share: float = 0.1) -> list[Site]:
    """Those with so much of the waiting, the longest first."""
    return sorted((s for s in sites if s.waiting >= share * waiting > 0), key=lambda s: -s.waiting)
