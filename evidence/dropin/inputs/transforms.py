"""Forward and backward Fourier transforms of a cube that the ranks share, with mpi4py-fft."""

import numpy as np
from mpi4py import MPI
from mpi4py_fft import PFFT, newDistArray

fft = PFFT(MPI.COMM_WORLD, [48, 48, 48], axes=(0, 1, 2), dtype=float)
values = newDistArray(fft, False)
values[:] = np.random.default_rng(MPI.COMM_WORLD.rank).random(values.shape)
for _ in range(60):
    back = fft.backward(fft.forward(values.copy()))
    norm = MPI.COMM_WORLD.allreduce(float((back - values).max()), MPI.MAX)
if norm > 1e-12:
    raise SystemExit(f"the transforms differ by {norm}")
