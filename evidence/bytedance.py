"""Two published traces of large training jobs: our answer beside that of their authors.

The traces are those of Lin et al., Understanding Stragglers in Large Model Training Using What-if
Analysis (OSDI 2025), github.com/ByteDance-Seed/StragglerAnalysis, data/trace-AR.parquet and
trace-SE.parquet, Apache-2.0. Prints a row for each file. Needs pyarrow. Run from the root of the
repository:

    .venv/bin/python evidence/bytedance.py trace-AR.parquet trace-SE.parquet
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
from latecomer.report.analysis.answer import answer, facts
from latecomer.report.analysis.cut import analysed
from latecomer.report.trace import Trace, read

_AsIs = argparse.RawDescriptionHelpFormatter
COLUMNS = ("rank", "operation", "group", "sequence", "peer", "arrive", "leave", "clock_error")
# Seconds of a step, as recorded without launch delays and if nobody straggled; how much of that one
# worker in 32 explains: `tori`, `tideal` and `Mw` of data/mw-*.json.
PUBLISHED = {"AR": (46.34, 23.48, "one, all of it"), "SE": (9.07, 5.90, "no single one (3 %)")}
CLOCK_ERROR = 1e-3  # seconds; what the traces' clocks are good to is not said


def converted(file: Path) -> Iterator[tuple[Any, ...]]:
    """The rows of the interchange table. Steps, which begin at 0, follow one another."""
    rows = pyarrow.parquet.read_table(file).to_pylist()
    workers = {rank: at for at, rank in enumerate(sorted({row["rank"] for row in rows}))}
    by_place = {(row["dp_rank"], row["stage"]): workers[row["rank"]] for row in rows}
    ends: dict[int, float] = {}
    for row in rows:
        ends[row["step"]] = max(ends.get(row["step"], 0.0), row["start_ts"] + row["duration"])
    steps = sorted(ends)
    starts = dict(zip(steps, np.cumsum([0.0, *(ends[step] for step in steps[:-1])]), strict=True))
    free = [0.0] * len(workers)  # when each worker had ended what it did
    for row in sorted(rows, key=lambda row: (row["step"], row["start_ts"])):
        worker, begin = workers[row["rank"]], starts[row["step"]] + row["start_ts"]
        if begin > free[worker]:  # all that computes is recorded, so it waits for something else
            yield worker, "other", "", "", None, free[worker], begin, CLOCK_ERROR
        end = begin + row["duration"]
        free[worker] = max(free[worker], end)
        if operation := _operation(row, by_place):
            yield worker, *operation, begin, end, CLOCK_ERROR


def _operation(row: Mapping[str, Any], by_place: Mapping[tuple[int, int], int]) -> tuple[Any, ...]:
    """Operation, group, sequence and peer; empty for what computes."""
    dp, stage, kind, number = row["dp_rank"], row["stage"], row["optype"], row["step"] * 1000
    way, _, what = kind.partition("-")
    if what in ("send", "recv"):
        towards = 1 if (way == "forward") == (what == "send") else -1
        return what, way, number + row["seq_id"], by_place.get((dp, stage + towards))
    if kind in ("params-all-gather", "grads-reduce-scatter"):
        return what, f"{kind}, stage {stage}", number + row["seq_id"], None
    if kind == "embedding-grads-all-reduce":
        return "all-reduce", f"{kind}, pipeline {dp}", number, None
    if kind == "optimizer-clip-main-grad":  # by a norm of all: nobody leaves before all have come
        return "all-reduce", kind, number, None
    if kind == "layernorm-grads-all-reduce":  # with ranks that are not in the trace
        return "other", "", "", None
    return ()


def trace_of(file: Path) -> tuple[Trace, int]:
    """The trace, by way of a table in a file, and its number of steps."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        with path.open("w", newline="") as out:
            table = csv.writer(out)
            table.writerow(COLUMNS)
            table.writerows(converted(file))
        steps = pyarrow.parquet.read_table(file, columns=["step"])["step"].unique()
        return read(path), len(steps)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_AsIs)
    parser.add_argument("files", nargs="+", type=Path)
    for file in parser.parse_args().files:
        trace, steps = trace_of(file)
        found = analysed(trace, skip=0)
        known, graph = facts(found), found.graph
        print(f"{file.name}: {trace.ranks} workers, {steps} steps")
        for remark in trace.remarks:
            print(f"  {remark}")
        for line in answer(found).lines():
            print(f"  {line}")
        excess, run = graph.beyond.sum(axis=0), found.run_seconds
        taken = {
            "measured": run,
            "without the excess of the named": run - graph.saved(graph.without(known.late)),
            "without any excess": run - graph.saved(graph.without(range(trace.ranks))),
        }
        for name, seconds in taken.items():
            print(f"  {seconds / steps:.2f} s a step {name}")
        most = int(excess.argmax())
        print(f"  {excess[most] / excess.sum():.0%} of all excess is that of worker {most}")
        print("  published:", *PUBLISHED.get(file.stem.rpartition("-")[2], ("unknown",)), sep=" | ")


if __name__ == "__main__":
    main()
