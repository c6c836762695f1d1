"""Measures the regret of the automatic choice: jobs on the virtual network, against one algorithm.

    .venv/bin/python evidence/regret.py [--worlds random] [--seeds 0-59] [--calls 120]
        [--collective allreduce] [--assumed true|default|FACTOR] [--wisdom none|again|same|other]
        [--free] [--out FILE] [--atlas FILE]

A line for each world, then a summary (docs/regret.md). --worlds: `random`, `pathologies`, or names
of these between commas. --assumed: plans know the true costs of the network, but for its jitter, or
take the built-in ones, or the true ones times a factor, as from a wrong LATECOMER_NETWORK.
--wisdom, for random worlds: `auto` begins with what an earlier job of 120
calls has learnt: the same one again, another on the same network, or another on a network of its
own. --free: connecting, deciding, plans, prices and reviews are free. --out: each world as a line
of JSON, with the times of all algorithms. --atlas: the all-reduces of a file of the atlas of
arrivals, on a network at random for each seed, in place of --worlds.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from statistics import fmean

import numpy as np
from latecomer import Wisdom
from latecomer.atlas.file import read
from latecomer.atlas.resampled import chosen
from regret_worlds import (
    COLLECTIVES,
    NETWORKS,
    PATHOLOGIES,
    World,
    costs_of,
    pathology,
    random_world,
)

LONG = 0.3  # seconds
EARLIER = 120  # calls of the earlier job
SYNCHRONISING = ("allreduce", "allgather")  # no rank leaves before all have come
OTHER = 1000  # is added to the seed of a world for that of the earlier job


@dataclass(frozen=True)
class Regret:
    """The times of the jobs of a world, in seconds."""

    world: World
    times: dict[str, float]  # of each single algorithm
    auto: float

    @property
    def best(self) -> str:
        """The best single algorithm in hindsight."""
        return min(self.times, key=lambda name: self.times[name])

    @property
    def over_best(self) -> float:
        """The time of the job by that of the best single algorithm."""
        return self.auto / self.times[self.best]

    @property
    def over_library(self) -> float:
        """The time of the job by that of the library."""
        return self.auto / self.times["native"]

    @property
    def part_over_best(self) -> float:
        """As `over_best`, without the longest computation."""
        alone = self.world.computation
        return (self.auto - alone) / (self.times[self.best] - alone)

    @property
    def library_over_best(self) -> float:
        """The regret of a job that uses the library."""
        return self.times["native"] / self.times[self.best]

    def as_line(self) -> str:
        """For people."""
        world = self.world
        size = world.bytes if isinstance(world.bytes, int) else max(world.bytes)
        about = " ".join(str(world.about[key]) for key in ("network", "imbalance") if world.about)
        return (
            f"{world.seed:3d} {world.name:24s} P={world.ranks:2d} {size / 1024:8.0f} KiB"
            f"  auto/best {self.over_best:5.3f}  part {self.part_over_best:5.3f}"
            f"  auto/library {self.over_library:5.3f}  best {self.best}  {about}"
        )

    def as_json(self, assumed: str) -> str:
        """For programs."""
        world = self.world
        own = {name: getattr(world, name) for name in ("name", "seed", "ranks", "bytes", "costs")}
        more = {"jitter": world.jitter, "native": world.native, "calls": len(world.compute)}
        found = {"assumed": assumed, "auto": self.auto, "computation": world.computation}
        return json.dumps({**own, **more, **world.about, **found, "times": self.times})


def measure(world: World, assumed: str, wisdom: str = "none", *, free: bool = False) -> Regret:
    """Runs the jobs. `assumed`, `wisdom`: as the options."""
    times = {name: world.time(name, free=free) for name in world.singles}
    known: dict[str, str | None] = {"true": None, "default": ""}
    costs = known[assumed] if assumed in known else scaled(world.costs, float(assumed))
    begin = earlier(world, costs, wisdom)
    return Regret(world, times, world.time("auto", costs, free=free, wisdom=begin))


def earlier(world: World, assumed: str | None, wisdom: str) -> Wisdom | None:
    """What a job has learnt before that of this world."""
    if wisdom == "none":
        return None
    before = random_world(OTHER + world.seed, EARLIER)
    if wisdom == "same":
        before = replace(before, costs=world.costs)
    if wisdom == "again":
        before = random_world(world.seed, EARLIER)
        before = replace(before, seed=OTHER + world.seed, native=world.native, jitter=world.jitter)
    learnt = Wisdom()
    before.time("auto", assumed, wisdom=learnt)
    return learnt


def scaled(costs: str, factor: float) -> str:
    """These costs of a network, each of its times multiplied."""
    return re.sub(r"[0-9.e+-]+(?=[un]s)", lambda time: repr(float(time[0]) * factor), costs)


def atlas_world(file: Path, seed: int, calls: int) -> World:
    """The first all-reduces of a recorded program, with its sizes, on a network at random.

    A rank computes as long as nobody of its group was in a call, and as long as it was late.
    """
    random = np.random.default_rng(seed)
    found = chosen(read(file), "allreduce", file)
    found = found.part(np.arange(min(calls, len(found))))
    kind = str(random.choice(list(NETWORKS)))
    alpha, beta = NETWORKS[kind]
    return World(
        name=file.stem,
        seed=seed,
        costs=costs_of(alpha, beta, min(beta, 0.1e-9)),
        bytes=np.maximum(found.bytes // 4 * 4, 4).tolist(),
        compute=found.gap_s[:, None] + np.array(found.lateness_s),
        jitter=float(random.choice([0.02, 0.1, 0.25])),
        native=str(random.choice(["openmpi-4.1", "mpich-5.0"])),
        about={"network": kind, "imbalance": "as recorded"},
    )


def summary(found: list[Regret]) -> str:
    """Mean, ninth decile and worst of the ratios, as rows of a table."""
    if not found:
        return "none"
    beyond = {"the same, time beyond computation": [each.part_over_best for each in found]}
    together = all(each.world.collective in SYNCHRONISING for each in found)
    rows = {
        "auto / best single": [each.over_best for each in found],
        **(beyond if together else {}),
        "auto / library": [each.over_library for each in found],
        "library / best single": [each.library_over_best for each in found],
    }
    lines = ["| | mean | 90th percentile | worst |", "| --- | --- | --- | --- |"]
    for name, ratios in rows.items():
        high = float(np.quantile(ratios, 0.9))
        lines.append(f"| {name} | {fmean(ratios):.3f} | {high:.3f} | {max(ratios):.3f} |")
    return "\n".join(lines)


def main() -> None:
    """The lines, and the summary."""
    options = _options()
    found = []
    for world in _worlds(options):
        found.append(measure(world, options.assumed, options.wisdom, free=options.free))
        print(found[-1].as_line(), flush=True)
        if options.out is not None:
            print(found[-1].as_json(options.assumed), file=options.out, flush=True)
    about = f"assumed costs: {options.assumed}, wisdom: {options.wisdom}"
    print(f"\n{len(found)} worlds, {options.calls} calls, {about}\n")
    print(summary(found))
    long = [each for each in found if each.times[each.best] > LONG]
    print(f"\nThe {len(long)} jobs that take the best single algorithm over {LONG} s:\n")
    print(summary(long))


def _assumed(word: str) -> str:
    """The word itself. Raises argparse.ArgumentTypeError."""
    with suppress(ValueError):
        if word in ("true", "default") or 0 < float(word) < inf:
            return word
    raise argparse.ArgumentTypeError(f"'{word}'; right would be true, default, or a factor, as 300")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--worlds", default="random")
    parser.add_argument("--seeds", default="0-59", help="of random worlds; first and last")
    parser.add_argument("--calls", type=int, default=120)
    parser.add_argument("--collective", default="allreduce", choices=COLLECTIVES,
                        help="of random worlds")  # fmt: skip
    parser.add_argument("--assumed", type=_assumed, default="default",
                        help="true, default, or a factor")  # fmt: skip
    parser.add_argument("--wisdom", choices=("none", "again", "same", "other"), default="none")
    parser.add_argument("--free", action="store_true")
    parser.add_argument("--out", type=argparse.FileType("w"))
    parser.add_argument("--atlas", type=Path)
    options = parser.parse_args()
    if options.atlas and (options.worlds != "random" or options.wisdom != "none"):
        parser.error("--atlas goes without --worlds and --wisdom; leave them out")
    return options


def _worlds(options: argparse.Namespace) -> Iterator[World]:
    first, _, last = options.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    if options.atlas:
        yield from (atlas_world(options.atlas, seed, options.calls) for seed in seeds)
        return
    if options.worlds == "random":
        yield from (random_world(seed, options.calls, options.collective) for seed in seeds)
        return
    names = PATHOLOGIES if options.worlds == "pathologies" else options.worlds.split(",")
    yield from (pathology(name, seeds[0], options.calls) for name in names)


if __name__ == "__main__":
    main()
