"""tools/build.sh: in batches, and one by one where that fails; tools/with_progress.sh: how far."""

import os
import pty
import re
import signal
import subprocess
from pathlib import Path

import pytest

BUILD = Path(__file__).parents[2] / "tools" / "build.sh"
PROGRESS = BUILD.parent / "with_progress.sh"

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


# Stands in for a build: it goes on when the test has seen what it waits for.
STEPS = """
echo "-- configured"
echo "[1/3] one"
echo "[2/3] two"
while [ ! -e {go} ]; do sleep 0.1; done
echo "[3/3] three"
exit {code}
"""


def steps(folder, code=0):
    return ["sh", "-c", STEPS.format(go=folder / "go", code=code)]


@pytest.mark.parametrize("code", [0, 3])
def test_how_far_a_build_is_stands_in_lines(tmp_path, code):
    log, go = tmp_path / "log", tmp_path / "go"
    running = subprocess.Popen(
        [PROGRESS, "-i", "1", log, *steps(tmp_path, code)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while not re.fullmatch(r" *\[2/3\] \d+ min \d+ s\n", running.stdout.readline()):
        assert running.poll() is None
    go.touch()
    _, err = running.communicate()
    assert running.returncode == code
    assert log.read_text().splitlines() == [
        "-- configured",
        "[1/3] one",
        "[2/3] two",
        "[3/3] three",
    ]
    assert err == (log.read_text() if code else "")


def test_how_far_a_build_is_stands_in_place_on_a_terminal(tmp_path):
    ours, theirs = pty.openpty()
    command = [PROGRESS, tmp_path / "log", *steps(tmp_path)]
    with subprocess.Popen(command, stdout=theirs) as running:
        os.close(theirs)
        seen = b""
        while b"\r   [2/3] 0 min" not in seen:
            seen += os.read(ours, 1000)
        (tmp_path / "go").touch()
        assert running.wait() == 0
    assert b"\n" not in seen
    os.close(ours)


def test_an_interrupted_build_ends_at_once(tmp_path):
    running = subprocess.Popen(
        [PROGRESS, "-i", "1", tmp_path / "log", *steps(tmp_path)],
        stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    while "[2/3]" not in running.stdout.readline():
        assert running.poll() is None
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does
    running.communicate()
    assert running.returncode != 0
