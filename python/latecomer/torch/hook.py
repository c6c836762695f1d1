"""A communication hook of DDP: gradients are reduced by latecomer while the backward pass goes on.

Annotations here are objects, not texts, since PyTorch compares them.
"""

from collections.abc import Mapping

import torch
import torch.distributed as dist
from mpi4py import MPI

from ..mpi import Communicator, Statistics
from . import tensors
from .worker import Worker


class HookState:
    """The state of allreduce_hook: a communicator and the thread that uses it.

    Making it is collective over `comm`, whose ranks are those of the model's process group.
    `algorithm` and `estimate`: as of latecomer.Communicator. Raises UserError without
    MPI_THREAD_MULTIPLE.
    """

    def __init__(
        self,
        comm: MPI.Comm = MPI.COMM_WORLD,
        *,
        algorithm: str | Mapping[str, str] = "auto",
        estimate: str = "online",
    ) -> None:
        """Start the thread."""
        self._worker = Worker(comm, algorithm, estimate, closed="this HookState was closed")
        self.size = comm.Get_size()

    @property
    def communicator(self) -> Communicator:
        """The thread's communicator, for its statistics and settings between iterations."""
        return self._worker.communicator

    def stats(self) -> Statistics:
        """The calls so far: who carried them out, waiting and moving time."""
        return self.communicator.stats()

    def reduce(self, tensor: torch.Tensor) -> torch.futures.Future[torch.Tensor]:
        """Divide the tensor by the number of ranks, and add those of all ranks into it."""
        tensors.check(tensor)
        tensor.div_(self.size)  # before the sum, which might overflow

        def task(communicator: Communicator) -> torch.Tensor:
            wide = tensors.widened(tensor)
            communicator.Allreduce(MPI.IN_PLACE, tensors.combined(wide))
            tensors.write_back(tensor, wide)
            return tensor

        return self._worker.submit(task)

    def close(self) -> None:
        """End the thread."""
        self._worker.close()


def allreduce_hook(state: HookState, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """Average a bucket of gradients: `ddp.register_comm_hook(state, allreduce_hook)`.

    The thread of `state` reduces the buckets in their order while the backward pass goes on.
    Buckets are dense tensors of the processor of any floating-point type; half precision is added
    in float32. Errors of MPI end the backward pass.
    """
    return state.reduce(bucket.buffer())
