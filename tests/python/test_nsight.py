"""Exports of Nsight Systems: what their tables tell, and what is refused."""

import sqlite3
from contextlib import closing

import nsight_helpers as made
import numpy as np
import pytest
from kineto_helpers import remark
from latecomer.report.analysis.lateness import analyse
from latecomer.report.trace import TraceError, nsight, read
from nsight_helpers import SCHEMA, rows_of, store, thread, written
from trace_helpers import HOSTILE, arrivals_and_exits

CALLS, RANKS, LATE = 12, 4, 2


def job():
    return arrivals_and_exits(CALLS, RANKS, late=LATE)


def check(trace, calls=CALLS):
    found = analyse(trace)
    assert found.ranks.calls.tolist() == [calls] * RANKS
    assert found.ranks.last.tolist() == [calls * (rank == LATE) for rank in range(RANKS)]


def changed(folder, *statements, name="report1.sqlite"):
    with closing(sqlite3.connect(folder / name)) as data, data:
        for statement in statements:
            data.execute(statement)
    return folder


# ---- what is read


def test_one_file_of_all_ranks(tmp_path):
    trace = read(written(tmp_path, *job()))
    check(trace)
    assert trace.remarks == []
    assert set(trace.hosts) == {"node0"}
    assert set(trace.groups[0].bytes) == {1 << 20}


def test_files_of_one_host_have_clocks_of_their_own(tmp_path):
    arrival, leave = arrivals_and_exits(CALLS, 2)
    for rank in range(2):
        store(tmp_path / f"rank{rank}.sqlite", rows_of(arrival[:, rank], leave[:, rank], rank),
              [rank], zero=made.ZERO + rank * 10**9)  # fmt: skip
    trace = read(tmp_path)
    assert len(set(trace.hosts)) == 2
    assert np.nanmax(trace.clock_error) > 1e-3


@pytest.mark.parametrize("named", ["rank{}.sqlite", "report.{}.sqlite", "{}/report1.sqlite"])
def test_ranks_by_names_of_files(tmp_path, named):
    arrival, leave = job()
    schema = "\n".join(line for line in SCHEMA.splitlines() if "MPI_RANKS" not in line)
    for rank in range(RANKS):
        store(tmp_path / named.format(rank), rows_of(arrival[:, rank], leave[:, rank], rank),
              [rank], f"node{rank}", schema=schema)  # fmt: skip
    assert analyse(read(tmp_path)).ranks.calls.tolist() == [CALLS] * RANKS


def test_nothing_is_written_beside_the_file(tmp_path):
    folder = written(tmp_path, *job())
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    (folder / "report1.sqlite").chmod(0o400)
    folder.chmod(0o500)
    try:
        check(read(folder))
    finally:
        folder.chmod(0o700)
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before


# ---- communicators


def test_handles_that_differ_from_rank_to_rank(tmp_path):
    """As Open MPI's, which are addresses: matched by the collectives that were called on them."""
    arrival, leave = job()
    rows = []
    for rank in range(RANKS):
        for step, name in ((0, "MPI_Allreduce"), (1, "MPI_Barrier")):
            rows += rows_of(arrival[step::2, rank], leave[step::2, rank], rank, name=name,
                            handle=0x7F0000000000 + 4096 * rank + 64 * step)  # fmt: skip
    trace = read(store(tmp_path / "report1.sqlite", rows, range(RANKS)).parent)
    assert sorted(len(group) for group in trace.groups) == [CALLS // 2, CALLS // 2]
    assert analyse(trace).ranks.last.tolist() == [CALLS * (rank == LATE) for rank in range(RANKS)]
    assert remark(trace, "handles of communicators, which may differ")


def test_handles_that_do_not_tell_are_left_out(tmp_path):
    """As MPICH's of rows: equal on all ranks, though the ranks are in different communicators."""
    folder = written(tmp_path, *job())
    arrival, leave = job()
    rows = [row for rank in range(RANKS)
            for row in rows_of(arrival[:, rank], leave[:, rank], rank)]  # fmt: skip
    for rank in range(RANKS):
        for handle in (0x84000001, 0x84000002):
            rows += rows_of(arrival[:2, rank] + 100, leave[:2, rank] + 100, rank, handle=handle)
        rows += rows_of(arrival[:3, rank] + 200, leave[:3, rank] + 200, rank, handle=0x44000001)
    store(folder / "report1.sqlite", rows, range(RANKS))
    trace = read(folder)
    check(trace)
    assert f"({RANKS * 4})" in remark(trace, "not known which ranks they have")


# ---- what is left out


@pytest.mark.parametrize(("change", "words"), [
    ("UPDATE MPI_COLLECTIVES_EVENTS SET end = NULL WHERE rowid = 20", "without a begin, an end"),
    ("UPDATE MPI_COLLECTIVES_EVENTS SET end = 'x' WHERE rowid = 20", "without a begin, an end"),
    ("UPDATE MPI_COLLECTIVES_EVENTS SET end = 0 WHERE rowid = 20", "without a begin, an end"),
    ("UPDATE MPI_COLLECTIVES_EVENTS SET start = -5 WHERE rowid = 20", "without a begin, an end"),
    ("UPDATE MPI_COLLECTIVES_EVENTS SET start = x'00' WHERE rowid = 20", "without a begin"),
    ("UPDATE MPI_COLLECTIVES_EVENTS SET globalTid = NULL WHERE rowid = 20", "without a begin"),
    ("UPDATE MPI_COLLECTIVES_EVENTS SET globalTid = 5 WHERE rowid = 20", "no known rank"),
    ("UPDATE MPI_COLLECTIVES_EVENTS SET textId = 7 WHERE rowid = 20", "no known collective"),
    ("UPDATE MPI_COLLECTIVES_EVENTS SET textId = NULL WHERE rowid = 20", "no known collective"),
])  # fmt: skip
def test_an_odd_call_is_left_out_and_counted(tmp_path, change, words):
    """Ranks of one host are matched by time, so the calls behind it stay matched."""
    folder = changed(written(tmp_path, *job()), change)
    trace = read(folder)
    check(trace, CALLS - 1)
    assert "(1)" in remark(trace, words)


def test_what_is_not_looked_at_is_counted(tmp_path):
    arrival, leave = job()
    rows = [row for rank in range(RANKS)
            for row in rows_of(arrival[:, rank], leave[:, rank], rank)]  # fmt: skip
    rows += rows_of([99.0], [99.1], 1, name="MPI_Iallreduce")
    rows += rows_of([99.2], [99.3], 1, name=HOSTILE)
    store(tmp_path / "report1.sqlite", rows, range(RANKS), messages=5)
    trace = read(tmp_path)
    check(trace)
    assert "(1)" in remark(trace, "non-blocking collectives")
    assert "(1)" in remark(trace, "calls of no known collective")
    assert "(5)" in remark(trace, "messages between two ranks")


def test_other_odd_values_do_not_matter(tmp_path):
    check(read(changed(
        written(tmp_path, *job()),
        "UPDATE MPI_COLLECTIVES_EVENTS SET size = 'x', rootRank = -7 WHERE rowid = 20",
        "UPDATE TARGET_INFO_SESSION_START_TIME SET utcEpochNs = 'soon'",
        "INSERT INTO MPI_RANKS VALUES (5, 'many')",
        "INSERT INTO MPI_RANKS VALUES ('x', 1)",
    )))  # fmt: skip


def test_a_file_that_is_cut(tmp_path):
    folder = written(tmp_path, *job())
    path = folder / "report1.sqlite"
    raw = path.read_bytes()
    for end in range(0, len(raw), 1500):
        path.write_bytes(raw[:end])
        try:
            trace = read(folder)
        except TraceError as error:
            if "report1.sqlite" not in str(error) and "no collective" not in str(error):
                raise AssertionError(str(error)) from error
        else:
            assert trace.calls


def test_of_a_damaged_file_the_calls_before_the_damage_are_read(tmp_path):
    folder = written(tmp_path, *arrivals_and_exits(200, 2), together=False)
    path = folder / "rank1.sqlite"
    path.write_bytes(path.read_bytes()[:-4096] + b"\xff" * 4096)
    trace = read(folder)
    assert 10 < analyse(trace).ranks.calls[1] < 200
    assert "rank1.sqlite: database disk image is mal" in remark(trace, "that cannot be read (1)")


@pytest.mark.parametrize(("name", "left"), [("a.sqlite", "a.sqlite"), ("z.sqlite", "z.sqlite")])
def test_of_two_files_of_a_rank_that_with_more_calls_is_read(tmp_path, name, left):
    folder = written(tmp_path, *job())
    store(folder / name, rows_of([5.0], [5.1], 1), [1])
    trace = read(folder)
    check(trace)
    assert left in remark(trace, "further files of a rank (1)")


# ---- what is refused


def test_a_profile_without_mpi_says_what_is_missing_and_how_to_record_it(tmp_path):
    folder = written(tmp_path, *job())
    changed(folder, "DROP TABLE MPI_COLLECTIVES_EVENTS")
    with pytest.raises(TraceError, match="no plain table MPI_COLLECTIVES_EVENTS") as raised:
        read(folder)
    assert "MPI_P2P_EVENTS" in str(raised.value)
    assert "nsys profile --trace=mpi" in str(raised.value)
    changed(folder, "INSERT INTO StringIds VALUES (7, 'ncclAllReduce')")
    with pytest.raises(TraceError, match="record the kernels, too, by nsys export"):
        read(folder)


def nccl(tmp_path, *, within=True, pairs=False, ended=""):
    """Ranks on hosts of their own; `pairs`: each has a communicator with a neighbour, too."""
    arrival, leave = job()
    for rank in range(RANKS):
        calls = [(begin, end, 77, within) for begin, end in zip(arrival[:, rank], leave[:, rank],
                                                                strict=True)]  # fmt: skip
        if pairs:  # right after each call; the odd ranks come 1 ms later
            calls += [(end + 1e-3 * (1 + rank % 2), end + 3e-3, 5 + rank // 2, within)
                      for _, end, _, _ in calls]  # fmt: skip
        made.nccl(tmp_path / f"rank{rank}.sqlite", rank, calls, host=f"node{rank}", ended=ended)
    return read(tmp_path)


@pytest.mark.parametrize("within", [True, False])
def test_kernels_of_nccl_in_the_communicators_that_its_ranges_tell(tmp_path, within):
    trace = nccl(tmp_path, within=within)
    check(trace)
    assert not any("NCCL" in each for each in trace.remarks), trace.remarks
    assert set(trace.groups[0].bytes) == {4096 if within else -1}


def test_kernels_of_several_communicators_go_by_the_range_that_launched_them(tmp_path):
    trace = nccl(tmp_path, pairs=True)
    assert sorted(group.members.tolist() for group in trace.groups) == [
        [0, 1],
        [0, 1, 2, 3],
        [2, 3],
    ]
    assert analyse(trace).ranks.last.tolist() == [0, CALLS, CALLS, CALLS]


def test_kernels_of_nccl_that_cannot_be_told_are_left_out(tmp_path):
    with pytest.raises(TraceError, match=rf"launched in no range .* \({2 * RANKS * CALLS}\)"):
        nccl(tmp_path, pairs=True, within=False)
    trace = nccl(tmp_path, ended="UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET shortName = 3 WHERE start = "
                 "(SELECT MAX(start) FROM CUPTI_ACTIVITY_KIND_KERNEL)")  # fmt: skip
    assert f"({RANKS})" in remark(trace, "of which nothing says the collective")
    trace = nccl(tmp_path, ended="UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET deviceId = 1 WHERE start = "
                 "(SELECT MAX(start) FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE shortName = 1)")  # fmt: skip
    assert f"({RANKS})" in remark(trace, "on a process's second device")
    with pytest.raises(TraceError, match="no range of NCCL tells one.*include-json=true"):
        nccl(tmp_path, ended="UPDATE NVTX_EVENTS SET jsonText = NULL")


def test_calls_of_mpi_beside_kernels_of_nccl_are_counted(tmp_path):
    trace = nccl(tmp_path, ended="CREATE TABLE MPI_COLLECTIVES_EVENTS (start INTEGER);"
                 "INSERT INTO MPI_COLLECTIVES_EVENTS VALUES (1), (2)")  # fmt: skip
    check(trace)
    assert f"({2 * RANKS})" in remark(trace, "collectives of MPI, beside those of NCCL")


def test_kernels_of_nccl_of_processes_without_a_rank(tmp_path):
    other = ("UPDATE NVTX_EVENTS SET globalTid = globalTid + (1 << 24) "
             "WHERE start = (SELECT MAX(start) FROM NVTX_EVENTS); "
             "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET globalPid = globalPid + (1 << 24) WHERE start = "
             "(SELECT MAX(start) FROM CUPTI_ACTIVITY_KIND_KERNEL)")  # fmt: skip
    with pytest.raises(TraceError, match=r"processes without a rank: 2; right would be nsys exp"):
        nccl(tmp_path, ended=other)
    some = ", ".join(f"({thread(rank)}, {rank})" for rank in range(RANKS - 1))
    trace = nccl(tmp_path, ended=f"CREATE TABLE MPI_RANKS (globalTid, rank); "
                 f"INSERT INTO MPI_RANKS VALUES {some}")  # fmt: skip
    assert trace.ranks == RANKS - 1
    assert f"({CALLS})" in remark(trace, "no known rank")


@pytest.mark.parametrize("schema", [
    "CREATE VIEW MPI_COLLECTIVES_EVENTS AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT "
    "start + 1 FROM n) SELECT start, start AS end, 1 AS globalTid, 1 AS textId FROM n",
    "CREATE TABLE MPI_COLLECTIVES_EVENTS (start INTEGER, end INTEGER, globalTid INTEGER, "
    "textId BLOB GENERATED ALWAYS AS (zeroblob(1000000000)))",
    "CREATE TABLE MPI_COLLECTIVES_EVENTS (start, end, globalTid, textId\tAS\t(zeroblob(1 << 30)))",
    "CREATE VIRTUAL TABLE MPI_COLLECTIVES_EVENTS USING fts5(start, end, globalTid, textId)",
])  # fmt: skip
def test_whatever_is_no_plain_table_is_refused(tmp_path, schema):
    folder = written(tmp_path, *job())
    changed(folder, "DROP TABLE MPI_COLLECTIVES_EVENTS", schema)
    with pytest.raises(TraceError, match="no plain table"):
        read(folder)


@pytest.mark.parametrize(("raw", "words"), [
    (b"", "its tables are|it has no tables"), (b"SQLite format 3\0" + b"\xff" * 4000, "as SQLite"),
    (b"no database" * 99, "as SQLite"),
])  # fmt: skip
def test_files_that_are_no_databases(tmp_path, raw, words):
    (tmp_path / "rank0.sqlite").write_bytes(raw)
    with pytest.raises(TraceError, match=words) as raised:
        read(tmp_path)
    assert "rank0.sqlite" in str(raised.value)


def test_one_file_of_several_that_is_none(tmp_path):
    folder = written(tmp_path, *job())
    (folder / "rank9.sqlite").write_bytes(b"nothing" * 99)
    trace = read(folder)
    check(trace)
    assert "rank9.sqlite" in remark(trace, "files that cannot be used")


def test_columns_that_are_missing(tmp_path):
    folder = written(tmp_path, *job())
    changed(folder, "ALTER TABLE MPI_COLLECTIVES_EVENTS RENAME COLUMN globalTid TO x")
    with pytest.raises(TraceError, match="no globalTid"):
        read(folder)
    changed(folder, "ALTER TABLE MPI_COLLECTIVES_EVENTS RENAME COLUMN x TO globalTid",
            "ALTER TABLE MPI_COLLECTIVES_EVENTS DROP COLUMN commHandle")  # fmt: skip
    check(read(folder))


def test_several_processes_without_ranks(tmp_path):
    folder = written(tmp_path, *job())
    changed(folder, "DELETE FROM MPI_RANKS")
    (folder / "report1.sqlite").rename(folder / "rank0.sqlite")
    with pytest.raises(TraceError, match="processes without a rank"):
        read(folder)


@pytest.mark.parametrize(("limit", "value", "said"), [
    ("MOST_CALLS", 3, "more than 3"),
    ("MOST_STEPS", 0, "cannot be read as SQLite"),
])  # fmt: skip
def test_limits(tmp_path, monkeypatch, limit, value, said):
    monkeypatch.setattr(nsight, limit, value)
    monkeypatch.setattr(nsight, "_STEPS", 1)
    with pytest.raises(TraceError, match=said):
        read(written(tmp_path, *job()))


def test_the_limit_of_calls_is_one_of_all_files(tmp_path, monkeypatch):
    monkeypatch.setattr(nsight, "MOST_CALLS", CALLS + 1)
    with pytest.raises(TraceError, match=rf"{tmp_path}: calls: more than 13; profile less time"):
        read(written(tmp_path, *job(), together=False))


@pytest.mark.parametrize("made", ["CAST(start AS TEXT)", "start + 0.5", "'x'"])
def test_times_of_other_types_are_numbers_or_left_out(tmp_path, made):
    folder = written(tmp_path, *job())
    named = "MPI_COLLECTIVES_EVENTS"
    changed(folder, f"CREATE TABLE other AS SELECT * FROM {named}", f"DROP TABLE {named}",
            f"ALTER TABLE other RENAME TO {named}", f"UPDATE {named} SET start = {made}")  # fmt: skip
    if "CAST" in made:
        check(read(folder))
    else:
        with pytest.raises(TraceError):
            read(folder)


def test_numbers_of_threads():
    assert (thread(3) >> 24) & 0xFFFFFF == 1003
    assert nsight.fits("report1.SQLITE")
    assert not nsight.fits("report1.nsys-rep")
