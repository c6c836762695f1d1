"""Makes the rows of a benchmark's result from samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from ...core.bounds import least_after_last
from ...core.compiled import core
from ..options.arrivals import Iteration
from ..options.choose import Question
from .samples import Sample, Samples

Limit = Callable[[Sequence[float]], float]  # arrivals -> least time after the last one, seconds


def setting_of(asked: Question, ranks: Any, size: Any, network: str, mpi: str) -> dict[str, Any]:
    """Columns that all rows of a result have in common, for a vector of so many bytes."""
    return {"collective": asked.collective, "ranks": ranks, "bytes": size, "op": asked.op,
            "arrival": asked.arrival, "estimate": asked.estimate, "network": network, "mpi": mpi,
            "seed": asked.seed}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One algorithm at one delay: the columns of the result; None where not defined."""

    collective: str
    algorithm: str
    parameters: str
    ranks: int
    bytes: int
    op: str
    arrival: str
    delay_ms: float | None  # None: the arrivals came from a file
    estimate: str
    iterations: int
    elapsed_ms: float
    elapsed_q1_ms: float
    elapsed_q3_ms: float
    run_ms: float | None
    after_last_ms: float | None
    absorption_ms: float | None
    limit_ms: float | None
    speedup_native: float | None
    speedup_ring: float | None
    wrong: int | None  # None: not checked
    network: str
    mpi: str
    seed: int

    @property
    def label(self) -> str:
        """Algorithm and parameters, for people."""
        return f"{self.algorithm} {self.parameters}".strip()


COLUMNS = tuple(field.name for field in fields(Row))


def limit_of(asked: Question, size: int, network: core.Network) -> Limit:
    """The lower bound of the time after the last arrival, for a vector of so many bytes."""

    def limit(arrivals: Sequence[float]) -> float:
        return least_after_last(
            ranks=len(arrivals), bytes=size, arrivals=list(arrivals), network=network,
            collective=asked.collective, root=asked.root, background=asked.background,
        )  # fmt: skip

    return limit


def summarise(
    samples: Samples,
    iterations: Sequence[Iteration],
    delays: Sequence[float | None],
    setting: Mapping[str, Any],
    limit: Limit | None = None,
    native: str | None = "native",
) -> list[Row]:
    """A row for each delay (seconds) and algorithm, from the complete iterations.

    `iterations` are those of the job, `limit` is None where no bound is known, and `native` is the
    algorithm that speedups over native are told of.
    """
    header = samples.header
    groups: dict[tuple[float | None, str], list[Sample]] = {}
    for sample in samples.complete():
        key = (iterations[sample.iteration].delay, sample.algorithm)
        groups.setdefault(key, []).append(sample)
    rows: dict[tuple[float | None, str | None], Row] = {
        (delay, name): _row(
            group, delay, groups.get((0.0, name), ()), setting, limit, header.common_clock
        )
        for (delay, name), group in groups.items()
    }
    return [
        replace(row, speedup_native=_speedup(rows.get((delay, native)), row),
                speedup_ring=_speedup(rows.get((delay, "ring")), row))
        for delay in delays for name in header.algorithms if (row := rows.get((delay, name)))
    ]  # fmt: skip


def _row(
    group: Sequence[Sample],
    delay: float | None,
    balanced: Sequence[Sample],
    setting: Mapping[str, Any],
    limit: Limit | None,
    clock: bool,
) -> Row:
    q1, median, q3 = quartiles([sample.elapsed for sample in group])
    wrong = [sample.wrong for sample in group if sample.wrong is not None]
    return Row(
        **setting,
        algorithm=group[0].algorithm.partition(":")[0],
        parameters=Counter(sample.parameters for sample in group).most_common(1)[0][0],
        delay_ms=_ms(delay),
        iterations=len(group),
        elapsed_ms=1e3 * median,
        elapsed_q1_ms=1e3 * q1,
        elapsed_q3_ms=1e3 * q3,
        run_ms=_ms(_median(s.run_time for s in group) if clock else None),
        after_last_ms=_ms(_median(s.after_last for s in group) if clock else None),
        absorption_ms=_ms(_absorption(group, balanced) if clock and balanced else None),
        limit_ms=_ms(_median(limit(s.arrival) for s in group) if clock and limit else None),
        speedup_native=None,
        speedup_ring=None,
        wrong=sum(wrong) if len(wrong) == len(group) else None,
    )


def _absorption(group: Sequence[Sample], balanced: Sequence[Sample]) -> float:
    """The imbalance that the algorithm hides: A = r' - r + omega (Proficz 2021, eq. 4).

    r' is the median run time when all arrive together; run time r minus imbalance omega is the time
    after the last arrival, of which the median over the iterations is taken.
    """
    return _median(s.run_time for s in balanced) - _median(s.after_last for s in group)


def _speedup(other: Row | None, row: Row) -> float | None:
    return other.elapsed_ms / row.elapsed_ms if other and row.elapsed_ms > 0 else None


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """The first quartile, the median and the third quartile, interpolated between neighbours."""
    ordered = sorted(values)
    last = len(ordered) - 1

    def at(part: float) -> float:
        below = int(part * last)
        above, weight = min(below + 1, last), part * last - below
        return ordered[below] + weight * (ordered[above] - ordered[below])

    return at(0.25), at(0.5), at(0.75)


def _median(values: Iterable[float]) -> float:
    return quartiles(list(values))[1]


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else 1e3 * float(seconds)
