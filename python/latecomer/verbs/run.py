"""`latecomer run`: an unmodified MPI program with the drop-in library."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..base.output import print_json, say
from ..command.declare import UsageError, argument, flag, option
from .options import Json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..dropin import Comparison, Ended, Wishes

Command = Annotated[
    list[str], argument("COMMAND...", "A launcher (mpirun, mpiexec, srun) and its arguments.")
]
Algorithm = Annotated[
    str | None,
    option("--algorithm", "LIST", "Use these algorithms: a name for all collectives "
           "that have it, or "
           "'allreduce:ring;bcast:binomial'. The default is auto."),
]  # fmt: skip
Off = Annotated[bool, flag("--off", "Run the same without the library.")]
Reproducible = Annotated[
    bool, flag("--reproducible", "Make results of handled calls the same bits from run to run.")
]
Progress = Annotated[
    str | None,
    option("--progress", "none|thread", "Add a progress thread to each rank. It needs "
           "MPI_THREAD_MULTIPLE."),
]  # fmt: skip
MinBytes = Annotated[
    str | None,
    option("--min-bytes", "N", "Leave vectors below so many bytes to the MPI library. The default "
           "is 1KiB."),
]  # fmt: skip
Rules = Annotated[
    Path | None,
    option("--rules", "FILE", "Let these rules choose where the algorithm is auto: see latecomer "
           "rules."),
]  # fmt: skip
Compare = Annotated[
    bool, flag("--compare", "Run with and without the library in turns, and print the difference.")
]
Turns = Annotated[
    int, option("--turns", "N", "Compare over so many turns of three runs each.", min=1, max=1000)
]
Report = Annotated[
    Path | None,
    option("--report", "FILE", "Write rank 0's report to a file, as JSON if its name ends in "
           ".json. The default is stderr. With --trace and a name that ends in .html: write the "
           "page of the trace."),
]  # fmt: skip
TraceFolder = Annotated[
    Path | None,
    option("--trace", "FOLDER", "Trace all calls into this folder, which must not hold a trace; "
           "latecomer report FOLDER reads it."),
]  # fmt: skip
Deadline = Annotated[
    float | None, option("--deadline", "S", "Kill a run after so many seconds. None by default.")
]


def run(
    command: Command,
    algorithm: Algorithm = None,
    off: Off = False,
    reproducible: Reproducible = False,
    progress: Progress = None,
    min_bytes: MinBytes = None,
    rules: Rules = None,
    compare: Compare = False,
    turns: Turns = 3,
    report: Report = None,
    trace: TraceFolder = None,
    deadline: Deadline = None,
    as_json: Json = False,
) -> int:
    """Run an MPI program with the drop-in library in its ranks: its collectives become latecomer's.

    Sums of floating-point numbers may differ in their last bits from run to run, since arrivals
    decide about the order; --reproducible prevents that. The exit code is that of the program.

    Example: latecomer run -- mpirun -n 4 ./app
    """
    from ..dropin import Wishes
    from ..launch import mpi

    if not mpi.is_launcher(command[0]):
        raise UsageError(
            f"COMMAND starts with {command[0]}; right would be mpirun, mpiexec or srun, as in "
            "'latecomer run -- mpirun -n 4 ./app'"
        )
    if off and compare:
        raise UsageError("--off and --compare exclude each other: --compare runs both")
    if rules is not None:
        from ..rulefile import read

        read(rules)  # refused here, before anything is started
    page = report if report and report.suffix == ".html" else None
    _check_trace(trace, page, off, compare)
    wishes = Wishes(
        algorithm, reproducible, progress, min_bytes, None if page else report, rules, trace
    )
    if compare:
        return _compare(command, wishes, turns, deadline, as_json)
    code = _run(command, wishes, off, deadline, as_json)
    if trace:
        _note(trace, command)
    return code or _write_page(trace, page) if trace and page else code


def _note(trace: Path, command: list[str]) -> None:
    """For the report: how the trace was made."""
    from ..launch.mpi import library_of
    from ..trace.about import note
    from ..trace.native import is_folder_of_trace

    if is_folder_of_trace(trace):
        note(trace, command, library_of(command[0]))


def _check_trace(trace: Path | None, page: Path | None, off: bool, compare: bool) -> None:
    from ..trace.native import is_folder_of_trace

    if page and not trace:
        raise UsageError(f"--report {page} is the page of a trace; it needs --trace FOLDER")
    if trace and (off or compare):
        raise UsageError("--trace needs one run with the library; leave out --off or --compare")
    if trace and is_folder_of_trace(trace):
        raise UsageError(f"--trace: {trace} holds a trace; name another folder")


def _write_page(trace: Path, page: Path) -> int:
    from .report import report

    return report(trace, html=page)


def _run(
    command: list[str], wishes: Wishes, off: bool, deadline: float | None, as_json: bool
) -> int:
    from ..dropin import run_once

    ended = run_once(command, wishes, off=off, deadline=deadline)
    if as_json:
        value = {"code": ended.code, "seconds": ended.seconds, "job": ended.summary}
        print_json(value)
    elif not off:
        for line in _lines(ended):
            say(line)
    return ended.code


def _compare(
    command: list[str], wishes: Wishes, turns: int, deadline: float | None, as_json: bool
) -> int:
    from ..dropin import Comparison, compare

    result = compare(command, wishes, turns=turns, deadline=deadline, progress=say)
    if not isinstance(result, Comparison):
        say(f"a run failed with exit code {result.code}; its output is above, or run it alone")
        return result.code
    if as_json:
        print_json(_comparison_json(result))
    else:
        print(_comparison_text(result))
        for line in _lines(result.last):
            say(line)
    return 0


def _lines(ended: Ended) -> list[str]:
    """What the library did; says so if it did not."""
    job = ended.summary
    if job is None:
        return [
            "no rank said that the library was active: the program has one rank or no "
            "MPI_Finalize, failed, or rank 0 runs on a machine whose files are not seen here"
        ]
    lines = [f"active on all {job['ranks']} ranks; {_waiting(job)}", _calls(job)]
    return [*lines, _saved(job)] if job["calls"]["handled"] else lines


def _waiting(job: Mapping[str, Any]) -> str:
    text = f"{job['waiting_s']:.3g} s of {job['elapsed_s']:.3g} s waiting for late ranks, "
    text += f"{job['moving_s']:.3g} s moving data"
    if job["last_rank"] is None:
        return text
    share = 100 * job["last_calls"] / job["told"]
    return f"{text}; rank {job['last_rank']} on {job['last_host']!r} came last in {share:.0f} %"


def _calls(job: Mapping[str, Any]) -> str:
    counted = {name: n for name, n in job["calls"].items() if n and name != "before_arrival"}
    text = ", ".join(f"{n} {name}" for name, n in counted.items()) or "none"
    return f"calls of all ranks: {text}; short ones left to the MPI library: {job['short_calls']}"


def _saved(job: Mapping[str, Any]) -> str:
    handled, estimated = job["calls"]["handled"], job["estimated_calls"]
    if not estimated:
        return (
            "no estimate of the time that handled calls saved: the MPI library carried out too few "
            "calls like them; --compare measures it"
        )
    saved, range_s = job["saved_s"], job["saved_range_s"]
    text = f"{estimated} of {handled} handled calls {'lost' if saved < 0 else 'saved'} an estimated"
    sure = "rough: the library's calls were in one stretch"
    if range_s is not None:
        sure = f"saved: {saved - range_s:.3g} to {saved + range_s:.3g} s"
    text += f" {abs(saved):.3g} s a rank ({sure})"
    rest = f"; no estimate for the other {handled - estimated}" if estimated < handled else ""
    return f"{text}{rest}; --compare measures it"


def _comparison_json(result: Comparison) -> dict[str, Any]:
    return {
        "without_s": result.without,
        "with_s": result.with_it,
        "control_s": result.control,
        "gain": result.gain,
        "gain_range": result.spread,
        "control_gain": result.control_gain,
        "control_range": result.control_spread,
        "job": result.last.summary,
    }


def _comparison_text(result: Comparison) -> str:
    from statistics import median

    def part(value: float, spread: tuple[float, float]) -> str:
        return f"{100 * value:+.1f} % ({100 * spread[0]:+.1f} to {100 * spread[1]:+.1f})"

    return "\n".join(
        [
            f"without   {median(result.without):.3f} s (median of {len(result.without)} turns)",
            f"with      {median(result.with_it):.3f} s",
            f"control   {median(result.control):.3f} s (without, once more)",
            f"saved     {part(result.gain, result.spread)} of the time without",
            f"control   {part(result.control_gain, result.control_spread)}: noise",
        ]
    )
