"""Damaged traces of each format: the outcome is a report with remarks or an error that names files.

Seeds are fixed and printed. Each test damages one rank's file some hundred times.
"""

import gzip
import json
import shutil
import sqlite3

import numpy as np
import pytest
from fuzz_helpers import BESIDE, CORPUS, READERS, changed, damaged, outcome, structure
from kineto_helpers import RANKS, device_job, load, store
from latecomer.cli import run
from latecomer.report.analysis.lateness import analyse
from latecomer.report.trace import otf2_archive, read
from test_otf2 import write as archive

FORMATS = ("inspector", "flight_json", "flight_pickle", "nsight", "nsight_nccl")
CHANGES = 80  # of the inputs of a reader
ROUNDS = 25  # of a seed
SEEDS = range(2)


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


@pytest.mark.parametrize("name", READERS)
def test_the_corpus_and_changes_of_it_are_read_or_refused(tmp_path, monkeypatch, name):
    print("seed 1")
    rng, folder = np.random.default_rng(1), READERS[name].folder(tmp_path)
    monkeypatch.setattr(otf2_archive, "STILL", 5.0)
    kept = [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]
    more = CHANGES // (10 if name.startswith("otf2") else 1)  # a process each
    for data in [*kept, *(changed(kept[at % len(kept)], rng) for at in range(more))]:
        READERS[name](folder, data)


@pytest.mark.parametrize("of", FORMATS)
def test_the_corpus_is_read(of):
    found = analyse(read(BESIDE / of))
    assert found.ranks.calls.tolist() == [3, 3]
    assert found.ranks.last.tolist() == [0, 3]
    assert found.ranks.waiting[0] == pytest.approx(0.12, abs=0.01)


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
        folder = shutil.copytree(BESIDE / of, tmp_path / str(turn))
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
