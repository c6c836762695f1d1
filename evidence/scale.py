"""All-reduces of very many ranks: prints evidence/results/scale.md and draws pictures.

    .venv/bin/python evidence/scale.py [--only one-late,...] [--folder docs/pictures]

Sections: one-late, other-arrivals, planning, telemetry, memory, nodes, large-nodes, simgrid and
pictures. Nothing is random but the times of planning, which are processor times. Without
large-nodes (eight minutes, 3 GiB) it takes some ten minutes.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from after_last import MIB, row
from latecomer import least_after_last
from latecomer.core.compiled import core
from latecomer.lab import simgrid
from latecomer.lab.options.arrivals import Pattern
from latecomer.lab.results.statistics import Row
from latecomer.lab.sweep.case import Case
from latecomer.lab.sweep.engines import Virtual
from latecomer.lab.sweep.sweep import Sweep
from latecomer.lab.views import plot

ROOT = Path(__file__).resolve().parents[1]
SLOW = "alpha=50us,beta=8ns,gamma=0.1ns"  # 1 Gbit/s
FAST = "alpha=3us,beta=0.08ns,gamma=0.1ns,memory=0.01ns"  # 100 Gbit/s; 100 GB/s in a node
TREE = "alpha=4us,beta=0.08ns,gamma=0.1ns,memory=0.01ns"  # for plans in a fat tree
LATE = "prereduced_circulant"
RANKS = (256, 1024, 4096)
SIZES = (4 * MIB, 16 * MIB)
NODES = ((64, 48), (512, 64))


def problem(ranks: int, size: int) -> Any:
    """A sum of 32-bit numbers."""
    return core.Problem("allreduce", ranks=ranks, count=size // 4, element_bytes=4)


def one_late(ranks: int, delay: float) -> list[float]:
    """A rank in the middle."""
    arrivals = [0.0] * ranks
    arrivals[ranks // 3] = delay
    return arrivals


def vector(size: int, network: str) -> float:
    """M, the seconds of the vector on a link."""
    return size * float(core.Network(network).beta)


def placed(ranks: int, per_node: int) -> list[int]:
    """The node of each rank."""
    return core.consecutive_placement(ranks, per_node) if per_node > 1 else []


def planned(
    row: str,
    size: int,
    network: str,
    arrivals: list[float],
    per_node: int = 1,
    telemetry: bool = False,
) -> Any:
    """A plan for these arrivals."""
    ranks = len(arrivals)
    costs = core.Network(f"{network},per_node={per_node}")
    nodes = placed(ranks, per_node) if row.partition(":")[0] in ("auto", "nodes") else []
    return core.Plan(problem(ranks, size), row, arrivals, costs, nodes, telemetry)


def after_last(plan: Any, arrivals: list[float]) -> float:
    """Seconds from the last arrival to the last exit."""
    return max(plan.simulate(arrivals)["exits"]) - max(arrivals)


def table(title: str, *cells: object) -> None:
    """A title and the first lines of a table."""
    print(f"\n## {title}\n", flush=True)
    row(*cells)
    row(*["---"] * len(cells))


def least_of_blocks(ranks: int, size: int, network: str) -> float:
    """The least that a broadcast of equal blocks takes."""
    whole = vector(size, network)
    fill = (math.ceil(math.log2(ranks)) - 1) * float(core.Network(network).alpha)
    return whole + fill + 2 * math.sqrt(fill * whole)


def print_one_late() -> None:
    """One rank late by 2 M, beside the limits."""
    table(
        "One rank late by 2 M, a rank a node, 1 Gbit/s",
        *("ranks", "vector", "blocks", "after the last arrival", "of the limit", "of M"),
        *("of the least that blocks allow", "`fastest`"),
    )
    for ranks in RANKS:
        for size in SIZES:
            arrivals = one_late(ranks, 2 * vector(size, SLOW))
            plan = planned("auto", size, SLOW, arrivals)
            took = after_last(plan, arrivals)
            least = least_after_last(ranks=ranks, bytes=size, arrivals=arrivals, network=SLOW)
            balanced = after_last(planned("fastest", size, SLOW, arrivals), arrivals)
            row(
                *(ranks, f"{size // MIB} MiB", plan.parameters.rpartition("=")[2]),
                *(f"{1e3 * took:.1f} ms", f"{took / least:.3f}"),
                f"{took / vector(size, SLOW):.3f}",
                *(f"{took / least_of_blocks(ranks, size, SLOW):.3f}", f"{1e3 * balanced:.1f} ms"),
            )


def print_other_arrivals() -> None:
    """Arrivals that the plan was not made for, and those that it does not exploit."""
    ranks, size = 1024, 4 * MIB
    whole = vector(size, SLOW)
    expected = one_late(ranks, 2 * whole)
    two = [2 * whole if rank == 5 else delay for rank, delay in enumerate(expected)]
    another = expected[::-1]
    table(
        "1024 ranks, 4 MiB, 1 Gbit/s: after the last arrival",
        *("expected", "what comes", f"`{LATE}`", "`fastest`", "`auto`, which expects it"),
    )
    cases = (
        ("one late by 2 M", "the same", expected),
        ("one late by 2 M", "all together", [0.0] * ranks),
        ("one late by 2 M", "another one late by 2 M", another),
        ("one late by 2 M", "it and another one late by 2 M", two),
        ("one late by 2 M", "it is late by M", [each / 2 for each in expected]),
        ("one late by 2 M", "it is late by M/2", [each / 4 for each in expected]),
    )
    late = planned(LATE, size, SLOW, expected)
    balanced = planned("fastest", size, SLOW, expected)
    for told, what, arrivals in cases:
        aware = planned("auto", size, SLOW, arrivals)
        row(
            *(told, what),
            *(f"{1e3 * after_last(plan, arrivals):.1f} ms" for plan in (late, balanced)),
            f"{1e3 * after_last(aware, arrivals):.1f} ms (`{aware.algorithm}`)",
        )


def print_planning() -> None:
    """Processor time of planning on one rank."""
    table(
        "Planning on one rank: plan, price and program, us",
        *("row", "ranks", "a node", "plan", "price", "program", "of the call"),
    )
    cells = [(LATE, ranks, 1) for ranks in RANKS] + [("fastest", ranks, 1) for ranks in RANKS]
    cells += [("nodes", nodes * per_node, per_node) for nodes, per_node in NODES]
    for name, ranks, per_node in cells:
        size = 4 * MIB
        arrivals = one_late(ranks, 2 * vector(size, SLOW))
        costs = core.Network(f"{SLOW},per_node={per_node}")
        taken = core.planning(problem(ranks, size), name, arrivals, costs, placed(ranks, per_node))
        parts = [1e6 * taken[part] for part in ("plan", "price", "program")]
        call = 3.25 * vector(size, SLOW)  # 2 M until the late rank comes, and 1.25 M
        share = sum(parts) / 1e6 / call
        row(f"`{name}`", ranks, per_node, *(f"{part:.0f}" for part in parts), f"{share:.2%}")


def print_telemetry() -> None:
    """The stamps of a call that is watched."""
    table(
        "Telemetry of a watched call, 4 MiB, one rank late by 2 M",
        *("row", "ranks", "a node", "stamps that all ranks send", "that one rank sends at most"),
        *("after the last arrival, without stamps", "with stamps"),
    )
    cells = [(LATE, ranks, 1) for ranks in RANKS] + [("nodes", 64 * 48, 48)]
    for name, ranks, per_node in cells:
        arrivals = one_late(ranks, 2 * vector(4 * MIB, SLOW))
        without = after_last(planned(name, 4 * MIB, SLOW, arrivals, per_node), arrivals)
        found = planned(name, 4 * MIB, SLOW, arrivals, per_node, True).simulate(arrivals)
        told = found["stamps"]
        row(
            *(f"`{name}`", ranks, per_node, f"{sum(told) / MIB:.1f} MiB"),
            *(f"{max(told) / 1024:.0f} KiB", f"{1e3 * without:.1f} ms"),
            f"{1e3 * (max(found['exits']) - max(arrivals)):.1f} ms",
        )


def print_memory() -> None:
    """What a rank and a node hold for one plan."""
    table(
        "Memory of one plan and its program, 4 MiB",
        *("row", "ranks", "a node", "operations of a rank, at most", "plan and program"),
        *("scratch of a rank, at most", "buffer of a node"),
    )
    cells = [(LATE, ranks, 1) for ranks in RANKS]
    cells += [("nodes", nodes * per_node, per_node) for nodes, per_node in NODES]
    for name, ranks, per_node in cells:
        arrivals = one_late(ranks, 2 * vector(4 * MIB, SLOW))
        plan = planned(name, 4 * MIB, SLOW, arrivals, per_node)
        some = [plan.memory(rank) for rank in (0, 1, ranks // 3, ranks // 2, ranks - 1)]
        most = {part: max(each[part] for each in some) for part in some[0]}
        row(
            *(f"`{name}`", ranks, per_node, most["operations"], f"{most['plan'] / 1024:.0f} KiB"),
            *(f"{most['scratch'] / MIB:.1f} MiB", f"{most['node'] / MIB:.1f} MiB"),
        )


def print_nodes_of(nodes: int, per_node: int, rows: tuple[str, ...]) -> None:
    """One placement on two networks."""
    table(
        f"{nodes} nodes of {per_node} ranks, 4 MiB: after the last arrival, ms",
        *("row", "1 Gbit/s, together", "one late by 2 M", "100 Gbit/s, together"),
        *("one late by 2 M", "longest simulation"),
    )
    ranks = nodes * per_node
    for name in rows:
        cells = []
        longest = 0.0
        for network in (SLOW, FAST):
            for late in (0, 2):
                arrivals = one_late(ranks, late * vector(4 * MIB, network))
                plan = planned(name, 4 * MIB, network, arrivals, per_node)
                began = time.monotonic()
                cells.append(f"{1e3 * after_last(plan, arrivals):.2f}")
                longest = max(longest, time.monotonic() - began)
        row(f"`{name}`", *cells, f"{longest:.0f} s")


def print_nodes() -> None:
    """3072 ranks."""
    rows = ("nodes", "rabenseifner", "recursive_doubling", LATE)
    print_nodes_of(*NODES[0], rows)


def print_large_nodes() -> None:
    """32768 ranks. With the 64 pieces that `nodes` takes by itself a call would need 8 GiB."""
    print_nodes_of(*NODES[1], ("nodes:pieces=4", "rabenseifner", "recursive_doubling"))


def fat_tree(hosts: int, below: int, folder: Path) -> Path:
    """Two levels, half as many switches above as hosts below one, two links to each: as many links
    go up as hosts. 100 Gbit/s and 1 us.
    """
    shape = f"2;{below},{hosts // below};1,{below // 2};1,2"
    path = folder / f"fat_tree{hosts}.xml"
    path.write_text(
        "<?xml version='1.0'?>\n"
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
        '<platform version="4.1">\n'
        f'  <cluster id="tree" prefix="node-" suffix="" radical="0-{hosts - 1}" speed="1Gf"\n'
        '           bw="12.5GBps" lat="1us" topology="FAT_TREE"\n'
        f'           topo_parameters="{shape}" sharing_policy="SPLITDUPLEX"/>\n'
        "</platform>\n"
    )
    return path


def print_simgrid() -> None:
    """Fat trees of 64 and 512 hosts."""
    table(
        "SimGrid, fat trees of 100 Gbit/s, 4 MiB: after the last arrival, ms",
        *("hosts", "ranks a host", "row", "together", "one late by 30 M", "longest simulation"),
    )
    cells = [(64, 1, LATE), (64, 1, "early_owners"), (64, 1, "fastest"), (64, 1, "ring")]
    cells += [(64, 48, "nodes"), (64, 48, "rabenseifner"), (64, 48, "recursive_doubling")]
    cells += [(512, 1, LATE), (512, 1, "fastest"), (512, 1, "rabenseifner"), (512, 4, "nodes")]
    with tempfile.TemporaryDirectory(prefix="latecomer-") as folder:
        for hosts, per_node, name in cells:
            platform = fat_tree(hosts, 8 if hosts == 64 else 16, Path(folder))
            found = []
            longest = 0.0
            for late in (0, 30):
                arrivals = one_late(hosts * per_node, late * vector(4 * MIB, TREE))
                began = time.monotonic()
                result = simgrid.simulate(
                    name,
                    platform=platform,
                    arrivals=arrivals,
                    network=TREE,
                    per_node=per_node,
                    config=simgrid.PLAIN,
                    collective="allreduce",
                    ranks=len(arrivals),
                    count=MIB,
                    deadline=900,
                )
                found.append(f"{1e3 * result.after_last:.2f}")
                longest = max(longest, time.monotonic() - began)
            row(hosts, per_node, f"`{name}`", *found, f"{longest:.0f} s")


def draw(folder: Path) -> None:
    """Time after the last arrival against ranks: a rank a node, and eight."""
    folder.mkdir(parents=True, exist_ok=True)
    flat = ["auto", "fastest", "openmpi-4.1"]
    _draw(folder / "scale-ranks.svg", flat, [16 << k for k in range(9)], 1)
    shared = ["auto", "rabenseifner"]
    _draw(folder / "scale-nodes.svg", shared, [64 << k for k in range(7)], 8)


def _draw(path: Path, algorithms: list[str], ranks: list[int], per_node: int) -> None:
    costs = core.Network(f"{SLOW},per_node={per_node}")
    sweep = Sweep(
        collective="allreduce",
        algorithms=algorithms,
        ranks=ranks,
        counts=[MIB],
        type="float32",
        op="sum",
        pattern=Pattern("onelate"),
        delays=[0.0, 2 * vector(4 * MIB, SLOW)],
        iterations=1,
        seed=1,
        estimate="perfect",
        network=costs,
    )
    plot.save(list(_rows(sweep, Virtual(costs))), path)
    print(f"wrote {path}", flush=True)


def _rows(sweep: Sweep, engine: Virtual) -> Iterator[Row]:
    for ranks in sweep.ranks:
        yield from Case(sweep, ranks, sweep.counts[0], engine).rows(lambda: None)


SECTIONS: dict[str, Callable[[], None]] = {
    "one-late": print_one_late,
    "other-arrivals": print_other_arrivals,
    "planning": print_planning,
    "telemetry": print_telemetry,
    "memory": print_memory,
    "nodes": print_nodes,
    "large-nodes": print_large_nodes,
    "simgrid": print_simgrid,
}


def main() -> None:
    """The sections that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join([*SECTIONS, "pictures"]))
    parser.add_argument("--folder", type=Path, default=ROOT / "docs" / "pictures")
    options = parser.parse_args()
    for name in options.only.split(","):
        if name == "pictures":
            draw(options.folder)
        elif name in SECTIONS:
            SECTIONS[name]()
        else:
            parser.error(f"--only: '{name}' is not usable; right would be one of {[*SECTIONS]}")


if __name__ == "__main__":
    main()
