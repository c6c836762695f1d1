"""Folders of recordings; the converter that docs/recordings.md shows does what it says."""

import re
import subprocess
import sys
from pathlib import Path

import flight_helpers
import inspector_helpers
import numpy as np
import pytest
from kineto_helpers import job, stored
from latecomer.report.trace import TraceError, read
from latecomer.report.trace.table_export import csv
from trace_helpers import Files, arrivals_and_exits, made_up

PAGE = Path(__file__).resolve().parents[2] / "docs" / "recordings.md"


def test_the_shown_converter_makes_a_table(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (code,) = (block for block in blocks if "calls.csv" in block)
    assert len(code.splitlines()) <= 20
    arrival, leave = arrivals_and_exits(12, 3)
    for rank in range(3):
        lines = [f"{call} MPI_Allreduce comm0 1024 {arrival[call, rank]:.9f} {leave[call, rank]:.9f}\n"
                 for call in range(12)]  # fmt: skip
        (tmp_path / f"rank{rank}.log").write_text("".join(lines))
    subprocess.run([sys.executable, "-c", code, tmp_path], cwd=tmp_path, check=True)
    trace = read(tmp_path / "calls.csv")
    (group,) = trace.groups
    assert (group.name, trace.words[group.collective[0]]) == ("comm0", "allreduce")
    assert set(group.bytes) == {1024}
    np.testing.assert_allclose(group.arrival, arrival - arrival.min(), atol=2e-9)
    np.testing.assert_allclose(group.exit, leave - arrival.min(), atol=2e-9)


def test_other_csv_files_in_a_folder_are_no_harm(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    with pytest.raises(TraceError, match=r"a\.csv: no table of calls"):
        read(tmp_path)
    csv(made_up(), tmp_path / "b.csv")
    trace = read(tmp_path)
    assert len(trace.groups[0]) == 40
    assert any("files that are no tables (1)" in each for each in trace.remarks)


def test_a_trace_in_a_folder_beside_another_csv_file_is_found(tmp_path):
    (tmp_path / "results.csv").write_text("x,y\n1,2\n")
    Files(3).write(tmp_path / "traces", *arrivals_and_exits(8, 3))
    assert read(tmp_path).format == "latecomer 1"


def test_whole_recordings_of_other_formats_in_one_folder_are_told(tmp_path):
    """A single .json or .csv file may be anything, such as an export of this trace."""
    arrival, leave = arrivals_and_exits(12, 4)
    folder = inspector_helpers.written(tmp_path / "a", arrival, leave)
    (folder / "calls.csv").write_text("rank,arrive,leave")
    (folder / "calls.json").write_text("{}")
    assert not any("another format" in each for each in read(folder).remarks)
    flight_helpers.store(folder, flight_helpers.job(arrival, leave))
    stored(folder, job())
    told = [each for each in read(folder).remarks if "another format than NCCL Inspector" in each]
    assert [f"({count})" in each for count, each in zip((4, 5), told, strict=True)] == [True, True]
    assert "nccl_trace_rank_0: name a folder of one format" in told[0]
