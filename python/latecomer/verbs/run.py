"""`latecomer run`: an unmodified MPI program with the drop-in library."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..base.errors import DeadlineError
from ..base.invocation import called, called_here, within
from ..base.output import json_text, print_json, say
from ..base.whole_files import write_text
from ..command.declare import Seconds, UsageError, argument, flag
from .options import Json, option, refuse
from .run_lines import closing_lines, kept, why_inactive

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..launch.dropin import Ended, Wishes
    from ..report.analysis.answer import Answer
    from .report import Seen

_TURNS = 3


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of run."""

    command: Annotated[list[str] | None, argument(
        "COMMAND...", "A launcher (mpirun, mpiexec, srun) and its arguments."
    )] = None  # fmt: skip
    observe: Annotated[bool, flag(
        "--observe", "Look without changing any collective: the MPI library carries out all of "
        "them, as without this command."
    )] = False  # fmt: skip
    algorithm: Annotated[str | None, option(
        "--algorithm", "LIST", "Use these algorithms: a name for all collectives that have it, or "
        "'allreduce:ring;bcast:binomial'. The default is auto."
    )] = None  # fmt: skip
    off: Annotated[bool, flag("--off", "Run the same without the library.")] = False
    reproducible: Annotated[
        bool, flag("--reproducible", "Make results of handled calls the same bits from run to run.")
    ] = False
    progress: Annotated[str | None, option(
        "--progress", "none|thread", "Add a progress thread to each rank. It needs "
        "MPI_THREAD_MULTIPLE."
    )] = None  # fmt: skip
    wait: Annotated[str | None, option(
        "--wait", "auto|poll|sleep", "Let ranks that wait sleep, so that their cores are free, or "
        "poll. The default, auto, lets them sleep where they share cores."
    )] = None  # fmt: skip
    min_bytes: Annotated[str | None, option(
        "--min-bytes", "N", "Leave vectors below so many bytes to the MPI library. The default is "
        "1KiB."
    )] = None  # fmt: skip
    rules: Annotated[Path | None, option(
        "--rules", "FILE", "Let these rules choose where the algorithm is auto: see latecomer "
        "rules."
    )] = None  # fmt: skip
    wisdom: Annotated[Path | None, option(
        "--wisdom", "FILE", "Begin with what earlier jobs have learnt of the network, which this "
        "file keeps, and add what this one learns."
    )] = None  # fmt: skip
    compare: Annotated[bool, flag(
        "--compare", "Run with and without the library in turns, and print the difference."
    )] = False  # fmt: skip
    turns: Annotated[int | None, option(
        "--turns", "N", "Compare over so many turns of three runs each. The default is 3; fewer do "
        "not tell.",
        min=1, max=1000
    )] = None  # fmt: skip
    trace: Annotated[Path | None, option(
        "--trace", "FOLDER", "Trace all calls into this folder, which must not hold a trace; "
        "latecomer report FOLDER reads it. With --compare each run has a folder in it; those "
        "without latecomer are observed, and what became longer is said at the end."
    )] = None  # fmt: skip
    no_messages: Annotated[bool, flag(
        "--no-messages", "Look at collectives alone: --trace records no messages between two "
        "ranks, and --observe does not time them."
    )] = False  # fmt: skip
    html: Annotated[Path | None, option("--html", "FILE", "It needs --trace.")] = None
    output: Annotated[Path | None, option(
        "--output", "FILE", "It is JSON if its name ends in .json; --verbose prints it.",
        old=("--report",)
    )] = None  # fmt: skip
    preload_only: Annotated[bool, flag(
        "--preload-only", "Start nothing: print the variables that put the library into the ranks, "
        "for launchers that this command does not know. No COMMAND is needed."
    )] = False  # fmt: skip
    verbose: Annotated[bool, flag(
        "--verbose", "Print the tables of rank 0's calls, too, whose calls they were, and an "
        "estimate of the time that latecomer saved."
    )] = False  # fmt: skip
    deadline: Annotated[Seconds | None, option("--deadline", "TIME", "None by default.")] = None
    json: Json = False

    def wishes(self) -> Wishes:
        from ..launch.dropin import Wishes

        return Wishes(
            self.algorithm, self.reproducible, self.progress, self.min_bytes, self.output,
            self.rules, self.trace, self.observe or (False if self.compare else None),
            self.verbose, self.wisdom, not self.no_messages, self.wait,
        )  # fmt: skip

    def check(self) -> None:
        """Check that the options go together. Raises UsageError."""
        changing = {"--algorithm": self.algorithm, "--reproducible": self.reproducible,
                    "--progress": self.progress, "--rules": self.rules,
                    "--wisdom": self.wisdom, "--wait": self.wait}  # fmt: skip
        if self.reproducible and "auto:random" in (self.algorithm or ""):
            refuse("auto:random takes another algorithm in each call", {"--reproducible": True})
        if self.off and self.compare:
            raise UsageError("--off and --compare exclude each other: --compare runs both")
        if self.observe:
            if self.off or self.compare:
                what = "--observe needs one run with the library"
                raise UsageError(f"{what}; leave out --off or --compare")
            refuse("--observe changes no collective", changing)
        if not self.compare:
            refuse("--turns is for --compare", {"--turns": self.turns})
        self._check_trace()
        if self.off:
            refuse("--off runs without the library", {
                **changing, "--min-bytes": self.min_bytes, "--output": self.output,
                "--verbose": self.verbose,
            })  # fmt: skip

    def _check_trace(self) -> None:
        from ..report.trace.native import is_folder_of_trace
        from .settings import fresh_folder

        if self.html and not self.trace:
            raise UsageError(f"--html {self.html} is the page of a trace; it needs --trace FOLDER")
        named = self.wishes().variables()
        if not named.get("LATECOMER_TRACE") and named.get("LATECOMER") != "observe":
            refuse("--no-messages is for --trace and --observe",
                   {"--no-messages": self.no_messages})  # fmt: skip
        if self.trace and self.off:
            raise UsageError("--trace needs a run with the library; leave out --off")
        folders = [self.trace] if self.trace else []
        if self.compare and self.trace and self.trace.is_dir():
            folders += self.trace.iterdir()
        if any(map(is_folder_of_trace, folders)):
            other = fresh_folder(str(self.trace))
            raise UsageError(
                f"--trace: {self.trace} holds a trace; name another folder, as in --trace {other}"
            )


def run(asked: Options) -> int:
    """Run an MPI program with the drop-in library in its ranks, and say who is late.

    Its collectives become latecomer's where these are faster. Sums of floating-point numbers may
    then differ in their last bits from run to run, since arrivals decide about the order;
    --reproducible prevents that, and --observe changes nothing at all. At the end four lines say
    who is late, what it costs, where, and what to do next. The exit code is that of the program.

    Example: latecomer run --observe -- mpirun -n 4 ./app
    """
    from . import settings

    if asked.html is None and asked.output is not None and asked.output.suffix == ".html":
        asked = replace(asked, html=asked.output, output=None)
    asked.check()
    wishes = asked.wishes()
    settings.check_values(wishes)
    if asked.preload_only:
        refuse("--preload-only starts nothing", {
            "COMMAND": asked.command, "--off": asked.off, "--compare": asked.compare,
            "--html": asked.html, "--deadline": asked.deadline,
        })  # fmt: skip
        return _print_variables(wishes, asked.json)
    launcher = launcher_of(asked.command, "run")
    settings.check_files(wishes, asked.html)
    return (_compare if asked.compare else _run)(launcher, wishes, asked)


def launcher_of(command: list[str] | None, verb: str) -> list[str]:
    """The command, which starts ranks by itself. Raises UsageError."""
    from ..launch import mpi

    if not command:
        raise UsageError("Missing argument 'COMMAND...'.")
    if mpi.is_launcher(command[0]):
        return command
    verb = f"{called_here()} {verb}"
    right = f"right would be mpirun, mpiexec or srun, as in '{verb} -- mpirun -n 4 ./app'"
    if not command[0]:
        raise UsageError(f"COMMAND is empty; {right}")
    if mpi.looks_like_a_program(command[0]):
        whole = shlex.join(command)
        raise UsageError(
            f"COMMAND starts with the program {command[0]}; right would be a launcher before it, "
            f"mpirun, mpiexec or srun, as in '{verb} -- mpirun -n 4 {whole}'; for "
            f"launchers that are not known there is {called()} run --preload-only"
        )
    raise UsageError(
        f"COMMAND starts with {command[0]}; {right}. For other launchers: "
        f"'{command[0]} ... env $({called()} run --preload-only) ./app'"
    )


def _print_variables(wishes: Wishes, as_json: bool) -> int:
    from ..launch.dropin import preload_variables

    variables = preload_variables(wishes)
    if as_json:
        print_json(variables)
        return 0
    for name, value in variables.items():
        print(f"{name}={value}")
    return 0


def _run(command: list[str], wishes: Wishes, asked: Options) -> int:
    from ..launch.dropin import run_once
    from ..report.trace.native import is_folder_of_trace
    from .settings import claimed

    trace, off, code = asked.trace, asked.off, None
    try:
        with claimed(trace):
            try:
                ended = run_once(command, wishes, off=off, deadline=asked.deadline)
                code = ended.code
            finally:
                if trace and is_folder_of_trace(trace):  # for the report: how it was made
                    _note(trace, command, ended=time.time(), code=code)
    except KeyboardInterrupt:
        if trace and is_folder_of_trace(trace):
            say(f"the trace so far: {called()} report {shlex.quote(str(trace))}")
        raise
    except DeadlineError as error:
        remedy = f"{error.remedy}; {kept(trace)}"
        raise DeadlineError(error.what, error.value, remedy) from None
    if ended.unlike:
        say(ended.unlike)
    answer = None if off else _answer(command, ended, trace, asked.html)
    if asked.json:
        value = {"code": ended.code, "seconds": ended.seconds, "job": ended.summary}
        print_json(value | {"answer": vars(answer) if answer else None})
    elif not off:
        _say_all(closing_lines(command, ended, answer, wishes))
    return ended.code


def _answer(
    command: list[str], ended: Ended, trace: Path | None, page: Path | None
) -> Answer | None:
    """From the trace if there is one, else from what the ranks summed up."""
    from ..report.trace.native import is_folder_of_trace

    if trace and is_folder_of_trace(trace):
        found = _answer_of_trace(trace, page, ended)
        if found:
            return found
    return _answer_of_job(command, ended.summary) if ended.summary else None


def _answer_of_trace(trace: Path, page: Path | None, ended: Ended) -> Answer | None:
    from ..base.errors import UserError
    from ..report.analysis.job import unseen
    from ..report.trace import read
    from .report import see, with_what_if, write_page

    try:
        found = read(trace)
        if not (found.calls or found.messages or found.overlapping or found.others):
            return None
        job = ended.summary
        known = {"unseen": unseen(job)} if job and found.messages is None else {}
        for remark in found.remarks if ended.code else []:  # such as where ranks were last seen
            say(remark)
        seen = see(found, {"skip": None}, after="" if page else "trace", **known)
    except UserError as error:
        say(str(error))
        return None
    if page:
        seen, answers = with_what_if(seen)
        write_page(seen, answers, page, told=True)
    return seen.said


def _answer_of_job(command: list[str], job: Mapping[str, Any], after: str = "") -> Answer:
    from ..launch.preload import behind_options
    from ..report.analysis.answer import answer_of
    from ..report.analysis.code import lines_of
    from ..report.analysis.job import facts_of_job
    from ..report.trace.about import About, program_of
    from .settings import fresh_folder

    run = About(program=program_of(behind_options(command)), started=time.time() - job["elapsed_s"])
    code = lines_of((each["site"] for each in job["places"] if each["site"]), run)
    told = facts_of_job(job, run_command=shlex.join(command), code=code)
    return answer_of(replace(told, after=after, traces=fresh_folder(), within=within()))


def _compare(command: list[str], wishes: Wishes, asked: Options) -> int:
    from ..launch.dropin import Comparison, compare
    from .compare import compare_traces, comparison_json
    from .settings import claimed

    turns = asked.turns or _TURNS
    each = replace(wishes, report=None)  # the result is that of all runs
    with claimed(asked.trace):
        result = compare(command, each, turns=turns, deadline=asked.deadline, progress=say)
    if not isinstance(result, Comparison):
        if result.code:
            say(f"a run failed with exit code {result.code}; its output is above, or run it alone")
            return result.code
        inactive = "the library was not active in a run that should have it"
        why = result.unlike or f"{inactive}: {why_inactive(command, result)}"
        say(f"there is no comparison, since {why}")
        return 1
    traces = None
    if not asked.json:
        print(result.text())
    if asked.trace:
        look = partial(_look, command)
        traces = compare_traces(asked.trace, turns, look, asked.html, asked.json)
    value = comparison_json(result) | {"traces": traces}
    if asked.output:
        as_json = asked.output.suffix == ".json"
        write_text(asked.output, (json_text(value) if as_json else result.text()) + "\n")
    if asked.json:
        print_json(value)
        return 0
    if job := result.last.summary:
        answer = _answer_of_job(command, job, "compare")
        _say_all(closing_lines(command, result.last, answer, wishes))
    return 0


def _note(folder: Path, command: list[str], **end: Any) -> None:
    from ..launch.mpi import library_of
    from ..launch.preload import behind_options
    from ..report.trace.about import note

    note(folder, command, behind_options(command), library_of(command[0]), **end)


def _look(command: list[str], folder: Path) -> Seen:
    from ..report.trace import read
    from .report import see

    _note(folder, command)
    return see(read(folder), {"skip": None})


def _say_all(lines: list[str]) -> None:
    from ..report.analysis.answer import HANG

    for line in lines:
        say(line, hang=HANG)
