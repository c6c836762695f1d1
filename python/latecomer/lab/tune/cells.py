"""The cells of a sweep, each a collective and the size of its message, and how one is measured.

All algorithms are measured, and then those that look best against the library once more. The best
of many medians is often the luckiest one: what is written comes from the second run, which only
confirms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...base.output import say
from ...core import registry
from ...core.compiled import core
from ..bench import job
from ..bench.benchmark import Benchmark
from ..bench.places import Place
from ..options import choose
from ..options.choices import TYPE_BYTES, BenchError
from ..results.samples import Sample
from ..results.statistics import quartiles

_TYPE = "float32"
_NATIVE = "native"
_WORTH = 0.97  # of the native time, at most
_CONFIRMED = 2  # algorithms a delay, beside native


@dataclass(frozen=True)
class Cell:
    """One job of the benchmark."""

    collective: str
    bytes: int

    @property
    def name(self) -> str:
        """As messages and the journal name it."""
        return f"{self.collective} {self.bytes} B"


@dataclass(frozen=True)
class Grid:
    """A sweep. Imbalances are in times that the message needs between two ranks."""

    collectives: Sequence[str]
    sizes: Sequence[int]  # bytes, ascending
    imbalances: Sequence[float]  # ascending
    algorithms: str | None  # a list of names, or "all"; None: see algorithms_of
    arrival: str
    estimate: str
    iterations: int
    warmup: int
    compute: float  # seconds
    seed: int

    def cells(self) -> list[Cell]:
        """All, in the order in which they are measured."""
        return [Cell(collective, size) for collective in self.collectives for size in self.sizes]

    def algorithms_of(self, collective: str) -> list[str]:
        """The algorithms to measure, `native` among them.

        None stands for `fastest`, and all rows that arrivals change. Raises OptionError and
        ValueError.
        """
        text = self.algorithms
        if text is None:
            aware = [
                row.name
                for row in registry.algorithms(collective)
                if row.name != "auto" and (row.arrival_aware or row.kind == "protocol")
            ]
            text = ",".join(["fastest", *aware])
        chosen = choose.choose_algorithms(collective, f"native,{text}", _operator(collective))
        return [name for name in chosen if name != "auto"]

    def delays(self, cell: Cell, place: Place) -> list[float]:
        """The seconds of delay for each imbalance."""
        return [imbalance * transfer_time(place, cell.bytes) for imbalance in self.imbalances]

    def benchmark(
        self, cell: Cell, place: Place, algorithms: Sequence[str], seed: int
    ) -> Benchmark:
        """The job of a cell. Raises OptionError."""
        return Benchmark(
            collective=cell.collective,
            algorithms=list(algorithms),
            count=cell.bytes // TYPE_BYTES[_TYPE],
            type=_TYPE,
            op=_operator(cell.collective),
            pattern=choose.choose_pattern(self.arrival, None),
            delays=self.delays(cell, place),
            iterations=self.iterations,
            warmup=self.warmup,
            seed=seed,
            compute=self.compute,
            estimate=self.estimate,
        ).on(place.ranks)

    def facts(self) -> dict[str, object]:
        """All that its results depend on."""
        return {**vars(self), "collectives": list(self.collectives), "sizes": list(self.sizes),
                "imbalances": list(self.imbalances)}  # fmt: skip


def transfer_time(place: Place, size: int) -> float:
    """Seconds that a message takes between two ranks, as rules count them."""
    network = core.Network(place.costs)
    return network.alpha + network.beta * size


def _operator(collective: str) -> str:
    return choose.choose_operator(collective, None)


@dataclass(frozen=True)
class Measured:
    """An algorithm at one imbalance, confirmed: times of a rank in the call, in milliseconds."""

    imbalance: float  # transfer times, from the first to the last arrival
    algorithm: str
    ratio: float  # its median over that of native
    median_ms: float
    native_ms: float
    beats: bool  # native, beyond the noise: their quartiles do not overlap


def measure(grid: Grid, cell: Cell, place: Place, deadline: float | None) -> list[Measured]:
    """The best algorithm at each imbalance, against native. Raises UserError, KeyboardInterrupt."""
    algorithms = grid.algorithms_of(cell.collective)
    first = _run(grid, cell, place, algorithms, grid.seed, deadline)
    orders = {delay: _by_median(group) for delay, group in first.items()}
    best = {delay: names[: names.index(_NATIVE)][:_CONFIRMED]  # faster than native
            for delay, names in orders.items()}  # fmt: skip
    wanted = [name for names in best.values() for name in names]
    if not wanted:
        return []
    confirmed = [_NATIVE, *dict.fromkeys(wanted)]
    second = _run(grid, cell, place, confirmed, grid.seed + 1, deadline)
    return [_judge(grid, cell, place, delay, group, best[delay]) for delay, group in second.items()]


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


def _by_median(group: dict[str, list[Sample]]) -> list[str]:
    """Names, the fastest first."""
    return sorted(group, key=lambda name: quartiles([each.elapsed for each in group[name]])[1])


def _judge(
    grid: Grid, cell: Cell, place: Place, delay: float, group: dict[str, list[Sample]],
    names: Sequence[str],
) -> Measured:  # fmt: skip
    """The first of the names that beats native; else the first, or native if there are none.

    The names are the first run's choice: one by the second would take its luck for a gain.
    """
    factor = grid.imbalances[grid.delays(cell, place).index(delay)]
    all_found = [_against_native(group, name, factor) for name in names or [_NATIVE]]
    found = next((each for each in all_found if each.beats), all_found[0])
    best, ratio = found.algorithm, found.ratio
    verdict = "written" if found.beats else "within the noise" if ratio < 1 else "native is best"
    transfer = 1e3 * transfer_time(place, cell.bytes)
    say(
        f"  {cell.name}, imbalance {factor:g} x {transfer:.3g} ms: {best} takes {ratio:.2f} of "
        f"the native {found.native_ms:.4g} ms: {verdict}"
    )
    return found


def _against_native(group: dict[str, list[Sample]], name: str, factor: float) -> Measured:
    _, median, q3 = quartiles([sample.elapsed for sample in group[name]])
    low, native, _ = quartiles([sample.elapsed for sample in group[_NATIVE]])
    ratio = median / native if native > 0 else 1.0
    beats = q3 < low and ratio <= _WORTH
    return Measured(factor, name, ratio, 1e3 * median, 1e3 * native, beats)
