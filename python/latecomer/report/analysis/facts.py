"""The basis of an answer: the facts of a trace, and when nothing is certain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...base.arrays import Floats
from ...base.printable import plain
from ...base.units import seconds
from ..trace.model import OTHER_CALLS as KINDS_OF_CALLS
from ..trace.model import Hang, Trace, ranks_said
from .blame import late_ranks, may_be_chance, one_place, place_of, stands_out, waiters
from .events import OTHER_CALLS
from .lateness import Lateness
from .origin import Origin
from .reason import Reason, of_part, reason_of
from .steps import teams
from .stopped_ranks import remark as remark_on_stopped
from .what_if import WhatIf
from .wording import (
    BESIDE,
    FLOOR,
    INCOMPARABLE,
    LITTLE,
    NON_BLOCKING,
    SHARE,
    TRUSTED,
    listed,
    percent,
)

_ALONE = 0.3  # of all waiting, in a single call: worth a sentence, ...
_FEW = 10  # ... unless there are so few calls
# What a trace without messages does not tell of a program.
_UNSEEN = f"{NON_BLOCKING}, {BESIDE}"
_TOO_LITTLE = 0.1  # of the run: if calls or messages are known of less, nobody is named


@dataclass(frozen=True)
class Facts:
    """What an answer rests on. Times are in seconds; None and "": not known, and not said.

    `waiting` and `moving` are sums over the ranks, as `run` is: the time of all ranks together.
    """

    ranks: int
    run: float
    waiting: float
    moving: float
    files: float = 0.0  # the part of `moving` in collectives on files
    elsewhere: float | None = None  # in other calls, if only that is known of them ...
    beside: str = BESIDE  # ... which are these
    uncharged: float = 0.0  # the part of `waiting` for ranks that were in MPI themselves
    late: Sequence[int] = ()  # the ranks to be named; none: nobody in particular
    hosts: Sequence[str] = ()  # of `late`
    host: bool = False  # `late` are the ranks of one host, which is named instead
    reason: Reason | None = None  # why they are, or why all ranks are slow ...
    measured: bool = True  # ... if the time outside of MPI was measured
    few: bool = False  # they are late in so few calls that it may be chance
    last_share: float | None = None  # of the calls in which the first of `late` came last ...
    calls: int = 0  # ... of so many
    cost: float | None = None  # what the others waited for `late`, a sum ...
    others: int | None = None  # ... over so many that wait; None: all other ranks
    saved: float | None = None  # by how much the run would be shorter without that, in seconds ...
    elapsed: float = 0.0  # ... of so many
    whole: str = "the time of all ranks"  # what `run` is
    lateness: float | None = None  # of `late` at `place`, mean ...
    of_two: bool = False  # ... after the other one of two ranks, in place of the median rank
    place: str = ""  # where most of that is lost, as in "allreduce of 1 MiB at main (app.c:42)"
    place_share: float | None = None  # of the cost (or the waiting, if nobody is late) there
    one_place: bool = False  # nobody is late, and `place` stands out among several
    known: bool = True  # False: most calls are not, so neither are `waiting` and `moving`
    unknown: str = ""  # why nothing can be said of who is late, as a sentence ...
    unclear: str = "unclear"  # ... and the key of the remedy
    hang: Hang | None = None  # the call that the job hangs in, if it is known who has not come
    ended: Sequence[int] = ()  # the ranks that ended early, if nobody is late ...
    early: str = ""  # ... as in "rank 1 did not reach MPI_Finalize; nobody in particular is late"
    remarks: Sequence[str] = field(default=())  # sentences for the end of the place's line
    unseen: str = ""  # what ranks may wait in that was not measured
    folder: str = ""  # of the trace; empty: none
    traces: str = "traces"  # a folder for the next trace
    after: str = ""  # the command that gives this answer: "compare", "trace", or another one
    within: str = ""  # the command that a run was a part of, as in "latecomer lab run --nodes 4 --"
    run_command: str = "COMMAND"  # what stands after `latecomer run --`; empty: no MPI program


def facts(found: Lateness, *, run_command: str = "") -> Facts:
    """What is known from a trace that was analysed."""
    ranks = found.ranks
    outside = of_part(found.trace.outside, ranks.run - ranks.waited - ranks.moved)
    return with_reason(_facts(found, run_command), outside)


def with_reason(told: Facts, outside: Floats | None) -> Facts:
    """The same, with why ranks are late, by what is known of their time outside of MPI."""
    known = outside is not None and outside.size > 0 and bool((outside[:, 0] > 0).all())
    told = replace(told, measured=known)
    if told.unknown or told.few:
        return told
    lateness = (told.cost or 0.0) / max(told.others or told.ranks - len(told.late), 1)
    return replace(told, reason=reason_of(told.late, outside, told.waiting, told.run, lateness))


def _facts(found: Lateness, run_command: str) -> Facts:
    ranks, trace = found.ranks, found.trace
    native = trace.format.startswith("latecomer")
    unseen = "" if not native else not_looked_at(found) if trace.messages is not None else _UNSEEN
    common = Facts(
        ranks=trace.ranks,
        run=float(ranks.run.sum()),
        waiting=float(ranks.waited.sum()),
        moving=float(ranks.moved.sum()),
        files=_on_files(found),
        whole=Facts.whole if trace.between else "the time in collectives",
        unseen=unseen,
        folder=trace.source,
        run_command=run_command or ("COMMAND" if native else ""),
        remarks=_remarks(found),
    )
    missing = np.flatnonzero(np.isnan(trace.clock_error)).tolist()  # ranks without a file
    by_messages = found.origin is not None and found.origin.waits > 0
    complete = sum(group.complete for group in found.groups)
    if trace.hang and trace.hang.certain and (trace.hang.absent or trace.hang.waits):
        hosts = [trace.hosts[rank] for rank in trace.hang.absent]
        return replace(common, known=False, unknown=trace.hang.said, hosts=hosts, remarks=(),
                       hang=trace.hang)  # fmt: skip
    if found.incomplete > complete:
        told = _without_most_calls(common, found, missing, complete)
        return replace(told, unknown=trace.hang.said if trace.hang else told.unknown)
    if found.origin is not None and by_messages:
        told = _facts_of_origin(found, found.origin, common)
        told = _unless_unseen(told, found)
        return replace(told, remarks=common.remarks) if told.unknown else told
    shared = [group.group.members for group in found.groups if group.complete]
    late, host = late_ranks(ranks.cost, trace.hosts, teams(shared))
    known = ranks.calls[late].all()  # a host is as late as its ranks that are known
    if not known or ranks.cost[late].sum() < FLOOR * common.run:
        late, host = [], False
    where = place_of(found, late)
    few = may_be_chance(late, ranks.cost, ranks.squares, trace.hosts if host else ())
    named = replace(common, late=late, host=host, hosts=[trace.hosts[rank] for rank in late],
                    few=few, place=where.name if where else "",
                    place_share=where.share if where else None,
                    one_place=not late and one_place(found))  # fmt: skip
    if late:
        named = replace(
            named, cost=float(ranks.charged[late].sum()), others=waiters(ranks.waiting, late)
        )
        if where:
            named = replace(named, lateness=where.lateness, last_share=where.last_share,
                            calls=where.calls, of_two=where.of_two)  # fmt: skip
    named = unless_unclear(named, found.clock_error, _spread(found))
    return _unless_unseen(named, found)


def ended_early(told: Facts, trace: Trace) -> Facts:
    """The same, with the ranks that did not come to the end. Where nobody is named, something else
    ended the job."""
    not_read = told.unknown and told.unclear != "odd"
    if not trace.unended or not_read or told.hang:
        return told
    who = ranks_said(list(trace.unended)) if len(trace.unended) < trace.ranks else "no rank"
    goal = "the end of the program" if trace.of_device else "MPI_Finalize"
    did = "reached" if who == "no rank" else "did not reach"
    early = f"{who} {did} {goal}"
    last = trace.hang.said if trace.hang else ""
    if told.late and not trace.failed:
        said = [f"{early[0].upper()}{early[1:]}: this is about the time before."]
        said += [f"Seen last: {last}."] if last else []
        return replace(told, saved=None, remarks=[*said, *told.remarks])
    if told.late:
        are = "were" if len(told.late) > 1 else "was"
        said = [f"Before that {ranks_said(list(told.late))} {are} late."]
        told = replace(_nobody(told, "", ""), reason=None, remarks=[*said, *told.remarks])
        early = f"{early}; {last}" if last else early
    elif not told.unknown:
        early = f"{early}; {last or 'nobody in particular is late'}"
    return replace(told, early=early, ended=tuple(trace.unended))


def _on_files(found: Lateness) -> float:
    """Seconds of all ranks beyond waiting in collectives on files."""
    words = found.trace.words
    kinds = {int(kind) for group in found.trace.groups for kind in np.unique(group.collective)}
    if not any(words[kind].startswith("file_") for kind in kinds):
        return 0.0
    graph = found.graph
    inside = graph.events.end - graph.events.begin - graph.waited()
    return graph.times * float(inside[graph.on_files()].sum())


def simulated(named: Facts, answers: WhatIf | None) -> Facts:
    """The same, with what the run would take without the late ranks, if only the what-if tells."""
    if answers is None or not answers.trusted or not named.late or named.saved is not None:
        return named
    for answer in answers.answers:
        if answer.scenario.ranks == tuple(named.late) and answer.replayed:
            saved = answers.measured - answer.replayed.seconds
            return replace(named, saved=saved, elapsed=answers.measured)
    return named


def _without_most_calls(common: Facts, found: Lateness, missing: list[int], used: int) -> Facts:
    """Who is late in the few calls that remain may be anybody: they are those of some groups."""
    left, full = found.incomplete, found.trace.dropped > 0
    if used:
        why = f"{left:,} of {left + used:,} calls cannot be used"
    else:
        why = f"none of the {left:,} calls can be used"
    if missing:
        why = f"{_files_of(missing)}, {why}"
    else:
        why += ": files were full" if full else ": not all their ranks tell them"
    unclear = "lacking" if missing else "short" if full else "odd"
    return replace(common, known=False, unclear=unclear, unknown=why, remarks=())


def _files_of(missing: list[int]) -> str:
    if len(missing) == 1:
        return f"the file of rank {missing[0]} is missing"
    said = ranks_said(missing)
    return f"the files of {said}{',' if 'such as' in said else ''} are missing"


def _facts_of_origin(found: Lateness, begun: Origin, common: Facts) -> Facts:
    """Who is named is the origin of waiting, not who handed it on."""
    hosts = found.trace.hosts
    waiting = float(begun.waiting.sum())
    late, host = _late(begun, hosts, common.run)
    saved, least = 0.0, FLOOR * found.run_seconds
    if late:
        graph = begun.graph
        ahead = graph.replay(graph.without(late))[0][2]
        saved = graph.earlier(ahead)
        # Their team may end before others do.
        if max(graph.earlier(ahead, graph.team == graph.team[rank]) for rank in late) < least:
            late, host = [], False
    few = may_be_chance(late, begun.excess, begun.squares(), hosts if host else ())
    named = replace(common, late=late, host=host, hosts=[hosts[rank] for rank in late], few=few,
                    remarks=[*_handed_on(begun, late, common.run), *common.remarks])  # fmt: skip
    if late and (where := begun.place(late)):
        place, share = where
        # Algorithms of latecomer take longer without the lateness that they use: see `simulated`.
        clear = begun.graph.unclear[0] <= TRUSTED and not found.trace.handled and saved >= least
        clear = clear and found.trace.messages is not None
        named = replace(named, saved=saved if clear else None, elapsed=found.run_seconds,
                        cost=float(begun.cost[late].sum()),
                        others=waiters(begun.waiting, late), place_share=share,
                        place=computation(place.call, found.named(place.site)))  # fmt: skip
    elif not late and (where := begun.place(range(common.ranks))):
        place, share = where
        amounts = np.zeros(len(begun.graph.places))
        for (_, number), part in begun.by_place.items():
            amounts[number] += part
        if place.call and stands_out(amounts[1:].tolist(), waiting):
            named = replace(named, one_place=True, place_share=share * amounts.sum() / waiting,
                            place=computation(place.call, found.named(place.site)))  # fmt: skip
    return unless_unclear(named, found.clock_error, waiting / max(begun.waits, 1))


def _late(begun: Origin, hosts: Sequence[str], run: float) -> tuple[list[int], bool]:
    """The ranks to be named, and whether they are a host's."""
    # By what they compute longer: of two slow ranks that follow each other one hides the other's.
    late, host = late_ranks(begun.excess, hosts, _teams(begun))
    cost = begun.cost[late].sum()
    if cost < SHARE * begun.cost.sum() or cost < FLOOR * run:
        return [], False
    return ([], False) if late and _by_chance(begun, hosts, late) else (late, host)


def _by_chance(begun: Origin, hosts: Sequence[str], late: Sequence[int]) -> bool:
    """Tell if not both halves of each rank's computations, taken at random, name the same ranks.

    What lies mostly in a single computation has no halves, and is no chance.
    """
    excess, rank = begun.graph.part * begun.graph.spent, begun.graph.events.rank
    theirs = excess[np.isin(rank, late)]
    if 2 * theirs.max(initial=0.0) > theirs.sum():
        return False
    mixed = np.random.default_rng(0).permutation(np.flatnonzero(excess > 0))
    mixed = mixed[np.argsort(rank[mixed], kind="stable")]
    halves = (np.asarray(np.bincount(rank[half], excess[half], len(hosts)), float)
              for half in (mixed[::2], mixed[1::2]))  # fmt: skip
    return any(late_ranks(half, hosts, _teams(begun))[0] != late for half in halves)


def _teams(begun: Origin) -> list[int]:
    """The sizes of the sets of ranks that share no call, and no message."""
    return list(Counter(begun.graph.team[begun.graph.present].tolist()).values())


def computation(call: str, at: str) -> str:
    """As in "computation after the allreduce at main (app.c:42)"."""
    if not call:
        return "computation at the beginning"
    at = plain(at)
    return (
        f"computation after {'' if call in ('messages', OTHER_CALLS) else 'the '}{plain(call)}"
        + (f" at {at}" if at else "")
    )


def _handed_on(begun: Origin, late: Sequence[int], run: float) -> list[str]:
    """Who is waited for and is not the origin, and what nobody is the origin of."""
    told, whole = [], max(float(begun.waiting.sum()), 1e-300)
    others = np.array(begun.direct)
    others[list(late)] = 0.0
    rank = int(others.argmax())
    handed = others[rank] - begun.cost[rank]
    if late and handed >= SHARE * whole:
        waited = seconds(float(others[rank]))
        told.append(f"Rank {rank} is waited for, too, for {waited}, but hands on what it waited "
                    "itself.")  # fmt: skip
    if begun.order >= SHARE * whole >= SHARE * FLOOR * run:
        told.append(f"{percent(begun.order / whole)} of the waiting comes from no rank that "
                    "computes longer than others: from the order of the work, or from changes "
                    "within a step.")  # fmt: skip
    if begun.graph.times > 1:
        told.append(f"The trace is large: stretches of it stand for the rest, "
                    f"{percent(1 / begun.graph.times)} of the run.")  # fmt: skip
    return told


def last_to_end(rank: int, lag: float, others: int, run: float) -> list[str]:
    """Who came to MPI_Finalize `lag` seconds after the mean of the others, if it matters.

    `run`: the time of all ranks.
    """
    if lag * others < FLOOR * run:
        return []
    return [f"Rank {rank} came to MPI_Finalize {seconds(lag)} after the others, which wait there: "
            "that is not counted."]  # fmt: skip


def _last_to_end(found: Lateness) -> list[str]:
    end, run = found.trace.end, float(found.ranks.run.sum())
    of_mpi = found.trace.format.startswith("latecomer")
    if not of_mpi or len(end) < 2 or not np.isfinite(end).all():
        return []
    rank = int(end.argmax())
    lag = float(end[rank] - np.delete(end, rank).mean())
    return last_to_end(rank, lag, len(end) - 1, run) if lag > found.clock_error else []


def _spread(found: Lateness) -> float:
    """The lateness of the last rank, in the mean."""
    calls = max(sum(group.complete for group in found.groups), 1)
    return sum(site.spread * site.calls for site in found.sites) / calls


def unless_unclear(named: Facts, error: float, spread: float = 0.0) -> Facts:
    """Below the error of the clocks nobody is named. `spread`: lateness, if nobody is late."""
    if not np.isfinite(error):
        unknown = INCOMPARABLE
    else:
        shown = named.lateness if named.late and named.lateness is not None else spread
        if shown > error or not error:
            return named
        unknown = (f"the clocks are not good enough to tell who is late: they are off by up to "
                   f"{seconds(error)}, the lateness is {seconds(max(shown, 0.0))}")  # fmt: skip
    return _nobody(named, unknown, "unclear")


def _unless_unseen(named: Facts, found: Lateness) -> Facts:
    """Nobody is named where what is not in the trace may decide who is."""
    if named.unknown:
        return named
    if found.known < _TOO_LITTLE:
        return _nobody(named, f"{_full_of(found)} are known of the first {percent(found.known)} of "
                       "the time only", "short")  # fmt: skip
    if found.origin is None:
        return named
    unknown, why = float(found.origin.unknown.sum()), ""
    charged = float(found.origin.cost.sum())
    # Where nobody would be named anyway, little of it is worth no word.
    least = (FLOOR if named.late else LITTLE) * named.run
    if unknown >= SHARE * named.run or unknown > max(charged, least):
        part = percent(unknown / max(named.run, 1e-300))
        why = (f"ranks are for {part} of their time in calls of which the trace does not tell for "
               f"whom they wait ({_kinds(found)})")  # fmt: skip
    elif found.idle and _late(found.idle, found.trace.hosts, named.run)[0] != list(named.late):
        why = ("it depends on what ranks did between calls that test in vain, such as MPI_Test: "
               "wait, or compute")  # fmt: skip
    return _nobody(named, why, "unseen") if why else named


def _full_of(found: Lateness) -> str:
    """The records that the files had no room for."""
    return "calls" if found.until == found.trace.until else "messages"


def _nobody(named: Facts, why: str, unclear: str) -> Facts:
    return replace(named, late=(), hosts=(), host=False, cost=None, lateness=None, last_share=None,
                   saved=None, place="", place_share=None, one_place=False, unknown=why,
                   unclear=unclear)  # fmt: skip


def not_looked_at(found: Lateness) -> str:
    """What ranks were in that the trace does not tell of, if it is worth a word."""
    begun, run = found.origin, float(found.ranks.run.sum())
    if begun is None or begun.unknown.sum() < FLOOR * run:
        return ""
    return f"{_kinds(found)} ({percent(float(begun.unknown.sum()) / max(run, 1e-300))} of the time)"


def _kinds(found: Lateness) -> str:
    """The kinds that make a tenth of what is not measured, the longest first."""
    others, messages = found.trace.others, found.trace.messages
    took = dict.fromkeys(KINDS_OF_CALLS, 0.0)
    if others is not None:
        for bit, kind in enumerate(KINDS_OF_CALLS):
            own = (others.calls >> bit) & 1 == 1
            took[kind] += float((others.end - others.begin)[own].sum())
    alone = "messages without their other side"
    if messages is not None:
        side = messages.probes.side.part(messages.probes.message < 0)
        _, each = np.unique([side.rank, side.begin], axis=1, return_index=True)  # of one call
        took[alone] = float((side.end - side.begin)[each].sum())
    whole = sum(took.values())
    return listed([kind for kind in sorted(took, key=lambda each: -took[each])
                    if took[kind] >= 0.1 * whole > 0] or [alone])  # fmt: skip


def _remarks(found: Lateness) -> list[str]:
    told = _last_to_end(found)
    if found.known < 1:
        told.append(f"{_full_of(found).capitalize()} are known until {seconds(found.until)} after "
                    "the start, and so only that part was looked at: set LATECOMER_TRACE_BYTES to "
                    "more.")  # fmt: skip
    if found.skipped:
        calls = f"the first {found.skipped} calls" if found.skipped > 1 else "the first call"
        told.append(f"Without {calls}, where ranks waited {seconds(found.skipped_waiting)} more.")
    if found.trace.between and (said := remark_on_stopped(
            found.graph, found.trace.hosts, float(found.ranks.run.sum()))):  # fmt: skip
        told.append(said)
    whole = float(found.ranks.waiting.sum())
    longest = max(found.groups, key=lambda group: float(group.cost.max()), default=None)
    if longest and sum(group.complete for group in found.groups) >= _FEW:
        call = int(longest.cost.argmax())
        if longest.cost[call] >= _ALONE * whole > 0:
            began = seconds(float(np.min(longest.group.arrival[call])))
            entered = f", entered {began} after the start" if found.trace.between else ""
            told.append(
                f"A single call makes {percent(float(longest.cost[call]) / whole)} of all "
                f"waiting: number {int(longest.group.sequence[call]):,}{entered}."
            )
    return told
