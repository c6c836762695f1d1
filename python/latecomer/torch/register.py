"""Makes the backend "latecomer" and the initialisation method "mpi://" known to PyTorch."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import torch.distributed as dist

from ..base.errors import UserError
from .names import BACKEND, SCHEME

_LOCAL = "127.0.0.1"
_TIMEOUT = timedelta(minutes=5)


def register() -> None:
    """Register both, once in a process. DDP lets the backend reduce its gradients, too."""
    if hasattr(dist.Backend, BACKEND.upper()):
        return
    # A list: the one word "cpu" would be read as three devices. Another backend stays the default.
    default = dict(dist.Backend.default_device_backend_map)
    dist.Backend.register_backend(BACKEND, _create, extended_api=True, devices=["cpu"])
    dist.Backend.default_device_backend_map.update(default)
    dist.register_rendezvous_handler(SCHEME, _meet)


def _create(options: Any, _: Any) -> dist.ProcessGroup:
    from .group import create

    return create(options)


def _meet(
    url: str,  # noqa: ARG001 - PyTorch passes it
    timeout: timedelta = _TIMEOUT,
    **_: Any,
) -> Iterator[tuple[dist.Store, int, int]]:
    """Yield a store that rank 0 of MPI.COMM_WORLD serves, this rank, and the number of ranks.

    Raises UserError on all ranks where rank 0 cannot serve it.
    """
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    hosts = comm.allgather(socket.gethostname())
    address = os.environ.get("MASTER_ADDR") or (hosts[0] if len(set(hosts)) > 1 else _LOCAL)
    store, port, trouble = None, 0, ""
    if comm.rank == 0:
        try:
            port = int(os.environ.get("MASTER_PORT") or 0)
            store = dist.TCPStore(address, port, comm.size, True, timeout, wait_for_workers=False)
            port = store.port
        except (RuntimeError, ValueError) as error:
            trouble = str(error).partition("\n")[0]
    address, port, trouble = comm.bcast((address, port, trouble))
    if trouble:
        raise UserError(f"rank 0 cannot serve PyTorch's store at {address}", trouble,
                        "set another MASTER_PORT, or none")  # fmt: skip
    yield store or dist.TCPStore(address, port, comm.size, False, timeout), comm.rank, comm.size
