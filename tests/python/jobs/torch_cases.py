"""A job of ranks that compares latecomer's process group and DDP hook with Gloo.

Usage: mpirun -n N python torch_cases.py [CASE...]. Rank 0 prints `CASE: MISTAKES` for each case.
"""

import gc
import sys
import threading
import time
import traceback

import latecomer.torch
import torch
import torch.distributed as dist
from latecomer.mpi import buffers
from latecomer.torch.work import _dropped, forget_dropped
from mpi4py import MPI
from refusals import refused
from torch import nn
from torch.nn.parallel import DistributedDataParallel

RANK, SIZE = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
TYPES = (torch.float32, torch.float64, torch.int32, torch.int64, torch.uint8)


def numbers(dtype, *shape, seed=0):
    draw = torch.Generator().manual_seed(100 * seed + RANK)
    return torch.randint(0, 5, shape, generator=draw).to(dtype)


def both(call, *shape, dtype=torch.float32, seed=0):
    """What the call makes of the same tensor with latecomer and with Gloo."""
    found = []
    for group in (None, GLOO):
        tensor = numbers(dtype, *shape, seed=seed)
        result = call(tensor, group)
        found.append(tensor if result is None else result)
    return found


def expect(ours, gloos):
    assert len(ours) == len(gloos)
    for mine, other in zip(ours, gloos, strict=True):
        assert torch.equal(mine, other), f"{mine} is not {other}"


def reductions():
    op = dist.ReduceOp
    for dtype in TYPES:
        for kind in (op.SUM, op.PRODUCT, op.MIN, op.MAX):
            expect(*both(lambda t, g, o=kind: dist.all_reduce(t, o, g), 3, 4, dtype=dtype))
            ours, gloos = both(lambda t, g, o=kind: dist.reduce(t, 1, o, g), 5, dtype=dtype)
            if RANK == 1:
                expect(ours, gloos)
    for kind in (op.BAND, op.BOR, op.BXOR):
        expect(*both(lambda t, g, o=kind: dist.all_reduce(t, o, g), 9, dtype=torch.int64))
    half = torch.full((3,), RANK + 1, dtype=torch.bfloat16)
    dist.all_reduce(half)
    assert half[0] == sum(range(1, SIZE + 1))
    mean = torch.full((3,), float(RANK))
    dist.all_reduce(mean, op.AVG)
    assert mean[0] == (SIZE - 1) / 2
    truth = torch.tensor([RANK == 0, True, False])
    dist.all_reduce(truth)
    assert truth.tolist() == [True, True, False]
    turned = numbers(torch.float32, 4, 3).T  # not contiguous
    wanted = turned.clone()
    dist.all_reduce(turned)
    dist.all_reduce(wanted, group=GLOO)
    expect(turned, wanted)


def moves():
    for dtype in (*TYPES, torch.bfloat16):
        expect(*both(lambda t, g: dist.broadcast(t, 1, g), 7, dtype=dtype))
    expect(*both(gathered, 2, 3))
    expect(*both(gathered_at_root, 4))
    expect(*both(scattered, 3))
    uneven = [torch.zeros(rank + 1) for rank in range(SIZE)]
    dist.all_gather(uneven, torch.full((RANK + 1,), float(RANK)))
    assert [float(each[0]) for each in uneven] == list(range(SIZE))
    everyone = [None] * SIZE
    dist.all_gather_object(everyone, {"rank": RANK})
    assert everyone == [{"rank": rank} for rank in range(SIZE)]
    whole = torch.zeros(2 * SIZE)
    dist.all_gather_into_tensor(whole, torch.full((2,), float(RANK)))
    assert whole.tolist() == [float(rank) for rank in range(SIZE) for _ in range(2)]


def gathered(tensor, group):
    parts = [torch.zeros_like(tensor) for _ in range(SIZE)]
    dist.all_gather(parts, tensor, group)
    return torch.stack(parts)


def gathered_at_root(tensor, group):
    parts = [torch.zeros_like(tensor) for _ in range(SIZE)] if RANK == 0 else None
    dist.gather(tensor, parts, 0, group)
    return torch.stack(parts) if parts else tensor


def scattered(tensor, group):
    parts = [tensor + rank for rank in range(SIZE)] if RANK == 0 else None
    part = torch.zeros_like(tensor)
    dist.scatter(part, parts, 0, group)
    return part


def exchanges():
    part = torch.zeros(2)
    dist.reduce_scatter(part, [torch.full((2,), float(rank)) for rank in range(SIZE)])
    assert part.tolist() == [RANK * SIZE] * 2
    dist.reduce_scatter_tensor(part, torch.arange(2.0 * SIZE))
    assert part.tolist() == [SIZE * (2 * RANK), SIZE * (2 * RANK + 1)]
    sent = [torch.full((rank + 1,), float(RANK)) for rank in range(SIZE)]
    got = [torch.zeros(RANK + 1) for _ in range(SIZE)]
    dist.all_to_all(got, sent)
    assert [float(each[0]) for each in got] == list(range(SIZE))
    sizes = [rank + 1 for rank in range(SIZE)]
    flat = torch.zeros(SIZE * (RANK + 1))
    dist.all_to_all_single(flat, torch.cat(sent), [RANK + 1] * SIZE, sizes)
    assert flat.tolist() == torch.cat(got).tolist()
    equal = torch.zeros(SIZE, 2)
    dist.all_to_all_single(equal, torch.full((SIZE, 2), float(RANK)))
    assert equal[:, 0].tolist() == list(range(SIZE))


def long_parts():
    """More bytes than a count of C tells, with a limit that a test can reach."""
    assert buffers.in_units([10, 6])[:2] == ([10, 6], MPI.BYTE)
    limit, buffers.MAX_COUNT = buffers.MAX_COUNT, 40
    try:
        counts, unit, made = buffers.in_units([0, 300, 180])
        assert (counts, unit.Get_extent(), unit.Get_size()) == ([0, 5, 3], (0, 60), 60)
        for each in made:
            each.Free()
        exchanges()
        moves()
        messages()
        uneven = [torch.zeros(20 * rank) for rank in range(SIZE)]
        dist.all_gather(uneven, torch.full((20 * RANK,), float(RANK)))
        assert [each.tolist() for each in uneven] == [[rank] * 20 * rank for rank in range(SIZE)]
        sent = [torch.full((20 * rank,), float(RANK)) for rank in range(SIZE)]
        got = [torch.zeros(20 * RANK) for _ in range(SIZE)]
        dist.all_to_all(got, sent)
        assert [each.tolist() for each in got] == [[rank] * 20 * RANK for rank in range(SIZE)]
    finally:
        buffers.MAX_COUNT = limit


def overlapping():
    """PyTorch's sharding gathers from a part of the tensor that it gathers in; MPI may refuse that."""
    whole = torch.zeros(SIZE, 3)
    whole[RANK] = RANK
    dist.all_gather_into_tensor(whole, whole[RANK])
    assert whole[:, 0].tolist() == list(range(SIZE))
    rows = torch.full((SIZE, 2), float(RANK))
    dist.all_to_all_single(rows, rows)
    assert rows[:, 0].tolist() == list(range(SIZE))
    square = torch.arange(4.0).reshape(2, 2) + RANK
    turned = torch.zeros(SIZE * 2, 2)
    dist.all_gather_into_tensor(turned, square.t())  # whose contiguous copy must outlive the call
    assert turned[2 * RANK : 2 * RANK + 2].tolist() == square.t().tolist()


def failures():
    """An error of a collective is raised where the program waits for it."""
    group = dist.group.WORLD

    def task(_):
        raise RuntimeError("no such thing")

    work = group._submit([], task)
    refused(RuntimeError, "no such thing", work.wait)
    assert work.is_completed()
    assert not work.is_success()
    refused(RuntimeError, "no such thing", work.result)
    several = group._last([work, group._submit([], lambda _: [])], [])
    refused(RuntimeError, "no such thing", several.wait)


def closed():
    """Calls after the end of the thread are errors: nothing would carry them out."""
    state = latecomer.torch.HookState()
    model = with_hook(state, GLOO)(nn.Linear(2, 1), 25.0)
    model(torch.ones(1, 2)).sum().backward()
    state.close()
    refused(RuntimeError, "this HookState was closed", model(torch.ones(1, 2)).sum().backward)
    group = dist.new_group(backend="latecomer")
    dist.destroy_process_group(group)
    refused(RuntimeError, "this group was destroyed", group.allreduce, torch.ones(1))
    refused(RuntimeError, "this group was destroyed", group.barrier)


def messages():
    long = torch.full((300_000,), float(RANK))  # too long to be sent before it is asked for
    got = torch.zeros_like(long)
    after, before = (RANK + 1) % SIZE, (RANK - 1) % SIZE
    works = dist.batch_isend_irecv([dist.P2POp(dist.isend, long, after),
                                    dist.P2POp(dist.irecv, got, before)])  # fmt: skip
    total = torch.ones(1)
    dist.all_reduce(total)  # goes on while messages are under way
    for work in works:
        work.wait()
    assert got[0] == before
    assert works[0].is_completed()
    if RANK == 0:
        found = {dist.recv(got) for _ in range(SIZE - 1)}
        assert found == set(range(1, SIZE))
    else:
        dist.send(long, 0)
    work = dist.irecv(got, before) if RANK else dist.isend(long, after)
    if RANK == 0:
        dist.recv(got, before)
    else:
        assert work.get_future().wait()[0] is got
        dist.send(long, after)
    work.wait()


def dropped_messages():
    """Nobody keeps the works, nor the tensors that are sent."""
    first, second = torch.zeros(2, 300_000), torch.zeros(600_000)
    if RANK == 0:
        for value in (7.0, 8.0):
            dist.isend(torch.full((600_000,), value), 1)
        gc.collect()
        others = [torch.full((600_000,), 9.0) for _ in range(4)]  # where the tensors were
    dist.barrier()
    if RANK == 1:
        dist.irecv(first.T, 0)
        dist.recv(second, 0)
    while _dropped:
        forget_dropped()
    if RANK == 1:
        assert set(first.reshape(-1).tolist()) == {7.0}
        assert set(second.tolist()) == {8.0}
    elif RANK == 0:
        assert len(others) == 4


def groups():
    pair = dist.new_group([0, SIZE - 1], backend="latecomer")
    if RANK in (0, SIZE - 1):
        tensor = torch.full((2,), float(RANK))
        dist.all_reduce(tensor, group=pair)
        assert tensor[0] == SIZE - 1
        dist.broadcast(tensor, SIZE - 1, group=pair)
        assert pair.communicator.size == 2
    dist.barrier()


def destroyed():
    """A group's communicators are freed, though another rank destroys its own later."""
    group = dist.new_group(backend="latecomer")
    total, got = torch.ones(1000), torch.zeros(3)
    dist.all_reduce(total, group=group)
    assert total[0] == SIZE
    works = [dist.irecv(got, (RANK - 1) % SIZE, group=group),
             dist.isend(torch.full((3,), float(RANK)), (RANK + 1) % SIZE, group=group)]  # fmt: skip
    comms = [group.communicator, group._messages, group._scatter]
    if RANK != 1:
        dist.destroy_process_group(group)
    another = dist.new_group(backend="latecomer")
    dist.all_reduce(total, group=another)
    if RANK == 1:
        dist.destroy_process_group(group)
    for work in works:
        work.wait()
    assert got.tolist() == [(RANK - 1) % SIZE] * 3
    assert comms == [MPI.COMM_NULL] * 3
    group.shutdown()
    dist.destroy_process_group(another)


def flat(network):
    return torch.cat([each.detach().reshape(-1) for each in network.parameters()])


def trained(prepare, *, bucket_mb=25.0, steps=6, result=flat):
    """The parameters after some steps with a model of its own on each rank's data."""
    torch.manual_seed(3)
    network = nn.Sequential(
        nn.Linear(20, 50), nn.Tanh(), nn.Linear(50, 50), nn.Tanh(), nn.Linear(50, 3)
    )
    model = prepare(network, bucket_mb)
    optimizer = torch.optim.SGD(network.parameters(), 0.1)
    draw = torch.Generator().manual_seed(RANK)
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.mse_loss(
            model(torch.randn(8, 20, generator=draw)), torch.zeros(8, 3)
        ).backward()
        optimizer.step()
    return result(network)


def with_hook(state, group=None):
    def prepare(network, bucket_mb):
        model = DistributedDataParallel(network, bucket_cap_mb=bucket_mb, process_group=group)
        model.register_comm_hook(state, latecomer.torch.allreduce_hook)
        return model

    return prepare


def ddp():
    """Parameters are those of Gloo, with one bucket and with many, which are rebuilt."""
    plain = trained(lambda network, mb: DistributedDataParallel(network, process_group=GLOO))
    of_group = trained(lambda network, mb: DistributedDataParallel(network, bucket_cap_mb=mb))
    torch.testing.assert_close(of_group, plain)
    for algorithm in ("auto", {"allreduce": "ring"}):
        state = latecomer.torch.HookState(algorithm=algorithm)
        for bucket_mb in (25.0, 0.005):
            for group in (None, GLOO):
                ours = trained(with_hook(state, group), bucket_mb=bucket_mb)
                torch.testing.assert_close(ours, plain)
        assert state.stats().native + state.stats().handled > 4 * 6
        state.close()
    assert state.stats().handled > 4 * 6


def sharded():
    """Parameters that are divided among the ranks (FSDP), and functional collectives."""
    import torch.distributed._functional_collectives as functional
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor import DTensor

    def whole(network):
        parts = [each.full_tensor() if isinstance(each, DTensor) else each
                 for each in network.parameters()]  # fmt: skip
        return torch.cat([each.detach().reshape(-1) for each in parts])

    mesh = init_device_mesh("cpu", (SIZE,))
    shards = trained(lambda network, mb: fully_shard(network, mesh=mesh), result=whole)
    plain = trained(lambda network, mb: DistributedDataParallel(network, process_group=GLOO))
    torch.testing.assert_close(shards, plain)
    world = dist.group.WORLD
    assert functional.all_reduce(torch.ones(2), "sum", world).tolist() == [SIZE] * 2
    found = functional.all_gather_tensor(torch.full((1,), float(RANK)), 0, world)
    assert found.tolist() == list(range(SIZE))
    found = functional.reduce_scatter_tensor(torch.ones(2 * SIZE), "sum", 0, world)
    assert found.tolist() == [SIZE] * 2


def overlap():
    """The hook comes back before the other ranks have come."""
    state = latecomer.torch.HookState()
    late = threading.Event()
    if RANK == 1:
        state._worker.submit(lambda _: late.wait())
    future = state.reduce(torch.full((4,), float(SIZE)))
    if RANK == 1:
        assert not future.done()
        late.set()
    assert future.wait().tolist() == [SIZE] * 4
    state.close()


def watched():
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook

    hook = latecomer.torch.observe(allreduce_hook, every=3)
    assert "No call was seen" in str(hook.summary())

    def prepare(network, bucket_mb):
        model = DistributedDataParallel(network, bucket_cap_mb=bucket_mb, process_group=GLOO)
        model.register_comm_hook(GLOO, hook)
        model.register_forward_hook(lambda *_: time.sleep(0.2 * (RANK == 1)))
        return model

    trained(prepare, bucket_mb=0.005, steps=4)
    found = hook.summary()
    assert found.calls > 4 * 1, found
    assert found.late.rank == 1, found
    assert found.ranks[1].waiting < 0.2 * found.ranks[0].waiting, found
    assert found.ranks[0].waiting > 0.1, found
    assert "Rank 1" in str(found)
    refused(ValueError, "every: 0", latecomer.torch.observe, allreduce_hook, every=0)


def errors():
    from latecomer.torch import tensors

    refused(RuntimeError, "SUM, AVG", tensors.operator, dist.ReduceOp.PREMUL_SUM, torch.float32)
    refused(RuntimeError, "MPI cannot combine it", tensors.combined, torch.ones(1).half())
    sparse = torch.ones(2).to_sparse()
    refused(RuntimeError, "sparse; latecomer takes dense", dist.all_reduce, sparse)
    refused(RuntimeError, "meta; latecomer takes", dist.all_reduce, torch.ones(2, device="meta"))
    refused(RuntimeError, "cannot be divided", dist.all_to_all_single,
            torch.ones(SIZE + 1), torch.ones(SIZE + 1))  # fmt: skip
    refused(RuntimeError, "that add up to 4 rows", dist.all_to_all_single,
            torch.ones(4), torch.ones(4), [1] * SIZE, [4] * SIZE)  # fmt: skip
    one, group = torch.ones(2), dist.group.WORLD
    for long in (torch.zeros(2 * SIZE + 1), torch.zeros(3 * SIZE), torch.zeros(2)):
        bytes_ = 4 * len(long)
        refused(RuntimeError, f"output: {bytes_} bytes; {SIZE} parts of 8 bytes are right",
                group.all_gather_single, long, one)  # fmt: skip
        refused(RuntimeError, f"input: {bytes_} bytes; {SIZE} parts of 8 bytes are right",
                group.reduce_scatter_single, one, long)  # fmt: skip
    from latecomer.torch.group import create
    from latecomer.torch.worker import check_threads

    class Options:
        global_ranks_in_group, group_size, group_rank = (), SIZE + 1, SIZE

    refused(latecomer.base.errors.UserError, "PyTorch's rank is not MPI's", create, Options)
    query, MPI.Query_thread = MPI.Query_thread, lambda: MPI.THREAD_FUNNELED
    try:
        refused(latecomer.base.errors.UserError, "MPI_THREAD_FUNNELED", check_threads)
    finally:
        MPI.Query_thread = query
    refused(AttributeError, "frob", getattr, latecomer.torch, "frob")
    assert "rank" in repr(dist.group.WORLD)


CASES = [
    reductions,
    moves,
    exchanges,
    long_parts,
    overlapping,
    failures,
    closed,
    messages,
    dropped_messages,
    groups,
    destroyed,
    ddp,
    sharded,
    overlap,
    watched,
    errors,
]


def main(names):
    for case in [each for each in CASES if each.__name__ in names] or CASES:
        mistakes = 0
        try:
            case()
        except Exception:
            traceback.print_exc()
            mistakes = 1
        if mistakes:
            print(f"{case.__name__}: 1", flush=True)
            MPI.COMM_WORLD.Abort(1)  # the others may wait for this rank
        MPI.COMM_WORLD.Barrier()
        if RANK == 0:
            print(f"{case.__name__}: 0", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("cpu:latecomer", init_method="mpi://")
    GLOO = dist.new_group(backend="gloo")
    main(sys.argv[1:])
    dist.destroy_process_group()
