"""The culprit benchmark: does the report name who is the origin of lateness?

Jobs with known causes are played in virtual time (evidence/played.py) and analysed as traces are.
Prints, for each kind of cause and each method: named right, "nobody" where somebody was, and wrong;
then how far the report's run time without the culprits is from that of the same job without them.
Run from the root of the repository:

    .venv/bin/python evidence/culprits.py [--seeds 0-4]
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from latecomer.core.compiled import core
from latecomer.report.analysis.answer import Facts, facts
from latecomer.report.analysis.blame import late_ranks
from latecomer.report.analysis.cut import analysed
from latecomer.report.analysis.lateness import Lateness, analyse, synchronising
from latecomer.report.analysis.wording import FLOOR, SHARE
from latecomer.report.trace import Trace
from played import Op, Played

if TYPE_CHECKING:
    from numpy.typing import NDArray

STEPS = 24
USUAL = 10e-3  # seconds of computation in a step
NOISE = 0.03  # of a computation
FAR = 0.05  # of the run: so wrong a run time is shown

Compute = Callable[[int, int], float]  # of a rank and a step, in seconds
Pattern = Callable[[int, int, Compute], Iterator[Op]]  # of a rank among so many


# ---- how ranks wait for each other


def meeting(rank: int, ranks: int, compute: Compute) -> Iterator[Op]:
    """All meet after each step."""
    for step in range(STEPS):
        yield ("compute", compute(rank, step))
        yield ("allreduce", tuple(range(ranks)), "at=residual")


def wavefront(rank: int, ranks: int, compute: Compute) -> Iterator[Op]:
    """Each waits for the edge of the one before, then all meet."""
    for step in range(STEPS):
        if rank > 0:
            yield ("receive", rank - 1, "at=edge")
        yield ("compute", compute(rank, step))
        if rank < ranks - 1:
            yield ("send", rank + 1, "at=edge")
        yield ("allreduce", tuple(range(ranks)), "at=residual")


def sweep(rank: int, ranks: int, compute: Compute) -> Iterator[Op]:
    """The same without meeting: a pipeline that fills once."""
    for step in range(STEPS):
        if rank > 0:
            yield ("receive", rank - 1, "at=edge")
        yield ("compute", compute(rank, step))
        if rank < ranks - 1:
            yield ("isend", rank + 1, "at=edge")
    yield ("wait", "at=end")


def halo(rank: int, ranks: int, compute: Compute) -> Iterator[Op]:
    """Neighbours exchange edges; all meet in every fourth step."""
    for step in range(STEPS):
        yield ("compute", compute(rank, step))
        for other in {(rank - 1) % ranks, (rank + 1) % ranks} - {rank}:
            yield ("ireceive", other)
            yield ("isend", other)
        yield ("wait", "at=edges")
        if step % 4 == 3:
            yield ("allreduce", tuple(range(ranks)), "at=residual")


def unmet(rank: int, ranks: int, compute: Compute) -> Iterator[Op]:
    """Neighbours exchange edges, and the ranks never meet."""
    return (op for op in halo(rank, ranks, compute) if op[0] != "allreduce")


def rows(rank: int, ranks: int, compute: Compute) -> Iterator[Op]:
    """Parts of the ranks meet often, and all of them sometimes."""
    half = ranks // 2
    own = tuple(range(half)) if rank < half else tuple(range(half, ranks))
    for step in range(STEPS):
        yield ("compute", compute(rank, step))
        yield ("allreduce", own, "at=row")
        if step % 4 == 3:
            yield ("allreduce", tuple(range(ranks)), "at=residual")


def work(rank: int, ranks: int, compute: Compute) -> Iterator[Op]:
    """A root hands out the work of each step, and gathers what came of it by a reduction."""
    for step in range(STEPS):
        yield ("bcast", tuple(range(ranks)), 0, "at=parameters")
        yield ("compute", compute(rank, step))
        yield ("allreduce", tuple(range(ranks)), "at=gradients")


PATTERNS = (meeting, wavefront, sweep, halo, unmet, rows, work)


# ---- who is slow


@dataclass(frozen=True)
class Cause:
    """The fault of a job."""

    kind: str
    compute: Compute
    culprits: frozenset[int]  # ranks; empty: nobody is to be named
    hosts: tuple[str, ...]
    fair: frozenset[int] = frozenset()  # ranks of which some may be named instead of nobody
    without: Compute | None = None  # if the culprits were not slow


def _noisy(seed: str, factor: Callable[[int, int], float]) -> Compute:
    def compute(rank: int, step: int) -> float:
        own = random.Random(f"{seed} {rank} {step}")
        return USUAL * factor(rank, step) * (1 + NOISE * own.random())

    return compute


def causes(seed: str, ranks: int) -> Iterator[Cause]:
    """One of each kind."""
    own = random.Random(seed)
    slow = own.randrange(ranks)
    times = own.uniform(1.4, 4)
    alone = tuple(f"node{rank}" for rank in range(ranks))
    pairs = tuple(f"node{rank // 2}" for rank in range(ranks))
    host = pairs[slow]
    turn = own.sample(range(ranks), ranks)

    def cause(
        kind: str,
        factor: Callable[[int, int], float],
        culprits: Sequence[int] = (),
        hosts: tuple[str, ...] = alone,
        fair: Sequence[int] = (),
    ) -> Cause:
        def usual(rank: int, step: int) -> float:
            return 1 if rank in culprits else factor(rank, step)

        compute, without = (_noisy(f"{seed} {kind}", each) for each in (factor, usual))
        return Cause(kind, compute, frozenset(culprits), hosts, frozenset(fair), without)

    def at_random(rank: int, step: int) -> float:
        return 1 + random.Random(f"{seed} random {rank} {step}").random()

    yield cause("healthy", lambda _rank, _step: 1)
    yield cause("one slow rank", lambda rank, _: times if rank == slow else 1, [slow])
    yield cause("a slow host of two ranks", lambda rank, _: times if pairs[rank] == host else 1,
                [rank for rank in range(ranks) if pairs[rank] == host], pairs)  # fmt: skip
    yield cause("slow in every third step",
                lambda rank, step: times if rank == slow and step % 3 == 0 else 1,
                [slow])  # fmt: skip
    yield cause("slow from the middle on",
                lambda rank, step: times if rank == slow and step >= STEPS // 2 else 1,
                [slow])  # fmt: skip
    yield cause("another rank in each step",
                lambda rank, step: times if rank == turn[step % ranks] else 1)  # fmt: skip
    yield cause("one rank with less work", lambda rank, _: 1 / times if rank == slow else 1)
    yield cause("random work", at_random)
    # Those that compute longer than the mean may be named.
    yield cause("work that grows with the rank", lambda rank, _: 1 + rank / ranks,
                fair=range((ranks + 1) // 2, ranks))  # fmt: skip


# ---- methods


Named = frozenset[int]


def ours(_: Lateness, told: Facts) -> Named:
    """The report."""
    return frozenset(told.late)


def collectives_alone(found: Lateness, _: Facts) -> Named:
    """The report without messages."""
    return frozenset(facts(analysed(replace(found.trace, messages=None))).late)


def observed(found: Lateness, _: Facts) -> Named:
    """`latecomer run --observe`: arrivals, and how long each rank is in MPI, whatever for."""
    trace = found.trace
    cost, waiting = np.zeros(trace.ranks), 0.0
    for group, ready in zip(trace.groups, readiness(trace), strict=True):
        arrival, leave = map(np.ascontiguousarray, group.times(slice(0, len(group))))
        by_all = synchronising(trace, group, np.arange(len(group)), arrival, leave)
        sums = core.examine_calls(arrival, leave, by_all, ready)
        cost[group.members] += sums["rank_cost"]
        waiting += float(sums["rank_waiting"].sum())
    late, _ = late_ranks(cost, trace.hosts)
    least = max(FLOOR * found.ranks.run.sum(), SHARE * waiting)
    return frozenset(late if cost[late].sum() >= least else [])


def readiness(trace: Trace) -> list[NDArray[np.float64]]:
    """For each group of shape (calls, ranks): when ranks would have come to its calls, had they
    spent no time in MPI since all its members waited for each other."""
    ready = [np.array(group.times(slice(0, len(group)))[0], order="C") for group in trace.groups]
    sets = [set(map(int, group.members)) for group in trace.groups]
    for rank in range(trace.ranks):
        calls = sorted(_calls_of(trace, rank))
        waits = np.array(sorted(_in_messages(trace, rank))).reshape(-1, 2)
        inside, last = 0.0, dict.fromkeys(range(len(sets)), 0.0)
        for arrival, leave, number, call, place in calls:
            took = np.clip(arrival - waits[:, 0], 0, waits[:, 1] - waits[:, 0]).sum() + inside
            ready[number][call, place] = arrival - (took - last[number])
            inside += leave - arrival
            if trace.words[trace.groups[number].collective[call]] in ("bcast", "reduce"):
                continue
            for other in last:
                if sets[other] <= sets[number]:
                    last[other] = took + leave - arrival
    return ready


def _calls_of(trace: Trace, rank: int) -> Iterator[tuple[float, float, int, int, int]]:
    for number, group in enumerate(trace.groups):
        arrival, leave = group.times(slice(0, len(group)))
        for place in np.flatnonzero(group.members == rank):
            for call in range(len(group)):
                yield arrival[call, place], leave[call, place], number, call, place


def _in_messages(trace: Trace, rank: int) -> list[tuple[float, float]]:
    """The times in calls for messages; one call may end several."""
    sides = (trace.messages.send, trace.messages.receive) if trace.messages else ()
    spans = {(side.begin[at], side.end[at]) for side in sides
             for at in np.flatnonzero(side.rank == rank)}  # fmt: skip
    joined: list[tuple[float, float]] = []
    for begin, end in sorted(spans):
        if joined and begin < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((begin, end))
    return joined


def waited_for(found: Lateness, _: Facts) -> Named:
    """The largest waits first: who is waited for, whoever is the origin."""
    direct = found.origin.direct if found.origin else found.ranks.cost
    return frozenset(late_ranks(direct, found.trace.hosts)[0])


def last_most(found: Lateness, _: Facts) -> Named:
    """The rank that is last in most collectives, if it is in a quarter more than its share."""
    share = found.latest_share if found.latest is not None else 0.0
    least = 0.25 + 1 / found.trace.ranks
    return frozenset([found.latest]) if found.latest is not None and share > least else frozenset()


def pop(found: Lateness, _: Facts) -> Named:
    """POP's load balance: who computes longest, if the mean is below 90 % of that."""
    ranks = found.ranks
    computing = found.run_seconds - ranks.waiting - ranks.moving
    if computing.mean() > 0.9 * computing.max():
        return frozenset()
    return frozenset([int(computing.argmax())])


METHODS = (ours, observed, collectives_alone, waited_for, last_most, pop)


# ---- the benchmark


@dataclass(frozen=True)
class Job:
    """A job and who is to be named."""

    kind: str
    pattern: str
    ranks: int
    trace: Trace
    culprits: Named
    fair: Named
    without: float  # seconds: the run, if the culprits were not slow


def jobs(seeds: Sequence[int]) -> Iterator[Job]:
    """All patterns with all causes."""
    for seed in seeds:
        for pattern in PATTERNS:
            own = random.Random(f"{seed} {pattern.__name__}")
            ranks = own.choice((4, 6, 8, 12))
            for cause in causes(f"{seed} {pattern.__name__}", ranks):
                waits = own.random() < 0.5
                trace, without = (
                    Played([pattern(rank, ranks, compute) for rank in range(ranks)],
                           rendezvous=waits).trace(cause.hosts)
                    for compute in (cause.compute, cause.without)
                )  # fmt: skip
                yield Job(cause.kind, pattern.__name__, ranks, trace, cause.culprits, cause.fair,
                          analyse(without).run_seconds)  # fmt: skip


def outcome(named: Named, job: Job) -> str:
    """`right`, `nobody` where somebody was to be named, or `wrong`."""
    if named == job.culprits or (named and named <= job.fair):
        return "right"
    return "nobody" if not named else "wrong"


def judge(
    seeds: Sequence[int], *, show: bool = False
) -> tuple[dict[str, dict[str, Counter[str]]], list[float]]:
    """How often each method was right, by kind of cause; and by how much the run without those who
    were named rightly was told too long, as parts of the run."""
    found: dict[str, dict[str, Counter[str]]] = {}
    errors = []
    for job in jobs(seeds):
        lateness = analysed(job.trace)
        told = facts(lateness)
        if told.saved is not None and frozenset(told.late) == job.culprits:
            run = lateness.run_seconds
            errors.append((run - told.saved - job.without) / run)
            if show and abs(errors[-1]) > FAR:
                print(f"{job.kind}, {job.pattern}, {job.ranks} ranks: {run - told.saved:.3g} s "
                      f"instead of {run:.3g} s told, {job.without:.3g} s right")  # fmt: skip
        for method in METHODS:
            named = method(lateness, told)
            result = outcome(named, job)
            by_kind = found.setdefault(job.kind, {})
            by_kind.setdefault(method.__name__, Counter())[result] += 1
            if show and method is ours and result != "right":
                cost = lateness.origin.cost if lateness.origin else np.zeros(0)
                print(f"{job.kind}, {job.pattern}, {job.ranks} ranks: named {sorted(named)}, right "
                      f"would be {sorted(job.culprits)}; costs in ms {np.round(1e3 * cost, 1)}, "
                      f"order {1e3 * lateness.origin.order:.1f}")  # fmt: skip
    return found, errors


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0-4", help="as in 0-4")
    parser.add_argument("--show", action="store_true", help="print each job that ours misses")
    asked = parser.parse_args()
    first, _, last = asked.seeds.partition("-")
    found, errors = judge(range(int(first), int(last or first) + 1), show=asked.show)
    print("| cause | jobs | " + " | ".join(m.__name__.replace("_", " ") for m in METHODS) + " |")
    print("| --- " * (len(METHODS) + 2) + "|")
    total: dict[str, Counter[str]] = {}
    for kind, by_method in found.items():
        print(_row(kind, by_method))
        for name, counts in by_method.items():
            total.setdefault(name, Counter()).update(counts)
    print(_row("all", total))
    off = np.abs(errors)
    print(
        f"\nThe run without the culprits, in {len(off)} jobs: off by {off.mean():.1%} of it in "
        f"the mean, {np.quantile(off, 0.95):.1%} at the 95th percentile, {off.max():.1%} at most"
    )


def _row(kind: str, by_method: dict[str, Counter[str]]) -> str:
    jobs = sum(by_method[METHODS[0].__name__].values())
    cells = (by_method[method.__name__] for method in METHODS)
    told = (f"{c['right']} right, {c['nobody']} nobody, {c['wrong']} wrong" for c in cells)
    return f"| {kind} | {jobs} | " + " | ".join(told) + " |"


if __name__ == "__main__":
    main()
