"""Tables with odd rows, tables that are none, and damaged ones."""

import gzip
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from fuzz_helpers import WRONG, damaged, outcome, structure
from latecomer.report.trace import TraceError, model, read, table_rows
from latecomer.report.trace.table_export import COLUMNS, parquet
from trace_helpers import made_up

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "evidence"))


from table_helpers import FORMATS, export, lines_of, polls, rows_of, table, written_as
from test_readers_fuzz import SEEDS

# ---- odd rows, and no tables


@pytest.mark.parametrize(("change", "said"), [
    ({"rank": -1}, "rows whose rank is no number from 0 to 1048575 (1)"),
    ({"rank": 10**9}, "rows whose rank is no number from 0 to 1048575 (1)"),
    ({"rank": 999_999}, "rows of ranks that are too great for 3 ranks: right would be 0, 1, 2 and so on (1)"),
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


@pytest.mark.parametrize(("operation", "known"), [
    ("win_fence", True), ("file_write_at_all", True), ("dist_graph_create", True),
    ("window", False), ("MPI_Odd", False),
])  # fmt: skip
def test_collectives_that_our_traces_have_are_known(tmp_path, operation, known):
    trace = read(table(tmp_path, rows_of(operation=operation)))
    said = any("operations of no known name" in each for each in trace.remarks)
    assert said != known
    (group,) = trace.groups
    assert trace.words[int(group.collective[0])] == operation


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
    ("rank,arrive,leave\n0,1,2\n", " 1 row "),
    ("\x7fELF\2\1\1", "it is a program; name the folder that run --trace wrote"),
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


def test_a_group_that_tells_nothing_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(model, "MOST_SPARSE", 1000)
    sparse = [{**row, "group": "sparse", "sequence": row["rank"]} for row in rows_of(1, 100)]
    trace = read(table(tmp_path, [*rows_of(10, 100), *sparse]))
    assert [group.name for group in trace.groups] == ["world"]
    assert ("left out: calls of groups that are too large (100), such as group 'sparse': calls by "
            "members: 100 x 100; the files hold 100 of them: bring together those of all ranks"
            in trace.remarks)  # fmt: skip
    untimed = [{**row, "group": "untimed", "leave": None} for row in rows_of(4)]
    trace = read(table(tmp_path, [*rows_of(), *untimed]))
    assert [group.name for group in trace.groups] == ["world"]
    assert any("groups without any known time (4), such as group 'untimed'" in each
               for each in trace.remarks), trace.remarks  # fmt: skip


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


def test_a_file_that_cannot_be_read_says_so(tmp_path, monkeypatch):
    def refused(path, most):
        raise PermissionError(13, "Permission denied", str(path))

    (tmp_path / "calls.csv").touch()
    monkeypatch.setattr("latecomer.base.regular_files.read", refused)
    with pytest.raises(TraceError) as raised:
        read(tmp_path / "calls.csv")
    assert str(raised.value) == (
        f"{tmp_path}/calls.csv: cannot be read: Permission denied; name a table"
    )
    (tmp_path / "calls.csv").rename(tmp_path / "notes")
    with pytest.raises(TraceError, match="no trace in the folder.*holds .*notes"):
        read(tmp_path)
