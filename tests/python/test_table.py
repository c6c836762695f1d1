"""Interchange tables: what is written is read back to the same sentence and figures."""

import gzip
import json
import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from kineto_helpers import device_job, store
from latecomer.cli import run
from latecomer.report.analysis.answer import answer_of, facts
from latecomer.report.analysis.cut import analysed
from latecomer.report.analysis.summary import summary
from latecomer.report.trace import TraceError, Words, read
from latecomer.report.trace.table_export import COLUMNS, group_names, lacking
from test_origin import apart, halo, handed_on, played, wavefront
from trace_helpers import arrivals_and_exits, group_of, made_up, trace_of

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "evidence"))

from table_helpers import FORMATS, export, polls, rows_of, table, written_as


def subcommunicators(tmp_path):
    """A world, pairs of one name, and groups without a name, on three hosts."""
    words = Words()
    arrival, leave = arrivals_and_exits(12, 6, late=4)
    groups = [group_of(arrival, leave, words, collective="barrier", size=0)]
    for at in range(3):
        came = leave[:, 2 * at : 2 * at + 2] + [0.001, 0.003 if at == 2 else 0.0]
        left = came.max(axis=1, keepdims=True) + np.full((12, 2), 0.001)
        groups.append(group_of(came, left, words, name="pair" if at else "", collective="bcast",
                               members=[2 * at, 2 * at + 1], root=1))  # fmt: skip
    return trace_of(groups, words, hosts=[f"node{rank // 2}" for rank in range(6)], error=2e-6)


def lost(tmp_path):
    """Nothing is known of rank 1, and of rank 3 half of the calls."""
    trace = made_up(20, 5)
    group = trace.groups[0]
    group.forget_member(1)
    group.arrival[10:, 3] = group.exit[10:, 3] = np.nan
    trace.clock_error[1] = np.nan
    begin, end = np.full(5, 0.001), np.full(5, 9.0)
    begin[1] = end[1] = np.nan
    return replace(trace, begin=begin, end=end)


def mostly_known(tmp_path):
    """Some calls are not known on a rank."""
    trace = made_up(40, 4)
    trace.groups[0].arrival[::7, 2] = trace.groups[0].exit[::7, 2] = np.nan
    return trace


def profiler(tmp_path):
    """A trace of a device, that tells when the program asked."""
    folder = tmp_path / "profiler"
    folder.mkdir()
    for rank, trace in enumerate(device_job(launch=(0.0, 0.002, 0.0, 0.0))):
        store(folder, rank, trace)
    return read(folder)


def overlaps(tmp_path):
    """Collectives that another call completes."""
    words = Words()
    arrival, leave = arrivals_and_exits(10, 3)
    trace = trace_of([], words, ranks=3)
    group = replace(group_of(arrival, leave + 0.01, words), completed=leave, idle=leave - 0.001)
    return replace(trace, overlapping=[group], messages=played(wavefront, 3, 1).messages)


def of_messages(program, slow):
    return lambda tmp_path: played(program, 5, slow)


TRACES = {
    "made up": lambda _: made_up(), "subcommunicators": subcommunicators, "lost": lost,
    "mostly known": mostly_known, "profiler": profiler, "polls": polls, "overlaps": overlaps,
    "wavefront": of_messages(wavefront, 2), "halo": of_messages(halo, 3),
    "apart": of_messages(apart, None), "handed on": of_messages(handed_on, 1),
}  # fmt: skip


def told(trace):
    """The sentence and the figures. Only the names of communicators may differ: they are unique."""
    found = analysed(trace)
    known = facts(found)
    said = answer_of(known)
    figures = summary(found, replace(known, folder=""), said, None)
    for each in figures["by_communicator"]:
        del each["name"]
    figures["parts"].sort(key=str)
    for each in figures["by_site"]:
        each.pop("group", None)
    for name in ("answer", "trace", "format", "remarks", "clock"):
        del figures[name]
    return [*said.lines()], figures


def alike(one, other, where=""):
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            alike(one[key], other[key], f"{where}.{key}")
    elif isinstance(one, list):
        assert len(one) == len(other), where
        for at, pair in enumerate(zip(one, other, strict=True)):
            alike(*pair, f"{where}[{at}]")
    elif isinstance(one, float) and isinstance(other, float):
        near = 1e-5 if where.endswith("correlation") else 2e-8  # times have nanoseconds
        assert math.isclose(one, other, rel_tol=1e-5, abs_tol=near), (where, one, other)
    else:
        assert one == other, where


@pytest.mark.parametrize("of", TRACES)
@pytest.mark.parametrize("name", FORMATS)
def test_what_is_written_is_read_back(tmp_path, of, name):
    trace = TRACES[of](tmp_path)
    again = read(export(trace, tmp_path / name))
    said, figures = told(replace(trace, source="x", format="table"))
    # A table does not tell when ranks begin and end.
    again = replace(again, source="x", begin=trace.begin, end=trace.end)
    said_again, figures_again = told(again)
    assert said_again == said
    alike(figures, figures_again)
    assert [*again.hosts] == [*trace.hosts]


def test_rows_come_in_any_order_and_any_number_of_files(tmp_path):
    whole = export(subcommunicators(tmp_path), tmp_path / "calls.jsonl")
    lines = whole.read_text().splitlines()
    usual = told(replace(read(whole), source="x"))
    for seed in range(3):
        print("seed", seed)
        rng = np.random.default_rng(seed)
        some = [lines[at] for at in rng.permutation(len(lines))]
        folder = tmp_path / str(seed)
        folder.mkdir()
        (folder / "a.jsonl").write_text("\n".join(some[:30]) + "\n\n")
        (folder / "b.jsonl.gz").write_bytes(gzip.compress("\n".join(some[30:]).encode()))
        assert told(replace(read(folder), source="x")) == usual


# ---- what others write


def test_a_table_of_three_columns_tells_what_it_lacks(tmp_path):
    rows = [{name: row[name] for name in ("rank", "arrive", "leave")} for row in rows_of()]
    trace = read(table(tmp_path, rows))
    assert len(trace.groups[0]) == 10
    assert any("has no names of collectives" in each for each in trace.remarks)
    assert any("has no hosts" in each for each in trace.remarks)
    assert "Rank 1" in told(trace)[0][0]


UNITS = {"ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1}


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet"])
def test_times_in_other_units_are_in_columns_that_say_so(tmp_path, unit, name):
    usual = read(table(tmp_path, rows_of()))
    rows = rows_of()
    for row in rows:
        for time in ("arrive", "leave"):
            row[f"{time}_{unit}"] = UNITS[unit] * row.pop(time)
    trace = read(written_as(tmp_path / name, rows))
    np.testing.assert_allclose(trace.groups[0].arrival, usual.groups[0].arrival, atol=1e-9)
    np.testing.assert_allclose(trace.groups[0].exit, usual.groups[0].exit, atol=1e-9)


def test_times_in_other_units_that_do_not_say_so(tmp_path):
    right = "times that are no seconds are in columns named so: arrive_ns, arrive_us or arrive_ms"

    def times(scale, offset=0.0):
        return [{**row, "arrive": round(scale * (row["arrive"] + offset)),
                 "leave": round(scale * (row["leave"] + offset))} for row in rows_of()]  # fmt: skip

    with pytest.raises(TraceError, match=rf"times in seconds: they are of [\d.]+ years; {right}"):
        read(table(tmp_path, times(1e9)))
    for scale in (1e3, 1e6):  # a short run: it might be seconds
        remarks = read(table(tmp_path, times(scale))).remarks
        assert any("whole numbers, and taken as seconds" in each for each in remarks), remarks
    with pytest.raises(TraceError, match=f"seconds: {right}"):
        read(table(tmp_path, times(1e9, 1.7e9)))  # since 1970
    wild = rows_of()
    wild[3] |= {"arrive": 1e10, "leave": 1e10}
    assert len(read(table(tmp_path, wild)).groups[0]) >= 9


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet"])
def test_a_time_that_is_nan_is_told(tmp_path, name):
    rows = rows_of()
    rows[7]["arrive"], rows[8]["arrive"] = np.nan, None
    said = "rows whose arrive is NaN, which is taken as not known (1)"
    remarks = read(written_as(tmp_path / name, rows)).remarks
    assert any(said in each for each in remarks), remarks


@pytest.mark.parametrize("separator", ["\t", ";"])
def test_other_separators(tmp_path, separator):
    usual = read(written_as(tmp_path / "a.csv", rows_of()))
    found = read(written_as(tmp_path / "b.csv", rows_of(), separator))
    assert told(replace(found, source="x")) == told(replace(usual, source="x"))


def test_without_a_sequence_calls_are_counted(tmp_path):
    usual = read(table(tmp_path, rows_of()))
    counted = read(table(tmp_path, [{**row, "sequence": None} for row in rows_of()][::-1]))
    np.testing.assert_array_equal(counted.groups[0].arrival, usual.groups[0].arrival)
    rows = [{**row, "sequence": None} for row in rows_of()][1:]
    with pytest.raises(TraceError, match="different numbers of calls and none has a sequence"):
        read(table(tmp_path, rows))


def test_clocks_of_hosts_are_aligned_and_told_ones_are_not(tmp_path):
    ahead = [{**row, "arrive": row["arrive"] + 5 * row["rank"],
              "leave": row["leave"] + 5 * row["rank"]} for row in rows_of()]  # fmt: skip
    aligned, usual = (read(table(tmp_path, some)) for some in (ahead, rows_of()))
    assert "the collectives themselves told the offsets" in aligned.clock
    off = aligned.groups[0].arrival - usual.groups[0].arrival
    assert (np.ptp(off, axis=1) < 2 * aligned.clock_error.max()).all()
    assert aligned.clock_error.max() < 0.05
    one = [{**row, "host": "n"} for row in ahead]
    assert any("contradict" in each for each in read(table(tmp_path, one)).remarks)
    known = [{**row, "clock_error": 1e-6} for row in rows_of()]
    assert read(table(tmp_path, known)).clock_error.tolist() == [1e-6] * 3


@pytest.mark.parametrize(("name", "begin"), [
    ("calls.csv.gz", b"group,"), ("calls.jsonl.gz", b"{"), ("calls.JSONL.GZ", b"{"), ("a.JSONL", b"{"),
])  # fmt: skip
def test_a_name_that_says_so_is_of_a_packed_table(tmp_path, name, begin):
    path = export(made_up(), tmp_path / name)
    raw = path.read_bytes()
    assert (gzip.decompress(raw) if name.lower().endswith(".gz") else raw).startswith(begin)
    one, again = (each.groups[0].exit for each in (made_up(), read(path)))
    np.testing.assert_allclose(again - again[0, 0], one - one[0, 0], atol=3e-9)
    path.unlink()
    assert export(made_up(), path).read_bytes() == raw  # no date and no name is in it


@pytest.mark.parametrize("seed", range(20))
def test_groups_of_any_names_come_back_apart(tmp_path, seed):
    rng, words = np.random.default_rng(seed), Words()
    names = ["".join(rng.choice(["a", "'", "=", "-", " #0", " #1"], rng.integers(0, 4)))
             for _ in range(8)]  # fmt: skip
    groups = [group_of(*arrivals_and_exits(3, 2), words, name=name) for name in names]
    trace = trace_of(groups, words)
    shown = group_names(trace)
    assert len(set(shown)) == len(names), names
    assert all(own == name for own, name in zip(shown, names, strict=True)
               if name and names.count(name) == 1)  # fmt: skip
    for end in ("csv", "jsonl"):
        again = read(export(trace, tmp_path / f"a.{end}"))
        assert sorted(group.name for group in again.groups) == sorted(shown), names
        assert {len(group) for group in again.groups} == {3}


@pytest.mark.parametrize(("names", "shown"), [
    (["", "unnamed communicator #0"], ["unnamed communicator #0'", "unnamed communicator #0"]),
    (["a", "a", "a #0", "a #0'"], ["a #0\"", "a #1", "a #0", "a #0'"]),
])  # fmt: skip
def test_a_name_that_is_made_for_a_group_is_no_other_one_s(names, shown):
    words = Words()
    made = [group_of(*arrivals_and_exits(3, 2), words, name=name) for name in names]
    assert group_names(trace_of(made, words)) == [each.replace('"', "''") for each in shown]


def test_messages_that_are_not_whole_are_not_written(tmp_path):
    trace = played(wavefront, 3, 1)
    trace = replace(trace, messages=replace(trace.messages, until=0.1))
    assert "no messages" in lacking(trace)
    assert read(export(trace, tmp_path / "a.csv")).messages is None


def test_the_command_reads_and_writes_tables(tmp_path, capsys):
    path = export(made_up(), tmp_path / "calls.csv")
    assert run(["report", str(path), "--budget", "0"]) == 0
    assert "Rank 1 on host node1" in capsys.readouterr().out
    assert (tmp_path / "calls.html").exists()
    assert run(["report", str(path), "--csv", str(tmp_path / "again.jsonl")]) == 0
    first = json.loads((tmp_path / "again.jsonl").read_text().splitlines()[0])
    assert first["operation"] == "allreduce"
    assert set(first) <= set(COLUMNS)
    assert run(["report", str(path), "--csv", str(path)]) == 1
    assert "a result over a file that is read" in capsys.readouterr().err
