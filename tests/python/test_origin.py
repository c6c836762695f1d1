"""Who is the origin of lateness: jobs with known causes, played in virtual time."""

import random
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from latecomer.report.analysis.answer import answer
from latecomer.report.analysis.cut import analysed
from latecomer.report.analysis.facts import facts
from latecomer.report.analysis.origin import origin
from latecomer.report.trace import Words
from trace_helpers import group_of, trace_of

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "evidence"))

from culprits import judge
from played import Played

SLOW, USUAL, STEPS = 25e-3, 5e-3, 20


def wavefront(rank, ranks, slow):
    """Each rank waits for the edge of the one before."""
    for _ in range(STEPS):
        if rank > 0:
            yield ("receive", rank - 1)
        yield ("compute", SLOW if rank == slow else USUAL)
        if rank < ranks - 1:
            yield ("send", rank + 1)
        yield ("allreduce",)


def halo(rank, ranks, slow, *, meet=True):
    """Each rank exchanges edges with both neighbours."""
    for _ in range(STEPS):
        yield ("compute", SLOW if rank == slow else USUAL)
        for other in (rank - 1) % ranks, (rank + 1) % ranks:
            yield ("ireceive", other)
            yield ("isend", other)
        yield ("wait",)
        yield ("compute", USUAL)
        if meet:
            yield ("allreduce",)


def apart(rank, ranks, slow):
    """A halo exchange in which the ranks never all meet."""
    return halo(rank, ranks, slow, meet=False)


def handed_on(rank, ranks, slow):
    """The slow rank's message is late; its receiver computes as long as others, but comes last."""
    for _ in range(STEPS):
        if rank == slow:
            yield ("compute", SLOW)
            yield ("send", (slow + 1) % ranks)
        if rank == (slow + 1) % ranks:
            yield ("receive", slow)
        yield ("compute", 10 * USUAL)
        yield ("allreduce",)


def distributed(rank, ranks, slow):
    """A root hands out work; the slow rank is late in the broadcast's successor."""
    for _ in range(STEPS):
        yield ("bcast",)
        yield ("compute", SLOW if rank == slow else USUAL)
        yield ("allreduce",)


def overlapped(rank, ranks, slow):
    """Each rank computes while the collective that it has begun is under way."""
    for _ in range(STEPS):
        yield ("iallreduce",)
        yield ("compute", SLOW if rank == slow else USUAL)
        yield ("finish",)


def exchanged(rank, ranks, slow):
    """Each rank computes while its edge is under way in a ring."""
    for _ in range(STEPS):
        yield ("ireceive", (rank - 1) % ranks)
        yield ("isend", (rank + 1) % ranks)
        yield ("compute", SLOW if rank == slow else USUAL)
        yield ("wait",)


def awaited(rank, ranks, slow):
    """Each rank computes while a receive is under way, and comes back to MPI to send."""
    for _ in range(STEPS):
        yield ("ireceive", (rank - 1) % ranks)
        yield ("compute", SLOW if rank == slow else USUAL)
        yield ("isend", (rank + 1) % ranks) if rank % 2 else ("send", (rank + 1) % ranks)
        yield ("wait",)
        yield ("allreduce",)


def played(program, ranks, slow, **how):
    return Played([program(rank, ranks, slow) for rank in range(ranks)], **how).trace()


@pytest.mark.parametrize("rendezvous", [False, True])
@pytest.mark.parametrize("program", [wavefront, halo, apart, handed_on, distributed])
@pytest.mark.parametrize("ranks", [4, 5, 6, 8])
def test_the_slow_rank_is_named_wherever_it_is(program, ranks, rendezvous):
    for slow in range(ranks):
        found = analysed(played(program, ranks, slow, rendezvous=rendezvous))
        said = answer(found)
        assert said.who == f"Rank {slow} on host node{slow} is late.", (slow, said.text())
        begun = found.origin
        np.testing.assert_allclose(begun.cost.sum() + begun.order, begun.waiting.sum())
        np.testing.assert_allclose(begun.direct.sum(), begun.waiting.sum())


def rows(rank, ranks, slow):
    """Halves of the ranks meet in each step, and then all of them."""
    own = tuple(each for each in range(ranks) if (each < ranks // 2) == (rank < ranks // 2))
    for _ in range(STEPS):
        yield ("compute", SLOW if rank == slow else USUAL)
        yield ("allreduce", own)
        yield ("allreduce",)


@pytest.mark.parametrize("ranks", [4, 6, 8])
def test_whom_a_part_of_the_ranks_waited_for_is_named_without_messages_too(ranks):
    for slow in range(ranks):
        trace = replace(played(rows, ranks, slow), messages=None)
        said = answer(analysed(trace))
        assert said.who == f"Rank {slow} on host node{slow} is late.", (slow, said.text())
        assert "messages between two ranks" in said.cost  # which are not measured


@pytest.mark.parametrize("slow", range(6))
def test_a_wavefront_costs_what_the_slow_rank_computes_longer(slow):
    """All others wait for that in each step; without a slow rank they wait for the order alone."""
    begun, usual = (origin(played(wavefront, 6, who)) for who in (slow, None))
    np.testing.assert_allclose(begun.cost[slow], 5 * STEPS * (SLOW - USUAL), rtol=1e-6)
    np.testing.assert_allclose(begun.order, usual.waiting.sum(), rtol=1e-3)
    assert usual.cost.max() < 1e-9
    said = answer(analysed(played(wavefront, 6, None)))
    assert said.who == "Nobody in particular is late."
    assert "comes from no rank that computes longer than others" in said.where


@pytest.mark.parametrize("rendezvous", [False, True])
@pytest.mark.parametrize("program", [wavefront, halo, apart, distributed])
def test_what_a_rank_saves_is_what_it_does_save(program, rendezvous):
    """Against the same job without a slow rank, which does what the others do."""
    for slow in range(6):
        trace = played(program, 6, slow, rendezvous=rendezvous)
        usual = played(program, 6, None, rendezvous=rendezvous)
        ends = [max(float(side.end.max()) for side in (each.messages.send, each.messages.receive)
                    if len(side.end)) if len(each.messages) else 0.0 for each in (trace, usual)]  # fmt: skip
        for at, each in enumerate((trace, usual)):
            ends[at] = max([ends[at], *(float(group.exit.max()) for group in each.groups)])
        shorter = ends[0] - ends[1]
        graph = origin(trace).graph
        saved = graph.saved(graph.without([slow]))
        assert saved == pytest.approx(shorter, rel=0.02)


def test_one_message_that_was_taken_does_not_make_all_sends_eager():
    """As that of MPI_Bsend: the others wait for their receives, as most of their size show."""

    def program(rank):
        if rank == 0:
            yield ("isend", 1)
        for _ in range(20):
            yield ("compute", (0.005, 0.001, 0.02)[rank])
            if rank == 1:
                yield ("receive", 2)
                yield ("receive", 0)
            else:
                yield ("send", 1)
        if rank == 1:
            yield ("receive", 0)
        yield ("wait",)

    trace = Played(map(program, range(3)), rendezvous=True).trace()
    send = trace.messages.send
    odd = send.end == send.end.max()
    taken = replace(send, end=np.where(odd, send.posted + 1e-6, send.end),
                    begin=np.where(odd, send.posted, send.begin))  # fmt: skip
    plain, found = (origin(replace(trace, messages=replace(trace.messages, send=each)))
                    for each in (send, taken))  # fmt: skip
    assert found.cost[2] == pytest.approx(plain.cost[2], rel=0.02)
    assert found.waiting[0] == pytest.approx(plain.waiting[0], rel=0.1)


def test_a_send_may_wait_until_its_receiver_comes_back_to_mpi():
    """In shared memory, though a message of this size was taken before its receive once."""
    programs = [
        [("send", 1), ("compute", 0.1), ("send", 1), ("compute", 1.0)],
        [("compute", 0.05), ("receive", 0), ("compute", 0.3), ("send", 2), ("compute", 0.1),
         ("receive", 0)],
        [("receive", 1)],
    ]  # fmt: skip
    trace = Played(programs).trace(["node"] * 3)
    send = trace.messages.send
    mine = (send.rank == 0) & (send.begin > 0.05)
    back = send.begin[send.rank == 1][0]
    held = replace(send, end=np.where(mine, back + 1e-6, send.end))
    plain, found = (origin(replace(trace, messages=replace(trace.messages, send=each)))
                    for each in (send, held))  # fmt: skip
    assert found.direct[1] - plain.direct[1] == pytest.approx(back - send.begin[mine][0])


@pytest.mark.parametrize("hosts", [["node"] * 3, ["a", "b", "c"]])
@pytest.mark.parametrize(("collective", "held"), [("reduce", 1), ("bcast", 0), ("ireduce", 1)])
def test_a_call_with_a_root_may_wait_for_a_rank_to_come_back_to_mpi(collective, held, hosts):
    """Rank 2 is the root of reductions, rank 0 that of broadcasts; they wait in the second call.

    On other hosts messages end without that.
    """
    words = Words()
    arrival = np.array([[0.0, 0.0, 0.0], [0.1, 0.1, 0.9]])
    leave = np.array([[0.01, 0.01, 0.01], [0.9, 0.9, 0.91]])
    leave[1, held] = 0.5 + 1e-6
    root = 0 if collective == "bcast" else 2
    group = group_of(arrival, leave, words, collective=collective, root=root)
    back = group_of(np.array([[2.0, 0.5]]), np.array([[2.1, 0.6]]), words, members=[0, 2],
                    name="some", collective="barrier")  # fmt: skip
    if collective.startswith("i"):
        trace = replace(trace_of([back], words, hosts=hosts),
                        overlapping=[replace(group, completed=arrival)])  # fmt: skip
    else:
        trace = trace_of([group, back], words, hosts=hosts)
    graph = origin(trace).graph
    call = np.flatnonzero((graph.events.rank == held) & (graph.events.begin == 0.1))[0]
    cause = graph.events.cause[call]
    waited = (graph.posts.rank[cause], graph.posts.time[cause]) == (2, 0.5)
    assert waited == (hosts[0] == hosts[2])


@pytest.mark.parametrize("weak", [False, True])
@pytest.mark.parametrize("program", [overlapped, exchanged, awaited])
def test_who_computes_while_data_are_to_move_holds_up_the_others(program, weak):
    """Where they move only while ranks are in MPI; else a rank waits for what was begun before."""
    for slow in range(5):
        trace, usual = (played(program, 5, who, rendezvous=True, weak=weak)
                        for who in (slow, None))  # fmt: skip
        found = analysed(trace)
        said = answer(found)
        assert said.who == f"Rank {slow} on host node{slow} is late.", said.text()
        graph = found.graph
        saved, shorter = graph.saved(graph.without([slow])), trace.end.max() - usual.end.max()
        assert saved == pytest.approx(shorter, rel=0.02)


def test_a_victim_is_told_apart():
    said = answer(analysed(played(wavefront, 6, 2)))
    assert said.who == "Rank 2 on host node2 is late."
    assert "Nearly all of its cost is in the computation after messages at somewhere" in said.where
    assert "Rank 5 is waited for, too" in said.where


def test_random_work_names_nobody():
    seed = random.randrange(1 << 30)
    print("seed", seed)

    def program(rank):
        own = random.Random(f"{seed} {rank}")
        for _ in range(100):
            yield ("compute", USUAL * (1 + own.random()))
            for other in (rank - 1) % 6, (rank + 1) % 6:
                yield ("ireceive", other)
                yield ("isend", other)
            yield ("wait",)
            yield ("allreduce",)

    said = answer(analysed(Played([program(rank) for rank in range(6)]).trace()))
    assert said.who == "Nobody in particular is late.", said.text()


def test_charges_and_order_are_all_waiting_whatever_a_job_does():
    for _ in range(30):
        seed = random.randrange(1 << 30)
        print("seed", seed)
        own = random.Random(seed)
        ranks = own.randint(2, 7)
        programs = [[] for _ in range(ranks)]
        for _ in range(own.randint(1, 40)):
            kind = own.choice(("compute", "message", "message", "meet", "bcast"))
            if kind == "compute":
                rank = own.randrange(ranks)
                programs[rank].append(("compute", own.expovariate(1 / USUAL)))
            elif kind == "message":
                source, to = own.sample(range(ranks), 2)
                programs[source].append(("isend", to))
                programs[to].append(("receive", source))
            elif kind == "meet":
                for program in programs:
                    program.append(("allreduce",))
            else:
                root = own.randrange(ranks)
                for program in programs:
                    program.append(("bcast", tuple(range(ranks)), root))
        for program in programs:
            program.append(("wait",))
            program.append(("allreduce",))
        trace = Played(programs, rendezvous=own.random() < 0.5).trace()
        begun = origin(trace)
        np.testing.assert_allclose(begun.cost.sum() + begun.order, begun.waiting.sum(), atol=1e-12)
        np.testing.assert_allclose(sum(begun.by_place.values()), begun.cost.sum(), atol=1e-12)
        assert begun.cost.min() >= 0
        spent = begun.waiting + begun.moving + begun.graph.computed.sum(axis=0)
        some, start = begun.graph.present, np.fmin(begun.graph.events.begin.min(), trace.begin)
        np.testing.assert_allclose(spent[some], (begun.graph.last - start)[some])
        assert begun.order >= -1e-12


@pytest.mark.parametrize("known", [True, False])
def test_ranks_compute_until_they_enter_the_call_that_completes_a_collective(known):
    """Rank 1 computes longer between the start of each and its completion."""
    ranks, calls = 3, 20
    work = np.array([USUAL, SLOW, USUAL])
    arrival, completed, leave = (np.zeros((calls, ranks)) for _ in range(3))
    clock = np.zeros(ranks)
    for call in range(calls):
        arrival[call] = clock
        completed[call] = clock + work
        clock = leave[call] = np.maximum(completed[call], arrival[call].max()) + 1e-5
    words = Words()
    group = group_of(arrival, leave, words, collective="iallreduce")
    trace = replace(trace_of([], words, ranks=ranks), overlapping=[
        replace(group, completed=completed if known else None)])  # fmt: skip
    found = origin(trace)
    computed = calls * (SLOW - USUAL)
    if known:
        np.testing.assert_allclose(found.excess, [0, computed, 0], atol=1e-9)
        np.testing.assert_allclose(found.moving, calls * 1e-5, atol=1e-9)
    else:
        assert found.excess[1] < computed / 2


def test_the_report_names_culprits_of_all_kinds():
    """The short form of evidence/culprits.py, and better than what it is compared with."""
    total = {}
    found, errors = judge(range(2))
    assert np.mean(np.abs(errors)) < 0.01  # of the run: what it would take without the culprits
    for by_method in found.values():
        for method, counts in by_method.items():
            total.setdefault(method, Counter()).update(counts)
    print(total)
    right = {method: counts["right"] / counts.total() for method, counts in total.items()}
    assert right["ours"] >= 0.95
    assert right["ours"] == max(right.values())


def parts_of_a_job(work):
    """Ranks 0 to 3, of which rank 1 is slow, and six with other work share no call."""
    for rank in range(10):
        members = tuple(range(4)) if rank < 4 else tuple(range(4, 10))
        compute = SLOW if rank == 1 else USUAL if rank < 4 else work
        yield [each for _ in range(STEPS) for each in (("compute", compute),
                                                       ("allreduce", members))]  # fmt: skip


@pytest.mark.parametrize("work", [USUAL / 5, USUAL, SLOW, 2 * SLOW])
def test_a_rank_is_compared_with_those_that_it_shares_calls_with(work):
    found = analysed(Played(list(parts_of_a_job(work))).trace())
    told = facts(found)
    assert told.late == [1]
    assert told.place.startswith("computation after the allreduce")
    np.testing.assert_allclose(found.origin.cost, [0, told.cost, *8 * [0]])
    np.testing.assert_allclose(told.cost, 3 * STEPS * (SLOW - USUAL))
    shorter = STEPS * (SLOW - max(USUAL, work))
    assert told.saved == (pytest.approx(shorter) if shorter > 0 else None)


def delays(rank, seed):
    """Each step may be longer by chance, whichever rank it is."""
    own = random.Random(f"{seed} {rank}")
    for _ in range(STEPS):
        yield ("compute", USUAL * (1 + own.random() ** 8))
        yield ("allreduce",)


def once(rank, slow):
    """One rank is late in one step, by more than all else."""
    for step in range(STEPS):
        yield ("compute", 10 * SLOW if (rank, step) == (slow, 7) else USUAL)
        yield ("allreduce",)


def test_what_chance_may_be_names_nobody():
    """Those that were longest by chance in these jobs are not so in both halves of them."""
    jobs = (Played([delays(rank, seed) for rank in range(4)]).trace() for seed in range(40))
    assert sum(bool(facts(analysed(job)).late) for job in jobs) <= 1
    for slow in range(3):
        assert list(facts(analysed(Played([once(rank, slow) for rank in range(3)]).trace())).late) \
            == [slow]  # fmt: skip
