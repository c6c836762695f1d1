"""A paper's settings measured in the emulated cluster, at the size this machine holds.

Fewer nodes on slower links: vectors shrink with the link rate, so that moving one takes as long as
in the paper, and delays stay as they are. What depends on the number of ranks differs, as it must.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from latecomer.base.errors import UserError
from latecomer.lab import cluster
from latecomer.lab.bench import places
from latecomer.lab.bench.benchmark import Benchmark
from latecomer.lab.bench.job import make_result
from latecomer.lab.bench.job import measure as run_job
from latecomer.lab.options.arrivals import Pattern

from .comparison import names
from .paper import ELEMENT_BYTES, Mapping, Number, Paper, PaperError
from .predict import MEASURED, MissingError, Time, TimeOf, check_setting, choice, implemented

Key = tuple[object, ...]

_ALIKE = ("balanced", "onelate", "randlate")  # patterns that the benchmark draws as the papers do


@dataclass(frozen=True)
class Run:
    """The numbers that belong together in one run of the benchmark."""

    collective: str
    bytes: int
    arrival: str
    late_rank: int
    algorithms: tuple[str, ...]
    delays: tuple[float, ...]  # seconds


def measure(paper: Paper, nodes: int, rate: str, iterations: int, seed: int) -> TimeOf:
    """Run all that can be run. Raises UserError where there is no lab or nothing to measure."""
    spec = cluster.LabSpec(nodes, cluster.parse_rate(rate))
    if not paper.facts["rate_bits"]:
        what = "the lab cannot be scaled to this paper, whose links are not one rate"
        raise PaperError(what, paper.name, "leave --lab out")
    scale = spec.rate_bits_per_s / paper.facts["rate_bits"]
    runs = plan(paper, nodes, scale)
    if not runs:
        what = "nothing of this paper can be measured yet"
        raise PaperError(what, paper.name, "leave --lab out, or choose other --tables")
    place = places.find_place("lab", nodes, rate, 1, None)
    found: dict[Key, Time] = {}
    for run in runs:
        found.update(_run(run, place, iterations, seed))
    return _Measured(paper, nodes, scale, found)


def plan(paper: Paper, nodes: int, scale: float) -> list[Run]:
    """The runs of the benchmark that a paper's numbers need, one for each vector and pattern."""
    groups: dict[Key, tuple[dict[str, None], dict[float, None]]] = {}
    for number in (scaled(number, nodes, scale) for number in paper.numbers):
        if not _measurable(number):
            continue
        mappings = [paper.mappings[name] for name in names(number)]
        texts = [choice(paper, number, m) for m in mappings if m.ours and implemented(m)]
        if texts:
            algorithms, delays = groups.setdefault(_group(number), ({}, {}))
            algorithms.update(dict.fromkeys(texts))
            delays[(number.delay_ms or 0.0) / 1e3] = None
    return [Run(*key, tuple(found), tuple(sorted(late))) for key, (found, late) in groups.items()]


def scaled(number: Number, nodes: int, scale: float) -> Number:
    """The setting on fewer nodes with links of another rate."""
    least = nodes * ELEMENT_BYTES
    size = max(least, round(number.bytes * scale / least) * least)
    return replace(number, ranks=nodes, bytes=size if number.bytes > 0 else number.bytes)


def _measurable(number: Number) -> bool:
    try:
        check_setting(number)
    except MissingError:
        return False
    fits = number.arrival in _ALIKE and not number.network and number.late_rank < number.ranks
    return fits and number.measure in ("elapsed", "run")


def _group(number: Number) -> tuple[str, int, str, int]:
    return number.collective, number.bytes, number.arrival, number.late_rank


def _run(run: Run, place: places.Place, iterations: int, seed: int) -> Iterator[tuple[Key, Time]]:
    benchmark = Benchmark(
        collective=run.collective, algorithms=list(run.algorithms),
        count=run.bytes // ELEMENT_BYTES, type="float32", op="sum",
        pattern=Pattern(run.arrival, run.late_rank), delays=list(run.delays),
        iterations=iterations, warmup=2, seed=seed, compute=0.1, edge=0.5,
        estimate="perfect", progress="as-configured",
    )  # fmt: skip
    job = benchmark.job(place.ranks)
    outcome = run_job(benchmark, place, job, None, None)
    rows = make_result(benchmark, place, job, outcome).rows
    _check(outcome.trouble, sum(row.wrong for row in rows))
    ordered = iter(rows)
    for delay in run.delays:
        for text in run.algorithms:
            row = next(ordered)
            for measure_, value in (("elapsed", row.elapsed_ms), ("run", row.run_ms)):
                if value is not None:
                    key = (_key(run), text, delay, measure_)
                    yield key, Time(value / 1e3, MEASURED)


def _check(trouble: str | None, wrong: int) -> None:
    if trouble:
        raise UserError("the measurement ended early", trouble, "try fewer --iterations")
    if wrong:
        raise UserError("elements were wrong", wrong, "see latecomer bench for this setting")


def _key(run: Run) -> Key:
    return run.collective, run.bytes, run.arrival, run.late_rank


class _Measured:
    """Looks up the measured time for a number of the paper."""

    def __init__(self, paper: Paper, nodes: int, scale: float, found: dict[Key, Time]) -> None:
        self._paper, self._nodes, self._scale, self._found = paper, nodes, scale, found

    def __call__(self, number: Number, mapping: Mapping) -> Time:
        here = scaled(number, self._nodes, self._scale)
        if not (mapping.ours and _measurable(here)):
            raise MissingError("not measured")
        text = choice(self._paper, here, mapping)
        key = (_group(here), text, (here.delay_ms or 0.0) / 1e3, here.measure)
        if key not in self._found:
            raise MissingError("not measured")
        return self._found[key]
