"""Files of one run were written at the same time: those of another one are told by their times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

CALENDARS = 3600.0  # seconds by which the calendars of two hosts may differ
_ANCHORS = 64  # files that the others are compared with, those first of which a rank has several


@dataclass(frozen=True)
class Span:
    """When a file was written, in seconds; files of one `clock` read the same."""

    clock: object
    begin: float
    end: float
    calendar: float = 0.0  # seconds since 1970 at the clock's 0


def together(spans: Mapping[T, Span], size: Callable[[Sequence[T]], int]) -> list[T]:
    """The largest set of files whose times overlap, the first one of several.

    On one clock to the instant; of each other clock the nearest ones, as far as two calendars may
    differ.
    """
    clocks: dict[object, list[T]] = {}
    for each, span in spans.items():
        clocks.setdefault(span.clock, []).append(each)
    runs = [run for own in clocks.values() for run in _runs(own, spans)]
    dates = {at: Span(0, *_dates(run, spans)) for at, run in enumerate(runs)}
    later = {at: Span(0, each.begin, each.end + CALENDARS) for at, each in dates.items()}
    joint = [_joint([runs[at] for at in near], spans, size) for near in _runs(dates, later)]
    return max(joint, key=size, default=[])


def _joint(
    runs: Sequence[list[T]], spans: Mapping[T, Span], size: Callable[[Sequence[T]], int]
) -> list[T]:
    """The largest of the sets, and of each other clock the one nearest to it."""
    first = max(runs, key=size)
    others: dict[object, list[list[T]]] = {}
    for run in runs:
        others.setdefault(spans[run[0]].clock, []).append(run)
    del others[spans[first[0]].clock]
    nearest = (min(own, key=lambda run: _distance(run, first, spans)) for own in others.values())
    return [*first, *(each for run in nearest for each in run)]


def _distance(one: Sequence[T], other: Sequence[T], spans: Mapping[T, Span]) -> float:
    """Seconds between two sets of files, by their calendars."""
    (begin, end), (first, last) = _dates(one, spans), _dates(other, spans)
    return max(begin - last, first - end, 0.0)


def _dates(those: Iterable[T], spans: Mapping[T, Span]) -> tuple[float, float]:
    own = [spans[each] for each in those]
    return (min(each.begin + each.calendar for each in own),
            max(each.end + each.calendar for each in own))  # fmt: skip


def _runs(those: Iterable[T], spans: Mapping[T, Span]) -> list[list[T]]:
    """Sets of which each overlaps with another one of its set, in the order of time."""
    found: list[list[T]] = []
    until = 0.0
    for each in sorted(those, key=lambda each: spans[each].begin):
        if found and spans[each].begin <= until:
            found[-1].append(each)
            until = max(until, spans[each].end)
        else:
            found.append([each])
            until = spans[each].end
    return found


def apart(one: T, those: Sequence[T], spans: Mapping[T, Span]) -> str:
    """How far a file is from those of a run, for people."""
    same = [spans[each] for each in those if spans[each].clock == spans[one].clock]
    if same:
        begin, end = spans[one].begin, spans[one].end
        first, last = min(each.begin for each in same), max(each.end for each in same)
    else:
        (begin, end), (first, last) = _dates([one], spans), _dates(those, spans)
    if begin > last:
        return f"it begins {begin - last:.4g} s after the others end"
    if end < first:
        return f"it ends {first - end:.4g} s before the others begin"
    return "its times overlap with those of fewer files"


def best_set(files: Mapping[int, Sequence[T]], fit: Callable[[T, T], float]) -> dict[int, T]:
    """A file for each rank that fits those of the others, so that most ranks have one.

    `fit` is below 0 for two files of different runs, else higher the better they go together.
    """
    most = sorted(files.values(), key=lambda own: -len(own))
    anchors = [each for own in most for each in own][:_ANCHORS]
    best: dict[int, T] = {}
    score = 0.0
    for anchor in anchors:
        found, total = {}, 0.0
        for rank, own in files.items():
            fits = [fit(anchor, each) for each in own]
            at = max(range(len(own)), key=fits.__getitem__)
            if fits[at] >= 0 or len(own) == 1:  # a clock that is wrong is no other run
                found[rank], total = own[at], total + max(fits[at], 0.0)
        if (len(found), total) > (len(best), score):
            best, score = found, total
    return best
