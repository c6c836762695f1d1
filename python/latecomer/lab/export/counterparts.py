"""Algorithms of MPI libraries that do on the wire what ours of another name do.

Sources: ompi/mca/coll/tuned/coll_tuned_*_decision.c of Open MPI 4.1.4 for the numbers, and of 6 for
the names; src/mpi/coll/coll_algorithms.txt of MPICH 5.0 for the names and for what they need.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Theirs:
    """A library's algorithm: the counterpart of one of ours."""

    name: str
    number: int = 0  # in Open MPI's text
    segmented: bool = False  # takes the bytes of a segment
    fan: int = 0  # the radix
    needs: tuple[str, ...] = ()  # conditions of MPICH under which it works
    size: int = 0  # bytes of a segment
    any_order: bool = False  # wrong results where an operator does not commute; nobody checks


Counterparts = Mapping[str, Mapping[str, Theirs]]  # by collective and our name

OPENMPI: Counterparts = {
    "allreduce": {
        "reduce_bcast": Theirs("nonoverlapping", 2),
        "recursive_doubling": Theirs("recursive_doubling", 3),
        "ring": Theirs("ring", 4, any_order=True),
        "segmented_ring": Theirs("segmented_ring", 5, segmented=True, any_order=True),
        "rabenseifner": Theirs("rabenseifner", 6),
    },
    "bcast": {
        "flat": Theirs("basic_linear", 1),
        "linear": Theirs("pipeline", 3, segmented=True),
        "binomial": Theirs("binomial", 6),
        "scatter_allgather:allgather=doubling": Theirs("scatter_allgather", 8),
        "scatter_allgather:allgather=ring": Theirs("scatter_allgather_ring", 9),
    },
    "reduce": {
        "linear": Theirs("linear", 1),
        "linear_tree": Theirs("pipeline", 3, segmented=True, any_order=True),
        "binary_tree": Theirs("binary", 4, segmented=True, any_order=True),
        "binomial": Theirs("binomial", 5, any_order=True),
        "rabenseifner": Theirs("rabenseifner", 7),
    },
    "allgather": {
        "gather_bcast": Theirs("linear", 1),
        "bruck": Theirs("bruck-k-fanout", 2, fan=2),
        "recursive_doubling": Theirs("recursive_doubling", 3),
        "ring": Theirs("ring", 4),
        "neighbor_exchange": Theirs("neighbor", 5),
    },
    "gather": {"binomial": Theirs("binomial", 2), "linear_sync": Theirs("linear_sync", 3)},
    "scatter": {"linear": Theirs("basic_linear", 1), "binomial": Theirs("binomial", 2)},
}
NUMBERS = {"allgather": 0, "allreduce": 2, "bcast": 7, "gather": 9, "reduce": 11, "scatter": 15}

_HALVING = ("count>=pow2", "is_op_built_in=yes")
MPICH: Counterparts = {
    "allreduce": {
        "recursive_doubling": Theirs("recursive_doubling"),
        "ring": Theirs("ring", needs=("is_commutative=yes",)),
        "rabenseifner": Theirs("reduce_scatter_allgather", needs=_HALVING),
    },
    "bcast": {
        "binomial": Theirs("binomial"),
        "scatter_allgather:allgather=doubling": Theirs("scatter_recursive_doubling_allgather"),
        "scatter_allgather:allgather=ring": Theirs("scatter_ring_allgather"),
    },
    "reduce": {
        "binomial": Theirs("binomial"),
        "rabenseifner": Theirs("reduce_scatter_gather", needs=_HALVING),
    },
    "allgather": {
        "bruck": Theirs("brucks"),
        "recursive_doubling": Theirs("recursive_doubling", needs=("comm_size=pow2",)),
        "ring": Theirs("ring"),
    },
    "gather": {},  # one algorithm: nothing to choose
    "scatter": {},
}
