"""For the tests of the SimGrid engine: a platform that means the same network as the virtual
one, and the exits in both."""

from pathlib import Path

import latecomer
import pytest
from latecomer.lab import simgrid

ROOT = Path(__file__).resolve().parents[2]
PLATFORMS = ROOT / "examples" / "platforms"
CROSSBAR = PLATFORMS / "cluster16.xml"  # two links of 50 us and 1 Gbit/s between any two hosts
MATCHING = "alpha=100us,beta=8ns,gamma=0.1ns"
SAME_S = 1e-7  # SimGrid rounds to 1 ns at each event
SEED = 20240601

needs_simgrid = pytest.mark.skipif(
    simgrid.find() is None, reason=f"no {simgrid.PROGRAM}: {simgrid.REMEDY}"
)


def exits_of_both(algorithm, ranks, count, arrivals=None, network=MATCHING, **more):
    """The exits in SimGrid and on the virtual network."""
    call = {"ranks": ranks, "count": count, "network": network, **more}
    found = simgrid.simulate(
        algorithm, **call, arrivals=arrivals, platform=CROSSBAR, config=simgrid.PLAIN
    )
    return found.exits, latecomer.simulate(algorithm, **call, arrivals=arrivals).exits
