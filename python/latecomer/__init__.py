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

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .atlas.resampled import arrivals
    from .core.bounds import least_after_last
    from .core.checking import Counterexample, Rule, rules, verify, verify_text
    from .core.compiled import Network, __version__
    from .core.job import Wisdom, rehearse_job
    from .core.job_costs import JobCosts
    from .core.programs import Operation, Program, Schedule, Slice, program
    from .core.registry import Algorithm, Parameter, algorithms
    from .core.rehearsal import RehearsedCall, rehearse
    from .core.simulation import Move, Simulation, simulate
    from .mpi.communicator import Communicator  # noqa: F401 - not in __all__
    from .mpi.observation import observe  # noqa: F401 - not in __all__

_HOME = {
    "__version__": "core.compiled",
    "Algorithm": "core.registry",
    "Collective": "core.registry",
    "Communicator": "mpi.communicator",
    "Counterexample": "core.checking",
    "JobCosts": "core.job_costs",
    "Move": "core.simulation",
    "Network": "core.compiled",
    "Operation": "core.programs",
    "Parameter": "core.registry",
    "Program": "core.programs",
    "RehearsedCall": "core.rehearsal",
    "Rule": "core.checking",
    "Schedule": "core.programs",
    "Simulation": "core.simulation",
    "Slice": "core.programs",
    "Wisdom": "core.job",
    "algorithms": "core.registry",
    "arrivals": "atlas.resampled",
    "collectives": "core.registry",
    "least_after_last": "core.bounds",
    "observe": "mpi.observation",
    "program": "core.programs",
    "rehearse": "core.rehearsal",
    "rehearse_job": "core.job",
    "rules": "core.checking",
    "simulate": "core.simulation",
    "verify": "core.checking",
    "verify_text": "core.checking",
}

# Not Communicator and observe, which need mpi4py.
__all__ = [
    "Algorithm",
    "Collective",
    "Counterexample",
    "JobCosts",
    "Move",
    "Network",
    "Operation",
    "Parameter",
    "Program",
    "RehearsedCall",
    "Rule",
    "Schedule",
    "Simulation",
    "Slice",
    "Wisdom",
    "__version__",
    "algorithms",
    "arrivals",
    "collectives",
    "least_after_last",
    "program",
    "rehearse",
    "rehearse_job",
    "rules",
    "simulate",
    "verify",
    "verify_text",
]


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
