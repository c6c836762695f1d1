"""Work grows with what there is, and not with its square: comparisons and additions are counted."""

from types import SimpleNamespace

import numpy as np
import pytest
from latecomer.report.analysis.cut import analysed
from latecomer.report.compare.changes import pieces_of
from latecomer.report.trace import Words, otf2_archive, otf2_messages, table_messages
from latecomer.report.trace.left_out import LeftOut
from latecomer.report.trace.otf2_export import otf2
from test_mpi4py import without_start
from test_origin import halo, played
from trace_helpers import arrivals_and_exits, group_of, trace_of


class Compared(np.ndarray):
    """Counts how many of its numbers are compared with one."""

    count = 0

    def __eq__(self, other):
        Compared.count += self.size
        return np.asarray(self) == other

    __hash__ = None


def compared(numbers):
    Compared.count = 0
    return np.asarray(numbers).view(Compared)


class Number(int):
    """Counts additions and comparisons."""

    count = 0

    def __add__(self, other):
        Number.count += 1
        return Number(int(self) + int(other))

    __radd__ = __add__

    def __eq__(self, other):
        Number.count += 1
        return int(self) == int(other)

    __hash__ = int.__hash__


def test_displacements_are_sums_of_one_pass():
    without_start()
    from latecomer.mpi import buffers

    Number.count = 0
    found = buffers._sums_before([Number(2)] * 1000)
    assert Number.count <= 1000
    assert found == list(range(0, 2000, 2))
    assert buffers._sums_before([]) == []


def test_a_message_of_an_archive_is_not_compared_with_all_members():
    ranks, messages = 300, 200
    group = type("Group", (), {"group_type": "communicator", "members": range(ranks)})()
    communicator = SimpleNamespace(_ref=0, group=group)
    kinds = SimpleNamespace(GroupType=SimpleNamespace(COMM_SELF="self"))
    members = otf2_archive._Members({each: Number(each) for each in range(ranks)}, kinds)
    talk = otf2_messages.Talk()
    for peer in range(messages):
        talk.at_once(talk.sends, 1.0, [communicator, peer, 0, 8])
        talk.at_once(talk.receives, 1.0, [communicator, peer, 0, 8])
    Number.count = 0
    found = otf2_messages.found_of(Number(ranks - 1), talk, members.of, LeftOut())
    assert found.sends[:, 1].tolist() == found.receives[:, 2].tolist() == [ranks - 1] * messages
    assert Number.count <= ranks + 2 * messages


def test_rows_of_a_table_are_not_compared_with_each_rank():
    ranks = np.arange(500) % 100
    rows = {"rank": compared(ranks), "arrive": np.arange(500.0), "leave": np.arange(500.0) + 1}
    found = table_messages.others_of(rows, lambda rank, times: times + rank, LeftOut())
    assert found.begin.tolist() == (np.arange(500) + ranks).tolist()
    assert Compared.count <= 500


def test_calls_are_not_compared_with_each_communicator():
    words, groups = Words(), 100
    arrival, leave = arrivals_and_exits(groups, 2)
    parts = [group_of(arrival[i : i + 1], leave[i : i + 1], words, name=f"pair {i}", size=1 << i % 20)
             for i in range(groups)]  # fmt: skip
    found = analysed(trace_of(parts, words), skip=0)
    events = found.graph.events
    object.__setattr__(events, "source", compared(events.source))
    assert sorted(
        {place.bytes for place in pieces_of(found).seconds if place.kind == "waiting"}
    ) == [1 << i for i in range(20)]
    assert Compared.count <= 10 * len(events.source)


def test_messages_are_not_compared_with_each_rank_of_an_archive_that_is_written(tmp_path):
    pytest.importorskip("otf2", reason="the Python module otf2 is not installed")
    trace = played(halo, 20, 3)
    for side in (trace.messages.send, trace.messages.receive):
        object.__setattr__(side, "rank", compared(side.rank))
    otf2(trace, tmp_path / "archive")
    assert Compared.count <= 2 * len(trace.messages)
