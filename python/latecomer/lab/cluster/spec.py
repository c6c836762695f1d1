"""Description of an emulated cluster: its size, its links, and facts that follow from them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ...base.errors import UserError
from ...base.limits import LAB_NODES, LAB_PER_NODE, LAB_QUEUE_MS

# TCP payload over nominal rate. Measured with TCP over Ethernet framing on shaped links of 100, 200
# and 1000 Mbit/s: 0.955 to 0.956 each time.
GOODPUT_SHARE = 0.956

MIN_RATE, MAX_RATE = 10**6, 10**11
MIN_GSO, MAX_GSO = 2048, 65536
MAX_SKEW_S = 10**8
_BURST_GRAIN = 16384
# Milliseconds of the link rate that the burst holds. Reno recovers slower from the timers'
# unevenness than cubic and needs a deeper bucket for the same ring all-reduce.
_BURST_MS = {"cubic": 5}
_DEEP_BURST_MS = 10

_UNITS = {"": 1, "bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
_SIZES = {"": 1, "b": 1, "kib": 1 << 10, "mib": 1 << 20}
_TIMES = {"": 1, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600, "d": 86400}
# The golden ratio: its multiples without their whole parts are spread evenly, however many.
_SPREAD = (5**0.5 - 1) / 2
_NUMBER = re.compile(r"(\d{1,20}(?:\.\d+)?)([a-z]*)")
_CONGESTION = re.compile(r"[a-z0-9_]{1,15}")


class LabError(UserError):
    """The emulated cluster cannot be had, or ended in an unexpected way."""


class SpecError(LabError, ValueError):
    """A cluster was asked for that makes no sense."""


@dataclass(frozen=True)
class LabSpec:
    """An emulated cluster. Raises SpecError if a value is out of its range."""

    nodes: int
    rate_bits_per_s: int
    per_node: int = 1  # ranks on each node
    burst_bytes: int | None = None  # bytes that a link passes unshaped after a pause; None: derived
    gso_max_bytes: int = 32768  # the largest packet before segmentation
    queue_ms: int = 50  # a link drops packets that would wait longer
    congestion: str | None = None  # TCP congestion control; None: the best there is
    clock_skew_s: float = 0.0  # hosts' clocks differ by up to so much; 0: they share one

    def __post_init__(self) -> None:
        _in_range("nodes", self.nodes, 1, LAB_NODES)
        _in_range("rate (bits per second)", self.rate_bits_per_s, MIN_RATE, MAX_RATE)
        _in_range("ranks per node", self.per_node, 1, LAB_PER_NODE)
        _in_range("largest GSO packet (bytes)", self.gso_max_bytes, MIN_GSO, MAX_GSO)
        _in_range("queue (ms)", self.queue_ms, 1, LAB_QUEUE_MS)
        _in_range("clock skew (seconds)", self.clock_skew_s, 0, MAX_SKEW_S)
        # A smaller bucket makes the kernel segment in software and halves the bandwidth.
        if self.burst_bytes is not None:
            _in_range("burst (bytes)", self.burst_bytes, 4 * self.gso_max_bytes, 1 << 30)
        if self.congestion is not None and not _CONGESTION.fullmatch(self.congestion):
            raise SpecError(
                "not the name of a TCP congestion control", self.congestion, "use cubic or reno"
            )

    @property
    def ranks(self) -> int:
        """Ranks of a program that fills the cluster."""
        return self.nodes * self.per_node

    @property
    def burst(self) -> int:
        """The burst in force, in bytes."""
        if self.burst_bytes is not None:
            return self.burst_bytes
        milliseconds = _BURST_MS.get(self.congestion or "cubic", _DEEP_BURST_MS)
        wanted = max(4 * self.gso_max_bytes, self.rate_bits_per_s * milliseconds // 8000)
        return -(-wanted // _BURST_GRAIN) * _BURST_GRAIN

    @property
    def goodput_bits_per_s(self) -> float:
        """The goodput of TCP over one link that carries nothing else."""
        return GOODPUT_SHARE * self.rate_bits_per_s

    @property
    def beta_seconds_per_byte(self) -> float:
        """Time per byte of a link, the beta of the cost model."""
        return 8 / self.goodput_bits_per_s

    def clock_offset_s(self, node: int) -> float:
        """Seconds by which a node's clock is ahead of the machine's; node 0 has the machine's."""
        return self.clock_skew_s * (node * _SPREAD % 1)

    def describe(self) -> str:
        """One line for the `network` column, such as `lab 16x200mbit burst=128KiB cubic`."""
        words = ["lab", f"{self.nodes}x{format_rate(self.rate_bits_per_s)}"]
        words += [f"per-node={self.per_node}"] if self.per_node != 1 else []
        words += [f"burst={_format_bytes(self.burst)}"]
        words += [f"gso={self.gso_max_bytes}"] if self.gso_max_bytes != 32768 else []
        words += [f"queue={self.queue_ms}ms"] if self.queue_ms != 50 else []
        words += [f"clock-skew={self.clock_skew_s:g}s"] if self.clock_skew_s else []
        return " ".join(words + ([self.congestion] if self.congestion else []))


def parse_rate(text: str) -> int:
    """Bits per second of `200mbit`, `2.5gbit` or a plain number. Raises SpecError."""
    return round(_parse(text, _UNITS, "a link rate", "100mbit, 200mbit or 1gbit"))


def parse_bytes(text: str) -> int:
    """Bytes of `256KiB`, `1MiB` or a plain number. Raises SpecError."""
    return round(_parse(text, _SIZES, "a size", "131072, 128KiB or 1MiB"))


def parse_skew(text: str) -> float:
    """Seconds of `5s`, `200ms`, `2h` or a plain number. Raises SpecError."""
    return _parse(text, _TIMES, "a time", "200ms, 5s or 2h")


def format_rate(bits_per_s: int) -> str:
    """The shortest exact form that parse_rate reads."""
    for unit in ("gbit", "mbit", "kbit"):
        if bits_per_s % _UNITS[unit] == 0:
            return f"{bits_per_s // _UNITS[unit]}{unit}"
    return f"{bits_per_s}bit"


def _parse(text: str, units: Mapping[str, float], what: str, examples: str) -> float:
    match = _NUMBER.fullmatch(text.strip().lower())
    if not match or match[2] not in units:
        raise SpecError(f"not {what}", repr(text), f"write it as {examples}")
    return float(match[1]) * units[match[2]]


def _format_bytes(count: int) -> str:
    return f"{count // 1024}KiB" if count % 1024 == 0 else f"{count}B"


def _in_range(what: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise SpecError(f"{what} out of range", value, f"use a value from {low} to {high}")
