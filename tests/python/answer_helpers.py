"""Traces of loops, by the computation of each rank."""

import numpy as np
from latecomer.report.trace import Words
from trace_helpers import group_of, trace_of

JOB = {"ranks": 2, "elapsed_s": 1.0, "longest_s": 1.0, "last_to_end": 0, "waiting_s": 0, "moving_s": 0, "elsewhere_s": None, "cost_s": [], "equal_calls": [], "told": 0, "sampled_from": 0,
       "short_calls": 0, "nonblocking": 0, "persistent": 0, "neighbour": 0, "unmatched": 0,
       "calls": {"handled": 0, "fallback_intercommunicator": 0}, "skipped_s": None, "outside": []}  # fmt: skip


def loop_of(work, *, moving=0.002, hosts=None, error=0.0, **like):
    """A trace of a loop of computation, of shape (calls, ranks), and a synchronising call."""
    arrival, leave, clock = np.empty_like(work), np.empty_like(work), 0.0
    for call, own in enumerate(work):
        arrival[call] = clock + own
        clock = arrival[call].max() + moving
        leave[call] = clock
    words = Words()
    return trace_of([group_of(arrival, leave, words, **like)], words, hosts=hosts, error=error)


def work_of(calls, ranks, late=(), by=0.01, seed=1):
    """Computation of about 20 ms, and some ranks that take longer."""
    work = 0.02 * (1 + 0.05 * np.random.default_rng(seed).random((calls, ranks)))
    work[:, list(late)] += by
    return work
