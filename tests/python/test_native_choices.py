"""The models of MPI libraries' choices, at the borders of their decisions."""

import pytest
from latecomer.core.compiled import core
from latecomer.core.native_choices import MODELS, Call, mpich, openmpi

DOUBLING, RABENSEIFNER, RING = "recursive_doubling", "rabenseifner", "ring"
TREE = "reduce_bcast"
LINEAR = "linear_tree:segments=1"

# Ranks, bytes of float32, Open MPI 4.1.4's choice for a commutative operator. Each pair of lines
# is a border of coll_tuned_decision_fixed.c, or of the functions that it calls.
OPENMPI = [
    (2, 4, DOUBLING),  # ring, but fewer numbers than ranks
    (2, 4092, DOUBLING),
    (2, 4096, RING),
    (2, 8188, RING),
    (2, 8192, DOUBLING),
    (2, 16380, DOUBLING),
    (2, 16384, RING),
    (2, 65536, RING),  # segmented ring without a segment size
    (2, 262140, RING),
    (3, 262144, RABENSEIFNER),
    (4, 12, DOUBLING),  # ring, but fewer numbers than ranks
    (4, 16, DOUBLING),
    (7, 8188, DOUBLING),
    (7, 8192, RABENSEIFNER),
    (15, 8188, DOUBLING),
    (15, 8192, RABENSEIFNER),
    (16, 60, DOUBLING),  # segmented ring, but fewer numbers than ranks
    (31, 4092, DOUBLING),
    (31, 4096, RABENSEIFNER),
    (32, 124, DOUBLING),
    (32, 128, RABENSEIFNER),
    (63, 128, RABENSEIFNER),
    (64, 262140, DOUBLING),
    (127, 262144, RABENSEIFNER),
    (128, 131068, TREE),
    (128, 131072, DOUBLING),
    (255, 262140, DOUBLING),
    (255, 262144, RABENSEIFNER),
    (256, 4092, TREE),
    (511, 4096, RABENSEIFNER),
    (512, 2044, TREE),
    (2047, 2048, DOUBLING),
    (2047, 16380, DOUBLING),
    (2047, 16384, RABENSEIFNER),
    (2048, 2044, TREE),
    (2048, 2048, DOUBLING),  # segmented ring, but fewer numbers than ranks
    (4095, 4096, DOUBLING),
    (4095, 16384, RABENSEIFNER),
    (4096, 16380, DOUBLING),
    (4096, 16384, DOUBLING),
    (4096, 32764, DOUBLING),
    (4096, 32768, RABENSEIFNER),
]

# The same where the operator does not commute.
OPENMPI_ORDERED = [
    (3, 131068, DOUBLING),
    (3, 131072, LINEAR),
    (4, 1 << 24, DOUBLING),
    (8, 1048572, DOUBLING),
    (15, 1048576, TREE),
    (16, 1 << 24, DOUBLING),
    (127, 1 << 24, DOUBLING),
    (128, 131068, TREE),
    (128, 131072, DOUBLING),
    (255, 524284, DOUBLING),
    (255, 524288, TREE),
    (256, 4092, TREE),
    (256, 4096, DOUBLING),
    (511, 524288, TREE),
    (512, 2044, TREE),
    (512, 2048, DOUBLING),
]


@pytest.mark.parametrize(("ranks", "size", "right"), OPENMPI)
def test_open_mpi(ranks, size, right):
    assert openmpi(Call(ranks, size // 4, size)) == right


@pytest.mark.parametrize(("ranks", "size", "right"), OPENMPI_ORDERED)
def test_open_mpi_in_rank_order(ranks, size, right):
    assert openmpi(Call(ranks, size // 4, size, commutative=False)) == right


def test_open_mpi_with_fewer_numbers_than_rabenseifner_needs():
    assert openmpi(Call(32, 31, 248)) == LINEAR  # float64
    assert openmpi(Call(32, 32, 256)) == RABENSEIFNER
    assert openmpi(Call(63, 31, 248)) == LINEAR


def test_mpich():
    assert mpich(Call(2, 2, 8)) == DOUBLING
    assert mpich(Call(2, 3, 12)) == RABENSEIFNER
    assert mpich(Call(31, 15, 60)) == DOUBLING  # fewer numbers than the power of two, 16
    assert mpich(Call(31, 16, 64)) == RABENSEIFNER
    assert mpich(Call(32, 31, 124)) == DOUBLING
    assert mpich(Call(32, 1 << 20, 1 << 22)) == RABENSEIFNER
    assert mpich(Call(32, 1 << 20, 1 << 22, built_in=False)) == DOUBLING


def test_choices_are_of_the_registry_and_take_the_operator():
    for model in MODELS.values():
        for ranks in (1, 2, 3, 5, 8, 24, 32, 127, 128, 300, 1000, 4000, 4096):
            for size in (4 << power for power in range(23)):
                for commutative in (True, False):
                    name = model(Call(ranks, size // 4, size, commutative, commutative))
                    assert core.accepts_operator("allreduce", name, commutative), (ranks, size)
