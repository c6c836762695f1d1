"""The greatest values of options, wherever they are checked again."""

from __future__ import annotations

LAB_NODES = 200  # one /24 network
LAB_PER_NODE = 64
LAB_QUEUE_MS = 5000
MOST_RANKS = 4096  # that are simulated, checked, measured or shown
MOST_OF_JOB = 1 << 20  # ranks of a job that is asked about
MOST_ITERATIONS = 1_000_000  # of anything that is measured or drawn
MOST_CALLS = 10**9  # of a trace
MOST_SEGMENTS = 1 << 16  # as the core has it
MOST_SEED = 2**63 - 1
