"""Tables of calls, as our exports and as others write them."""

import csv
import json
import sys
from pathlib import Path

import pytest
from latecomer.report.trace.table_export import csv as write
from latecomer.report.trace.table_export import parquet
from trace_helpers import arrivals_and_exits

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "evidence"))

from played import Played

FORMATS = ("calls.csv", "calls.jsonl", "calls.parquet")


def export(trace, file):
    if file.suffix == ".parquet":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
        parquet(trace, file)
    else:
        write(trace, file)
    return file


def rows_of(calls=10, ranks=3, **more):
    arrival, leave = arrivals_and_exits(calls, ranks)
    return [{"group": "world", "sequence": call, "operation": "MPI_Allreduce", "bytes": 8,
             "rank": rank, "host": f"n{rank}", "arrive": arrival[call, rank],
             "leave": leave[call, rank], **more} for call in range(calls) for rank in range(ranks)]  # fmt: skip


def lines_of(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def table(folder, rows, name="calls.jsonl"):
    path = folder / name
    path.write_text(lines_of(rows))
    return path


def written_as(path, rows, separator=","):
    """The rows in the format of the name's ending."""
    if path.suffix == ".jsonl":
        return table(path.parent, rows, path.name)
    if path.suffix == ".parquet":
        arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
        pytest.importorskip("pyarrow.parquet").write_table(arrow.Table.from_pylist(rows), path)
        return path
    with path.open("w", newline="") as out:
        writer = csv.DictWriter(out, list(rows[0]), delimiter=separator)
        writer.writeheader()
        writer.writerows(rows)
    return path


def polls(tmp_path):
    """Receives by tests and after probes, and calls of which only the time is known."""

    def program(rank, ranks):
        for _ in range(10):
            if rank > 0:
                yield ("probe", rank - 1)
                yield ("poll", rank - 1, 1e-4)
            yield ("compute", 20e-3 if rank == 1 else 5e-3)
            if rank < ranks - 1:
                yield ("send", rank + 1)
            yield ("hidden receive", rank - 1) if rank else ("compute", 0.0)
            yield ("hidden send", rank + 1) if rank < ranks - 1 else ("compute", 0.0)
            yield ("allreduce",)

    return Played([program(rank, 4) for rank in range(4)]).trace()
