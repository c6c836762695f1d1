"""`latecomer report`: a trace as sentences, as a page, and in the formats of other tools."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..base.errors import UserError
from ..base.limits import MOST_CALLS
from ..base.output import folded, print_json, progress_bar, say
from ..base.spelling import listed
from ..base.units import seconds as times
from ..base.whole_files import check_apart, write_text
from ..command.declare import argument, bad_value
from ..lab.options.choices import LONGEST_S
from .options import Json, option, refuse
from .settings import fresh_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from ..report.analysis.answer import Answer
    from ..report.analysis.facts import Facts
    from ..report.analysis.lateness import Lateness
    from ..report.analysis.what_if import WhatIf
    from ..report.trace import Trace
    from ..report.trace.about import About

NATIVE = "openmpi-4.1"
_SHORT, _LONG = 2.5, 5.0  # seconds of simulation for few and for many ranks


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of report."""

    folder: Annotated[Path, argument(
        "FOLDER", "The folder of a trace, of whichever kind, or a table: a CSV, JSON lines or "
        "Parquet file."
    )]  # fmt: skip
    second: Annotated[Path | None, argument(
        "[AFTER]", "The trace of another run, after a change: both are compared."
    )] = None  # fmt: skip
    html: Annotated[Path | None, option(
        "--html", "FILE", "The default is report.html in FOLDER, and for a table its name with "
        ".html; with --json, an export or AFTER no page is written without this option."
    )] = None  # fmt: skip
    network: Annotated[str, option(
        "--network", "COSTS", "The what-if begins with them, and fits them to the trace. The "
        "default is LATECOMER_NETWORK, else the costs that calibrate saved, else built-in."
    )] = ""  # fmt: skip
    native: Annotated[str, option(
        "--native", "NAME", "Model the MPI library's own all-reduce so: openmpi-4.1, mpich-5.0, or "
        "an algorithm."
    )] = NATIVE  # fmt: skip
    budget: Annotated[float | None, option(
        "--budget", "S", "Longer traces are represented by stretches, and where that is too "
        "little the chief questions are answered. 0 leaves the what-if out. The default is 2.5, "
        "and up to 5 for many ranks.", min=0, max=LONGEST_S
    )] = None  # fmt: skip
    skip: Annotated[int | None, option(
        "--skip", "N", "Leave out the first N calls. By default the first one is left out where it "
        "makes much of all waiting, as where ranks start at different times; the report says so, "
        "and 0 keeps it.", min=0, max=MOST_CALLS
    )] = None  # fmt: skip
    start: Annotated[str, option(
        "--from", "TIME", "Look at the calls from this time on: 2s after the beginning."
    )] = ""  # fmt: skip
    end: Annotated[str, option("--to", "TIME", "Look at the calls before this time.")] = ""
    perfetto: Annotated[Path | None, option(
        "--perfetto", "FILE", "Write the calls for ui.perfetto.dev or chrome://tracing, as JSON."
    )] = None  # fmt: skip
    csv: Annotated[Path | None, option(
        "--csv", "FILE", "Write one line for each call and rank, as CSV, or as JSON lines if FILE "
        "ends in .jsonl, packed behind a further .gz; report reads it back."
    )] = None  # fmt: skip
    parquet: Annotated[Path | None, option(
        "--parquet", "FILE", "Write what --csv writes as Parquet, if pyarrow is installed."
    )] = None  # fmt: skip
    otf2: Annotated[Path | None, option(
        "--otf2", "FOLDER", "Write an OTF2 archive, for Vampir and others, into this new folder, "
        "if the Python module otf2 is installed."
    )] = None  # fmt: skip
    before: Annotated[list[Path] | None, option(
        "--before", "FOLDER", "Compare with another run like the first one, too; the option can be "
        "repeated. Several runs tell how much they differ by chance."
    )] = None  # fmt: skip
    after: Annotated[
        list[Path] | None, option("--after", "FOLDER", "The same for the second one.")
    ] = None
    json: Json = False

    @property
    def exports(self) -> dict[str, Path | None]:
        """The files and folders for other tools, by option."""
        return {"--perfetto": self.perfetto, "--csv": self.csv, "--parquet": self.parquet,
                "--otf2": self.otf2}  # fmt: skip

    @property
    def simulation(self) -> dict[str, object]:
        """The options of the what-if that were given."""
        model = "" if self.native == NATIVE else self.native
        return {"--network": self.network, "--native": model, "--budget": self.budget}


def report(asked: Options) -> int:
    """Tell who is late in a traced program, where, what it costs, and what would help.

    Programs that run with LATECOMER_TRACE=FOLDER, or by latecomer run --trace, write traces. Also
    read are folders with PyTorch profiler traces, one .json or .json.gz file a rank, with an OTF2
    archive, with lines of NCCL Inspector, with dumps of PyTorch's flight recorder, and with SQLite
    exports of Nsight Systems, and tables that any recording can be converted to:
    docs/recordings.md. With two of them it tells what became longer from the first run to the
    second, for whom and where.

    Example: latecomer report FOLDER --html report.html
    """
    from ..report.trace import read
    from ..report.trace.about import NAME

    part = _part(asked.skip, asked.start, asked.end)
    exports, simulation = asked.exports, asked.simulation
    outputs = [file for file in (asked.html, asked.perfetto, asked.csv, asked.parquet) if file]
    check_apart(outputs)
    _check_native(asked.native)
    if asked.second:
        refuse("two runs are compared without a simulation or an export", simulation | exports)
        return _compare(asked, part, outputs)
    lone = {"--before": asked.before, "--after": asked.after}
    refuse("a comparison needs two folders, as in report A B", lone)
    exported = any(exports.values())
    if exported and asked.html is None and not asked.json:
        parted = {"--skip": asked.skip is not None, "--from": asked.start, "--to": asked.end}
        refuse("an export has all calls, and no answers without --html or --json",
               parted | simulation)  # fmt: skip
    folder = asked.folder
    trace = read(folder)
    check_apart(outputs, [*trace.inputs, folder / NAME])
    if exported:
        _export(trace, exports)
    if asked.html is None and not asked.json:
        if exported:
            return 0
        page = folder / "report.html" if folder.is_dir() else folder.with_suffix(".html")
        asked = replace(asked, html=page)
    return _report(trace, part, asked)


def _export(trace: Trace, exports: Mapping[str, Path | None]) -> None:
    from ..report.trace import export, otf2_export, table_export

    writers: dict[str, tuple[Callable[[Trace, Path], None], Callable[[Trace], str]]] = {
        "--perfetto": (export.perfetto, lambda _: ""),
        "--csv": (table_export.csv, table_export.lacking),
        "--parquet": (table_export.parquet, table_export.lacking),
        "--otf2": (otf2_export.otf2, otf2_export.lacking),
    }
    for name, file in exports.items():
        if file:
            write, lacking = writers[name]
            write(trace, file)
            say(f"wrote {file}")
            if told := lacking(trace):
                say(told)


def _compare(asked: Options, part: Mapping[str, Any], outputs: Sequence[Path]) -> int:
    from .compare import compare

    sides = (
        [asked.folder, *(asked.before or [])],
        [*filter(None, [asked.second]), *(asked.after or [])],
    )
    named = [each for side in sides for each in side]
    whole = [each.resolve() for each in named]
    if twice := [each for each in named if whole.count(each.resolve()) > 1]:
        raise UserError("one run named twice", twice[0], "name runs that differ")
    before, after = ([_seen(each, part, outputs) for each in side] for side in sides)
    value = compare(before, after, asked.html, asked.json)
    if asked.json:
        print_json(value)
    return 0


def _check_native(name: str) -> None:
    """Raises UsageError."""
    from ..core.native_choices import MODELLED, MODELS
    from ..core.registry import algorithms, check_choice

    if name in MODELS:
        return
    known = [*MODELS, *(row.name for row in algorithms(MODELLED) if row.kind == "program")]
    if name.partition(":")[0] not in known:
        raise bad_value("--native", f"'{name}'; give {listed(name, known)}")
    check_choice(MODELLED, name)


@dataclass(frozen=True)
class Seen:
    """A trace that was analysed, and what is known of its run."""

    found: Lateness
    facts: Facts
    said: Answer
    about: About


def see(trace: Trace, part: Mapping[str, Any], **known: Any) -> Seen:
    """The answer, with lines of the program where they can be found; `known` of its facts."""
    from ..report.analysis.answer import answer_of
    from ..report.analysis.code import lines_of
    from ..report.analysis.cut import analysed
    from ..report.analysis.facts import ended_early, facts
    from ..report.trace.about import about

    if part.get("skip") or "start" in part or "end" in part:
        trace = replace(trace, slept=None)  # it is that of the whole run
    found = analysed(trace, **part)
    run = about(Path(trace.source), trace.started)
    sites = [site.site for site in found.sites]
    if found.origin:
        sites += [place.site for place in found.origin.graph.places]
    found.code = lines_of(sites, run)
    told = ended_early(facts(found, run_command=run.command_line), trace)
    told = replace(told, **{"traces": fresh_folder(), "within": run.within} | known)
    return Seen(found, told, answer_of(told), run)


def _seen(folder: Path, part: Mapping[str, Any], outputs: Sequence[Path]) -> Seen:
    """One of several runs."""
    from ..report.trace import read

    trace = read(folder)
    check_apart(outputs, trace.inputs)
    return see(trace, part)


def _part(skip: int | None, start: str, end: str) -> dict[str, Any]:
    from ..core.compiled import core

    part: dict[str, Any] = {"skip": skip}
    if start:
        part["start"] = core.parse_seconds("--from", start)
    if end:
        part["end"] = core.parse_seconds("--to", end)
    return part


def _report(trace: Trace, part: Mapping[str, Any], asked: Options) -> int:
    from ..report.analysis.answer import HANG
    from ..report.analysis.page import remarks
    from ..report.analysis.time_parts import lines
    from ..report.analysis.wording import freed

    seen = see(trace, part)
    found = seen.found
    html = asked.html
    if html is not None and not _has_calls(found):
        what = f"{trace.source} has no call of two or more ranks"
        raise UserError("nothing that a page could show", what,
                        "leave out --html, or record a run of several ranks")  # fmt: skip
    seen, answers = with_what_if(seen, asked.network, asked.native, asked.budget)
    if asked.json:
        from ..report.analysis.summary import summary

        print_json(summary(found, seen.facts, seen.said, answers) | _run(seen.about))
        return 0 if html is None or write_page(seen, answers, html) else 1
    for remark in remarks(found):
        say(remark)
    for line in seen.said.lines():
        print(folded(line, sys.stdout, HANG))
    for line in lines(found.parts):
        print(line)
    if found.trace.all_slept:
        print(f"freed: {freed(found.trace.all_slept)}")
    for line in _what_if_lines(answers, seen.about.mpi) if answers else []:
        print(line)
    sys.stdout.flush()
    return 0 if html is None or write_page(seen, answers, html, told=True) else 1


def with_what_if(
    seen: Seen, network: str = "", native: str = NATIVE, seconds: float | None = None
) -> tuple[Seen, WhatIf | None]:
    """Simulations for about so long, and the answer with what they tell; None: of 0 seconds, of
    a job that did not come to its end, or without calls."""
    from ..report.analysis.answer import answer_of
    from ..report.analysis.facts import simulated

    usual = min(max(_SHORT, seen.found.trace.ranks / 16), _LONG)
    budget = usual if seconds is None else seconds
    done = not seen.facts.hang and not seen.facts.early
    can = done and _has_calls(seen.found) and seen.found.trace.between
    answers = _answers(seen, network, native, budget) if budget and can else None
    told = simulated(seen.facts, answers)
    return replace(seen, facts=told, said=answer_of(told)), answers


def _has_calls(found: Lateness) -> bool:
    return bool(found.groups or found.trace.messages or found.trace.overlapping)


def _run(about: About) -> dict[str, Any]:
    return {
        "command": list(about.command) or None,
        "mpi": about.mpi or None,
        "started": about.started or None,
    }


def write_page(seen: Seen, answers: WhatIf | None, file: Path, *, told: bool = False) -> bool:
    """Write the page; False, and a line that says why, where it cannot be. `told`: a line says
    that it was written."""
    try:
        write_text(file, _page(seen, answers))
    except OSError as error:
        say(f"no page: {file} cannot be written ({error.strerror or error}); name another file "
            "with --html")  # fmt: skip
        return False
    if told:
        say(f"wrote {file}")
    return True


def _page(seen: Seen, answers: WhatIf | None) -> str:
    """The page, with what was used."""
    import latecomer

    from ..core import networks
    from ..report.analysis.page import page

    trace = seen.found.trace
    used: dict[str, Any] = {
        "version": latecomer.__version__,
        "trace": f"{trace.source}, format {trace.format}",
        "clock": trace.clock,
    }
    if answers:
        used["network, before it was fitted"] = networks.told(answers.network)
        if answers.factors:
            used["costs after fitting"] = _span(answers.factors.values())
    return page(seen.found, seen.facts, seen.said, seen.about, answers, used)


def _span(factors: Collection[float]) -> str:
    """As in `0.5 to 2 times these, by class of calls`; one number where both are equal."""
    ends = dict.fromkeys(f"{each:.3g}" for each in (min(factors), max(factors)))
    by_class = ", by class of calls" if len(ends) > 1 else ""
    return f"{' to '.join(ends)} times these{by_class}"


def _answers(seen: Seen, network: str, native: str, seconds: float) -> WhatIf | None:
    from ..base.variables import variable
    from ..core import networks
    from ..report.analysis.what_if import what_if

    found = seen.found
    try:
        named = networks.chosen(network)
    except ValueError as error:
        if network:
            raise
        say(f"no what-if: {error}")  # of the environment or the saved file: the rest is right
        return None
    if math.isinf(found.clock_error):
        say("no what-if: the clocks of some ranks are not comparable")
        return None
    with progress_bar() as bar:
        task = bar.add_task("what if", total=1)
        try:
            return what_if(
                found.trace, found.run_seconds, late=seen.facts.late,
                graph=found.graph,
                network=named.text, source=named.source,
                known=named != networks.UNNAMED, assumed=variable(networks.VARIABLE) or "",
                native=native, seconds=seconds,
                report=lambda name: bar.update(task, description=f"what if: {name}"),
            )  # fmt: skip
        except ValueError as error:
            say(f"no what-if: {error}")
            return None


def _what_if_lines(answers: WhatIf, mpi: str) -> list[str]:
    from ..report.analysis.what_if import baseline, chief, distrust, label
    from ..report.analysis.wording import change

    if not answers.trusted or answers.repeated is None:
        return [f"What if: {distrust(answers)}"]
    lines = [f"What if, against {baseline(answers, mpi)}, {times(answers.measured)} (the same "
             f"simulated: {times(answers.repeated.seconds)}):"]  # fmt: skip
    for answer in chief(answers):
        told = f"not told: {answer.remark}"
        if done := answer.replayed:
            told = f"{times(done.seconds):>9}, {change(done.seconds, answers.measured)}"
        lines.append(f"  {label(answer):<48} {told}")
    return lines
