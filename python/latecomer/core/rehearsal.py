"""A series of calls on the virtual network: the library learns the late ranks, and chooses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .compiled import core
from .native_choices import MODELLED, MODELS, Call
from .programs import costs, problem, seconds

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..base.arrays import Floats


@dataclass(frozen=True)
class RehearsedCall:
    """One call of the series. Times in seconds, arrays of shape (ranks,)."""

    algorithm: str  # of the plan; "native" where the MPI library's own collective stood in
    parameters: str
    expected: Floats  # arrivals that it was planned for; empty: all together
    arrivals: Floats
    exits: Floats
    finding_out: float = 0.0  # by which decisions, plans, exchanges and reviews delayed the exits

    @classmethod
    def of(cls, found: Mapping[str, Any], arrivals: Floats, began: float = 0.0) -> RehearsedCall:
        """From the core's answer, which counts time from `began` on."""
        import numpy as np

        exits = began + np.array(found["exits"])
        return cls(found["algorithm"], found["parameters"], np.array(found["expected"]), arrivals,
                   exits, found["finding_out"])  # fmt: skip

    @property
    def mean_after_last(self) -> float:
        """Mean over the ranks of exit, minus the last arrival."""
        return float(self.exits.mean() - self.arrivals.max())


def rehearse(
    algorithm: str,
    arrivals: ArrayLike,
    *,
    count: int,
    estimate: str = "online",
    network: str | core.Network = "",
    assumed: str | core.Network | None = None,
    native: str = "openmpi-4.1",
    element_bytes: int = 4,
    commutative: bool = True,
    exact: bool = False,
    collective: str = "allreduce",
    root: int = 0,
    seed: int = 1,
    placement: Sequence[int] | None = None,
) -> list[RehearsedCall]:
    """Make calls one after the other, as a communicator of an MPI program does.

    Parameters
    ----------
    algorithm : str
        A name of the registry, with parameters if wanted, or "auto".
    arrivals : array of shape (calls, ranks)
        When each rank enters each call, in seconds.
    estimate : str
        What calls are planned by: "online" (as earlier calls showed), "perfect" (known) or
        "reversed".
    network, assumed : str or Network
        What the network costs, and what plans believe it to cost (None: the same).
    native : str
        A model of what the MPI library chooses for all-reduce (elsewhere that stands for
        `fastest`), or an algorithm.
    seed : int
        Of the jitter of the network.
    count, element_bytes, commutative, exact, collective, root, placement
        As in `program`.

    Returns
    -------
    list of RehearsedCall

    Raises
    ------
    ValueError
        For what makes no sense.
    RuntimeError
        If a rank gets stuck.
    """
    import numpy as np

    times = np.asarray(arrivals, dtype=float)
    if times.ndim != 2:
        what = f"arrivals: an array of shape {times.shape} is not usable"
        raise ValueError(f"{what}; right would be one row a call, shape (calls, ranks)")
    ranks = times.shape[1]
    native = library_model(native, collective, ranks, count, element_bytes, commutative)
    series = core.Rehearsal(
        problem(ranks, count, collective, element_bytes, root, commutative, exact),
        algorithm,
        costs(network),
        costs(network if assumed is None else assumed),
        native,
        placement=list(placement or ()),
    )
    calls = []
    for number, row in enumerate(times):
        given = known(estimate, row)
        found = series.call(seconds(row), given, seed + number)
        calls.append(RehearsedCall.of(found, row))
    return calls


def library_model(
    native: str, collective: str, ranks: int, count: int, element_bytes: int, commutative: bool
) -> str:
    """The algorithm that the MPI library chooses by the model of this name; "" for `fastest`."""
    if native not in MODELS:
        return native
    if collective != MODELLED:
        return ""
    return MODELS[native](Call(ranks, count, count * element_bytes, commutative, True))


def known(estimate: str, arrivals: Sequence[float]) -> list[float] | None:
    """The arrivals that the program gives; None: they are estimated."""
    if estimate == "online":
        return None
    if estimate == "perfect":
        return seconds(arrivals)
    if estimate in ("reversed", "wrong"):  # the old name is deprecated
        latest = max(arrivals)
        return [latest - float(time) for time in arrivals]
    raise ValueError(
        f"estimate: '{estimate}' is not usable; right would be online, perfect, reversed"
    )
