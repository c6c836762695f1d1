"""Hosts of the lab whose clocks really differ."""

import sys
from pathlib import Path

import pytest
from lab_helpers import MBIT, call
from latecomer.lab import cluster
from latecomer.launch import program
from mpi_helpers import FAMILIES, installed


@pytest.fixture(scope="module")
def time_namespaces(namespaces):
    if not Path("/proc/self/timens_offsets").exists():
        pytest.skip("no time namespaces in this kernel")


CLOCKS = """
import os
import time
clocks = [getattr(time, f"CLOCK_{name}") for name in ("MONOTONIC", "BOOTTIME", "REALTIME")]
readings = [[time.clock_gettime(clock) for clock in clocks] for _ in range(1000)]
# Those between whose clocks the process was interrupted are too low.
monotonic = max(monotonic - real for monotonic, _, real in readings)
boot = max(boot - real for _, boot, real in readings)
os.write(1, f"{monotonic},{boot}\\n".encode())  # at once: lines must not mix
"""


def clocks_of_hosts(capfd, **options) -> list[list[float]]:
    """Per rank, how far its clocks are ahead of the machine's, which no namespace changes."""
    spec = cluster.LabSpec(3, 200 * MBIT, per_node=2, **options)
    assert cluster.run(spec, [sys.executable, "-c", CLOCKS], deadline=600) == 0
    ranks = capfd.readouterr().out.split()
    return sorted([float(number) for number in rank.split(",")] for rank in ranks)


def test_clocks_of_hosts_really_differ(time_namespaces, capfd):
    installed("openmpi")
    spec = cluster.LabSpec(3, 200 * MBIT, clock_skew_s=5)
    expected = sorted([spec.clock_offset_s(node) for node in range(3)] * 2)
    found = clocks_of_hosts(capfd, clock_skew_s=5)
    for clock in zip(*found, strict=True):
        assert [ahead - clock[0] for ahead in clock] == pytest.approx(expected, abs=0.05)


def test_clocks_of_hosts_are_the_same_unless_told(namespaces, capfd):
    installed("openmpi")
    for clock in zip(*clocks_of_hosts(capfd), strict=True):
        assert max(clock) - min(clock) < 0.05


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize(("skew", "clocks"), [("5s", 4), ("0", 1)])
def test_ranks_on_hosts_with_skewed_clocks_agree_on_the_time(time_namespaces, name, skew, clocks):
    """The MPI test compares the ranks' common times with the machine's clock."""
    installed(name)
    tests = program.find_built(f"mpi_tests_{name}")
    if not tests:
        pytest.skip(f"not built: mpi_tests_{name}")
    options = ["--nodes", "4", "--rate", "200mbit", "--clock-skew", skew, "--quiet"]
    done = call("run", *options, "--", str(tests), "--quick", "hosts_share_a_clock")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"  {clocks} clocks, up to " in done.stdout
    assert "1 passed, 0 failed" in done.stdout
