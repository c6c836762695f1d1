"""Models of the algorithms that MPI libraries choose for an all-reduce by default.

A model maps a call to an algorithm of the registry that does the same on the wire, so that the
steps and cliffs of a library's choice can be simulated. It models the choice, not the library: run
with our programs, a choice shows its rounds and bytes, nothing of buffers, protocols or memory.

Facts, as numbers, from the sources of the libraries, for one rank a node:

- Open MPI 4.1.4: ompi/mca/coll/tuned/coll_tuned_decision_fixed.c
  (ompi_coll_tuned_allreduce_intra_dec_fixed) for the tables, ompi/mca/coll/base/
  coll_base_allreduce.c for where an algorithm hands a call on to another one.
- MPICH 5.0.0: maint/tuning/coll/mpir/generic.json (collective=allreduce, comm_type=intra), which
  the ch4 device reaches by its composition beta; src/mpi/coll/src/csel.c for what the conditions
  mean.

Where the registry has no counterpart, the nearest one stands for it:

- Open MPI's reduce and then broadcast ("nonoverlapping") chooses a tree for each; below 4 KiB they
  are binomial or of radix 4, between 4 and 128 KiB, on 128 to 255 ranks, the broadcast has other
  trees. `reduce_bcast` is binomial in both.
- Open MPI's basic linear, in which the root receives from all and sends to all, has the rounds and
  bytes of a chain that is not pipelined, but a late rank holds a chain up longer.
- Open MPI's Rabenseifner lets ranks beyond a power of two share the work with their neighbours;
  ours hand it over. Both need m beta before and after.
- Its segmented ring gets no segment size by default and is then its ring.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

_EVER = math.inf
_LINEAR = "linear_tree:segments=1"

Table = tuple[tuple[float, tuple[tuple[float, str], ...]], ...]  # ranks below, (bytes below, name)

_OPENMPI_COMMUTATIVE: Table = (
    (4, ((8, "ring"), (4096, "recursive_doubling"), (8192, "ring"), (16384, "recursive_doubling"),
         (65536, "ring"), (262144, "segmented_ring"), (_EVER, "rabenseifner"))),
    (8, ((16, "ring"), (8192, "recursive_doubling"), (_EVER, "rabenseifner"))),
    (16, ((8192, "recursive_doubling"), (_EVER, "rabenseifner"))),
    (32, ((64, "segmented_ring"), (4096, "recursive_doubling"), (_EVER, "rabenseifner"))),
    (64, ((128, "segmented_ring"), (_EVER, "rabenseifner"))),
    (128, ((262144, "recursive_doubling"), (_EVER, "rabenseifner"))),
    (256, ((131072, "reduce_bcast"), (262144, "recursive_doubling"), (_EVER, "rabenseifner"))),
    (512, ((4096, "reduce_bcast"), (_EVER, "rabenseifner"))),
    (2048, ((2048, "reduce_bcast"), (16384, "recursive_doubling"), (_EVER, "rabenseifner"))),
    (4096, ((2048, "reduce_bcast"), (4096, "segmented_ring"), (16384, "recursive_doubling"),
            (_EVER, "rabenseifner"))),
    (_EVER, ((2048, "reduce_bcast"), (16384, "segmented_ring"), (32768, "recursive_doubling"),
             (_EVER, "rabenseifner"))),
)  # fmt: skip
_OPENMPI_ORDERED: Table = (
    (4, ((131072, "recursive_doubling"), (_EVER, "linear"))),
    (8, ((_EVER, "recursive_doubling"),)),
    (16, ((1048576, "recursive_doubling"), (_EVER, "reduce_bcast"))),
    (128, ((_EVER, "recursive_doubling"),)),
    (256, ((131072, "reduce_bcast"), (524288, "recursive_doubling"), (_EVER, "reduce_bcast"))),
    (512, ((4096, "reduce_bcast"), (524288, "recursive_doubling"), (_EVER, "reduce_bcast"))),
    (_EVER, ((2048, "reduce_bcast"), (_EVER, "recursive_doubling"))),
)

_MPICH_SHORT = 8  # bytes


@dataclass(frozen=True)
class Call:
    """The facts by which a library chooses."""

    ranks: int
    count: int  # elements
    bytes: int
    commutative: bool = True
    built_in: bool = True  # an operator of MPI's own, not a user's

    @property
    def power_of_two(self) -> int:
        """The greatest one that is not above the ranks."""
        return 1 << (self.ranks.bit_length() - 1)


def openmpi(call: Call) -> str:
    """The algorithm of the registry that Open MPI 4.1's choice comes down to."""
    table = _OPENMPI_COMMUTATIVE if call.commutative else _OPENMPI_ORDERED
    sizes = next(sizes for below, sizes in table if call.ranks < below)
    name = next(name for below, name in sizes if call.bytes < below)
    if name in ("ring", "segmented_ring"):  # without a segment size both are the ring
        return "ring" if call.count >= call.ranks else "recursive_doubling"
    if name == "linear" or (name == "rabenseifner" and call.count < call.power_of_two):
        return _LINEAR
    return name


def mpich(call: Call) -> str:
    """The algorithm of the registry that MPICH 5.0's choice comes down to."""
    short = call.bytes <= _MPICH_SHORT or call.count < call.power_of_two
    return "recursive_doubling" if short or not call.built_in else "rabenseifner"


MODELLED = "allreduce"  # the collective that they are about
MODELS: dict[str, Callable[[Call], str]] = {"openmpi-4.1": openmpi, "mpich-5.0": mpich}
