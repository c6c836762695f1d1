"""Runs side by side as one HTML page that loads nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import median

from ...base import pages
from ...base.units import seconds
from ..analysis.wording import DEFINITIONS
from .changes import KINDS, Change, Comparison
from .sentences import Said, remarks

PLACES, RANKS = 20, 32  # rows at most
_COLOURS = dict(zip(KINDS, ("compute", "wait", "move", "unknown"), strict=True))
_HEAD = ("before", "after", "change", "noise")


def page(found: Comparison, words: Said, used: Mapping[str, object]) -> str:
    """The whole page. `used` says how to repeat it."""
    head = _HEAD if found.run.noise is not None else _HEAD[:-1]
    ranks = sorted(enumerate(found.ranks), key=lambda each: -abs(each[1][KINDS[0]].seconds))[:RANKS]
    return pages.page(
        __package__,
        title=_title(found),
        words=vars(words),
        bars=_bars(found),
        legend=[(colour, kind) for kind, colour in _COLOURS.items()
                if any(_sides(found.kinds[kind]))],
        head=head,
        noise_known=found.run.noise is not None,
        kinds=[pages.Row([kind], _cells(change)) for kind, change in found.kinds.items()
               if any(_sides(change))],
        place_head=("place, a rank in the mean", *head, "calls before", "calls after"),
        places=[
            pages.Row([each.name], [*_cells(each.change), *(f"{n:,}" if n else "-"
                                                            for n in each.calls)])
            for each in found.places[:PLACES]
        ],
        more_places=max(len(found.places) - PLACES, 0),
        rank_head=("rank", *(f"{kind} {side}" for kind in KINDS[:3]
                             for side in ("before", "change"))),
        ranks=[pages.Row([str(rank)], [cell for kind in KINDS[:3]
                                       for cell in (_cells(own[kind])[0], _cells(own[kind])[2])])
               for rank, own in sorted(ranks)],
        more_ranks=max(len(found.ranks) - RANKS, 0),
        remarks=list(remarks(found)),
        meanings=DEFINITIONS[:2],
        used=pages.told(used),
    )  # fmt: skip


def _title(found: Comparison) -> str:
    """As in "traces before, traces-2 after"; folders of one name by their paths."""
    folders = [runs[0].folder for runs in (found.before, found.after)]
    names = [Path(folder).name for folder in folders]
    shown = names if all(names) and len(set(names)) == 2 else folders
    sides = zip(shown, (found.before, found.after), ("before", "after"), strict=True)
    return ", ".join(f"{name}{f' and {len(runs) - 1} more' if len(runs) > 1 else ''} {side}"
                     for name, runs, side in sides)  # fmt: skip


def _sides(change: Change) -> tuple[float, float]:
    return median(change.before), median(change.after)


def _cells(change: Change) -> list[pages.Cell]:
    """The cells under `_HEAD`; without the noise if it is not known."""
    before, after = _sides(change)
    noise = [] if change.noise is None else [pages.Cell(seconds(change.noise))]
    told = f"{'+' if change.seconds > 0 else '-' if change.seconds < 0 else ''}" \
           f"{seconds(abs(change.seconds))}"  # fmt: skip
    return [pages.Cell(seconds(before)), pages.Cell(seconds(after)),
            pages.Cell(told, kind="" if change.told else "chance"), *noise]  # fmt: skip


def _bars(found: Comparison) -> list[tuple[str, str, list[tuple[str, float]]]]:
    """The name and the time of each side, and its kinds as parts of the longer side's time."""
    sides = [[_sides(found.kinds[kind])[at] for kind in KINDS] for at in (0, 1)]
    whole = max(map(sum, sides)) or 1.0
    return [(name, seconds(run), [(_COLOURS[kind], part / whole)
                                  for kind, part in zip(KINDS, own, strict=True)])
            for name, run, own in zip(("before", "after"), _sides(found.run), sides,
                                      strict=True)]  # fmt: skip
