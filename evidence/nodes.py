"""Measures ranks that share nodes beside the MPI libraries (docs/nodes.md).

    .venv/bin/python evidence/nodes.py --table lab|random|han|local|local-late|alone|simulated
        [--mpi openmpi|mpich] [--shape 4x4] [--sizes 1KiB,64KiB,...]

Prints a Markdown table; all times count from the last arrival to the last exit and are medians, in
ms unless a column says otherwise.

lab: all-reduces in the emulated cluster, together and with one rank late by 300 ms.
random: 4 MiB, arrivals within 700 ms at random, beside our balanced rows among the nodes.
han: the library's own collective alone, with Open MPI's collectives for nodes (HAN).
local: ranks of this machine, together, in blocks of calls. local-late: one late by half a call,
each call timed alone.
alone: hosts of one rank, with LATECOMER_NODES as it is and off.
simulated: the virtual network, beside a program in three phases (HAN-like).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from latecomer.core.compiled import core
from latecomer.launch import mpi
from scale import MIB, after_last, planned

ROOT = Path(__file__).resolve().parent.parent
KIB = 1 << 10
SIZES = ("1KiB", "16KiB", "64KiB", "256KiB", "1MiB", "4MiB", "16MiB")
# Before each call the links of the lab rest until their bursts are full again, whoever used them.
REST = ("--compute", "40ms")
BALANCED = "generalized,rabenseifner,recursive_doubling,ring"  # among the nodes


def bench(where: list[str], algorithms: str, size: str, options: argparse.Namespace, *words: str,
          **variables: str) -> dict[str, float]:  # fmt: skip
    """The time after the last arrival in ms of each algorithm."""
    command = [str(ROOT / "latecomer"), "bench", *where, "--bytes", size, "--mpi", options.mpi,
               "--algorithms", algorithms, "--estimate", "online", "--json", *words]  # fmt: skip
    done = subprocess.run(
        command, env=os.environ | variables, check=True, timeout=1800, stdout=subprocess.PIPE
    )
    found = json.loads(done.stdout)
    wrong = sum(row["wrong"] for row in found["rows"])
    if wrong:
        raise SystemExit(f"{wrong} wrong elements: {' '.join(command)}")
    asked = algorithms.split(",")
    last = found["rows"][-len(asked) :]  # of the longest delay
    return {name: row["after_last_ms"] for name, row in zip(asked, last, strict=True)}


def hosts(options: argparse.Namespace) -> list[str]:
    nodes, per_node = options.shape.split("x")
    return ["--place", "lab", "--nodes", nodes, "--per-node", per_node]


def iterations(size: str, late: bool = False) -> str:
    """So many that a cell takes up to half a minute."""
    longest = {"16MiB": 5, "4MiB": 10, "1MiB": 16}
    return str(min(longest.get(size, 30), 10 if late else 30))


def lab(options: argparse.Namespace) -> Iterator[str]:
    rows = [row for row in options.rows.split(",") if row not in ("native", "auto")]
    names = " | ".join(f"`{row}`" for row in rows)
    yield f"| {label(options)} | arrivals | library | {names} | `auto` | `auto` / library |"
    yield "| --- " * (5 + len(rows)) + "|"
    for size in options.sizes:
        for arrivals, delay in (("together", "0"), ("one late by 300 ms", "300ms")):
            if options.arrivals not in (None, arrivals.split()[0]):
                continue
            found = bench(hosts(options), ",".join(["native", *rows, "auto"]), size, options,
                          "--delay", delay, *REST, "--iterations",
                          options.iterations or iterations(size, delay != "0"))  # fmt: skip
            ours = " | ".join(f"{found[row]:.2f}" for row in rows)
            yield (f"| {size} | {arrivals} | {found['native']:.2f} | {ours} "
                   f"| {found['auto']:.2f} | {found['auto'] / found['native']:.2f} |")  # fmt: skip


def random_arrivals(options: argparse.Namespace) -> Iterator[str]:
    balanced = [f"nodes:among={name}" for name in options.balanced.split(",")]
    rows = ["native", *balanced, "nodes", "online_nodes", "auto"]
    yield f"| {label(options)}, 4 MiB, random | after the last arrival |"
    yield "| --- | --- |"
    found = bench(hosts(options), ",".join(rows), "4MiB", options, "--arrivals", "randlate",
                  "--delay", "700ms", *REST, "--iterations",
                  options.iterations or "12")  # fmt: skip
    for name, took in found.items():
        yield f"| `{name}` | {took:.1f} |"


def han(options: argparse.Namespace) -> Iterator[str]:
    yield f"| {label(options)} | arrivals | default | HAN |"
    yield "| --- " * 4 + "|"
    for size in options.sizes:
        for arrivals, delay in (("together", "0"), ("one late by 300 ms", "300ms")):
            words = ["--delay", delay, *REST, "--iterations",
                     iterations(size, delay != "0")]  # fmt: skip
            plain = bench(hosts(options), "native", size, options, *words)
            by_node = bench(hosts(options), "native", size, options, *words,
                            OMPI_MCA_coll_han_priority="100")  # fmt: skip
            yield f"| {size} | {arrivals} | {plain['native']:.2f} | {by_node['native']:.2f} |"


def label(options: argparse.Namespace) -> str:
    return f"{options.mpi}, {options.shape} ranks"


# ---- this machine


def blocks(options: argparse.Namespace, ranks: int, size: str, algorithm: str,
           late_us: float = 0) -> tuple[float, ...]:  # fmt: skip
    """Microseconds a call: the library's, ours; blocks of calls in turns on fresh communicators."""
    library = mpi.family(options.mpi)
    program = str(ROOT / "build" / "release" / f"latecomer_overhead_{library.name}")
    words = [program, "--bytes", str(core.parse_bytes("--sizes", size)), "--algorithm", algorithm,
             "--communicators", "6", "--pairs", options.iterations or "40",
             "--late", f"{late_us * 1e-6}"]  # fmt: skip
    launch = mpi.launch_command(library, ranks, words, allow_root=True)
    done = subprocess.run(
        launch.command, env=launch.env, check=True, timeout=900, stdout=subprocess.PIPE
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return tuple(float(np.median([row[name] for row in rows])) for name in ("plain_us", "ours_us"))


def local(options: argparse.Namespace) -> Iterator[str]:
    for ranks in options.ranks:
        yield f"| {options.mpi}, {ranks} ranks, us | library | `nodes` | `auto` | of library |"
        yield "| --- " * 5 + "|"
        for size in options.sizes:
            library, nodes = blocks(options, ranks, size, "nodes")
            plain, auto = blocks(options, ranks, size, "auto")
            yield (f"| {size} | {library:.2f}, {plain:.2f} | {nodes:.2f} | {auto:.2f} "
                   f"| {nodes / library:.2f}, {auto / plain:.2f} |")  # fmt: skip


def local_late(options: argparse.Namespace) -> Iterator[str]:
    for ranks in options.ranks:
        yield (f"| {options.mpi}, {ranks} ranks, us | late by | library | `nodes` | `auto` "
               "| of library |")  # fmt: skip
        yield "| --- " * 6 + "|"
        for size in options.sizes:
            late = round(blocks(options, ranks, size, "native")[0] / 2, 1)
            library, nodes = blocks(options, ranks, size, "nodes", late)
            plain, auto = blocks(options, ranks, size, "auto", late)
            yield (f"| {size} | {late} | {library:.2f}, {plain:.2f} | {nodes:.2f} | {auto:.2f} "
                   f"| {nodes / library:.2f}, {auto / plain:.2f} |")  # fmt: skip


def alone(options: argparse.Namespace) -> Iterator[str]:
    nodes = options.shape.split("x")[0]
    yield f"| {options.mpi}, {nodes} hosts of one rank | row | as it is | LATECOMER_NODES=off |"
    yield "| --- " * 4 + "|"
    for size in options.sizes:
        words = ["--delay", "0", *REST, "--iterations", iterations(size)]
        where = ["--place", "lab", "--nodes", nodes]
        rows = "native,fastest,auto"
        usual = bench(where, rows, size, options, *words)
        off = bench(where, rows, size, options, *words, LATECOMER_NODES="off")
        for name in rows.split(","):
            yield f"| {size} | `{name}` | {usual[name]:.2f} | {off[name]:.2f} |"


# ---- the virtual network

NETWORKS = {
    "1 Gbit/s": "alpha=50us,beta=8ns,gamma=0.1ns,local_beta=0.1ns,local_alpha=0.2us,memory=0.01ns",
    "100 Gbit/s": "alpha=3us,beta=0.08ns,gamma=0.1ns,local_beta=0.1ns,local_alpha=0.2us,"
                  "memory=0.01ns",
}  # fmt: skip
CELLS = {
    "1 Gbit/s": [((4, 4), 64 * KIB), ((4, 4), MIB), ((4, 4), 16 * MIB), ((8, 2), 16 * MIB),
                 ((16, 8), 16 * MIB), ((64, 48), 64 * KIB), ((64, 48), MIB), ((64, 48), 16 * MIB)],
    "100 Gbit/s": [((4, 4), 64 * KIB), ((4, 4), MIB), ((4, 4), 16 * MIB), ((8, 2), 16 * MIB),
                   ((16, 8), MIB), ((16, 8), 16 * MIB), ((64, 48), 64 * KIB), ((64, 48), MIB),
                   ((64, 48), 16 * MIB), ((1, 48), MIB)],
}  # fmt: skip


def among(nodes: int, size: int, network: str) -> float:
    """The best balanced program among nodes that are ranks, seconds."""
    if nodes == 1:
        return 0.0
    still = [0.0] * nodes
    return after_last(planned("fastest", max(4, size // 4 * 4), network, still, 1), still)


def three_phases(nodes: int, per_node: int, size: int, network: str, late: bool) -> float:
    """Reduce in each node, all-reduce among nodes, broadcast in each node; the best pipeline."""
    costs = core.Network(network)
    beta, memory, flag = 0.1e-9, 0.01e-9, float(costs.local_alpha)

    def stages(part: float) -> tuple[float, float]:
        shared = max(part * beta, per_node * part * memory)
        reduced = (part * beta if late else shared) + shared + 2 * flag
        return reduced, part * beta + shared + 2 * flag

    best = float("inf")
    for parts in (1, 2, 4, 8, 16, 32, 64, 128):
        part = size / parts
        if part < 8192 and parts > 1:
            break
        reduced, told = stages(part)
        between = among(nodes, int(part), network)
        best = min(best, reduced + between + told + (parts - 1) * max(between, reduced + told))
    return best


def simulated(options: argparse.Namespace) -> Iterator[str]:
    yield ("| network | nodes x ranks | vector | HAN-like, together | one late | `nodes`, together "
           "| one late | random | slowest of HAN-like |")  # fmt: skip
    yield "| --- " * 9 + "|"
    for name, cells in CELLS.items():
        network = NETWORKS[name]
        for (nodes, per_node), size in cells:
            if options.shape not in ("all", f"{nodes}x{per_node}"):
                continue
            yield _simulated_cell(name, network, nodes, per_node, size)


def _simulated_cell(name: str, network: str, nodes: int, per_node: int, size: int) -> str:
    ranks = nodes * per_node
    whole = size * float(core.Network(network).beta) if nodes > 1 else 0.0
    start_ups = (nodes - 1).bit_length() * float(core.Network(network).alpha)
    unit = max(whole, start_ups, per_node * size * 0.01e-9)
    late = [0.0] * ranks
    late[(nodes // 2) * per_node + per_node // 2] = 4 * unit + 1e-4
    draw = random.Random(1)
    spread = [[draw.uniform(0, 4 * unit) for _ in range(ranks)] for _ in range(3)]

    def took(arrivals: list[float]) -> float:
        return after_last(planned("auto", size, network, arrivals, per_node), arrivals)

    ours = [took([0.0] * ranks), took(late), float(np.median([took(each) for each in spread]))]
    theirs = [three_phases(nodes, per_node, size, network, each) for each in (False, True)]
    shares = [ours[0] / theirs[0], ours[1] / theirs[1], ours[2] / theirs[1]]
    cells = [f"{1e3 * each:.3g}" for each in (*theirs, *ours)]
    length = f"{size // MIB} MiB" if size >= MIB else f"{size // KIB} KiB"
    return (f"| {name} | {nodes}x{per_node} | {length} | {' | '.join(cells)} "
            f"| {max(shares):.2f} |")  # fmt: skip


TABLES = {"lab": lab, "random": random_arrivals, "han": han, "local": local,
          "local-late": local_late, "alone": alone, "simulated": simulated}  # fmt: skip


def main() -> None:
    """One table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", choices=TABLES, required=True)
    parser.add_argument("--mpi", default="openmpi", choices=mpi.FAMILIES)
    parser.add_argument("--shape", default="4x4", help="hosts x ranks of each; simulated: all")
    parser.add_argument("--sizes", default=",".join(SIZES))
    parser.add_argument("--balanced", default=BALANCED, help="random: these among the nodes")
    parser.add_argument("--rows", default="nodes", help="lab: these beside the library and auto")
    parser.add_argument("--iterations", help="so many of each cell (lab, random, local)")
    parser.add_argument("--arrivals", choices=["together", "one"], help="lab: only these")
    parser.add_argument("--ranks", default="2,4", help="local: numbers of ranks")
    options = parser.parse_args()
    options.sizes = options.sizes.split(",")
    options.ranks = [int(each) for each in options.ranks.split(",")]
    for line in TABLES[options.table](options):
        print(line, flush=True)


if __name__ == "__main__":
    main()
