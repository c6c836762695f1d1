"""Measures an MPI library's own algorithms where a rank is late: for `latecomer rules export`.

    .venv/bin/python evidence/native_algorithms.py --mpi openmpi --nodes 8 --bytes 64KiB,1MiB \\
        --imbalance 0,4 --output rules.json

Each algorithm of the library that has a counterpart of ours is forced by the library's variables,
in a job of its own, as is the library's choice; jobs take turns. Half of the rounds tell which
algorithm is fastest at each imbalance, the other half how fast it is: a rule is written where its
quartiles do not overlap those of the library's choice, and its median is at most 0.97 of it, as
`latecomer tune` does. The rules name our counterparts; `latecomer rules export` names theirs again.
"""

from __future__ import annotations

import argparse
import os
from collections import defaultdict
from pathlib import Path

from latecomer.core.compiled import core
from latecomer.lab.bench import job
from latecomer.lab.bench.places import Place, place_of
from latecomer.lab.export.counterparts import MPICH, OPENMPI, Theirs
from latecomer.lab.results.statistics import quartiles
from latecomer.lab.tune.cells import Cell, Grid
from latecomer.lab.tune.write import rules_of, write

OWN, SEGMENTS, WORTH = "native", 16, 0.97
Times = dict[tuple[float, str], list[float]]  # by imbalance and algorithm, in seconds


def forcing(library: str, cell: Cell, theirs: Theirs) -> dict[str, str]:
    """The variables that make the library take this algorithm."""
    if library == "mpich":
        return {f"MPIR_CVAR_{cell.collective.upper()}_INTRA_ALGORITHM": theirs.name}
    name = f"OMPI_MCA_coll_tuned_{cell.collective}_algorithm"
    size = cell.bytes // SEGMENTS if theirs.segmented else 0
    return {
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
        name: str(theirs.number),
        f"{name}_segmentsize": str(size),
        f"{name}_tree_fanout": str(theirs.fan),
    }


def candidates(library: str, cell: Cell) -> dict[str, dict[str, str]]:
    """The variables of each algorithm, by our name for it."""
    found: dict[str, dict[str, str]] = {OWN: {}}
    for name, theirs in (OPENMPI if library == "openmpi" else MPICH)[cell.collective].items():
        ours = f"{name}:segments={SEGMENTS}" if theirs.segmented else name
        found[ours] = forcing(library, cell, theirs)
    return found


def times_of(grid: Grid, cell: Cell, place: Place, env: dict[str, str], seed: int) -> Times:
    """One job, with the library's collective alone."""
    benchmark = grid.benchmark(cell, place, [OWN], seed)
    iterations = benchmark.job(place.ranks)
    before = dict(os.environ)
    os.environ.update(env)
    try:
        outcome = job.measure(benchmark, place, iterations, None, None)
    finally:
        os.environ.clear()
        os.environ.update(before)
    if outcome.trouble:
        raise SystemExit(f"{cell.name} with {env}: {outcome.trouble}")
    factors = dict(zip(grid.delays(cell, place), grid.imbalances, strict=True))
    found: Times = defaultdict(list)
    for sample in outcome.samples.complete():
        delay = iterations[sample.iteration].delay
        if delay in factors:
            found[factors[delay], OWN].append(sample.elapsed)
    return found


def measured(grid: Grid, cell: Cell, place: Place, library: str, rounds: int) -> list[dict]:
    """The fastest algorithm at each imbalance, as rules_of takes it."""
    halves: list[Times] = [defaultdict(list), defaultdict(list)]
    for number in range(2 * rounds):
        for name, env in candidates(library, cell).items():
            for (factor, _), times in times_of(grid, cell, place, env, number + 1).items():
                halves[number % 2][factor, name] += times
    rows = []
    for factor in grid.imbalances:
        names = [name for imbalance, name in halves[0] if imbalance == factor]
        best = min(names, key=lambda name: quartiles(halves[0][factor, name])[1])
        _, median, most = quartiles(halves[1][factor, best])
        least, native, _ = quartiles(halves[1][factor, OWN])
        ratio = median / native
        beats = best != OWN and most < least and ratio <= WORTH
        rows.append({"imbalance": factor, "algorithm": best, "ratio": ratio, "beats": beats,
                     "median_ms": 1e3 * median, "native_ms": 1e3 * native})  # fmt: skip
        print(f"{cell.name}, imbalance {factor:g}: {best} takes {ratio:.2f} of the library's "
              f"{1e3 * native:.4g} ms{'' if beats else ': no rule'}", flush=True)  # fmt: skip
    return rows


def main() -> None:
    """Measures all cells, and writes the rules."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mpi", choices=("openmpi", "mpich"), required=True)
    parser.add_argument("--nodes", type=int, default=8)
    parser.add_argument("--rate", default="200mbit")
    parser.add_argument("--collective", default="allreduce")
    parser.add_argument("--bytes", default="64KiB,1MiB")
    parser.add_argument("--imbalance", default="0,4")
    parser.add_argument("--rounds", type=int, default=2, help="in each half")
    parser.add_argument("--iterations", type=int, default=10, help="of a job")
    parser.add_argument("--output", type=Path, required=True)
    asked = parser.parse_args()
    place, spread = place_of("lab", asked.nodes, asked.rate, 1, asked.mpi, None, [])
    grid = Grid(
        collectives=asked.collective.split(","),
        sizes=sorted(core.parse_bytes("--bytes", each) for each in asked.bytes.split(",")),
        imbalances=sorted(map(float, asked.imbalance.split(","))),
        algorithms=None, arrival="onelate", estimate="perfect", iterations=asked.iterations,
        warmup=2, compute=0.02, seed=1,
    )  # fmt: skip
    cells = {
        (cell.collective, cell.bytes): measured(grid, cell, place, asked.mpi, asked.rounds)
        for cell in grid.cells()
    }
    comment = f"{asked.mpi}'s own algorithms, {place.name}"
    write(rules_of(cells, place.ranks, spread, place.costs or "", True, comment), asked.output)
    print(f"wrote {asked.output}")


if __name__ == "__main__":
    main()
