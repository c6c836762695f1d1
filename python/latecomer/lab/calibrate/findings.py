"""Sentences on the places where the model does not fit the measured times."""

from __future__ import annotations

from collections.abc import Iterator

from ...base.units import seconds, size
from .costs import RECEIVED_FIRST, line
from .fit import Fit

_CLOSE = 0.15  # a model that misses by less is called fitting
_FEW_ROUNDS = 5
_FREE = 16.0  # KiB; less is not called a burst
_CROWDED = 1.5
_SLOWER = 1.05


def findings(fit: Fit) -> list[str]:
    """The sentences, for people."""
    return [*_fits(fit), *_crowding(fit), *_burst(fit), *_exchange(fit), *_doubts(fit)]


def _fits(fit: Fit) -> Iterator[str]:
    ring = fit.measured.curves["ring"]
    model = line(fit.costs, fit.measured.eager, ring.sizes)
    ratios = model / ring.medians
    worst = int(abs(ratios - 1).argmax())
    text = f"its line is {_off(ratios[worst])} the measured ring at {size(ring.sizes[worst])}"
    fits = abs(ratios[worst] - 1) <= _CLOSE
    yield f"the model fits: {text}, and closer elsewhere" if fits else f"the model misses: {text}"


def _off(ratio: float) -> str:
    return f"{abs(ratio - 1):.0%} {'above' if ratio > 1 else 'below'}"


def _crowding(fit: Fit) -> Iterator[str]:
    crowd, alone = fit.aside("alpha"), fit.aside("alpha alone")
    if crowd.value > _CROWDED * alone.value:
        yield (
            f"{fit.measured.header['ranks']} ranks share {fit.measured.header['cores']} cores or "
            f"links: a start-up takes {crowd.shown(crowd.value)} when all send at once, "
            f"{alone.shown(alone.value)} when one pair does; alpha holds for this number of "
            "ranks only"
        )


def _burst(fit: Fit) -> Iterator[str]:
    found = fit.aside("burst")
    if found.low > _FREE:
        yield (
            f"after a pause a link passes about {found.shown(found.value)} at once, as through a "
            "token bucket, so short transfers after a pause are faster than the line, by up to "
            f"{seconds(_gain(fit))}; it is not saved, since it depends on the pauses of your "
            "program"
        )


def _gain(fit: Fit) -> float:
    return 1024 * fit.aside("burst").value * fit.costs["beta"]


def _exchange(fit: Fit) -> Iterator[str]:
    for name, words in (
        ("exchange, sent first", ""),
        (RECEIVED_FIRST, " if both post the receive first"),
    ):
        found = fit.aside(name)
        if found.low > _SLOWER:
            yield (
                f"two ranks that send each other a long message take {found.value:.3g} times as "
                f"long as ranks in a ring{words}"
            )


def _doubts(fit: Fit) -> Iterator[str]:
    if fit.measured.rounds < _FEW_ROUNDS:
        yield f"only {fit.measured.rounds} rounds: the intervals say little; allow more --budget"
    if fit.measured.per_node is None:
        yield (
            "the ranks of a host are not consecutive or not equally many, which the model needs: "
            "the saved network has one rank on each host"
        )
