"""A process group of PyTorch whose collectives are latecomer's.

The collectives of a group are carried out in order by a thread with a communicator of its own.
Messages between two ranks have another communicator, and wait for no collective. Data is only read
and written between a call and the end of its wait, as PyTorch demands. There are no time limits:
a wait for another rank is reported on stderr after 30 seconds, and goes on.

PyTorch calls some functions by two names, by the old one from C++ and by the new one from Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist
from mpi4py import MPI

from ..base.errors import UserError
from ..mpi import Communicator
from . import tensors
from .names import BACKEND
from .work import Collective, Message, forget_dropped
from .worker import Worker

Tensors = list[torch.Tensor]


def create(options: Any) -> ProcessGroupLatecomer:
    """The group for PyTorch's options; its ranks are those of MPI.COMM_WORLD. Raises UserError."""
    world = MPI.COMM_WORLD
    ranks = list(options.global_ranks_in_group) or list(range(options.group_size))
    me = ranks[options.group_rank]
    if me != world.rank or max(ranks) >= world.size:
        raise UserError(
            "PyTorch's rank is not MPI's",
            f"rank {me} of {len(ranks)}, in MPI rank {world.rank} of {world.size}",
            'start the ranks by mpirun, and give init_process_group init_method="mpi://"',
        )
    members = world.Get_group().Incl(ranks)
    comm = world.Create_group(members)
    members.Free()
    return ProcessGroupLatecomer(comm)


class ProcessGroupLatecomer(dist.ProcessGroup):  # type: ignore[misc]  # mypy reads no PyTorch
    """The process group of the backend "latecomer". Making it is collective over `comm`."""

    def __init__(self, comm: MPI.Comm) -> None:
        """Raise UserError without MPI_THREAD_MULTIPLE."""
        super().__init__(comm.rank, comm.size)
        self._name, self._description = "", "undefined"
        self._worker = Worker(comm)
        self._messages = comm
        self._scatter = comm.Dup()  # for what latecomer has no algorithms for; used by the thread

    @property
    def communicator(self) -> Communicator:
        """The communicator of the collectives, for statistics and settings."""
        return self._worker.communicator

    def getBackendName(self) -> str:  # noqa: N802 - PyTorch's name
        """The name of the backend."""
        return BACKEND

    def _get_backend_name(self) -> str:
        return BACKEND

    @property
    def group_name(self) -> str:
        """The name that PyTorch gave the group; its functional collectives look it up."""
        return self._name

    def _set_group_name(self, name: str) -> None:
        self._name = name

    def setGroupName(self, name: str) -> None:  # noqa: N802 - from C++
        """Take the name."""
        self._name = name

    def getGroupName(self) -> str:  # noqa: N802 - from C++
        """The name."""
        return self._name

    @property
    def group_desc(self) -> str:
        """The description that PyTorch gave the group."""
        return self._description

    def _set_group_desc(self, text: str) -> None:
        self._description = text

    def shutdown(self) -> None:
        """End the thread, and free the communicators unless a call still has them. Local."""
        if not self._worker.close() or MPI.Is_finalized():
            return
        forget_dropped()
        for comm in (self._messages, self._scatter, self._worker.communicator):
            if comm != MPI.COMM_NULL:  # freed before
                comm.Free()  # waits for no rank; messages under way go on

    def abort(self) -> None:
        """Does nothing: a call of MPI cannot be taken back."""

    def __repr__(self) -> str:
        return f"ProcessGroupLatecomer(rank {self.rank()} of {self.size()})"

    # ---- reductions

    def allreduce(self, some: Any, opts: Any = None) -> dist.Work:
        """Combine each tensor with those of the other ranks."""
        found = _list(some)
        return self._submit(found, lambda comm: _each(found, _allreduce, comm, _op(opts)))

    def allreduce_coalesced(self, some: Tensors, opts: Any = None) -> dist.Work:
        """As allreduce."""
        return self.allreduce(some, opts)

    def reduce(self, some: Any, opts: Any = None) -> dist.Work:
        """Combine each tensor with those of the other ranks, on the root."""
        found, op, root = _list(some), _op(opts), _root(opts)
        return self._submit(found, lambda comm: _each(found, _reduce, comm, op, root))

    def reduce_scatter(
        self, outputs: Tensors, inputs: list[Tensors], opts: Any = None
    ) -> dist.Work:
        """Combine the ranks' lists; each rank gets its entry, of equal or different sizes."""
        tensors.check(*outputs, *(each for many in inputs for each in many))

        def task(_: Communicator) -> Tensors:
            for output, many in zip(outputs, inputs, strict=True):
                flat = torch.cat([tensors.dense(each).reshape(-1) for each in many])
                self._reduce_scatter(output, flat, [each.numel() for each in many], _op(opts))
            return outputs

        return self._submit(outputs, task)

    def reduce_scatter_single(
        self, output: torch.Tensor, source: torch.Tensor, opts: Any = None
    ) -> dist.Work:
        """Combine the ranks' tensors; each rank gets its part."""
        tensors.check(output, source)
        _check_parts("input", source, self.size(), output)

        def task(_: Communicator) -> Tensors:
            counts = [output.numel()] * self.size()
            self._reduce_scatter(output, tensors.dense(source).reshape(-1), counts, _op(opts))
            return [output]

        return self._submit([output], task)

    _reduce_scatter_base = reduce_scatter_single

    def reduce_scatter_single_coalesced(
        self, outputs: Tensors, inputs: Tensors, opts: Any = None
    ) -> dist.Work:
        """As reduce_scatter_single, of several tensors."""
        pairs = zip(outputs, inputs, strict=True)
        works = [self.reduce_scatter_single(output, each, opts) for output, each in pairs]
        return self._last(works, outputs)

    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced

    # ---- moves

    def broadcast(self, some: Any, opts: Any = None) -> dist.Work:
        """Send the root's tensors to all ranks."""
        found, root = _list(some), _root(opts)
        return self._submit(found, lambda comm: _each(found, _broadcast, comm, root))

    def allgather(self, outputs: list[Tensors], inputs: Any, _opts: Any = None) -> dist.Work:
        """Collect the ranks' tensors, which may have different sizes, in lists on every rank."""
        sources = _list(inputs)
        tensors.check(*sources, *(each for many in outputs for each in many))

        def task(comm: Communicator) -> list[Tensors]:
            for many, source in zip(outputs, sources, strict=True):
                sizes = [_bytes(each) for each in many]
                flat = torch.empty(sum(sizes), dtype=torch.uint8)
                with tensors.in_parts(flat, sizes) as whole:
                    comm.Allgatherv(tensors.moved(tensors.dense(source)), whole)
                _hand_out(many, flat)
            return outputs

        return self._submit(outputs, task)

    def allgather_coalesced(
        self, outputs: list[Tensors], inputs: Tensors, opts: Any = None
    ) -> dist.Work:
        """Collect the ranks' lists of tensors: `outputs[rank][i]`."""
        turned = [[of_rank[i] for of_rank in outputs] for i in range(len(inputs))]
        return self.allgather(turned, inputs, opts)

    def all_gather_single(
        self, output: torch.Tensor, source: torch.Tensor, _opts: Any = None
    ) -> dist.Work:
        """Collect the ranks' tensors in one tensor on every rank."""
        tensors.check(output, source)
        _check_parts("output", output, self.size(), source)

        def task(comm: Communicator) -> torch.Tensor:
            whole = tensors.dense(output)
            mine = tensors.moved(tensors.apart(source, whole))
            comm.Allgather(mine, [tensors.moved(whole)[0], mine[1], MPI.BYTE])
            tensors.write_back(output, whole)
            return output

        return self._submit([output], task)

    _allgather_base = all_gather_single

    def all_gather_single_coalesced(
        self, outputs: Tensors, inputs: Tensors, opts: Any = None
    ) -> dist.Work:
        """As all_gather_single, of several tensors."""
        pairs = zip(outputs, inputs, strict=True)
        return self._last([self.all_gather_single(*pair, opts) for pair in pairs], outputs)

    allgather_into_tensor_coalesced = all_gather_single_coalesced

    def gather(self, outputs: list[Tensors], inputs: Any, opts: Any = None) -> dist.Work:
        """Collect the ranks' tensors in a list on the root."""
        (source,), root = _list(inputs), _root(opts)
        at_root = self.rank() == root
        tensors.check(source, *(outputs[0] if at_root else ()))

        def task(comm: Communicator) -> list[Tensors]:
            mine = tensors.moved(tensors.dense(source))
            flat = torch.empty(mine[1] * self.size() if at_root else 0, dtype=torch.uint8)
            whole = [tensors.moved(flat)[0], mine[1], MPI.BYTE] if at_root else None
            comm.Gather(mine, whole, root)
            if at_root:
                _hand_out(outputs[0], flat)
            return outputs

        return self._submit(outputs, task)

    def scatter(self, outputs: Any, inputs: list[Tensors], opts: Any = None) -> dist.Work:
        """Send each rank its tensor of the root's list."""
        (output,), root = _list(outputs), _root(opts)
        tensors.check(output)

        def task(comm: Communicator) -> Tensors:
            mine = tensors.dense(output)
            whole = None
            if self.rank() == root:
                parts = [tensors.dense(each).reshape(-1) for each in inputs[0]]
                flat = torch.cat(parts)
                whole = [tensors.moved(flat)[0], tensors.moved(mine)[1], MPI.BYTE]
            comm.Scatter(whole, tensors.moved(mine), root)
            tensors.write_back(output, mine)
            return [output]

        return self._submit([output], task)

    def all_to_all_single(
        self,
        output: torch.Tensor,
        source: torch.Tensor,
        output_sizes: Sequence[int] = (),
        input_sizes: Sequence[int] = (),
        _opts: Any = None,
    ) -> dist.Work:
        """Send a part of rows to each rank; without sizes all parts are equal."""
        tensors.check(output, source)
        _divisible("output", output, output_sizes, self.size())
        _divisible("input", source, input_sizes, self.size())

        def task(_: Communicator) -> torch.Tensor:
            whole = tensors.dense(output)
            mine = tensors.apart(source, whole)
            self._alltoall(mine, _sizes(mine, input_sizes, self.size()),
                           whole, _sizes(whole, output_sizes, self.size()))  # fmt: skip
            tensors.write_back(output, whole)
            return output

        return self._submit([output], task)

    alltoall_base = all_to_all_single

    def alltoall(self, outputs: Tensors, inputs: Tensors, _opts: Any = None) -> dist.Work:
        """Send each rank its tensor of the list."""
        tensors.check(*outputs, *inputs)

        def task(_: Communicator) -> Tensors:
            mine = torch.cat([tensors.dense(each).reshape(-1) for each in inputs])
            flat = torch.empty(sum(map(_bytes, outputs)), dtype=torch.uint8)
            self._alltoall(mine, list(map(_bytes, inputs)), flat, list(map(_bytes, outputs)))
            _hand_out(outputs, flat)
            return outputs

        return self._submit(outputs, task)

    def barrier(self, _opts: Any = None, **_more: Any) -> dist.Work:
        """Wait for all ranks, after the collectives before."""
        return self._submit([], lambda _: self._scatter.Barrier())

    # ---- messages

    def send(self, some: Tensors, to: int, tag: int = 0) -> dist.Work:
        """Send a tensor to a rank."""
        (tensor,) = some
        tensors.check(tensor)
        forget_dropped()
        mine = tensors.dense(tensor)
        with tensors.message(mine) as buffer:
            request = self._messages.Isend(buffer, to, tag)
        return Message(request, [tensor, mine], lambda: None)

    def recv(self, some: Tensors, source: int, tag: int = 0) -> dist.Work:
        """Receive a tensor from a rank."""
        (tensor,) = some
        tensors.check(tensor)
        forget_dropped()
        whole = tensors.dense(tensor)
        with tensors.message(whole) as buffer:
            request = self._messages.Irecv(buffer, source, tag)
        return Message(request, [tensor], lambda: tensors.write_back(tensor, whole))

    def recv_anysource(self, some: Tensors, tag: int = 0) -> dist.Work:
        """Receive a tensor from any rank."""
        return self.recv(some, MPI.ANY_SOURCE, tag)

    # ----

    def _submit(self, some: Any, task: Callable[[Communicator], Any]) -> dist.Work:
        tensors.check(*(each for each in some if isinstance(each, torch.Tensor)))
        return Collective([self._worker.submit(task)])

    def _last(self, works: list[dist.Work], outputs: Tensors) -> dist.Work:
        """The work of several calls: the thread ends them in order."""
        if not works:
            return self._submit(outputs, lambda _: outputs)
        return Collective([work.get_future() for work in works])

    def _reduce_scatter(
        self, output: torch.Tensor, flat: torch.Tensor, counts: list[int], op: Any
    ) -> None:
        wide = tensors.widened(flat)
        mine = torch.empty(output.numel(), dtype=wide.dtype)
        mpi_op = tensors.operator(op, wide.dtype)
        self._scatter.Reduce_scatter(tensors.combined(wide), tensors.combined(mine), counts, mpi_op)
        _divide(mine, op, self.size())
        tensors.write_back(output, mine)

    def _alltoall(
        self, mine: torch.Tensor, sent: list[int], whole: torch.Tensor, received: list[int]
    ) -> None:
        """Exchange parts of these sizes in bytes."""
        with tensors.in_parts(mine, sent) as parts, tensors.in_parts(whole, received) as places:
            self._scatter.Alltoallv(parts, places)


def _list(some: Any) -> Tensors:
    return [some] if isinstance(some, torch.Tensor) else list(some)


def _op(opts: Any) -> Any:
    return dist.ReduceOp.SUM if opts is None else getattr(opts, "reduceOp", opts)


def _root(opts: Any) -> int:
    return 0 if opts is None else opts.rootRank


def _each(some: Tensors, call: Callable[..., None], *arguments: Any) -> Tensors:
    for tensor in some:
        call(tensor, *arguments)
    return some


def _allreduce(tensor: torch.Tensor, comm: Communicator, op: Any) -> None:
    wide = tensors.widened(tensor)
    comm.Allreduce(MPI.IN_PLACE, tensors.combined(wide), tensors.operator(op, wide.dtype))
    _divide(wide, op, comm.size)
    tensors.write_back(tensor, wide)


def _reduce(tensor: torch.Tensor, comm: Communicator, op: Any, root: int) -> None:
    wide = tensors.widened(tensor)
    mine, mpi_op = tensors.combined(wide), tensors.operator(op, wide.dtype)
    if comm.rank != root:
        comm.Reduce(mine, None, mpi_op, root)
        return
    comm.Reduce(MPI.IN_PLACE, mine, mpi_op, root)
    _divide(wide, op, comm.size)
    tensors.write_back(tensor, wide)


def _broadcast(tensor: torch.Tensor, comm: Communicator, root: int) -> None:
    whole = tensors.dense(tensor)
    comm.Bcast(tensors.moved(whole), root)
    tensors.write_back(tensor, whole)


def _divide(total: torch.Tensor, op: Any, size: int) -> None:
    if tensors.is_average(op):
        total.div_(size, rounding_mode=None if total.is_floating_point() else "trunc")


def _bytes(tensor: torch.Tensor) -> int:
    return int(tensor.numel() * tensor.element_size())


def _hand_out(to: Tensors, flat: torch.Tensor) -> None:
    """Copy the bytes into the tensors, one after another."""
    first = 0
    for tensor in to:
        part = flat[first : first + _bytes(tensor)].clone()  # aligned for any type
        tensor.detach().copy_(part.view(tensor.dtype).view(tensor.shape))
        first += _bytes(tensor)


def _check_parts(name: str, whole: torch.Tensor, ranks: int, part: torch.Tensor) -> None:
    """Raise RuntimeError unless a tensor holds a part for each rank, and nothing else."""
    held, needed = _bytes(whole), _bytes(part)
    if held != ranks * needed:
        raise RuntimeError(f"{name}: {held} bytes; {ranks} parts of {needed} bytes are right")


def _divisible(name: str, tensor: torch.Tensor, sizes: Sequence[int], ranks: int) -> None:
    """Raise RuntimeError for parts that do not make up the tensor's rows."""
    rows = tensor.shape[0] if tensor.dim() else 0
    if sizes and (len(sizes) != ranks or sum(sizes) != rows):
        raise RuntimeError(f"{name}: sizes {list(sizes)}; {ranks} that add up to {rows} rows")
    if not sizes and rows % ranks:
        raise RuntimeError(f"{name}: {rows} rows cannot be divided among {ranks} ranks equally")


def _sizes(tensor: torch.Tensor, rows_of_parts: Sequence[int], ranks: int) -> list[int]:
    """The sizes in bytes of the parts of so many rows; without these all are equal."""
    rows = tensor.shape[0] if tensor.dim() else 0
    row = _bytes(tensor) // rows if rows else 0
    return [each * row for each in rows_of_parts] or [_bytes(tensor) // ranks] * ranks
