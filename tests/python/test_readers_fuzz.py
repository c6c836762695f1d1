"""Damaged traces of each format: the outcome is a report with remarks or an error that names files.

Seeds are fixed and printed. Each test damages one rank's file some hundred times.
"""

import gzip
import json
import pickle
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from kineto_helpers import RANKS, device_job, load, store
from latecomer.cli import run
from latecomer.report.analysis.answer import answer_of, facts
from latecomer.report.analysis.lateness import analyse
from latecomer.report.analysis.page import page, remarks
from latecomer.report.trace import TraceError, otf2_archive, read
from latecomer.report.trace.about import About
from test_otf2 import write as archive
from trace_helpers import HOSTILE, Files, arrivals_and_exits

# Two ranks and three calls, in the formats of other programs.
CORPUS = Path(__file__).parent / "corpus"
FORMATS = ("inspector", "flight_json", "flight_pickle", "nsight", "nsight_nccl")
ROUNDS = 25  # of a seed
SEEDS = range(2)
BYTES = np.frombuffer(b"\0\x01 \n\"'\\{}[]:,-+.0123456789eEnatruf\x7f\x80\xc3\xff\xd8", np.uint8)
WRONG = (None, True, -1, 0, 0.5, 1e308, float("nan"), float("-inf"), 1 << 70, "", "x", "7", "\ud800",
         HOSTILE, [], {}, [[1, "2", None]], "9" * 400, [[]] * 9, {"a": {"a": {}}})  # fmt: skip


def structure(value, rng, chance):
    """The value with some of its parts replaced by others, left out or repeated."""
    if rng.random() < chance:
        return WRONG[rng.integers(len(WRONG))]
    if isinstance(value, dict):
        return {(HOSTILE if rng.random() < chance / 4 else key): structure(each, rng, chance)
                for key, each in value.items() if rng.random() >= chance}  # fmt: skip
    if isinstance(value, list):
        return [structure(each, rng, chance) for each in value
                for _ in range(1 + (rng.random() < chance))]  # fmt: skip
    return value


def damaged(raw, rng):
    """The bytes with some changed, inserted, doubled, left out, or with the end cut off."""
    raw = bytearray(raw)
    for _ in range(int(rng.integers(1, 6))):
        at, length = int(rng.integers(len(raw) + 1)), int(rng.choice([1, 1, 2, 8, 64, 700]))
        kind = rng.integers(6)
        if kind == 0:
            raw[at : at + length] = b""
        elif kind == 1:
            raw[at:at] = raw[at : at + length]
        elif kind == 2:
            raw[at : at + length] = rng.choice(BYTES, length).tobytes()
        elif kind == 3:
            raw[at : at + 1] = rng.choice(BYTES, 1).tobytes()
        elif kind == 4:
            raw[at:at] = rng.choice(BYTES, length).tobytes()
        elif rng.random() < 0.2:
            del raw[at:]
    return bytes(raw)


def outcome(folder, draw):
    """Read, analyse and draw; any error but a named one is pytest's to show."""
    try:
        trace = read(folder)
    except TraceError as error:
        told = str(error)
        told.encode("utf-8")
        if str(folder) not in told or "\x1b" in told:
            raise AssertionError(told) from error
        return
    found = analyse(trace)
    told = remarks(found)
    "".join(told).encode("utf-8")
    if found.groups and draw:
        known = facts(found)
        text = page(found, known, answer_of(known), About(), None, {})
        text.encode("utf-8")
        assert "<script>alert" not in text
        assert "\x1b" not in text


def small(trace, events=60):
    """The trace with the first events alone that tell of collectives."""
    own = [e for e in trace["traceEvents"] if e.get("name", "").startswith(("gloo:", "c10d::"))]
    return {**trace, "traceEvents": own[: events // 2] + own[-events // 2 :]}


JOBS = {
    "device": device_job(calls=4),
    "counted": json.loads(json.dumps(device_job(calls=4)).replace('"Seq"', '"x"')),
    "gloo": [small(load(rank)) for rank in range(RANKS)],
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("of", JOBS)
def test_damaged_values_of_profiler_traces(tmp_path, of, seed):
    print("seed", seed)
    rng = np.random.default_rng(seed)
    for rank, trace in enumerate(JOBS[of]):
        store(tmp_path, rank, trace)
    for turn in range(ROUNDS):
        hurt, chance = int(rng.integers(RANKS)), float(rng.choice([0.001, 0.01, 0.1]))
        path = store(tmp_path, hurt, structure(JOBS[of][hurt], rng, chance))
        outcome(tmp_path, turn % 5 == 0)
        path.write_text(json.dumps(JOBS[of][hurt]))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("of", JOBS)
def test_damaged_bytes_of_profiler_traces(tmp_path, of, packed, seed):
    print("seed", seed)
    rng = np.random.default_rng(seed)
    for rank, trace in enumerate(JOBS[of]):
        store(tmp_path, rank, trace)
    for turn in range(ROUNDS):
        path = tmp_path / f"rank{rng.integers(RANKS)}.json"
        raw = path.read_bytes()
        path.write_bytes(damaged(gzip.compress(raw) if packed else raw, rng))
        outcome(tmp_path, turn % 5 == 0)
        path.write_bytes(raw)


@pytest.mark.parametrize("seed", SEEDS)
def test_damaged_bytes_of_the_librarys_traces(tmp_path, seed):
    print("seed", seed)
    rng = np.random.default_rng(seed)
    arrival, leave = arrivals_and_exits(12, 3)
    folder = Files(3, name=HOSTILE, skew_ns=[0, 5, -7] if seed % 2 else ())
    folder = folder.write(tmp_path / "trace", arrival, leave)
    for turn in range(ROUNDS):
        path = folder / f"rank-{rng.integers(3)}.trace"
        raw = path.read_bytes()
        path.write_bytes(damaged(raw, rng))
        outcome(folder, turn % 5 == 0)
        path.write_bytes(raw)


@pytest.mark.parametrize("of", FORMATS)
def test_the_corpus_is_read(of):
    found = analyse(read(CORPUS / of))
    assert found.ranks.calls.tolist() == [3, 3]
    assert found.ranks.last.tolist() == [0, 3]
    assert found.ranks.waiting[0] == pytest.approx(0.12, abs=0.01)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("of", FORMATS)
def test_damaged_bytes_of_other_programs_traces(tmp_path, of, seed):
    print("seed", seed)
    rng = np.random.default_rng(seed)
    folder = shutil.copytree(CORPUS / of, tmp_path / "trace")
    paths = sorted(folder.iterdir())
    for turn in range(ROUNDS):
        path = paths[rng.integers(len(paths))]
        raw = path.read_bytes()
        path.write_bytes(damaged(raw, rng))
        outcome(folder, turn % 5 == 0)
        path.write_bytes(raw)


def of_lines(raw, change):
    made = [json.dumps(change(json.loads(line))) for line in raw.splitlines()]
    return "\n".join(made).encode("utf-8", "replace")


def of_json(raw, change):
    return json.dumps(change(json.loads(raw))).encode("utf-8", "replace")


def of_pickle(raw, change):
    return pickle.dumps(change(pickle.loads(raw)), 4)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("of", "changed"), [
    ("inspector", of_lines), ("flight_json", of_json), ("flight_pickle", of_pickle),
])  # fmt: skip
def test_damaged_values_of_other_programs_traces(tmp_path, of, changed, seed):
    print("seed", seed)
    rng = np.random.default_rng(seed)
    folder = shutil.copytree(CORPUS / of, tmp_path / "trace")
    paths = sorted(folder.iterdir())
    for turn in range(ROUNDS):
        path, chance = paths[rng.integers(len(paths))], float(rng.choice([0.003, 0.03, 0.2]))
        raw = path.read_bytes()
        path.write_bytes(changed(raw, lambda value, most=chance: structure(value, rng, most)))
        outcome(folder, turn % 5 == 0)
        path.write_bytes(raw)


TABLES = {
    "MPI_COLLECTIVES_EVENTS": ("nsight", "start end globalTid textId commHandle rootRank size recvSize"),
    "CUPTI_ACTIVITY_KIND_KERNEL":
        ("nsight_nccl", "start end globalPid deviceId correlationId shortName"),
    "CUPTI_ACTIVITY_KIND_RUNTIME": ("nsight_nccl", "start globalTid correlationId"),
    "NVTX_EVENTS": ("nsight_nccl", "start end text globalTid textId jsonTextId jsonText"),
    "StringIds": ("nsight_nccl", "value"),
}  # fmt: skip


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("seed", SEEDS)
def test_damaged_values_of_databases(tmp_path, seed, table):
    print("seed", seed)
    of, columns = TABLES[table]
    rng = np.random.default_rng(seed)
    values = ("NULL", "-1", "0", "1 << 62", "0.5", "'x'", "x'00ff'", "9e300", "''", "'[1]'",
              """'{"NCCL communicator ID": [1]}'""")  # fmt: skip
    for turn in range(ROUNDS):
        folder = shutil.copytree(CORPUS / of, tmp_path / str(turn))
        with sqlite3.connect(folder / "report1.sqlite") as data:
            for _ in range(rng.integers(1, 4)):
                column = rng.choice(columns.split())
                data.execute(f'UPDATE OR IGNORE {table} SET "{column}" = '
                             f"{rng.choice(values)} WHERE rowid % 6 = {rng.integers(6)}")  # fmt: skip
        data.close()
        outcome(folder, turn % 5 == 0)


@pytest.mark.parametrize("seed", range(3))
def test_the_command_tells_of_damage(tmp_path, capsys, seed):
    print("seed", seed)
    rng = np.random.default_rng(seed)
    for rank, trace in enumerate(JOBS["device"]):
        store(tmp_path, rank, trace)
    (tmp_path / "rank1.json").write_bytes(damaged((tmp_path / "rank1.json").read_bytes(), rng))
    code = run(["report", str(tmp_path), "--budget", "0"])
    told = capsys.readouterr()
    assert code == 0 or "latecomer: error: " in told.err
    assert "\x1b" not in told.out + told.err


def test_damaged_archives(tmp_path, monkeypatch):
    """OTF2's library stops for ever on some: that is an error, too."""
    monkeypatch.setattr(otf2_archive, "STILL", 5.0)
    whole = archive(tmp_path / "whole")
    rng = np.random.default_rng(1)
    for turn, part in enumerate(["traces.otf2", "traces.def", "traces/0.evt", "traces/0.def"] * 3):
        folder = tmp_path / str(turn)
        shutil.copytree(whole, folder)
        (folder / part).write_bytes(damaged((folder / part).read_bytes(), rng))
        outcome(folder, turn % 5 == 0)
