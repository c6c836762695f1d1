"""Measures latecomer beside the MPI library alone (docs/overhead.md): python evidence/overhead.py.

For every MPI library that is found, every number of ranks and every size, 20 fresh communicators:
blocks of calls with `auto` and online estimates, and of the library's own, in turns, from the
100th call on. Prints Markdown tables of microseconds a call (medians over all communicators), of
the difference, and of the ratio on each communicator (median, largest). `--table sizes`: 400 calls
of which no two have one size, from the first one on. `--table fresh`: 300 pairs of communicators,
one for MPI's own functions with the drop-in library and one for the MPI library, with some calls
each from the first one on; beside them pairs without the drop-in library. `--table ours`: our
fastest all-reduce of 8 bytes, chosen by name. `--table drop-in`: MPI's own functions, with the
drop-in library; with `--size 8B` for calls of this size alone, with `--control` beside a library
that only passes calls on (dropin/forward.c). `--cores 1` keeps all ranks on one core, `--cores 2`
each on one of two.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import dropin_jobs as jobs
import numpy as np
from latecomer.launch import mpi, preload

Rows = list[dict[str, float]]
SIZES = {"8B": 8, "1KiB": 1 << 10, "8KiB": 8 << 10, "64KiB": 64 << 10, "256KiB": 256 << 10,
         "1MiB": 1 << 20, "4MiB": 4 << 20}  # fmt: skip


# Keeps a rank on one of so many cores; the launchers' own options differ.
ON_A_CORE = 'exec taskset -c $((${PMI_RANK:-$OMPI_COMM_WORLD_RANK} %% %d)) "$@"'


def measure(library: mpi.Family, ranks: int, *options: str, preloaded: Path | None = None,
            cores: int = 0) -> Rows:  # fmt: skip
    """A row for each communicator; `preloaded`: MPI's own functions, with a library before them.

    `cores`: each rank stays on one of so many; 0: wherever the launcher and Linux put it.
    """
    program = str(jobs.ROOT / "build" / "release" / f"latecomer_overhead_{library.name}")
    words = [program, *options]
    if cores:
        words = ["sh", "-c", ON_A_CORE % cores, "sh", *words]
    if preloaded is not None:
        words += ["--drop-in", "1"]
    launch = mpi.launch_command(library, ranks, words, allow_root=True)
    command = launch.command
    if preloaded is not None:
        command = preload.preloading(command, preloaded, {})
    output = subprocess.run(
        command, env=launch.env, check=True, timeout=900, stdout=subprocess.PIPE
    )
    return [json.loads(line) for line in output.stdout.decode().splitlines()]


def column(rows: Rows, name: str) -> np.ndarray:
    return np.array([row[name] for row in rows])


def same_size(library: mpi.Family, ranks: int, communicators: int) -> Iterator[str]:
    """The lines of a table."""
    head = "library, us | latecomer, us | difference, us | ratio: median | largest | handled"
    yield f"| {library.describe()}, {ranks} ranks | {head} |"
    yield "| --- " * 7 + "|"
    for collective in ("allreduce", "bcast"):
        for name, size in SIZES.items():
            rows = measure(library, ranks, "--collective", collective, "--bytes", str(size),
                           "--communicators", str(communicators))  # fmt: skip
            plain, ours = column(rows, "plain_us"), column(rows, "ours_us")
            ratios = ours / plain
            handled = column(rows, "handled").sum() / column(rows, "calls").sum()
            yield (f"| {collective} {name} | {np.median(plain):.2f} | {np.median(ours):.2f} "
                   f"| {np.median(ours - plain):+.2f} | {np.median(ratios):.3f} "
                   f"| {ratios.max():.3f} | {handled:.0%} |")  # fmt: skip


def other_sizes(library: mpi.Family, ranks: int, communicators: int) -> Iterator[str]:
    yield f"| {library.describe()}, {ranks} ranks | ratio of sums: median | largest |"
    yield "| --- | --- | --- |"
    for collective in ("allreduce", "bcast"):
        for name in ("8B", "8KiB", "64KiB", "1MiB"):
            rows = measure(library, ranks, "--collective", collective, "--bytes", str(SIZES[name]),
                           "--sizes", "400", "--communicators", str(communicators))  # fmt: skip
            ratios = column(rows, "ours_sum_us") / column(rows, "plain_sum_us")
            yield f"| {collective} from {name} | {np.median(ratios):.3f} | {ratios.max():.3f} |"


def by_name(library: mpi.Family, ranks: int, communicators: int) -> Iterator[str]:
    yield f"| {library.describe()}, {ranks} ranks | library, us | ours, us | ratio |"
    yield "| --- | --- | --- | --- |"
    rows = measure(library, ranks, "--algorithm", "fastest", "--communicators", str(communicators))
    plain, ours = column(rows, "plain_us"), column(rows, "ours_us")
    yield (f"| allreduce 8B | {np.median(plain):.2f} | {np.median(ours):.2f} "
           f"| {np.median(ours / plain):.2f} |")  # fmt: skip


def dropped_in(
    library: mpi.Family,
    ranks: int,
    communicators: int,
    sizes: Sequence[str] = ("8B", "1KiB", "8KiB"),
    control: bool = False,
    cores: int = 0,
) -> Iterator[str]:
    head = "library, us | with the drop-in library, us | difference, ns: median | largest |"
    head += " with an empty wrapper, ns: median | largest |" if control else ""
    yield f"| {library.describe()}, {ranks} ranks | {head}"
    yield "| --- " * (7 if control else 5) + "|"
    for collective in ("allreduce", "bcast"):
        for name in sizes:
            run = partial(measure, library, ranks, "--collective", collective, "--bytes",
                          str(SIZES[name]), "--communicators", str(communicators),
                          cores=cores)  # fmt: skip
            rows = run(preloaded=preload.library())
            plain, ours = column(rows, "plain_us"), column(rows, "ours_us")
            cells = f"{np.median(plain):.2f} | {np.median(ours):.2f} | {more_ns(rows)}"
            if control:
                cells += " | " + more_ns(run(preloaded=jobs.compiled("forward.c", "forward")))
            yield f"| {collective} {name} | {cells} |"


def few_calls(library: mpi.Family, ranks: int, _communicators: int) -> Iterator[str]:
    head = "library, us | drop-in library / library: median, quartiles | library / library"
    yield f"| {library.describe()}, {ranks} ranks: all-reduces of 1 KiB | {head} |"
    yield "| --- " * 4 + "|"
    for calls in (7, 9, 50, 200):
        run = partial(measure, library, ranks, "--bytes", "1024", "--fresh", str(calls),
                      "--communicators", "300", "--drop-in", "1")  # fmt: skip
        rows, control = run(preloaded=preload.library()), run()
        ratios = column(rows, "ours_us") / column(rows, "plain_us")
        low, middle, high = np.quantile(ratios, (0.25, 0.5, 0.75))
        same = np.median(column(control, "ours_us") / column(control, "plain_us"))
        yield (f"| {calls} | {np.median(column(rows, 'plain_us')):.2f} "
               f"| {middle:.2f} ({low:.2f} to {high:.2f}) | {same:.2f} |")  # fmt: skip


def more_ns(rows: Rows) -> str:
    """By how many nanoseconds a call takes longer: median and largest of the communicators."""
    more = 1e3 * (column(rows, "ours_us") - column(rows, "plain_us"))
    return f"{np.median(more):+.0f} | {more.max():+.0f}"


TABLES = {"same": same_size, "sizes": other_sizes, "fresh": few_calls,
          "ours": by_name, "drop-in": dropped_in}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--table", choices=[*TABLES, "all"], default="all")
    parser.add_argument("--ranks", default="2,4", help="numbers of ranks")
    parser.add_argument("--mpi", default="", help="only libraries whose name and version hold this")
    parser.add_argument("--communicators", type=int, default=20)
    parser.add_argument("--size", choices=SIZES, help="of the calls of --table drop-in")
    parser.add_argument("--control", action="store_true", help="with --table drop-in: see above")
    parser.add_argument("--cores", type=int, default=0, help="with --table drop-in: see above")
    options = parser.parse_args()
    TABLES["drop-in"] = partial(dropped_in, control=options.control, cores=options.cores)
    if options.size:
        TABLES["drop-in"] = partial(TABLES["drop-in"], sizes=[options.size])
    chosen = TABLES if options.table == "all" else [options.table]
    for library in mpi.families():
        if options.mpi not in library.describe():
            continue
        for ranks in options.ranks.split(","):
            for table in chosen:
                print()
                for line in TABLES[table](library, int(ranks), options.communicators):
                    print(line, flush=True)


if __name__ == "__main__":
    main()
