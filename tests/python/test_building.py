"""tools/build.sh: in batches, and one by one where that fails."""

import subprocess
from pathlib import Path

import pytest

BUILD = Path(__file__).parents[2] / "tools" / "build.sh"

# Stands in for CMake: building fails unless it was configured as `passes` says.
FAKE = """#!/bin/sh
echo "$@" >> {log}
case "$*" in --build*) grep -q "BATCHES={passes}" {log};; esac
"""


@pytest.mark.parametrize(
    ("passes", "code", "configured"),
    [("ON", 0, ["ON"]), ("OFF", 0, ["ON", "OFF"]), ("never", 1, ["ON", "OFF"])],
)
def test_what_fails_in_batches_is_built_one_by_one(tmp_path, monkeypatch, passes, code, configured):
    log = tmp_path / "log"
    (tmp_path / "cmake").write_text(FAKE.format(log=log, passes=passes))
    (tmp_path / "cmake").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    done = subprocess.run(
        [BUILD, "asan", "core_tests", "2", "-DX=Y"], capture_output=True, text=True, check=False
    )
    assert done.returncode == code
    calls = log.read_text().splitlines()
    assert calls == [
        line
        for batches in configured
        for line in (
            f"--preset asan -DX=Y -DLATECOMER_BATCHES={batches}",
            "--build --preset asan --target core_tests -j 2",
        )
    ]
    assert ("one by one" in done.stdout) == (len(configured) == 2)
