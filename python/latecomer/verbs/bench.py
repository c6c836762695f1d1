"""`latecomer bench`: the papers' mini-benchmark, with ranks that arrive when it is told to."""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Protocol

import typer
from rich.console import Console
from rich.progress import Progress

from .. import lab, mpi, processes, registry, samples, statistics, table
from ..arrivals import PATTERNS, Iteration, Pattern
from ..compiled import __version__, core
from ..errors import UserError
from .output import console, say

_TYPE_BYTES = {"float32": 4, "float64": 8, "int32": 4, "int64": 8}
_OPERATORS = ("sum", "max", "slow-sum", "non-commutative")
_FORMATS = ("table", "csv", "json", "osu")
_ESTIMATES = ("perfect", "online", "wrong")
_PROGRESS = ("declared", "none", "thread")
_FAMILIES = ("openmpi", "mpich")
_PLOTS = (".svg", ".png", ".html")
_NETWORKS = ("lab", "local", "inherit")
_MOST_COUNT = 2**31 - 1
_DEFAULT_BYTES = 1 << 20
_DEFAULT_DELAY = "50ms"
_DEFAULT_NODES = {"lab": 8, "local": 4}
_TABLE_WIDTH = 120  # in a file
_WIDE = 100  # a terminal that shows all columns

# What the plans of the lab assume besides its bandwidth, until it is calibrated. alpha: a small
# message between two idle hosts takes some 100 us, most of it system calls. gamma: two vectors of
# 4 MiB added on one core.
_LAB_ALPHA, _LAB_GAMMA, _LAB_EAGER = "100us", "0.15ns", "64KiB"

_RANK = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
_SIZE = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS")
_ELSEWHERE = "on-rank-0"  # stands for the files that only rank 0 opens

_PROGRAM = "latecomer_bench_"  # and the family
_PACKAGE = Path(__file__).resolve().parents[1]
_PROGRAM_FOLDERS = (_PACKAGE / "bin", _PACKAGE.parents[1] / "build" / "release")
_LIBRARY = re.compile(r"(Open MPI|MPICH)\D*([\w.]+)")


class BenchError(UserError):
    """The benchmark could not be run, or not to its end."""


class OptionError(UserError, ValueError):
    """Options that make no sense, or not together."""


# What is asked


@dataclass(frozen=True)
class Question:
    """What to measure; times in seconds."""

    collective: str
    algorithms: list[str]
    count: int
    type: str
    op: str
    pattern: Pattern
    delays: list[float]
    iterations: int
    warmup: int
    seed: int
    compute: float
    edge: float
    estimate: str
    progress: str

    def __post_init__(self) -> None:
        if self.estimate == "online":
            raise OptionError("--estimate is not built yet", "online", "use perfect or wrong")
        if self.progress == "thread":
            raise OptionError("--progress is not built yet", "thread", "use declared or none")

    @property
    def bytes(self) -> int:
        """The size of the vector."""
        return self.count * _TYPE_BYTES[self.type]

    def job(self, ranks: int) -> list[Iteration]:
        """The iterations, in order. Raises ArrivalError."""
        return self.pattern.iterations(ranks, self.delays, self.iterations, self.seed)

    def arguments(self) -> list[str]:
        """The options of the benchmark program, but for files and network."""
        values = {
            "algorithms": ",".join(self.algorithms),
            "count": self.count,
            "type": self.type,
            "op": self.op,
            "compute": self.compute,
            "edge": self.edge,
            "estimate": self.estimate,
            "warmup": self.warmup,
            "seed": self.seed,
        }
        return [word for name, value in values.items() for word in (f"--{name}", str(value))]


def _one_of(option: str, value: str, choices: Sequence[str]) -> str:
    if value not in choices:
        raise OptionError(f"no such {option}", value, f"use {', '.join(choices)}")
    return value


def _choose_algorithms(collective: str, text: str, op: str) -> list[str]:
    """The algorithms' texts, each checked; `all` stands for those that take the operator."""
    commutes = op != "non-commutative"
    every = [row.name for row in registry.algorithms(collective)]
    chosen: list[str] = []
    for name in (part.strip() for part in text.split(",")):
        chosen += _able(collective, every, commutes) if name == "all" else [name]
    for name in chosen:
        core.check_choice(collective, name)
        if not core.accepts_operator(collective, name, commutes):
            raise OptionError(f"--op does not go with {name}", op, "leave the algorithm out")
    return list(dict.fromkeys(chosen))


def _able(collective: str, names: Sequence[str], commutes: bool) -> list[str]:
    able = [name for name in names if core.accepts_operator(collective, name, commutes)]
    if left_out := [name for name in names if name not in able]:
        say(f"left out, since they need a commutative operator: {', '.join(left_out)}")
    return able


def _count(size: str | None, count: str | None, type_: str, op: str) -> int:
    """Numbers in the vector."""
    if size and count:
        raise OptionError("--bytes and --count both given", f"{size}, {count}", "give one of them")
    each = _TYPE_BYTES[type_]
    whole = core.parse_bytes("--bytes", size) if size else _DEFAULT_BYTES
    if not count and whole % each:
        raise OptionError(f"--bytes holds no whole number of {type_}", size, f"use {each} x N")
    number = core.parse_count("--count", count) if count else whole // each
    if not 1 <= number <= _MOST_COUNT:
        raise OptionError("count out of range", number, f"use 1 to {_MOST_COUNT} numbers")
    if op == "non-commutative" and number % 2:
        raise OptionError("non-commutative works on pairs of numbers", number, "use an even count")
    return number


def _delays(text: str | None, pattern: Pattern) -> list[float]:
    """Seconds; none for arrivals from a file."""
    if pattern.path is not None:
        if text is not None:
            raise OptionError("--delay given", text, "leave it out: the file says how late")
        return []
    default = "0" if pattern.name == "balanced" else _DEFAULT_DELAY
    parts = (text or default).split(",")
    delays = list(dict.fromkeys(core.parse_seconds("--delay", part.strip()) for part in parts))
    if pattern.name == "balanced" and any(delays):
        raise OptionError("--delay given", text, "leave it out, or use --arrival onelate")
    return delays


# Where it runs


class Place(Protocol):
    """Where the benchmark program runs."""

    rank: int  # of this process; 0 where it starts all of them
    ranks: int
    name: str  # for the network column
    costs: str  # of the network, for plans; "": not known
    beta: float  # seconds per byte of a link; 0: not known

    def limit(self, question: Question) -> statistics.Limit | None:
        """The lower bound of the time after the last arrival; None: not known."""

    def run(self, arguments: Sequence[str], deadline: float | None) -> int:
        """Run the program and return its exit code. Raises DeadlineError after some seconds."""


class LabPlace:
    """The emulated cluster."""

    rank = 0

    def __init__(self, spec: lab.LabSpec, family: str | None) -> None:
        self._spec = spec
        self._program = _program_of_any(family)
        self.ranks, self.name = spec.ranks, spec.describe()
        self.beta = spec.beta_seconds_per_byte
        beta = f"{1e9 * self.beta:.6g}ns"
        self.costs = f"alpha={_LAB_ALPHA},beta={beta},gamma={_LAB_GAMMA},eager={_LAB_EAGER}"

    def limit(self, question: Question) -> statistics.Limit | None:
        """None if ranks share a link: the bound is for one rank on each."""
        if self._spec.per_node > 1:
            return None
        credit = self._spec.burst * self.beta
        return statistics.LabLimit(question.collective, question.bytes, self.costs, credit)

    def run(self, arguments: Sequence[str], deadline: float | None) -> int:
        return lab.run(self._spec, [str(self._program), *arguments], deadline=deadline)


class LocalPlace:
    """Plain MPI on this machine."""

    rank = 0
    costs, beta = "", 0.0
    name = "local"

    def __init__(self, ranks: int, family: str | None) -> None:
        self.ranks = ranks
        self._program = _program_of_any(family)

    def limit(self, question: Question) -> None:
        """Nothing is known of this machine's memory as a network."""

    def run(self, arguments: Sequence[str], deadline: float | None) -> int:
        name = self._program.name.removeprefix(_PROGRAM)
        using = mpi.family_of(str(self._program)) or mpi.family(name)
        words = [str(self._program), *arguments]
        launch = mpi.launch_command(using, self.ranks, words, allow_root=True)
        return processes.run(launch.command, env=launch.env, deadline=deadline)


class InheritedPlace:
    """The MPI job that this process is a rank of."""

    costs, beta = "", 0.0
    name = "inherit"

    def __init__(self, family: str | None) -> None:
        rank, size = (_first_number(names) for names in (_RANK, _SIZE))
        if rank is None or size is None:
            what = "--network inherit outside of an MPI job"
            raise OptionError(what, "no rank", "start it as in: mpirun -n 4 latecomer bench ...")
        self.rank, self.ranks = rank, size
        self._program = _program_of(family or _family_of_job())

    def limit(self, question: Question) -> None:
        """Nothing is known of the network."""

    def run(self, arguments: Sequence[str], deadline: float | None) -> int:
        # The launcher may have left open files for its ranks, so the program inherits all.
        child = subprocess.Popen([str(self._program), *arguments], close_fds=False)
        try:
            return processes.exit_code(child.wait(deadline))
        except subprocess.TimeoutExpired:
            what = "still running at the deadline and killed"
            raise processes.DeadlineError(
                what, f"{deadline:g} s", "allow more by --deadline"
            ) from None
        finally:
            processes.stop(child)


def _place(
    network: str | None, nodes: int | None, rate: str, per_node: int, family: str | None
) -> Place:
    _one_of("--network", network or "lab", _NETWORKS)
    _one_of("--mpi", family or "openmpi", _FAMILIES)
    if network == "inherit":
        if nodes is not None or per_node != 1:
            raise OptionError("--nodes or --per-node given", network, "leave it out: the job says")
        return InheritedPlace(family)
    if any(name in os.environ for name in _RANK[:3]):
        what = "this is one rank of an MPI job"
        raise OptionError(what, f"--network {network or 'lab'}", "use --network inherit")
    if network != "local":
        spec = lab.LabSpec(nodes or _DEFAULT_NODES["lab"], lab.parse_rate(rate), per_node=per_node)
        if place := _lab_place(spec, family, wanted=network == "lab"):
            return place
    return LocalPlace((nodes or _DEFAULT_NODES["local"]) * per_node, family)


def _lab_place(spec: lab.LabSpec, family: str | None, wanted: bool) -> LabPlace | None:
    try:
        return LabPlace(lab.settle(spec), family)
    except lab.LabError as error:
        if wanted:
            raise
        say(f"plain local ranks, since there is no emulated cluster: {error}")
        return None


def _program_of_any(family: str | None) -> Path:
    """The program of a family; of the preferred one that it is built for, if none is named."""
    if family:
        return _program_of(family)
    known = dict.fromkeys(found.name for found in mpi.families())
    built = [path for path in map(_find_program, known) if path]
    return built[0] if built else _program_of(next(iter(known), "openmpi"))


def _program_of(family: str) -> Path:
    if path := _find_program(family):
        return path
    raise BenchError(
        "the benchmark program is not built",
        f"{_PROGRAM}{family}",
        "build it with ./demo at the root of the clone, or name its folder in LATECOMER_PROGRAMS",
    )


def _find_program(family: str) -> Path | None:
    named = [Path(p) for p in os.environ.get("LATECOMER_PROGRAMS", "").split(":") if p]
    paths = (folder / f"{_PROGRAM}{family}" for folder in (*named, *_PROGRAM_FOLDERS))
    return next((path for path in paths if os.access(path, os.X_OK)), None)


def _family_of_job() -> str:
    if "OMPI_COMM_WORLD_RANK" in os.environ:
        return "openmpi"
    if "MPI_LOCALRANKID" in os.environ:  # Hydra, the launcher of MPICH
        return "mpich"
    built = [name for name in ("openmpi", "mpich") if _find_program(name)]
    if len(built) == 2:
        raise OptionError("which MPI library this job uses is not clear", "", "name it by --mpi")
    return built[0] if built else "openmpi"


def _first_number(names: Sequence[str]) -> int | None:
    found = (os.environ[name] for name in names if os.environ.get(name, "").isdecimal())
    return next((int(value) for value in found), None)


# Running it


@dataclass(frozen=True)
class Outcome:
    """What came of a run; `trouble` says why it ended early."""

    samples: samples.Samples
    trouble: str | None
    code: int


def _measure(
    question: Question,
    place: Place,
    job: Sequence[Iteration],
    deadline: float | None,
    keep: Path | None,
) -> Outcome:
    """Run the job; what was measured before it was interrupted or failed is kept."""
    seconds = _expected(question, place, job)
    limit = deadline or max(processes.DEFAULT_DEADLINE_S, 5 * seconds)
    with _scratch() as folder:
        delays = folder / "delays"
        output = keep.absolute() if keep else folder / "samples"
        output.unlink(missing_ok=True)  # an earlier run's must not pass for this one's
        delays.write_text("".join(_line(iteration) for iteration in job))
        words = _files(delays, output) + question.arguments() + _costs(place)
        say(_announcement(question, job, seconds))
        with _progress(output, 1 + len(job) * len(question.algorithms)):
            trouble, code = _run(place, words, limit)
        return Outcome(_read(output, trouble), trouble, code)


def _run(place: Place, words: Sequence[str], deadline: float) -> tuple[str | None, int]:
    """Why it ended early, and the exit code."""
    try:
        code = place.run(words, deadline)
    except KeyboardInterrupt:
        return "interrupted", 130
    except processes.DeadlineError as error:
        return str(error), 1
    return (f"the benchmark program ended with exit code {code}" if code else None), code and 1


def _read(output: Path, trouble: str | None) -> samples.Samples:
    try:
        return samples.read(output)
    except samples.SampleError as error:
        if trouble is None:
            raise
        raise BenchError("nothing was measured", trouble, "see the messages above") from error


def _line(iteration: Iteration) -> str:
    return " ".join(f"{late:.9f}" for late in iteration.late) + "\n"


def _files(delays: Path | str, output: Path | str) -> list[str]:
    return ["--delays", str(delays), "--output", str(output)]


def _costs(place: Place) -> list[str]:
    return ["--network", place.costs] if place.costs else []


@contextmanager
def _scratch() -> Iterator[Path]:
    # The lab covers /run, which some systems use for temporary files.
    usual = tempfile.gettempdir()
    place = "/tmp" if usual.startswith("/run/") else usual  # noqa: S108 - made private below
    with tempfile.TemporaryDirectory(prefix="latecomer-", dir=place) as folder:
        yield Path(folder)


def _expected(question: Question, place: Place, job: Sequence[Iteration]) -> float:
    """About how many seconds the job takes; a collective is taken for three vectors' time."""
    transfers = 3 * question.bytes * place.beta
    fixed = question.compute + 0.02 + 0.005 * place.ranks + transfers
    calls = [fixed + max(iteration.late) for iteration in job]
    return len(question.algorithms) * (sum(calls) + question.warmup * calls[0])


def _announcement(question: Question, job: Sequence[Iteration], seconds: float) -> str:
    lengths = f"{len(job)} iterations + {question.warmup} to warm up"
    return f"{len(question.algorithms)} algorithms x ({lengths}), about {_duration(seconds)}"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


@contextmanager
def _progress(output: Path, lines: int) -> Iterator[None]:
    """A bar on stderr, if that is a terminal, by the lines that the program has written."""
    with Progress(
        console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()
    ) as bar:
        task, done = bar.add_task("measuring", total=lines), threading.Event()

        def watch() -> None:
            while not done.wait(0.3):
                bar.update(task, completed=_lines_of(output))

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()


def _lines_of(path: Path) -> int:
    try:
        return path.read_bytes().count(b"\n")
    except OSError:
        return 0


# What comes out


@dataclass(frozen=True)
class Result:
    """Rows, and what was used to get them."""

    rows: list[statistics.Row]
    used: dict[str, object]

    def text(self, format_: str) -> str:
        """As a file of this format."""
        if format_ == "csv":
            return table.csv_text(self.rows)
        if format_ == "json":
            return table.json_text(self.rows, self.used)
        if format_ == "osu":
            return table.osu_text(self.rows, self.used)
        text = io.StringIO()
        Console(file=text, width=_TABLE_WIDTH, highlight=False).print(table.rich_tables(self.rows))
        return f"{text.getvalue()}latecomer {self.footer()}\n"

    def footer(self) -> str:
        """What was used, in one line."""
        return "version {version}, {mpi}, {network}, seed {seed}".format(**self.used)

    def show(self, format_: str) -> None:
        """On standard output."""
        if format_ == "table":
            screen = console()
            screen.print(table.rich_tables(self.rows, wide=screen.width >= _WIDE))
        else:
            typer.echo(self.text(format_), nl=False)
        say(self.footer())

    def save(self, path: Path, format_: str) -> None:
        """As a table or a picture, by the name's end."""
        if path.suffix in (".svg", ".png"):
            from ..report import plot  # matplotlib takes a while to load

            return plot.save(self.rows, path)
        if path.suffix == ".html":
            from ..report import html

            return _write(path, html.page(self.rows, self.used))
        known = {".csv": "csv", ".json": "json"}
        return _write(path, self.text(known.get(path.suffix, format_)))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _result(question: Question, place: Place, job: Sequence[Iteration], outcome: Outcome) -> Result:
    header = outcome.samples.header
    setting = statistics.Setting(
        collective=question.collective,
        ranks=header.ranks,
        bytes=question.bytes,
        op=question.op,
        arrival=question.pattern.name,
        estimate=question.estimate,
        network=place.name,
        mpi=short_library(header.mpi),
        seed=question.seed,
    )
    rows = statistics.summarise(
        outcome.samples, job, question.delays or [None], setting, place.limit(question)
    )
    if not rows:
        what = "no iteration was completed"
        raise BenchError(what, outcome.trouble or "no samples", "allow more time")
    return Result(rows, _used(question, place, outcome, setting))


def _used(
    question: Question, place: Place, outcome: Outcome, setting: statistics.Setting
) -> dict[str, object]:
    header = outcome.samples.header
    return {
        "version": __version__,
        **vars(setting),
        "mpi_library": header.mpi,
        "costs": place.costs or "default",
        "count": question.count,
        "type": question.type,
        "late_rank": question.pattern.late_rank,
        "delays_s": question.delays,
        "iterations": question.iterations,
        "warmup": question.warmup,
        "compute_s": question.compute,
        "edge": question.edge,
        "progress": question.progress,
        "clock": header.fields["clock"],
        "hosts": list(dict.fromkeys(header.fields.get("hosts", []))),
        "command": shlex.join(["latecomer", *sys.argv[1:]]),
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "complete": outcome.trouble or "yes",
    }


def short_library(text: str) -> str:
    """`openmpi 4.1.4` for what an MPI library says of itself; its first words if unknown."""
    found = _LIBRARY.search(text)
    return f"{found[1].replace(' ', '').lower()} {found[2]}" if found else text[:40]


def _check_paths(results: Sequence[Path], plots: Sequence[Path]) -> None:
    for path in (*results, *plots):
        if not path.absolute().parent.is_dir():
            raise OptionError("no such folder for a result", path, "make it first, with mkdir")
    for path in plots:
        if path.suffix not in _PLOTS:
            raise OptionError("no such plot", path, f"use a name in {', '.join(_PLOTS)}")


def _judge(outcome: Outcome, job: Sequence[Iteration], rows: Sequence[statistics.Row]) -> int:
    """Say what went wrong; the exit code."""
    if outcome.trouble:
        complete = len({sample.iteration for sample in outcome.samples.complete()})
        say(f"{outcome.trouble}; these are the first {complete} of {len(job)} iterations")
    bad = [row for row in rows if row.wrong]
    for row in bad:
        say(f"error: {row.wrong} wrong elements: {row.label}, {table.delay_title(row)}")
    return outcome.code or (1 if bad else 0)


# The command line


def _option(name: str, metavar: str, text: str, **more: object):
    return typer.Option(name, metavar=metavar, help=text, **more)


Collective = Annotated[str, _option("--collective", "NAME", "Which collective.")]
Algorithms = Annotated[
    str,
    _option(
        "--algorithms", "LIST", "all, or names with parameters: native,ring,linear_tree:segments=8."
    ),
]
Bytes = Annotated[
    str | None, _option("--bytes", "SIZE", "Of the whole vector, as in 4MiB; default 1MiB.")
]
Count = Annotated[str | None, _option("--count", "N", "Numbers in the vector, as in 1Mi.")]
Type = Annotated[str, _option("--type", "|".join(_TYPE_BYTES), "Of the numbers.")]
Op = Annotated[str, _option("--op", "|".join(_OPERATORS), "The operator.")]
Arrival = Annotated[
    str,
    _option("--arrival", "|".join(PATTERNS), "Who is late. A file has a line for each iteration, "
            "on it the lateness of each rank: 0,0.005,0 or 0,5ms,0."),
]  # fmt: skip
Delay = Annotated[
    str | None, _option("--delay", "LIST", "How late, as in 0,5ms,50ms; default 50ms.")
]
LateRank = Annotated[int, _option("--late-rank", "RANK", "Who is late with onelate.")]
Progress_ = Annotated[
    str,
    _option("--progress", "declared|none|thread", "Who moves data while a rank computes: what each "
            "algorithm declares, or nobody. No algorithm declares anything yet."),
]  # fmt: skip
Compute = Annotated[str, _option("--compute", "TIME", "Emulated computation before each call.")]
Edge = Annotated[
    float, _option("--edge", "PART", "Of the computation before its edge.", min=0, max=1)
]
Estimate = Annotated[
    str,
    _option("--estimate", "perfect|online|wrong", "What algorithms are told of the arrivals: the "
            "truth, what the library finds out, or the reverse."),
]  # fmt: skip
Iterations = Annotated[int, _option("--iterations", "N", "At each delay.", min=1)]
Warmup = Annotated[int, _option("--warmup", "N", "Iterations before, not recorded.", min=0)]
Seed = Annotated[int, _option("--seed", "N", "Of arrivals, data and order.", min=0)]
Format = Annotated[str, _option("--format", "|".join(_FORMATS), "Of what is printed.")]
Output = Annotated[
    list[Path] | None,
    _option("--output", "FILE", "Also write the result here; .csv and .json as such, anything else "
            "as --format says. Can be repeated."),
]  # fmt: skip
Plot = Annotated[list[Path] | None, _option("--plot", "FILE", "A plot: .svg, .png or .html.")]
Report = Annotated[Path | None, _option("--report", "FILE.html", "A page with plot and table.")]
Keep = Annotated[Path | None, _option("--samples", "FILE", "Keep all arrivals and exits here.")]
Nodes = Annotated[
    int | None, _option("--nodes", "N", "Hosts; default: 8 in the lab, 4 local.", min=1)
]
Rate = Annotated[str, _option("--rate", "R", "Of the lab's links, as in 200mbit.")]
PerNode = Annotated[int, _option("--per-node", "K", "Ranks on each host.", min=1)]
Network = Annotated[
    str | None,
    _option("--network", "|".join(_NETWORKS), "The emulated cluster, this machine as it is, or the "
            "MPI job that this command is started in; default: lab where it works, else local."),
]  # fmt: skip
Mpi = Annotated[str | None, _option("--mpi", "|".join(_FAMILIES), "Which MPI library.")]
Deadline = Annotated[
    float | None,
    _option("--deadline", "S", "Kill everything after so many seconds; default: 5 times the time "
            "expected, 600 at least.", min=0.1),
]  # fmt: skip
Json = Annotated[bool, typer.Option("--json", help="The same as --format json.")]


def bench(
    collective: Collective = "allreduce",
    algorithms: Algorithms = "all",
    size: Bytes = None,
    count: Count = None,
    type_: Type = "float32",
    op: Op = "sum",
    arrival: Arrival = "onelate",
    delay: Delay = None,
    late_rank: LateRank = 1,
    progress: Progress_ = "declared",
    compute: Compute = "100ms",
    edge: Edge = 0.5,
    estimate: Estimate = "perfect",
    iterations: Iterations = 32,
    warmup: Warmup = 4,
    seed: Seed = 1,
    format_: Format = "table",
    output: Output = None,
    plot: Plot = None,
    report: Report = None,
    keep: Keep = None,
    nodes: Nodes = None,
    rate: Rate = "200mbit",
    per_node: PerNode = 1,
    network: Network = None,
    mpi_family: Mpi = None,
    deadline: Deadline = None,
    as_json: Json = False,
) -> None:
    """Measure algorithms when ranks arrive together, and when some are late.

    Every algorithm sees the same arrivals, interleaved iteration by iteration. Times are in ms.
    elapsed is a rank's time in the collective, mean over ranks, median over iterations; after last
    is from the last arrival to the last exit; limit is what no algorithm can beat there.

    Exits with 1 if a result was wrong or the run did not end well. An interrupted run still
    prints the iterations that were completed.

    Example: latecomer bench --algorithms native,ring,prereduced_ring --delay 0,5ms,50ms
    """
    if network == "inherit" and _first_number(_RANK):
        _be_quiet()
    question = Question(
        collective=collective,
        algorithms=_choose_algorithms(collective, algorithms, _one_of("--op", op, _OPERATORS)),
        count=_count(size, count, _one_of("--type", type_, list(_TYPE_BYTES)), op),
        type=type_,
        op=op,
        pattern=(pattern := Pattern(arrival, late_rank)),
        delays=_delays(delay, pattern),
        iterations=iterations,
        warmup=warmup,
        seed=seed,
        compute=core.parse_seconds("--compute", compute),
        edge=edge,
        estimate=_one_of("--estimate", estimate, _ESTIMATES),
        progress=_one_of("--progress", progress, _PROGRESS),
    )
    shown = "json" if as_json else _one_of("--format", format_, _FORMATS)
    plots = [*(plot or ()), *([report] if report else ())]
    files = [*(output or ()), *([keep] if keep else ())]
    _check_paths(files, plots)
    place = _place(network, nodes, rate, per_node, mpi_family)
    raise typer.Exit(_answer(question, place, deadline, keep, shown, [*(output or ()), *plots]))


def _answer(
    question: Question,
    place: Place,
    deadline: float | None,
    keep: Path | None,
    shown: str,
    files: Sequence[Path],
) -> int:
    if place.rank:
        return place.run(_files(_ELSEWHERE, _ELSEWHERE) + question.arguments(), deadline)
    job = question.job(place.ranks)
    outcome = _measure(question, place, job, deadline, keep)
    result = _result(question, place, job, outcome)
    for path in files:
        result.save(path, shown)
    result.show(shown)
    return _judge(outcome, job, result.rows)


def _be_quiet() -> None:
    """Of all ranks of a job only the first one speaks; programs that it starts do not care."""
    sys.stdout = sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - until the process ends
