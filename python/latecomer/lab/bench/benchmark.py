"""A benchmark: a question to ranks that run."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...base.output import say
from ...core import registry
from ..options.arrivals import Iteration
from ..options.choices import IMBALANCES, NO_OPERATOR, TYPE_BYTES, OptionError, one_of
from ..options.choose import Question

_PROGRAMS = {"reversed": "wrong", "as-configured": "declared"}  # words of the program


@dataclass(frozen=True, kw_only=True)
class Benchmark(Question):
    """Options of a benchmark; times in seconds. Raises OptionError."""

    count: int
    warmup: int
    compute: float
    edge: float = 0.5
    imbalance: str = "phase"

    def __post_init__(self) -> None:
        super().__post_init__()
        kind, option = self.imbalance, f"--uneven {self.imbalance}"
        if one_of("--uneven", kind, IMBALANCES) == "phase":
            return
        if self.op == NO_OPERATOR:
            remedy = "use allreduce or reduce: it combines nothing"
            raise OptionError(f"{option} with --collective", self.collective, remedy)
        if kind == "data" and self.op != "over":
            remedy = "use over: it skips clear pixels"
            raise OptionError(f"{option} with --op", self.op, remedy)
        if self.estimate == "reversed":
            remedy = "leave one of them out: nobody arrives late"
            raise OptionError(f"{option} with --estimate", self.estimate, remedy)

    def on(self, ranks: int) -> Benchmark:
        """The benchmark for so many ranks: where each has a part of the vector, parts are equal.

        Raises OptionError.
        """
        self.check_root(ranks)
        if not registry.collectives()[self.collective].parted or self.count % ranks == 0:
            return self
        rounded = -(-self.count // ranks) * ranks
        say(f"{rounded} numbers in the vector instead of {self.count}: {rounded // ranks} a rank")
        return replace(self, count=rounded)

    @property
    def bytes(self) -> int:
        return self.count * TYPE_BYTES[self.type]

    @property
    def arrival(self) -> str:
        """The pattern, and its subject where it is none of arrivals."""
        name = self.pattern.name
        return name if self.imbalance == "phase" else f"{name} in {self.imbalance}"

    def extra(self, iteration: Iteration) -> float:
        """About how many seconds the delays add to a call."""
        combined = len(iteration.late).bit_length()  # vectors, on a rank that combines many
        times = {"phase": 1, "data": 0, "operator": combined}
        return times[self.imbalance] * max(iteration.late)

    def job(self, ranks: int) -> list[Iteration]:
        """The iterations, in order. Raises ArrivalError."""
        return self.pattern.iterations(ranks, self.delays, self.iterations, self.seed)

    def arguments(self) -> list[str]:
        """The options of the benchmark program, but for files and network."""
        values = {
            "algorithms": ",".join(self.algorithms),
            "collective": self.collective,
            "root": self.root,
            "count": self.count,
            "type": self.type,
            **({} if self.op == NO_OPERATOR else {"op": self.op}),
            "imbalance": self.imbalance,
            "compute": self.compute,
            "edge": self.edge,
            "estimate": _PROGRAMS.get(self.estimate, self.estimate),
            "progress": _PROGRAMS.get(self.progress, self.progress),
            "warmup": self.warmup,
            "seed": self.seed,
        }
        return [word for name, value in values.items() for word in (f"--{name}", str(value))]
