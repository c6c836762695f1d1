"""The atlas of arrivals in use: other numbers of ranks, figures, options, and the verb."""

import subprocess
import sys
from pathlib import Path

import latecomer
import numpy as np
import pytest
from latecomer.atlas import figures
from latecomer.atlas.file import AtlasError, read, write
from latecomer.atlas.resampled import resampled
from latecomer.cli import run
from latecomer.core.compiled import core
from latecomer.lab.options.arrivals import BALANCED_FIRST, ArrivalError, Pattern
from latecomer.report.trace.recorded import recorded
from test_atlas import SEEDS, drawn, written
from trace_helpers import Files, arrivals_and_exits, made_up

ROOT = Path(__file__).resolve().parents[2]


def late_rows(seed: int, ranks: int, calls: int = 20):
    rows = np.random.default_rng(seed).exponential(1e-3, (calls, ranks))
    return rows - rows.min(axis=1, keepdims=True)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("ranks", [2, 3, 4, 7, 16])
def test_resampled_arrivals_are_the_quantiles_of_each_call(seed, ranks):
    rows = late_rows(seed, 4)
    found = resampled(rows, ranks, seed)
    assert found.shape == (20, ranks)
    expected = [np.quantile(row, np.linspace(0, 1, ranks)) for row in rows]
    assert np.allclose(np.sort(found, axis=1), expected)
    assert np.array_equal(found.max(axis=1), rows.max(axis=1))
    assert (found.min(axis=1) == 0).all()
    assert np.array_equal(found, resampled(rows, ranks, seed))
    assert np.allclose(resampled(3 * rows, ranks, seed), 3 * found)


@pytest.mark.parametrize("seed", SEEDS)
def test_as_many_ranks_are_those_that_were_recorded(seed):
    rows = late_rows(seed, 5)
    assert resampled(rows, 5, seed) is rows


@pytest.mark.parametrize("seed", SEEDS)
def test_whoever_is_last_again_stays_last_again_among_more_ranks(seed):
    rows = late_rows(seed, 4)
    last, found = rows.argmax(axis=1), resampled(rows, 9, seed).argmax(axis=1)
    assert ((last[:, None] == last) == (found[:, None] == found)).all()


@pytest.mark.parametrize("ranks", [0, -1, 10**9])
def test_ranks_out_of_range_are_refused(ranks):
    with pytest.raises(AtlasError, match="ranks out of range"):
        resampled(late_rows(1, 4), ranks, 1)


def test_one_rank_is_the_first():
    assert not resampled(late_rows(1, 4), 1, 1).any()


def test_the_public_function_chooses_calls(tmp_path):
    content = drawn(3)
    file = written(tmp_path, content)
    own = [i for i in range(len(content)) if content.place[i] == 2]
    groups = [content.group[i] for i in own]
    most = max(sorted(set(groups)), key=groups.count)
    kept = [content.lateness_s[i] for i in own if content.group[i] == most]
    assert np.array_equal(latecomer.arrivals(file, which=2), kept)
    name = content.collective[0]
    assert len(latecomer.arrivals(file, which=name)) >= 1
    assert latecomer.arrivals(file, 11).shape[1] == 11
    for which in ("99", "ring", -1):
        with pytest.raises(AtlasError, match=r"no such calls in .*; use .* place from 0 to 3"):
            latecomer.arrivals(file, which=which)


def test_a_file_without_calls_is_refused(tmp_path):
    path = written(tmp_path, drawn(1).part(np.zeros(0, np.int64)))
    with pytest.raises(AtlasError, match="no calls in .*: a table without rows; record a program"):
        latecomer.arrivals(path)


def test_arrivals_are_rehearsed(tmp_path):
    file = written(tmp_path, recorded(made_up(6), ""))
    calls = latecomer.rehearse("ring", latecomer.arrivals(file, 5), count=100)
    assert len(calls) == 6
    jobs = latecomer.rehearse_job("auto", latecomer.arrivals(file, 5), count=100)
    assert len(jobs) == 6


def test_a_pattern_of_the_atlas_repeats_its_calls(tmp_path, capsys):
    file = written(tmp_path, recorded(made_up(3), ""))
    for name in (f"atlas:{file}", f"atlas:{file}:0", f"atlas:{file}:allreduce"):
        job = Pattern(name).iterations(4, [], count=5, seed=1)
        late = [each.late for each in job if each.delay is None]
        expected = latecomer.arrivals(file).tolist()
        assert late == [*expected, *expected[:2]]
        assert len(job) == 5 + BALANCED_FIRST - 3
    assert not capsys.readouterr().err
    Pattern(f"atlas:{file}").iterations(6, [], count=5, seed=9)
    assert "the arrivals of 4 ranks, resampled for 6 with seed 9" in capsys.readouterr().err


def test_a_pattern_of_a_missing_file_is_refused(tmp_path):
    with pytest.raises(AtlasError, match="cannot read the atlas"):
        Pattern(f"atlas:{tmp_path}/none.parquet").iterations(4, [], count=5, seed=1)
    file = written(tmp_path, recorded(made_up(3), ""))
    with pytest.raises(AtlasError, match="no such calls in .*: 'nope'; use allreduce, or a place"):
        Pattern(f"atlas:{file}:nope").iterations(4, [], count=5, seed=1)
    with pytest.raises(ArrivalError, match="no such arrival pattern"):
        Pattern("atlas")


def content_of(rows, **more):
    """One group whose calls are alike."""
    found = recorded(made_up(len(rows), len(rows[0]), **more), "")
    found.lateness_s[:] = [row - row.min() for row in np.array(rows, float)]
    return found


def test_a_rank_that_is_always_late_is_foretold():
    rows = np.tile([0, 5e-3, 0, 1e-3], (50, 1))
    found = content_of(rows)
    assert figures.same_last(found) == 1
    assert figures.foretold(found) == pytest.approx(1 - 4 / 50, abs=0.01)  # from the fifth on


def test_who_is_late_by_chance_is_not_foretold():
    """Seed 1."""
    rng = np.random.default_rng(1)
    rows = np.zeros((400, 4))
    rows[np.arange(400), rng.integers(0, 4, 400)] = 5e-3
    found = content_of(rows)
    last = rows.argmax(axis=1)
    assert figures.same_last(found) == (last[1:] == last[:-1]).mean()
    assert abs(figures.foretold(found)) < 0.1


@pytest.mark.parametrize("period", [2, 3, 5])
def test_who_is_late_in_turn_is_foretold_after_three_rounds(period):
    rows = np.zeros((100, 6))
    rows[np.arange(100), np.arange(100) % period] = 5e-3
    found = content_of(rows)
    assert figures.same_last(found) == 0
    assert figures.foretold(found) > 1 - 2 * 4 * period / 100  # a wrong one counts twice


def test_a_loop_of_two_sizes_has_a_history_for_each():
    rows = np.zeros((100, 4))
    rows[::2, 1] = rows[1::2, 2] = 5e-3
    found = content_of(rows)
    found.bytes[1::2] = 64
    assert figures.foretold(found) > 0.85


def test_the_forecast_wants_a_key_for_each_call():
    with pytest.raises(ValueError, match="keys: '2' is not usable"):
        core.forecasts_of(np.zeros(2, np.int64), np.zeros((3, 4)))


def test_nobody_late_is_nothing_to_foretell():
    assert figures.foretold(content_of(np.zeros((9, 3)))) is None


def test_a_call_alone_has_none_before_it():
    assert figures.same_last(content_of(np.zeros((1, 3)))) is None


def test_what_can_be_saved_is_the_time_beyond_the_bound():
    found = recorded(made_up(9), "")
    without = found.transfer_s.sum() / found.about.span_s
    assert figures.savable(found, "") == pytest.approx(without)
    costs = "alpha=1us,beta=1ns,gamma=0.1ns"
    least = sum(
        latecomer.least_after_last(ranks=4, bytes=1 << 20, arrivals=row, network=costs)
        for row in found.lateness_s
    )
    expected = without - least / found.about.span_s
    assert figures.savable(found, costs) == pytest.approx(expected)
    assert figures.savable(found, "alpha=1s,beta=1us,gamma=0.1ns") == 0


def test_a_world_of_regret_has_what_was_recorded(tmp_path):
    sys.path.insert(0, str(ROOT / "evidence"))
    from regret import atlas_world

    found = recorded(made_up(30), "")
    world = atlas_world(written(tmp_path, found), 1, 20)
    assert world.bytes == [1 << 20] * 20
    expected = np.array(found.lateness_s)[:20] + found.gap_s[:20, None]
    assert np.allclose(world.compute, expected)
    assert world.time("auto") > world.computation


def folder_of_a_trace(tmp_path) -> Path:
    Files(3).write(tmp_path / "traces", *arrivals_and_exits(8, 3))
    return tmp_path / "traces"


def test_the_verb_records_a_folder_and_shows_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    folder = folder_of_a_trace(tmp_path)
    assert run(["atlas", "record", str(folder), "--name", "my app"]) == 0
    assert "wrote my-app.parquet: 8 of 8 calls of 3 ranks" in capsys.readouterr().err
    assert run(["atlas", "show", "my-app.parquet", "--json"]) == 0
    assert '"program": "my app"' in capsys.readouterr().out
    assert run(["atlas", "show", "my-app.parquet", "my-app.parquet"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["program", "my", "my"]


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        (["record"], 2, "Missing argument 'SOURCE...'"),
        (["record", "--name", "a/b", "--", "mpirun", "x"], 2, "--name is no name of a program"),
        (["record", "--", "./app"], 2, "'latecomer atlas record -- mpirun -n 4 ./app'"),
        (["record", "."], 1, "no trace"),
        (["record", ".", "x"], 2, "'x' behind the folder; right would be the folder alone"),
        (["record", "--deadline", "5", "."], 2, "leave out --deadline"),
        (["record", "--output", "none/x.parquet", "."], 2, "no such folder for --output"),
        (["show"], 2, "Missing argument 'FILE...'"),
        (["show", "none.parquet"], 2, "cannot read the atlas"),
        (["show", "none.parquet", "--network", "alpha"], 2, "alpha"),
    ],
)
def test_the_verb_refuses(tmp_path, monkeypatch, capsys, words, code, complaint):
    monkeypatch.chdir(tmp_path)
    assert run(["atlas", *words]) == code
    assert complaint in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_program_that_fails_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fake = tmp_path / "mpirun"
    asked = '[ "$1" = --version ] && echo "mpirun (Open MPI) 4.1.4" && exit'
    fake.write_text(f"#!/bin/sh\n{asked}\nexit 3\n")
    fake.chmod(0o755)
    assert run(["atlas", "record", "--", str(fake), "-n", "2", "x"]) == 3
    fake.write_text(f"#!/bin/sh\n{asked}\nexit 0\n")
    assert run(["atlas", "record", "--", str(fake), "-n", "2", "x"]) == 2
    assert [each.name for each in tmp_path.iterdir()] == ["mpirun"]


def test_the_page_has_the_table_of_the_files():
    command = [sys.executable, str(ROOT / "evidence" / "atlas.py")]
    table = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    assert table in (ROOT / "evidence" / "results" / "atlas.md").read_text(encoding="utf-8")


def test_the_files_are_small_and_say_what_they_are():
    files = sorted((ROOT / "evidence" / "atlas").glob("*/*.parquet"))
    assert len(files) >= 12
    assert sum(each.stat().st_size for each in files) < 3 << 20
    for each in files:
        assert read(each).about.name.replace(" ", "-") == each.stem


def test_a_file_that_exists_is_replaced_whole(tmp_path):
    file = written(tmp_path, drawn(1))
    write(drawn(2), file)
    assert read(file).bytes.tolist() == drawn(2).bytes.tolist()
