"""Messages in OTF2 archives: the origin of lateness is the same as from the trace itself."""

from dataclasses import replace

import numpy as np
import pytest
from latecomer.report.analysis.cut import analysed
from latecomer.report.trace import TraceError, read
from latecomer.report.trace.otf2_export import lacking, otf2
from table_helpers import polls
from test_origin import apart, halo, handed_on, played, wavefront
from test_otf2 import RANKS, write
from test_table import told

pytest.importorskip("otf2", reason="the Python module otf2 is not installed")


def plain(trace):
    """Without what an archive has no place for: the hosts' own clocks, and times between tests."""
    return replace(trace, source="x", format="OTF2", hosts=["node0"] * trace.ranks)


@pytest.mark.parametrize(("program", "slow"), [
    (wavefront, 2), (wavefront, 0), (wavefront, None), (halo, 3), (apart, 1), (handed_on, 1),
])  # fmt: skip
@pytest.mark.parametrize("rendezvous", [False, True])
def test_the_origin_is_the_same(tmp_path, program, slow, rendezvous):
    trace = plain(played(program, 5, slow, rendezvous=rendezvous))
    otf2(trace, tmp_path / "archive")
    again = read(tmp_path / "archive")
    assert again.remarks == []
    said, figures = told(trace)
    said_again, figures_again = told(replace(again, source="x"))
    assert said_again == said
    begun, same = (analysed(each).origin for each in (trace, again))
    np.testing.assert_allclose(same.cost, begun.cost, atol=1e-6)
    np.testing.assert_allclose(same.waiting, begun.waiting, atol=1e-6)
    for one, other in zip(figures["by_rank"], figures_again["by_rank"], strict=True):
        assert one["run_s"] == pytest.approx(other["run_s"], abs=1e-6)
    assert len(again.messages) == len(trace.messages)
    for side, same_side in ((trace.messages.send, again.messages.send),
                            (trace.messages.receive, again.messages.receive)):  # fmt: skip
        order, same_order = (
            np.lexsort((each.end, each.posted, each.rank)) for each in (side, same_side)
        )
        for name in ("rank", "posted", "begin", "end"):
            np.testing.assert_allclose(getattr(side, name)[order], getattr(same_side, name)[same_order],
                                       atol=3e-9)  # fmt: skip


def test_calls_without_events_are_waits_for_what_is_not_known(tmp_path):
    trace = plain(polls(tmp_path))
    otf2(trace, tmp_path / "archive")
    again = read(tmp_path / "archive")
    assert len(again.others) == len(trace.others) + len(trace.messages.probes.side.rank)


def test_messages_that_are_not_whole_are_not_written(tmp_path):
    """And the run ends where the files were full, as in a table."""
    trace = plain(played(wavefront, 3, 1))
    full = trace.end.min() / 2
    trace = replace(trace, until=full, messages=replace(trace.messages, until=0.1))
    assert lacking(trace) == "the archive has no messages, since the trace lacks some of them"
    trace = replace(trace, groups=[group.part(np.flatnonzero((group.exit < full).all(axis=1)))
                                   for group in trace.groups])  # fmt: skip
    otf2(trace, tmp_path / "archive")
    again = read(tmp_path / "archive")
    assert again.messages is None
    assert again.calls == trace.calls > 0
    np.testing.assert_allclose(again.end - again.begin, full - trace.begin, atol=3e-9)


def an_archive(folder, events, size=2):
    """Two ranks with a communicator of them; `events(otf2, writers, communicator, region)`."""
    import otf2 as library

    with library.writer.open(str(folder), timer_resolution=1_000_000) as out:
        define, mpi, kinds = out.definitions, library.Paradigm.MPI, library.GroupType
        node = define.system_tree_node("node0")
        processes = [define.location_group(f"MPI {rank}", system_tree_parent=node)
                     for rank in range(2)]  # fmt: skip
        ranks = [define.location("thread", group=process) for process in processes]
        define.group("", group_type=kinds.COMM_LOCATIONS, paradigm=mpi, members=ranks)
        group = define.group("", group_type=kinds.COMM_GROUP, paradigm=mpi, members=ranks[:size])
        both = define.comm("", group=group)
        writers = [out.event_writer_from_location(rank) for rank in ranks]
        events(library, writers, both, define.region("MPI_Wait", paradigm=mpi))
    return folder


def test_what_is_wrong_with_messages_is_left_out_and_told(tmp_path):
    def events(_, writers, both, wait):
        for at in range(3):  # no region tells when the calls were entered
            writers[0].mpi_send(10 * at, 1, both, 7, 64)
            writers[1].mpi_recv(10 * at + 5, 0, both, 7, 64)
        writers[0].mpi_isend_complete(50, 99)
        writers[0].mpi_isend(60, 1, both, 8, 64, 1)  # never complete
        writers[0].mpi_isend(61, 9, both, 8, 64, 2)  # to nobody
        writers[0].mpi_isend_complete(62, 2)
        writers[1].mpi_irecv_request(60, 1)  # never complete
        writers[1].mpi_irecv_request(61, 2)
        writers[1].mpi_request_cancelled(62, 2)
        writers[1].leave(63, wait)  # never entered
        writers[1].mpi_recv(64, 0, both, 8, 64)

    trace = read(an_archive(tmp_path / "archive", events))
    assert len(trace.messages) == 4
    np.testing.assert_allclose(trace.messages.receive.begin, trace.messages.receive.end)
    for what in ("complete, and were never begun (1)", "never complete (1)",
                 "that the rank or its partner is not in (1)"):  # fmt: skip
        assert any(what in each for each in trace.remarks), trace.remarks


def test_collectives_of_no_known_name_are_waits_for_what_is_not_known(tmp_path):
    def events(otf2, writers, both, wait):
        writers[0].mpi_send(1, 1, both, 7, 64)
        writers[1].mpi_recv(2, 0, both, 7, 64)
        for writer in writers:
            for at, name in ((10, "CREATE_HANDLE"), (30, "BARRIER")):
                writer.enter(at, wait)
                writer.mpi_collective_begin(at + 1)
                kind, none = getattr(otf2.CollectiveOp, name), otf2.Undefined.UINT32.value
                writer.mpi_collective_end(at + 9, kind, both, none, 0, 0)
                writer.leave(at + 10, wait)

    trace = read(an_archive(tmp_path / "archive", events))
    assert [len(group) for group in trace.groups] == [1]
    np.testing.assert_allclose(trace.others.end - trace.others.begin, [1e-5, 1e-5])


def test_messages_of_a_communicator_without_the_rank_are_left_out(tmp_path):
    def events(_, writers, one, wait):
        writers[1].mpi_send(5, 0, one, 7, 64)
        writers[0].mpi_recv(6, 0, one, 7, 64)

    with pytest.raises(TraceError, match=r"collectives and messages: none .*is not in \(1\)"):
        read(an_archive(tmp_path / "archive", events, size=1))


def test_archives_without_messages_are_as_before(tmp_path):
    trace = read(write(tmp_path / "archive"))
    assert trace.messages is None
    assert trace.ranks == RANKS
