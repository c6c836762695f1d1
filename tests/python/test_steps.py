"""Where the excess of ranks lies, against a slow and obvious reference."""

import random
from collections import defaultdict

import numpy as np
from latecomer.report.analysis.events import RECEIVE, SEND, Events
from latecomer.report.analysis.steps import Steps


def random_events(own):
    """Ranks in a loop of calls, whose lengths and numbers differ; when each began."""
    ranks, rows = own.randint(1, 5), []
    start = np.array([own.uniform(0, 1) for _ in range(ranks)])
    for step in range(own.randint(1, 4)):
        for rank in range(ranks):
            rows += [(step, rank, turn, own.randint(1, 2), own.choice((SEND, RECEIVE)), 0)
                     for turn in range(own.randint(0, 4))]  # fmt: skip
            rows.append((step, rank, 99, 3, 0, 1))  # all ranks meet
    clock, made = start.copy(), []
    for step, rank, _, place, source, meets in sorted(rows):
        begin = clock[rank] + own.choice((0.0, own.random()))
        clock[rank] = begin + own.choice((0.0, own.random()))
        made.append((rank, begin, clock[rank], place, source, meets, step))
    made.sort(key=lambda row: row[2])
    rank, begin, end, place, source, meets, step = map(np.array, zip(*made, strict=True))
    none = np.zeros(len(rank), np.int64)
    events = Events(rank, begin, end, place, none - 1, source, none, meets, source == SEND)
    return start, events, step


def parts(start, events, step, team):
    """The excess and the distance from the mean of each computation, in seconds."""
    ranks, count = len(start), len(events.rank)
    since, after, turns = start.tolist(), [(0, False)] * ranks, defaultdict(int)
    spent, alike = np.zeros(count), defaultdict(list)
    total = defaultdict(float)
    for at in range(count):
        rank = int(events.rank[at])
        spent[at] = max(float(events.begin[at]) - since[rank], 0.0)
        where = (int(step[at]), after[rank])
        alike[team[rank], where, turns[rank, where]].append(at)
        turns[rank, where] += 1
        total[int(step[at]), rank] += spent[at]
        since[rank], after[rank] = events.end[at], (events.place[at], events.source[at] == SEND)
    longer, mean, apart = np.zeros(count), np.zeros(count), np.zeros(count)
    for some in alike.values():
        typical = sorted(spent[at] for at in some)[(len(some) - 1) // 2]
        for at in some:
            longer[at] = max(spent[at] - typical, 0.0)
            mean[at] = np.mean(spent[some])
    excess = np.zeros(count)
    for each in {int(s) for s in step}:
        for rank in range(ranks):
            mates = [mate for mate in range(ranks) if team[mate] == team[rank]]
            typical = sorted(total[each, mate] for mate in mates)[(len(mates) - 1) // 2]
            own = [at for at in range(count) if (step[at], events.rank[at]) == (each, rank)]
            beyond, whole = max(total[each, rank] - typical, 0.0), sum(longer[own])
            left = {at: spent[at] - longer[at] for at in own}
            sums = [total[each, one] for one in mates if total[each, one] > 0]
            even = np.mean(sums) if sums else 0.0
            for at in own:
                excess[at] = longer[at] * min(beyond / whole, 1.0) if whole else 0.0
                if beyond > whole:
                    excess[at] += (beyond - whole) * left[at] / sum(left.values())
                apart[at] = spent[at] - mean[at] * (even / sum(mean[own]) if sum(mean[own]) else 1)
    return spent, excess, apart


def test_the_excess_is_that_of_the_slow_one_and_adds_up():
    for _ in range(200):
        seed = random.randrange(1 << 30)
        print("seed", seed)
        own = random.Random(seed)
        start, events, step = random_events(own)
        team = np.array([own.randint(0, 1) for _ in start])
        found = Steps(start, events, team)
        spent, excess, apart = parts(start, events, step, team)
        np.testing.assert_array_equal(found.step, step)
        np.testing.assert_allclose(found.spent, spent, atol=1e-9)
        np.testing.assert_allclose(found.part * spent, excess, atol=1e-9)
        np.testing.assert_allclose(found.apart * spent, np.where(spent > 0, apart, 0), atol=1e-9)
        sums = np.zeros_like(found.beyond)
        np.add.at(sums, (step, events.rank), excess)
        np.testing.assert_allclose(sums, found.beyond, atol=1e-9)
