"""The atlas of arrivals: files without names, which nobody trusts, and arrays made of them."""

import os
import random
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from latecomer.atlas.file import (
    COLLECTIVES,
    KEY,
    About,
    Arrivals,
    AtlasError,
    check_name,
    read,
    write,
)
from latecomer.cli import run
from latecomer.report.trace import Trace, TraceError, Words
from latecomer.report.trace.recorded import MOST_CALLS, recorded
from trace_helpers import HOSTILE, arrivals_and_exits, group_of, made_up, trace_of

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

SEEDS = range(5)


def drawn(seed: int, calls: int = 30, ranks: int = 5) -> Arrivals:
    """Any file's content: two groups, some places, all collectives."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, calls).astype(np.int32)
    late = [rng.exponential(1e-3, 3 if each else ranks) for each in group]
    return Arrivals(
        About("some app", ranks, calls + 7, 2.5, 2, 4, 0.5),
        [COLLECTIVES[i] for i in rng.integers(0, len(COLLECTIVES), calls)],
        group,
        rng.integers(-1, 4, calls).astype(np.int32),
        rng.integers(-1, 1 << 40, calls),
        rng.integers(-1, 3, calls).astype(np.int32),
        rng.exponential(1e-2, calls),
        rng.exponential(1e-3, calls),
        [(each - each.min()).astype(np.float32).astype(np.float64) for each in late],
    )


def written(tmp_path, content=None) -> Path:
    file = tmp_path / "some.parquet"
    write(drawn(1) if content is None else content, file)
    return file


def same(one: Arrivals, other: Arrivals) -> bool:
    arrays = ("group", "place", "bytes", "root", "gap_s", "transfer_s")
    return (
        one.about == other.about
        and one.collective == other.collective
        and all(np.array_equal(getattr(one, name), getattr(other, name)) for name in arrays)
        and all(map(np.array_equal, one.lateness_s, other.lateness_s))
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_written_is_read(tmp_path, seed):
    content = drawn(seed)
    assert same(read(written(tmp_path, content)), content)


def test_a_file_without_calls_is_read(tmp_path):
    empty = drawn(1).part(np.array([], np.int64))
    assert len(read(written(tmp_path, empty))) == 0


def by_hand(trace: Trace) -> list[tuple[float, list[float], float]]:
    """First arrival, lateness and transfer of each call that is known, the slow way."""
    found = []
    for group in trace.groups:
        for call in range(len(group)):
            came, left = (each[0].tolist() for each in group.times(slice(call, call + 1)))
            if group.size > 1 and not any(np.isnan([*came, *left])):
                late = [each - min(came) for each in came]
                found.append((min(came), late, max(left) - max(came)))
    return sorted(found)


def test_a_trace_gives_lateness_transfer_and_gaps():
    words = Words()
    arrival, leave = arrivals_and_exits(12, 4)
    arrival[3, 2] = np.nan  # is not known
    some = group_of(*arrivals_and_exits(7, 2, late=0), words, members=[1, 3], name="some")
    trace = trace_of([group_of(arrival, leave, words), some], words)
    found, expected = recorded(trace, ""), by_hand(trace)
    assert found.about.calls == len(found) == len(expected) == 18
    assert [each.tolist() for each in found.lateness_s] == [late for _, late, _ in expected]
    assert found.transfer_s.tolist() == [transfer for *_, transfer in expected]
    assert sorted(set(found.group.tolist())) == [0, 1]
    world = found.part(np.flatnonzero([len(each) == 4 for each in found.lateness_s]))
    kept = [i for i in range(12) if i != 3]
    gaps = [max(0, arrival[i].min() - leave[before].max())
            for before, i in pairwise(kept)]  # fmt: skip
    assert world.gap_s.tolist() == pytest.approx([0, *gaps])


def test_of_many_calls_the_middle_ones_are_kept():
    trace = made_up(MOST_CALLS + 101)
    found, expected = recorded(trace, ""), by_hand(trace)
    assert len(found) == MOST_CALLS
    assert found.about.calls == MOST_CALLS + 101
    assert found.lateness_s[0].tolist() == expected[50][1]
    assert found.about.span_s < trace.groups[0].exit.max() - trace.groups[0].arrival.min()


def test_a_trace_without_calls_is_refused():
    with pytest.raises(TraceError, match="no collective is known on all its ranks"):
        recorded(
            trace_of([group_of(np.zeros((4, 1)), np.ones((4, 1)), words := Words())], words), ""
        )


def test_no_name_of_the_trace_is_in_the_file(tmp_path):
    names = ["secrethost", "secretgroup", "secretsite", "secretoperator", "secretalgorithm",
             "secretcollective", HOSTILE]  # fmt: skip
    words = Words(names)
    times = arrivals_and_exits(20, 3)
    group = group_of(*times, words, name="secretgroup", collective="secretcollective",
                     algorithm="secretalgorithm")  # fmt: skip
    number = np.full(20, words.place("secretsite"), np.int32)
    group = replace(group, site=number, operator=np.full(20, words.place("secretoperator")))
    trace = replace(
        trace_of([group], words, hosts=["secrethost-1", "secrethost-2", HOSTILE]),
        source="/home/secretuser/secretfolder", started=1_764_180_000.0,
    )  # fmt: skip
    content = written(tmp_path, recorded(trace, "")).read_bytes()
    for name in [*names, "secret", "script", "1764180000", "home", str(tmp_path)]:
        assert name.encode() not in content, name
    assert b"CC0-1.0" in content  # so the bytes are not packed
    table = parquet.read_table(tmp_path / "some.parquet")
    kinds = {field.name: str(field.type) for field in table.schema}
    assert kinds.pop("collective") == "string"
    assert all(any(word in kind for word in ("int", "float", "double")) for kind in kinds.values())
    assert set(table["collective"].to_pylist()) == {"other"}


@pytest.mark.parametrize("name", ["", " x", "a/b", "x" * 65, "naïve", "a\nb", ".hidden", "-n"])
def test_a_name_that_may_hold_more_than_a_name_is_refused(name):
    with pytest.raises(AtlasError, match="no name of a program"):
        check_name("--name", name)


def test_cut_files_are_refused(tmp_path):
    file = written(tmp_path)
    whole = file.read_bytes()
    source = random.Random(7)
    for length in [0, 1, 4, 8, len(whole) - 1, *(source.randrange(len(whole)) for _ in range(40))]:
        file.write_bytes(whole[:length])
        with pytest.raises(AtlasError, match=r"no whole file of the atlas"):
            read(file)


def test_files_with_other_bytes_are_refused_or_hold_what_may_be(tmp_path):
    """Seed 7."""
    file = written(tmp_path)
    whole = file.read_bytes()
    source = random.Random(7)
    refused = 0
    for _ in range(300):
        content = bytearray(whole)
        for _ in range(source.randrange(1, 4)):
            content[source.randrange(len(content))] = source.randrange(256)
        file.write_bytes(content)
        try:
            found = read(file)
        except AtlasError:
            refused += 1
            continue
        assert all(each.min() == 0 and np.isfinite(each).all() for each in found.lateness_s)
    assert refused > 100


def table_with(file: Path, **columns) -> None:
    """The file with other columns, or without those that are None."""
    table = parquet.read_table(file)
    for name, values in columns.items():
        place = table.schema.get_field_index(name)
        if values is None:
            table = table.remove_column(place)
        else:
            table = table.set_column(place, name, [values])
    parquet.write_table(table, file, compression="none")


ROWS = 30
BAD = {
    "its Parquet": {"collective": None},
    "columns: ": {"place": None},
    "columns: 'collective dictionary": {"gap_s": pyarrow.array([1] * ROWS)},
    "collective: 'rm -rf'": {"collective": pyarrow.array(["rm -rf"] * ROWS)},
    "column bytes: no value": {"bytes": pyarrow.array([None] * ROWS, pyarrow.int64())},
    "gap_s: nan": {"gap_s": pyarrow.array([float("nan")] * ROWS)},
    "gap_s: -1": {"gap_s": pyarrow.array([-1.0] * ROWS)},
    "transfer_s: inf": {"transfer_s": pyarrow.array([float("inf")] * ROWS)},
    "group: 31": {"group": pyarrow.array([31] * ROWS, pyarrow.int32())},
    "root: 9": {"root": pyarrow.array([9] * ROWS, pyarrow.int32())},
    "bytes: -2": {"bytes": pyarrow.array([-2] * ROWS, pyarrow.int64())},
    "ranks of a call: 1 to 1 of 5": {
        "lateness_s": pyarrow.array([[0.0]] * ROWS, pyarrow.list_(pyarrow.float32()))
    },
    "ranks of a call: 6 to 6 of 5": {
        "lateness_s": pyarrow.array([[0.0] * 6] * ROWS, pyarrow.list_(pyarrow.float32()))
    },
    "first lateness_s: 1": {
        "lateness_s": pyarrow.array([[1.0, 2.0]] * ROWS, pyarrow.list_(pyarrow.float32()))
    },
    "lateness_s: -1": {
        "lateness_s": pyarrow.array([[0.0, -1.0]] * ROWS, pyarrow.list_(pyarrow.float32()))
    },
    "no value of a rank": {
        "lateness_s": pyarrow.array([[0.0, None]] * ROWS, pyarrow.list_(pyarrow.float32()))
    },
    "ranks of the calls of a group": {
        "lateness_s": pyarrow.array([[0.0] * (2 + i % 3) for i in range(ROWS)],
                                    pyarrow.list_(pyarrow.float32())),
        "root": pyarrow.array([-1] * ROWS, pyarrow.int32()),
    },
}  # fmt: skip


@pytest.mark.parametrize("complaint", BAD)
def test_columns_that_cannot_be_are_refused(tmp_path, complaint):
    file = written(tmp_path)
    table_with(file, **BAD[complaint])
    with pytest.raises(AtlasError) as error:
        read(file)
    assert complaint in str(error.value)
    assert "name a file that latecomer atlas record wrote" in str(error.value)


@pytest.mark.parametrize(
    ("about", "complaint"),
    [
        (None, "metadata: no latecomer.atlas"),
        (b"{", "metadata: no JSON"),
        (b"[" * 100_000, "metadata: no JSON"),
        (b"[]", "format, of which 1 is known: no object"),
        (b'{"format": 2}', "format, of which 1 is known: 2"),
        (b'{"format": 1}', "name: None"),
        (b'{"format": 1, "name": "\\u001b[2J"}', "name: '\\x1b[2J'"),
        (b'{"format": 1, "name": "", "ranks": 1e9}', "ranks: 1000000000.0"),
        (b'{"format": 1, "name": "", "ranks": 5, "calls": true}', "calls: True"),
        (b'{"format": 1, "name": "", "ranks": 5, "calls": 40, "span_s": NaN}', "span_s: nan"),
        (b'{"format": 1, "name": "", "ranks": 5, "calls": 3, "span_s": 1, "hosts": 1, "cores": 1, '
         b'"load": 0}', "calls: 3"),
    ],
)  # fmt: skip
def test_metadata_that_cannot_be_is_refused(tmp_path, about, complaint):
    file = written(tmp_path)
    table = parquet.read_table(file)
    table = table.replace_schema_metadata({} if about is None else {KEY: about})
    parquet.write_table(table, file, compression="none")
    with pytest.raises(AtlasError) as error:
        read(file)
    assert complaint in str(error.value)


def test_a_short_file_of_many_rows_is_refused(tmp_path):
    file = written(tmp_path)
    table = parquet.read_table(file)
    many = pyarrow.concat_tables([table.take([0] * 100_000)] * 100)
    parquet.write_table(many, file, compression="zstd")
    assert file.stat().st_size < 1 << 20
    with pytest.raises(AtlasError, match="times: over 8388608"):
        read(file)


def test_what_is_no_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "missing", tmp_path / "pipe"):
        with pytest.raises(AtlasError, match="cannot read the atlas"):
            read(path)


def test_what_is_neither_a_trace_nor_a_launcher_is_named(capsys):
    assert run(["atlas", "record", "missing-program"]) == 2
    said = capsys.readouterr().err
    assert "'missing-program' is neither a folder nor a launcher; right would be" in said


def test_without_pyarrow_it_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(AtlasError, match="pyarrow; pip install pyarrow"):
        read(tmp_path / "some.parquet")


def test_a_file_that_is_too_long_is_refused(tmp_path, monkeypatch):
    file = written(tmp_path)
    monkeypatch.setattr("latecomer.atlas.file._MOST_BYTES", 100)
    with pytest.raises(AtlasError, match="no whole file of the atlas: bytes: over 100; name a fi"):
        read(file)
