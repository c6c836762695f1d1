"""The converter that docs/recordings.md shows does what the page says."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
from latecomer.report.trace import read
from trace_helpers import arrivals_and_exits

PAGE = Path(__file__).resolve().parents[2] / "docs" / "recordings.md"


def test_the_shown_converter_makes_a_table(tmp_path):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
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
