"""Data of latecomer.Communicator against those of mpi4py's own collectives."""

import gc
import weakref

import latecomer
import numpy as np
from latecomer.mpi import buffers
from mpi4py import MPI
from mpi4py_helpers import COMM, RANK, SIZE, communicators, expect, numbers
from refusals import refused

TYPES = ("f4", "f8", "i4", "i8", "u1", "c16")


def every_collective():
    draw = np.random.default_rng(5)
    for comm in communicators():
        for seed in range(12):
            letter, count = draw.choice(TYPES), int(draw.choice([0, 1, 7, 1000]))
            root = int(draw.integers(SIZE))
            one_collective_each(comm, str(letter), count, root, seed)
        comm.Free()


def one_collective_each(comm, letter, count, root, seed):
    mine = numbers(letter, count, seed)
    ours, mpis = np.zeros((2, count), letter)
    op = MPI.SUM if letter == "c16" else (MPI.SUM, MPI.MAX, MPI.PROD)[seed % 3]
    comm.Allreduce(mine, ours, op)
    COMM.Allreduce(mine, mpis, op)
    expect(ours, mpis)
    comm.Reduce(mine, ours if root == RANK else None, op, root)
    COMM.Reduce(mine, mpis if root == RANK else None, op, root)
    expect(ours, mpis)
    ours, mpis = mine.copy(), mine.copy()
    comm.Bcast(ours, root)
    COMM.Bcast(mpis, root)
    expect(ours, mpis)
    many_ours, many_mpis = np.zeros((2, SIZE * count), letter)
    comm.Allgather(mine, many_ours)
    COMM.Allgather(mine, many_mpis)
    expect(many_ours, many_mpis)
    many_ours[:] = many_mpis[:] = 0
    comm.Gather(mine, many_ours if root == RANK else None, root)
    COMM.Gather(mine, many_mpis if root == RANK else None, root)
    expect(many_ours, many_mpis)
    all_ = numbers(letter, SIZE * count, seed) if root == RANK else None
    comm.Scatter(all_, ours, root)
    COMM.Scatter(all_, mpis, root)
    expect(ours, mpis)


def in_place():
    for comm in communicators():
        mine = numbers("f8", 100, 1)
        ours, mpis = mine.copy(), mine.copy()
        comm.Allreduce(MPI.IN_PLACE, ours)
        COMM.Allreduce(MPI.IN_PLACE, mpis)
        expect(ours, mpis)
        sent = (MPI.IN_PLACE, mine.copy()) if RANK == 1 else (mine, None)
        comm.Reduce(*sent, root=1)
        if RANK == 1:
            expect(sent[1], mpis)
        whole = np.zeros((SIZE, 100))
        whole[RANK] = mine
        other = whole.copy()
        comm.Allgather(MPI.IN_PLACE, whole)
        COMM.Allgather(MPI.IN_PLACE, other)
        expect(whole, other)
        sent = (MPI.IN_PLACE, whole.copy()) if RANK == 0 else (mine, None)
        comm.Gather(*sent)
        taken = (whole, MPI.IN_PLACE) if RANK == 0 else (None, ours)
        comm.Scatter(*taken)
        expect(ours if RANK else mine, mine)
        comm.Free()


def parts_of_all_sizes():
    counts = [3 * rank + 1 for rank in range(SIZE)]
    for comm in communicators():
        mine = numbers("i4", counts[RANK], 3)
        for places in (None, [20 * rank for rank in range(SIZE)]):
            ours, mpis = np.zeros((2, 20 * SIZE), "i4")
            comm.Allgatherv(mine, [ours, (counts, places)])
            COMM.Allgatherv(mine, [mpis, (counts, places)])
            expect(ours, mpis)
        ours[:] = 0
        comm.Allgatherv(mine, [ours, counts, places, MPI.INT])
        expect(ours, mpis)
        comm.Free()


def derived_types():
    vector = MPI.DOUBLE.Create_vector(4, 1, 3).Commit()
    pair = MPI.Datatype.Create_struct([1, 1], [0, 8], [MPI.INT, MPI.DOUBLE]).Commit()
    for comm in communicators():
        mine = numbers("f8", 10, 2)
        ours, mpis = np.zeros((2, SIZE * 4))
        comm.Allgather([mine, 1, vector], ours)
        COMM.Allgather([mine, 1, vector], mpis)
        expect(ours, mpis)
        records = np.zeros(5, np.dtype([("a", "i4"), ("b", "f8")], align=True))
        records["a"], records["b"] = numbers("i4", 5, 4), numbers("f8", 5, 5)
        others = records.copy()
        comm.Bcast([records, 5, pair], root=SIZE - 1)
        COMM.Bcast([others, 5, pair], root=SIZE - 1)
        expect(records, others)
        comm.Free()
    vector.Free()
    pair.Free()


def user_operators():
    def after(left, right, datatype):
        """Linear maps a x + b, one after another: the order counts."""
        a, b = (np.frombuffer(each, np.int64).reshape(-1, 2) for each in (left, right))
        b[:] = np.stack([a[:, 0] * b[:, 0], b[:, 0] * a[:, 1] + b[:, 1]], axis=1)

    op = MPI.Op.Create(after, commute=False)
    map_ = MPI.INT64_T.Create_contiguous(2).Commit()
    for comm in communicators():
        mine = numbers("i8", 60, 7)
        ours, mpis = np.zeros((2, 60), "i8")
        comm.Allreduce([mine, 30, map_], [ours, 30, map_], op)
        COMM.Allreduce([mine, 30, map_], [mpis, 30, map_], op)
        expect(ours, mpis)
        comm.Free()
    map_.Free()
    op.Free()


def long_vectors():
    """Counts above those of C, with a limit that a test can reach."""
    limit, buffers.MAX_COUNT = buffers.MAX_COUNT, 16
    try:
        for comm in communicators():
            mine, ours = numbers("f4", 100, 8), np.zeros(100, "f4")
            comm.Allreduce(mine, ours)
            expect(ours, sum(numbers("f4", 100, 8, rank) for rank in range(SIZE)))
            in_place_, requested = mine.copy(), np.zeros(100, "f4")
            comm.Allreduce(MPI.IN_PLACE, in_place_)
            expect(in_place_, ours)
            request = comm.allreduce_init(mine, requested)
            request.start()
            request.wait()
            request.free()
            expect(requested, ours)
            comm.Reduce(mine, requested if RANK == 0 else None)
            whole = np.zeros((SIZE, 100), "f4")
            comm.Allgather(mine, whole)
            expect(whole, np.stack([numbers("f4", 100, 8, rank) for rank in range(SIZE)]))
            comm.Bcast(mine, root=1)
            expect(mine, whole[1])
            comm.Free()
    finally:
        buffers.MAX_COUNT = limit


def persistent():
    for comm in communicators():
        mine, ours = np.zeros(50), np.zeros(50)
        part, whole = np.zeros(2), np.zeros(2 * SIZE)
        requests = [comm.allreduce_init(mine, ours), comm.allgather_init(part, whole),
                    comm.allgatherv_init(part, whole), comm.bcast_init(part, root=0),
                    comm.reduce_init(mine, ours if RANK == 0 else None),
                    comm.gather_init(part, whole if RANK == 0 else None),
                    comm.scatter_init(whole if RANK == 0 else None, part)]  # fmt: skip
        for step in range(3):
            mine[:] = RANK + step
            for request in requests:
                request.start()
                request.wait()
            expect(ours, np.full(50, sum(rank + step for rank in range(SIZE))))
        for request in requests:
            request.free()
            request.free()
        comm.Free()


def requests_without_a_name():
    """Buffers of a started request live until its call, which the next collective carries out."""
    comm = latecomer.Communicator(COMM.Dup(), algorithm={"allreduce": "ring"})
    for step in range(5):
        mine = np.full(1 << 16, float(RANK + step))
        lives = weakref.ref(mine)
        comm.allreduce_init(mine, np.zeros(1 << 16)).start()
        del mine
        gc.collect()
        assert lives() is not None
        ours = np.zeros(10)
        comm.Allreduce(np.ones(10), ours)
        expect(ours, np.full(10, float(SIZE)))
    request = comm.allreduce_init(ours, np.zeros(10))
    request.free()
    refused(MPI.Exception, "it was freed", request.start)
    refused(MPI.Exception, "it was freed", request.wait)
    comm.Free()


def nothing_given():
    """None means as in mpi4py: in place where a vector would be sent, elsewhere a mistake."""
    comm = latecomer.Communicator(COMM.Dup(), algorithm=None)
    ours, mpis = np.zeros((2, 2 * SIZE))
    for buffer in (ours, mpis):
        buffer[:] = np.arange(2 * SIZE) + RANK
    comm.Allreduce(None, ours)
    COMM.Allreduce(None, mpis)
    expect(ours, mpis)
    comm.Allgather(None, ours)
    COMM.Allgather(None, mpis)
    comm.Allgatherv(None, [ours, [2] * SIZE])
    COMM.Allgatherv(None, [mpis, [2] * SIZE])
    expect(ours, mpis)
    at_root, part = RANK == 0, np.full(2, float(RANK))
    comm.Gather(None if at_root else part, ours)
    COMM.Gather(None if at_root else part, mpis)
    comm.Reduce(None if at_root else 2 * ours, ours)
    COMM.Reduce(None if at_root else 2 * mpis, mpis)
    comm.Scatter(ours, None if at_root else part)
    expect(ours, mpis)
    refused(TypeError, "None", comm.Bcast, None)
    refused(TypeError, "None", comm.Allreduce, ours, None)
    refused(TypeError, "None", comm.Allgather, part, None)
    refused(TypeError, "None", comm.Allgatherv, part, None)
    refused(TypeError, "None", comm.Gather, part if at_root else None, None)
    refused(TypeError, "None", comm.Scatter, None, part if at_root else None)
    comm.Free()


def memory_in_uneven_parts():
    """Without counts: allgatherv gives the first ranks one element more, the others refuse."""
    comm = latecomer.Communicator(COMM.Dup(), algorithm=None)
    for rest in range(SIZE):
        ours, mpis = np.zeros((2, 5 * SIZE + rest))
        mine = np.full(5 + (rest > RANK), RANK + 1.0)
        comm.Allgatherv(mine, ours)
        COMM.Allgatherv(mine, mpis)
        expect(ours, mpis)
    odd, part = np.zeros(2 * SIZE + 1), np.zeros(2)
    refused(ValueError, "give equal parts", comm.Allgather, part, odd)
    refused(ValueError, "give equal parts", comm.Gather, part, odd, root=RANK)
    refused(ValueError, "give equal parts", comm.Scatter, odd, part, root=RANK)
    comm.Free()


CASES_OF_DATA = [every_collective, in_place, parts_of_all_sizes, derived_types, user_operators,
                 long_vectors, persistent, requests_without_a_name, nothing_given,
                 memory_in_uneven_parts]  # fmt: skip
