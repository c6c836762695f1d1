"""The parameters with their intervals, and sentences on where the model does not fit.

The bootstrap draws whole rounds, which hold their noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...base.units import seconds, size
from .costs import RECEIVED_FIRST, Costs, asides, costs, line
from .measured import Measured

_DRAWS = 400
_INTERVAL = (2.5, 97.5)  # percentiles: 95 %

_UNITS = {"alpha": ("us", 1e6), "beta": ("ns", 1e9), "gamma": ("ns", 1e9), "exchange": ("", 1.0)}
_SHOWN = {"us": "µs"}  # for people


@dataclass(frozen=True)
class Parameter:
    """A value with its 95 % interval, in the unit that people read it in."""

    name: str
    value: float
    low: float
    high: float
    unit: str
    how: str
    saved: bool  # is it one of the network's parameters?

    @property
    def text(self) -> str:
        """The cost as a part of the network's text."""
        return f"{self.name}={_digits(self.value)}{'' if self.unit == 'B' else self.unit}"

    def shown(self, value: float) -> str:
        """A value of it, for people."""
        return f"{_digits(value)} {_SHOWN.get(self.unit, self.unit)}".strip()


@dataclass(frozen=True)
class Fit:
    """The fitted costs."""

    measured: Measured
    costs: Costs  # seconds
    parameters: list[Parameter]

    @property
    def text(self) -> str:
        """The network, as simulate and the library read it."""
        return ",".join(each.text for each in self.parameters if each.saved)

    def aside(self, name: str) -> Parameter:
        return next(each for each in self.parameters if each.name == name)


def fit(measured: Measured, seed: int = 1) -> Fit:
    """The parameters, and their intervals by drawing rounds with replacement."""
    source = np.random.default_rng(seed)
    rounds = measured.rounds
    draws = (source.integers(rounds, size=rounds) for _ in range(_DRAWS))
    drawn = [_all(measured.drawn(draw)) for draw in draws]
    found = _all(measured)
    made = [_parameter(name, found, drawn, measured) for name in found]
    made[3:3] = [_eager(measured), _buffer(measured)]
    if (shared := measured.per_node) and shared > 1:
        how = "how the job placed them"
        made.insert(5, Parameter("per_node", shared, shared, shared, "", how, saved=True))
    return Fit(measured, costs(measured), made)


def _all(measured: Measured) -> Costs:
    found = costs(measured)
    return {**found, **asides(measured, found)}


def _parameter(name: str, found: Costs, drawn: list[Costs], measured: Measured) -> Parameter:
    unit, scale = _unit(name)
    interval = np.percentile([each[name] for each in drawn], _INTERVAL)
    value, low, high = (scale * float(each) for each in (found[name], *interval))
    how = _HOW[name].format_map(measured.header)
    if name == "exchange" and measured.header["members"] < 3:
        how = _NO_EXCHANGE
    return Parameter(name, value, low, high, unit, how, name in _SAVED)


def _unit(name: str) -> tuple[str, float]:
    if name == "burst":
        return "KiB", 1 / 1024
    if name.startswith("handshake"):
        return _UNITS["alpha"]
    if name.startswith("exchange"):
        return _UNITS["exchange"]
    return _UNITS[name.removeprefix("local_").removesuffix(" alone")]


def _eager(measured: Measured) -> Parameter:
    limit, most = measured.eager, int(measured.header["largest"])
    how = "the longest message whose send ends although nobody receives it, to the byte"
    if limit >= most:
        how += "; longer ones were not tried"
    return Parameter("eager", limit, limit, limit, "B", how, saved=True)


def _buffer(measured: Measured) -> Parameter:
    found = int(measured.header["buffer"])
    next_tried = found + (128 << 10) if found else 256 << 10
    how = "messages of at most 32 KiB whose sends are over in a quarter of the time, up to 4 MiB"
    return Parameter("buffer", found, found, next_tried, "B", how, saved=True)


def _digits(value: float) -> str:
    """Four significant ones, never in exponent form."""
    if isinstance(value, int):
        return str(value)
    return np.format_float_positional(value, 4, unique=False, fractional=False, trim="-")


_SAVED = ("alpha", "beta", "gamma", "handshake", "exchange", "local_alpha", "local_beta")
_RING = "all {members} at once, each to the next"
_LOCAL = "the ranks of each host at once, each to the next"
_HOW = {  # with the numbers of the header
    "alpha": f"{_RING}: messages up to 512 B",
    "beta": f"{_RING}: slope from 128 KiB up",
    "gamma": "MPI_Reduce_local, float sum, 64 KiB to 4 MiB, all {ranks} at once",
    "handshake": "one pair after a pause: 1 byte over the eager limit against the limit",
    "exchange": "programs send first and receive first: geometric mean of both",
    "local_alpha": f"{_LOCAL}: up to 512 B",
    "local_beta": f"{_LOCAL}: from 128 KiB up",
    "alpha alone": "one pair back and forth, the others idle",
    "gamma alone": "one rank, the others idle",
    "handshake in the ring": f"{_RING}: 1 byte over the eager limit",
    "exchange, sent first": "pairs at distance 1, 2, 4, ... both ways, against the ring; sends "
    "posted first",
    RECEIVED_FIRST: "the same, receives posted first",
    "burst": "what one pair's long messages gain after a pause",
}
_NO_EXCHANGE = "not to be told from two ranks, whose ring is an exchange"


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
            f"{seconds(1024 * found.value * fit.costs['beta'])}; it is not saved, since it "
            "depends on the pauses of your program"
        )


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
