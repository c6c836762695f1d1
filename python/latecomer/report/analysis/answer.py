"""The answer in four sentences: who is late, what it costs, where, and what to do next.

The text of `latecomer report`, its page and the end of `latecomer run` show this answer. `answer`
makes it from a trace that was analysed; `answer_of` from facts, whoever knows them.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from ...base import invocation
from ...base.printable import plain
from ...base.units import seconds
from ..trace.model import Hang, ranks_said
from .facts import Facts, facts
from .lateness import Lateness
from .reason import BUSY, PREEMPTED
from .remedies import AFTER, COMPARE, LOOK, OBSERVE, REMEDIES, TRACE
from .wording import CLEAR, INCOMPARABLE, LITTLE, listed, percent, seconds_beside

_SEEN = 3  # ranks of which it is said where they were last
HANG = 7  # characters of a line before its sentence


@dataclass(frozen=True)
class Answer:
    """Four sentences."""

    who: str
    cost: str
    where: str
    next: str

    def text(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """The same, one by one: what each says begins after `HANG` characters."""
        lines = (("who", self.who), ("cost", self.cost), ("where", self.where), ("next", self.next))
        return [f"{name + ':':<{HANG - 1}} {words}" for name, words in lines]


def answer(found: Lateness, *, run_command: str = "") -> Answer:
    """The answer from a trace; `run_command` as in "mpirun -n 4 ./app", if it is known."""
    return answer_of(facts(found, run_command=run_command))


def answer_of(facts: Facts) -> Answer:
    """The sentences for these facts."""
    who = " ".join(filter(None, (*subject(facts), why(facts))))
    where = " ".join([_place(facts), *facts.remarks])
    do, command = remedy(facts)
    then = f"{do}; then: {command}" if command else f"{do}."
    return Answer(who, _cost(facts), where, then)


def headline(found: Answer) -> str:
    """The first three sentences, for a page."""
    return f"{found.who} {found.cost} {found.where}".strip()


def verdict(facts: Facts) -> str:
    """The classification; the rule is in the definitions."""
    if facts.unknown or facts.early:
        return _no_verdict(facts)
    waiting, moving = facts.waiting, facts.moving
    if waiting + moving < LITTLE * facts.run:
        return "Collectives take little of the time: whatever is done about them saves little."
    if waiting >= CLEAR * moving:
        return "Imbalance dominates: ranks wait for late ones longer than data move."
    if moving >= CLEAR * waiting and _on_files(facts):
        return ("Reading and writing files dominates: larger parts, or a faster file system, would "
                "save the most.")  # fmt: skip
    if moving >= CLEAR * waiting:
        return "Moving data dominates: a faster algorithm or network would save the most."
    return "Both matter: the imbalance of the ranks, and moving the data."


def _no_verdict(facts: Facts) -> str:
    if facts.hang and not facts.hang.failed:
        return "The job hangs."
    if facts.hang or facts.early:
        return "The job did not come to its end."
    return "Without arrivals that can be compared nothing can be concluded."


def _on_files(facts: Facts) -> bool:
    return 2 * facts.files > facts.moving


def finding(facts: Facts) -> str:
    """The key of the remedy."""
    if facts.hang or facts.early:
        return "hang" if facts.hang else "early"
    return "messages" if _in_messages(facts) else _by_times(facts)


def _by_times(facts: Facts) -> str:
    if not facts.known and not facts.folder:
        return "little"  # all ranks told what they did, and there was nothing to look at
    if facts.unknown:
        return facts.unclear
    if facts.waiting + facts.moving < LITTLE * facts.run:
        return PREEMPTED if facts.reason else "little"
    if facts.moving >= CLEAR * facts.waiting:
        return "files" if _on_files(facts) else "moving"
    return _by_ranks(facts)


def _by_ranks(facts: Facts) -> str:
    if facts.reason and facts.reason.why != BUSY:
        return facts.reason.why
    if facts.late:
        if facts.few or facts.host:
            return "few" if facts.few else "host"
        return "rank" if facts.measured or not facts.run_command else "unmeasured"
    return "place" if facts.one_place else "spread"


def _in_messages(facts: Facts) -> bool:
    """True if most time in MPI is that of messages and the like, or waiting for ranks in those."""
    if facts.late or facts.elsewhere is None:
        return False
    hidden = facts.elsewhere + facts.uncharged
    return hidden >= max(LITTLE * facts.run, facts.waiting - facts.uncharged + facts.moving)


# ---- parts of the sentences


def subject(facts: Facts) -> tuple[str, str, str]:
    """As in "Ranks 1 and 2", "on hosts a and b" and "are late."; the second may be empty."""
    if facts.hang:
        return _hung(facts, facts.hang)
    if facts.early:
        return "The job", "", f"has not come to its end: {facts.early}."
    if facts.unknown:
        return "Nobody", "", f"is named: {facts.unknown}."
    if not facts.late:
        return "Nobody in particular", "", "is late."
    late = (
        "came late, in so few calls that it may be chance."
        if facts.few
        else f"{'are' if _many(facts) else 'is'} late."
    )
    if facts.host and (hosts := _hosts_of(facts)):
        return f"The {len(facts.late)} ranks on host {hosts[0]}", "", late
    who = f"{_ranks(facts)[:1].upper()}{_ranks(facts)[1:]}"
    return who, _on_hosts(facts), late


def _hung(facts: Facts, hang: Hang) -> tuple[str, str, str]:
    if not hang.absent:
        return "The job", "", f"hangs: {hang.said}."
    have = "have" if len(hang.absent) > 1 else "has"
    rest = f"{have} not come to {hang.call}; {hang.waiting}."
    return ranks_said(hang.absent).capitalize(), _on_hosts(facts), rest


def why(facts: Facts) -> str:
    """Why they are late, as a sentence; empty: it is not known."""
    if facts.reason is None or facts.hang or facts.early:
        return ""
    return facts.reason.sentence(len(facts.late))


def _hosts_of(facts: Facts) -> list[str]:
    return list(dict.fromkeys(plain(host) for host in facts.hosts if host != "?"))


def _on_hosts(facts: Facts) -> str:
    hosts = _hosts_of(facts)
    return f"on host{'s' if len(hosts) > 1 else ''} {listed(hosts)}" if hosts else ""


def shares(facts: Facts) -> tuple[str, str]:
    """Waiting and moving data, as parts of the time of all ranks."""
    whole = max(facts.run, facts.waiting + facts.moving, 1e-300)
    return percent(facts.waiting / whole), percent(facts.moving / whole)


def cost_share(facts: Facts) -> str:
    """As in "33 % of all waiting"."""
    return f"{percent((facts.cost or 0.0) / max(facts.waiting, 1e-300))} of all waiting"


def shorter(facts: Facts) -> str:
    """As in "the run would take 1 s instead of 2 s"; empty: not known."""
    if facts.saved is None or facts.elapsed <= 0:
        return ""
    took = seconds_beside(facts.elapsed - facts.saved, facts.elapsed)
    return f"the run would take {took} instead of {seconds(facts.elapsed)}"


def place_share(facts: Facts) -> str:
    """As in "nearly all of its cost"."""
    share = facts.place_share
    part = "most" if share is None else "nearly all" if round(share, 4) >= 0.9 else percent(share)
    whole = "of the waiting"
    if facts.late:
        whole = "of their cost" if _many(facts) else "of its cost"
    return f"{part} {whole}"


def remedy(facts: Facts) -> tuple[str, str]:
    """A sentence of what to do, and the next command, which may be empty."""
    do = _do(facts)
    return f"{do[0].upper()}{do[1:]}", _command(facts)


# ---- the sentences


def _cost(facts: Facts) -> str:
    if facts.hang:
        return (
            "The job did not come to its end." if facts.hang.failed else "The job does not go on."
        )
    unseen = f"; not measured: {facts.unseen}" if facts.unseen else ""
    beside = "" if facts.elsewhere is None else f"{percent(facts.elsewhere / facts.run)}"
    if not facts.known:
        timed = f"; {beside} of {facts.whole} is in {facts.beside}" if beside else ""
        return f"Too few calls are known on all ranks for an answer{timed}{unseen}."
    if facts.unknown == INCOMPARABLE:
        return "How long ranks wait for each other cannot be told."
    waiting, moving = shares(facts)
    parts = f"{waiting} of {facts.whole} is waiting for late ones, {moving} moving data"
    parts += f", {beside} in {facts.beside}{unseen}" if beside else unseen
    if not facts.late or facts.cost is None:
        return f"{parts[0].upper()}{parts[1:]}."
    others = facts.ranks - len(facts.late) if facts.others is None else facts.others
    each = f" ({seconds(facts.cost / others)} each)" if others > 1 else ""
    who = "They cost" if _many(facts) else "It costs"
    without = f" Without that {shorter(facts)}." if shorter(facts) else ""
    cost = f"{seconds(facts.cost)}{each}, {cost_share(facts)}"
    return f"{who} the others {cost}; {parts}.{without}"


def _place(facts: Facts) -> str:
    if facts.hang:
        return _last_seen(facts.hang)
    if facts.unknown:
        return (
            "Nowhere that is known."
            if not facts.place
            else f"Most waiting is in the {facts.place}."
        )
    last = ""
    if facts.late and not facts.host and facts.last_share is not None:
        of = f"{percent(facts.last_share)} of {facts.calls:,} call{'s' if facts.calls > 1 else ''}"
        who = f"rank {facts.late[0]}" if _many(facts) else "it"
        last = f"{who} comes last in {of}"
    if facts.late and facts.lateness and facts.lateness > 0:
        who = "" if last else "they come "
        whom = "other" if facts.of_two else "median"
        after = f"{seconds(facts.lateness)} after the {whom} rank, in the mean"
        last = f"{last}, {after}" if last else f"{who}{after}"
    if not facts.place:
        return f"In no single place; {last}." if last else "In no single place."
    part = place_share(facts)
    part = f"{part[0].upper()}{part[1:]}"
    return f"{part} is in the {facts.place}{', where ' + last if last else ''}."


def _last_seen(hang: Hang) -> str:
    if not hang.absent:
        said = "; ".join(hang.last[:_SEEN])
        return f"{said[:1].upper()}{said[1:]}." if said else "Not known."
    ranks = [f"rank {rank}" for rank in hang.absent] if len(hang.absent) > 1 else ["it"]
    told = [f"{who} {where}" for who, where in zip(ranks, hang.last, strict=True)][:_SEEN]
    if more := len(ranks) - len(told):
        told.append(f"{more} more have not come")
    said = "; ".join(told)
    return f"{said[0].upper()}{said[1:]}."


def _do(facts: Facts) -> str:
    key = finding(facts)
    remedy = REMEDIES[key]
    if facts.hang or facts.early:
        ranks = (facts.hang.absent or facts.hang.waits) if facts.hang else facts.ended
        of_all = facts.early and len(ranks) == facts.ranks
        return remedy.many.format(ranks="the job" if of_all else ranks_said(ranks))
    if key == "rank" and _many(facts):
        return remedy.many.format(hosts=_hosts(facts))
    if key == "moving" and facts.late:
        who = f"the ranks on host {plain(facts.hosts[0])}" if facts.host else _ranks(facts)
        its = "their" if _many(facts) else "its"
        look = f"look at {its} {_hosts(facts)}"
        if facts.reason and facts.reason.why != BUSY:
            look = REMEDIES[facts.reason.why].do
        return f"{remedy.do}; {who} matter{'' if _many(facts) else 's'} less: after that {look}"
    return remedy.do


def _hosts(facts: Facts) -> str:
    return "hosts" if len(set(facts.hosts)) > 1 else "host"


def _command(facts: Facts) -> str:
    """A command that was not given just now, and that can be given; "" if there is none."""
    nothing = not facts.known and not facts.folder and not _in_messages(facts)
    if nothing or facts.hang or facts.early:
        return ""  # nothing would be in a trace, or it would help nobody
    command = REMEDIES[finding(facts)].command if facts.run_command else LOOK
    if command == LOOK and not facts.folder:
        command = TRACE if facts.run_command else ""
    if command in (COMPARE, OBSERVE):
        command = AFTER.get(facts.after, command)
    if not command:
        return ""
    words = command.removeprefix(invocation.NAME).format(
        run=plain(facts.run_command),
        folder=shlex.quote(plain(facts.folder)),
        traces=shlex.quote(plain(facts.traces)),
    )
    outside = f"{plain(facts.within)} " if facts.within and "{run}" in command else ""
    return f"{outside}{invocation.called()}{words}"


def _many(facts: Facts) -> bool:
    return len(facts.late) > 1


def _ranks(facts: Facts) -> str:
    return f"rank{'s' if _many(facts) else ''} {listed(list(map(str, facts.late)))}"
