"""The comparison of runs as sentences, and as one JSON value. Times are in seconds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np

from ...base.units import seconds
from ..analysis.answer import subject
from ..analysis.blame import late_ranks
from ..analysis.wording import FLOOR, listed, percent
from ..trace.model import ranks_said
from .changes import KINDS, Change, Comparison, Run

_MOST = 3  # places in a sentence
_NAMES = {KINDS[3]: "time in calls that were not measured"}


@dataclass(frozen=True)
class Said:
    """Four sentences or more; the first one is the answer."""

    time: str
    what: str
    who: str
    where: str

    def lines(self) -> list[str]:
        return [f"{name + ':':<6} {words}" for name, words in vars(self).items()]


def said(found: Comparison) -> Said:
    """The answer."""
    return Said(_time(found), _what(found), _who(found), _where(found))


def noise(found: Comparison) -> str:
    """By how much runs differ by chance."""
    known = found.run.noise
    if known is None:
        return "One run each: no noise known, so any difference may be chance."
    counts = f"{len(found.before)} and {len(found.after)} runs"
    few = "" if found.run.sure else "; with three of each it would be surer"
    return f"Of {counts}, those of one kind differ by up to {seconds(known)}{few}."


def changed(change: Change) -> str:
    """As in "1.8 s longer", "shorter"."""
    way = "longer" if change.seconds > 0 else "shorter"
    return f"{seconds(abs(change.seconds))} {way}"


def _time(found: Comparison) -> str:
    run = found.run
    old, new = median(run.before), median(run.after)
    if run.noise is not None and not run.told:
        return (f"No significant difference: the run takes {seconds(new)} after and {seconds(old)} "
                f"before. {noise(found)}")  # fmt: skip
    if found.run.noise is None and abs(run.seconds) < FLOOR * old:
        return (f"The run takes as long as before, within {percent(abs(run.seconds) / old)}: "
                f"{seconds(new)} after, {seconds(old)} before. {noise(found)}")  # fmt: skip
    share = f" ({percent(abs(run.seconds) / old)})" if old > 0 else ""
    return (f"The run takes {seconds(new)} after, {changed(run)}{share} than before, "
            f"{seconds(old)}. {noise(found)}")  # fmt: skip


def _matters(found: Comparison, change: Change) -> bool:
    whole = max(median(found.run.before), median(found.run.after))
    return change.told and abs(change.seconds) >= FLOOR * whole


def _least(found: Comparison) -> str:
    """The least change that is told. Chance is named only where the noise is known."""
    chance = "" if found.run.noise is None else "more than chance and "
    return f"{chance}{100 * FLOOR:g} % of the run"


def _what(found: Comparison) -> str:
    kinds = sorted(found.kinds.items(), key=lambda each: -abs(each[1].seconds))
    told = [f"{_NAMES.get(kind, kind)} is {changed(change)}" for kind, change in kinds
            if _matters(found, change)]  # fmt: skip
    if not told:
        return f"No kind of time differs by {_least(found)}."
    whole = listed(told)
    return f"In the mean of the ranks, {whole}."


def _who(found: Comparison) -> str:
    before, after = (_late(found, runs) for runs in (found.before, found.after))
    parts = [f"Late before: {before}; after: {after}."]
    if not found.ranks:
        numbers = [runs[0].found.trace.ranks for runs in (found.before, found.after)]
        parts.append(f"{numbers[0]} ranks before and {numbers[1]} after: single ranks are not "
                     "compared.")  # fmt: skip
        return " ".join(parts)
    for sign, way in ((1, "longer"), (-1, "shorter")):
        changes = [each[KINDS[0]] for each in found.ranks]
        more = np.array([max(sign * each.seconds, 0.0) if _matters(found, each) else 0.0
                         for each in changes])  # fmt: skip
        ranks, _ = late_ranks(more)
        if ranks and len(ranks) < len(changes):
            each = seconds(float(more[ranks].mean()))
            verb = "computes" if len(ranks) == 1 else "compute"
            parts.append(f"{ranks_said(ranks).capitalize()} {verb} {each} {way}.")
    return " ".join(parts)


def _late(found: Comparison, runs: Sequence[Run]) -> str:
    late, times = found.late(runs)
    facts = next(run.facts for run in runs if tuple(run.facts.late) == late)
    if facts.unknown:
        return f"not known ({facts.unknown})"
    who, on, _ = subject(replace(facts, late=late, early=""))
    words = " ".join(filter(None, (who, on)))
    often = f" in {times} of {len(runs)} runs" if len(runs) > 1 and times < len(runs) else ""
    return f"{words[0].lower()}{words[1:]}{often}"


def _where(found: Comparison) -> str:
    told = [f"{each.name} is {changed(each.change)} a rank" for each in found.places
            if _matters(found, each.change)]  # fmt: skip
    if not told:
        return f"No place differs by {_least(found)}."
    first = listed(told[:_MOST])
    more = f"; {len(told) - _MOST} more places" if len(told) > _MOST else ""
    return f"{first[0].upper()}{first[1:]}{more}."


def remarks(found: Comparison) -> Iterator[str]:
    """Remarks that a reader must know: what only one side has, and what is not the same."""
    clocks = [run for run in (*found.before, *found.after)
              if not math.isfinite(run.found.clock_error)]  # fmt: skip
    for run in clocks:
        yield f"the clocks of some ranks of {run.folder} are not comparable: waiting means nothing"
    for at, way in ((1, "before"), (0, "after")):
        lone = [each.place for each in found.places if not each.calls[at]]
        own = list(dict.fromkeys(place.where for place in lone if place.kind != KINDS[0]))
        if own:
            more = f" and {len(own) - _MOST} more" if len(own) > _MOST else ""
            yield f"only {way}: {listed(own[:_MOST]) if not more else ', '.join(own[:_MOST])}{more}"
    uneven = [each for each in found.places
              if all(each.calls) and not each.as_many and each.place.kind != KINDS[0]]  # fmt: skip
    if uneven:
        most = max(uneven, key=lambda each: abs(each.calls[0] - each.calls[1]))
        yield (f"numbers of calls differ: {most.calls[0]:,} before and {most.calls[1]:,} after of "
               f"{most.place.where}, so sums are of different work")  # fmt: skip
    messages = {run.found.trace.messages is None for run in (*found.before, *found.after)}
    if len(messages) > 1:
        yield "some runs were traced without messages: waiting for these counts as computation"
    skipped = {run.found.skipped for run in (*found.before, *found.after)}
    if len(skipped) > 1:
        yield "the first call is left out of some runs, and not of others"


def value(found: Comparison, words: Said) -> dict[str, Any]:
    """For scripts."""
    return {
        "answer": vars(words),
        "noise_known": found.run.noise is not None,
        "remarks": list(remarks(found)),
        "before": [_run(run) for run in found.before],
        "after": [_run(run) for run in found.after],
        "run": _change(found.run),
        "kinds": {kind: _change(change) for kind, change in found.kinds.items()},
        "places": [
            vars(each.place) | {"name": each.name, "calls_before": each.calls[0],
                                "calls_after": each.calls[1], **_change(each.change)}
            for each in found.places
        ],
        "by_rank": [
            {"rank": rank} | {kind: _change(change) for kind, change in kinds.items()}
            for rank, kinds in enumerate(found.ranks)
        ],
    }  # fmt: skip


def _run(run: Run) -> dict[str, Any]:
    return {"trace": run.folder, "ranks": run.found.trace.ranks, "run_s": run.found.run_seconds,
            "late_ranks": list(run.facts.late)}  # fmt: skip


def _change(change: Change) -> dict[str, Any]:
    return {"before_s": list(change.before), "after_s": list(change.after),
            "change_s": change.seconds, "noise_s": change.noise, "told": change.told}  # fmt: skip
