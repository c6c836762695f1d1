"""The cells of a sweep: a collective, and the size of its message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...core import registry
from ...core.compiled import core
from ..bench.benchmark import Benchmark
from ..bench.places import Place
from ..options import choose
from ..options.choices import TYPE_BYTES

_TYPE = "float32"


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
            edge=0.5,
            estimate=self.estimate,
            progress="as-configured",
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
