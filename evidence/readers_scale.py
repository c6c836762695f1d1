"""How fast traces of other programs are read, and in how much memory.

    .venv/bin/python evidence/readers_scale.py inspector --megabytes 200
    .venv/bin/python evidence/readers_scale.py flight --ranks 64 --calls 2000
    .venv/bin/python evidence/readers_scale.py table --ranks 64 --calls 20000 --as csv

Writes made-up lines of NCCL Inspector, a file for each of two ranks; dumps of PyTorch's flight
recorder, a pickle a rank with 20 frames a call; or an interchange table of one group, as csv, jsonl
or parquet. Reads them once, as `latecomer report` does.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from multiprocessing import get_context
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "python"), str(ROOT / "python")]

import flight_helpers  # noqa: E402 - after the path
import inspector_helpers  # noqa: E402
from latecomer.report.trace import Words, read, table_export  # noqa: E402
from trace_helpers import arrivals_and_exits, group_of, trace_of  # noqa: E402


def lines(folder: Path, megabytes: int) -> None:
    """Files of two ranks, so many megabytes together."""
    for rank in range(2):
        made = inspector_helpers.line(rank, 1_111_111, 0.0123456, ranks=2)
        before, rest = made.split("1111111", 1)
        between, after = rest.split("12345", 1)
        calls = megabytes * 500_000 // len(made)
        with (folder / f"gpu0-pid{100 + rank}.log").open("w") as out:
            out.writelines(f"{before}{call}{between}{1000 + call * 7919 % 9000}{after}\n"
                           for call in range(calls))  # fmt: skip


def dumps(folder: Path, ranks: int, calls: int) -> None:
    """All ranks leave each call together."""
    arrival = np.arange(calls)[:, None] + np.linspace(0, 0.1, ranks)
    leave = np.repeat(np.arange(calls)[:, None] + 0.2, ranks, axis=1)
    torch, *own = flight_helpers.FRAMES
    flight_helpers.FRAMES[:] = [torch] * 10 + own * 5
    flight_helpers.store(folder, flight_helpers.job(arrival, leave))


def table(folder: Path, ranks: int, calls: int, form: str) -> None:
    """A loop of all-reduces with a late rank, as `latecomer report` writes it."""
    words = Words()
    trace = trace_of([group_of(*arrivals_and_exits(calls, ranks), words)], words)
    (table_export.parquet if form == "parquet" else table_export.csv)(trace, folder / f"a.{form}")


def write(folder: Path, options: argparse.Namespace) -> None:
    """The files that are asked for."""
    if options.format == "inspector":
        lines(folder, options.megabytes)
    elif options.format == "table":
        table(folder, options.ranks, options.calls, options.form)
    else:
        dumps(folder, options.ranks, options.calls)


def main() -> None:
    """One sentence."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("format", choices=["inspector", "flight", "table"])
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--as", dest="form", choices=["csv", "jsonl", "parquet"], default="csv")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        # In a process of its own: what writing takes is no memory of reading.
        writer = get_context("fork").Process(target=write, args=(folder, options))
        writer.start()
        writer.join()
        if writer.exitcode:
            sys.exit(f"the files could not be written: exit code {writer.exitcode}")
        size = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
        began, processor = time.perf_counter(), time.process_time()
        trace = read(folder)
        took, used = time.perf_counter() - began, time.process_time() - processor
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{size:.0f} MB, {trace.calls} calls on {trace.ranks} ranks: {used:.1f} s of processor "
          f"time, {size / used:.0f} MB/s; {took:.1f} s; {memory:.2f} GB")  # fmt: skip


if __name__ == "__main__":
    main()
