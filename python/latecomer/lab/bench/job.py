"""One run of the benchmark program: its delays, its deadline, its measured times, the result."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ...base.busy import busy, crowded
from ...base.errors import DeadlineError
from ...base.output import say, watched
from ...base.units import span
from ...launch import processes
from ...launch.mpi import short_library
from ..options.arrivals import Iteration
from ..options.choices import BenchError
from ..results import samples, statistics
from ..views import result, table
from .benchmark import Benchmark
from .places import INHERITED, LOCAL, Place

ELSEWHERE = "on-rank-0"  # stands for the files that only rank 0 opens
INTERRUPTED = "interrupted"  # the trouble of a run that somebody ended
LEARNING_CALLS = 9  # that the program makes with auto before the others begin


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run; `trouble` says why it ended early."""

    samples: samples.Samples
    trouble: str | None
    code: int
    remarks: Sequence[str] = ()  # on the machine, when it began


def measure(
    benchmark: Benchmark,
    place: Place,
    job: Sequence[Iteration],
    deadline: float | None,
    keep: Path | None,
) -> Outcome:
    """Run the job; keep the times measured before it was interrupted or failed.

    Raises KeyboardInterrupt or BenchError where there are none.
    """
    remarks = busy(place.ranks if place.name == INHERITED else 0)
    seconds = _expected(benchmark, place, job)
    limit = deadline or max(processes.DEFAULT_DEADLINE_S, 5 * seconds)
    with scratch() as folder:
        delays = folder / "delays"
        output = keep.absolute() if keep else folder / "samples"
        output.unlink(missing_ok=True)  # an earlier run's must not pass for this one's
        lines = (" ".join(f"{late:.9f}" for late in iteration.late) for iteration in job)
        delays.write_text("".join(f"{line}\n" for line in lines))
        words = _files(delays, output) + benchmark.arguments()
        words += ["--network", place.costs] if place.costs else []
        say(_announcement(benchmark, job, seconds))
        total = 1 + len(job) * len(benchmark.algorithms)
        with watched("measuring", total, _Lines(output)):
            trouble, code = _run(place, words, limit)
        return Outcome(_read(output, trouble), trouble, code, remarks)


def take_part(benchmark: Benchmark, place: Place, deadline: float | None) -> int:
    """The part of a rank that does not start the others; the program's exit code."""
    return place.run(_files(ELSEWHERE, ELSEWHERE) + benchmark.arguments(), deadline)


def _run(place: Place, words: Sequence[str], deadline: float) -> tuple[str | None, int]:
    """Why it ended early, and the exit code."""
    try:
        code = place.run(words, deadline)
    except KeyboardInterrupt:
        return INTERRUPTED, 130
    except DeadlineError as error:
        return str(error), 1
    return (f"the benchmark program ended with exit code {code}" if code else None), code and 1


def _read(output: Path, trouble: str | None) -> samples.Samples:
    try:
        return samples.read(output)
    except samples.SampleError as error:
        if trouble is None:
            raise
        if trouble == INTERRUPTED:
            raise KeyboardInterrupt from None
        raise BenchError("nothing was measured", trouble, "see the messages above") from error


def _files(delays: Path | str, output: Path | str) -> list[str]:
    return ["--delays", str(delays), "--output", str(output)]


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder for the files of one run."""
    # The lab covers /run, which some systems use for temporary files.
    usual = tempfile.gettempdir()
    place = "/tmp" if usual.startswith("/run/") else usual  # noqa: S108 - made private below
    with tempfile.TemporaryDirectory(prefix="latecomer-", dir=place) as folder:
        yield Path(folder)


def _expected(benchmark: Benchmark, place: Place, job: Sequence[Iteration]) -> float:
    """About how many seconds the job takes; a collective is taken for three vectors' time."""
    transfers = 3 * benchmark.bytes * place.beta
    fixed = benchmark.compute + 0.02 + 0.005 * place.ranks + transfers
    calls = [fixed + benchmark.extra(iteration) for iteration in job]
    learning = LEARNING_CALLS * benchmark.algorithms.count("auto")
    warming = benchmark.warmup * len(benchmark.algorithms) + learning
    return len(benchmark.algorithms) * sum(calls) + warming * calls[0]


def _announcement(benchmark: Benchmark, job: Sequence[Iteration], seconds: float) -> str:
    balanced = sum(1 for iteration in job if max(iteration.late) == 0)
    lengths = f"{balanced} balanced + {len(job) - balanced} late + {benchmark.warmup} to warm up"
    names = len(benchmark.algorithms)
    algorithms = "1 algorithm" if names == 1 else f"{names} algorithms"
    return f"{algorithms} x ({lengths}) iterations, about {span(seconds)}"


class _Lines:
    """The number of lines of a growing file; each look reads what was added."""

    def __init__(self, path: Path) -> None:
        self._path, self._lines, self._read = path, 0, 0

    def __call__(self) -> int:
        with suppress(OSError), self._path.open("rb") as file:
            file.seek(self._read)
            more = file.read()
            self._read += len(more)
            self._lines += more.count(b"\n")
        return self._lines


def make_result(
    benchmark: Benchmark, place: Place, job: Sequence[Iteration], outcome: Outcome
) -> result.Result:
    """The rows of a run. Raises BenchError, or KeyboardInterrupt, if it completed no iteration."""
    header = outcome.samples.header
    setting = statistics.setting_of(
        benchmark, header.ranks, benchmark.bytes, place.name, short_library(header.mpi)
    )
    rows = statistics.summarise(
        outcome.samples, job, benchmark.delays or [None], setting, place.limit(benchmark)
    )
    if not rows and outcome.trouble == INTERRUPTED:
        raise KeyboardInterrupt
    if not rows:
        what = "no iteration was completed"
        raise BenchError(what, outcome.trouble or "no samples", "allow more time")
    remarks = [*outcome.remarks]
    if place.name == LOCAL:
        remarks += crowded(header.ranks, header.mpi)
    used = result.used(benchmark, setting, outcome.trouble) | {
        "mpi_library": header.mpi,
        "costs": place.costs or "default",
        "costs_from": place.costs_from,
        "count": benchmark.count,
        "imbalance": benchmark.imbalance,
        "warmup": benchmark.warmup,
        "compute_s": benchmark.compute,
        "edge": benchmark.edge,
        "clock": header.fields["clock"],
        "hosts": list(dict.fromkeys(header.fields.get("hosts", []))),
        **({"remarks": remarks} if remarks else {}),
    }
    return result.Result(rows, used)


def judge(outcome: Outcome, job: Sequence[Iteration], rows: Sequence[statistics.Row]) -> int:
    """Report a failure; return the exit code."""
    if outcome.trouble:
        complete = len({sample.iteration for sample in outcome.samples.complete()})
        say(f"{outcome.trouble}; these are the first {complete} of {len(job)} iterations")
    return outcome.code or result.count_wrong(rows, table.delay_title)
