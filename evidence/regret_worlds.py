"""Worlds of the regret test: a network, a job and a library, all drawn from a seed.

A world says what calls take and how long ranks compute before them. `random_world` draws one from
all that is usual; PATHOLOGIES are those in which an earlier automatic choice went wrong, by the
paragraphs of docs/decisions/0013-forecast.md and 0016-selection.md, as they once were.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from latecomer import JobCosts, Wisdom, algorithms, rehearse_job
from numpy.random import Generator
from numpy.typing import NDArray

Times = NDArray[np.float64]  # shape (calls, ranks)

# Start-up, seconds a byte: hosts of the emulated cluster, two Ethernets, two fast networks.
NETWORKS = {
    "emulated": (80e-6, 40e-9),
    "ethernet": (35e-6, 8e-9),
    "ethernet10": (14e-6, 0.9e-9),
    "infiniband": (2e-6, 0.1e-9),
    "fast": (1.5e-6, 0.04e-9),
}
COLLECTIVES = ("allreduce", "allgather", "bcast", "gather", "reduce", "scatter")
SINGLES = (
    "native",
    "fastest",
    "ring",
    "early_owners",
    "online_owners",
    "prereduced_circulant",
    "prereduced_ring",
    "sorted_linear_tree",
)


@dataclass(frozen=True)
class World:
    """A job and all that it meets. `costs`: of the network, but for its jitter."""

    name: str
    seed: int
    costs: str
    bytes: int | list[int]  # of each call, if they differ
    compute: Times
    jitter: float = 0.0
    native: str = "openmpi-4.1"
    collective: str = "allreduce"
    placement: list[int] | None = None
    slowdown: Sequence[float] | None = None
    library_slowdown: Sequence[float] | None = None
    cold: float = 1.0
    singles: Sequence[str] = SINGLES
    about: dict[str, str | float] = field(default_factory=dict)

    @property
    def ranks(self) -> int:
        """Those of the job."""
        return int(self.compute.shape[1])

    @property
    def computation(self) -> float:
        """The longest computation of a rank: the time of a job whose calls take none."""
        return float(self.compute.sum(axis=0).max())

    def time(
        self,
        algorithm: str,
        assumed: str | None = None,
        *,
        free: bool = False,
        wisdom: Wisdom | None = None,
    ) -> float:
        """The time of the job until its last exit.

        `assumed`: None: plans know the network. `free`: what finding out costs is not charged.
        `wisdom`: of earlier jobs; then it is this one's, too.
        """
        count = self.bytes // 4 if isinstance(self.bytes, int) else [b // 4 for b in self.bytes]
        calls = rehearse_job(
            algorithm,
            self.compute,
            count=count,
            network=f"{self.costs},jitter={self.jitter}",
            assumed=self.costs if assumed is None else assumed,
            native=self.native,
            collective=self.collective,
            seed=1 + 1000 * self.seed,
            placement=self.placement,
            slowdown=self.slowdown,
            library_slowdown=self.library_slowdown,
            cold=self.cold,
            finding_out=None if free else JobCosts(),
            wisdom=wisdom,
        )
        return float(calls[-1].exits.max())


# --- Imbalance: seconds of computation beyond those of all, `late` about as large ---

Imbalance = Callable[[Generator, int, int, float], Times]


def _nobody(_: Generator, calls: int, ranks: int, _late: float) -> Times:
    return np.zeros((calls, ranks))


def _one(random: Generator, calls: int, ranks: int, late: float) -> Times:
    return _at(np.full(calls, random.integers(ranks)), ranks, late)


def _anyone(random: Generator, calls: int, ranks: int, late: float) -> Times:
    return _at(random.integers(ranks, size=calls), ranks, late)


def _two_in_turn(random: Generator, calls: int, ranks: int, late: float) -> Times:
    pair = random.choice(ranks, size=2, replace=False)
    return _at(pair[np.arange(calls) % 2], ranks, late)


def _next_one(random: Generator, calls: int, ranks: int, late: float) -> Times:
    return _at((random.integers(ranks) + np.arange(calls)) % ranks, ranks, late)


def _another_at_times(random: Generator, calls: int, ranks: int, late: float) -> Times:
    who = random.integers(ranks, size=1 + calls // 30)
    return _at(who[np.arange(calls) // 30], ranks, late)


def _every_few_calls(random: Generator, calls: int, ranks: int, late: float) -> Times:
    extra = _one(random, calls, ranks, late)
    extra[np.arange(calls) % random.integers(3, 9) != 0] = 0
    return extra


def _half(random: Generator, calls: int, ranks: int, late: float) -> Times:
    extra = np.zeros((calls, ranks))
    extra[:, random.permutation(ranks)[: ranks // 2]] = late
    return extra


def _staircase(random: Generator, calls: int, ranks: int, late: float) -> Times:
    steps = random.permutation(ranks) * late / (ranks - 1)
    return np.tile(steps, (calls, 1))


def _uniform(random: Generator, calls: int, ranks: int, late: float) -> Times:
    return late * random.random((calls, ranks))


def _exponential(random: Generator, calls: int, ranks: int, late: float) -> Times:
    return random.exponential(late / 2, (calls, ranks))


def _heavy_tail(random: Generator, calls: int, ranks: int, late: float) -> Times:
    return np.minimum(20.0, random.pareto(1.5, (calls, ranks))) * late / 3


def _rare(random: Generator, calls: int, ranks: int, late: float) -> Times:
    return _exponential(random, calls, ranks, 4 * late) * (random.random((calls, ranks)) < 0.02)


def _drift(random: Generator, calls: int, ranks: int, late: float) -> Times:
    """Each rank wanders slowly."""
    steps = random.normal(0, 0.1 * late, (calls, ranks))
    steps[0] += late * random.random(ranks)
    return np.abs(np.cumsum(steps, axis=0))


IMBALANCES: dict[str, Imbalance] = {
    "nobody": _nobody,
    "one": _one,
    "anyone": _anyone,
    "two in turn": _two_in_turn,
    "the next one": _next_one,
    "another at times": _another_at_times,
    "every few calls": _every_few_calls,
    "half": _half,
    "staircase": _staircase,
    "uniform": _uniform,
    "exponential": _exponential,
    "heavy tail": _heavy_tail,
    "rare": _rare,
    "drift": _drift,
}


def _at(who: NDArray[np.int_], ranks: int, late: float) -> Times:
    extra = np.zeros((len(who), ranks))
    extra[np.arange(len(who)), who] = late
    return extra


def costs_of(alpha: float, beta: float, gamma: float, exchange: float = 1.0) -> str:
    own = f"alpha={1e6 * alpha:.4g}us,beta={1e9 * beta:.4g}ns,gamma={1e9 * gamma:.4g}ns"
    return f"{own},exchange={exchange}"


def _base(random: Generator, calls: int, ranks: int, seconds: float) -> Times:
    """Equal work, with a noise of a hundredth."""
    return seconds * np.maximum(0.5, 1 + 0.01 * random.standard_normal((calls, ranks)))


def random_world(seed: int, calls: int, collective: str = "allreduce") -> World:
    """A network, a size, an imbalance and a library at random. Root: rank 0."""
    random = np.random.default_rng(seed)
    ranks = int(random.choice([4, 5, 6, 8, 12, 16, 24, 32]))
    size = int(2 ** random.uniform(15, 24)) // 4 * 4
    kind = str(random.choice(list(NETWORKS)))
    alpha, beta = (cost * 2 ** random.uniform(-0.6, 0.6) for cost in NETWORKS[kind])
    gamma = min(beta, 0.1e-9 * 2 ** random.uniform(-1, 1))
    exchange = float(random.choice([1, 1, 1.3, 1.6]))
    call = 2 * size * beta + 2 * math.log2(ranks) * alpha  # about
    imbalance = str(random.choice(list(IMBALANCES)))
    late = call * 2 ** random.uniform(-2, 3)
    compute = _base(random, calls, ranks, call * 2 ** random.uniform(-1, 3))
    return World(
        name="random",
        seed=seed,
        costs=costs_of(alpha, beta, gamma, exchange),
        bytes=size,
        compute=compute + IMBALANCES[imbalance](random, calls, ranks, late),
        jitter=float(random.choice([0.02, 0.1, 0.25])),
        native=str(random.choice(["openmpi-4.1", "mpich-5.0"])),
        collective=collective,
        singles=SINGLES if collective == "allreduce" else _all_singles(collective),
        about={"network": kind, "imbalance": imbalance, "late": late / call},
    )


def _all_singles(collective: str) -> list[str]:
    """All algorithms that need no placement of the ranks."""
    names = [each.name for each in algorithms(collective)]
    return [name for name in names if name not in ("auto", "nodes")]


# --- Pathologies ---

Pathology = Callable[[int, int], World]
SHORT = 20  # times as many calls, where calls are too short for the others to be worth a look
ETHERNET = (50e-6, 8e-9, 0.1e-9)


def _usual(
    seed: int, calls: int, imbalance: str = "nobody", *, ranks: int = 8, late: float = 1.0
) -> tuple[World, Generator]:
    """Half a MiB on an Ethernet; ranks compute as long as a call takes. `late`: in calls."""
    random = np.random.default_rng(seed)
    size = 1 << 19
    call = 2 * size * ETHERNET[1]
    compute = _base(random, calls, ranks, call)
    compute = compute + IMBALANCES[imbalance](random, calls, ranks, late * call)
    return World("", seed, costs_of(*ETHERNET), size, compute, jitter=0.1), random


def _disturbed_start(seed: int, calls: int) -> World:
    """Other programs make the first 20 calls longer; the library, seen only then, is the best."""
    world, random = _usual(seed, calls)
    slow = np.ones(calls)
    slow[:20] = 1 + 9 * random.random(slow[:20].size)
    return replace(world, slowdown=slow.tolist(), library_slowdown=[0.6] * calls)


def _cold_first_calls(seed: int, calls: int) -> World:
    """The first call takes 35 times as long, and each after another algorithm's twice."""
    world, _ = _usual(seed, calls)
    slow = np.ones(calls)
    slow[0] = 35
    return replace(world, slowdown=slow.tolist(), library_slowdown=[0.6] * calls, cold=2.0)


def _hiccups(seed: int, calls: int) -> World:
    """One of 30 calls takes 20 times as long, whoever executes it."""
    world, random = _usual(seed, calls, "one")
    slow = np.where(random.random(calls) < 1 / 30, 20.0, 1.0)
    return replace(world, slowdown=slow.tolist())


def _lengths_never_repeat(seed: int, calls: int) -> World:
    """From a quarter of a MiB to 4 MiB, another one each time."""
    world, random = _usual(seed, calls, "one")
    lengths = 4 * (2 ** random.uniform(16, 20, calls)).astype(int)
    return replace(world, bytes=lengths.tolist())


def _lengths_in_turn(seed: int, calls: int) -> World:
    """A loop over 18 lengths, one rank late: the last ones were never forecast."""
    world, _ = _usual(seed, calls, "one")
    lengths = [4 * int(2 ** (15 + 4 * (call % 18) / 18)) for call in range(calls)]
    return replace(world, bytes=lengths)


def _late_rank_begins(seed: int, calls: int) -> World:
    """After a third of the job."""
    world, _ = _usual(seed, calls, "one", late=2)
    calm, _ = _usual(seed, calls, "nobody")
    compute = world.compute.copy()
    compute[: calls // 3] = calm.compute[: calls // 3]
    return replace(world, compute=compute)


def _late_rank_alternates(seed: int, calls: int) -> World:
    return _usual(seed, calls, "two in turn", late=2)[0]


def _late_rank_moves(seed: int, calls: int) -> World:
    return _usual(seed, calls, "the next one", late=2)[0]


def _shared_cores(seed: int, calls: int) -> World:
    """16 ranks on few cores: all durations are longer, by another factor in each call."""
    world, random = _usual(seed, calls, "exponential", ranks=16)
    slow = 4 * random.lognormal(0, 0.6, calls)
    return replace(world, slowdown=slow.tolist(), jitter=1.0)


def _waits_follow(seed: int, calls: int) -> World:
    """Call upon call: a rank that leaves early waits in the next one."""
    random = np.random.default_rng(seed)
    return _one_node(seed, 1 << 16, 5e-6 * random.random((SHORT * calls, 4)))


def _library_becomes_faster(seed: int, calls: int) -> World:
    """It takes twice our time at first, and half of it after a third of the job."""
    world, _ = _usual(seed, calls)
    pace = np.where(np.arange(calls) < calls // 3, 2.0, 0.5)
    return replace(world, library_slowdown=pace.tolist())


def _spread_exits(seed: int, calls: int) -> World:
    """One slow host of 16: a small mean exit, but the rank that matters leaves late."""
    random = np.random.default_rng(seed)
    size = 582312
    compute = _base(random, calls, 16, 40e-3) + _one(random, calls, 16, 30e-3)
    return World("", seed, costs_of(200e-6, 42e-9, 0.2e-9, 1.27), size, compute, jitter=0.25)


def _wrong_exchange(seed: int, calls: int) -> World:
    """Programs whose ranks send each other messages take 1.6 times their price."""
    world, _ = _usual(seed, calls, "uniform", ranks=4, late=2)
    return replace(world, costs=costs_of(*ETHERNET, 1.6), bytes=1 << 20)


def _far_apart(seed: int, calls: int) -> World:
    """Short calls after one rank that is late by far: exchanges and looks took half of the time."""
    world, _ = _usual(seed, calls, "one", ranks=16, late=30)
    return replace(world, bytes=1 << 16)


def _short_on_one_node(seed: int, calls: int) -> World:
    """16 KiB among 4 ranks, one of them late by half the call."""
    random = np.random.default_rng(seed)
    calls *= SHORT
    compute = _base(random, calls, 4, 20e-6) + _one(random, calls, 4, 10e-6)
    return _one_node(seed, 1 << 14, compute)


def _disturbed_later(seed: int, calls: int) -> World:
    """Other programs displace the ranks in the second quarter of the job, by up to 100 times."""
    random = np.random.default_rng(seed)
    calls *= SHORT
    slow = np.ones(calls)
    begin, end = calls // 4, calls // 2
    slow[begin:end] = np.where(random.random(end - begin) < 0.3, 10 ** (1 + random.random()), 1)
    world = _one_node(seed, 1 << 14, _base(random, calls, 4, 20e-6))
    return replace(world, slowdown=slow.tolist())


def _one_node(seed: int, size: int, compute: Times) -> World:
    """Ranks that share a node, where its memory is faster than the library."""
    costs = costs_of(*ETHERNET) + ",local_alpha=3us,local_beta=0.3ns,memory=0.05ns"
    placement = [0] * compute.shape[1]
    singles = ("native", "fastest", "ring", "nodes")
    return World("", seed, costs, size, compute, placement=placement, singles=singles, jitter=0.1)


def _broadcasts(seed: int, calls: int) -> World:
    """Long ones, which the library executes best: looking at them made ranks wait."""
    world, _ = _usual(seed, calls, "exponential", ranks=4)
    singles = ("native", "fastest", "arrival_nb")
    return replace(world, collective="bcast", singles=singles, library_slowdown=[0.9] * calls)


def _broadcasts_overlap(seed: int, calls: int) -> World:
    """Anyone is late by ten calls' time: exchanges of arrivals took the lead of the others."""
    return _overlap(seed, calls, "bcast")


def _reduces_overlap(seed: int, calls: int) -> World:
    return _overlap(seed, calls, "reduce")


def _late_rank_stays(seed: int, calls: int) -> World:
    """For ten calls, then another one. Links buffer what it sends, so it leaves a tree at once."""
    random = np.random.default_rng(seed)
    late = _at(np.arange(calls) // 10 % 8, 8, 45e-3)
    costs = costs_of(150e-6, 42e-9, 0.2e-9, 1.27) + ",buffer=1MiB"
    return World("", seed, costs, 1 << 19, _base(random, calls, 8, 15e-3) + late, jitter=0.1)


def _overlap(seed: int, calls: int, collective: str) -> World:
    random = np.random.default_rng(seed)
    compute = np.full((calls, 8), 1e-3) + _anyone(random, calls, 8, 19e-3)
    costs = costs_of(20e-6, 1e-9, 0.1e-9)
    singles = _all_singles(collective)
    return World("", seed, costs, 1 << 20, compute, collective=collective, singles=singles)


def _first_rank_often_late(seed: int, calls: int) -> World:
    """In half of the calls, else anyone: rank 0 led algorithms that need no forecast."""
    random = np.random.default_rng(seed)
    size, ranks = 1 << 22, 8
    late = np.where(random.random(calls) < 0.5, 0, random.integers(0, ranks, calls))
    compute = _base(random, calls, ranks, 0.01) + _at(late, ranks, 0.5)
    return World("", seed, costs_of(120e-6, 42e-9, 0.15e-9, 1.35), size, compute, jitter=0.05)


PATHOLOGIES: dict[str, Pathology] = {
    "disturbed start": _disturbed_start,
    "cold first calls": _cold_first_calls,
    "hiccups": _hiccups,
    "lengths never repeat": _lengths_never_repeat,
    "lengths in turn": _lengths_in_turn,
    "late rank begins": _late_rank_begins,
    "late rank alternates": _late_rank_alternates,
    "late rank moves": _late_rank_moves,
    "shared cores": _shared_cores,
    "waits follow each other": _waits_follow,
    "library becomes faster": _library_becomes_faster,
    "spread exits": _spread_exits,
    "wrong exchange": _wrong_exchange,
    "far apart": _far_apart,
    "short on one node": _short_on_one_node,
    "disturbed later": _disturbed_later,
    "broadcasts": _broadcasts,
    "first rank often late": _first_rank_often_late,
    "broadcasts overlap": _broadcasts_overlap,
    "reduces overlap": _reduces_overlap,
    "late rank stays": _late_rank_stays,
}


def pathology(name: str, seed: int, calls: int) -> World:
    """The world of this name."""
    return replace(PATHOLOGIES[name](seed, calls), name=name)
