"""Interchange tables: what is written is read back to the same sentence and figures."""

import csv
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
from latecomer.report.trace import TraceError, Words, read, table_rows
from latecomer.report.trace.table_export import COLUMNS, lacking, parquet
from latecomer.report.trace.table_export import csv as write
from test_origin import apart, halo, handed_on, played, wavefront
from test_readers_fuzz import SEEDS, WRONG, damaged, outcome, structure
from trace_helpers import arrivals_and_exits, group_of, made_up, trace_of

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "evidence"))

from played import Played

FORMATS = ("calls.csv", "calls.jsonl", "calls.parquet")


def export(trace, file):
    if file.suffix == ".parquet":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
        parquet(trace, file)
    else:
        write(trace, file)
    return file


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


def polls(tmp_path):
    """Receives by tests and after probes, and calls of which only the time is known."""

    def program(rank, ranks):
        for _ in range(10):
            if rank > 0:
                yield ("probe", rank - 1)
                yield ("poll", rank - 1, 1e-4)
            yield ("compute", 20e-3 if rank == 1 else 5e-3)
            if rank < ranks - 1:
                yield ("send", rank + 1)
            yield ("hidden receive", rank - 1) if rank else ("compute", 0.0)
            yield ("hidden send", rank + 1) if rank < ranks - 1 else ("compute", 0.0)
            yield ("allreduce",)

    return Played([program(rank, 4) for rank in range(4)]).trace()


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
    said_again, figures_again = told(replace(again, source="x"))
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


def rows_of(calls=10, ranks=3, **more):
    arrival, leave = arrivals_and_exits(calls, ranks)
    return [{"group": "world", "sequence": call, "operation": "MPI_Allreduce", "bytes": 8,
             "rank": rank, "host": f"n{rank}", "arrive": arrival[call, rank],
             "leave": leave[call, rank], **more} for call in range(calls) for rank in range(ranks)]  # fmt: skip


def lines_of(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def table(folder, rows, name="calls.jsonl"):
    path = folder / name
    path.write_text(lines_of(rows))
    return path


def written_as(path, rows, separator=","):
    """The rows in the format of the name's ending."""
    if path.suffix == ".jsonl":
        return table(path.parent, rows, path.name)
    if path.suffix == ".parquet":
        arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
        pytest.importorskip("pyarrow.parquet").write_table(arrow.Table.from_pylist(rows), path)
        return path
    with path.open("w", newline="") as out:
        writer = csv.DictWriter(out, list(rows[0]), delimiter=separator)
        writer.writeheader()
        writer.writerows(rows)
    return path


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
    assert aligned.clock_error.max() < 0.03
    one = [{**row, "host": "n"} for row in ahead]
    assert any("contradict" in each for each in read(table(tmp_path, one)).remarks)
    known = [{**row, "clock_error": 1e-6} for row in rows_of()]
    assert read(table(tmp_path, known)).clock_error.tolist() == [1e-6] * 3


@pytest.mark.parametrize(("change", "said"), [
    ({"rank": -1}, "rows whose rank is no number from 0 to 1048575 (1)"),
    ({"rank": 10**9}, "rows whose rank is no number from 0 to 1048575 (1)"),
    ({"rank": 999_999}, "rows of ranks that are too great for 3 ranks (1)"),
    ({"rank": 1.5}, "rows whose rank is no number"), ({"rank": None}, "rows whose rank is no number"),
    ({"rank": True}, "rows whose rank is no number"),
    ({"arrive": "soon"}, "rows whose arrive is no number from -100000000000 to 100000000000 seconds"),
    ({"arrive": 1.7e18}, "rows whose arrive is no number"),
    ({"arrive": -1e12}, "rows whose arrive is no number"),
    ({"arrive": 1 << 70}, "rows whose arrive is no number"),
    ({"leave": float("inf")}, "rows whose leave is no number"),
    ({"leave": -5.0}, "rows that leave before they arrive (1)"),
    ({"bytes": -7}, "rows whose bytes is no number from -1 to 9007199254740992 (1)"),
    ({"sequence": 0.5}, "rows whose sequence is no number"),
    ({"group": "x" * 10**6}, "rows whose group is no text of at most 1024 characters (1)"),
    ({"group": ["x"]}, "rows whose group is no text"),
    ({"host": {}}, "rows whose host is no text"),
    ({"operation": "MPI_Barrier"}, "calls that are another collective on another rank (1)"),
    ({"sequence": 4}, "further rows of a rank in a call (1)"),
    ({"group": "other"}, "rows of groups that one rank alone recorded (1)"),
])  # fmt: skip
def test_one_odd_row_is_left_out_and_told(tmp_path, change, said):
    rows = rows_of()
    rows[16] |= change
    trace = read(table(tmp_path, rows))
    assert any(said in each for each in trace.remarks), trace.remarks
    assert len(trace.groups[0]) >= 9
    assert np.isfinite(trace.groups[0].arrival).sum() >= 27
    assert (
        len(read(written_as(tmp_path / "calls.csv", rows)).groups[0]) >= 9
    )  # cells are texts there


@pytest.mark.parametrize("line", ["nothing", "[1]", "3", '{"rank": 1', "{" * 50_000, "9" * 5000,
                                  '{"rank": 1}, {"rank": 2}', "x" * (table_rows.LONGEST_LINE + 5)])  # fmt: skip
def test_a_line_that_is_no_row_is_left_out_and_told(tmp_path, line):
    lines = lines_of(rows_of()).splitlines()
    (tmp_path / "a.jsonl").write_text("\n".join([*lines[:7], line, *lines[7:]]))
    trace = read(tmp_path / "a.jsonl")
    assert np.isfinite(trace.groups[0].arrival).all()
    assert any("lines " in each for each in trace.remarks), trace.remarks


@pytest.mark.parametrize(
    "line", ['a,"b', "1,2,3", "\0,,,,,,,", "x" * (table_rows.LONGEST_LINE + 5)]
)
def test_a_line_of_csv_that_is_no_row_is_left_out_and_told(tmp_path, line):
    lines = export(made_up(6, 3), tmp_path / "a.csv").read_text().splitlines()
    (tmp_path / "a.csv").write_text("\n".join([*lines, line]))
    trace = read(tmp_path / "a.csv")
    assert np.isfinite(trace.groups[0].arrival).all()
    assert any("left out" in each for each in trace.remarks), trace.remarks


@pytest.mark.parametrize(("content", "said"), [
    ("", "nothing"), ("hello\nworld\n", "its first line is 'hello'"),
    ("rank,start,end\n0,1,2\n", "no column arrive and leave: its first line is 'rank,start,end'"),
    ('{"rank": 0, "ts": 1}\n', "no column arrive and leave: its lines have rank, ts"),
    ('{"traceEvents": []}\n', "a trace of PyTorch's profiler; name the folder"),
    ("{\n", "no line is JSON"), ("PAR1 and no more", "Parquet cannot be read"),
    ("rank,arrive,arrive_ns,leave\n0,1,1,2\n", "columns for one thing: arrive and arrive_ns; keep"),
    ("rank,rank,arrive,leave\n0,0,1,2\n", "columns for one thing: rank and rank; keep"),
    ('{"rank": 0, "arrive": 1, "leave": 2, "leave_ns": 2}\n', "leave and leave_ns; keep one"),
    ("rank,arrive,leave\r0,1,2\r", "ends of lines: carriage returns alone; end lines by line"),
    ("rank,arrive,leave\n", "0 rows"), ("rank,arrive,leave\n0,1,2\n", "one rank alone"),
])  # fmt: skip
def test_what_is_no_table_is_refused(tmp_path, content, said):
    if content.startswith("PAR1"):
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    (tmp_path / "what").write_text(content, newline="")
    with pytest.raises(TraceError) as caught:
        read(tmp_path / "what")
    assert said in str(caught.value)
    assert str(tmp_path) in str(caught.value)


def test_too_much_is_refused(tmp_path, monkeypatch):
    path = table(tmp_path, rows_of())
    monkeypatch.setattr(table_rows, "MOST_ROWS", 20)
    with pytest.raises(TraceError, match="rows: more than 20"):
        read(path)
    monkeypatch.undo()
    many = [
        {**row, "group": f"g{at}"} for at, row in enumerate(rows_of(table_rows.MOST_TEXTS // 3 + 9))
    ]
    with pytest.raises(TraceError, match="different texts: more than 262144"):
        read(table(tmp_path, many))
    some = [{**row, "group": f"g{row['sequence']}"} for row in rows_of(20_000, 2)]
    with pytest.raises(TraceError, match="groups of a table: 20000; right would be at most 16384"):
        read(table(tmp_path, some))


def test_files_that_are_cut_are_read_as_far_as_they_go(tmp_path):
    raw = gzip.compress(lines_of(rows_of(400)).encode())
    (tmp_path / "a.jsonl.gz").write_bytes(raw[: len(raw) // 2])
    trace = read(tmp_path / "a.jsonl.gz")
    assert 100 < len(trace.groups[0]) < 400
    assert any("the gzip data are not whole" in each for each in trace.remarks)


def test_parquet_without_its_module_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    for module in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(TraceError, match="pip install pyarrow; or convert the file to CSV"):
        read(tmp_path / "a.parquet")
    with pytest.raises(TraceError, match="pip install pyarrow, or use --csv"):
        parquet(made_up(), tmp_path / "b.parquet")


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


# ---- damage


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", [*FORMATS, "calls.jsonl.gz"])
def test_damaged_bytes(tmp_path, name, seed):
    print("seed", seed)
    rng = np.random.default_rng(seed)
    path = export(polls(tmp_path), tmp_path / name.removesuffix(".gz"))
    raw = path.read_bytes()
    for turn in range(40):
        path.write_bytes(damaged(gzip.compress(raw) if name.endswith(".gz") else raw, rng))
        outcome(path, turn % 8 == 0)


@pytest.mark.parametrize("seed", SEEDS)
def test_damaged_values(tmp_path, seed):
    print("seed", seed)
    rng = np.random.default_rng(seed)
    rows = [json.loads(line) for line in export(polls(tmp_path), tmp_path / "a.jsonl").open()]
    for turn in range(40):
        chance = float(rng.choice([0.001, 0.01, 0.1]))
        hurt = [structure(row, rng, chance) for row in rows]
        outcome(table(tmp_path, hurt, "a.jsonl"), turn % 8 == 0)


@pytest.mark.parametrize("name", sorted(COLUMNS))
def test_each_column_may_hold_anything(tmp_path, name):
    rows = [{**row, "peer": 0, name: WRONG[at % len(WRONG)]} for at, row in enumerate(rows_of(30))]
    outcome(table(tmp_path, rows), True)


KEPT = Path(__file__).parent / "tables"


@pytest.mark.parametrize("file", sorted(each.name for each in KEPT.iterdir()))
def test_tables_that_were_found_to_be_hard(file):
    outcome(KEPT / file, True)


def test_columns_of_numbers_may_be_names(tmp_path):
    import pyarrow
    import pyarrow.parquet

    rows = [{"group": 7, "sequence": call, "operation": "allreduce", "rank": rank, "host": 3,
             "arrive": call + 0.1 * rank, "leave": call + 0.5}
            for call in range(4) for rank in range(3)]  # fmt: skip
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "a.parquet")
    trace = read(tmp_path / "a.parquet")
    assert ([group.name for group in trace.groups], trace.calls) == (["7"], 4)


def test_messages_whose_size_one_side_tells_have_it(tmp_path):
    rows = [{"group": "world", "sequence": 0, "operation": operation, "rank": rank, "peer": 1 - rank,
             "requested": at, "arrive": at, "leave": at + 0.1, **size}
            for operation, rank, at, size in (("send", 0, 0.0, {"bytes": 8}),
                                              ("receive", 1, 0.05, {}))]  # fmt: skip
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert read(tmp_path / "a.jsonl").messages.bytes.tolist() == [8]
