"""The core's replay of a traced job, against one that is slow and obvious."""

import random

import numpy as np
import pytest
from latecomer.core.compiled import core
from test_origin_core import random_job


class Slow:
    """Each rank's clock as it was, and as it would be."""

    def __init__(self, job, less, moving, collectives, exits):
        self.job, self.less, self.moving, self.exits_of = job, less, moving, exits
        self.ranks = len(job["start"])
        self.since = job["start"].tolist()
        self.ahead, self.posts = [0.0] * self.ranks, {}
        self.members = {call: (number, place) for number, calls in enumerate(collectives)
                        for place, call in enumerate(calls)}  # fmt: skip
        self.collectives, self.carried_out = collectives, {}
        self.came = [[] for _ in job["for_all"]]

    def run(self, begin, end, *, inside):
        """A stretch, as Replayed; outside of one nothing is earlier."""
        self.inside = inside
        if inside:
            self.ahead = [0.0] * self.ranks
        self.waited = self.moved = 0.0
        start = np.mean(self.since)
        for each in self.job["order"][begin:end].tolist():
            (self.end if each % 2 else self.post)(each // 2, inside)
        told = start, np.mean(self.since), list(self.ahead), self.waited, self.moved
        # What comes then begins as it was measured.
        self.posts = dict.fromkeys(self.posts, 0.0)
        self.came = [[(was, was) for was, _ in came] for came in self.came]
        return told

    def compute(self, rank, until, call, inside):
        if until > self.since[rank]:
            less = self.less[call] * (until - self.since[rank]) if call >= 0 else 0.0
            self.since[rank] = until
            self.ahead[rank] += less if inside else 0.0

    def post(self, post, inside):
        job = self.job
        rank = job["post_rank"][post]
        until, call = job["post_time"][post], job["post_next"][post]
        self.compute(rank, min(until, job["begin"][call]) if call >= 0 else until, call, inside)
        self.posts[post] = self.ahead[rank] if inside else 0.0

    def end(self, call, inside):
        job = self.job
        rank, begin, end = job["rank"][call], job["begin"][call], job["end"][call]
        self.compute(rank, begin, call, inside)
        if inside:
            came = begin - self.ahead[rank]
            ready, left = (self.anew if call in self.members else self.as_it_was)(call, came)
            self.waited += ready - came
            self.moved += left - ready
            self.ahead[rank] = end - left
        elif job["meeting"][call] >= 0:
            self.last_in(job["meeting"][call], end)
        self.since[rank] = max(self.since[rank], end)

    def as_it_was(self, call, came):
        job = self.job
        begin, end = job["begin"][call], job["end"][call]
        first = job["others_first"][call : call + 2]
        posts = job["others"][first[0] : first[1]].tolist()
        if job["cause"][call] >= 0:
            posts.append(job["cause"][call])
        was = [min(job["post_time"][post], end) for post in posts]
        now = [time - self.earlier(post) for time, post in zip(was, posts, strict=True)]
        if (meeting := job["meeting"][call]) >= 0 and (last := self.last_in(meeting, end)):
            off = max(last[0] - end, 0.0)
            was.append(last[0] - off)
            now.append(last[1] - off)
        ready = max([came, *now])
        return ready, ready + self.moving[call] * (end - max([begin, *was]))

    def earlier(self, post):
        return self.posts.get(post, self.ahead[self.job["post_rank"][post]])

    def last_in(self, meeting, end):
        """When the last member came before then, as it was and as it is; None: nobody did."""
        job, came = self.job, self.came[meeting]
        first = job["came_first"][meeting : meeting + 2]
        for post in job["came"][first[0] : first[1]].tolist()[len(came) :]:
            time = now = job["post_time"][post]
            if time >= end and not job["for_all"][meeting]:
                break
            if self.inside:
                now = time - self.earlier(post)
            came.append((time, now))
        return tuple(max(column) for column in zip(*came, strict=True)) if came else None

    def anew(self, call, came):
        job = self.job
        number, place = self.members[call]
        if number not in self.carried_out:
            arrivals = []
            for each in self.collectives[number]:
                self.compute(job["rank"][each], job["begin"][each], each, True)
                arrivals.append(job["begin"][each] - self.ahead[job["rank"][each]])
            self.carried_out[number] = arrivals, self.exits_of(number, arrivals)
        arrivals, exits = self.carried_out[number]
        left = exits[place] + max(came - arrivals[place], 0.0)
        return max([came, *(arrival for arrival in arrivals if arrival <= left)]), left


def exits_of(number, arrivals):
    """Of a tree that goes on when the last one has come, and the first ones leave early."""
    last = max(arrivals)
    return [max(each, last if place else 0.0) + 0.1 * (number + 1)
            for place, each in enumerate(arrivals)]  # fmt: skip


def some_stretches(own, length):
    places = sorted(own.sample(range(length + 1), min(length + 1, 2 * own.randrange(3))))
    return list(zip(places[::2], places[1::2], strict=False))


def some_collectives(own, job, stretches):
    """Calls whose ends are all in one stretch, as the caller must see to."""
    found = []
    for begin, end in stretches:
        inside = [each // 2 for each in job["order"][begin:end].tolist() if each % 2]
        own.shuffle(inside)
        while len(inside) > 2 and own.random() < 0.7:
            found.append([inside.pop() for _ in range(own.randint(1, 3)) if inside])
    return found


def columns(collectives, stretches):
    flat = [call for calls in collectives for call in calls]
    return {
        "first": np.cumsum([0, *map(len, collectives)]) if collectives else np.zeros(0, np.int64),
        "calls": np.array(flat, np.int64),
        "stretches": np.array(stretches, np.int64).reshape(-1),
    }


def test_the_replay_is_that_of_the_slow_one():
    for _ in range(400):
        seed = random.randrange(1 << 30)
        print("seed", seed)
        own = random.Random(seed)
        job = random_job(own)
        less = np.array([own.choice((0.0, own.uniform(-1, 2))) for _ in job["beyond"]])
        moving = np.array([own.choice((0.0, 0.5, 1.0, 3.0)) for _ in job["beyond"]])
        stretches = some_stretches(own, len(job["order"]))
        collectives = some_collectives(own, job, stretches)
        found = core.TracedJob(**job).replay(
            less=less, moving=moving, exits=exits_of, **columns(collectives, stretches)
        )
        slow, at = Slow(job, less, moving, collectives, exits_of), 0
        assert len(found) == len(stretches)
        for (begin, end), told in zip(stretches, found, strict=True):
            slow.run(at, begin, inside=False)
            expected = slow.run(begin, end, inside=True)
            for mine, theirs in zip(told, expected, strict=True):
                np.testing.assert_allclose(mine, theirs, atol=1e-12)
            at = end


def test_without_a_change_nothing_is_earlier():
    for _ in range(50):
        seed = random.randrange(1 << 30)
        print("seed", seed)
        job = random_job(random.Random(seed))
        less, whole = np.zeros_like(job["beyond"]), [(0, len(job["order"]))]
        ((*_, ahead, _, _),) = core.TracedJob(**job).replay(
            less=less, moving=np.ones_like(less), exits=None, **columns([], whole)
        )
        np.testing.assert_allclose(ahead, 0, atol=1e-12)


WRONG = [
    ({"less": np.zeros(99)}, "parts less"),
    ({"moving": np.ones(99)}, "multiples of moving"),
    ({"stretches": np.array([3, 1])}, "stretch"),
    ({"stretches": np.array([0, 1, 0, 1])}, "stretch"),
    ({"stretches": np.array([-1, 1])}, "stretch"),
    ({"stretches": np.array([0, 9999])}, "stretch"),
    ({"first": np.array([0, 1]), "calls": np.array([999])}, "call of a collective"),
    ({"first": np.array([0, 1]), "calls": np.array([-1])}, "call of a collective"),
    ({"first": np.array([0, 9]), "calls": np.array([0])}, "first call of a collective"),
    ({"first": np.array([1, 0]), "calls": np.array([0])}, "first call of a collective"),
    ({"first": np.array([0, 1, 2]), "calls": np.array([0, 0])}, "in one collective"),
    ({"exits": lambda *_: [1.0, 2.0]}, "exits of a collective"),
]


@pytest.mark.parametrize(("wrong", "words"), WRONG)
def test_what_is_wrong_is_refused(wrong, words):
    own = random.Random(1)
    job = random_job(own)
    while not len(job["rank"]):
        job = random_job(own)
    right = {"less": np.zeros_like(job["beyond"]), "moving": np.ones_like(job["beyond"]),
             "exits": exits_of, **columns([[0]], [(0, len(job["order"]))])}  # fmt: skip
    core.TracedJob(**job).replay(**right)
    with pytest.raises(ValueError, match=words):
        core.TracedJob(**job).replay(**right | wrong)
