"""Sums of one job, by the MPI library alone: their bits tell by which algorithm it added.

Usage: native_bits.py COLLECTIVE COUNT...      prints `COUNT: digest`, of rank 0
"""

import hashlib
import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
collective, *counts = sys.argv[1:]
for count in map(int, counts):
    # Sizes differ much, so that each order of additions rounds in another way.
    random = np.random.default_rng([count, comm.rank])
    mine = random.standard_normal(count) * 10.0 ** random.integers(-8, 8, count)
    total = np.zeros_like(mine)
    if collective == "allreduce":
        comm.Allreduce(mine, total)
    else:
        comm.Reduce(mine, total)
    if comm.rank == 0:
        print(f"{count}: {hashlib.sha256(total.tobytes()).hexdigest()[:16]}", flush=True)
