"""The facts of a job by the summary that its ranks made together when it ended.

The library writes it where LATECOMER_SUMMARY says; src/runtime/report/job_summary.hpp describes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...base.units import seconds
from .blame import (
    HALF,
    by_size_or_not,
    late_ranks,
    may_be_chance,
    place_words,
    waiters,
)
from .facts import Facts, last_to_end, unless_unclear, with_reason
from .wording import BESIDE, FLOOR, NON_BLOCKING, SHARE, percent


def facts_of_job(
    job: Mapping[str, Any], *, run_command: str = "", code: Mapping[str, str] | None = None
) -> Facts:
    """What is known from a job's summary; `code`: function and line of sites, if known."""
    ranks = job["ranks"]
    common = Facts(
        ranks=ranks,
        run=job["elapsed_s"] * ranks,
        waiting=job["waiting_s"] * ranks,
        moving=job["moving_s"] * ranks,
        elsewhere=None if job["elsewhere_s"] is None else job["elsewhere_s"] * ranks,
        beside=_beside(job),
        uncharged=_uncharged(job),
        unseen=unseen(job),
        run_command=run_command,
        remarks=_remarks(job),
        known=job["told"] > 0,
        unknown="" if job["told"] else _why_unknown(job),
        unclear="lacking",
    )
    if not job["told"]:
        return common
    late, host = late_ranks(np.array(job["cost_s"], float), job["hosts"])
    # Most waiting may be for ranks that were in MPI, which are not charged.
    if sum(job["cost_s"][rank] for rank in late) < max(FLOOR * common.run, SHARE * common.waiting):
        late, host = [], False
    alone = len(late) == 1
    costs, calls = np.array(job["cost_s"], float), np.array(job["equal_calls"], float)
    squares = costs**2 / np.maximum(calls, 1e-300)
    place = _place(job["places"], "cost_s" if late else "waiting_s", code or {})
    cost = float(sum(job["cost_s"][rank] for rank in late))
    known = {
        "late": late,
        "host": host,
        "few": may_be_chance(late, costs, squares, job["hosts"] if host else ()),
        "hosts": [job["hosts"][rank] for rank in late],
        "cost": cost if late else None,
        "others": waiters(np.array(job["waited_s"], float), late),
    }
    if place:
        # The summary knows the places of one rank: of the one that cost the others most.
        whole = cost if alone else common.waiting
        known |= {"place": place["name"], "place_share": None}
        if alone or not late:
            known["place_share"] = min(place["weight"] / whole, 1.0) if whole else None
        if alone and place["calls"]:
            known |= {
                "last_share": place["last"] / place["calls"],
                "calls": round(place["calls"]),
                "lateness": place["lateness_s"] / place["calls"],
                "of_two": ranks == 2,
            }
    names = "time_s", "preempted_s", "blocked_s"
    outside = np.array([[part[name] for name in names] for part in job["outside"]], float)
    named = unless_unclear(Facts(**(vars(common) | known)), job["clock_error_s"])
    return with_reason(named, outside)


def _why_unknown(job: Mapping[str, Any]) -> str:
    if job["short_calls"] or job["unmatched"] or any(job["calls"].values()):
        return "no call of it is known on all its ranks"
    if job["persistent"] or job["neighbour"]:
        return "none of its collectives is of a kind that is timed"
    if job["nonblocking"]:
        return f"all its collectives are {NON_BLOCKING.split()[0]}, which are not timed"
    return "it makes no collectives"


def unseen(job: Mapping[str, Any]) -> str:
    """Waits that were not measured, where there is no trace of messages."""
    unmatched = _counted(job["unmatched"], "calls that not all ranks are known to have made alike")
    return ", ".join(unmatched if job["elsewhere_s"] is not None else [*unmatched, _beside(job)])


def _beside(job: Mapping[str, Any]) -> str:
    """The calls that are not timed one by one."""
    told = [
        *_counted(job["nonblocking"], NON_BLOCKING),
        *_counted(job["persistent"], "requests for persistent collectives"),
        *_counted(job["neighbour"], "collectives among neighbours"),
        *_counted(job["calls"]["fallback_intercommunicator"], "calls between groups"),
    ]
    return ", ".join([*told, BESIDE])


def _uncharged(job: Mapping[str, Any]) -> float:
    """Seconds that ranks waited for others that were in MPI themselves."""
    return max(float(job["waiting_s"] * job["ranks"] - sum(job["cost_s"])), 0.0)


def _counted(count: int, what: str) -> list[str]:
    return [f"{count:,} {what}"] if count else []


def _remarks(job: Mapping[str, Any]) -> list[str]:
    ranks, longest = job["ranks"], job["longest_s"]
    others = max(ranks - 1, 1)
    lag = longest - (job["elapsed_s"] * ranks - longest) / others
    told = last_to_end(job["last_to_end"], lag, others, job["elapsed_s"] * ranks)
    waiting = job["waiting_s"] * ranks
    uncharged = _uncharged(job)
    if uncharged >= max(SHARE * waiting, FLOOR * job["elapsed_s"] * ranks):
        told.append(f"{percent(uncharged / waiting)} of the waiting is for ranks that were in MPI "
                    "themselves: a trace tells for whom they waited.")  # fmt: skip
    if job["skipped_s"] is not None:
        waited = seconds(job["skipped_s"])
        told.append(f"Without the first call, where ranks waited {waited} more.")
    if job["sampled_from"] > job["told"] + 1:
        told.append(f"By a sample: {job['told']:,} of {job['sampled_from']:,} calls.")
    return told


def _place(
    places: Sequence[Mapping[str, Any]], weight: str, code: Mapping[str, str]
) -> dict[str, Any] | None:
    """The heaviest place by this: of one size, or if none has half of all, of all sizes."""

    def sum_of(those: Sequence[Mapping[str, Any]]) -> float:
        return float(sum(each[weight] for each in those))

    whole = sum_of(places)
    names = "collective", "site", "bytes"
    for parts in by_size_or_not(places, lambda each: tuple(each[name] for name in names)):
        top = max(parts, key=sum_of, default=[])
        heavy = sum_of(top)
        if heavy >= HALF * whole > 0:
            sums = {name: sum(each[name] for each in top)
                    for name in ("calls", "last", "lateness_s")}  # fmt: skip
            site, sizes = top[0]["site"], [each["bytes"] for each in top]
            name = place_words(top[0]["collective"], sizes, code.get(site, site))
            return sums | {"name": name, "weight": heavy}
    return None
