"""The pieces of jobs that compare latecomer.Communicator with mpi4py's own collectives."""

import time

import latecomer
import numpy as np
from mpi4py import MPI

COMM = MPI.COMM_WORLD
RANK, SIZE = COMM.rank, COMM.size


def numbers(letter: str, count: int, seed: int, rank: int = RANK) -> np.ndarray:
    """Numbers whose sums are exact, other ones on each rank."""
    return np.random.default_rng([seed, rank]).integers(0, 50, count).astype(letter)


def expect(ours: np.ndarray, mpis: np.ndarray) -> None:
    np.testing.assert_array_equal(ours, mpis)


def communicators() -> list[latecomer.Communicator]:
    """One for each choice: of algorithms, or of the one that `auto` makes."""
    names = {"allreduce": "ring", "reduce": "binomial", "bcast": "binomial",
             "allgather": "ring", "gather": "binomial", "scatter": "binomial"}  # fmt: skip
    return [latecomer.Communicator(COMM.Dup(), algorithm=each) for each in (names, "auto")]


def come_late(rank):
    """This rank goes on 0.2 s after all others said that they do."""
    if rank == RANK:
        for other in range(SIZE):
            if other != rank:
                COMM.recv(source=other, tag=9)
        time.sleep(0.2)
    else:
        COMM.send(None, rank, tag=9)
