"""The report of a trace as one JSON value, for scripts. Times are in seconds."""

from __future__ import annotations

import math
from typing import Any

from .answer import Answer as Said
from .answer import headline, verdict
from .call_sites import Site
from .facts import Facts
from .lateness import Lateness
from .what_if import Answer, WhatIf


def summary(found: Lateness, facts: Facts, said: Said, answers: WhatIf | None) -> dict[str, Any]:
    """All figures but those of single calls."""
    trace, ranks = found.trace, found.ranks
    return {
        "answer": vars(said),
        "sentence": headline(said),
        "verdict": verdict(facts),
        "late_ranks": list(facts.late),
        "trace": trace.source,
        "format": trace.format,
        "ranks": trace.ranks,
        "calls": trace.calls,
        "incomplete_calls": found.incomplete,
        "dropped_calls": trace.dropped,
        "skipped_calls": found.skipped,
        "skipped_waiting_s": found.skipped_waiting,
        "remarks": list(trace.remarks),
        "clock": trace.clock,
        "clock_error_s": _number(found.clock_error),
        "run_s": found.run_seconds if trace.between else None,
        "slept_s": None if trace.slept is None else trace.all_slept,
        "waiting_share": found.waiting_share,
        "moving_share": found.moving_share,
        "last_rank": None if facts.unknown else found.latest,
        "last_host": None if facts.unknown or found.latest is None else trace.hosts[found.latest],
        "last_share": None if facts.unknown else found.latest_share,
        "by_rank": [
            {
                "rank": rank,
                "host": trace.hosts[rank],
                "calls": int(ranks.calls[rank]),
                "last": int(ranks.last[rank]),
                "first": int(ranks.first[rank]),
                "waiting_s": float(ranks.waited[rank]),
                "moving_s": float(ranks.moved[rank]),
                "held_up_s": float(ranks.held_up[rank]),
                "costs_others_s": float(ranks.cost[rank]),
                "mean_lateness_s": float(ranks.lateness[rank]),
                "median_lateness_s": float(ranks.median[rank]),
                "correlation": _number(float(ranks.correlation[rank])),
                "run_s": float(ranks.run[rank]),
            }
            for rank in range(trace.ranks)
        ],
        "by_communicator": [
            {
                "name": group.group.name,
                "ranks": group.group.size,
                "calls": group.complete,
                "waiting_s": group.waiting,
                "moving_s": group.moving,
                "last_rank_repeats": _number(group.repeated),
            }
            for group in found.groups
        ],
        "by_site": [_site(found, site) for site in found.sites],
        "parts": [vars(parts) for parts in found.parts],
        "what_if": _what_if(answers) if answers else None,
    }


def _site(found: Lateness, site: Site) -> dict[str, Any]:
    own = {
        name: value for name, value in vars(site).items() if name not in ("members", "by_member")
    }
    return own | {
        "algorithms": list(site.algorithms),
        "group": found.trace.groups[site.group].name,
        "code": found.code.get(site.site),
        "repeats": vars(site.repeats) | {"usable": site.repeats.usable} if site.repeats else None,
    }


def _what_if(answers: WhatIf) -> dict[str, Any]:
    return {
        "measured_s": answers.measured,
        "simulated_s": answers.repeated.seconds if answers.repeated else None,
        "sample": answers.sample,
        "trusted": answers.trusted,
        "network": answers.network,
        "calls": answers.calls,
        "efficiency": vars(answers.efficiency),
        "answers": [_answer(answer) for answer in answers.answers],
    }


def _answer(answer: Answer) -> dict[str, Any]:
    done = answer.replayed
    return vars(answer.scenario) | {
        "run_s": done.seconds if done else None,
        "error_s": done.error if done else None,
        "calls": done.calls if done else 0,
        "waiting_s": done.waiting if done else None,
        "moving_s": done.moving if done else None,
        "remark": answer.remark,
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
