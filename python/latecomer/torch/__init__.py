"""latecomer for PyTorch: gradients reduced over MPI, and who is late (docs/torch.md).

    import latecomer.torch
    from mpi4py import MPI

    torch.distributed.init_process_group("cpu:latecomer", init_method="mpi://")
    model = torch.nn.parallel.DistributedDataParallel(network)
    state = latecomer.torch.HookState(MPI.COMM_WORLD)
    model.register_comm_hook(state, latecomer.torch.allreduce_hook)

Importing this package registers the backend "latecomer" for tensors of the processor, and the
initialisation method "mpi://". `observe` and `flight_recorder` need no MPI.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

try:
    import torch.distributed  # noqa: F401 - the message below is about this import
except ImportError as error:
    raise ImportError(f"latecomer.torch needs PyTorch: {error}; pip install torch") from error

from .register import register

if TYPE_CHECKING:
    from .group import ProcessGroupLatecomer
    from .hook import HookState, allreduce_hook
    from .observation import observe
    from .recorder import flight_recorder

_NAMES = {
    "group": ("ProcessGroupLatecomer",),
    "hook": ("HookState", "allreduce_hook"),
    "observation": ("observe",),
    "recorder": ("flight_recorder",),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}

__all__ = ["HookState", "ProcessGroupLatecomer", "allreduce_hook", "flight_recorder", "observe"]

register()


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOME[name]}", __name__), name)
