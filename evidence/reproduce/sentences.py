"""Sentences on where our numbers agree with a paper's and where they do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from statistics import median
from typing import TypeVar

from latecomer.lab.views.table import number

from .closed_forms import COSTS
from .comparison import PAPER, Comparison, evaluate
from .fit import Fit
from .paper import Number, Paper
from .predict import formula

CLOSE = 0.10  # ours within this share of the paper's counts as agreement
TIE = 0.01  # two of our algorithms this near are as fast

Key = TypeVar("Key", bound=Hashable)


def agreement(paper: Paper, fit: Fit, rows: Sequence[Comparison]) -> list[str]:
    """Sentences on how well each table agrees."""
    fitted = {id(row.number) for row in fit.residuals}
    told: list[str] = []
    for table, block in grouped(rows, lambda row: row.number.table).items():
        told += _algorithms(table, block, fitted)
        told += _fastest(table, block)
        told += _by_theory(table, block)
        told += _in_the_lab(table, block)
        told += _implied(paper, fit, table, block)
    return [*told, *_missing(rows), *_doubts(rows)]


def digits(value: float | None) -> str:
    """About three significant digits, as in all tables."""
    return f"{value:.3g}" if value and abs(value) < 1 else number(value)


def about_fit(fit: Fit) -> list[str]:
    """Sentences on the fitted costs, their errors, and the costs that the rows do not determine."""
    told = [f"network: {fit.rounded}"]
    if fit.text != fit.rounded:
        told.append(f"to repeat it exactly: --network {fit.text}")
    if fit.residuals:
        costs = ", ".join(f"{name} {_cost(fit, name)}" for name in fit.errors)
        count = len(fit.residuals)
        worst = max(fit.residuals, key=lambda row: abs(row.relative))
        where = f"{worst.number.algorithm}, {worst.number.row}, {worst.number.column}"
        told.append(
            f"fitted on {fit.on}: {costs}{'; ' if costs else ''}{count} rows, residuals "
            f"{fit.rms:.1%} rms, largest {worst.relative:+.1%} ({where})"
        )
        told.append(f"these rows determine {fit.determined} of the costs {', '.join(COSTS)}")
    told += [f"{name}: {reason}" for name, reason in fit.reasons.items()]
    return [*told, fit.why]


def _cost(fit: Fit, name: str) -> str:
    scale, unit = (1e6, "us") if name == "alpha" else (1e9, "ns a byte")
    return f"{fit.told(name, scale)} +- {scale * fit.errors[name]:.1g} {unit}"


def grouped(rows: Iterable[Comparison], key) -> dict[Key, list[Comparison]]:
    """The rows by key, in the order in which the keys come."""
    groups: dict[Key, list[Comparison]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def _algorithms(table: str, block: Sequence[Comparison], fitted: set[int]) -> Iterator[str]:
    for (name, metric), rows in grouped(
        block, lambda r: (r.number.algorithm, r.number.metric)
    ).items():
        told = _signs(rows) if metric.endswith("difference") else _ratios(rows)
        if name in [row.number.baseline for row in rows]:
            continue  # a ratio to itself
        hows = Counter(row.how for row in rows if row.how)
        tags = [*hows, *(["fitted"] if all(id(row.number) in fitted for row in rows) else [])]
        if told:
            label = (
                f"{name.replace('|', ' or ')}, {metric.replace('elapsed:', 'elapsed of process ')}"
            )
            yield f"{table}, {label} ({', '.join(tags)}): {told}"


def _ratios(rows: Sequence[Comparison]) -> str:
    known = [row for row in rows if row.ratio is not None]
    if not known:
        return ""
    close = sum(abs(row.ratio - 1) <= CLOSE for row in known)
    worst = max(known, key=lambda row: abs(row.ratio - 1))
    text = f"{close} of {len(known)} within {CLOSE:.0%}"
    if len(known) > 1:
        text += f", median of ours / {worst.source} {median(row.ratio for row in known):.2f}"
    if abs(worst.ratio - 1) < 0.005:
        return text
    return f"{text}; largest deviation {_place(worst)}: {_pair(worst)} ({worst.ratio - 1:+.0%})"


def _signs(rows: Sequence[Comparison]) -> str:
    known = [row for row in rows if row.ours is not None and row.paper is not None]
    if not known:
        return ""
    signs = [row.agrees for row in known if row.agrees is not None]
    worst = max(known, key=lambda row: abs(row.ours - row.paper))
    apart = median(abs(row.ours - row.paper) for row in known)
    unit = worst.number.unit
    return (
        f"same sign in {sum(signs)} of {len(signs)}, and ours is 0 in "
        f"{len(known) - len(signs)} more; median distance {digits(apart)} {unit}; "
        f"largest {_place(worst)}: {_pair(worst)}"
    )


def _place(row: Comparison) -> str:
    return f"at {row.number.row}, {row.number.column}"


def _pair(row: Comparison) -> str:
    unit = "" if row.number.unit == "ratio" else f" {row.number.unit}"
    return f"ours {digits(row.ours)}, {row.source} {digits(row.paper)}{unit}"


def _fastest(table: str, block: Sequence[Comparison]) -> Iterator[str]:
    """Compare the fastest algorithms of settings in which several were timed."""
    settings = list(grouped(filter(_timed, block), _setting).values())
    same = [_same_winner(rows) for rows in settings if len(rows) > 1]
    same += [row.agrees for row in block if row.name]
    if same:
        whose = "the paper's fastest algorithm"
        if block[0].source != PAPER:
            whose = "the fastest algorithm by the formulas"
        yield (
            f"{table}: in {sum(map(bool, same))} of {len(same)} settings {whose} is ours too, "
            f"or within {TIE:.0%} of it, among those that both have"
        )
    yield from _ordered(table, [rows for rows in settings if len(rows) > 2])


def _ordered(table: str, settings: Sequence[Sequence[Comparison]]) -> Iterator[str]:
    """Compare the whole order of settings in which more than two algorithms were timed."""
    apart = [_setting_name(rows) for rows in settings if not _same_order(rows)]
    if settings:
        where = f", but not at {'; '.join(dict.fromkeys(apart))}" if apart else ""
        yield (
            f"{table}: in {len(settings) - len(apart)} of {len(settings)} settings all these "
            f"algorithms come in the same order{where}"
        )


def _setting_name(rows: Sequence[Comparison]) -> str:
    """The table's row or column, whichever is not the algorithm."""
    number = rows[0].number
    return number.row if all(row.number.row == number.row for row in rows) else number.column


def _same_order(rows: Sequence[Comparison]) -> bool:
    """No two are the other way round by more than TIE."""
    by_paper = sorted(rows, key=lambda row: row.paper)
    return all(first.ours <= (1 + TIE) * second.ours for first, second in combinations(by_paper, 2))


def _same_winner(rows: Sequence[Comparison]) -> bool:
    winner = min(rows, key=lambda row: row.paper)
    return winner.ours <= (1 + TIE) * min(row.ours for row in rows)


def _by_theory(table: str, block: Sequence[Comparison]) -> Iterator[str]:
    """Compare a claim whose numbers are lost with closed forms, separately for powers of two."""
    rows = [row for row in block if row.number.value is None and row.number.unit == "ratio"]
    if rows and all(row.paper is not None for row in rows):
        groups = grouped(rows, lambda row: row.number.ranks & (row.number.ranks - 1) == 0)
        yield f"{table}, by the closed forms: " + "; ".join(
            f"processes that are {'a' if power else 'no'} power of two: {_range(part)}"
            for power, part in groups.items()
        )


def _range(rows: Sequence[Comparison]) -> str:
    values = [row.paper for row in rows]
    above = sum(value > 1 for value in values)
    return f"{min(values):.2f} to {max(values):.2f}, above 1 in {above} of {len(values)}"


def _in_the_lab(table: str, block: Sequence[Comparison]) -> Iterator[str]:
    """Measured ratios beside the paper's; times of another size say nothing beside it."""
    rows = [row for row in block if row.lab is not None and row.number.comparison == "speedup"]
    rows = [row for row in rows if row.number.algorithm != row.number.baseline]
    for name, part in grouped(rows, lambda row: row.number.algorithm).items():
        close = sum(abs(row.lab / row.paper - 1) <= CLOSE for row in part)
        middle = median(row.lab / row.paper for row in part)
        yield (
            f"{table}, {name}, speedup (measured in the lab, at its size): within {CLOSE:.0%} of "
            f"the paper in {close} of {len(part)}, median of lab / paper {middle:.2f}"
        )


def _timed(row: Comparison) -> bool:
    return row.number.comparison == "" and row.ours is not None and row.paper is not None


def _setting(row: Comparison) -> tuple[object, ...]:
    number = row.number
    return (number.collective, number.ranks, number.bytes, number.arrival, number.delay_ms,
            number.metric)  # fmt: skip


def _implied(paper: Paper, fit: Fit, table: str, block: Sequence[Comparison]) -> Iterator[str]:
    """Derive the baseline's time d s / (1 - s) from a difference d and a ratio s."""
    told, below = [], 0
    for rows in grouped(block, lambda r: (r.number.row, r.number.column)).values():
        by = {row.number.comparison: row.number for row in rows}
        if not {"difference", "speedup"} <= set(by) or by["difference"].delay_ms != 0:
            continue
        if found := _implied_range(by["difference"].value, by["speedup"].value):
            ours = _baseline(paper, fit, by["difference"])
            below += found[1] < ours
            told.append(f"{by['difference'].row} {found[0]:.3g} to {found[1]:.3g}, ours {ours:.3g}")
    if told:
        yield (
            f"{table}: the baseline's own time follows from difference and ratio at delay 0; it is "
            f"below ours in {below} of {len(told)} rows (ms): {'; '.join(told)}"
        )


def _implied_range(difference: float, speedup: float) -> tuple[float, float] | None:
    """The least and the greatest, by the rounding of both to the printed digits."""
    if abs(1 - speedup) <= 0.01 or (difference > 0) != (speedup < 1):
        return None
    found = [
        (difference + a) * (speedup + b) / (1 - speedup - b)
        for a in (-0.05, 0.05)
        for b in (-0.005, 0.005)
    ]
    return min(found), max(found)


def _baseline(paper: Paper, fit: Fit, number: Number) -> float:
    """The closed form of the baseline, in the number's unit."""
    alone = replace(number, algorithm=number.baseline, baseline="", metric=number.measure)
    return evaluate(paper, alone, formula(paper, fit)).value or 0.0


def _missing(rows: Sequence[Comparison]) -> Iterator[str]:
    for reason, count in Counter(row.reason for row in rows if row.reason).items():
        numbers = "1 number" if count == 1 else f"{count} numbers"
        yield f"{numbers} without a counterpart: {reason}"


def _doubts(rows: Sequence[Comparison]) -> Iterator[str]:
    """Numbers that are compared although their source is not clear."""
    for row in rows:
        if row.number.doubt and row.reason != row.number.doubt:
            number = row.number
            yield f"doubtful: {number.table}, {number.row}, {number.column}: {number.doubt}"
