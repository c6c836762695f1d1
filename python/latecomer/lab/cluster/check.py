"""Check that the lab delivers the rate and delay that were asked for."""

from __future__ import annotations

import statistics
import time
from dataclasses import asdict, dataclass

from ...launch import mpi
from .enter import enter
from .privilege import settle
from .spec import LabSpec, SpecError

# Below this share of the goodput that the links allow, the machine is the bottleneck.
_ENOUGH = 0.9
_DEADLINE_S = 120.0


@dataclass(frozen=True)
class CheckResult:
    """Measured links and hosts of a lab; goodputs are bits per second, times are seconds."""

    network: str
    nodes: int
    rate_bits_per_s: int
    burst_bytes: int
    congestion: str  # read from a connection, not from the settings
    local_congestion: str  # of a connection within a host
    local_bits_per_s: (
        float  # within a host, by TCP; ranks use its memory, where `hosts_memory` says
    )
    hosts_memory: dict[str, bool]  # by library: True if ranks of a host talk through its memory
    expected_bits_per_s: float
    one_way_bits_per_s: float
    both_ways_bits_per_s: float  # of the slower direction
    ring_bits_per_s: float  # mean over all links, all busy at once
    ring_slowest_bits_per_s: float
    rtt_q1_s: float
    rtt_median_s: float
    rtt_q3_s: float
    seconds: float  # that the check took
    too_slow: str | None  # a sentence if the machine cannot carry all links at this rate

    def as_dict(self) -> dict[str, object]:
        """An object for JSON."""
        return asdict(self)


def check(spec: LabSpec) -> CheckResult:
    """Build the lab, measure it for a few seconds, and take it down. Raises LabError."""
    if spec.nodes < 2:
        raise SpecError("a check measures links between nodes", spec.nodes, "use 2 nodes or more")
    started = time.monotonic()
    spec = settle(spec)
    found = enter(spec, "check", deadline=_DEADLINE_S)["measured"]
    memory = {family.describe(): family.shares_memory for family in mpi.families()}
    links = found.pop("ring_bits_per_s")
    ring = statistics.fmean(links)
    return CheckResult(
        network=spec.describe(),
        nodes=spec.nodes,
        rate_bits_per_s=spec.rate_bits_per_s,
        burst_bytes=spec.burst,
        expected_bits_per_s=spec.goodput_bits_per_s,
        hosts_memory=memory,
        ring_bits_per_s=ring,
        ring_slowest_bits_per_s=min(links),
        seconds=time.monotonic() - started,
        too_slow=_complaint(spec, ring),
        **found,
    )


def _complaint(spec: LabSpec, ring: float) -> str | None:
    expected = spec.goodput_bits_per_s
    if ring >= _ENOUGH * expected:
        return None
    return (
        f"with all {spec.nodes} links busy this machine carries {ring / 1e6:.0f} instead of "
        f"{expected / 1e6:.0f} Mbit/s on each; use fewer nodes or a rate of about "
        f"{max(1, round(0.8 * ring / 1e6))}mbit"
    )
