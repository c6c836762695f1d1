"""latecomer: MPI collectives that stay fast when the ranks do not arrive together.

    >>> import latecomer
    >>> schedule = latecomer.program("sorted_linear_tree", ranks=4, arrivals=[4e-3, 0, 0, 0])
    >>> print(schedule.programs[0].text)
    >>> latecomer.verify("sorted_linear_tree", ranks=4) is None
    True
    >>> latecomer.simulate("ring", ranks=4, count=1000, network="alpha=50us,beta=8ns").exits

For programs with mpi4py there are Communicator, observe and latecomer.mpi (docs/python.md), for
those with PyTorch latecomer.torch (docs/torch.md).

All times are in seconds. A value that makes no sense raises ValueError, which names the value and
what would be right. The names below are loaded when they are first used, so that parts which need
no compiled core, such as the emulated cluster, start fast and run without it.
"""

# ruff: noqa: F401 - the names are loaded below, by their homes
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .atlas.resampled import arrivals
    from .core.bounds import least_after_last
    from .core.checking import Counterexample, Rule, rules, verify, verify_text
    from .core.compiled import Network, __version__
    from .core.job import JobCosts, Wisdom, rehearse_job
    from .core.programs import Operation, Program, Schedule, Slice, program
    from .core.registry import Algorithm, Collective, Parameter, algorithms, collectives
    from .core.rehearsal import RehearsedCall, rehearse
    from .core.simulation import Move, Simulation, simulate
    from .mpi.communicator import Communicator
    from .mpi.observation import observe

_NAMES = {
    "atlas.resampled": ("arrivals",),
    "core.bounds": ("least_after_last",),
    "core.checking": ("Counterexample", "Rule", "rules", "verify", "verify_text"),
    "core.compiled": ("Network", "__version__"),
    "core.job": ("JobCosts", "Wisdom", "rehearse_job"),
    "core.programs": ("Operation", "Program", "Schedule", "Slice", "program"),
    "core.registry": ("Algorithm", "Collective", "Parameter", "algorithms", "collectives"),
    "core.rehearsal": ("RehearsedCall", "rehearse"),
    "core.simulation": ("Move", "Simulation", "simulate"),
    "mpi.communicator": ("Communicator",),
    "mpi.observation": ("observe",),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}
# Not Communicator and observe, which need mpi4py.
__all__ = [
    "Algorithm", "Collective", "Counterexample", "JobCosts", "Move", "Network", "Operation",
    "Parameter", "Program", "RehearsedCall", "Rule", "Schedule", "Simulation", "Slice", "Wisdom",
    "__version__", "algorithms", "arrivals", "collectives", "least_after_last", "program",
    "rehearse", "rehearse_job", "rules", "simulate", "verify", "verify_text",
]  # fmt: skip

_PACKAGES = ("mpi", "torch")  # for programs with mpi4py, and with PyTorch


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f".{name}", __name__)
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOME[name]}", __name__), name)


def __dir__() -> list[str]:
    """The public names, and what every module has."""
    dunder = {name for name in globals() if name.startswith("__")}
    return sorted({*dunder, *__all__, *_HOME, *_PACKAGES})
