"""Networks, sizes and cells of the scripts that compare algorithms without lateness."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "python")]

from latecomer.core.compiled import core  # noqa: E402

ELEMENT = 8  # bytes, float64
LEAST_BYTES, MOST_BYTES = 8, 1 << 24


@dataclass(frozen=True)
class Network:
    """Costs of a network: seconds, seconds a byte."""

    title: str
    alpha: float
    beta: float
    gamma: float

    @property
    def text(self) -> str:
        """The network as the core reads it."""
        return f"alpha={self.alpha!r}s,beta={self.beta!r}s,gamma={self.gamma!r}s"


NETWORKS = (
    Network("1 Gbit/s", 50e-6, 8e-9, 0.1e-9),
    Network("28 Gbit/s", 3e-6, 0.2857e-9, 0.05e-9),
)


def sizes(factor: int) -> list[int]:
    """Bytes of the vectors: 8 B, times `factor` again and again, and 16 MiB."""
    found = [LEAST_BYTES]
    while found[-1] * factor < MOST_BYTES:
        found.append(found[-1] * factor)
    return [*found, MOST_BYTES]


@dataclass(frozen=True)
class Cell:
    """One all-reduce with all ranks arriving together."""

    network: Network
    ranks: int
    bytes: int

    @property
    def count(self) -> int:
        """Elements of the vector."""
        return self.bytes // ELEMENT

    def plan(self, algorithm: str, exact: bool = True) -> core.Plan:
        """`exact`: the operator gives the same bits in whatever order it combines."""
        problem = core.Problem(
            "allreduce", ranks=self.ranks, count=self.count, element_bytes=ELEMENT, exact=exact
        )
        return core.Plan(problem, algorithm, network=core.Network(self.network.text))

    def __str__(self) -> str:
        return f"P={self.ranks}, {bytes_text(self.bytes)}, {self.network.title}"


def seconds(plan: core.Plan) -> float:
    """Until the last rank leaves, on the virtual network."""
    return max(plan.simulate()["exits"])


def bytes_text(size: int) -> str:
    """8 B, 64 KiB, 4 MiB."""
    for unit, power in (("MiB", 20), ("KiB", 10)):
        if size >= 1 << power:
            return f"{size >> power} {unit}"
    return f"{size} B"


def cells(ranks: list[int], factor: int) -> Iterator[Cell]:
    """All of them, network by network."""
    for network in NETWORKS:
        for number in ranks:
            for size in sizes(factor):
                yield Cell(network, number, size)
