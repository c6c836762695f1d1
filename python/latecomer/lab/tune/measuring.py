"""One cell: all algorithms, and then those that look best against the library once more.

The best of many medians is often the luckiest one. So what is written comes from the second run,
which only confirms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ...base.output import say
from ..bench import job
from ..bench.places import Place
from ..options.errors import BenchError
from ..results.samples import Sample
from ..results.statistics import quartiles
from .grid import Cell, Grid, transfer_time

_NATIVE = "native"
_WORTH = 0.97  # of the native time, at most
_CONFIRMED = 2  # algorithms a delay, beside native


@dataclass(frozen=True)
class Measured:
    """An algorithm at one imbalance, confirmed: times of a rank in the call, in milliseconds."""

    imbalance: float  # transfer times, from the first to the last arrival
    algorithm: str
    ratio: float  # its median over that of native
    median_ms: float
    native_ms: float
    beats: bool  # native, beyond the noise: their quartiles do not overlap

    def as_dict(self) -> dict[str, Any]:
        """For the journal."""
        return asdict(self)


def measure(grid: Grid, cell: Cell, place: Place, deadline: float | None) -> list[Measured]:
    """The best algorithm at each imbalance, against native. Raises UserError, KeyboardInterrupt."""
    algorithms = grid.algorithms_of(cell.collective)
    first = _run(grid, cell, place, algorithms, grid.seed, deadline)
    best = {delay: _fastest(group)[:_CONFIRMED] for delay, group in first.items()}
    wanted = [name for names in best.values() for name in names if name != _NATIVE]
    if not wanted:
        return []
    confirmed = [_NATIVE, *dict.fromkeys(wanted)]
    second = _run(grid, cell, place, confirmed, grid.seed + 1, deadline)
    return [_judge(grid, cell, place, delay, group) for delay, group in second.items()]


def _run(
    grid: Grid, cell: Cell, place: Place, names: Sequence[str], seed: int, deadline: float | None
) -> dict[float, dict[str, list[Sample]]]:
    """The samples by delay (seconds) and algorithm."""
    benchmark = grid.benchmark(cell, place, names, seed)
    iterations = benchmark.job(place.ranks)
    outcome = job.measure(benchmark, place, iterations, deadline, None)
    if outcome.code == 130:
        raise KeyboardInterrupt
    if outcome.trouble:
        raise BenchError(f"cell {cell.name}", outcome.trouble, "start again: it goes on there")
    wrong = sorted({s.algorithm for s in outcome.samples.complete() if s.wrong})
    if wrong:
        raise BenchError(f"wrong results in cell {cell.name}", ", ".join(wrong), "report this")
    groups: dict[float, dict[str, list[Sample]]] = {delay: {} for delay in benchmark.delays}
    for sample in outcome.samples.complete():
        delay = iterations[sample.iteration].delay
        if delay in groups:
            groups[delay].setdefault(sample.algorithm, []).append(sample)
    return groups


def _median(group: Sequence[Sample]) -> float:
    return quartiles([sample.elapsed for sample in group])[1]


def _fastest(group: dict[str, list[Sample]]) -> list[str]:
    """Names by their medians, up to native."""
    names = sorted(group, key=lambda name: _median(group[name]))
    return names[: names.index(_NATIVE)]


def _judge(
    grid: Grid, cell: Cell, place: Place, delay: float, group: dict[str, list[Sample]]
) -> Measured:
    names = sorted(group, key=lambda name: _median(group[name]))
    best = names[0] if names[0] != _NATIVE else names[1]
    _, median, q3 = quartiles([sample.elapsed for sample in group[best]])
    low, native, _ = quartiles([sample.elapsed for sample in group[_NATIVE]])
    ratio = median / native if native > 0 else 1.0
    factor = grid.imbalances[grid.delays(cell, place).index(delay)]
    found = Measured(
        factor, best, ratio, 1e3 * median, 1e3 * native, beats=q3 < low and ratio <= _WORTH
    )
    verdict = "written" if found.beats else "within the noise" if ratio < 1 else "native is best"
    transfer = 1e3 * transfer_time(place, cell.bytes)
    say(
        f"  {cell.name}, imbalance {factor:g} x {transfer:.3g} ms: {best} takes {ratio:.2f} of "
        f"the native {found.native_ms:.4g} ms: {verdict}"
    )
    return found
