"""`latecomer rules`: check a file of rules, and say which rule serves a call."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..base.limits import MOST_OF_JOB
from ..base.output import print_json
from ..command.declare import UsageError, argument
from .options import Json, PerNode, Placement, option

if TYPE_CHECKING:
    from ..lab.rules import Explained, Question, RulesFile

File = Annotated[Path, argument("FILE", "A file of rules, as `latecomer tune` writes it.")]
Collective = Annotated[
    str | None,
    option("--collective", "NAME", "Ask about a call of allreduce, allgather, reduce, bcast, "
           "gather or scatter. By default all rules are listed."),
]  # fmt: skip
Ranks = Annotated[
    int | None,
    option("--ranks", "N", "Ask about a communicator of so many ranks.", min=1, max=MOST_OF_JOB),
]
Bytes = Annotated[
    str | None,
    option("--bytes", "SIZE", "Ask about a message of this size, as in 4MiB: the whole vector."),
]
Delay = Annotated[
    str | None,
    option("--delay", "TIME", "Expect so much time from the first arrival to the last, as in "
           "300ms. The default is 0.", old=("--imbalance",)),
]  # fmt: skip
LateRanks = Annotated[
    int,
    option(
        "--late-ranks",
        "N",
        "Expect so many ranks to come last. The default is 1.",
        min=1,
        max=MOST_OF_JOB,
    ),
]
Network = Annotated[
    str | None,
    option("--network", "COSTS", "Take the time of a transfer from these costs, as in "
           "alpha=50us,beta=8ns. The default is LATECOMER_NETWORK, else the file's."),
]  # fmt: skip


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
        print(f"{file}: {found.rule_count} rules, all of them right")
    return 0


def explain(
    file: File,
    collective: Collective = None,
    ranks: Ranks = None,
    size: Bytes = None,
    delay: Delay = None,
    late_ranks: LateRanks = 1,
    per_node: PerNode = None,
    placement: Placement = None,
    network: Network = None,
    as_json: Json = False,
) -> int:
    """Say which rule of a file serves a call, and why those before it do not; or list all rules.

    Give --collective, --ranks and --bytes together to ask about a call.

    Example: latecomer rules explain rules.json --collective allreduce --ranks 16 --bytes 4MiB
    --delay 300ms
    """
    from ..core.compiled import core
    from ..lab.options.placement import choose_placement
    from ..lab.rules import Question, read
    from ..lab.rules import explain as ask

    found = read(file)
    if collective is None or ranks is None or size is None:
        if not collective == ranks == size == delay:
            raise UsageError("give --collective, --ranks and --bytes together, or none of them")
        return _list(found, as_json)
    nodes = None
    if per_node is not None or placement is not None:
        nodes = list(choose_placement(ranks, per_node, placement))
    question = Question(
        collective,
        ranks,
        core.parse_bytes("--bytes", size),
        core.parse_seconds("--delay", delay or "0"),
        late_ranks,
        nodes,
    )
    answer = ask(found, question, network)
    if as_json:
        print_json(_as_json(question, answer))
    else:
        print(_text(found, question, answer))
    return 0


def _list(file: RulesFile, as_json: bool) -> int:
    from ..lab.rules import in_words

    if as_json:
        print_json({"file": str(file.path), "collectives": file.collectives})
        return 0
    for name, entries in file.collectives.items():
        for entry in entries:
            print(f"{name}, {_communicators(entry)}")
            for rule in entry["rules"]:
                print(f"  {in_words(rule)}: {_served(rule)}")
            print("  others: auto")
    return 0


def _communicators(entry: dict[str, Any]) -> str:
    low, high = entry.get("comm_size_min", 0), entry.get("comm_size_max", "inf")
    spread = entry.get("comm_rank_distribution", "any")
    text = f"{low} to {high} ranks" if high != "inf" else f"{low} ranks or more"
    text = "any number of ranks" if (low, high) == (0, "inf") else text
    text = f"{low} ranks" if low == high else text
    return text if spread == "any" else f"{text}, {spread}"


def _served(rule: dict[str, Any]) -> str:
    ratio = rule.get("measured_ratio")
    return rule["alg"] + (f" (measured: {ratio:g} of the native time)" if ratio else "")


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
        f"a transfer of the message takes {1e3 * answer.transfer:.4g} ms (costs: {answer.costs})",
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
    return f"{late} expected {1e3 * question.imbalance:g} ms late"
