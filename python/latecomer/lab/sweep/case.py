"""One number of ranks and one size: all algorithms, iteration by iteration, on equal terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...core import registry
from ...core.compiled import __version__
from ...core.native_choices import MODELS
from ...core.rehearsal import known
from ..options.arrivals import Delays, Iteration
from ..results import statistics
from ..results.samples import Header, Sample, Samples
from .engines import Engine, Run, Work
from .sweep import Sweep

CHECKED = 1 << 16  # elements of all ranks, up to which results are computed and compared
Advance = Callable[[], None]  # after each simulation
Arrivals = tuple[float, ...]


@dataclass
class Case:
    """All algorithms of a sweep on one number of ranks and one vector."""

    sweep: Sweep
    ranks: int
    count: int  # numbers
    engine: Engine
    job: list[Iteration] = field(init=False)
    _runs: dict[tuple[str, Arrivals, int | None], Run] = field(init=False, default_factory=dict)
    _series: dict[str, Any] = field(init=False, default_factory=dict)
    _plans: dict[tuple[str, Arrivals], Any] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.job = self.sweep.job(self.ranks)

    @property
    def simulations(self) -> int:
        """The number of simulations that are asked for."""
        return len(self.job) * len(self.sweep.algorithms)

    def rows(self, advance: Advance) -> list[statistics.Row]:
        """A row for each delay and algorithm."""
        seeds = self.sweep.jitter_seeds(len(self.job))
        samples = [
            self._sample(name, number, seeds[number], advance)
            for number in range(len(self.job))
            for name in self.sweep.algorithms
        ]
        header = Header(__version__, self.engine.name, self.ranks, self.sweep.algorithms, True, {})
        found, size = Samples(header, samples), self.sweep.bytes(self.count)
        setting = statistics.setting_of(
            self.sweep, self.ranks, size, self.engine.network, self.engine.name
        )
        bounded = self.engine.bounded and not self.sweep.placement  # else: of consecutive ranks
        limit = statistics.limit_of(self.sweep, size, self.sweep.network) if bounded else None
        delays: Sequence[float | None] = self.sweep.delays or [None]
        return statistics.summarise(found, self.job, delays, setting, limit, self.sweep.native)

    def _sample(self, name: str, number: int, seed: int, advance: Advance) -> Sample:
        late = self.job[number].late
        program = self.sweep.program(name, self.ranks, self.count)
        remembers = self.sweep.remembers and name not in MODELS
        run = (self._next if remembers else self._run)(program, late, seed)
        used = f"as {program.partition(':')[0]} {run.parameters}".strip()
        advance()
        return Sample(
            iteration=number,
            algorithm=name,
            parameters=used if name in MODELS else run.parameters,
            stays=[left - came for left, came in zip(run.exits, late, strict=True)],
            arrival=late,
            wrong=run.wrong,
        )

    def _run(self, program: str, late: Delays, seed: int) -> Run:
        """One simulation, or the result of an equal one."""
        key = program, tuple(late), seed if self.sweep.jitter else None
        if key not in self._runs:
            plan = self._plan(program, late)
            check = self.ranks * plan.count <= CHECKED
            work = Work(program, plan, late, self._known(program, late), seed, check)
            self._runs[key] = self.engine.run(self.sweep, work)
        return self._runs[key]

    def _next(self, program: str, late: Delays, seed: int) -> Run:
        """The next call of the algorithm's own series."""
        if program not in self._series:
            self._series[program] = self.sweep.series(
                program, self.ranks, self.count, check=self.ranks * self.count <= CHECKED
            )
        given = known(self.sweep.estimate, late)
        found = self._series[program].call(list(late), given, seed)
        native = found["algorithm"] == "native"
        return Run("as=native" if native else found["parameters"], found["exits"], found["wrong"])

    def _plan(self, program: str, late: Delays) -> Any:
        """The plan of the ranks; one plan is enough where arrivals make no difference."""
        told = self._known(program, late)
        key = program, tuple(told or ())
        if key not in self._plans:
            self._plans[key] = self.sweep.plan(program, self.ranks, self.count, told)
        return self._plans[key]

    def _known(self, program: str, late: Delays) -> Delays | None:
        """The arrivals that an algorithm is told; None if they make no difference to it."""
        aware = registry.is_arrival_aware(self.sweep.collective, program)
        return known(self.sweep.estimate, late) if aware else None
