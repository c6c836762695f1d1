"""Reading of traces: what was written comes back, clocks are aligned, no file is trusted."""

import os
import re

import numpy as np
import pytest
from latecomer import cli
from latecomer.base.output import say
from latecomer.report.analysis.answer import answer
from latecomer.report.analysis.cut import analysed
from latecomer.report.analysis.lateness import analyse
from latecomer.report.trace import TraceError, Words, align, read
from latecomer.report.trace import native_file as native
from latecomer.report.trace.table_export import csv
from trace_helpers import HOSTILE, ZERO, Files, append, arrivals_and_exits, group_of, made_up


@pytest.fixture
def folder(tmp_path):
    arrival, leave = arrivals_and_exits(12, 3)
    return Files(3, name=HOSTILE).write(tmp_path / "trace", arrival, leave)


def test_what_was_written_comes_back(folder):
    arrival, leave = arrivals_and_exits(12, 3)
    trace = read(folder)
    (group,) = trace.groups
    assert (trace.ranks, trace.calls, group.size, group.name) == (3, 12, 3, HOSTILE)
    np.testing.assert_allclose(group.arrival, arrival, atol=2e-9)
    np.testing.assert_allclose(group.exit, leave, atol=2e-9)
    assert trace.hosts == ["node0", "node1", "node2"]
    assert {trace.words[i] for i in group.collective} == {"allreduce"}
    assert {trace.words[i] for i in group.site} == {"app+0x10"}
    assert set(group.bytes) == {1 << 20}
    assert (trace.clock, list(trace.clock_error)) == ("all ranks read one clock", [0, 0, 0])
    np.testing.assert_allclose(trace.end, 1.0, atol=1e-8)
    assert trace.remarks == []


def test_calls_that_a_rank_did_not_make_are_not_known(tmp_path):
    arrival, leave = arrivals_and_exits(12, 3)
    folder = Files(3).write(tmp_path / "a", arrival, leave)
    shorter = Files(3).write(tmp_path / "b", arrival[:5], leave[:5])
    (shorter / "rank-2.trace").rename(folder / "rank-2.trace")
    (group,) = read(folder).groups
    assert np.isnan(group.arrival[5:, 2]).all()
    assert np.isfinite(group.arrival[:, :2]).all()


def test_a_missing_file_is_said(folder):
    (folder / "rank-1.trace").unlink()
    trace = read(folder)
    assert trace.remarks == ["no file of rank 1, of 3 ranks"]
    assert trace.clock == "all ranks read one clock"
    assert np.isnan(trace.groups[0].arrival[:, 1]).all()


def test_nothing_is_concluded_from_calls_of_which_a_rank_lacks(folder, capsys):
    (folder / "rank-1.trace").unlink()
    assert cli.run(["report", str(folder)]) == 0
    told = capsys.readouterr()
    assert "no file of rank 1, of 3 ranks" in told.err
    assert "the file of rank 1 is missing, none of the 12 calls can be used." in told.out
    assert "Too few calls are known on all ranks for an answer" in told.out
    assert "% of the time" not in told.out


# ---- clocks


@pytest.mark.parametrize("seed", range(6))
def test_clocks_are_aligned_by_the_calls_within_the_error_that_is_stated(tmp_path, seed):
    rng = np.random.default_rng(seed)
    ranks = int(rng.integers(2, 7))
    arrival, leave = arrivals_and_exits(30, ranks, late=seed % ranks, seed=seed)
    skew = [0, *(int(each) for each in rng.integers(-(10**15), 10**15, ranks - 1))]
    trace = read(Files(ranks, skew_ns=skew).write(tmp_path / "t", arrival, leave))
    assert trace.clock == "clocks were aligned by the collectives themselves"
    (group,) = trace.groups
    off = (group.arrival - group.arrival[:, :1]) - (arrival - arrival[:, :1])
    assert (np.abs(off).max(axis=0) <= trace.clock_error + 1e-6).all()
    assert trace.clock_error.max() < 0.07  # the calls of this loop allow no more


def test_many_clocks_are_aligned(tmp_path):
    ranks = 300
    rng = np.random.default_rng(3)
    arrival, leave = arrivals_and_exits(20, ranks, late=7, compute=0.002, moving=0.001)
    skew = [0, *(int(each) for each in rng.integers(-(10**12), 10**12, ranks - 1))]
    trace = read(Files(ranks, skew_ns=skew).write(tmp_path / "t", arrival, leave))
    (group,) = trace.groups
    off = (group.arrival - group.arrival[:, :1]) - (arrival - arrival[:, :1])
    assert (np.abs(off).max(axis=0) <= trace.clock_error + 1e-6).all()


def test_a_clock_that_drifts_is_followed():
    words = Words()
    arrival, leave = arrivals_and_exits(2000, 2, late=None)
    rates = np.array([1.0, 1.0 + 100e-6])
    group = group_of(arrival * rates, leave * rates, words)
    offsets = align.align([group], words, [1, 2], {})
    found = align.apply(group, offsets)
    assert np.abs(found.arrival - arrival).max() <= offsets[1].error
    assert offsets[1].error < 0.01 < np.abs(arrival * rates - arrival).max() + 0.01


def fill(path, dropped, left_out, end):
    """Without the last calls of a file, which says that it had no room for so many."""
    raw = bytearray(path.read_bytes())
    header = np.frombuffer(raw, native.HEADER, 1)
    header["used"] -= left_out
    header["dropped"], header["end"] = dropped, ZERO + round(1e9 * end)
    path.write_bytes(raw[: len(raw) - 64 * left_out])


@pytest.mark.parametrize(("left_out", "longer"), [([0, 40, 0, 0], 1), ([0, 70, 0, 0], 1),
                                                  ([0, 0, 0, 0], 5)])  # fmt: skip
def test_time_after_files_are_full_counts_for_nothing(tmp_path, left_out, longer):
    arrival, leave = arrivals_and_exits(100, 4)
    folder = Files(4).write(tmp_path / "trace", arrival, leave)
    whole = analysed(read(folder))
    for rank, count in enumerate(left_out):
        if count or longer > 1:
            fill(folder / f"rank-{rank}.trace", 900, count, longer * leave[-1, rank])
    found = analysed(read(folder))
    last = 99 - max(left_out)
    assert found.until == pytest.approx(leave[last].min() if longer > 1 else leave[last, 1])
    assert found.known == pytest.approx((last + 1) / 100 / longer, rel=0.02)
    assert found.waiting_share == pytest.approx(whole.waiting_share, rel=0.02)
    said = answer(found)
    assert said.who == "Rank 1 on host node1 is late."
    assert "Calls are known until " in said.where
    assert "set LATECOMER_TRACE_BYTES to more" in said.where
    csv(found.trace, tmp_path / "calls.csv")
    again = analysed(read(tmp_path / "calls.csv"))
    assert again.waiting_share == pytest.approx(whole.waiting_share, rel=0.02)


def test_files_that_are_full_early_name_nobody(tmp_path):
    arrival, leave = arrivals_and_exits(100, 4)
    folder = Files(4).write(tmp_path / "trace", arrival, leave)
    for rank in range(4):
        fill(folder / f"rank-{rank}.trace", 1900, 0, 20 * leave[-1, rank])
    said = answer(analysed(read(folder)))
    assert said.who == "Nobody is named: calls are known of the first 5.0 % of the time only."
    assert said.next.startswith("Set LATECOMER_TRACE_BYTES to more")


def test_clocks_that_nothing_connects_are_not_comparable():
    words = Words()
    arrival, leave = arrivals_and_exits(5, 2)
    group = group_of(arrival, leave, words, collective="bcast", root=0)
    assert align.align([group], words, [1, 2], {})[1].error == np.inf


def test_clocks_that_were_compared_are_taken_as_they_are(tmp_path):
    arrival, leave = arrivals_and_exits(12, 2)
    files = Files(2, skew_ns=[0, 5 * 10**9])
    folder = files.write(tmp_path / "t", arrival, leave)
    record = np.zeros(1, native.CLOCK)
    record["kind"], record["origin"] = native.A_CLOCK, 10**12 + 5 * 10**9
    record["offset"], record["error"] = -5.0, 3e-6
    append(folder / "rank-1.trace", record)
    trace = read(folder)
    assert trace.clock == "the library compared the clocks while the program ran"
    np.testing.assert_allclose(trace.groups[0].arrival, arrival, atol=1e-8)
    np.testing.assert_allclose(trace.clock_error, [0, 3e-6])


def test_time_asleep_is_not_told_of_a_part(folder, capsys):
    _patched(folder, native.CALL, "asleep", 51, native.A_CALL)
    told = {}
    for part in ("", "--skip 2", "--from 1us", "--to 100s"):
        assert cli.run(["report", str(folder), *part.split(), "--budget", "0"]) == 0
        told[part] = "freed:" in capsys.readouterr().out
        told[part] |= "their cores were free" in (folder / "report.html").read_text()
    assert told == {"": True, "--skip 2": False, "--from 1us": False, "--to 100s": False}


def test_time_asleep_is_that_of_calls_that_are_used(folder):
    arrival, leave = arrivals_and_exits(12, 3)
    _patched(folder, native.CALL, "asleep", 51, native.A_CALL)
    trace = read(folder)
    slept = 0.2 * (leave - arrival)[-1, 1]
    np.testing.assert_allclose(trace.slept, [0, slept, 0], atol=1e-8)
    assert trace.all_slept == trace.slept.sum()
    _patched(folder, native.CALL, "communicator", 9, native.A_CALL)
    assert read(folder).all_slept == 0


# ---- hostile files


def _patched(folder, dtype, field, value, kind=None, rank=1):
    """Writes a value into the header, or into the last record of a kind."""
    path = folder / f"rank-{rank}.trace"
    raw = bytearray(path.read_bytes())
    at = 0
    if kind is not None:
        kinds = raw[native.HEADER.itemsize :: 64]
        at = native.HEADER.itemsize + 64 * (len(kinds) - 1 - kinds[::-1].index(kind))
    record = np.frombuffer(raw, dtype, 1, offset=at)
    record[field] = value
    path.write_bytes(raw)
    return at + dtype.fields[field][1]


HEADER = [
    ("magic", b"PNG", "the first bytes"),
    ("version", 2, "version: 2; right would be 1"),
    ("header_bytes", 64, "header_bytes: 64"),
    ("record_bytes", 0, "record_bytes: 0"),
    ("byte_order", 0x04030201, "byte_order"),
    ("rank", 2, "rank: 2; right would be 1, as the file's name says"),
    ("rank", -1, "rank: -1; right would be below 3"),
    ("ranks", 0, "ranks: 0"),
    ("ranks", 1 << 30, "ranks: 1073741824"),
    ("ranks", 4, "ranks: 4; right would be 3"),
    ("begin", -(1 << 63), "begin: -9223372036854775808"),
]
CALL = [
    ("communicator", 5, "communicator of a call: 5"),
    ("collective", 99, "collective of a call: 99"),
    ("served", 200, "served of a call: 200"),
    ("exit", 0, "exit of a call: 0"),
    ("exit", (1 << 63) - 1, "exit of a call: 9223372036854775807"),
    ("arrival", -(1 << 63), "arrival of a call: -9223372036854775808"),
    ("bytes", -2, "bytes of a call: -2"),
    ("root", 3, "root of a call: 3"),
    ("sequence", 0, "sequence of a call: 0"),
]
WORDS = [
    ("site", 1 << 31, "site of a call: 2147483648"),
    ("algorithm", 6, "algorithm of a call: 6"),
    ("op", 6, "op of a call: 6"),
]
COMMUNICATOR = [
    ("size", 0, "size of a communicator: 0"),
    ("size", 4, "size of a communicator: 4"),
    ("rank", 3, "rank of a communicator: 3"),
    ("rank", 0, "rank of a communicator: 0"),
    ("name", 77, "name of a communicator: 77"),
    ("stride", 1 << 30, "as many different ranks as it has"),
    ("stride", 0, "as many different ranks as it has"),
    ("listed", 1, "as many different ranks as it has"),
]
# What is wrong, and the calls of rank 1 that remain.
CASES = [
    *((native.HEADER, None, *case, 0) for case in HEADER),
    *((native.CALL, native.A_CALL, *case, 11) for case in CALL),
    *((native.CALL, native.A_CALL, *case, 12) for case in WORDS),
    *((native.COMMUNICATOR, native.A_COMMUNICATOR, *case, 0) for case in COMMUNICATOR),
    (native.TEXT, native.A_TEXT, "id", 2, "id of a text: 2", 12),
    (native.TEXT, native.A_TEXT, "bytes", 60, "length of a text: 60", 12),
    (native.CALL, native.A_CALL, "kind", 10, "kind of record: 10", 11),
]


@pytest.mark.parametrize(("dtype", "kind", "field", "value", "words", "remain"), CASES)
def test_what_is_wrong_is_left_out_and_named_with_file_and_place(
    folder, dtype, kind, field, value, words, remain
):
    offset = _patched(folder, dtype, field, value, kind)
    trace = read(folder)
    (told,) = [each for each in trace.remarks if words in each]
    assert "rank-1.trace" in told
    if field not in ("magic", "stride", "listed", "sequence"):
        assert f"byte {offset}" in told
    (group,) = trace.groups
    assert np.isfinite(group.arrival).sum(axis=0).tolist() == [12, remain, 12]


def test_a_folder_of_which_nothing_is_right_is_refused_with_what_was_found(folder):
    for rank in range(3):
        _patched(folder, native.HEADER, "version", 2, rank=rank)
    with pytest.raises(TraceError, match=r"none of 3 .*\(3\).*rank-0\.trace.*version: 2; right"):
        read(folder)


def test_a_file_that_was_cut_off_keeps_the_calls_before(folder):
    path = folder / "rank-2.trace"
    raw = path.read_bytes()
    for keep in range(len(raw) - 12 * 64, len(raw), 50):
        path.write_bytes(raw[:keep])
        trace = read(folder)
        assert "rank-2.trace, byte" in " ".join(trace.remarks)
        calls = 12 - -(-(len(raw) - keep) // 64)
        assert np.isfinite(trace.groups[0].arrival[:, 2]).sum() == calls


def test_files_lie_in_one_folder_a_node(folder):
    right = np.array(read(folder).groups[0].arrival)
    for rank in range(3):
        (folder / f"node{rank}").mkdir()
        (folder / f"rank-{rank}.trace").rename(folder / f"node{rank}" / f"rank-{rank}.trace")
    trace = read(folder)
    assert trace.remarks == []
    np.testing.assert_array_equal(trace.groups[0].arrival, right)


def test_what_is_no_regular_file_is_not_opened(folder):
    (folder / "rank-1.trace").unlink()
    os.mkfifo(folder / "rank-1.trace")
    assert any("rank-1.trace: a pipe" in each for each in read(folder).remarks)


def test_a_small_file_does_not_fill_the_memory(tmp_path):
    """A header that speaks of a million ranks, and calls of rank 0 alone."""
    folder = Files(2).write(tmp_path / "trace", *arrivals_and_exits(100, 2))
    (folder / "rank-1.trace").unlink()
    _patched(folder, native.HEADER, "ranks", 1 << 20, rank=0)
    _patched(folder, native.COMMUNICATOR, "size", 1 << 20, native.A_COMMUNICATOR, rank=0)
    with pytest.raises(TraceError, match="calls by members: 100 x 1048576; the files hold 100"):
        read(folder)
    for number in range(1, 20):
        record = Files(1 << 20).communicator(0)
        record["id"] = number
        append(folder / "rank-0.trace", record)
    with pytest.raises(TraceError, match="members of all communicators: 17825792"):
        read(folder)


def test_a_call_that_is_another_one_on_other_ranks_is_left_out(folder):
    _patched(folder, native.CALL, "collective", 5, native.A_CALL)
    trace = read(folder)
    assert len(trace.groups[0]) == 11
    assert re.search(r"rank-1.trace: call 11 on .*: sum, not allreduce", trace.remarks[0])


def test_members_that_most_files_do_not_name_are_left_out(folder):
    _patched(folder, native.COMMUNICATOR, "stride", -1, native.A_COMMUNICATOR)
    _patched(folder, native.COMMUNICATOR, "first", 2, native.A_COMMUNICATOR)
    trace = read(folder)
    assert np.isfinite(trace.groups[0].arrival).sum(axis=0).tolist() == [12, 0, 12]
    assert any("describe differently (12)" in each for each in trace.remarks)


def test_texts_of_a_file_do_not_act_in_an_error(tmp_path, capsys):
    """The word of the collective is the program's: it may hold what clears a terminal."""
    arrival, leave = arrivals_and_exits(12, 3)
    folder = Files(3, name=HOSTILE).write(tmp_path / "trace", arrival, leave)
    _patched(folder, native.CALL, "collective", 1, native.A_CALL)  # the communicator's name
    assert cli.run(["report", str(folder)]) == 0
    told = capsys.readouterr()
    assert "alert(1)" in told.err
    assert "\x1b" not in told.out + told.err


@pytest.mark.parametrize("length", [0, 100, 255])
def test_a_file_without_a_header_is_left_out(folder, length):
    path = folder / "rank-2.trace"
    path.write_bytes(path.read_bytes()[:length])
    trace = read(folder)
    assert any(f"rank-2.trace, byte {length}: the file ends in the header" in each
               for each in trace.remarks)  # fmt: skip


def test_folders_without_a_trace(tmp_path):
    with pytest.raises(TraceError, match="no trace in the folder"):
        read(tmp_path)
    with pytest.raises(TraceError, match="no folder of a trace"):
        read(tmp_path / "none")
    (tmp_path / "node0").mkdir()
    with pytest.raises(TraceError, match="holds only folders without a file, such as node0"):
        read(tmp_path)
    (tmp_path / "node0" / "notes").touch()
    with pytest.raises(TraceError, match="holds 1 other file, such as notes"):
        read(tmp_path)


def test_the_command_names_the_error(folder, capsys):
    for rank in range(3):
        _patched(folder, native.HEADER, "version", 2, rank=rank)
    assert cli.run(["report", str(folder)]) == 1
    assert "version: 2; right would be 1" in capsys.readouterr().err


@pytest.mark.parametrize("columns", [30, 60, 100])
def test_on_a_terminal_the_answer_is_folded(folder, capsys, monkeypatch, columns):
    """Elsewhere each of its lines is one."""
    words = ["report", str(folder), "--budget", "0"]
    assert cli.run(words) == 0
    whole = capsys.readouterr().out.splitlines()
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert cli.run(words) == 0
    lines = capsys.readouterr().out.splitlines()
    begins = [at for at, line in enumerate(lines) if re.match("(who|cost|where|next):", line)]
    assert len(begins) == 4
    for at in range(begins[0], begins[3] + 1):
        assert len(lines[at]) <= max(columns, 40) or len(lines[at].split()) == 1
        assert at in begins or lines[at].startswith(7 * " " + lines[at].strip()[0])
    folded = " ".join(line.strip() for line in lines[: begins[3]])
    assert folded == " ".join(whole[:3])


def test_lines_of_a_run_are_folded_below_their_words(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    say("who:   " + 12 * "late ", hang=7)
    first, *rest = capsys.readouterr().err.splitlines()
    assert first == "latecomer: who:   late late late late"
    assert rest[0] == 18 * " " + "late late late late"


def test_the_span_of_a_rank_that_has_not_left_the_last_call_ends_with_the_one_before():
    trace = made_up(calls=40, ranks=4)
    (group,) = trace.groups
    group.exit[-3:, 2] = np.nan
    first, last = trace.span()
    assert first[2] == group.arrival[0, 2]
    assert last.tolist() == [*group.exit[-1, :2], group.exit[-4, 2], group.exit[-1, 3]]


@pytest.mark.parametrize("seed", range(10))
def test_the_span_of_a_rank_is_that_of_all_its_calls_that_are_known(monkeypatch, seed):
    print("seed", seed)
    monkeypatch.setattr("latecomer.report.trace.model._ELEMENTS", 64)  # many stretches
    rng = np.random.default_rng(seed)
    calls, ranks = int(rng.integers(1, 200)), 5
    trace = made_up(calls=calls, ranks=ranks)
    (group,) = trace.groups
    for times in (group.arrival, group.exit):
        for rank, (begin, end) in enumerate(rng.integers(0, calls + 1, (ranks, 2))):
            times[: min(begin, end), rank] = times[max(begin, end) :, rank] = np.nan
        times[rng.random(times.shape) < 0.1] = np.nan
    first, last = trace.span()
    np.testing.assert_array_equal(first, np.fmin.reduce(group.arrival, initial=np.inf))
    np.testing.assert_array_equal(last, np.fmax.reduce(group.exit, initial=-np.inf))


def test_the_time_of_a_rank_whose_first_calls_are_not_known_is_not_short():
    trace = made_up(calls=1000, ranks=2)
    trace.groups[0].arrival[:20, 1] = trace.groups[0].exit[:20, 1] = np.nan
    found = analyse(trace)
    run = trace.groups[0].exit[-1, 1] - trace.groups[0].arrival[20, 1]
    assert found.ranks.run[1] == run
    assert found.waiting_share + found.moving_share <= 1


def test_the_time_of_a_rank_that_was_killed_ends_with_its_last_call(tmp_path):
    arrival, leave = arrivals_and_exits(100, 3)
    folder = Files(3).write(tmp_path / "a", arrival, leave)
    shorter = Files(3).write(tmp_path / "b", arrival[:70], leave[:70])
    (shorter / "rank-2.trace").rename(folder / "rank-2.trace")
    _patched(folder, native.HEADER, "end", 0, rank=2)
    _, last = read(folder).span()
    np.testing.assert_allclose(last, [*leave[-1, :2], leave[69, 2]], atol=1e-8)
