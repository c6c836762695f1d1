"""The tests that the sanitizers leave out (SLOW in tools/run_tests.py) exist."""

import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build" / "release" / "tests" / "core_tests"
sys.path[:0] = [str(ROOT / "tools")]


@pytest.fixture(scope="module")
def names() -> list[str]:
    """All tests of the core; the list has suites, and below each its tests, indented."""
    if not PROGRAM.exists():
        pytest.skip(f"not built: {PROGRAM.name}")
    command = [PROGRAM, "--gtest_list_tests"]
    listed = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True).stdout
    found = []
    suite = ""
    for line in listed.splitlines():
        name = line.partition("#")[0].rstrip()
        if line.startswith(" "):
            found.append(suite + name.strip())
        else:
            suite = name
    return found


def unmatched(patterns: list[str], names: list[str]) -> list[str]:
    return [each for each in patterns if not any(fnmatchcase(name, each) for name in names)]


def test_each_pattern_matches_a_test(names):
    from run_tests import SLOW

    assert unmatched(SLOW, names) == []


def test_a_pattern_that_matches_none_is_found(names):
    patterns = ["*NoSimulatedRunBeatsIt*", "Renamed.Since*"]
    assert unmatched(patterns, names) == ["Renamed.Since*"]
