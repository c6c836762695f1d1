"""A job of ranks that compares latecomer.Communicator with mpi4py's own collectives.

Usage: mpirun -n N python mpi4py_cases.py [CASE...]. Rank 0 prints `CASE: 0` after each case;
a rank that fails ends the job.
"""

import sys
import traceback

import latecomer
import numpy as np
from latecomer.mpi import LatecomerError
from latecomer.mpi.library import handle
from mpi4py import MPI
from mpi4py_data import CASES_OF_DATA
from mpi4py_helpers import COMM, RANK, SIZE, come_late, expect
from refusals import refused


def objects():
    """The methods in lower case are mpi4py's: no buffer of a rank is written into."""
    comm = latecomer.Communicator(COMM.Dup(), algorithm={"allreduce": "ring"})
    root = SIZE - 1
    for call in (
        lambda c: c.allreduce(RANK + 1),
        lambda c: c.allreduce([RANK], MPI.SUM),
        lambda c: c.allreduce(RANK, op=lambda a, b: a + b),
        lambda c: c.allreduce(np.arange(3.0) + RANK, MPI.SUM).tolist(),
        lambda c: c.reduce(RANK, MPI.SUM, root),
        lambda c: c.reduce(np.ones(2)).tolist() if RANK == 0 else c.reduce(np.ones(2)),
        lambda c: c.allgather({"rank": RANK}),
        lambda c: c.gather(RANK, np.int32(root)),
        lambda c: c.gather(RANK, root=root),
        lambda c: c.scatter(list(range(SIZE)), 0),
        lambda c: c.bcast({"a": RANK}, root),
        lambda c: c.bcast(obj=b"text" if root == RANK else None, root=root),
        lambda c: c.bcast(np.arange(5) + RANK, root).tolist(),
        lambda c: c.bcast(np.arange(5 + RANK), root).tolist(),
        lambda c: c.bcast(np.arange(4, dtype="f4" if RANK else "i4"), root).tolist(),
        lambda c: c.bcast(np.arange(5) if root == RANK else None, root).tolist(),
    ):
        found, right = call(comm), call(COMM)
        assert found == right, (found, right)
    mine = np.full(5, RANK)
    assert comm.bcast(mine, root).tolist() == [root] * 5
    assert mine.tolist() == [RANK] * 5
    comm.Free()


def a_communicator_of_mpi4py():
    """It is one: its other methods are mpi4py's, and what is made of it has no settings."""
    comm = latecomer.Communicator(COMM.Dup(), algorithm={"allreduce": "ring"})
    assert isinstance(comm, MPI.Intracomm)
    assert (comm.rank, comm.size) == (comm.Get_rank(), comm.Get_size()) == (RANK, SIZE)
    mine, ours, mpis = np.arange(SIZE, dtype="f8") + RANK, np.zeros(SIZE), np.zeros(SIZE)
    comm.Alltoall(mine, ours)
    COMM.Alltoall(mine, mpis)
    expect(ours, mpis)
    comm.Iallreduce(mine, ours).Wait()
    comm.Barrier()
    COMM.Allreduce(mine, mpis)
    expect(ours, mpis)
    comm.Sendrecv(mine, (RANK + 1) % SIZE, recvbuf=ours, source=(RANK - 1) % SIZE)
    for made in (comm.Dup(), comm.Split(RANK % 2, RANK), latecomer.Communicator(comm)):
        made.Allreduce(mine, ours)
        MPI.Intracomm.Allreduce(made, mine, mpis)
        expect(ours, mpis)
        if made != comm:
            made.Free()
    refused(TypeError, "", latecomer.Communicator, 3)
    refused(MPI.Exception, "", latecomer.Communicator, MPI.COMM_NULL)
    comm.Free()


def functions():
    """Without settings the MPI library carries calls out."""
    comm = COMM.Dup()
    ours, mpis = np.zeros(4), np.zeros(4)
    latecomer.mpi.allreduce(comm, np.full(4, RANK), ours.astype("i8"), MPI.MAX)
    latecomer.mpi.allreduce(comm, np.full(4, float(RANK)), ours, MPI.MAX)
    expect(ours, np.full(4, SIZE - 1.0))
    latecomer.mpi.reduce(comm, ours, mpis, root=0)
    latecomer.mpi.bcast(comm, mpis)
    expect(mpis, SIZE * ours)
    whole = np.zeros(4 * SIZE)
    latecomer.mpi.allgather(comm, ours, whole)
    latecomer.mpi.allgatherv(comm, ours, whole)
    latecomer.mpi.gather(comm, ours, whole)
    latecomer.mpi.scatter(comm, whole, ours)
    found = latecomer.Communicator(comm, algorithm=None, estimate=None).stats()
    assert (found.handled, found.native) == (0, 8), found.calls
    comm.Free()


def knowledge():
    comm = latecomer.Communicator(COMM.Dup(), algorithm={"allreduce": "ring"})
    mine, ours = np.ones(1000), np.zeros(1000)
    for _ in range(5):
        with comm.computing() as progress:
            progress(0.5)
        comm.Allreduce(mine, ours)
    found = comm.stats()
    assert found.handled == 5, found.calls
    assert found.native == 0
    kind = found.kinds[0]
    assert (kind.collective, kind.bytes, kind.algorithms) == ("allreduce", 8000, {"ring": 5})
    assert found.times.told == 5
    assert found.times.inside >= found.times.waiting >= 0
    said = str(found).splitlines()
    assert said[0] == "5 calls handled, 0 by the MPI library"
    assert said[1].split()[:6] == ["allreduce", "7.812", "KiB", "5", "calls", "inside"], said
    assert said[1].endswith("ring 5")
    assert "in 5 known" in said[1]
    assert comm.arrivals().last.min() == 0 <= comm.clock_error()
    assert comm.arrivals().expected.shape == (SIZE,)
    assert comm.parameters() == ""
    comm.set_reproducible()
    comm.set_network("alpha=1us")
    comm.set_long_wait(10)
    comm.set_estimate("given")
    comm.set_arrivals([0.0] * SIZE)
    comm.set_arrivals(None)
    comm.Allreduce(mine, ours)
    comm.Free()


def errors():
    comm = latecomer.Communicator(COMM.Dup())
    comm.Set_errhandler(MPI.ERRORS_RETURN)
    mine, ours = np.zeros(4), np.zeros(4)
    refused(ValueError, "4 sent, 3 received", comm.Allreduce, mine, ours[:3])
    refused(ValueError, "the count needs 40", comm.Allreduce, [mine, 5], [ours, 5])
    refused(ValueError, "give equal ones", comm.Allreduce, mine.astype("f4"), ours)
    refused(ValueError, "-2; give numbers", comm.Bcast, [mine, 1, -2, MPI.DOUBLE])
    refused(ValueError, "-1; give numbers", comm.Allgatherv, mine,
            [ours, [0] * SIZE, [-1] * SIZE])  # fmt: skip
    refused(ValueError, "behind its end", comm.Bcast, [mine, None, 5, MPI.DOUBLE])
    refused(TypeError, "not 'int'", comm.Allreduce, 3, ours)
    refused(ValueError, "a list of 5", comm.Bcast, [mine, 1, 2, 3, 4])
    refused(ValueError, "one for each of the", comm.Allgatherv, mine, [ours, [1] * (SIZE + 1)])
    refused(ValueError, f"displacements: {SIZE + 1}; one for each of the", comm.Allgatherv, mine,
            [ours, [0] * SIZE, [0] * (SIZE + 1), MPI.DOUBLE])  # fmt: skip
    refused(ValueError, f"displacements: {1 << 31} is above", comm.Allgatherv, mine[:0],
            [ours, [0] * SIZE, [1 << 31] * SIZE, MPI.DOUBLE])  # fmt: skip
    refused(ValueError, "give [MPI.BOTTOM, count, type]", comm.Bcast, [MPI.BOTTOM, 4])
    empty = MPI.DOUBLE.Create_contiguous(0).Commit()
    refused(ValueError, "extent 0; give a count", comm.Bcast, [mine, empty])
    empty.Free()
    refused(ValueError, "no multiple", comm.Bcast, [bytearray(7), MPI.DOUBLE])
    refused(TypeError, "has no MPI datatype", comm.Bcast, [mine, "nonsense"])
    several = [mine, [4], MPI.DOUBLE]  # counts for each rank, of one part or of a whole
    refused(TypeError, "count: [4] is no integer", comm.Bcast, several)
    refused(TypeError, "count: [4] is no integer", comm.Allreduce, several, [ours, [4], MPI.DOUBLE])
    refused(TypeError, "count: [4] is no integer", comm.Reduce, several, ours)
    refused(TypeError, "count: [4] is no integer", comm.Allgatherv, several, ours)
    divided = [np.zeros(SIZE), np.ones(SIZE, int), range(SIZE), MPI.DOUBLE]
    refused(TypeError, " no integer", comm.Allgather, mine[:1], divided)
    refused(TypeError, " no integer", comm.Gather, mine[:1], divided, RANK)
    refused(TypeError, " no integer", comm.Scatter, divided, mine[:1], RANK)
    for letter in ("S2", "U2", "M8[s]", "m8[s]", "V3", "f8,i4"):  # no numbers
        odd = np.zeros(2, letter)
        refused(TypeError, "has no MPI datatype", comm.Allreduce, odd, odd.copy())
        refused(TypeError, "has no MPI datatype", comm.Bcast, odd)
    refused(
        TypeError, "algorithm: 3; give a name", latecomer.Communicator, MPI.COMM_WORLD, algorithm=3
    )
    refused(TypeError, "estimate: 3; give a text", comm.set_estimate, 3)
    refused(TypeError, "algorithm: None; give a text", comm.set_algorithm, "reduce", None)
    refused(TypeError, "costs: 3; give a text", comm.set_network, 3)
    locked = np.zeros(4)
    locked.flags.writeable = False
    refused((BufferError, ValueError), "", comm.Allreduce, mine, locked)
    refused(
        MPI.Exception,
        "'frob' is not usable; right would be one of auto",
        comm.set_algorithm,
        "allreduce",
        "frob",
    )
    refused(LatecomerError, "estimate", comm.set_estimate, "frob")
    refused(MPI.Exception, "frob", comm.set_network, "frob")
    refused(MPI.Exception, "", comm.Allreduce, [mine, 4, MPI.DOUBLE], [ours, 4, MPI.DOUBLE],
            MPI.OP_NULL)  # fmt: skip
    of, call = handle(comm), comm._library.call
    counts = np.zeros(SIZE + 1, np.uint64).ctypes.data
    refused(MPI.Exception, "calls: 'NULL", call, "get_last_to_arrive", of, None, SIZE)
    refused(MPI.Exception, "ranks: ", call, "get_last_to_arrive", of, counts, SIZE + 1)
    assert LatecomerError(MPI.ERR_ARG, "x").Get_error_class() == MPI.ERR_ARG
    comm.Allreduce(mine, ours)
    comm.Free()


def whole_numbers():
    """What is no integer, or none that C holds, is an error before anything is sent."""
    comm = latecomer.Communicator(COMM.Dup(), algorithm="native")
    comm.Set_errhandler(MPI.ERRORS_RETURN)
    mine, ours, all_ = np.arange(SIZE), np.zeros(SIZE, int), np.zeros((SIZE, SIZE), int)
    rooted = (
        lambda root: comm.Bcast(ours, root),
        lambda root: comm.Reduce(mine, ours, MPI.SUM, root),
        lambda root: comm.Gather(mine, all_, root),
        lambda root: comm.Scatter(all_, ours, root),
        lambda root: comm.bcast_init(ours, root),
        lambda root: comm.reduce_init(mine, ours, MPI.SUM, root),
        lambda root: comm.gather_init(mine, all_, root),
        lambda root: comm.scatter_init(all_, ours, root),
    )
    for call in rooted:
        for far in (2**32, 2**32 + 1, 2**31, -(2**31) - 1, -(2**64), np.uint64(2**63), 10**30):
            refused(OverflowError, f"root: {far}; give a number from", call, far)
        for other in (1.0, 0.0, np.float64(1), "1", None, np.bool_(True), 1j):
            refused(TypeError, f"root: {other!r} is no integer", call, other)
    for call in rooted[:4]:  # the announced ones say it when they are carried out
        for none in (-1, SIZE, 2**31 - 1):
            refused(MPI.Exception, "root", call, none)
    for root in (np.int32(1), np.uint8(1), np.array(1), True):
        expected = np.full(SIZE, 1)
        ours[:] = RANK
        comm.Bcast(ours, root)
        expect(ours, expected)
    part = np.ones(1, int)
    for wrong, error in ((1.0, TypeError), (np.float64(1), TypeError), (1j, TypeError),
                         (-1, ValueError), (np.int64(-1), ValueError)):  # fmt: skip
        said = "count: "
        refused(error, said, comm.Bcast, [ours, wrong])
        refused(error, said, comm.Allreduce, [mine, wrong], [ours, wrong])
        refused(error, said, comm.Allgatherv, part, [ours, [wrong] * SIZE])
        refused(error, said, comm.Bcast, [MPI.BOTTOM, wrong, MPI.BYTE])
    for wrong in (1.0, 0.0, "0", np.float32(0)):
        refused(TypeError, "displacement: ", comm.Bcast, [ours, 1, wrong, MPI.INT64_T])
        refused(TypeError, "displacement: ", comm.Allgatherv, part, [ours, [1] * SIZE,
                                                                     [wrong] * SIZE])  # fmt: skip
    for far in (2**31, 2**32, 2**32 + 1):
        refused(ValueError, "", comm.Allgatherv, part, [ours, [1] * SIZE, [far] * SIZE])
        refused(ValueError, "", comm.Allgatherv, part, [ours, [far] * SIZE])
        refused(ValueError, "", comm.Bcast, [ours, far])
        empty = [ours, [0] * SIZE, [-far] * SIZE]
        refused(ValueError, f"displacements: {-far}", comm.Allgatherv, part[:0], empty)
    counts = np.array([1] * SIZE, np.int16)
    comm.Allgatherv(part * RANK, [ours, counts, np.arange(SIZE, dtype=np.uint32)])
    expect(ours, np.arange(SIZE))
    comm.Free()


def observed():
    comm = latecomer.Communicator(COMM.Dup(), algorithm={"allreduce": "ring"})
    mine, ours = np.ones(2000), np.zeros(2000)
    comm.Allreduce(mine, ours)
    with latecomer.observe(comm) as o:
        for _ in range(5):
            come_late(1)
            comm.Allreduce(mine, ours)
        refused(RuntimeError, "must have ended", o.summary)
    found = o.summary()
    assert found.calls == 5, found
    assert found.late.rank == 1, found
    assert found.late.last >= 3, found  # the system may hold up others
    assert all(rank.waiting > 0.5 for rank in found.ranks if rank.rank != 1), found
    assert 0 < found.waiting < 1, found
    assert "Rank 1" in str(found)
    with latecomer.observe(comm) as o:
        pass
    assert "No collective call was seen" in str(o.summary())
    comm.Free()


def unchanged_program():
    """With the drop-in library, mpi4py's own collectives are seen."""
    comm = COMM.Dup()
    mine, ours = np.ones(200000), np.zeros(200000)
    with latecomer.observe(comm) as o:
        for _ in range(4):
            come_late(0)
            comm.Allreduce(mine, ours)
    found = o.summary()
    assert found.calls == 4, found
    assert found.ranks[0].waiting < min(rank.waiting for rank in found.ranks[1:]), found
    comm.Free()


def under_observe():
    """LATECOMER=observe keeps no times of a block, and the summary says so."""
    comm = COMM.Dup()
    mine, ours = np.ones(2000), np.zeros(2000)
    with latecomer.observe(comm) as o:
        for _ in range(4):
            comm.Allreduce(mine, ours)
    assert "leave out `--observe`" in str(o.summary()), o.summary()
    with latecomer.observe(comm) as o:
        latecomer.Communicator(comm, algorithm={"allreduce": "ring"}).Allreduce(mine, ours)
    assert o.summary().calls == 1, o.summary()
    comm.Free()


CASES = [*CASES_OF_DATA, objects, a_communicator_of_mpi4py, functions, knowledge, errors,
         whole_numbers, observed]  # fmt: skip


def broken():
    """One rank fails, the others wait for it."""
    assert RANK != 1
    COMM.Barrier()


def main(names):
    more = [unchanged_program, under_observe, broken]
    for case in [each for each in (*CASES, *more) if each.__name__ in names] or CASES:
        try:
            case()
        except Exception:
            traceback.print_exc()
            print(f"{case.__name__}: failed on rank {RANK}", flush=True)
            COMM.Abort(1)  # the others may wait for this rank
        COMM.Barrier()
        if RANK == 0:
            print(f"{case.__name__}: 0", flush=True)


main(sys.argv[1:])
