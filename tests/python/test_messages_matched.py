"""Sends and receives that belong together, also where some are missing."""

import random
from collections import defaultdict, deque
from dataclasses import replace

import numpy as np
import pytest
from latecomer.report.trace.messages import Posted, matched
from latecomer.report.trace.model import Probes, Side
from latecomer.report.trace.native_messages import remarks_on


def posted(keys, *, rank=0, sizes=None, certain=None, time=None):
    """One side of messages, all of one rank, which are told apart by their `site`."""
    number = np.arange(len(keys), dtype=np.int32)
    times = (np.zeros(len(keys)) if time is None else np.array(time, float),) * 3
    ranks = np.full(len(keys), rank, np.int32)
    return Posted(
        Side(ranks, *times, number),
        np.array(keys, np.int64).reshape(-1, 4),
        np.array([8] * len(keys) if sizes is None else sizes, np.int64),
        np.array([True] * len(keys) if certain is None else certain, bool),
    )


def pairs_of(found):
    return list(zip(found.send.site.tolist(), found.receive.site.tolist(), strict=True))


def queues_matched(sends, receives):
    queues = defaultdict(deque)
    for place, key in enumerate(sends):
        queues[tuple(key)].append(place)
    return [(queues[tuple(key)].popleft(), place) for place, key in enumerate(receives)
            if queues[tuple(key)]]  # fmt: skip


def some_keys(own, count):
    return [[own.randrange(2), own.randrange(3), own.randrange(3), own.randrange(2)]
            for _ in range(count)]  # fmt: skip


def test_messages_are_matched_as_queues_match_them():
    for _ in range(50):
        seed = random.randrange(1 << 30)
        print("seed", seed)
        own = random.Random(seed)
        sends, receives = (some_keys(own, own.randrange(60)) for _ in range(2))
        expected = queues_matched(sends, receives)
        found = matched(posted(sends), posted(receives, rank=1), np.zeros(2))
        assert sorted(pairs_of(found)) == sorted(expected)
        assert found.unmatched == len(sends) + len(receives) - 2 * len(expected)
        assert found.uncertain == 0


def test_messages_behind_lost_ones_are_not_matched_with_others():
    """Whatever is lost, a message that is in the trace is one of the program's."""
    for _ in range(50):
        seed = random.randrange(1 << 30)
        print("seed", seed)
        own = random.Random(seed)
        sends, receives = (some_keys(own, 60) for _ in range(2))
        kept, sides = [], []
        for rank, keys in enumerate((sends, receives)):
            lost = own.sample(range(len(keys)), own.choice([0, 1, 5]))
            first = min(lost, default=len(keys))
            kept.append([place for place in range(len(keys)) if place not in lost])
            certain = [place < first for place in kept[-1]]
            sides.append(posted([keys[place] for place in kept[-1]], rank=rank, certain=certain))
        found = matched(*sides, np.zeros(2))
        pairs = {(kept[0][send], kept[1][receive]) for send, receive in pairs_of(found)}
        expected = set(queues_matched(sends, receives))
        assert pairs <= expected
        sure = [side.certain.sum() for side in sides]
        assert pairs == {each for each in expected if each[0] < sure[0] and each[1] < sure[1]}


@pytest.mark.parametrize(
    ("sizes", "received", "error"),
    [([8, 16, 8], [1, 2, 3], 0.0), ([8, 8, 8], [1, 0, 3], 0.0), ([8, 8, 8], [1, 1, 3], 0.4)],
    ids=["other bytes", "received before it was sent", "the same on clocks that differ"],
)
def test_messages_that_contradict_leave_out_those_of_their_kind(sizes, received, error):
    mine, others = [0, 0, 1, 5], [0, 0, 1, 6]
    keys = [mine, others, mine, others, mine, others]
    sent = [1, 1, 2, 2, 3, 3]
    sizes = [each for size in sizes for each in (size, 8)]
    received = [each for pair in zip(received, [1, 2, 3], strict=True) for each in pair]
    sides = posted(keys, time=sent), posted(keys, rank=1, sizes=sizes, time=received)
    found = matched(*sides, np.array([error, 0.0]))
    assert pairs_of(found) == [(1, 1), (3, 3), (5, 5)]
    assert (found.uncertain, found.unmatched) == (3, 0)
    assert remarks_on(found) == [
        "3 messages are left out, since it is not sure what they belong to"
    ]
    unknown = matched(
        posted(keys, time=sent), posted(keys, rank=1, time=received), np.full(2, np.nan)
    )
    assert len(unknown) == 6


@pytest.mark.parametrize(("tag", "left"), [
    (-3, [0, 2]), (2**32 - 3, [0, 2]), (-4, []), (3, []),
])  # fmt: skip
def test_the_start_of_an_epoch_may_end_before_its_post(tag, left):
    keys = 3 * [[0, 0, 1, tag]]
    found = matched(posted(keys, time=[1, 2, 3]), posted(keys, rank=1, time=[1, 0, 3]), np.zeros(2))
    assert pairs_of(found) == [(each, each) for each in left]
    assert found.uncertain == 3 - len(left)


def test_a_rank_waits_for_nobody_in_messages_to_itself():
    """The other messages stay, and the probes of them."""
    sends, receives = (posted([[0, 0, 0, 0], [0, 0, 1, 0]]) for _ in range(2))
    receives.side.rank[1] = 1
    probes = Probes(replace(receives.side), np.array([0, 1], np.int64))
    found = matched(sends, receives, np.zeros(2), probes=probes)
    assert pairs_of(found) == [(1, 1)]
    assert found.unmatched == found.uncertain == 0
    assert found.probes.message.tolist() == [0]
    assert found.probes.side.rank.tolist() == [1]
