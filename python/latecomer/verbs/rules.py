"""`latecomer rules`: check a file of rules, say which rule serves a call, export a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..base.limits import MOST_OF_JOB, MOST_RANKS
from ..base.output import print_json, say
from ..base.spelling import counted
from ..base.units import seconds
from ..command.declare import UsageError, argument, bad_value
from .options import Json, Nodes, option

if TYPE_CHECKING:
    from ..lab.rules import Explained, Question, RulesFile

File = Annotated[Path, argument("FILE", "A file of rules, as `latecomer tune` writes it.")]

LateRanks = Annotated[int, option(
    "--late-ranks", "N", "Expect so many ranks to come last. The default is 1.",
    min=1, max=MOST_OF_JOB
)]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Options(Nodes):
    """The options of rules explain."""

    file: File
    collective: Annotated[
        str | None, option("--collective", "NAME", "By default all rules are listed.")
    ] = None
    per_node: Annotated[int | None, option(
        "--per-node", "K", "By default it is not known who shares a node.", min=1, max=MOST_RANKS
    )] = None  # fmt: skip
    ranks: Annotated[int | None, option("--ranks", "N", "", min=1, max=MOST_OF_JOB)] = None
    bytes: Annotated[str | None, option("--bytes", "SIZE", "")] = None
    delay: Annotated[
        str | None, option("--delay", "TIME", "The default is 0.", old=("--imbalance",))
    ] = None
    late_ranks: LateRanks = 1
    network: Annotated[str | None, option(
        "--network", "COSTS", "The default is LATECOMER_NETWORK, else the file's."
    )] = None  # fmt: skip
    json: Json = False

    def question(self) -> Question | None:
        """The call; None: there is none. Raises UsageError, RuleError and ValueError."""
        from ..core.compiled import core
        from ..lab.rules import Question

        if self.collective is None or self.ranks is None or self.bytes is None:
            if {self.collective, self.ranks, self.bytes, self.delay} != {None}:
                raise UsageError("give --collective, --ranks and --bytes together, or none of them")
            return None
        spread = self.per_node is not None or self.placement is not None
        return Question(
            self.collective,
            self.ranks,
            core.parse_bytes("--bytes", self.bytes),
            core.parse_seconds("--delay", self.delay or "0"),
            self.late_ranks,
            self.nodes_of(self.ranks) if spread else None,
        )


@dataclass(frozen=True, kw_only=True)
class ExportOptions:
    """The options of rules export."""

    file: File
    format: Annotated[str, option(
        "--format", "openmpi-4|openmpi-6|mpich-csel", "For Open MPI 4.1 and 5, for Open MPI 6, "
        "or for MPICH."
    )]  # fmt: skip
    output: Annotated[Path, option("--output", "FILE", "")]
    imbalance: Annotated[float, option(
        "--imbalance", "FACTOR", "Take the rules for ranks that come so far apart, in transfer "
        "times of the message: MPI libraries do not know who is late. 0: they come together.",
        min=0, max=1e6
    )] = 0.0  # fmt: skip
    late_ranks: LateRanks = 1
    base: Annotated[Path | None, option(
        "--base", "FILE", "Complete MPICH's file by the choices in this libmpi.so.12 or JSON file. "
        "The default is the MPICH of this machine."
    )] = None  # fmt: skip
    json: Json = False


def check(file: File, as_json: Json = False) -> int:
    """Check a file of rules, as the library does before it uses one.

    The exit code is 2 if the library would not use the file; line, key and value are named.

    Example: latecomer rules check rules.json
    """
    from ..lab.rules import read

    found = read(file)
    if as_json:
        print_json({"file": str(file), "rules": found.rule_count, "ok": True})
    else:
        right = "all of them right" if found.rule_count > 1 else "which is right"
        print(f"{file}: {counted(found.rule_count, 'rule')}, {right}")
    return 0


def explain(asked: Options) -> int:
    """Say which rule of a file serves a call, and why those before it do not; or list all rules.

    Give --collective, --ranks and --bytes together to ask about a call.

    Example: latecomer rules explain rules.json --collective allreduce --ranks 16 --bytes 4MiB
    --delay 300ms
    """
    from ..lab.rules import explain as ask
    from ..lab.rules import read

    found, question = read(asked.file), asked.question()
    if question is None:
        _list(found, asked.json)
        return 0
    answer = ask(found, question, asked.network)
    if asked.json:
        print_json(_as_json(question, answer))
    else:
        print(_text(found, question, answer))
    return 0


def export(asked: ExportOptions) -> int:
    """Write the rules whose algorithms an MPI library has, too, as its own tuning file.

    Calls of other rules are left to the library's own choice, and named. The library then runs its
    own algorithms, without latecomer: measure them with the file in force, by bench --algorithms
    native, before you keep it.

    Example: latecomer rules export rules.json --format openmpi-4 --output tuned.conf
    """
    from ..base.whole_files import check_apart, check_file, write_text
    from ..lab.export.forms import FORMS, export
    from ..lab.rules import read

    form = FORMS.get(asked.format)
    if form is None:
        raise bad_value("--format", f"'{asked.format}'; give {' or '.join(FORMS)}")
    if asked.base and form.library != "MPICH":
        raise UsageError(f"--base has no effect with --format {asked.format}; leave it out")
    file = read(asked.file)
    check_apart([asked.output], [asked.file, *([asked.base] if asked.base else [])])
    check_file("--output", asked.output)
    base = asked.base or (_mpich() if form.library == "MPICH" else None)
    text, taken = export(file, form, asked.imbalance, asked.late_ranks, base)
    write_text(asked.output, text)
    use = f"{form.use}{asked.output.absolute()}"
    if asked.json:
        print_json({"file": str(asked.output), "rules": taken.rules, "left_out": taken.left,
                    "notes": taken.notes, "use": use})  # fmt: skip
        return 0
    for said in [*(f"left to {form.library}: {why}" for why in taken.left), *taken.notes]:
        say(said)
    print(f"{asked.output}: {counted(taken.rules, 'rule')} for {form.library}; use it by\n  {use}")
    return 0


def _mpich() -> Path | None:
    """The library of this machine's MPICH."""
    from ..launch import mpi

    found = [each for each in mpi.families() if each.name == "mpich"]
    paths = [mpi.library_for_python(each).get(mpi.LIBRARY_OF_MPI4PY) for each in found]
    return next((Path(path) for path in paths if path), None)


def _list(file: RulesFile, as_json: bool) -> None:
    from ..lab.rules import in_words

    if as_json:
        print_json({"file": str(file.path), "collectives": file.collectives})
        return
    for name, entries in file.collectives.items():
        for entry in entries:
            print(f"{name}, {_communicators(entry)}")
            for rule in entry["rules"]:
                print(f"  {in_words(rule)}: {_served(rule)}")
            print("  others: auto")


def _communicators(entry: dict[str, Any]) -> str:
    low, high = entry.get("comm_size_min", 0), entry.get("comm_size_max", "inf")
    spread = entry.get("comm_rank_distribution", "any")
    text = f"{low} to {high} ranks" if high != "inf" else f"{low} ranks or more"
    text = "any number of ranks" if (low, high) == (0, "inf") else text
    text = f"{low} ranks" if low == high else text
    return text if spread == "any" else f"{text}, {spread}"


def _served(rule: dict[str, Any]) -> str:
    ratio = rule.get("measured_ratio")
    return f"{rule['alg']}" + (f" (measured: {ratio:g} of the native time)" if ratio else "")


def _as_json(question: Question, answer: Explained) -> dict[str, Any]:
    return {
        "algorithm": answer.algorithm,
        "line": answer.line or None,
        "transfer_s": answer.transfer,
        "network_from": answer.costs,
        "arrivals_s": question.arrivals,
        "considered": [
            {"line": s.line, "algorithm": s.algorithm, "obstacle": s.obstacle or None}
            for s in answer.steps
        ],
    }


def _text(file: RulesFile, question: Question, answer: Explained) -> str:
    call = f"{question.collective} of {question.bytes} bytes on {question.ranks} ranks"
    lines = [
        f"{call}, {_late(question)}",
        f"a transfer of the message takes {seconds(answer.transfer, 4)} (costs: {answer.costs})",
    ]
    for step in answer.steps:
        subject = f"rule for {step.algorithm}" if step.algorithm else "communicators"
        lines.append(f"line {step.line}, {subject}: {step.obstacle or 'holds'}")
    if answer.line:
        lines.append(f"so the rule in line {answer.line} serves the call: {answer.algorithm}")
    else:
        lines.append(f"so no rule of {file.path} serves the call: auto")
    return "\n".join(lines)


def _late(question: Question) -> str:
    if not question.imbalance > 0:
        return "all ranks expected together"
    late = "1 rank" if question.late_ranks == 1 else f"{question.late_ranks} ranks"
    return f"{late} expected {seconds(question.imbalance, 4)} late"
