"""The core's pass over a traced job, against one that is slow and obvious."""

import random
from collections import defaultdict

import numpy as np
import pytest
from latecomer.core.compiled import core


def random_job(own):
    """Columns of a job that no program made: any causes, any order of time."""
    ranks, places = own.randint(1, 5), 3
    posts, calls = own.randint(0, 20), own.randint(0, 30)
    begin = np.array([own.uniform(0, 10) for _ in range(calls)])
    end = begin + [own.choice((0.0, own.uniform(0, 3))) for _ in range(calls)]
    post_time = np.array([own.uniform(0, 10) for _ in range(posts)])

    def numbers(count, least, below):
        return np.array([own.randrange(least, below) for _ in range(count)], np.int64)

    def lists(count, least, below):
        owner = np.sort(numbers(own.randrange(2 * count + 1) if below else 0, 0, max(count, 1)))
        first = np.searchsorted(owner, np.arange(count + 1))
        return first, numbers(len(owner), least, max(below, 1))

    def came(meetings):
        first, flat = [0], []
        for _ in range(meetings):
            some = own.sample(range(posts), own.randrange(min(posts, 6) + 1))
            flat += sorted(some, key=lambda post: post_time[post])
            first.append(len(flat))
        return np.array(first), np.array(flat, np.int64)

    meetings = own.randrange(4)
    others_first, others = lists(calls, 0, posts)
    came_first, members = came(meetings)
    order = np.array([2 * post for post in range(posts)] + [2 * call + 1 for call in range(calls)])
    times = np.concatenate([post_time, end])
    return {
        "rank": numbers(calls, 0, ranks), "begin": begin, "end": np.array(end, float),
        "place": numbers(calls, 0, places), "cause": numbers(calls, -1, max(posts, 0)),
        "others_first": others_first, "others": others,
        "meeting": numbers(calls, -1, meetings),
        "came_first": came_first, "came": members, "for_all": numbers(meetings, 0, 2),
        "meets": numbers(calls, 0, 2),
        "beyond": np.array([own.choice((0.0, own.random(), 1.0)) for _ in range(calls)]),
        "post_rank": numbers(posts, 0, ranks), "post_time": post_time,
        "post_next": numbers(posts, -1, max(calls, 0)),
        "order": order[np.argsort(times, kind="stable")].astype(np.int64),
        "start": np.array([own.uniform(0, 1) for _ in range(ranks)]),
    }  # fmt: skip


class Slow:
    """The same, with a dictionary a rank and no shortcut."""

    def __init__(self, job):
        self.job = job
        ranks = len(job["start"])
        self.since = job["start"].tolist()
        self.accounts = [{} for _ in range(ranks)]
        self.after, self.snapshots = [0] * ranks, {}
        self.charges = defaultdict(float)
        self.direct, self.waiting, self.moving = (np.zeros(ranks) for _ in range(3))
        self.order, self.waits = 0.0, 0
        for each in job["order"].tolist():
            (self.end if each % 2 else self.post)(each // 2)

    def compute(self, rank, until, call):
        if until > self.since[rank]:
            beyond = self.job["beyond"][call] * (until - self.since[rank]) if call >= 0 else 0.0
            self.since[rank] = until
            if beyond > 0:
                account, key = self.accounts[rank], (rank, self.after[rank])
                self.accounts[rank] = account | {key: account.get(key, 0.0) + beyond}

    def post(self, post):
        job = self.job
        rank = job["post_rank"][post]
        until, call = job["post_time"][post], job["post_next"][post]
        self.compute(rank, min(until, job["begin"][call]) if call >= 0 else until, call)
        self.snapshots[post] = self.accounts[rank]

    def end(self, call):
        job = self.job
        rank, cause = job["rank"][call], job["cause"][call]
        begin, end = job["begin"][call], job["end"][call]
        self.compute(rank, begin, call)
        waited = 0.0
        if cause >= 0:
            posted, other = min(job["post_time"][cause], end), job["post_rank"][cause]
            if posted > begin and other != rank:
                waited = posted - begin
                theirs = self.snapshots.get(cause, self.accounts[other])
                self.charge(waited, self.accounts[rank], theirs)
                self.accounts[rank] = theirs
                self.direct[other] += waited
                self.waiting[rank] += waited
                self.waits += 1
        if job["meets"][call]:
            self.accounts[rank] = {}
        self.moving[rank] += max(end - begin - waited, 0.0)
        self.since[rank] = max(self.since[rank], end)
        self.after[rank] = job["place"][call]

    def charge(self, waited, mine, theirs):
        parts = {key: theirs.get(key, 0.0) - mine.get(key, 0.0) for key in mine | theirs}
        parts[None] = waited - sum(parts.values())
        whole = sum(max(part, 0.0) for part in parts.values())
        for key, part in parts.items():
            share = waited * max(part, 0.0) / whole
            if key is None:
                self.order += share
            elif part > 0:
                self.charges[key] += share


def test_the_pass_is_that_of_the_slow_one():
    for _ in range(400):
        seed = random.randrange(1 << 30)
        print("seed", seed)
        own = random.Random(seed)
        job = random_job(own)
        slow, found = Slow(job), core.TracedJob(**job).origins()
        charges = {(rank, place): seconds for rank, place, seconds in found["charges"]}
        assert charges.keys() == {(int(a), int(b)) for a, b in slow.charges}
        for key, seconds in slow.charges.items():
            assert charges[key] == pytest.approx(seconds, rel=1e-9, abs=1e-12)
        for name in ("direct", "waiting", "moving", "order", "waits"):
            np.testing.assert_allclose(found[name], getattr(slow, name), atol=1e-12, err_msg=name)


WRONG = {
    "rank": (9, "rank of a call: '9' is not usable"),
    "cause": (99, "cause of a call"),
    "post_rank": (-1, "rank of a post"),
    "post_next": (99, "next call of a post"),
    "others": (99, "further post of a call"),
    "others_first": (999, "first further post of a call"),
    "meeting": (9, "meeting of a call"),
    "came": (999, "member of a meeting"),
    "came_first": (999, "first member of a meeting"),
    "order": (999, "place in the order"),
}


@pytest.mark.parametrize("name", WRONG)
def test_numbers_of_nothing_are_refused(name):
    value, words = WRONG[name]
    own = random.Random(1)
    job = random_job(own)
    while not len(job[name]) or len(job["start"]) > 4:
        job = random_job(own)
    job[name] = job[name].copy()
    job[name][-1] = value
    with pytest.raises(ValueError, match=words.split(":")[0]):
        core.TracedJob(**job).origins()


def test_columns_of_other_lengths_are_refused():
    own = random.Random(2)
    job = random_job(own)
    for name, words in (("begin", "calls"), ("beyond", "calls"), ("post_time", "posts")):
        with pytest.raises(ValueError, match=words):
            core.TracedJob(**job | {name: np.append(job[name], 1.0)}).origins()
